"""Loads and stores of whole tiles, and array views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tirx_mini.narrowing import is_tuple

from ...cuda_tile import TOKEN, PartitionView, StridedView, TensorView
from ...ssa import Scalar, Value
from ..arguments import (
    array_of,
    axes_order,
    axis_of,
    cast_to,
    constant_bool,
    constant_int,
    constant_ints,
    index_tuple,
    keyword,
    scalar_index,
    shape_of,
)
from ..dtypes import int32
from ..emitter import pointer_type
from ..enums import MemoryOrder, MemoryScope, PaddingMode
from ..errors import TileShapeError, TileTypeError, TileUnsupportedFeatureError, TileValueError
from ..surface import Array, method, operation
from ..values import (
    ArrayValue,
    PointerValue,
    RawMemoryValue,
    Strict,
    TiledViewValue,
    TileValue,
    describe,
    is_constant,
    plain,
)
from .arithmetic import binary

if TYPE_CHECKING:
    from ..tracer import Tracer

_SCOPES = {
    MemoryScope.NONE: None, MemoryScope.BLOCK: "tl_blk", MemoryScope.CLUSTER: "device", MemoryScope.DEVICE: "device",
    MemoryScope.SYS: "sys",
}  # fmt: skip
"""Tile IR has no scope of a cluster; the device contains it."""


def tensor_view(tr: Tracer, array: ArrayValue) -> Value:
    """Return the array as a ``tensor_view``; a parameter's view is created once, in the prologue."""
    known = tr.views.get(array)
    if known is not None:
        return known
    shape, strides = (
        [n.value if isinstance(n, Strict) else None for n in dims] for dims in (array.shape, array.strides)
    )
    of_parameter = array.static and array.base in tr.parameters
    dynamic = [[n.value for n in dims if isinstance(n, TileValue)] for dims in (array.shape, array.strides)]
    kind = TensorView(Scalar(array.dtype.element), tuple(shape), tuple(strides))
    made = tr.emit.emit("make_tensor_view", array.base, *dynamic, types=[kind], first=of_parameter)
    made.hint = made.hint or f"{array.name}_view"
    if of_parameter:
        tr.views[array] = made
    return made


def partition(
    tr: Tracer, array: ArrayValue, shape: tuple[int, ...], order: tuple[int, ...], padding: PaddingMode,
    steps: tuple[int, ...] | None = None,
) -> Value:  # fmt: skip
    """Return the array as a ``partition_view``, or as a ``strided_view`` if `steps` differ from the shape."""
    key = (array, shape, order, padding, steps)
    if key in tr.partitions:
        return tr.partitions[key]
    view = tensor_view(tr, array)
    value = None if padding is PaddingMode.UNDETERMINED else padding.value
    if steps is not None and steps != shape:
        kind: PartitionView = StridedView(shape, view.type, order, value, steps)
        name = "make_strided_view"
    else:
        kind, name = PartitionView(shape, view.type, order, value), "make_partition_view"
    of_parameter = array in tr.views
    made = tr.emit.emit(name, view, types=[kind], first=of_parameter)
    made.hint = made.hint or f"{array.name}_tiles"
    if of_parameter:
        tr.partitions[key] = made
    return made


def padding_of(array: ArrayValue, mode: object) -> PaddingMode:
    padding = keyword(mode, PaddingMode, "padding_mode")
    if padding not in (PaddingMode.UNDETERMINED, PaddingMode.ZERO) and not array.dtype.is_float:
        raise TileTypeError(f"padding with {padding.name} needs an array of floats, not of {array.dtype}")
    return padding


def access_hints(tr: Tracer, latency: object, allow_tma: object) -> object:
    """Return the optimisation hints of a load or store, or None."""
    hints: dict[str, int | bool] = {}
    if latency is not None:
        given = constant_int(latency, "latency")
        if not 1 <= given <= 10:
            raise TileValueError(f"latency={given}: it is from 1 (low) to 10 (high)")
        hints["latency"] = given
    if allow_tma is not None:
        hints["allow_tma"] = constant_bool(allow_tma, "allow_tma")
    return {tr.hint_arch: hints} if hints else None


