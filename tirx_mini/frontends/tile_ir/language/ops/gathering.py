"""Gathers and scatters: loads and stores of elements selected by tiles of indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...cuda_tile import TOKEN
from ..arguments import (
    array_of,
    cast_to,
    common_shape,
    constant_bool,
    scalar_index,
    shape_of,
    tile_of,
)
from ..dtypes import int32, int64
from ..emitter import pointer_type, tile_type
from ..enums import PaddingMode
from ..errors import TileShapeError, TileTypeError
from ..surface import method, operation
from ..values import ArrayValue, RawMemoryValue, SliceValue, TileValue, describe, is_constant, plain
from .memory import access_hints, padding_of

if TYPE_CHECKING:
    from ..tracer import Tracer

_PADDED = {
    PaddingMode.ZERO: 0.0, PaddingMode.NEG_ZERO: -0.0, PaddingMode.NAN: float("nan"),
    PaddingMode.POS_INF: float("inf"), PaddingMode.NEG_INF: float("-inf"), PaddingMode.UNDETERMINED: 0.0,
}  # fmt: skip


def _indices(tr: Tracer, array: ArrayValue, indices: object, name: str) -> list[TileValue]:
    """Return one integer tile per array dimension, not yet broadcast."""
    items = indices if isinstance(indices, tuple) else (indices,)
    if len(items) != array.ndim:
        raise TileShapeError(
            f"ct.{name} takes a tuple of {array.ndim} indices for `{array.name}`, one for each dimension, "
            f"not {describe(indices)}"
        )
    tiles = []
    for i, item in enumerate(items):
        tile = (
            tile_of(tr, item, f"index {i} of ct.{name}") if isinstance(item, TileValue) or is_constant(item) else None
        )
        if tile is None or not tile.dtype.is_integer:
            raise TileTypeError(
                f"index {i} of ct.{name} must be a tile of integers, not {describe(item)}",
                hint="convert it: `i.astype(ct.int32)`" if tile is not None else None,
            )
        tiles.append(tr.emit.wide(tile, 32))
    return tiles


def _needs_64_bits(array: ArrayValue, tiles: list[TileValue]) -> bool:
    """Return whether offsets into the array may exceed 31 bits."""
    if any(t.dtype.bitwidth > 32 for t in tiles):
        return True
    if not array.static:
        return False
    last = sum((plain(n) - 1) * plain(s) for n, s in zip(array.shape, array.strides, strict=True))
    return last >= int32.limits[1]


def addresses(
    tr: Tracer, array: ArrayValue, indices: object, check_bounds: object, mask: object, name: str
) -> tuple[TileValue, TileValue | None]:
    """Return pointers to the elements at `indices`, and a mask of the accessible ones or None for all.

    Bounds are checked and offsets multiplied before indices are broadcast, where tiles are small.
    """
    e = tr.emit
    tiles = _indices(tr, array, indices, name)
    shape = common_shape(f"the indices of ct.{name}", *(t.shape for t in tiles))
    wide = int64 if _needs_64_bits(array, tiles) else int32
    total: TileValue | None = None
    allowed: TileValue | None = None
    if mask is not None:
        allowed = boolean_mask(tr, mask, f"ct.{name}")
        if common_shape(f"the mask of ct.{name}", allowed.shape, shape) != shape:
            raise TileShapeError(f"the mask of ct.{name} has the shape {allowed.shape}, but the indices have {shape}")
    for tile, extent, stride in zip(tiles, array.shape, array.strides, strict=True):
        if constant_bool(check_bounds, "check_bounds"):
            allowed = e.both(allowed, _in_bounds(tr, tile, extent))
        part = e.cast(tile, wide)
        if plain(stride) != 1:
            part = e.index("muli", part, _like(tr, stride, part))
        total = part if total is None else _added(tr, total, part)
    pointers = _pointers(tr, array, total, wide, shape)
    return pointers, None if allowed is None else e.broadcast(allowed, shape)


def _like(tr: Tracer, scalar: Any, tile: TileValue) -> TileValue:
    """Return a scalar with the dtype and shape of a tile."""
    if is_constant(scalar):
        return tr.emit.constant(plain(scalar), tile.dtype, tile.shape)
    return tr.emit.broadcast(tr.emit.cast(scalar, tile.dtype), tile.shape)


def _added(tr: Tracer, x: TileValue, y: TileValue) -> TileValue:
    shape = common_shape("indices", x.shape, y.shape)
    return tr.emit.index("addi", tr.emit.broadcast(x, shape), tr.emit.broadcast(y, shape))


def _in_bounds(tr: Tracer, tile: TileValue, extent: object) -> TileValue | None:
    """Return the mask ``0 <= tile < extent``."""
    e = tr.emit
    below = e.compare("less_than", tile, _like(tr, extent, tile))
    if tile.dtype.kind == "u":
        return below
    return e.both(e.compare("greater_than_or_equal", tile, 0), below)


def _pointers(
    tr: Tracer, array: ArrayValue, offset: TileValue | None, wide: object, shape: tuple[int, ...]
) -> TileValue:
    e = tr.emit
    base = array.base
    if shape:
        base = e.emit("reshape", base, types=[pointer_type(array.dtype, (1,) * len(shape))])
        if any(n != 1 for n in shape):
            base = e.emit("broadcast", base, types=[pointer_type(array.dtype, shape)])
    if offset is not None:
        spread = e.broadcast(offset, shape)
        base = e.emit("offset", base, spread.value, types=[pointer_type(array.dtype, shape)])
    return TileValue(base, array.dtype, shape)


def load_elements(
    tr: Tracer, array: ArrayValue, pointers: TileValue, mask: TileValue | None, padding: TileValue | None, hints: object
) -> TileValue:
    """Load through pointers; masked-off elements are the padding value."""
    before = tr.order.before_load(array)
    shape = pointers.shape
    values = (None if mask is None else mask.value, None if mask is None or padding is None else padding.value)
    tile, token = tr.emit.emit(
        "load_ptr_tko", pointers.value, *values, before, types=[tile_type(array.dtype, shape), TOKEN],
        memory_ordering_semantics="weak", optimization_hints=hints,
    )  # fmt: skip
    tr.order.after_load(array, token)
    return TileValue(tile, array.dtype, shape)


def store_elements(
    tr: Tracer, array: ArrayValue, pointers: TileValue, value: TileValue, mask: TileValue | None, hints: object
) -> None:
    """Store through pointers where the mask is true."""
    before = tr.order.before_store(array)
    token = tr.emit.emit(
        "store_ptr_tko", pointers.value, value.value, None if mask is None else mask.value, before, types=[TOKEN],
        memory_ordering_semantics="weak", optimization_hints=hints,
    )  # fmt: skip
    tr.order.after_store(array, token)


def spread(tr: Tracer, value: object, array: ArrayValue, shape: tuple[int, ...], what: str) -> TileValue:
    """Convert a value to the array's dtype and broadcast it to the shape of the indices."""
    tile = cast_to(tr, value, array.dtype, what)
    if common_shape(what, tile.shape, shape) != shape:
        raise TileShapeError(
            f"{what} has the shape {tile.shape}, which does not broadcast to that of the indices, {shape}"
        )
    return tr.emit.broadcast(tile, shape)


