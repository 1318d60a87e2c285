"""Field-wise construction of tensor-core descriptors as in TVM: ``T.ptx.tcgen05.encode_matrix_descriptor(d, addr, …)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tirx_mini.ir import UINT32, UINT64, Expr, TirxError, as_expr, cast, const, int_value, shared_address
from tirx_mini.isa import (
    SCALED_KINDS,
    TCGEN05,
    WGMMA,
    Format,
    InstructionDescriptor,
    SmemDescriptor,
    mma_depth,
    mma_format,
    scaled_format,
)  # fmt: skip
from tirx_mini.wording import described

from .builder import place
from .handles import data_type
from .stored import store

_SPANS = {0: 0, 1: 32, 2: 64, 3: 128}
"""The width of a swizzle in bytes by its mode (`SwizzleMode`)."""


def encode_matrix_descriptor(kind: str, desc: object, addr: object, ldo: object, sdo: object, swizzle: object) -> None:
    """Store the matrix descriptor of a tile in shared memory.

    kind: "tcgen05" or "wgmma".
    desc: where it goes: an element of uint64 in registers.
    addr: a pointer to the tile.
    ldo, sdo: the leading and the stride dimension byte offset, in units of 16 bytes.
    swizzle: 0 for none, 1 for 32, 2 for 64, 3 for 128 bytes.

    PTX ISA: "Shared memory descriptor" (tcgen05), "Matrix descriptor format" (wgmma).
    """
    name = f"T.ptx.{kind}.encode_matrix_descriptor"
    mode = int_value(getattr(swizzle, "value", swizzle))
    if mode not in _SPANS:
        raise TirxError(
            f"the swizzle of {name} is 0, 1, 2 or 3, known at compile time, not {described(swizzle)}", place()
        )
    rest = SmemDescriptor(0, 0, 0, _SPANS[mode]).encode(kind)
    value: Expr = (cast(UINT64, shared_address(as_expr(addr))) >> 4) & 0x3FFF
    value = value | const(rest, UINT64)
    for field, shift in ((ldo, 16), (sdo, 32)):
        value = value | ((cast(UINT64, as_expr(field)) & 0x3FFF) << const(shift, UINT64))
    store(value, desc, name)


def _instruction(
    desc: object,
    *,
    d_dtype: object,
    a_dtype: object,
    b_dtype: object,
    M: int,
    N: int,
    K: int,
    trans_a: bool,
    trans_b: bool,
    n_cta_groups: int = 1,
    neg_a: bool = False,
    neg_b: bool = False,
    sat_d: bool = False,
    is_sparse: bool = False,
) -> None:
    """Store the instruction descriptor of an MMA (PTX ISA: "Instruction descriptor").

    desc: where it goes: an element of uint32 in registers. The others are the fields.
    """
    name = "T.ptx.tcgen05.encode_instr_descriptor"
    _check_fields(name, sat_d, is_sparse)
    (kind, a), (other, b) = (_format(name, dtype) for dtype in (a_dtype, b_dtype))
    if kind != other or mma_depth(kind) != int(K):
        raise TirxError(f"{name}: no MMA multiplies {a_dtype} by {b_dtype} with K = {K}", place())
    made = InstructionDescriptor(
        int(M), int(N), a, b, str(data_type(d_dtype)), int(K), bool(neg_a), bool(neg_b), bool(trans_a), bool(trans_b)
    )
    _store_word(name, made, kind, n_cta_groups, desc)


def _scaled(
    desc: object,
    *,
    d_dtype: object,
    a_dtype: object,
    b_dtype: object,
    sfa_dtype: object,
    sfb_dtype: object,
    sfa_tmem_addr: object,
    sfb_tmem_addr: object,
    M: int,
    N: int,
    K: int,
    trans_a: bool,
    trans_b: bool,
    n_cta_groups: int = 1,
    neg_a: bool = False,
    neg_b: bool = False,
    is_sparse: bool = False,
) -> None:
    """Store the instruction descriptor of a block-scaled MMA whose factors begin at byte 0 of their columns.

    desc: where it goes: an element of uint32 in registers. The others are the fields; the addresses are not part of it.
    """
    name = "T.ptx.tcgen05.encode_instr_descriptor_block_scaled"
    _check_fields(name, False, is_sparse)
    types = tuple(str(data_type(dtype)) for dtype in (a_dtype, b_dtype, sfa_dtype, sfb_dtype))
    for kind in SCALED_KINDS:
        a, b = scaled_format(kind, types[0]), scaled_format(kind, types[1])
        if a and b and mma_depth(kind) == int(K) and types[2] == types[3] and types[2] in SCALED_KINDS[kind]:
            made = InstructionDescriptor(
                int(M), int(N), a, b, str(data_type(d_dtype)), int(K), bool(neg_a), bool(neg_b), bool(trans_a),
                bool(trans_b), types[2],
            )  # fmt: skip
            _store_word(name, made, kind, n_cta_groups, desc)
            return
    raise TirxError(f"{name}: no MMA multiplies {types[0]} by {types[1]} scaled by {types[2]} with K = {K}", place())


def _check_fields(name: str, saturates: bool, sparse: bool) -> None:
    if saturates or sparse:
        raise TirxError(f"{name} has no {'sat_d' if saturates else 'is_sparse'}=True here", place())


def _format(name: str, dtype: object) -> tuple[str, Format]:
    try:
        return mma_format(str(data_type(dtype)).replace("tfloat32", "float32"))
    except ValueError as error:
        raise TirxError(f"{name}: {error}", place()) from None


def _store_word(name: str, made: InstructionDescriptor, kind: str, cta_group: int, desc: object) -> None:
    try:
        word = made.encode(kind)
        InstructionDescriptor.decode(word, kind, int(cta_group))
    except (ValueError, KeyError) as error:
        raise TirxError(f"{name}: {error}", place()) from None
    store(const(word, UINT32), desc, name)


def add_16B_offset(desc: object, offset: object) -> Expr:
    """Advance a matrix descriptor by `offset` × 16 bytes."""
    value = as_expr(desc)
    low = cast(UINT32, value) + cast(UINT32, as_expr(offset))
    return (value & const(0xFFFFFFFF00000000, UINT64)) | cast(UINT64, low)


_BELOW: Mapping[str, Callable[..., Any]] = {
    "tcgen05.encode_matrix_descriptor": partial(encode_matrix_descriptor, TCGEN05),
    "wgmma.encode_matrix_descriptor": partial(encode_matrix_descriptor, WGMMA),
    "tcgen05.encode_instr_descriptor": _instruction,
    "tcgen05.encode_instr_descriptor_block_scaled": _scaled,
}
ENCODING: Mapping[str, Callable[..., Any]] = {
    f"{group}.{name}": function for group in ("ptx", "cuda") for name, function in _BELOW.items()
}
"""The functions, by their names below ``T``."""
