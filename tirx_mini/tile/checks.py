"""Operand checks of tile calls, which run when the call is parsed."""

from __future__ import annotations

from tirx_mini.ir import Region, TileCall, TirxError, int_value
from tirx_mini.wording import described

from .region import Tile, tiles_of


def nothing(call: TileCall) -> None:
    """Accept any operands."""


def whole_bytes(call: TileCall) -> None:
    """Check that 4-bit elements are tensor-core operands only, since nothing else accesses half a byte."""
    for tile in tiles_of(call):
        if tile.dtype.bits < 8 and call.op != "gemm_async":
            raise TirxError(
                f"{call.op} accesses whole bytes, but {tile.buffer.name} is {tile.dtype}",
                tile.region.span or call.span,
                f"use the uint8 buffer of which it is a view, with {8 // tile.dtype.bits} elements in a byte",
            )


def same_extents(call: TileCall) -> None:
    """Check that all tiles have the same extents, apart from dimensions of extent 1."""
    tiles = tiles_of(call)
    for tile in tiles[1:]:
        if tile.extents != tiles[0].extents:
            raise _unequal(call, tiles[0], tile)


def copy(call: TileCall) -> None:
    """Check that both sides have the same dtype and extents."""
    same_extents(call)
    dst, src = tiles_of(call)
    if dst.dtype != src.dtype:
        raise TirxError(
            f"{call.op} does not convert, but {src.buffer.name} is {src.dtype} and {dst.buffer.name} is {dst.dtype}",
            call.span,
            f"convert in registers first: Tx.cast into a {dst.dtype} buffer from alloc_local, then copy that buffer",
        )


def elementwise(call: TileCall) -> None:
    """Check that each source broadcasts to the destination's extents, and that all tiles have one dtype."""
    dst, *sources = tiles_of(call)
    for tile in sources:
        if tile.extents != dst.extents and tile.broadcast(dst) is None:
            raise _unequal(call, dst, tile)
    dtypes = {str(operand.dtype) for operand in call.operands if isinstance(operand, Region)}
    if len(dtypes) > 1:
        listed = ", ".join(sorted(dtypes))
        raise TirxError(
            f"the tiles of {call.op} have different dtypes: {listed}", call.span, "convert them with Tx.cast"
        )


def reduced_axes(call: TileCall) -> tuple[int, ...] | None:
    """Return the source dimensions that a reduction's `axes` names, or None. Raises TirxError for missing dimensions.
    """
    axes = call.option("axes")
    if axes is None:
        return None
    ndim = len(tiles_of(call)[1].region.extents)
    numbers = [int_value(axis) for axis in (axes if isinstance(axes, (list, tuple)) else (axes,))]
    for number in numbers:
        if number is None or not -ndim <= number < ndim:
            raise TirxError(
                f"axes of {call.op} is {described(axes)}, but its source has dimensions 0 to {ndim - 1}", call.span
            )
    return tuple(sorted({number % ndim for number in numbers if number is not None}))


def reduction(call: TileCall) -> None:
    """Check that the destination has the source's extents without the reduced ones: `axes`, else the last ones."""
    dst, src = tiles_of(call)
    axes = reduced_axes(call)
    if axes is not None:
        left = tuple(src.region.extents[axis] for axis in src.kept if axis not in axes)
        if left == dst.extents or _one_each(dst, src, axes):
            return
        rest = " × ".join(map(str, left)) or "a single element"
        raise TirxError(
            f"{call.op} of {src.buffer.name} ({_text(src)}) over axes {', '.join(map(str, axes))} leaves {rest}, "
            f"but {dst.buffer.name} is {_text(dst)}",
            call.span,
            "give the destination the extents of the source without the reduced ones, or with 1 in their place",
        )
    if dst.extents != src.extents[: len(dst.extents)] or dst.extents == src.extents:
        raise TirxError(
            f"{call.op} cannot reduce {src.buffer.name} ({_text(src)}) to {dst.buffer.name} ({_text(dst)})",
            call.span,
            "give the destination the leading extents of the source: one element per row, or a single element",
        )


