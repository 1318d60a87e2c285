"""TMA: asynchronous copies of tensor boxes, and of plain bytes, between global and shared memory.

A tensor map holds the layout of a tensor in global memory and of its boxes in shared memory. Coordinates are elements,
innermost dimension first, and may lie outside the tensor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

from tirx_mini.ir import Expr

from .core import instruction
from .facts import BarrierEffect, Completion, Memory, Scope
from .machine import Blocking, Machine, Thread
from .operands import REGISTER_TYPES, GlobalAddress, MbarrierAddress, SharedAddress, TensorMapHandle, s32, u32

CacheHint = Literal["", "evict_first", "evict_normal", "evict_last"]
"""The L2 eviction priority of the data; "" leaves it to the cache."""
Reduction = Literal["add", "min", "max", "inc", "dec", "and", "or", "xor"]
POLICIES = {
    "evict_first": 0x12F0000000000000, "evict_normal": 0x1000000000000000, "evict_last": 0x14F0000000000000,
}  # fmt: skip
"""The policies of createpolicy.fractional for all accesses (PTX ISA: createpolicy)."""


MASK_OPERAND = "{cta_mask}"
"""The placeholder of a constant mask in a template, for a 32-bit mask operand."""


def multicasts(cta_mask: int | str | None) -> bool:
    """Return whether an instruction has ``.multicast::cluster``: with a mask of several CTAs, or with `MASK_OPERAND`.

    A mask of at most one bit means the executing CTA, whichever bit it is: TVM 0.26 emits the form without a mask.
    """
    return cta_mask == MASK_OPERAND or (isinstance(cta_mask, int) and cta_mask.bit_count() > 1)


LoadMode = Literal["tile", "tile::gather4"]
"""The source shape of a tensor-map load: a box, or four rows of a matrix."""
StoreMode = Literal["tile", "tile::scatter4"]
"""The destination shape of a tensor-map store: a box, or four rows of a matrix."""
ROWS_ON = (100, 103, 110)
"""The architectures that support ``.tile::gather4`` and ``.tile::scatter4`` (PTX ISA: "cp.async.bulk.tensor")."""


def _hint(cache_hint: str, cache_policy: int) -> str:
    return ".L2::cache_hint" if cache_hint or cache_policy else ""


def coordinates(count: int, dim: int, mode: str) -> str | None:
    """Return the error in the number of coordinates of a tensor-map copy, or None."""
    if mode == "tile":
        return None if count == dim else f"has {count} coordinates for dim={dim}"
    if dim != 2 or count != 5:
        given = f"dim={dim} and {count} coordinates"
        return f"of {mode} has dim=2 and five coordinates, a column and four rows, not {given}"
    return None


def hinted(text: str, cta_mask: int | str, cache_hint: str, cache_policy: int = 0) -> str:
    """Return the copy `text` with its mask (a constant or `MASK_OPERAND`) and its cache policy in registers."""
    registers: list[tuple[str, str, str, str]] = []
    if multicasts(cta_mask):
        text += ", mask"
        registers.append(("b16", "mask", "cvt.u16.u32" if cta_mask == MASK_OPERAND else "mov.b16", str(cta_mask)))
    if cache_hint or cache_policy:
        text += ", policy"
        policy = str(cache_policy) if cache_policy else f"{POLICIES[cache_hint]:#x}"
        registers.append(("b64", "policy", "mov.b64", policy))
    if not registers:
        return f"{text};"
    moves = [f"    .reg .{kind} {name};\n    {move} {name}, {value};" for kind, name, move, value in registers]
    return "\n".join(["{", *moves, f"    {text};", "}"])


def load_text(
    dim: int, cta_group: int, cta_mask: int | str, cache_hint: str, load_mode: str, cache_policy: int,
    dst_space: str = "",
) -> str:  # fmt: skip
    multicast = ".multicast::cluster" if multicasts(cta_mask) else ""
    group = ".cta_group::2" if cta_group == 2 else ""
    hint = _hint(cache_hint, cache_policy)
    into = dst_space or "shared::cluster"
    form = f"cp.async.bulk.tensor.{dim}d.{into}.global.{load_mode}.mbarrier::complete_tx::bytes"
    text = f"{form}{multicast}{group}{hint} [{{dst}}], [{{tensor_map}}, {{{{coords}}}}], [{{bar}}]"
    return hinted(text, cta_mask, cache_hint, cache_policy)


def load_coordinates(operands: Sequence[Expr], dim: int, load_mode: str, *, others: int = 3, **_: object) -> str | None:
    """Return the coordinate error of a load with `others` operands that are not coordinates, or None."""
    return coordinates(len(operands) - others, dim, load_mode)


TENSOR_LOAD: Mapping[str, Any] = MappingProxyType({
    "implied": ("tile", "shared::cluster"), "issued_by": Scope.THREAD, "min_sm": 90,
    "isa": "cp.async.bulk.tensor", "cost": "tma",
    "barrier": BarrierEffect.COMPLETE_TX, "reads": Memory.GLOBAL, "writes": Memory.SHARED,
    "completion": Completion.MBARRIER, "only_on": {("load_mode", "tile::gather4"): ROWS_ON},
})  # fmt: skip
"""The facts of tensor-map loads."""


def _store(dim: int, cache_hint: str, store_mode: str, cache_policy: int) -> str:
    form = f"cp.async.bulk.tensor.{dim}d.global.shared::cta.{store_mode}.bulk_group{_hint(cache_hint, cache_policy)}"
    text = f"{form} [{{tensor_map}}, {{{{coords}}}}], [{{src}}]"
    return hinted(text, 0, cache_hint, cache_policy)


def _store_coordinates(operands: Sequence[Expr], dim: int, store_mode: str = "tile", **_: object) -> str | None:
    return coordinates(len(operands) - 2, dim, store_mode)


@instruction(
    "prefetch.tensormap [{tensor_map}];",
    name="prefetch.tensormap",
    issued_by=Scope.THREAD,
    min_sm=90,
    isa="prefetch, prefetchu",
    cost="sync",
)
def prefetch_tensormap(gpu: Machine, thread: Thread, tensor_map: TensorMapHandle) -> None:
    """Prefetch a tensor map to the TMA unit to start the next copy sooner; no access is ordered.

    The compiler puts one at the start of a kernel for each of its tensor maps. The address is generic, that of a
    kernel's parameter. No earlier kernel writes it, so no wait is needed.
    """


def _load_check(operands: Sequence[Expr], dst_space: str, cta_mask: int, **attrs: Any) -> str | None:
    return _cluster_for_several(operands, dst_space, cta_mask) or load_coordinates(operands, **attrs)


@instruction(load_text, name="cp.async.bulk.tensor.load", check=_load_check, **TENSOR_LOAD)
def cp_async_bulk_tensor_load(
    gpu: Machine,
    thread: Thread,
    dst: SharedAddress,
    tensor_map: TensorMapHandle,
    bar: MbarrierAddress,
    *coords: s32,
    dim: int,
    cta_group: Literal[1, 2] = 1,
    cta_mask: int = 0,
    cache_hint: CacheHint = "",
    load_mode: LoadMode = "tile",
    cache_policy: int = 0,
    dst_space: Literal["", "shared::cta"] = "",
) -> None:
    """Copy the box at `coords` to shared memory, and complete its bytes on `bar`.

    Elements outside the tensor are zero (NaN, if the map specifies it), and their bytes count. With tile::gather4 the
    coordinates are a column and four rows of a matrix, whose map has boxes of one row; the rows are contiguous,
    as in a box of four rows. A `cache_policy` other than zero replaces the one of `cache_hint`. With several
    bits in `cta_mask` (bit r for cluster rank r) the box lands at the same offset, and completes on the barrier at the
    same offset, in each CTA of the mask. With cta_group = 2 the barrier may be the one of the pair's other CTA.
    """
    cta_mask = cta_mask if multicasts(cta_mask) else 0
    for _ in range(thread.mask.count):
        gpu.tma_load(thread, tensor_map, dst, bar, coords, cta_mask, cta_group, load_mode != "tile")


@instruction(
    _store,
    name="cp.async.bulk.tensor.store",
    implied=("tile",),
    issued_by=Scope.THREAD,
    min_sm=90,
    isa="cp.async.bulk.tensor",
    cost="tma",
    reads=Memory.SHARED,
    writes=Memory.GLOBAL,
    completion=Completion.BULK_GROUP,
    only_on={("store_mode", "tile::scatter4"): ROWS_ON},
    check=_store_coordinates,
)
def cp_async_bulk_tensor_store(
    gpu: Machine,
    thread: Thread,
    tensor_map: TensorMapHandle,
    src: SharedAddress,
    *coords: s32,
    dim: int,
    cache_hint: CacheHint = "",
    store_mode: StoreMode = "tile",
    cache_policy: int = 0,
) -> None:
    """Copy shared memory to the box at `coords`, as part of the thread's open bulk group.

    The source may be written again after wait_group.read; the box holds the data after wait_group. With tile::scatter4
    the coordinates are a column and four rows of a matrix, whose map has boxes of one row.
    """
    for _ in range(thread.mask.count):
        gpu.tma_store(thread, tensor_map, src, coords, None, store_mode != "tile")


def _tensor_reduce(dim: int, op: str, cache_hint: str, cache_policy: int) -> str:
    form = f"cp.reduce.async.bulk.tensor.{dim}d.global.shared::cta.{op}.tile.bulk_group"
    text = f"{form}{_hint(cache_hint, cache_policy)} [{{tensor_map}}, {{{{coords}}}}], [{{src}}]"
    return hinted(text, 0, cache_hint, cache_policy)


@instruction(
    _tensor_reduce,
    name="cp.reduce.async.bulk.tensor",
    implied=("tile",),
    issued_by=Scope.THREAD,
    min_sm=90,
    cost="tma",
    reads=Memory.SHARED | Memory.GLOBAL,
    writes=Memory.GLOBAL,
    completion=Completion.BULK_GROUP,
    check=_store_coordinates,
)
def cp_reduce_async_bulk_tensor(
    gpu: Machine,
    thread: Thread,
    tensor_map: TensorMapHandle,
    src: SharedAddress,
    *coords: s32,
    dim: int,
    op: Reduction = "add",
    cache_hint: CacheHint = "",
    cache_policy: int = 0,
) -> None:
    """Add shared memory to the box at `coords`, element by element, as part of the thread's open bulk group.

    op: another operation instead of the sum.
    """
    for _ in range(thread.mask.count):
        gpu.tma_store(thread, tensor_map, src, coords, op, False)


def _tensor_prefetch(dim: int, cache_hint: str, load_mode: str, cache_policy: int) -> str:
    hint = _hint(cache_hint, cache_policy)
    text = f"cp.async.bulk.prefetch.tensor.{dim}d.L2.global.{load_mode}{hint} [{{tensor_map}}, {{{{coords}}}}]"
    return hinted(text, 0, cache_hint, cache_policy)


def _prefetch_coordinates(operands: Sequence[Expr], dim: int, load_mode: str, **_: object) -> str | None:
    return coordinates(len(operands) - 1, dim, load_mode)


@instruction(
    _tensor_prefetch,
    name="cp.async.bulk.prefetch.tensor",
    implied=("tile",),
    issued_by=Scope.THREAD,
    min_sm=90,
    cost="tma",
    only_on={("load_mode", "tile::gather4"): ROWS_ON},
    check=_prefetch_coordinates,
)
def cp_async_bulk_prefetch_tensor(
    gpu: Machine,
    thread: Thread,
    tensor_map: TensorMapHandle,
    *coords: s32,
    dim: int,
    cache_hint: CacheHint = "",
    load_mode: LoadMode = "tile",
    cache_policy: int = 0,
) -> None:
    """Bring the box at `coords` into the L2 cache. No access is ordered; in the simulator's clock it has no effect.

    load_mode: as of a load.
    """


@instruction(
    "cp.async.bulk.commit_group;",
    name="cp.async.bulk.commit_group",
    issued_by=Scope.THREAD,
    min_sm=90,
    cost="sync",
)
def cp_async_bulk_commit_group(gpu: Machine, thread: Thread) -> None:
    """Close the bulk group of the stores that this thread issued since the previous commit."""
    gpu.bulk_commit(thread)


def _wait_group(n: int, read: bool) -> str:
    return f"cp.async.bulk.wait_group{'.read' if read else ''} {n};"


@instruction(
    _wait_group,
    name="cp.async.bulk.wait_group",
    issued_by=Scope.THREAD,
    min_sm=90,
    cost="wait",
    awaits="bulk-group",
)
def cp_async_bulk_wait_group(gpu: Machine, thread: Thread, *, n: int = 0, read: bool = False) -> Blocking:
    """Wait until at most `n` of this thread's bulk groups are incomplete, or with `read`, are still reading sources."""
    return gpu.bulk_wait(thread, n, bool(read))


