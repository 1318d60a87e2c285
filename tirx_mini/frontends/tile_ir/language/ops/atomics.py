"""Atomic operations on array elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tirx_mini.records import dataclass

from ...cuda_tile import TOKEN
from ..arguments import array_of, index_tuple
from ..dtypes import DType, bfloat16, float16, float32, float64
from ..emitter import tile_type
from ..enums import MemoryOrder, MemoryScope, PaddingMode
from ..errors import TileTypeError
from ..surface import METHODS, Operation, method, operation
from ..values import ArrayValue, RawMemoryValue, TiledViewValue, TileValue
from .gathering import addresses, raw_places, spread
from .memory import memory_order as order_of
from .memory import partition, view_value

if TYPE_CHECKING:
    from ..tracer import Tracer

_ORDERS = (MemoryOrder.RELAXED, MemoryOrder.ACQUIRE, MemoryOrder.RELEASE, MemoryOrder.ACQ_REL)
_MODES = ("add", "max", "min", "and", "or", "xor", "xchg")


def _mode(name: str, dtype: DType, what: str) -> str:
    """Return cuda_tile's name of an atomic operation. Raises `TileTypeError` for unsupported dtypes."""
    wide = dtype.is_integer and dtype.bitwidth >= 32
    if name == "add" and dtype in (float16, bfloat16, float32, float64):
        return "addf"
    if name == "xchg" and (wide or dtype in (float32, float64)):
        return "xchg"
    if wide:
        return f"u{name}" if name in ("max", "min") and dtype.kind == "u" else name
    raise TileTypeError(
        f"{what} is not defined for arrays of {dtype}",
        hint="it takes int32, uint32, int64 and uint64"
        + (", and floats of 16 bits and more" if name == "add" else ", float32 and float64" if name == "xchg" else ""),
    )


class _Fence:
    """The tokens around an atomic operation, which order all other arrays if it acquires or releases."""

    def __init__(self, tr: Tracer, array: ArrayValue, semantics: str) -> None:
        self.tr, self.array = tr, array
        self.acquires, self.releases = semantics in ("acquire", "acq_rel"), semantics in ("release", "acq_rel")
        token = tr.order.before_store(array)
        if self.releases:
            token = tr.emit.join(token, tr.order.before_fence())
        self.token = token

    def done(self, token: Any) -> None:
        self.tr.order.after_store(self.array, token)
        if self.acquires:
            self.tr.order.found.fenced = True
            self.tr.order.after_fence(token)


@dataclass(frozen=True, eq=False)
class _Places:
    """The elements that an atomic operation modifies.

    pointers: to each element; allowed: which may be changed, None for all.
    """

    array: ArrayValue
    pointers: TileValue
    allowed: TileValue | None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.pointers.shape

    @property
    def mask(self) -> Any:
        return None if self.allowed is None else self.allowed.value


def _rmw(tr: Tracer, name: str, places: _Places, update: object, order: object, scope: object, what: str) -> TileValue:
    """Emit an atomic read-modify-write of elements. what: the operation's name in messages."""
    array = places.array
    mode = _mode(name, array.dtype, what)
    value = spread(tr, update, array, places.shape, f"the update of {what}")
    semantics, where = order_of(order, scope, *_ORDERS)
    fence = _Fence(tr, array, semantics)
    made, token = tr.emit.emit(
        "atomic_rmw_tko", places.pointers.value, value.value, places.mask, fence.token,
        types=[tile_type(array.dtype, places.shape), TOKEN], mode=mode, memory_ordering_semantics=semantics,
        memory_scope=where,
    )  # fmt: skip
    fence.done(token)
    return TileValue(made, array.dtype, places.shape)


def _cas(
    tr: Tracer, places: _Places, expected: object, desired: object, order: object, scope: object, what: str
) -> TileValue:
    """Emit an atomic compare-and-swap of elements; masked-off results are `expected`."""
    array, shape = places.array, places.shape
    _mode("xchg", array.dtype, what)
    old = spread(tr, expected, array, shape, f"`expected` of {what}")
    new = spread(tr, desired, array, shape, f"`desired` of {what}")
    semantics, where = order_of(order, scope, *_ORDERS)
    fence = _Fence(tr, array, semantics)
    made, token = tr.emit.emit(
        "atomic_cas_tko", places.pointers.value, old.value, new.value, places.mask, fence.token,
        types=[tile_type(array.dtype, shape), TOKEN], memory_ordering_semantics=semantics, memory_scope=where,
    )  # fmt: skip
    fence.done(token)
    found = TileValue(made, array.dtype, shape)
    if places.allowed is None:
        return found
    return tr.emit.tile("select", array.dtype, shape, places.allowed, found, old)


