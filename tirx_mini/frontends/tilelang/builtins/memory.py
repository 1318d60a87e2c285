"""Pointers, and global-memory accesses of explicit width."""

from __future__ import annotations

from typing import Any

from tirx_mini.ir import (
    HANDLE,
    UINT32,
    AddressOf,
    Buffer,
    BufferLoad,
    DataType,
    Expr,
    Ramp,
    Region,
    TirxError,
    as_expr,
    cast,
    const,
    int_value,
    reinterpret,
)
from tirx_mini.script import tirx as T

from .operands import constant, pointer_to
from .table import builtin

_MASKS = {"r": 1, "w": 2, "rw": 3}
_VECTORS = {1: "", 2: "v2", 4: "v4", 8: "v8"}


@builtin(becomes="a pointer")
def access_ptr(
    base: object,
    access_type: Any = "r",
    *extents: object,
    offset: object = 0,
    extent: object = None,
    ignore_last_ndim: object = 0,
) -> AddressOf:
    """Return a pointer to an element, or to the first element of a region or buffer.

    access_type: "r", "w" or "rw", or 1, 2 or 3. extents, extent: how many elements it stands for, by dimensions or in
    all; instructions say themselves what they access. offset: in elements, for buffers of one dimension.
    ignore_last_ndim: how many of the last indices count as 0.
    """
    if (access_type if isinstance(access_type, int) else _MASKS.get(access_type)) not in (1, 2, 3):
        raise TirxError(f'the access of T.access_ptr is "r", "w" or "rw", not {access_type!r}')
    pointer = pointer_to(base, "T.access_ptr")
    count = len(extents[0]) if len(extents) == 1 and isinstance(extents[0], (list, tuple)) else len(extents)
    if count > pointer.buffer.ndim:
        has = f"{pointer.buffer.name} has {pointer.buffer.ndim} dimensions"
        raise TirxError(f"T.access_ptr has {count} extents, but {has}")
    if int_value(as_expr(offset)) != 0 and pointer.buffer.ndim != 1:
        hint = f"index {pointer.buffer.name} instead, as in T.access_ptr(A[i, j + offset])"
        raise TirxError("offset= of T.access_ptr is for buffers of one dimension", hint=hint)
    kept = pointer.buffer.ndim - constant(ignore_last_ndim, "T.access_ptr", "ignore_last_ndim")
    indices = tuple(index if axis < kept else const(0) for axis, index in enumerate(pointer.indices))
    return pointer_to(AddressOf(HANDLE, pointer.buffer, indices), "T.access_ptr", offset)


def loaded(words: int, src: object, pred: Any, space: str = "global") -> Any:
    """Load a value from global or shared memory into registers, or 0 if `pred` is false."""
    name = f"T.ld{space[0]}{32 * words}"
    source = _place(src, name, space)
    registers = T.alloc_local([words], "uint32")
    every = _all(registers, words)

    def load() -> None:
        T.call("ld.registers", source, registers.data, vec=_VECTORS[words], space=space)

    if pred is None:
        load()
        return every
    for word in range(words):
        T.buffer_store(registers, const(0, UINT32), [word])
    with T.If(pred), T.Then():
        load()
    return every


def stored(words: int, dst: object, value: object, pred: Any, space: str = "global") -> None:
    """Store a value to global or shared memory if `pred` is true."""
    name = f"T.st{space[0]}{32 * words}"
    target, registers = _place(dst, name, space), _registers(words, value, name)

    def store() -> None:
        T.call("st.registers", target, registers, vec=_VECTORS[words], space=space)

    if pred is None:
        store()
        return
    with T.If(pred), T.Then():
        store()


def _place(value: object, name: str, space: str) -> AddressOf:
    if not isinstance(value, (Buffer, BufferLoad, Region)):
        hint = "write an element or a slice of a buffer, as in x[i] or x[i : i + 4]"
        raise TirxError(f"{name} needs a place in {space} memory, but {value!r} is given", hint=hint)
    pointer = pointer_to(value, name)
    if pointer.buffer.scope != space:
        buffer = pointer.buffer
        raise TirxError(f"{name} accesses {space} memory, but {buffer.name} is in {buffer.scope} memory")
    return pointer


