"""Validation of operation arguments: constants, shapes, indices, dtypes and keywords."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .dtypes import (
    DType,
    check_range,
    default_dtype,
    from_numpy,
    int32,
    int64,
    promote,
    promote_constant,
    stands_for,
    widens,
)
from .emitter import tile_type
from .errors import TileShapeError, TileTypeError, TileValueError
from .values import ArrayValue, Strict, TileValue, describe, is_constant, plain

if TYPE_CHECKING:
    from .tracer import Tracer

E = TypeVar("E", bound=Enum)


def constant_int(value: object, what: str) -> int:
    """Return an integer compile-time constant. what: its name in messages, such as "the axis"."""
    number = plain(value)
    if isinstance(number, bool) or not isinstance(number, int):
        known = "" if is_constant(value) or not isinstance(value, TileValue) else ", which is known only at run time"
        raise TileTypeError(
            f"{what} must be an integer constant, not {describe(value)}{known}",
            hint="pass it as a parameter with the annotation `ct.Constant[int]`" if known else None,
        )
    return number


def constant_bool(value: object, what: str) -> bool:
    if not isinstance(plain(value), bool):
        raise TileTypeError(f"{what} must be True or False, not {describe(value)}")
    return plain(value)


def constant_ints(value: object, what: str) -> tuple[int, ...]:
    """Return a tuple of integer constants; a single integer becomes a 1-tuple."""
    if not isinstance(value, tuple):
        return (constant_int(value, what),)
    return tuple(constant_int(item, f"item {i} of {what}") for i, item in enumerate(value))


def shape_of(value: object, what: str = "the shape") -> tuple[int, ...]:
    """Return the shape of a tile, whose extents are constant powers of two."""
    shape = constant_ints(value, what)
    tile_type(int32, shape)
    return shape


def axis_of(value: object, rank: int, what: str = "axis") -> int:
    """Return an axis normalised to 0 … rank - 1; negative axes count from the end."""
    axis = constant_int(value, what)
    if not -rank <= axis < rank:
        raise TileShapeError(f"{what}={axis} is out of range for {rank} dimension{'s' if rank != 1 else ''}")
    return axis % rank


def dtype_of(value: object, what: str = "dtype") -> DType:
    if isinstance(value, DType):
        return value
    found = stands_for(value)
    if found is not None:
        return found
    raise TileTypeError(
        f"{what} must be a dtype, not {describe(value)}", hint="write ct.float32, or the `.dtype` of a tile or an array"
    )


def keyword(value: object, kind: type[E], what: str, *allowed: E) -> E:
    """Return a member of an enumeration, restricted to `allowed` if given."""
    if not isinstance(value, kind):
        raise TileTypeError(f"{what} must be one of ct.{kind.__name__}, not {describe(value)}")
    if allowed and value not in allowed:
        names = ", ".join(f"ct.{kind.__name__}.{a.name}" for a in allowed)
        raise TileValueError(f"{what} cannot be ct.{kind.__name__}.{value.name} here", hint=f"it may be {names}")
    return value


def typed(value: object) -> Any:
    """Convert a Python value to tile code: NumPy numbers become strictly typed constants, and dtypes cuTile's."""
    if type(value) is tuple:
        return tuple(typed(item) for item in value)
    if isinstance(value, np.generic):
        dtype = from_numpy(value.dtype)
        return value if dtype is None else Strict(value.item(), dtype)
    return stands_for(value) or value


def array_of(value: object, what: str) -> ArrayValue:
    if not isinstance(value, ArrayValue):
        raise TileTypeError(f"{what} expects an array, not {describe(value)}")
    return value


def tile_of(tr: Tracer, value: object, what: str) -> TileValue:
    """Return a tile; a constant becomes a scalar of its own type."""
    if isinstance(value, TileValue):
        return value
    if is_constant(value):
        return materialize(tr, value)
    raise TileTypeError(f"{what} must be a tile or a number, not {describe(value)}")


def materialize(tr: Tracer, value: object, dtype: DType | None = None) -> TileValue:
    """Materialise a constant as a scalar, of `dtype` or of its own type."""
    number = plain(value)
    own = value.dtype if isinstance(value, Strict) else default_dtype(number)
    wanted = dtype or own
    if isinstance(number, float) and not wanted.is_float:
        number = bool(number) if wanted.is_bool else int(number)
    if isinstance(number, int) and wanted.is_integer:
        check_range(number, wanted)
    return tr.emit.constant(bool(number) if wanted.is_bool else number, wanted)