def _bulk_load(dst_space: str, cta_mask: int, cache_hint: str, **_: object) -> str:
    multicast = ".multicast::cluster" if multicasts(cta_mask) else ""
    hint = ".L2::cache_hint" if cache_hint else ""
    form = f"cp.async.bulk.{dst_space}.global.mbarrier::complete_tx::bytes{multicast}{hint}"
    return hinted(f"{form} [{{dst}}], [{{src}}], {{bytes}}, [{{bar}}]", cta_mask, cache_hint)


def _cluster_for_several(operands: Sequence[Expr], dst_space: str, cta_mask: int, **_: object) -> str | None:
    if dst_space == "shared::cta" and multicasts(cta_mask):
        return 'a copy to several CTAs has dst_space="shared::cluster"'
    return None


@instruction(
    _bulk_load,
    name="cp.async.bulk.load",
    issued_by=Scope.THREAD,
    min_sm=90,
    isa="cp.async.bulk",
    cost="tma",
    barrier=BarrierEffect.COMPLETE_TX,
    reads=Memory.GLOBAL,
    writes=Memory.SHARED,
    completion=Completion.MBARRIER,
    check=_cluster_for_several,
)
def cp_async_bulk_load(
    gpu: Machine,
    thread: Thread,
    dst: SharedAddress,
    src: GlobalAddress,
    bytes: u32,
    bar: MbarrierAddress,
    *,
    dst_space: Literal["shared::cluster", "shared::cta"] = "shared::cluster",
    cta_mask: int = 0,
    cache_hint: CacheHint = "",
) -> None:
    """Copy `bytes` bytes of global memory, a multiple of 16, to shared memory, and complete them on `bar`.

    Both addresses are multiples of 16. With several bits in `cta_mask` they land in each CTA of the mask.
    """
    cta_mask = cta_mask if multicasts(cta_mask) else 0
    for _ in range(thread.mask.count):
        gpu.bulk_load(thread, dst, src, bytes, bar, cta_mask)


