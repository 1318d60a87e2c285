"""TMA builtins with explicit operands: descriptors, loads and store groups."""

from __future__ import annotations

from typing import Any

from tirx_mini.ir import AddressOf, Expr, TirxError
from tirx_mini.script import current
from tirx_mini.script import tirx as T

from .operands import barrier, constant, pointer_to
from .table import builtin

_TYPES = (
    "uint8", "uint16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64", "bfloat16", "float32",
    "float32", "float32",
)  # fmt: skip
"""The dtypes by their numbers in CUDA's driver (CUtensorMapDataType); the last three are variants of float32."""
_POLICIES = ("", "evict_first", "evict_last")
"""Eviction priorities by the numbers of TileLang."""


@builtin(becomes="a parameter of the kernel, which the host encodes (`cuTensorMapEncodeTiled`)")
def create_tma_descriptor(*args: object) -> Expr:
    """Create a tensor map of a kernel argument, which the host encodes before the launch.

    args: the dtype (a name, or its number in CUDA's driver), the rank r, a pointer to the tensor, r extents, r strides
    in bytes, r extents of the box, r strides of elements in the box, and the numbers of interleave, swizzle, L2
    promotion and fill. The innermost dimension comes first. CUDA Driver API: cuTensorMapEncodeTiled.
    """
    if len(args) < 3:
        raise TirxError(f"T.create_tma_descriptor is called with {len(args)} arguments", hint=_ORDER)
    kind, rank, pointer, *rest = args
    count = constant(rank, "T.create_tma_descriptor", "the rank")
    if len(rest) != 4 * count + 4:
        raise TirxError(
            f"T.create_tma_descriptor of rank {count} takes {7 + 4 * count} arguments, not {len(args)}", hint=_ORDER
        )
    place = pointer_to(pointer, "T.create_tma_descriptor")
    dims, strides, others = rest[:count], rest[count : 2 * count], rest[2 * count :]
    descriptor = T.tvm_stack_alloca("tensormap", 1)
    T.call_packed(
        "runtime.cuTensorMapEncodeTiled", descriptor, _dtype(kind, place), count, place, *dims, *strides[1:], *others
    )
    return descriptor


_ORDER = (
    "give dtype, rank, pointer, extents, strides in bytes, box, element strides, interleave, swizzle, promotion, fill"
)


def _dtype(kind: object, place: AddressOf) -> str:
    """Return the element dtype of a descriptor, or the tensor's own if the driver has no such type."""
    if isinstance(kind, str):
        return kind
    number = constant(kind, "T.create_tma_descriptor", "the dtype")
    if not 0 <= number < len(_TYPES):
        raise TirxError(f"{number} is no CUtensorMapDataType", hint="give the name of a dtype")
    return str(place.buffer.dtype) if place.buffer.dtype.bits == 8 and number == 0 else _TYPES[number]


@builtin("cp.async.bulk.tensor.load")
def tma_load(*args: Any) -> None:
    """Copy a box of a tensor to shared memory with completion on a barrier. One thread issues it.

    args: the descriptor, the barrier, the place in shared memory, the coordinates of the box, innermost first, and
    optionally the number of an eviction policy: 0 normal, 1 evict first, 2 evict last.
    PTX ISA: "cp.async.bulk.tensor".
    """
    if len(args) < 4:
        raise TirxError("T.tma_load takes a descriptor, a barrier, a place in shared memory and coordinates")
    descriptor, mbar, target, *rest = args
    maps = {each.var: each for each in current("T.tma_load").tensor_maps}
    if descriptor not in maps:
        raise TirxError(f"{descriptor!r} is not a descriptor", hint="make it with T.create_tma_descriptor(…)")
    rank = len(maps[descriptor].box)
    if len(rest) not in (rank, rank + 1):
        raise TirxError(f"T.tma_load of a box of {rank} dimensions takes {rank} coordinates, not {len(rest)}")
    policy = constant(rest[rank], "T.tma_load", "the eviction policy") if len(rest) > rank else 0
    T.call(
        "cp.async.bulk.tensor.load", pointer_to(target, "T.tma_load"), descriptor, barrier(mbar, "T.tma_load"),
        *rest[:rank], dim=rank, cache_hint=_POLICIES[policy] if 0 <= policy < len(_POLICIES) else "",
    )  # fmt: skip


@builtin("fence.proxy.async")
def fence_proxy_async(*args: object) -> None:
    """Order the thread's shared-memory accesses between the generic proxy and the async proxy.

    args: are accepted and mean nothing. PTX ISA: "membar/fence", .proxy.async.
    """
    T.call("fence.proxy.async")


@builtin("cp.async.bulk.commit_group")
def tma_store_arrive(*args: object) -> None:
    """Commit the thread's uncommitted TMA stores as a group.

    args: are accepted and mean nothing. PTX ISA: "cp.async.bulk.commit_group".
    """
    T.call("cp.async.bulk.commit_group")


@builtin("cp.async.bulk.wait_group")
def tma_store_wait(count: object = 0, read: object = True) -> None:
    """Wait until at most `count` of the thread's TMA store groups are pending.

    read: wait only until the sources have been read. PTX ISA: "cp.async.bulk.wait_group".
    """
    T.call("cp.async.bulk.wait_group", n=constant(count, "T.tma_store_wait", "count"), read=bool(read))