def cast_to(tr: Tracer, value: object, dtype: DType, what: str) -> TileValue:
    """Convert a tile or number implicitly to `dtype`, which must be the common type: wider,
    or a float for an integer."""
    if is_constant(value) and own_dtype(value) is None:
        number = plain(value)
        if isinstance(number, float) and not dtype.is_float:
            raise TileTypeError(f"{what}: {number} cannot become {dtype} by itself", hint=_cast_hint(dtype))
        return materialize(tr, number, dtype)
    own = own_dtype(value)
    if own is None:
        raise TileTypeError(f"{what} must be a tile or a number, not {describe(value)}")
    if not widens(own, dtype):
        raise TileTypeError(
            f"{what} is {describe(value)}, which cannot become {dtype} by itself", hint=_cast_hint(dtype)
        )
    return tr.emit.cast(value, dtype) if isinstance(value, TileValue) else materialize(tr, plain(value), dtype)


def _cast_hint(dtype: DType) -> str:
    return f"convert it: `x.astype(ct.{dtype})`"


def fill_of(tr: Tracer, value: object, dtype: DType, what: str) -> TileValue:
    """Convert any number to `dtype` for a new tile."""
    if is_constant(value):
        return materialize(tr, plain(value), dtype)
    if isinstance(value, TileValue) and value.shape == ():
        return tr.emit.cast(value, dtype)
    raise TileTypeError(f"{what} must be a number or a scalar, not {describe(value)}")


def scalar_index(tr: Tracer, value: object, what: str) -> TileValue:
    """Return a scalar integer index, widened to at least int32."""
    if isinstance(value, TileValue) and value.shape == () and value.dtype.is_integer:
        return tr.emit.wide(value, 32)
    number = plain(value)
    if isinstance(number, int) and not isinstance(number, bool):
        return materialize(tr, number, default_dtype(number))
    raise TileTypeError(f"{what} must be an integer, not {describe(value)}")


def index_tuple(tr: Tracer, value: object, rank: int, what: str = "the index") -> tuple[TileValue, ...]:
    """Return one scalar integer per dimension, all of one type."""
    items = value if isinstance(value, tuple) else (value,)
    if len(items) != rank:
        raise TileShapeError(f"{what} has {len(items)} item{'s' if len(items) != 1 else ''}, but the array has "
                             f"{rank} dimension{'s' if rank != 1 else ''}")  # fmt: skip
    scalars = [scalar_index(tr, item, f"item {i} of {what}") for i, item in enumerate(items)]
    bits = max((s.dtype.bitwidth for s in scalars), default=32)
    return tuple(tr.emit.cast(s, int64) if bits > 32 else s for s in scalars)


def axes_order(value: object, rank: int) -> tuple[int, ...]:
    """Return the axis order of `load` and `store`: "C", "F" or a permutation."""
    if value == "C":
        return tuple(range(rank))
    if value == "F":
        return tuple(reversed(range(rank)))
    if isinstance(value, str):
        raise TileValueError(f'order={value!r}: it is "C", "F" or a permutation of the axes')
    return permutation(value, rank, "order")


def permutation(value: object, rank: int, what: str) -> tuple[int, ...]:
    axes = tuple(axis_of(a, rank, f"an axis of {what}") for a in constant_ints(value, what))
    if sorted(axes) != list(range(rank)):
        raise TileShapeError(f"{what}={constant_ints(value, what)} is not a permutation of {rank} axes")
    return axes


def common_shape(what: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the common broadcast shape."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        shown = " and ".join(str(s) for s in dict.fromkeys(shapes))
        raise TileShapeError(
            f"{what}: the shapes {shown} do not broadcast",
            hint="extents must be equal or 1, counted from the last axis; `x[:, None]` inserts an axis of 1",
        ) from None


def common_dtype(x: Any, y: Any) -> DType:
    """Return the common type of two operands: tiles, or strictly or loosely typed constants."""
    own_x, own_y = own_dtype(x), own_dtype(y)
    if own_x is not None and own_y is not None:
        return promote(own_x, own_y)
    if own_x is not None:
        return promote_constant(own_x, y)
    if own_y is not None:
        return promote_constant(own_y, x)
    return promote(default_dtype(x), default_dtype(y))


def own_dtype(value: object) -> DType | None:
    """Return the type of a tile or strictly typed constant, or None for a loosely typed constant."""
    return value.dtype if isinstance(value, (TileValue, Strict)) else None