@instruction(
    "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [{dst}], [{src}], {bytes}, [{bar}];",
    name="cp.async.bulk.copy",
    issued_by=Scope.THREAD,
    min_sm=90,
    isa="cp.async.bulk",
    cost="tma",
    barrier=BarrierEffect.COMPLETE_TX,
    reads=Memory.SHARED,
    writes=Memory.SHARED,
    completion=Completion.MBARRIER,
)
def cp_async_bulk_copy(
    gpu: Machine, thread: Thread, dst: SharedAddress, src: SharedAddress, bytes: u32, bar: MbarrierAddress
) -> None:
    """Copy `bytes` bytes of the CTA's shared memory, a multiple of 16, to another CTA's, and complete them on `bar`.

    `dst` and `bar` are addresses in the same CTA of the cluster, as `map_shared_rank` returns them. All addresses are
    multiples of 16. The source CTA must not end before the copy has read it.
    """
    for _ in range(thread.mask.count):
        gpu.bulk_copy(thread, dst, src, bytes, bar)


def _bulk_store(cache_hint: str) -> str:
    hint = ".L2::cache_hint" if cache_hint else ""
    return hinted(f"cp.async.bulk.global.shared::cta.bulk_group{hint} [{{dst}}], [{{src}}], {{bytes}}", 0, cache_hint)


