"""Conversion of builtin operands (elements, regions and buffers) to the pointers that instructions take."""

from __future__ import annotations

from typing import Any

from tirx_mini.ir import HANDLE, AddressOf, Buffer, BufferLoad, Expr, Ramp, Region, TirxError, as_expr, const, int_value


def pointer_to(value: object, name: str, offset: Any = 0) -> AddressOf:
    """Return a pointer to an element, or to the first element of a region or buffer.

    offset: in elements, along the last dimension. Raises `TirxError`, which names the builtin `name`, for other values.
    """
    if isinstance(value, Buffer):
        buffer, indices = value, (const(0),) * value.ndim
    elif isinstance(value, Region):
        buffer, indices = value.buffer, tuple(each.start for each in value.ranges)
    elif isinstance(value, (BufferLoad, AddressOf)):
        buffer, indices = value.buffer, tuple(_first(index) for index in value.indices) or (const(0),)
    else:
        raise TirxError(
            f"{name} needs a place in memory, but {value!r} is given",
            getattr(value, "span", None),
            "write an element, a slice or a buffer, as in A[i], A[i : i + 8] or A",
        )
    if int_value(as_expr(offset)) != 0:
        indices = (*indices[:-1], indices[-1] + offset)
    return AddressOf(HANDLE, buffer, indices)


def _first(index: Expr) -> Expr:
    return index.base if isinstance(index, Ramp) else index


def barrier(value: object, name: str) -> AddressOf:
    """Return a pointer to an mbarrier. Raises `TirxError` for any other value."""
    if isinstance(value, Buffer) and value.ndim != 1:
        raise TirxError(f"{name} needs one barrier, but {value.name} has {value.ndim} dimensions")
    pointer = pointer_to(value, name)
    if pointer.buffer.scope != "shared" or pointer.buffer.dtype.bits != 64:
        raise TirxError(
            f"{name} needs a barrier, but {pointer.buffer.name} is {pointer.buffer.scope} memory of "
            f"{pointer.buffer.dtype}",
            getattr(value, "span", None),
            "allocate it with T.alloc_barrier(count)",
        )
    return pointer


def constant(value: object, name: str, what: str) -> int:
    """Return an integer that is known at compile time. Raises `TirxError`, naming argument `what` of `name`."""
    known = value if isinstance(value, int) else int_value(as_expr(value))
    if known is None:
        raise TirxError(f"{what} of {name} must be known at compile time, but it is {value!r}")
    return int(known)
