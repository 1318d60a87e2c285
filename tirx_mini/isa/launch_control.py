"""Cluster launch control: a running cluster takes over the work of one that has not started.

A request cancels the launch of a cluster of the same grid. Its response, 16 bytes in shared memory, reports success
and the cancelled cluster; the mbarrier counts its bytes. A grid with one CTA per tile can thus be persistent (PTX ISA:
"clusterlaunchcontrol").
"""

from __future__ import annotations

from .core import instruction
from .facts import BarrierEffect, Completion, Memory, Scope
from .machine import Machine, Thread
from .operands import MbarrierAddress, SharedAddress, u32

NONE_CANCELLED = 0xFFFFFFFF
"""The response if no cluster was left."""


def _try_cancel(multicast: bool) -> str:
    several = ".multicast::cluster::all" if multicast else ""
    form = f"clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes{several}.b128"
    return f"{form} [{{handle}}], [{{bar}}];"


@instruction(
    _try_cancel,
    name="clusterlaunchcontrol.try_cancel",
    issued_by=Scope.THREAD,
    min_sm=100,
    cost="tma",
    barrier=BarrierEffect.COMPLETE_TX,
    writes=Memory.SHARED,
    completion=Completion.MBARRIER,
    cancels_launches=True,
)
def try_cancel(
    gpu: Machine, thread: Thread, handle: SharedAddress, bar: MbarrierAddress, *, multicast: bool = False
) -> None:
    """Request the cancellation of an unstarted cluster; the 16-byte response at `handle` completes on `bar`.

    With `multicast`, each CTA of the cluster receives the response, and 16 bytes on its barrier, at the same offsets.
    """
    for _ in range(thread.mask.count):
        gpu.cancel_cluster(thread, handle, bar, bool(multicast))


def _query(use_ld_acquire: bool) -> str:
    load = "ld.acquire.cta.shared::cta.b128" if use_ld_acquire else "ld.shared::cta.b128"
    return f"""{{
    .reg .b128 answer;
    .reg .pred cancelled;
    {load} answer, [{{handle}}];
    mov.u32 {{result}}, 0xffffffff;
    clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 cancelled, answer;
    @cancelled clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 {{result}}, answer;
}}"""


@instruction(
    _query,
    name="clusterlaunchcontrol.query_cancel",
    issued_by=Scope.THREAD,
    min_sm=100,
    cost="alu",
    reads=Memory.SHARED,
)
def query_cancel(gpu: Machine, thread: Thread, handle: SharedAddress, *, use_ld_acquire: bool = True) -> u32:
    """Return the blockIdx.x of the first CTA of the cancelled cluster, or 0xFFFFFFFF if none was cancelled.

    `handle` holds the response of a try_cancel, once its bytes have completed on the barrier.
    """
    return gpu.cancelled_cluster(thread, handle)