def _define(name: str, doc: str) -> None:
    def implementation(
        tr: Tracer, array: object, indices: object, update: object, /, *, check_bounds: object = True,
        memory_order: object = MemoryOrder.ACQ_REL, memory_scope: object = MemoryScope.DEVICE,
    ) -> Any:  # fmt: skip
        target = array_of(array, f"ct.atomic_{name}")
        places = _Places(target, *addresses(tr, target, indices, check_bounds, None, f"atomic_{name}"))
        return _rmw(tr, name, places, update, memory_order, memory_scope, f"ct.atomic_{name}")

    def of_memory(
        tr: Tracer, memory: RawMemoryValue, offset: object, update: object, /, *, mask: object = None,
        memory_order: object = MemoryOrder.ACQ_REL, memory_scope: object = MemoryScope.DEVICE,
    ) -> object:  # fmt: skip
        places = _Places(*raw_places(tr, memory, offset, mask, f"atomic_{name}_offset"))
        return _rmw(tr, name, places, update, memory_order, memory_scope, f"atomic_{name}_offset")

    implementation.__doc__ = f"{doc} Returns what the elements were before; indices outside of the array are left out."
    of_memory.__doc__ = f"As `ct.atomic_{name}`, on the elements at offsets from the first one of the array."
    operation(f"atomic_{name}")(implementation)
    method(RawMemoryValue, f"atomic_{name}_offset")(of_memory)


for _name, _doc in {
    "add": "Add a tile to elements of an array, each atomically.",
    "max": "Replace elements of an array by the greater of them and those of a tile, each atomically.",
    "min": "Replace elements of an array by the lesser of them and those of a tile, each atomically.",
    "and": "Replace elements of an array by their bitwise AND with those of a tile, each atomically.",
    "or": "Replace elements of an array by their bitwise OR with those of a tile, each atomically.",
    "xor": "Replace elements of an array by their bitwise XOR with those of a tile, each atomically.",
    "xchg": "Replace elements of an array by those of a tile, each atomically.",
}.items():
    _define(_name, _doc)


@operation("atomic_cas")
def atomic_cas(
    tr: Tracer, array: object, indices: object, expected: object, desired: object, /, *, check_bounds: object = True,
    memory_order: object = MemoryOrder.ACQ_REL, memory_scope: object = MemoryScope.DEVICE,
) -> object:  # fmt: skip
    """Replace elements equal to `expected` by `desired`, each atomically, and return the old values.

    For an index outside of the array it is `expected`.
    """
    target = array_of(array, "ct.atomic_cas")
    places = _Places(target, *addresses(tr, target, indices, check_bounds, None, "atomic_cas"))
    return _cas(tr, places, expected, desired, memory_order, memory_scope, "ct.atomic_cas")


@method(RawMemoryValue, "atomic_cas_offset")
def atomic_cas_offset(
    tr: Tracer, memory: RawMemoryValue, offset: object, expected: object, desired: object, /, *, mask: object = None,
    memory_order: object = MemoryOrder.ACQ_REL, memory_scope: object = MemoryScope.DEVICE,
) -> object:  # fmt: skip
    """Perform `ct.atomic_cas` on elements addressed by their offset from the array's first element."""
    places = _Places(*raw_places(tr, memory, offset, mask, "atomic_cas_offset"))
    return _cas(tr, places, expected, desired, memory_order, memory_scope, "atomic_cas_offset")


def _store_reduced(tr: Tracer, name: str, view: TiledViewValue, index: object, update: object) -> None:
    array = view.array
    mode = _mode(name, array.dtype, f"atomic_store_{name}")
    value = view_value(tr, view, update)
    made = partition(tr, array, view.tile_shape, tuple(range(array.ndim)), PaddingMode.UNDETERMINED, view.steps)
    scalars = [i.value for i in index_tuple(tr, index, array.ndim)]
    token = tr.emit.emit(
        "atomic_red_view_tko", made, scalars, value.value, tr.order.before_store(array), types=[TOKEN],
        mode=mode, memory_ordering_semantics="relaxed", memory_scope="device",
    )  # fmt: skip
    tr.order.after_store(array, token)


def _define_view_method(name: str) -> None:
    def implementation(tr: Tracer, view: TiledViewValue, index: object, update: object, /) -> None:
        _store_reduced(tr, name, view, index, update)

    implementation.__doc__ = f"As `ct.atomic_{name}`, on the tile at `index` of the view; it returns nothing."
    METHODS[TiledViewValue, f"atomic_store_{name}"] = Operation(f"atomic_store_{name}", implementation)


for _name in _MODES[:-1]:
    _define_view_method(_name)