def memory_order(order: object, scope: object, *allowed: MemoryOrder) -> tuple[str, str | None]:
    """Return the memory order and scope of an access under cuda_tile's names."""
    chosen = keyword(order, MemoryOrder, "memory_order", *allowed)
    where = _SCOPES[keyword(scope, MemoryScope, "memory_scope")]
    if chosen is MemoryOrder.WEAK:
        return chosen.value, None
    return chosen.value, where or "device"


def _load(
    tr: Tracer, view: Value, array: ArrayValue, shape: tuple[int, ...], index: object, options: dict[str, Any]
) -> TileValue:
    acquire = options.get("memory_ordering_semantics") == "acquire"
    scalars = [i.value for i in index_tuple(tr, index, array.ndim)]
    before = tr.order.before_load(array)
    tile, token = tr.emit.emit("load_view_tko", view, scalars, before, types=[view.type.loaded, TOKEN], **options)
    tr.order.after_load(array, token)
    if acquire:
        tr.order.after_fence(token)
    return TileValue(tile, array.dtype, shape)


def _store(tr: Tracer, view: Value, array: ArrayValue, tile: TileValue, index: object, options: dict[str, Any]) -> None:
    release = options.get("memory_ordering_semantics") == "release"
    scalars = [i.value for i in index_tuple(tr, index, array.ndim)]
    before = tr.order.before_store(array)
    if release:
        before = tr.emit.join(before, tr.order.before_fence())
    token = tr.emit.emit("store_view_tko", tile.value, view, scalars, before, types=[TOKEN], **options)
    tr.order.after_store(array, token)


def _options(
    tr: Tracer, rank: int, check_bounds: object, latency: object, allow_tma: object, order: str, scope: str | None
) -> dict[str, object]:
    inside = not constant_bool(check_bounds, "check_bounds")
    return {
        "memory_ordering_semantics": order,
        "memory_scope": scope,
        "optimization_hints": access_hints(tr, latency, allow_tma),
        "inbounds": (True,) * rank if inside else None,
    }


def _with_a_dimension(array: ArrayValue, index: object) -> tuple[ArrayValue, object]:
    """Return an array without dimensions as one of a single element, with the index of its tile."""
    if array.ndim or (is_tuple(index) and index != ()):
        return array, index
    one = Strict(1, int32)
    return ArrayValue(array.base, array.dtype, (one,), (one,), array.root, array.name), (0,)


def _tile_shape(array: ArrayValue, shape: object) -> tuple[int, ...]:
    """Return the shape of an array's tiles; () denotes one element."""
    given = shape_of(shape)
    if array.ndim == 0:
        raise TileShapeError(
            f"`{array.name}` has no dimensions, so it has no tiles",
            hint=f"`ct.load({array.name}, (), ())` loads its element; or pass it with one dimension",
        )
    if given == ():
        return (1,) * array.ndim
    if len(given) != array.ndim:
        raise TileShapeError(
            f"the shape {given} of the tile has {len(given)} extent{'s' if len(given) != 1 else ''}, "
            f"but `{array.name}` has {array.ndim} dimension{'s' if array.ndim != 1 else ''}",
            hint="take 1 along the other dimensions, and `.reshape` the tile",
        )
    return given


@operation("load")
def load(
    tr: Tracer, array: object, /, index: object, shape: object, *, order: object = "C",
    padding_mode: object = PaddingMode.UNDETERMINED, check_bounds: object = True, latency: object = None,
    allow_tma: object = None,
    memory_order: object = MemoryOrder.WEAK, memory_scope: object = MemoryScope.NONE,
) -> Any:  # fmt: skip
    """Load the tile at `index` in the grid of `shape` tiles that covers an array.

    order: which dimension of the array each dimension of the tile runs along.
    padding_mode: what elements beyond the array are.
    check_bounds: False promises that the tile lies inside the array.
    latency: how much memory traffic to expect, 1 to 10.
    allow_tma: whether TMA may be used.
    """
    source, index = _with_a_dimension(array_of(array, "ct.load"), index)
    extents = _tile_shape(source, shape)
    semantics, scope = _order(memory_order, memory_scope, MemoryOrder.WEAK, MemoryOrder.RELAXED, MemoryOrder.ACQUIRE)
    view = partition(tr, source, extents, axes_order(order, source.ndim), padding_of(source, padding_mode))
    options = _options(tr, source.ndim, check_bounds, latency, allow_tma, semantics, scope)
    tile = _load(tr, view, source, extents, index, options)
    return tr.emit.reshape(tile, ()) if plain(shape) == () else tile


