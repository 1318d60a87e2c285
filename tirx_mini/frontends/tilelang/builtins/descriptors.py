"""Matrix descriptors for shared memory, set field by field."""

from __future__ import annotations

from tirx_mini.ir import UINT32, UINT64, Buffer, BufferLoad, Expr, TirxError, as_expr, cast, const, shared_address
from tirx_mini.script import add_16B_offset
from tirx_mini.script import tirx as T

from .operands import constant, pointer_to
from .table import builtin

_START = 0x3FFF


@builtin(becomes="arithmetic on 64 bits")
def initialize_wgmma_descriptor(
    descriptor: object,
    start_address: object,
    layout_type_: object = 0,
    leading_byte_offset: object = 0,
    stride_byte_offset: object = 0,
) -> None:
    """Set a wgmma descriptor (PTX ISA: "Matrix descriptor format").

    descriptor: an element of uint64 in registers, as of `T.alloc_descriptor("wgmma")`. start_address: the place in
    shared memory. layout_type_: the swizzle, 0 none, 1 128, 2 64, 3 32 bytes. The offsets are in units of 16 bytes.
    """
    name = "T.initialize_wgmma_descriptor"
    fields = ((leading_byte_offset, 16, 14), (stride_byte_offset, 32, 14), (layout_type_, 62, 2))
    _set(name, descriptor, start_address, sum(_field(name, *each) for each in fields))


@builtin(becomes="arithmetic on 64 bits")
def initialize_tcgen05_descriptor(
    descriptor: object,
    start_address: object,
    leading_byte_offset: object,
    stride_byte_offset: object,
    base_offset: object = 0,
    leading_is_absolute: object = False,
    swizzle_mode: object = 0,
) -> None:
    """Set a tcgen05 descriptor (PTX ISA: "Shared memory descriptor").

    descriptor: an element of uint64 in registers. start_address: the place in shared memory. The offsets are in units
    of 16 bytes. leading_is_absolute: whether the leading one is an address. swizzle_mode: 0 none, 1 128 bytes with
    atoms of 32, 2 128, 4 64, 6 32 bytes.
    """
    name = "T.initialize_tcgen05_descriptor"
    fields = (
        (leading_byte_offset, 16, 14), (stride_byte_offset, 32, 14), (1, 46, 3), (base_offset, 49, 3),
        (bool(leading_is_absolute), 52, 1), (swizzle_mode, 61, 3),
    )  # fmt: skip
    _set(name, descriptor, start_address, sum(_field(name, *each) for each in fields))


@builtin(becomes="arithmetic on 64 bits")
def increase_descriptor_offset(descriptor: object, offset: object) -> None:
    """Advance the start address of a descriptor by `offset` bytes, a multiple of 16."""
    target = _element(descriptor, "T.increase_descriptor_offset")
    units = cast(UINT32, as_expr(offset)) >> const(4, UINT32)
    T.buffer_store(target.buffer, add_16B_offset(target, units), target.indices)


def _field(name: str, value: object, shift: int, bits: int) -> int:
    return (constant(value, name, "a field") & ((1 << bits) - 1)) << shift


def _element(descriptor: object, name: str) -> BufferLoad:
    target = descriptor[0] if isinstance(descriptor, Buffer) and descriptor.shape == (1,) else descriptor
    if not isinstance(target, BufferLoad) or target.buffer.scope != "local" or target.buffer.dtype != UINT64:
        hint = 'allocate it with T.alloc_descriptor("wgmma")'
        raise TirxError(f"{name} needs a descriptor in registers, but {descriptor!r} is given", hint=hint)
    return target


def _set(name: str, descriptor: object, start_address: object, fields: int) -> None:
    target = _element(descriptor, name)
    start: Expr = shared_address(pointer_to(start_address, name))
    address = (cast(UINT64, start) >> const(4, UINT64)) & const(_START, UINT64)
    T.buffer_store(target.buffer, address | const(fields, UINT64), target.indices)
