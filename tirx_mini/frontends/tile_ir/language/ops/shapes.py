"""Creation and reshaping of tiles."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..arguments import (
    axis_of,
    constant_int,
    constant_ints,
    dtype_of,
    fill_of,
    permutation,
    scalar_index,
    shape_of,
    tile_of,
)
from ..dtypes import DType, int32
from ..errors import TileShapeError, TileSyntaxError, TileTypeError
from ..folding import converted
from ..surface import METHODS, method, operation
from ..values import TileValue, describe, is_constant, leaves

if TYPE_CHECKING:
    from ..tracer import Tracer


@operation("full")
def full(tr: Tracer, shape: object, fill_value: object, dtype: object) -> Any:
    """Return a tile filled with one number."""
    target, extents = dtype_of(dtype), shape_of(shape)
    return _filled(tr, extents, fill_value, target)


def _filled(tr: Tracer, shape: tuple[int, ...], value: object, dtype: DType) -> TileValue:
    if not is_constant(value):
        return tr.emit.broadcast(fill_of(tr, value, dtype, "the fill value"), shape)
    number = getattr(value, "value", value)
    if dtype.is_bool:
        return tr.emit.constant(bool(number), dtype, shape)
    if not dtype.is_float:
        number = converted(number, dtype).value
    return tr.emit.constant(number, dtype, shape)


@operation("zeros")
def zeros(tr: Tracer, shape: object, dtype: object) -> Any:
    """Return a tile of zeros."""
    return _filled(tr, shape_of(shape), 0, dtype_of(dtype))


@operation("ones")
def ones(tr: Tracer, shape: object, dtype: object) -> object:
    """Return a tile of ones."""
    return _filled(tr, shape_of(shape), 1, dtype_of(dtype))


@operation("arange")
def arange(tr: Tracer, size: object, /, *, dtype: object, start: object = 0, step: object = 1) -> Any:
    """Return a 1-D tile of `size` numbers: start, start + step, …"""
    target = dtype_of(dtype)
    shape = shape_of(constant_int(size, "the size of ct.arange"), "the size of ct.arange")
    counted = target if target.is_integer else int32
    tile = tr.emit.tile("iota", counted, shape)
    if counted != target:
        tile = tr.emit.cast(tile, target)
    for name, value, neutral in (("mul", step, 1), ("add", start, 0)):
        if not is_constant(value) or getattr(value, "value", value) != neutral:
            operand = tr.emit.broadcast(fill_of(tr, value, target, "start and step of ct.arange"), shape)
            tile = tr.emit.tile(f"{name}{'f' if target.is_float else 'i'}", target, shape, tile, operand)
    return tile


@operation("astile")
def astile(tr: Tracer, value: object, /, *, dtype: object) -> object:
    """Return a tile of a number, or of a (nested) tuple of numbers."""
    target = dtype_of(dtype)
    if isinstance(value, TileValue):
        return tr.emit.cast(value, target)
    shape = shape_of(_nested_shape(value), "the shape of the tuple")
    items = list(leaves(value))
    if all(is_constant(item) for item in items):
        numbers = [getattr(item, "value", item) for item in items]
        if not target.is_float:
            numbers = [int(n) for n in numbers]
        return tr.emit.table(numbers, target, shape) if shape else tr.emit.constant(numbers[0], target)
    parts = [tr.emit.reshape(fill_of(tr, item, target, "an item"), (1,)) for item in items]
    while len(parts) > 1:
        parts = [_cat(tr, a, b, 0) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return tr.emit.reshape(parts[0], shape)


def _nested_shape(value: object) -> tuple[int, ...]:
    if not isinstance(value, tuple):
        return ()
    inner = {_nested_shape(item) for item in value}
    if len(inner) != 1:
        raise TileShapeError("the tuples of ct.astile must have the same length at each level")
    return (len(value), *inner.pop())


@operation("reshape")
def reshape(tr: Tracer, x: object, /, shape: object) -> Any:
    """Reshape a tile in row-major order. One extent may be -1, to be inferred."""
    tile = tile_of(tr, x, "the argument of ct.reshape")
    if not isinstance(shape, tuple):
        raise TileTypeError(
            f"the shape of ct.reshape is a tuple, not {describe(shape)}", hint="write `x.reshape((8, 4))`"
        )
    wanted = list(constant_ints(shape, "the shape"))
    size = math.prod(tile.shape)
    if wanted.count(-1) == 1:
        rest = -math.prod(wanted)
        if rest == 0 or size % rest:
            raise TileShapeError(f"a tile of the shape {tile.shape} cannot be reshaped to {tuple(wanted)}")
        wanted[wanted.index(-1)] = size // rest
    extents = shape_of(tuple(wanted))
    if math.prod(extents) != size:
        raise TileShapeError(
            f"a tile of the shape {tile.shape} has {size} elements, and one of {extents} has {math.prod(extents)}"
        )
    return tr.emit.reshape(tile, extents)


METHODS[TileValue, "reshape"] = reshape


@method(TileValue, "item")
def item(tr: Tracer, x: TileValue) -> Any:
    """Return the only element of a tile as a scalar."""
    if math.prod(x.shape) != 1:
        raise TileShapeError(f"`.item()` needs a tile of one element, not {describe(x)}")
    return tr.emit.reshape(x, ())


@operation("expand_dims")
def expand_dims(tr: Tracer, x: object, /, axis: object) -> Any:
    """Insert an axis of extent 1."""
    tile = tile_of(tr, x, "the argument of ct.expand_dims")
    place = axis_of(axis, tile.ndim + 1)
    return tr.emit.reshape(tile, (*tile.shape[:place], 1, *tile.shape[place:]))


def subscript(tr: Tracer, tile: TileValue, key: object) -> TileValue:
    """Evaluate ``x[:, None]``: None inserts an axis of extent 1, and other axes are taken whole."""
    keys = key if isinstance(key, tuple) else (key,)
    whole = sum(1 for k in keys if isinstance(k, slice))
    for k in keys:
        if isinstance(k, slice) and not (k.start is None and k.stop is None and k.step is None):
            raise TileSyntaxError("a tile cannot be sliced", hint="use `ct.extract(x, index, shape)`")
        if not (k is None or k is Ellipsis or isinstance(k, slice)):
            raise TileSyntaxError(
                f"a tile cannot be indexed with {describe(k)}; only `:`, `...` and None can stand there",
                hint="use `ct.extract(x, index, shape)`, or `x.item()` for the only element of a tile",
            )
    if keys.count(Ellipsis) > 1 or whole > tile.ndim:
        raise TileShapeError(f"there are too many indices for {describe(tile)}")
    filled = list(keys) if Ellipsis in keys else [*keys, Ellipsis]
    at = filled.index(Ellipsis)
    filled[at : at + 1] = [slice(None)] * (tile.ndim - whole)
    extents = iter(tile.shape)
    return tr.emit.reshape(tile, tuple(1 if k is None else next(extents) for k in filled))


@operation("permute")
def permute(tr: Tracer, x: object, /, axes: object) -> Any:
    """Permute the axes of a tile."""
    tile = tile_of(tr, x, "the argument of ct.permute")
    return _permuted(tr, tile, permutation(axes, tile.ndim, "axes"))


METHODS[TileValue, "permute"] = permute


def _permuted(tr: Tracer, tile: TileValue, order: tuple[int, ...]) -> TileValue:
    if order == tuple(range(tile.ndim)):
        return tile
    return tr.emit.tile("permute", tile.dtype, [tile.shape[a] for a in order], tile, permutation=order)


@operation("transpose")
def transpose(tr: Tracer, x: object, /, axis0: object = None, axis1: object = None) -> object:
    """Swap two axes of a tile, which are optional for 2-D tiles."""
    tile = tile_of(tr, x, "the argument of ct.transpose")
    if axis0 is None and axis1 is None:
        if tile.ndim != 2:
            raise TileShapeError(f"ct.transpose needs the two axes to exchange in {describe(tile)}")
        axis0, axis1 = 0, 1
    if axis0 is None or axis1 is None:
        raise TileTypeError("ct.transpose takes two axes or none")
    first, second = axis_of(axis0, tile.ndim, "axis0"), axis_of(axis1, tile.ndim, "axis1")
    order = list(range(tile.ndim))
    order[first], order[second] = second, first
    return _permuted(tr, tile, tuple(order))


METHODS[TileValue, "transpose"] = transpose


@operation("broadcast_to")
def broadcast_to(tr: Tracer, x: object, /, shape: object) -> Any:
    """Broadcast a tile to a larger shape by NumPy's rules."""
    tile = tile_of(tr, x, "the argument of ct.broadcast_to")
    target = shape_of(shape)
    padded = (1,) * (len(target) - tile.ndim) + tile.shape
    if len(padded) != len(target) or any(n not in (1, m) for n, m in zip(padded, target, strict=True)):
        raise TileShapeError(f"the shape {tile.shape} does not broadcast to {target}")
    return tr.emit.broadcast(tile, target)


