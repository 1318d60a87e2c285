"""The descriptors that tcgen05.mma takes: 64 bits for each operand in shared memory, 32 bits for the instruction.

PTX ISA, tcgen05: "Shared memory descriptor" and "Instruction descriptor".
"""

from __future__ import annotations

from collections.abc import Mapping

from tirx_mini.ir import HANDLE, UINT32, UINT64, AddressOf, Buffer, DataType, Expr, cast, const
from tirx_mini.layout import DescriptorParams, SwizzleMode

_SWIZZLE: Mapping[SwizzleMode, int] = {
    SwizzleMode.SWIZZLE_NONE: 0,
    SwizzleMode.SWIZZLE_128B_ATOM: 2,
    SwizzleMode.SWIZZLE_64B_ATOM: 4,
    SwizzleMode.SWIZZLE_32B_ATOM: 6,
}
A_TYPES: Mapping[str, int] = {"float16": 0, "bfloat16": 1}
D_TYPES: Mapping[str, int] = {"float16": 0, "float32": 1}


def shared_constant(params: DescriptorParams) -> int:
    """The descriptor but for its address: leading and stride byte offsets >> 4, version 1 in bits 46–48, swizzle."""
    leading, stride = params.leading_byte_offset >> 4, params.stride_byte_offset >> 4
    return (_SWIZZLE[params.mode] << 61) | (1 << 46) | ((stride & 0x3FFF) << 32) | ((leading & 0x3FFF) << 16)


def shared_descriptor(buffer: Buffer, offset: Expr, params: DescriptorParams) -> Expr:
    """The descriptor of the operand that begins `offset` elements after the start of the shared `buffer`."""
    address = cast(UINT32, AddressOf(HANDLE, buffer, (offset,)))
    return ((cast(UINT64, address) >> 4) & 0x3FFF) | const(shared_constant(params), UINT64)


def instruction_descriptor(a: DataType, b: DataType, d: DataType, m: int, n: int) -> int:
    """The instruction descriptor of kind::f16 for an m × n product of K-major operands.

    D type at bit 4, A type at 7, B type at 10, N >> 3 at 17, M >> 4 at 24.
    """
    return (D_TYPES[d] << 4) | (A_TYPES[a] << 7) | (A_TYPES[b] << 10) | ((n >> 3) << 17) | ((m >> 4) << 24)