def _one_each(dst: Tile, src: Tile, axes: tuple[int, ...]) -> bool:
    """Return whether the destination has a register element for each thread that holds part of a row."""
    pairs = list(zip(dst.region.extents, src.region.extents, strict=False))
    same = len(dst.region.extents) == len(src.region.extents) == len(dst.extents) == len(src.extents)
    fits = all(one == other or (axis in axes and other % one == 0) for axis, (one, other) in enumerate(pairs))
    return same and fits and dst.has_thread_axes and src.has_thread_axes


def gemm(call: TileCall) -> None:
    """Check a gemm: C is M × N, A M × K and B N × K, and `accum` a condition; transA makes A K × M, transB makes B K ×
    N. With cta_group=2, N counts the rows of B in both CTAs.
    """
    c, a, b, *scales = tiles_of(call)
    if len(scales) == 1:
        raise TirxError(f"{call.op} is given SFA without SFB", call.span, "pass SFB=, too")
    turned = {name: bool(call.option(name, False)) for name in ("transA", "transB")}
    dims_a, dims_b = "K × M" if turned["transA"] else "M × K", "K × N" if turned["transB"] else "N × K"
    for tile, role, dims in ((c, "C", "M × N"), (a, "A", dims_a), (b, "B", dims_b)):
        if len(tile.extents) != 2:
            raise TirxError(
                f"{role} of {call.op} is an {dims} tile, but this slice of {tile.buffer.name} is {_text(tile)}",
                tile.region.span or call.span,
                "index the stage, as in Asmem[stage, :, :]" if len(tile.extents) > 2 else None,
            )
    group = call.option("cta_group", 1)
    (m, n), (a_m, k) = c.extents, a.extents[:: -1 if turned["transA"] else 1]
    b_n, b_k = b.extents[:: -1 if turned["transB"] else 1]
    shapes = f"C {_text(c)}, A {_text(a)}, B {_text(b)}"
    if a_m != m:
        raise TirxError(f"A has {a_m} rows, but C has {m} ({shapes})", call.span)
    if b_k != k:
        raise TirxError(f"A has K = {k}, but B has K = {b_k} ({shapes})", call.span, _k_hint(turned["transB"]))
    if isinstance(group, int) and n != b_n * group:
        wide = f"{b_n} × cta_group {group} = {b_n * group}" if group > 1 else str(b_n)
        raise TirxError(
            f"C has {n} columns, but the product has {wide} ({shapes})",
            call.span,
            f"slice C to the width of the product, as in {c.buffer.name}[:, :{b_n * group}]",
        )


def product(call: TileCall) -> None:
    """Check a product: D and C are M × N, A M × K and B K × N; transpose_A makes A K × M, transpose_B makes B N × K."""
    tiles = tiles_of(call)
    for tile, role in zip(tiles, "DABC", strict=True):
        if len(tile.extents) != 2:
            raise TirxError(f"{role} of {call.op} must be a matrix, but {tile.buffer.name} is {_text(tile)}", call.span)
    d, a, b, c = tiles
    m, k = a.extents[:: -1 if call.option("transpose_A", False) else 1]
    b_k, n = b.extents[:: -1 if call.option("transpose_B", False) else 1]
    if b_k != k or d.extents != (m, n) or c.extents != (m, n):
        hint = "with transpose_B=True, B is N × K; without, it is K × N" if k in b.extents else None
        raise TirxError(
            f"the product of A {_text(a)} and B {_text(b)} has K = {k} and {b_k}, and does not fit D {_text(d)} and "
            f"C {_text(c)}"
            if b_k != k
            else f"the product of A and B is {m} × {n}, but D is {_text(d)} and C {_text(c)}",
            call.span,
            hint,
        )


def _k_hint(transposed: bool) -> str:
    return "with transB, B is K × N" if transposed else "B is N × K: its rows run along N; pass transB=True for K × N"


def _unequal(call: TileCall, first: Tile, other: Tile) -> TirxError:
    one, two = (f"{tile.buffer.name} is {_text(tile)}" for tile in (first, other))
    return TirxError(
        f"the tiles of this {call.op} have different extents: {one} and {two}",
        call.span,
        "slice both to the same extents (dimensions of extent 1 do not count)",
        notes=tuple((f"{t.buffer.name} is {_text(t)} here", t.region.span) for t in (first, other) if t.region.span),
        kind="extents-differ",
    )


def _text(tile: Tile) -> str:
    return " × ".join(map(str, tile.extents)) or "a single element"
