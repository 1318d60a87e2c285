"""Barriers of a CTA, a cluster, a grid and a warp."""

from __future__ import annotations

from typing import Any

import numpy as np

from .core import instruction
from .facts import CudaName, Scope
from .machine import Blocking, Machine, Thread
from .operands import pred, u32, waited_pred, waited_u32


@instruction(
    "bar.sync {barrier_id};",
    name="bar.sync.all",
    issued_by=Scope.WARP,
    min_sm=70,
    isa="bar, barrier",
    cost="barrier",
    cuda=CudaName("cuda_cta_sync", {"barrier_id": 0}),
    awaits="bar.sync",
)
def bar_sync_all(gpu: Machine, thread: Thread, barrier_id: u32) -> Blocking:
    """Wait until every thread of the CTA has arrived at the barrier (`__syncthreads`)."""
    return gpu.bar_sync(thread, barrier_id, None)


def _for_all(result: object, condition: object) -> Any:
    """Return a result shared by all lanes, as an array if the operand is one."""
    return np.full(32, result) if isinstance(condition, np.ndarray) else result


@instruction(
    "bar.red.and.pred {result}, {barrier_id}, {condition};",
    name="bar.red.and",
    issued_by=Scope.WARP, min_sm=70, isa="bar, barrier", cost="barrier", awaits="bar.sync",
)  # fmt: skip
def bar_red_and(gpu: Machine, thread: Thread, barrier_id: u32, condition: pred) -> waited_pred:
    """Wait until every thread of the CTA arrives; return whether the condition holds in all threads."""
    count = yield from gpu.bar_count(thread, barrier_id, np.logical_not(condition))
    return _for_all(count == 0, condition)


@instruction(
    "bar.red.or.pred {result}, {barrier_id}, {condition};",
    name="bar.red.or",
    issued_by=Scope.WARP, min_sm=70, isa="bar, barrier", cost="barrier", awaits="bar.sync",
)  # fmt: skip
def bar_red_or(gpu: Machine, thread: Thread, barrier_id: u32, condition: pred) -> waited_pred:
    """Wait until every thread of the CTA arrives; return whether the condition holds in any thread."""
    count = yield from gpu.bar_count(thread, barrier_id, condition)
    return _for_all(count > 0, condition)


@instruction(
    "bar.red.popc.u32 {result}, {barrier_id}, {condition};",
    name="bar.red.popc",
    issued_by=Scope.WARP, min_sm=70, isa="bar, barrier", cost="barrier", awaits="bar.sync",
)  # fmt: skip
def bar_red_popc(gpu: Machine, thread: Thread, barrier_id: u32, condition: pred) -> waited_u32:
    """Wait until every thread of the CTA arrives; return the number of threads in which the condition holds."""
    count = yield from gpu.bar_count(thread, barrier_id, condition)
    return _for_all(count, condition)


@instruction(
    "bar.sync {barrier_id}, {threads};",
    name="bar.sync",
    issued_by=Scope.WARP,
    min_sm=70,
    isa="bar, barrier",
    cost="barrier",
    cuda=CudaName("cuda_warpgroup_sync", {"threads": 128}),
    awaits="bar.sync",
)
def bar_sync(gpu: Machine, thread: Thread, barrier_id: u32, threads: u32) -> Blocking:
    """Arrive at barrier `barrier_id` (0 to 15) and wait until `threads` threads, in whole warps, arrive."""
    return gpu.bar_sync(thread, barrier_id, threads)


@instruction(
    "bar.arrive {barrier_id}, {threads};",
    name="bar.arrive",
    issued_by=Scope.WARP,
    min_sm=70,
    isa="bar, barrier",
    cost="barrier",
)
def bar_arrive(gpu: Machine, thread: Thread, barrier_id: u32, threads: u32) -> None:
    """Arrive at barrier `barrier_id` without waiting."""
    gpu.bar_arrive(thread, barrier_id, threads)


@instruction(
    "bar.warp.sync 0xffffffff;",
    name="bar.warp.sync",
    issued_by=Scope.WARP,
    min_sm=70,
    cost="sync",
    cuda=CudaName("cuda_warp_sync"),
)
def bar_warp_sync(gpu: Machine, thread: Thread) -> None:
    """Synchronise all lanes of the warp, and order their accesses (`__syncwarp`)."""
    gpu.warp_sync(thread)