@operation("cat")
def cat(tr: Tracer, tiles: object, /, axis: object) -> object:
    """Concatenate one or two tiles of the same shape along an axis."""
    if not isinstance(tiles, tuple) or len(tiles) not in (1, 2):
        raise TileTypeError(f"ct.cat takes one or two tiles, not {describe(tiles)}")
    if len(tiles) == 1:
        only = tile_of(tr, tiles[0], "the tile of ct.cat")
        axis_of(axis, only.ndim)
        return only
    a, b = (tile_of(tr, t, "a tile of ct.cat") for t in tiles)
    if a.shape != b.shape or a.dtype != b.dtype:
        raise TileShapeError(f"ct.cat needs two tiles of one shape and dtype, not {describe(a)} and {describe(b)}")
    return _cat(tr, a, b, axis_of(axis, a.ndim))


def _cat(tr: Tracer, a: TileValue, b: TileValue, axis: int) -> TileValue:
    shape = (*a.shape[:axis], a.shape[axis] + b.shape[axis], *a.shape[axis + 1 :])
    return tr.emit.tile("cat", a.dtype, shape, a, b, dim=axis)


def _cell(tr: Tracer, whole: TileValue, part: tuple[int, ...], index: object, name: str) -> list[object]:
    """Return the indices of a cell in the grid of `part` cells that covers `whole`."""
    if len(part) != whole.ndim or any(n % m for n, m in zip(whole.shape, part, strict=False)):
        raise TileShapeError(f"ct.{name}: the shape {part} does not divide {whole.shape}")
    items = index if isinstance(index, tuple) else (index,)
    if len(items) != whole.ndim:
        raise TileShapeError(f"ct.{name}: the index has {len(items)} items for {whole.ndim} dimensions")
    for i, (item, n, m) in enumerate(zip(items, whole.shape, part, strict=True)):
        number = getattr(item, "value", item)
        if isinstance(number, int) and not 0 <= number < n // m:
            raise TileShapeError(f"ct.{name}: item {i} of the index is {number}, but there are {n // m} cells")
    return [tr.emit.cast(scalar_index(tr, item, f"item {i} of the index"), int32).value for i, item in enumerate(items)]