def _all(registers: Buffer, words: int) -> BufferLoad | Buffer:
    """Return the registers as one vector, or unchanged if there are eight,
    since CUDA C++ has no vector of that size."""
    if words == 8:
        return registers
    index = const(0) if words == 1 else Ramp(DataType("int32"), const(0), words)
    return BufferLoad(UINT32.with_lanes(words), registers, (index,))


def _registers(words: int, value: object, name: str) -> AddressOf:
    """Return a pointer to the registers that hold a value of `words` words."""
    if isinstance(value, (Buffer, Region, AddressOf)):
        return pointer_to(value, name)
    held = as_expr(value)
    whole = isinstance(held, BufferLoad) and held.buffer.scope == "local" and isinstance(held.indices[-1], Ramp)
    bits = held.dtype.bits * held.dtype.lanes
    if whole and bits == 32 * words:
        return pointer_to(held, name)
    if words == 1 and bits < 32 and held.dtype.is_integer:
        held, bits = cast(UINT32, held), 32
    if bits != 32 * words:
        raise TirxError(f"{name} stores {32 * words} bits, but {value!r} is {held.dtype} of {bits} bits", held.span)
    registers = T.alloc_local([words], "uint32")
    dtype = UINT32.with_lanes(words)
    words_of = held if held.dtype == dtype else reinterpret(dtype, held)
    index = const(0) if words == 1 else Ramp(DataType("int32"), const(0), words)
    T.buffer_store(registers, words_of, [index])
    return pointer_to(registers, name)


@builtin("ld.registers", space="global")
def ldg32(src: object, pred: object = None) -> Expr:
    """Load 32 bits of global memory as a uint32, or 0 if `pred` is false.

    src: an element, a slice or a buffer; its address is a multiple of the width. PTX ISA: "ld".
    """
    return loaded(1, src, pred)


@builtin("ld.registers", vec="v2", space="global")
def ldg64(src: object, pred: object = None) -> Expr:
    """Load 64 bits of global memory as a uint32x2. See `ldg32`."""
    return loaded(2, src, pred)


@builtin("ld.registers", vec="v4", space="global")
def ldg128(src: object, pred: object = None) -> Expr:
    """Load 128 bits of global memory as a uint32x4. See `ldg32`."""
    return loaded(4, src, pred)


@builtin("ld.registers", vec="v8", space="global")
def ldg256(src: object, pred: object = None) -> Buffer:
    """Load 256 bits of global memory into eight uint32 registers, in two halves before Blackwell. See `ldg32`."""
    return loaded(8, src, pred)


@builtin("st.registers", space="global")
def stg32(dst: object, value: object, pred: object = None) -> None:
    """Store a 32-bit value to global memory, unless `pred` is false.

    dst: an element, a slice or a buffer; its address is a multiple of the width. PTX ISA: "st".
    """
    stored(1, dst, value, pred)


@builtin("st.registers", vec="v2", space="global")
def stg64(dst: object, value: object, pred: object = None) -> None:
    """Store a 64-bit value, such as that of `ldg64`, to global memory. See `stg32`."""
    stored(2, dst, value, pred)


@builtin("st.registers", vec="v4", space="global")
def stg128(dst: object, value: object, pred: object = None) -> None:
    """Store a 128-bit value, such as that of `ldg128`, to global memory. See `stg32`."""
    stored(4, dst, value, pred)


@builtin("st.registers", vec="v8", space="global")
def stg256(dst: object, value: object, pred: object = None) -> None:
    """Store a 256-bit value, such as that of `ldg256`, to global memory,
    in two halves before Blackwell. See `stg32`."""
    stored(8, dst, value, pred)
