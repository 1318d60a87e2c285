"""Atomic operations on elements of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tirx_mini.tile_ir.cuda_tile import TOKEN

from ..arguments import array_of, index_tuple
from ..dtypes import DType, bfloat16, float16, float32, float64
from ..emitter import tile_type
from ..enums import MemoryOrder, MemoryScope, PaddingMode
from ..errors import TileTypeError
from ..surface import METHODS, Operation, operation
from ..values import ArrayValue, TiledViewValue, TileValue
from .gathering import addresses, spread
from .memory import memory_order as order_of
from .memory import partition, view_value

if TYPE_CHECKING:
    from ..tracer import Tracer

_ORDERS = (MemoryOrder.RELAXED, MemoryOrder.ACQUIRE, MemoryOrder.RELEASE, MemoryOrder.ACQ_REL)
_MODES = ("add", "max", "min", "and", "or", "xor", "xchg")


def _mode(name: str, dtype: DType) -> str:
    """cuda_tile's name of an operation. Raises `TileTypeError` for a dtype that it does not have."""
    wide = dtype.is_integer and dtype.bitwidth >= 32
    if name == "add" and dtype in (float16, bfloat16, float32, float64):
        return "addf"
    if name == "xchg" and (wide or dtype in (float32, float64)):
        return "xchg"
    if wide:
        return f"u{name}" if name in ("max", "min") and dtype.kind == "u" else name
    raise TileTypeError(
        f"ct.atomic_{name} is not defined for arrays of {dtype}",
        hint="it takes int32, uint32, int64 and uint64"
        + (", and floats of 16 bits and more" if name == "add" else ", float32 and float64" if name == "xchg" else ""),
    )


class _Fence:
    """The tokens around an atomic operation, with the order of all other arrays where it acquires or releases."""

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


def _rmw(
    tr: Tracer, name: str, array: Any, indices: Any, update: Any, check_bounds: Any, order: Any, scope: Any
) -> TileValue:
    target = array_of(array, f"ct.atomic_{name}")
    mode = _mode(name, target.dtype)
    pointers, allowed = addresses(tr, target, indices, check_bounds, None, f"atomic_{name}")
    value = spread(tr, update, target, pointers.shape, f"the update of ct.atomic_{name}")
    semantics, where = order_of(order, scope, *_ORDERS)
    fence = _Fence(tr, target, semantics)
    made, token = tr.emit.emit(
        "atomic_rmw_tko", pointers.value, value.value, None if allowed is None else allowed.value, fence.token,
        types=[tile_type(target.dtype, pointers.shape), TOKEN], mode=mode, memory_ordering_semantics=semantics,
        memory_scope=where,
    )  # fmt: skip
    fence.done(token)
    return TileValue(made, target.dtype, pointers.shape)


def _define(name: str, doc: str) -> None:
    def implementation(
        tr: Tracer, array: Any, indices: Any, update: Any, /, *, check_bounds: Any = True,
        memory_order: Any = MemoryOrder.ACQ_REL, memory_scope: Any = MemoryScope.DEVICE,
    ) -> Any:  # fmt: skip
        return _rmw(tr, name, array, indices, update, check_bounds, memory_order, memory_scope)

    implementation.__doc__ = f"{doc} Returns what the elements were before; indices outside of the array are left out."
    operation(f"atomic_{name}")(implementation)


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
    tr: Tracer, array: Any, indices: Any, expected: Any, desired: Any, /, *, check_bounds: Any = True,
    memory_order: Any = MemoryOrder.ACQ_REL, memory_scope: Any = MemoryScope.DEVICE,
) -> Any:  # fmt: skip
    """Replace elements that equal `expected` by `desired`, each atomically. Returns what the elements were before.

    For an index outside of the array it is `expected`.
    """
    target = array_of(array, "ct.atomic_cas")
    _mode("xchg", target.dtype)
    pointers, allowed = addresses(tr, target, indices, check_bounds, None, "atomic_cas")
    old = spread(tr, expected, target, pointers.shape, "`expected` of ct.atomic_cas")
    new = spread(tr, desired, target, pointers.shape, "`desired` of ct.atomic_cas")
    semantics, where = order_of(memory_order, memory_scope, *_ORDERS)
    fence = _Fence(tr, target, semantics)
    made, token = tr.emit.emit(
        "atomic_cas_tko", pointers.value, old.value, new.value, None if allowed is None else allowed.value, fence.token,
        types=[tile_type(target.dtype, pointers.shape), TOKEN], memory_ordering_semantics=semantics, memory_scope=where,
    )  # fmt: skip
    fence.done(token)
    found = TileValue(made, target.dtype, pointers.shape)
    if allowed is None:
        return found
    return tr.emit.tile("select", target.dtype, pointers.shape, allowed, found, old)


def _store_reduced(tr: Tracer, name: str, view: TiledViewValue, index: Any, update: Any) -> None:
    array = view.array
    value = view_value(tr, view, update)
    made = partition(tr, array, view.tile_shape, tuple(range(array.ndim)), PaddingMode.UNDETERMINED, view.steps)
    scalars = [i.value for i in index_tuple(tr, index, array.ndim)]
    token = tr.emit.emit(
        "atomic_red_view_tko", made, scalars, value.value, tr.order.before_store(array), types=[TOKEN],
        mode=_mode(name, array.dtype), memory_ordering_semantics="relaxed", memory_scope="device",
    )  # fmt: skip
    tr.order.after_store(array, token)


def _define_view_method(name: str) -> None:
    def implementation(tr: Tracer, view: TiledViewValue, index: Any, update: Any, /) -> None:
        _store_reduced(tr, name, view, index, update)

    implementation.__doc__ = f"As `ct.atomic_{name}`, on the tile at `index` of the view; it returns nothing."
    METHODS[TiledViewValue, f"atomic_store_{name}"] = Operation(f"atomic_store_{name}", implementation)


for _name in _MODES[:-1]:
    _define_view_method(_name)
