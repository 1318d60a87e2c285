"""Fences: the order of a thread's accesses for other threads and for the async proxy."""

from __future__ import annotations

from typing import Any, Literal

from .core import instruction
from .facts import Scope
from .machine import Machine, Thread
from .operands import GlobalAddress


def _proxy_async(space: str) -> str:
    return f"fence.proxy.async.{space};" if space else "fence.proxy.async;"


@instruction(
    _proxy_async,
    name="fence.proxy.async",
    issued_by=Scope.THREAD,
    min_sm=90,
    isa="membar/fence, .proxy.async",
    cost="sync",
    fence="proxy",
)
def fence_proxy_async(
    gpu: Machine, thread: Thread, *, space: Literal["", "shared::cta", "shared::cluster", "global"] = "shared::cta"
) -> None:
    """Order ordinary accesses before the fence and async-proxy accesses (TMA, MMA operands) after it, and vice versa.

    It applies to the memory that `space` names, or to all memory for "".
    """
    thread.fence_proxy_async(space)


@instruction(
    "fence.mbarrier_init.release.cluster;",
    name="fence.mbarrier_init",
    issued_by=Scope.THREAD,
    min_sm=90,
    isa="membar/fence, .mbarrier_init",
    cost="sync",
)
def fence_mbarrier_init(gpu: Machine, thread: Thread) -> None:
    """Release the thread's mbarrier initialisations to the cluster; a synchronisation of both must follow."""
    thread.fence_mbarrier_init()


@instruction(
    "fence.{sem}.{scope};",
    name="fence",
    issued_by=Scope.THREAD,
    min_sm=90,
    isa="membar/fence",
    cost="sync",
)
def fence(
    gpu: Machine,
    thread: Thread,
    *,
    sem: Literal["acq_rel", "sc", "acquire", "release"] = "acq_rel",
    scope: Literal["cta", "cluster", "gpu", "sys"] = "gpu",
) -> None:
    """Order the thread's accesses before and after the fence for `scope`; the fence synchronises no threads by itself.

    A strong write after the fence releases what happens before the fence. A release observed by a strong read before
    the fence is acquired by the fence. All threads observe fence.sc in one order.
    """
    gpu.fence_memory(thread, sem, scope)


_TENSORMAP: dict[str, Any] = {
    "issued_by": Scope.THREAD, "min_sm": 90, "isa": "membar/fence, .proxy.tensormap", "cost": "sync",
}  # fmt: skip


@instruction("fence.proxy.tensormap::generic.release.{scope};", name="fence.proxy.tensormap.release", **_TENSORMAP)
def fence_proxy_tensormap_release(
    gpu: Machine, thread: Thread, *, scope: Literal["cta", "cluster", "gpu", "sys"] = "gpu"
) -> None:
    """Release the thread's writes to tensor maps, for an acquire of the tensormap proxy."""
    gpu.fence_tensormap(thread, "release", scope, None)


@instruction(
    "fence.proxy.tensormap::generic.acquire.{scope} [{tensor_map}], 128;",
    name="fence.proxy.tensormap.acquire",
    **_TENSORMAP,
)
def fence_proxy_tensormap_acquire(
    gpu: Machine, thread: Thread, tensor_map: GlobalAddress, *, scope: Literal["cta", "cluster", "gpu", "sys"] = "gpu"
) -> None:
    """Acquire released writes to the 128 bytes of a tensor map, for the copies that use it."""
    gpu.fence_tensormap(thread, "acquire", scope, tensor_map)


@instruction("membar.{level};", name="membar", issued_by=Scope.THREAD, min_sm=70, isa="membar/fence", cost="sync")
def membar(gpu: Machine, thread: Thread, *, level: Literal["cta", "gl", "sys"] = "gl") -> None:
    """Act as fence.sc at the scope that `level` names; gl is the GPU."""
    gpu.fence_memory(thread, "sc", "gpu" if level == "gl" else level)