@operation("gather")
def gather(
    tr: Tracer, array: object, indices: object, /, *, mask: object = None, padding_value: object = 0,
    check_bounds: object = True,
    latency: object = None,
) -> object:  # fmt: skip
    """Gather array elements at tiles of indices, one tile per dimension, broadcast to one shape.

    mask: where it is false, or an index lies outside of the array, the element is `padding_value`.
    check_bounds: False promises that all indices lie inside the array.
    """
    source = array_of(array, "ct.gather")
    pointers, allowed = addresses(tr, source, indices, check_bounds, mask, "gather")
    padding = None
    if allowed is not None:
        padding = spread(tr, padding_value, source, pointers.shape, "the padding value of ct.gather")
    return load_elements(tr, source, pointers, allowed, padding, access_hints(tr, latency, None))


@operation("scatter")
def scatter(
    tr: Tracer, array: object, indices: object, value: object, /, *, mask: object = None, check_bounds: object = True,
    latency: object = None,
) -> None:  # fmt: skip
    """Scatter a tile to array elements at tiles of indices, skipping elements out of bounds."""
    target = array_of(array, "ct.scatter")
    pointers, allowed = addresses(tr, target, indices, check_bounds, mask, "scatter")
    tile = spread(tr, value, target, pointers.shape, "the value of ct.scatter")
    store_elements(tr, target, pointers, tile, allowed, access_hints(tr, latency, None))


