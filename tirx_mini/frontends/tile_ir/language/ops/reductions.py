"""Reductions and scans along axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...cuda_tile import Dense
from ...ssa import Region, Value
from ..arguments import axis_of, common_shape, constant_bool, constant_ints, materialize, own_dtype, tile_of
from ..dtypes import DType, bool_, int32
from ..emitter import tile_type
from ..errors import TileShapeError, TileTypeError
from ..surface import operation
from ..values import TileValue, describe, is_constant, plain
from .arithmetic import arithmetic, compare, float_only, float_options

if TYPE_CHECKING:
    from ..tracer import Tracer

Combine = Callable[[tuple[TileValue, ...], tuple[TileValue, ...]], Sequence[TileValue]]
"""Combines scalars of an earlier part of the axis with those of a later one."""


def _body(tr: Tracer, dtypes: Sequence[DType], combine: Combine) -> Region:
    """Build the region of a reduction, with the current element and the accumulated value of each operand."""
    params = [TileValue(Value(tile_type(d, ())), d, ()) for d in dtypes for _ in range(2)]
    with tr.emit.region() as block:
        combined = combine(tuple(params[1::2]), tuple(params[0::2]))
        tr.emit.emit("yield", [v.value for v in combined])
    return Region(tuple(p.value for p in params), tuple(block.ops))


def _reduce(
    tr: Tracer, name: str, tiles: Sequence[TileValue], axis: int, identities: Sequence[Any], combine: Combine,
    **attrs: Any,
) -> tuple[TileValue, ...]:  # fmt: skip
    """Emit a ``reduce`` or ``scan`` of one axis. identities: one number for each tile."""
    shape = tiles[0].shape
    kept = shape if name == "scan" else (*shape[:axis], *shape[axis + 1 :])
    dtypes = [t.dtype for t in tiles]
    body = _body(tr, dtypes, combine)
    dense = tuple(Dense.of(d.element, number) for d, number in zip(dtypes, identities, strict=True))
    made = tr.emit.emit(
        name, [t.value for t in tiles], types=[tile_type(d, kept) for d in dtypes], regions=(body,), dim=axis,
        identities=dense, **attrs,
    )  # fmt: skip
    results = made if isinstance(made, tuple) else (made,)
    return tuple(TileValue(v, d, kept) for v, d in zip(results, dtypes, strict=True))


def _axes(axis: object, rank: int) -> list[int]:
    """Return the axes to reduce, in ascending order; None means all."""
    if axis is None:
        return list(range(rank))
    axes = sorted(axis_of(a, rank) for a in constant_ints(axis, "axis"))
    if len(set(axes)) != len(axes):
        raise TileShapeError(f"axis={axis} names an axis twice")
    return axes


def _along(
    tr: Tracer, tile: TileValue, axes: list[int], keepdims: object, step: Callable[[TileValue, int], TileValue]
) -> TileValue:
    """Reduce several axes, one after the other from the last."""
    shape = tile.shape
    for axis in reversed(axes):
        tile = step(tile, axis)
    if constant_bool(keepdims, "keepdims"):
        return tr.emit.reshape(tile, tuple(1 if i in axes else n for i, n in enumerate(shape)))
    return tile


def _operand(tr: Tracer, x: object, name: str) -> TileValue:
    if not isinstance(x, TileValue):
        raise TileTypeError(f"ct.{name} expects a tile, not {describe(x)}")
    if x.dtype.is_bool:
        return tr.emit.cast(x, int32)
    if not x.dtype.arithmetic:
        raise TileTypeError(f"ct.{name} is not defined for {x.dtype}", hint="convert first: `x.astype(ct.float32)`")
    return x


def _least(dtype: DType) -> object:
    return float("-inf") if dtype.is_float else dtype.limits[0]


def _greatest(dtype: DType) -> object:
    return float("inf") if dtype.is_float else dtype.limits[1]


_IDENTITIES: dict[str, Callable[[DType], Any]] = {
    "add": lambda _: 0, "mul": lambda _: 1, "maximum": _least, "minimum": _greatest
}  # fmt: skip


def _simple(
    tr: Tracer, name: str, combine: str, x: object, axis: object, keepdims: object, attrs: dict[str, Any]
) -> TileValue:
    tile = _operand(tr, x, name)
    float_only(name, tile.dtype, attrs)
    options = attrs if tile.dtype.is_float else {}

    def step(part: TileValue, at: int) -> TileValue:
        identity = _IDENTITIES[combine](part.dtype)
        return _reduce(
            tr, "reduce", [part], at, [identity], lambda a, b: [arithmetic(tr, combine, a[0], b[0], **options)]
        )[0]

    return _along(tr, tile, _axes(axis, tile.ndim), keepdims, step)


@operation("sum")
def sum_(
    tr: Tracer, x: object, /, axis: object = None, *, keepdims: object = False, rounding_mode: object = None,
    flush_to_zero: object = False,
) -> object:  # fmt: skip
    """Return the sum along an axis, a tuple of axes, or all axes."""
    return _simple(tr, "sum", "add", x, axis, keepdims, float_options(rounding_mode, flush_to_zero))


@operation("prod")
def prod(
    tr: Tracer, x: object, /, axis: object = None, *, keepdims: object = False, rounding_mode: object = None,
    flush_to_zero: object = False,
) -> Any:  # fmt: skip
    """Return the product along an axis, a tuple of axes, or all axes."""
    return _simple(tr, "prod", "mul", x, axis, keepdims, float_options(rounding_mode, flush_to_zero))


def _nan_options(flush_to_zero: object, propagate_nan: object) -> dict[str, object]:
    attrs = float_options(None, flush_to_zero)
    if constant_bool(propagate_nan, "propagate_nan"):
        attrs["propagate_nan"] = True
    return attrs


@operation("max")
def max_(
    tr: Tracer, x: object, /, axis: object = None, *, keepdims: object = False, flush_to_zero: object = False,
    propagate_nan: object = False,
) -> object:  # fmt: skip
    """Return the maximum along an axis, a tuple of axes, or all axes, ignoring NaN unless `propagate_nan`."""
    return _simple(tr, "max", "maximum", x, axis, keepdims, _nan_options(flush_to_zero, propagate_nan))


@operation("min")
def min_(
    tr: Tracer, x: object, /, axis: object = None, *, keepdims: object = False, flush_to_zero: object = False,
    propagate_nan: object = False,
) -> object:  # fmt: skip
    """Return the minimum along an axis, a tuple of axes, or all axes, ignoring NaN unless `propagate_nan`."""
    return _simple(tr, "min", "minimum", x, axis, keepdims, _nan_options(flush_to_zero, propagate_nan))


@operation("argmax")
def argmax(
    tr: Tracer, x: object, /, axis: object = None, *, keepdims: object = False, propagate_nan: object = False
) -> object:
    """Return the index of the maximum along an axis, or in row-major order; ties yield the first."""
    return _arg(tr, "argmax", x, axis, keepdims, constant_bool(propagate_nan, "propagate_nan"))


@operation("argmin")
def argmin(
    tr: Tracer, x: object, /, axis: object = None, *, keepdims: object = False, propagate_nan: object = False
) -> object:
    """Return the index of the minimum along an axis, or in row-major order; ties yield the first."""
    return _arg(tr, "argmin", x, axis, keepdims, constant_bool(propagate_nan, "propagate_nan"))


def _arg(tr: Tracer, name: str, x: object, axis: object, keepdims: object, propagate: bool) -> TileValue:
    tile = _operand(tr, x, name)
    whole = tile.shape
    if isinstance(axis, tuple):
        raise TileTypeError(f"ct.{name} takes one axis or None, not a tuple")
    if axis is None:
        tile = tr.emit.reshape(tile, (_size(whole),))
    at = 0 if axis is None else axis_of(axis, tile.ndim)
    places = tr.emit.tile("iota", int32, (tile.shape[at],))
    places = tr.emit.reshape(places, tuple(n if i == at else 1 for i, n in enumerate(tile.shape)))
    places = tr.emit.broadcast(places, tile.shape)
    first = "greater_than" if name == "argmax" else "less_than"
    identity = _least(tile.dtype) if name == "argmax" else _greatest(tile.dtype)

    def combine(a: tuple[TileValue, ...], b: tuple[TileValue, ...]) -> list[TileValue]:
        """Return the better of two elements with its index; ties yield the earlier one."""
        e = tr.emit
        wins = compare(tr, first, a[0], b[0])
        ties = compare(tr, "equal", a[0], b[0])
        if tile.dtype.is_float:
            wins, ties = _with_nans(tr, a[0], b[0], wins, ties, propagate)
        earlier = compare(tr, "less_than", a[1], b[1])
        chosen = e.tile("ori", bool_, (), wins, e.tile("andi", bool_, (), ties, earlier))
        return [e.tile("select", v.dtype, (), chosen, v, w) for v, w in zip(a, b, strict=True)]

    last = int32.limits[1]
    _, found = _reduce(tr, "reduce", [tile, places], at, [identity, last], combine)
    if not constant_bool(keepdims, "keepdims"):
        return found
    kept = [1] * len(whole) if axis is None else [1 if i == at else n for i, n in enumerate(whole)]
    return tr.emit.reshape(found, kept)


def _with_nans(
    tr: Tracer, a: TileValue, b: TileValue, wins: TileValue, ties: TileValue, propagate: bool
) -> tuple[TileValue, TileValue]:
    """Adjust a comparison for NaN, which loses against every number unless it propagates; two NaNs are equal."""
    e = tr.emit
    nan_a, nan_b = (compare(tr, "not_equal", v, v) for v in (a, b))
    better, worse = (nan_a, nan_b) if propagate else (nan_b, nan_a)
    not_worse = e.tile("xori", bool_, (), worse, materialize(tr, True))
    decided = e.tile("andi", bool_, (), better, not_worse)
    both = e.tile("andi", bool_, (), nan_a, nan_b)
    return e.tile("ori", bool_, (), wins, decided), e.tile("ori", bool_, (), ties, both)


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for n in shape:
        size *= n
    return size


def _scan_simple(
    tr: Tracer, name: str, combine: str, x: object, axis: object, reverse: object, attrs: dict[str, Any]
) -> object:
    tile = _operand(tr, x, name)
    float_only(name, tile.dtype, attrs)
    options = attrs if tile.dtype.is_float else {}
    return _reduce(
        tr, "scan", [tile], axis_of(axis, tile.ndim), [_IDENTITIES[combine](tile.dtype)],
        lambda a, b: [arithmetic(tr, combine, a[0], b[0], **options)], reverse=constant_bool(reverse, "reverse"),
    )[0]  # fmt: skip


@operation("cumsum")
def cumsum(
    tr: Tracer,
    x: object,
    /,
    axis: object = 0,
    *,
    reverse: object = False,
    rounding_mode: object = None,
    flush_to_zero: object = False,
) -> object:
    """Return the inclusive prefix sum along an axis, from the end if `reverse`."""
    return _scan_simple(tr, "cumsum", "add", x, axis, reverse, float_options(rounding_mode, flush_to_zero))


@operation("cumprod")
def cumprod(
    tr: Tracer,
    x: object,
    /,
    axis: object = 0,
    *,
    reverse: object = False,
    rounding_mode: object = None,
    flush_to_zero: object = False,
) -> object:
    """Return the inclusive prefix product along an axis, from the end if `reverse`."""
    return _scan_simple(tr, "cumprod", "mul", x, axis, reverse, float_options(rounding_mode, flush_to_zero))


def _custom(tr: Tracer, name: str, x: object, axis: object, func: object, identity: object, **attrs: object) -> Any:
    """Emit `ct.reduce` or `ct.scan` with a combining function of the program."""
    given = x if isinstance(x, tuple) else (x,)
    numbers = identity if isinstance(identity, tuple) else (identity,)
    tiles = [tile_of(tr, t, f"an operand of ct.{name}") for t in given]
    if len(numbers) != len(tiles) or not all(is_constant(n) for n in numbers):
        raise TileTypeError(f"the identity of ct.{name} must be one constant for each tile, not {describe(identity)}")
    shape = common_shape(f"the tiles of ct.{name}", *(t.shape for t in tiles))
    tiles = [tr.emit.broadcast(t, shape) for t in tiles]

    def combine(a: tuple[TileValue, ...], b: tuple[TileValue, ...]) -> list[TileValue]:
        made = tr.call(func, (*a, *b), {})
        results = made if isinstance(x, tuple) else (made,)
        if not isinstance(results, tuple) or len(results) != len(tiles):
            raise TileTypeError(f"the function of ct.{name} must return {len(tiles)} values, not {describe(made)}")
        return [_result(tr, name, r, t.dtype) for r, t in zip(results, tiles, strict=True)]

    found = _reduce(tr, name, tiles, axis_of(axis, len(shape)), [plain(n) for n in numbers], combine, **attrs)
    return found if isinstance(x, tuple) else found[0]


def _result(tr: Tracer, name: str, value: object, dtype: DType) -> TileValue:
    if is_constant(value):
        return materialize(tr, plain(value), dtype)
    if not isinstance(value, TileValue) or value.shape != () or own_dtype(value) != dtype:
        raise TileTypeError(f"the function of ct.{name} must return a scalar of {dtype}, not {describe(value)}")
    return value


@operation("reduce")
def reduce(tr: Tracer, x: Any, /, axis: object, func: object, identity: object, *, keepdims: object = False) -> object:
    """Reduce a tile, or a tuple of tiles, along an axis with a binary function of scalars.

    func: gets the values of two parts of the axis, the earlier part's first, and returns those of both together.
    identity: what `func` combines with any value to that value.
    """
    found = _custom(tr, "reduce", x, axis, func, identity)
    if not constant_bool(keepdims, "keepdims"):
        return found
    shape = common_shape("the tiles of ct.reduce", *(t.shape for t in (x if isinstance(x, tuple) else (x,))))
    at = axis_of(axis, len(shape))
    kept = tuple(1 if i == at else n for i, n in enumerate(shape))
    return tuple(tr.emit.reshape(t, kept) for t in found) if isinstance(found, tuple) else tr.emit.reshape(found, kept)


@operation("scan")
def scan(tr: Tracer, x: object, /, axis: object, func: object, identity: object, *, reverse: object = False) -> object:
    """Return the inclusive prefix combination along an axis, with the arguments of `ct.reduce`."""
    return _custom(tr, "scan", x, axis, func, identity, reverse=constant_bool(reverse, "reverse"))
