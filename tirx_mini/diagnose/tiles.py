"""Rules for tiles that are read in a different layout than written: MMA operands and results."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tirx_mini.sim import (
    Element,
    FactorsMisread,
    HalfRead,
    Misread,
    OtherResult,
    OwnAccumulator,
    Seen,
    TileMisread,
    WrittenTile,
)

from .kind import BAD_DESCRIPTOR, RACE, Explanation, Notes, explains

CORE_ROW = 16
"""The bytes per row of a core matrix, as a descriptor without swizzle describes it."""
ISA = "PTX ISA: shared memory matrix layout; matrix descriptors"


@explains(TileMisread, BAD_DESCRIPTOR)
def tile_misread(fact: TileMisread) -> Explanation:
    message, hint = _words(fact)
    notes: Notes = ()
    if fact.writer is not None:
        notes = ((f"{_writer(fact.tiles[0])} writes it here", fact.writer),)
    return Explanation(message, hint, notes, {"buffer": fact.tiles[0].name}, ISA)


@explains(HalfRead, BAD_DESCRIPTOR)
def half_read(fact: HalfRead) -> Explanation:
    first, last = fact.columns
    return Explanation(
        f"the tcgen05.ld of all warps takes 16 of each 32 lanes of columns {first} to {last}, and nobody reads the "
        f"others, although the instruction descriptor of the MMA says M = {fact.rows}",
        "encode M = 64 in the instruction descriptor, or load all 32 lanes of each warp",
        (("the MMA writes all 128 lanes here", fact.mma),),
        {"buffer": "tensor memory"},
        "PTX ISA: tcgen05, data path layout organization",
    )


@explains(OtherResult, BAD_DESCRIPTOR)
def other_result(fact: OtherResult) -> Explanation:
    return Explanation(
        f"{fact.name} holds {fact.registers}, and the MMA that wrote these columns left {fact.written} there",
        f'encode d_dtype="{fact.registers}" in the instruction descriptor, or load to registers of that type',
        (("the MMA writes the columns here", fact.mma),),
        {"buffer": fact.name},
        "PTX ISA: tcgen05, instruction descriptor",
    )


@explains(OwnAccumulator, RACE)
def own_accumulator(fact: OwnAccumulator) -> Explanation:
    (first, last), (low, high) = fact.read, fact.written
    return Explanation(
        f"the MMA reads {fact.what} from columns {first} to {last} of tensor memory, and accumulates in columns {low} "
        f"to {high}: nothing orders the two",
        f"give {fact.what} columns of tensor memory that the accumulator does not have",
        (),
        {"buffer": "tensor memory"},
        "PTX ISA: tcgen05.mma; tensor memory",
    )


@explains(FactorsMisread, BAD_DESCRIPTOR)
def factors_misread(fact: FactorsMisread) -> Explanation:
    tile = fact.tile
    notes = ((f"{_writer(tile)} writes them here", fact.writer),)
    if fact.wrong is Misread.DTYPE:
        return Explanation(
            f"the MMA reads scale factors as {fact.read}, and {_writer(tile)} put {tile.dtype} there, in {tile.name}",
            f"encode the type {tile.dtype} of the factors in the instruction descriptor",
            notes, {"buffer": tile.name}, ISA,
        )  # fmt: skip
    return Explanation(
        f"the descriptor of the copy to tensor memory says {fact.read}, and {_writer(tile)} put {tile.name} there in "
        f"{_layout(tile)}",
        "encode the swizzle and the offsets by which the tile was written",
        notes, {"buffer": tile.name}, ISA,
    )  # fmt: skip


def _writer(tile: WrittenTile) -> str:
    return "the TMA load" if tile.loaded else "the tile operation"


def _layout(tile: WrittenTile) -> str:
    """Return the layout of a tile in words: "rows of 128 bytes with a 128-byte swizzle"."""
    swizzle = f"with a {tile.swizzle}-byte swizzle" if tile.swizzle else "without swizzle"
    return f"rows of {tile.row_bytes} bytes {swizzle}"


def _words(fact: TileMisread) -> tuple[str, str]:
    """Return the (message, hint) of a misread tile."""
    tile, operand = fact.tiles[0], fact.operand.upper()
    matrix = f"matrix {operand}"
    if fact.wrong is Misread.DTYPE:
        message = f"the MMA reads {matrix} as {fact.dtype}, and {_writer(tile)} put {tile.dtype} there, in {tile.name}"
        return message, f"let the instruction (its descriptor, kind and types) say {tile.dtype} for {operand}"
    if fact.wrong in _OF_SUMS:
        first, second = (_element(each, seen) for each, seen in zip(fact.tiles, fact.seen, strict=True))
        return _OF_SUMS[fact.wrong].format(matrix=matrix, first=first, second=second, tile=tile.name), _STEP
    descriptor = f"the descriptor of {matrix} says {fact.descriptor}"
    written = f"{_writer(tile)} put {tile.name} there in {_layout(tile)}"
    return f"{descriptor}, and {written}{_shown(fact)}", _right(fact)


_OF_SUMS: Mapping[Misread, str] = MappingProxyType({
    Misread.STEPS:
        "the MMAs of this sum do not go on alike along K: one of them begins at {first} in A, and at {second} in B",
    Misread.SHIFTED: "the MMAs of this sum begin in different rows of {matrix}: at {first} and at {second}",
    Misread.REPEATED:
        "the MMAs of this sum begin at {first} and at {second} in {matrix}: they multiply elements along K twice, and "
        "leave others of {tile} out",
})  # fmt: skip
_STEP = (
    "let the start addresses of A and B go on along K by what one MMA multiplies: by 32 bytes in K-major operands, up "
    "to the width of the swizzle, and then to the next slab"
)


def _shown(fact: TileMisread) -> str:
    """Return a clause with two elements of the operand that show the mismatch."""
    if len(fact.seen) < 2:
        return ""
    tile, (first, second) = fact.tiles[0], fact.seen
    return f": its elements {first.place} and {second.place} are {_element(tile, first)} and {_element(tile, second)}"


def _element(tile: WrittenTile, seen: Seen) -> str:
    name = f"the box of {tile.name}" if tile.loaded else tile.name
    return str(Element(name, seen.element))


def _right(fact: TileMisread) -> str:
    """Return the descriptor fields that would match the tile."""
    tile, descriptor = fact.tiles[0], fact.descriptor
    if descriptor.swizzle != tile.swizzle:
        if not tile.swizzle and tile.row_bytes > CORE_ROW:
            where = "the tensor map" if tile.loaded else f"the layout of {tile.name}"
            return f"let {where} have the swizzle that the descriptor says: {descriptor.swizzle} bytes"
        kind = f"the {tile.swizzle}-byte swizzle" if tile.swizzle else "no swizzle"
        return f"encode {kind} in the descriptor, with the offsets of the tile"
    stride, leading = fact.rows, fact.columns
    if fact.mn_major and not tile.swizzle:
        stride, leading = leading, stride
    fields = [f"SBO {stride}"] if stride is not None and stride != descriptor.stride else []
    if (fact.mn_major or not tile.swizzle) and leading is not None and leading != descriptor.leading:
        fields.append(f"LBO {leading}")
    if descriptor.base_offset:
        fields.append("base offset 0")
    if fields:
        return f"encode {' and '.join(fields)} in the descriptor, which is the distance in the tile"
    major = "along M or N" if fact.mn_major else "along K"
    return (
        f"check the start address, and the transpose bits of the instruction: they say that {fact.operand.upper()} is "
        f"contiguous {major}"
    )
