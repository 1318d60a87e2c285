"""Atomic operations on elements and whole tiles."""

from __future__ import annotations

from typing import Any

from tirx_mini.ir import (
    AddressOf,
    Buffer,
    BufferLoad,
    Call,
    DataType,
    Evaluate,
    Expr,
    TirxError,
    as_expr,
    binary,
    cast,
    const,
    reinterpret,
    select,
)  # fmt: skip
from tirx_mini.isa import TABLE
from tirx_mini.script import current, tirx

from .arithmetic import max_value, min_value
from .memory import region_of
from .tiles import emit, is_tile

__all__ = [
    "atomic_add", "atomic_addx2", "atomic_addx4", "atomic_load", "atomic_max", "atomic_min", "atomic_or",
    "atomic_store",
]  # fmt: skip

_ORDERS = {None: "", "relaxed": "relaxed", "acquire": "acquire", "release": "release", "acq_rel": "acq_rel",
           "consume": "acquire", "seq_cst": "acq_rel"}  # fmt: skip


def ptx_type(dtype: DataType) -> str:
    """Return the PTX type of a dtype in atom and red."""
    short = {"float": "f", "int": "s", "uint": "u"}.get(dtype.code)
    return "bf16" if dtype == "bfloat16" else f"{short}{dtype.bits}"


def element(dst: object, what: str) -> BufferLoad:
    """Return the element that an atomic operation modifies: ``C[i, j]``, or the only element of a buffer."""
    if isinstance(dst, Buffer) and not isinstance(dst.size, Expr) and dst.size == 1:
        dst = dst[(0,) * dst.ndim]
    if isinstance(dst, AddressOf):
        dst = BufferLoad(dst.buffer.dtype, dst.buffer, dst.indices)
    if not isinstance(dst, BufferLoad) or dst.buffer.scope not in ("global", "shared"):
        raise TirxError(f"{what} changes an element of global or shared memory, not {dst!r}")
    return dst


def _call(op: str, place: BufferLoad, value: Expr, order: str, wanted: bool) -> Call:
    """Return an instruction on the bits of `place`, as a number of the type of `value`."""
    space = "shared" if place.buffer.scope == "shared" else "global"
    options = {"op": op, "type": ptx_type(value.dtype), "sem": order, "space": space}
    name = "atom" if wanted or order in ("acquire", "acq_rel") else "red"
    operands, attrs = TABLE[name].bind((place.buffer.ptr_to(place.indices), value), options)
    return Call(value.dtype, name, operands, attrs)


def _extreme_of_floats(op: str, place: BufferLoad, value: Expr, order: str, wanted: bool) -> tuple[Call, Call, Expr]:
    """Return a maximum or minimum of floats as two operations on integers, and whether the first has the effect.

    Floats without a sign are in the order of their bits as signed integers, and below them those with a sign are in the
    reverse order of their bits as unsigned ones. The operation of the other sign leaves memory as it is, as both do for
    NaN.
    """
    zero = const(0.0, place.dtype)
    signed, unsigned = (DataType(f"{kind}{place.dtype.bits}") for kind in ("int", "uint"))
    above, below = binary(">=", value, zero), binary("<", value, zero)
    plain = binary("+", value, zero)  # -0.0 becomes 0.0
    reverse, none, none_below = "min", min_value(signed), max_value(unsigned)
    if op == "min":
        reverse, none, none_below = "max", max_value(signed), min_value(unsigned)
    first = select(above, reinterpret(signed, plain), none)
    second = select(below, reinterpret(unsigned, plain), none_below)
    return _call(op, place, first, order, wanted), _call(reverse, place, second, order, wanted), above


def _of_floats(op: str, dtype: DataType) -> bool:
    return op in ("max", "min") and dtype in ("float32", "float64")


def apply(op: str, place: BufferLoad, value: object, order: str = "") -> tuple[Call, ...]:
    """Return the instructions that perform ``place = op(place, value)`` atomically."""
    dtype = place.dtype
    given = cast(dtype, as_expr(value, None if isinstance(value, Expr) else dtype))
    if _of_floats(op, dtype):
        return _extreme_of_floats(op, place, given, order, False)[:2]
    return (_call(op, place, given, order, False),)