_order = memory_order


@operation("store")
def store(
    tr: Tracer, array: object, /, index: object, tile: object, *, order: object = "C", check_bounds: object = True,
    latency: object = None, allow_tma: object = None, memory_order: object = MemoryOrder.WEAK,
    memory_scope: object = MemoryScope.NONE,
) -> None:  # fmt: skip
    """Store a tile at `index` in the grid of tiles that covers an array, skipping elements out of bounds."""
    target, index = _with_a_dimension(array_of(array, "ct.store"), index)
    value = cast_to(tr, tile, target.dtype, f"the tile that is stored to `{target.name}`")
    if value.shape == ():
        value = tr.emit.reshape(value, (1,) * target.ndim)
    if value.ndim != target.ndim:
        raise TileShapeError(
            f"the tile has {value.ndim} dimension{'s' if value.ndim != 1 else ''}, "
            f"but `{target.name}` has {target.ndim}",
            hint="`.reshape` the tile to one extent for each dimension of the array",
        )
    semantics, scope = _order(memory_order, memory_scope, MemoryOrder.WEAK, MemoryOrder.RELAXED, MemoryOrder.RELEASE)
    view = partition(tr, target, value.shape, axes_order(order, target.ndim), PaddingMode.UNDETERMINED)
    _store(
        tr, view, target, value, index, _options(tr, target.ndim, check_bounds, latency, allow_tma, semantics, scope)
    )


@operation("num_tiles")
def num_tiles(tr: Tracer, array: object, /, axis: object, shape: object, order: object = "C") -> Any:
    """Return the number of tiles of `shape` that cover an array along `axis`."""
    source = array_of(array, "ct.num_tiles")
    extents = _tile_shape(source, shape)
    place = axis_of(axis, source.ndim)
    return _count(tr, source.shape[axes_order(order, source.ndim)[place]], extents[place])


def _count(tr: Tracer, extent: object, step: int) -> Any:
    return binary(tr, "cdiv", extent, step)


# -- Views of arrays ---------------------------------------------------------------------------------------------------


@method(ArrayValue, "slice")
def slice_(tr: Tracer, array: ArrayValue, axis: object, start: object, stop: object) -> object:
    """Return the part of an array from `start` to `stop` along an axis, without copying."""
    place = axis_of(axis, array.ndim)
    bounds = []
    for name, value in (("start", start), ("stop", stop)):
        scalar = value if isinstance(value, Strict) else Strict(value, int32) if is_constant(value) else value
        if isinstance(scalar, TileValue):
            scalar = scalar_index(tr, scalar, f"`{name}` of slice")
        elif not isinstance(plain(scalar), int):
            raise TileTypeError(f"`{name}` of slice must be an integer, not {describe(value)}")
        bounds.append(scalar)
    first, last = bounds
    extent = array.shape[place]
    if all(isinstance(v, Strict) for v in (first, last, extent)) and not 0 <= first.value <= last.value <= extent.value:
        raise TileShapeError(f"the slice from {first} to {last} does not lie in the {extent} elements of axis {place}")
    base = array.base
    if not (isinstance(first, Strict) and first.value == 0):
        distance = binary(tr, "mul", first, array.strides[place])
        offset = scalar_index(tr, distance, "the offset of the slice")
        base = tr.emit.emit("offset", base, offset.value, types=[pointer_type(array.dtype, ())])
    shape = (*array.shape[:place], binary(tr, "sub", last, first), *array.shape[place + 1 :])
    return ArrayValue(base, array.dtype, shape, array.strides, array.root, array.name)


@method(ArrayValue, "tiled_view")
def tiled_view(
    tr: Tracer, array: ArrayValue, tile_shape: object, *, padding_mode: object = PaddingMode.UNDETERMINED,
    traversal_steps: object = None,
) -> object:  # fmt: skip
    """Return a view of the array as tiles of one shape.

    traversal_steps: elements between the origins of consecutive tiles; by default the shape.
    """
    shape = _tile_shape(array, tile_shape)
    steps = shape if traversal_steps is None else constant_ints(traversal_steps, "traversal_steps")
    if len(steps) != array.ndim or any(s < 1 for s in steps):
        raise TileShapeError(f"traversal_steps={steps}: it has a positive number for each of {array.ndim} dimensions")
    return TiledViewValue(array, shape, padding_of(array, padding_mode), steps)