@instruction(
    _bulk_store,
    name="cp.async.bulk.store",
    issued_by=Scope.THREAD,
    min_sm=90,
    isa="cp.async.bulk",
    cost="tma",
    reads=Memory.SHARED,
    writes=Memory.GLOBAL,
    completion=Completion.BULK_GROUP,
)
def cp_async_bulk_store(
    gpu: Machine, thread: Thread, dst: GlobalAddress, src: SharedAddress, bytes: u32, *, cache_hint: CacheHint = ""
) -> None:
    """Copy `bytes` bytes of shared memory, a multiple of 16, to global memory, in the thread's open bulk group."""
    for _ in range(thread.mask.count):
        gpu.bulk_store(thread, dst, src, bytes, None, "uint8")


_REDUCED = {
    "add": ("f16", "bf16", "f32", "f64", "u32", "s32", "u64"), "min": ("f16", "bf16", "u32", "s32", "u64", "s64"),
    "max": ("f16", "bf16", "u32", "s32", "u64", "s64"), "inc": ("u32",), "dec": ("u32",), "and": ("b32", "b64"),
    "or": ("b32", "b64"), "xor": ("b32", "b64"),
}  # fmt: skip
"""The types supported by each reduction (PTX ISA: "cp.reduce.async.bulk")."""


def _reduced(operands: Sequence[Expr], op: str, type: str) -> str | None:
    return None if type in _REDUCED[op] else f"{op} has the types {', '.join(_REDUCED[op])}, not {type}"


def _bulk_reduce(op: str, type: str) -> str:
    how = f"{op}{'.noftz' * (op == 'add' and type in ('f16', 'bf16'))}.{type}"
    return f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{how} [{{dst}}], [{{src}}], {{bytes}};"


@instruction(
    _bulk_reduce,
    name="cp.reduce.async.bulk",
    issued_by=Scope.THREAD,
    min_sm=90,
    cost="tma",
    reads=Memory.SHARED | Memory.GLOBAL,
    writes=Memory.GLOBAL,
    completion=Completion.BULK_GROUP,
    check=_reduced,
)
def cp_reduce_async_bulk(
    gpu: Machine,
    thread: Thread,
    dst: GlobalAddress,
    src: SharedAddress,
    bytes: u32,
    *,
    op: Reduction = "add",
    type: Literal["f16", "bf16", "f32", "f64", "b32", "b64", "u32", "s32", "u64", "s64"] = "f32",
) -> None:
    """Apply `op` to elements of global memory and `bytes` bytes of shared memory, in the open bulk group.

    Each element is updated atomically, relaxed, at the scope of the GPU.
    """
    for _ in range(thread.mask.count):
        gpu.bulk_store(thread, dst, src, bytes, op, REGISTER_TYPES[type])