def _atomic(op: str, what: str, dst: object, value: object, order: str | None, wanted: bool) -> Any:
    if is_tile(value) or (is_tile(dst) and not isinstance(value, Expr)):
        if wanted:
            raise TirxError(f"{what} of a tile has no previous value")
        here = value.shape if isinstance(value, Buffer) else None
        extents = tuple(here) if here is not None else tuple(r.extent for r in region_of(value).ranges)
        emit("atomic", region_of(dst, extents), region_of(value), kind=op)
        return None
    place, builder = element(dst, what), current(what)
    given = cast(place.dtype, as_expr(value, None if isinstance(value, Expr) else place.dtype))
    if not wanted:
        held = builder.bind("operand", given) if _of_floats(op, place.dtype) else given
        for call in apply(op, place, held, _ORDERS[order]):
            builder.emit(Evaluate(call))
        return None
    if _of_floats(op, place.dtype):
        first, second, above = _extreme_of_floats(op, place, builder.bind("operand", given), _ORDERS[order], True)
        olds = [reinterpret(place.dtype, builder.bind("previous", call)) for call in (first, second)]
        return builder.bind("previous", select(above, *olds))
    return builder.bind("previous", _call(op, place, given, _ORDERS[order], True))


def atomic_add(
    dst: object, value: object, memory_order: str | None = None, return_prev: bool = False, use_tma: bool = False,
    annotations: object = None,
) -> Any:  # fmt: skip
    """Add `value` atomically to an element or tile; return the old value if `return_prev`."""
    return _atomic("add", "T.atomic_add", dst, value, memory_order, return_prev)


def atomic_max(
    dst: object, value: object, memory_order: str | None = None, return_prev: bool = False, annotations: object = None
) -> Any:
    """Replace an element atomically by the maximum of itself and `value`."""
    return _atomic("max", "T.atomic_max", dst, value, memory_order, return_prev)


def atomic_min(
    dst: object, value: object, memory_order: str | None = None, return_prev: bool = False, annotations: object = None
) -> Any:
    """Replace an element atomically by the minimum of itself and `value`."""
    return _atomic("min", "T.atomic_min", dst, value, memory_order, return_prev)


def atomic_or(dst: object, value: object, memory_order: str | None = None) -> Any:
    """Combine an element atomically with `value` by bitwise OR."""
    return _atomic("or", "T.atomic_or", dst, value, memory_order, False)


def _wide(lanes: int) -> object:
    def add(dst: object, value: object, return_prev: bool = False) -> None:
        place = element(dst, f"T.atomic_addx{lanes}")
        first: Any = value[(0,) * value.ndim] if isinstance(value, Buffer) else value
        for lane in range(lanes):
            there = BufferLoad(place.dtype, place.buffer, (*place.indices[:-1], place.indices[-1] + lane))
            here = BufferLoad(first.dtype, first.buffer, (*first.indices[:-1], first.indices[-1] + lane))
            for call in apply("add", there, here):
                current("T.atomic_add").emit(Evaluate(call))

    add.__name__ = add.__qualname__ = f"atomic_addx{lanes}"
    add.__doc__ = f"Add {lanes} neighbouring elements of `value` to those of `dst`."
    return add


atomic_addx2, atomic_addx4 = _wide(2), _wide(4)


def atomic_load(src: object, memory_order: str = "seq_cst") -> Expr:
    """Load an element atomically, with acquire semantics unless `memory_order` is "relaxed"."""
    place = element(src, "T.atomic_load")
    return current("T.atomic_load").bind("loaded", tirx.ptx.ld_acquire(place.buffer.ptr_to(place.indices)))


def atomic_store(dst: object, src: object, memory_order: str = "seq_cst") -> None:
    """Store a value atomically, with release semantics unless `memory_order` is "relaxed"."""
    place = element(dst, "T.atomic_store")
    tirx.ptx.st_release(place.buffer.ptr_to(place.indices), cast(place.dtype, as_expr(src)))