@method(ArrayValue, "get_raw_memory")
def get_raw_memory(tr: Tracer, array: ArrayValue) -> object:
    """Return the memory of the array, addressed by element offsets."""
    return RawMemoryValue(array)


@method(TiledViewValue, "load")
def view_load(
    tr: Tracer,
    view: TiledViewValue,
    index: object,
    *,
    check_bounds: object = True,
    latency: object = None,
    allow_tma: object = None,
) -> object:
    """Load the tile at `index`."""
    array = view.array
    made = partition(tr, array, view.tile_shape, tuple(range(array.ndim)), view.padding, view.steps)
    options = _options(tr, array.ndim, check_bounds, latency, allow_tma, "weak", None)
    return _load(tr, made, array, view.tile_shape, index, options)


@method(TiledViewValue, "store")
def view_store(
    tr: Tracer, view: TiledViewValue, index: object, tile: object, *, check_bounds: object = True,
    latency: object = None,
    allow_tma: object = None,
) -> None:  # fmt: skip
    """Store a tile at `index`, broadcast to the view's tile shape."""
    array = view.array
    value = view_value(tr, view, tile)
    made = partition(tr, array, view.tile_shape, tuple(range(array.ndim)), view.padding, view.steps)
    _store(tr, made, array, value, index, _options(tr, array.ndim, check_bounds, latency, allow_tma, "weak", None))


def view_value(tr: Tracer, view: TiledViewValue, tile: object) -> TileValue:
    """Return a tile with the dtype and shape of a view's tiles."""
    value = cast_to(tr, tile, view.dtype, f"the tile that is stored to `{view.array.name}`")
    padded = (1,) * (len(view.tile_shape) - value.ndim) + value.shape
    if len(padded) != len(view.tile_shape) or any(
        n not in (1, m) for n, m in zip(padded, view.tile_shape, strict=True)
    ):
        raise TileShapeError(f"a tile of the shape {value.shape} does not broadcast to {view.tile_shape}")
    return tr.emit.broadcast(value, view.tile_shape)


@method(TiledViewValue, "num_tiles")
def view_num_tiles(tr: Tracer, view: TiledViewValue, axis: object) -> object:
    """Return the number of tiles whose origin lies in the array, along an axis."""
    place = axis_of(axis, view.array.ndim)
    return _count(tr, view.array.shape[place], view.steps[place])


@method(Array, "from_foreign")
def from_foreign(tr: Tracer, pointer: object, shape: object, strides: object) -> object:
    """Return the array at a foreign pointer with given extents and strides, which are tuples of equal length."""
    if not isinstance(pointer, PointerValue):
        raise TileTypeError(f"ct.Array.from_foreign needs a foreign pointer, not {describe(pointer)}")
    if not (isinstance(shape, tuple) and isinstance(strides, tuple) and len(shape) == len(strides)):
        raise TileShapeError("ct.Array.from_foreign needs a shape and strides of the same length, as tuples")
    array = pointer.array
    extents = tuple(_extent(tr, n) for n in shape)
    return ArrayValue(array.base, array.dtype, extents, tuple(_extent(tr, s) for s in strides), array.root, array.name)


def _extent(tr: Tracer, value: object) -> Any:
    if is_constant(value):
        number = constant_int(value, "an extent or a stride")
        if number < 0:
            raise TileValueError(f"an extent or a stride cannot be negative, as {number} is")
        return Strict(number, int32)
    return scalar_index(tr, value, "an extent or a stride")


@operation("foreign_pointer_dtype")
def foreign_pointer_dtype(tr: Tracer, pointee_dtype: object) -> object:
    """Raise an error, since pointers to foreign memory are not supported."""
    raise TileUnsupportedFeatureError(
        "pointers to memory that is not an argument are not supported",
        hint="pass the array as a parameter of the kernel",
    )