@operation("extract")
def extract(tr: Tracer, x: object, /, index: object, shape: object) -> Any:
    """Extract one cell of the grid of `shape` cells that covers a tile, or one element for shape ()."""
    tile = tile_of(tr, x, "the argument of ct.extract")
    wanted = shape_of(shape)
    part = wanted or (1,) * tile.ndim
    return tr.emit.reshape(
        tr.emit.tile("extract", tile.dtype, part, tile, _cell(tr, tile, part, index, "extract")), wanted
    )


METHODS[TileValue, "extract"] = extract


@operation("insert")
def insert(tr: Tracer, x: object, /, index: object, value: object) -> Any:
    """Replace one cell of a tile's grid by `value`."""
    tile = tile_of(tr, x, "the argument of ct.insert")
    part = tile_of(tr, value, "the value of ct.insert")
    if part.dtype != tile.dtype:
        raise TileTypeError(
            f"ct.insert cannot put {describe(value)} into {describe(tile)}",
            hint=f"convert it: `x.astype(ct.{tile.dtype})`",
        )
    if part.shape == ():
        part = tr.emit.reshape(part, (1,) * tile.ndim)
    return tr.emit.tile("insert", tile.dtype, tile.shape, part, tile, _cell(tr, tile, part.shape, index, "insert"))


METHODS[TileValue, "insert"] = insert