@instruction(
    "barrier.sync {barrier_id}, {threads};",
    name="barrier.sync",
    implied=("cta",),
    issued_by=Scope.WARP,
    min_sm=70,
    isa="bar, barrier",
    cost="barrier",
    awaits="bar.sync",
)
def barrier_sync(gpu: Machine, thread: Thread, barrier_id: u32, threads: u32) -> Blocking:
    """Act as `bar.sync` for lanes of a warp that may have diverged; each active lane arrives."""
    return gpu.bar_sync(thread, barrier_id, threads, aligned=False)


@instruction(
    "barrier.arrive {barrier_id}, {threads};",
    name="barrier.arrive",
    implied=("cta",),
    issued_by=Scope.WARP,
    min_sm=70,
    isa="bar, barrier",
    cost="barrier",
)
def barrier_arrive(gpu: Machine, thread: Thread, barrier_id: u32, threads: u32) -> None:
    """Act as `bar.arrive` for lanes of a warp that may have diverged; each active lane arrives."""
    gpu.bar_arrive(thread, barrier_id, threads, aligned=False)


@instruction(
    "bar.warp.sync {mask};",
    name="bar.warp.sync.mask",
    issued_by=Scope.WARP,
    min_sm=70,
    isa="bar.warp.sync",
    cost="sync",
)
def bar_warp_sync_mask(gpu: Machine, thread: Thread, mask: u32) -> None:
    """Synchronise the lanes of `mask`, which execute it, and order their accesses (`__syncwarp(mask)`)."""
    gpu.lanes_sync(thread, mask)


@instruction(
    "",
    name="grid.sync",
    issued_by=Scope.WARP,
    min_sm=70,
    isa="CUDA C++ Programming Guide: Grid Synchronization",
    cost="barrier",
    cuda=CudaName("grid_sync"),
    awaits="grid.sync",
    grid_wide=True,
)
def grid_sync(gpu: Machine, thread: Thread) -> Blocking:
    """Wait until every thread of the grid arrives, and observe the earlier accesses of all.

    The kernel is launched cooperatively: all of its CTAs must be resident at the same time.
    """
    return gpu.grid_sync(thread)


@instruction(
    "barrier.cluster.arrive.release{.aligned};",
    name="barrier.cluster.arrive",
    implied=("release",),
    issued_by=Scope.WARP,
    min_sm=90,
    isa="barrier.cluster",
    cost="barrier",
)
def barrier_cluster_arrive(gpu: Machine, thread: Thread, *, aligned: bool = True) -> None:
    """Arrive at the cluster's barrier and release earlier accesses; a wait must follow.

    aligned: all lanes of the warp execute this instruction together.
    """
    gpu.cluster_arrive(thread, aligned=aligned)


@instruction(
    "barrier.cluster.arrive.relaxed{.aligned};",
    name="barrier.cluster.arrive.relaxed",
    issued_by=Scope.WARP,
    min_sm=90,
    isa="barrier.cluster",
    cost="barrier",
)
def barrier_cluster_arrive_relaxed(gpu: Machine, thread: Thread, *, aligned: bool = True) -> None:
    """Arrive as `barrier.cluster.arrive` without releasing accesses, for threads that only signal their arrival."""
    gpu.cluster_arrive(thread, releases=False, aligned=aligned)


@instruction(
    "barrier.cluster.wait.acquire{.aligned};",
    name="barrier.cluster.wait",
    implied=("acquire",),
    issued_by=Scope.WARP,
    min_sm=90,
    isa="barrier.cluster",
    cost="barrier",
    awaits="barrier.cluster",
)
def barrier_cluster_wait(gpu: Machine, thread: Thread, *, aligned: bool = True) -> Blocking:
    """Wait until every thread of the cluster has arrived, and acquire the accesses that they released.

    aligned: all lanes of the warp execute this instruction together.
    """
    yield from gpu.cluster_wait(thread, aligned=aligned)


@instruction(
    "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;",
    name="barrier.cluster.sync",
    issued_by=Scope.WARP,
    min_sm=90,
    isa="barrier.cluster",
    cost="barrier",
    cuda=CudaName("cuda_cluster_sync"),
    awaits="barrier.cluster",
)
def barrier_cluster_sync(gpu: Machine, thread: Thread) -> Blocking:
    """Arrive at the cluster's barrier and wait until every thread of the cluster has arrived."""
    gpu.cluster_arrive(thread)
    yield from gpu.cluster_wait(thread)
