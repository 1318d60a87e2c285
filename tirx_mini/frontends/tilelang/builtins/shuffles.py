"""Warp shuffles (PTX ISA: "shfl.sync")."""

from __future__ import annotations

from typing import Any

from tirx_mini.ir import UINT32, UINT64, Const, DataType, Expr, TirxError, as_expr, cast, const, reinterpret
from tirx_mini.script import tirx as T

from .operands import constant
from .table import builtin

FULL, WIDTH = 0xFFFFFFFF, 32
_UINT16 = DataType("uint16")


@builtin("shfl.xor", "shfl.xor.segment")
def shfl_xor(
    value: object, offset: object = None, width: object = WIDTH, mask: object = FULL, *, delta: object = None
) -> Expr:
    """Return the value of lane ``lane ^ offset``.

    value: a number of 8 to 64 bits, or a vector of that size. offset: also called `delta`. width: the lanes of a
    segment, a power of two; beyond the lane's segment, the lane's own value. mask: the lanes that execute it together.
    """
    return _shuffle("xor", value, _given(offset, delta, "shfl_xor"), width, mask)


@builtin("shfl.down", "shfl.down.segment")
def shfl_down(
    value: object, offset: object = None, width: object = WIDTH, mask: object = FULL, *, delta: object = None
) -> Expr:
    """Return the value of lane ``lane + offset``, or the lane's own value at the segment's end. See `shfl_xor`."""
    return _shuffle("down", value, _given(offset, delta, "shfl_down"), width, mask)


@builtin("shfl.up", "shfl.up.segment")
def shfl_up(
    value: object, offset: object = None, width: object = WIDTH, mask: object = FULL, *, delta: object = None
) -> Expr:
    """Return the value of lane ``lane - offset``, or the lane's own value at the segment's start. See `shfl_xor`."""
    return _shuffle("up", value, _given(offset, delta, "shfl_up"), width, mask)


@builtin("shfl.idx", "shfl.idx.segment")
def shfl_sync(*args: object, **named: object) -> Expr:
    """``shfl_sync(mask, value, srcLane, width=None)``: return the value of lane `srcLane` of the lane's segment.

    Newer versions of TileLang write ``shfl_sync(value, srcLane, width=32, mask=0xffffffff)``, which is taken, too. The
    first of three arguments is a mask where it is a constant.
    """
    order = ("mask", "value", "srcLane", "width") if _mask_first(args, named) else ("value", "srcLane", "width", "mask")
    given = {**dict(zip(order, args, strict=False)), **named}
    unknown = sorted(set(given) - {"mask", "value", "srcLane", "width"})
    if unknown or "value" not in given or "srcLane" not in given:
        raise TirxError(
            f"T.shfl_sync has no argument {unknown[0]!r}" if unknown else "T.shfl_sync needs a value and a lane",
            hint="write T.shfl_sync(0xffffffff, value, lane)",
        )
    width, mask = given.get("width"), given.get("mask")
    return _shuffle(
        "idx", given["value"], given["srcLane"], WIDTH if width is None else width, FULL if mask is None else mask
    )


def _mask_first(args: tuple[object, ...], named: dict[str, Any]) -> bool:
    """Return whether the first argument of `shfl_sync` is the mask."""
    if len(args) < 3:
        return (len(args) == 2 and "srcLane" in named) or (len(args) == 1 and "value" in named)
    known = [isinstance(arg, (int, Const)) for arg in args]
    return known[0] or (len(args) > 3 and not (known[3] and not _is_width(args[3])))


def _is_width(value: Any) -> bool:
    return 0 < int(value.value if isinstance(value, Const) else value) <= WIDTH


def _given(offset: object, delta: object, name: str) -> object:
    if (offset is None) == (delta is None):
        raise TirxError(f"T.{name} needs one offset", hint=f"write T.{name}(value, 1)")
    return delta if offset is None else offset


def _shuffle(way: str, value: object, by: object, width: object, mask: object) -> Expr:
    """Shuffle a value of up to 64 bits in 32-bit words."""
    lanes = constant(width, f"T.shfl_{way}", "width")
    whole = lanes == WIDTH and isinstance(mask, int) and mask == FULL

    def words(word: Expr) -> Expr:
        if whole:
            return T.call(f"shfl.{way}", word, by)
        return T.call(f"shfl.{way}.segment", word, by, mask, width=lanes)

    held = as_expr(value)
    dtype, bits = held.dtype, held.dtype.bits * held.dtype.lanes
    if dtype.is_bool:
        return words(cast(UINT32, held)) != 0
    if bits == 32:
        return words(held) if dtype.lanes == 1 else reinterpret(dtype, words(reinterpret(UINT32, held)))
    if bits == 64 and not dtype.is_handle:
        pair = T.Bind(held if dtype == UINT64 else reinterpret(UINT64, held))
        low, high = (cast(UINT64, words(cast(UINT32, pair >> const(shift, UINT64)))) for shift in (0, 32))
        joined = low | (high << const(32, UINT64))
        return joined if dtype == UINT64 else reinterpret(dtype, joined)
    if bits == 16:
        narrow = held if dtype == _UINT16 else reinterpret(_UINT16, held)
        moved = cast(_UINT16, words(cast(UINT32, narrow)))
        return moved if dtype == _UINT16 else reinterpret(dtype, moved)
    if bits == 8 and dtype.is_integer:
        return cast(dtype, words(cast(UINT32, held)))
    raise TirxError(f"a shuffle moves numbers of 8 to 64 bits, not {dtype}", held.span)
