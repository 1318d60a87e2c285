"""The MMA instruction of Volta."""

from __future__ import annotations

from tirx_mini.ir import DataType, TirxError
from tirx_mini.script import tirx as T

from .operands import pointer_to
from .table import builtin

_HALF, _SINGLE = ("fp16", "f16", "float16"), ("fp32", "f32", "float32")


@builtin("mma.sync.m8n8k4")
def ptx_mma_sm70(*args: object) -> None:
    """``ptx_mma_sm70(shape, A_layout, B_layout, A_dtype, B_dtype, C_dtype, a, a_index, b, b_index, c, c_index)``:
    accumulate the product of a warp's float16 fragments in place.

    shape: "m16n16k4": the four products of 8 × 8 × 4 of the warp's quad pairs as one. A_layout, B_layout: "row" or
    "col". A_dtype, B_dtype: "fp16". C_dtype: "fp16" or "fp32". a, b, c: registers, as in ``A_local.data``: 4, 4 and 8
    elements a thread. The indices are those of the first element. As in TVM, the type of the accumulator may come
    before the shape. PTX ISA: "mma", "Matrix Fragments for mma.m8n8k4 with .f16 floating point type".
    """
    given = args[1:] if len(args) == 13 else args
    if len(given) != 12:
        raise TirxError(f"T.ptx_mma_sm70 takes 12 arguments, not {len(args)}", hint="see help(T.ptx_mma_sm70)")
    shape, a_layout, b_layout, a_dtype, b_dtype, c_dtype, a, a_index, b, b_index, c, c_index = given
    if shape not in ("m16n16k4", "m8n8k4"):
        raise TirxError(f'the shape of T.ptx_mma_sm70 is "m16n16k4", not {shape!r}')
    if a_dtype not in _HALF or b_dtype not in _HALF or c_dtype not in (*_HALF, *_SINGLE):
        raise TirxError(
            f"T.ptx_mma_sm70 does not multiply {a_dtype} by {b_dtype} into {c_dtype}",
            hint='A and B are "fp16", and C is "fp16" or "fp32"',
        )
    left, right, total = (_fragment(*each) for each in ((a, a_index), (b, b_index), (c, c_index)))
    T.call(
        "mma.sync.m8n8k4", total, left, right, total, a_layout=a_layout, b_layout=b_layout,
        d_type="f16" if c_dtype in _HALF else "f32",
    )  # fmt: skip


def _fragment(registers: object, index: object) -> object:
    pointer = pointer_to(registers, "T.ptx_mma_sm70", index)
    if pointer.buffer.scope != "local" or pointer.buffer.dtype not in map(DataType, ("float16", "float32", "uint32")):
        place = f"{pointer.buffer.name}, {pointer.buffer.scope} memory of {pointer.buffer.dtype}"
        raise TirxError(f"T.ptx_mma_sm70 needs fragments in registers, but {place}, is given")
    return pointer
