"""Cluster barriers, programmatic dependent launch, and barrier operations under their PTX and TVM names."""

from __future__ import annotations

from tirx_mini.ir import Expr, special
from tirx_mini.script import tirx as T

from .barriers import mbarrier_arrive, mbarrier_wait_parity
from .operands import barrier
from .table import builtin


@builtin("barrier.cluster.arrive")
def cluster_arrive() -> None:
    """Arrive at the cluster's barrier with release semantics. PTX ISA: "barrier.cluster"."""
    T.call("barrier.cluster.arrive")


@builtin("barrier.cluster.arrive.relaxed")
def cluster_arrive_relaxed() -> None:
    """Arrive at the cluster's barrier with relaxed semantics. PTX ISA: "barrier.cluster"."""
    T.call("barrier.cluster.arrive.relaxed")


@builtin("barrier.cluster.wait")
def cluster_wait() -> None:
    """Wait until every thread of the cluster has arrived. PTX ISA: "barrier.cluster"."""
    T.call("barrier.cluster.wait")


@builtin("barrier.cluster.sync")
def cluster_sync() -> None:
    """Arrive at the cluster's barrier and wait until every thread of the cluster has arrived."""
    T.call("barrier.cluster.sync")


@builtin(becomes="`%cluster_ctarank`")
def block_rank_in_cluster() -> Expr:
    """Return the rank of the CTA in its cluster."""
    return special("cluster_ctarank")


@builtin("griddepcontrol.launch_dependents")
def pdl_trigger() -> None:
    """Allow the next kernel of the stream to start once every CTA has called this or exited. PTX ISA: "griddepcontrol".
    """
    T.call("griddepcontrol.launch_dependents")


@builtin("griddepcontrol.wait")
def pdl_sync() -> None:
    """Wait until the preceding kernel is complete and its writes are visible. PTX ISA: "griddepcontrol"."""
    T.call("griddepcontrol.wait")


@builtin("mbarrier.arrive.expect_tx")
def mbarrier_arrive_expect_tx(mbarrier: object, tx: object) -> None:
    """Expect `tx` more bytes in the current phase of a barrier, then arrive once. PTX ISA: "mbarrier.arrive"."""
    T.call("mbarrier.arrive.expect_tx", barrier(mbarrier, "T.mbarrier_arrive_expect_tx"), tx)


@builtin("mbarrier.arrive.expect_tx")
def ptx_arrive_barrier_expect_tx(barrier_id: object, byte_count: object) -> None:
    """Alias of `mbarrier_arrive_expect_tx`."""
    mbarrier_arrive_expect_tx(barrier_id, byte_count)


@builtin("mbarrier.arrive")
def ptx_arrive_barrier(barrier_id: object) -> None:
    """Alias of `mbarrier_arrive`."""
    mbarrier_arrive(barrier_id)


@builtin("mbarrier.try_wait")
def ptx_wait_barrier(barrier_id: object, parity: object = 0) -> None:
    """Alias of `mbarrier_wait_parity`."""
    mbarrier_wait_parity(barrier_id, parity)


@builtin("mbarrier.init")
def ptx_init_barrier_thread_count(barrier_id: object, thread_count: object) -> None:
    """Initialise a barrier for `thread_count` arrivals per phase; one thread executes it. PTX ISA: "mbarrier.init"."""
    T.call("mbarrier.init", barrier(barrier_id, "T.ptx_init_barrier_thread_count"), thread_count)


@builtin("fence.mbarrier_init")
def ptx_fence_barrier_init() -> None:
    """Make the thread's barrier initialisations visible to the cluster; a synchronisation must follow."""
    T.call("fence.mbarrier_init")


@builtin("bar.arrive")
def named_barrier_arrive(barrier_id: object, thread_count: object) -> None:
    """Arrive without waiting at one of the CTA's barriers 0 to 15, which expects `thread_count` threads."""
    T.call("bar.arrive", barrier_id, thread_count)


@builtin("tcgen05.fence.before_thread_sync")
def tcgen05_before_thread_sync() -> None:
    """Order the thread's earlier tcgen05 operations before a following synchronisation. PTX ISA: "tcgen05.fence"."""
    T.call("tcgen05.fence.before_thread_sync")


@builtin("tcgen05.fence.after_thread_sync")
def tcgen05_after_thread_sync() -> None:
    """Order the thread's later tcgen05 operations after a preceding synchronisation. PTX ISA: "tcgen05.fence"."""
    T.call("tcgen05.fence.after_thread_sync")

FUNCTIONS = (
    cluster_arrive, cluster_arrive_relaxed, cluster_wait, cluster_sync, block_rank_in_cluster, pdl_trigger, pdl_sync,
    mbarrier_arrive_expect_tx, ptx_arrive_barrier_expect_tx, ptx_arrive_barrier, ptx_wait_barrier,
    ptx_init_barrier_thread_count, ptx_fence_barrier_init, named_barrier_arrive, tcgen05_before_thread_sync,
    tcgen05_after_thread_sync,
)  # fmt: skip