def _sliced_indices(tr: Tracer, array: ArrayValue, indices: Any, name: str) -> tuple[object, ...]:
    """Return the indices of `load_advanced_indexing` as tiles that broadcast to the result's shape."""
    items = indices if isinstance(indices, tuple) else (indices,)
    tiles = [i for i in items if isinstance(i, TileValue) and i.ndim == 1 and i.dtype.is_integer]
    slices = [i for i in items if isinstance(i, SliceValue)]
    if len(items) != array.ndim or len(tiles) != 1 or len(tiles) + len(slices) != len(items):
        raise TileTypeError(
            f"ct.{name} takes {array.ndim} indices for `{array.name}`: one 1-D tile of integers, and a ct.Slice for "
            f"each other dimension"
        )
    spread_out = []
    for axis, item in enumerate(items):
        if isinstance(item, SliceValue):
            start = scalar_index(tr, item.start, "the start of ct.Slice")
            shape = shape_of(item.length, "the length of ct.Slice")
            count = tr.emit.tile("iota", start.dtype, shape)
            tile = tr.emit.index("addi", count, tr.emit.broadcast(start, shape))
        else:
            tile = item
        spread_out.append(tr.emit.reshape(tile, tuple(tile.shape[0] if a == axis else 1 for a in range(array.ndim))))
    return tuple(spread_out)


@operation("load_advanced_indexing")
def load_advanced_indexing(
    tr: Tracer, array: object, indices: object, /, *, padding_mode: object = PaddingMode.UNDETERMINED,
    latency: object = None,
    allow_tma: object = None,
) -> object:  # fmt: skip
    """Load slices of an array: at indices from a 1-D tile along one dimension, by `ct.Slice` along the others."""
    source = array_of(array, "ct.load_advanced_indexing")
    padded = _PADDED[padding_of(source, padding_mode)]
    places = _sliced_indices(tr, source, indices, "load_advanced_indexing")
    pointers, allowed = addresses(tr, source, places, True, None, "load_advanced_indexing")
    number = padded if source.dtype.is_float else 0
    padding = tr.emit.constant(number, source.dtype, pointers.shape)
    return load_elements(tr, source, pointers, allowed, padding, access_hints(tr, latency, allow_tma))


@operation("store_advanced_indexing")
def store_advanced_indexing(
    tr: Tracer, array: object, indices: object, tile: object, /, *, latency: object = None, allow_tma: object = None
) -> None:
    """Store a tile to slices of an array, indexed as in `load_advanced_indexing`."""
    target = array_of(array, "ct.store_advanced_indexing")
    places = _sliced_indices(tr, target, indices, "store_advanced_indexing")
    pointers, allowed = addresses(tr, target, places, True, None, "store_advanced_indexing")
    value = cast_to(tr, tile, target.dtype, "the tile of ct.store_advanced_indexing")
    if value.shape != pointers.shape:
        raise TileShapeError(f"the tile has the shape {value.shape}, but the indices name {pointers.shape}")
    store_elements(tr, target, pointers, value, allowed, access_hints(tr, latency, allow_tma))


def boolean_mask(tr: Tracer, mask: object, what: str) -> TileValue:
    """Return the mask of an access as a boolean tile."""
    tile = tile_of(tr, mask, f"the mask of {what}")
    if not tile.dtype.is_bool:
        raise TileTypeError(f"the mask of {what} must be of booleans, not {describe(mask)}", hint="compare: `x != 0`")
    return tile


def raw_places(
    tr: Tracer, memory: RawMemoryValue, offset: object, mask: object, name: str
) -> tuple[ArrayValue, TileValue, TileValue | None]:
    """Return the array, pointers to its elements at the offsets, and a mask of the accessible ones or None for all."""
    array = memory.array
    tile = tile_of(tr, offset, f"the offset of {name}")
    if not tile.dtype.is_integer:
        raise TileTypeError(f"the offset of {name} must be a tile of integers, not {describe(offset)}")
    wide = tr.emit.wide(tile, 32)
    allowed = None if mask is None else boolean_mask(tr, mask, name)
    pointers = _pointers(tr, array, wide, wide.dtype, wide.shape)
    return array, pointers, None if allowed is None else tr.emit.broadcast(allowed, pointers.shape)


@method(RawMemoryValue, "load_offset")
def load_offset(
    tr: Tracer,
    memory: RawMemoryValue,
    offset: object,
    /,
    *,
    mask: object = None,
    padding_value: object = 0,
    latency: object = None,
) -> object:
    """Load the elements at offsets from the array's first element."""
    array, pointers, allowed = raw_places(tr, memory, offset, mask, "load_offset")
    padding = spread(tr, padding_value, array, pointers.shape, "the padding value") if allowed is not None else None
    return load_elements(tr, array, pointers, allowed, padding, access_hints(tr, latency, None))


@method(RawMemoryValue, "store_offset")
def store_offset(
    tr: Tracer, memory: RawMemoryValue, offset: object, value: object, /, *, mask: object = None, latency: object = None
) -> None:
    """Store a tile to the elements at offsets from the array's first element."""
    array, pointers, allowed = raw_places(tr, memory, offset, mask, "store_offset")
    tile = spread(tr, value, array, pointers.shape, "the value")
    store_elements(tr, array, pointers, tile, allowed, access_hints(tr, latency, None))
