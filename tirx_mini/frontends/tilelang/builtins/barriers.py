"""Barriers: mbarriers, and the barriers of the CTA, of a warp and of the grid."""

from __future__ import annotations

from tirx_mini.script import tirx as T

from .operands import barrier, constant
from .table import builtin

BOTH_CTAS = 0b11


@builtin("mbarrier.try_wait")
def mbarrier_wait_parity(mbarrier: object, parity: object) -> None:
    """Wait until the phase of parity `parity` of a barrier is complete.

    mbarrier: the buffer of `T.alloc_barrier`, or an element of it. On a fresh barrier, parity 1 counts as complete.
    PTX ISA: "mbarrier.test_wait, mbarrier.try_wait".
    """
    T.call("mbarrier.try_wait", barrier(mbarrier, "T.mbarrier_wait_parity"), parity)


@builtin("mbarrier.arrive", "mbarrier.arrive.remote")
def mbarrier_arrive(mbarrier: object, cta_id: object = None) -> None:
    """Arrive once per thread at a barrier.

    cta_id: the rank in the cluster of the CTA whose barrier it is; None for this CTA's. PTX ISA: "mbarrier.arrive".
    """
    if cta_id is not None:
        ptx_arrive_cluster_barrier(mbarrier, cta_id)
        return
    T.call("mbarrier.arrive", barrier(mbarrier, "T.mbarrier_arrive"))


@builtin("mbarrier.arrive.remote")
def ptx_arrive_cluster_barrier(mbarrier: object, cta_id: object) -> None:
    """Arrive once per thread at the barrier at the same offset in CTA `cta_id` of the cluster.

    PTX ISA: "mapa", "mbarrier.arrive".
    """
    T.call("mbarrier.arrive.remote", barrier(mbarrier, "T.ptx_arrive_cluster_barrier"), cta_id, True)


@builtin("mbarrier.expect_tx")
def mbarrier_expect_tx(mbarrier: object, tx: object) -> None:
    """Add `tx` to the bytes that must arrive before the barrier's current phase completes.

    It does not arrive. Each thread that executes it adds `tx`. PTX ISA: "mbarrier.expect_tx".
    """
    T.call("mbarrier.expect_tx", barrier(mbarrier, "T.mbarrier_expect_tx"), tx)


@builtin("mbarrier.try_wait")
def barrier_wait(mbarrier: object, parity: object) -> None:
    """Alias of `mbarrier_wait_parity`."""
    mbarrier_wait_parity(mbarrier, parity)


@builtin("mbarrier.arrive")
def barrier_arrive(mbarrier: object) -> None:
    """Arrive at a barrier of this CTA, as `mbarrier_arrive` does."""
    mbarrier_arrive(mbarrier)


@builtin("cp.async.mbarrier.arrive.noinc")
def cp_async_barrier_noinc(barrier: object) -> None:
    """Arrive once per thread when all its earlier cp.async copies are done; the count includes this arrival.

    PTX ISA: "cp.async.mbarrier.arrive".
    """
    T.call("cp.async.mbarrier.arrive.noinc", _pointer(barrier, "T.cp_async_barrier_noinc"))


@builtin("elect.sync", "tcgen05.commit")
def tcgen05_mma_arrive(mbar: object, arrive_2cta: bool = False) -> None:
    """Arrive from one elected thread at a barrier when all its earlier tcgen05 operations are complete.

    The elected thread must be the one that issued the MMAs. arrive_2cta: whether it arrives at the barriers at this
    offset of both CTAs of the pair. PTX ISA: "tcgen05.commit".
    """
    options = {"cta_group": 2, "cta_mask": BOTH_CTAS} if arrive_2cta else {"cta_group": 1}
    with T.If(T.call("elect.sync")), T.Then():
        T.call("tcgen05.commit", _pointer(mbar, "T.tcgen05_mma_arrive"), **options)


@builtin("bar.sync.all", "bar.sync")
def sync_threads(barrier_id: object = None, arrive_count: object = None) -> None:
    """Wait at one of the CTA's barriers 0 to 15 until all threads, or `arrive_count` threads, have arrived.

    arrive_count: a multiple of 32. PTX ISA: "bar, barrier".
    """
    number = 0 if barrier_id is None else barrier_id
    if arrive_count is None:
        T.call("bar.sync.all", number)
    else:
        T.call("bar.sync", number, arrive_count)


@builtin("bar.warp.sync", "bar.warp.sync.mask")
def sync_warp(mask: object = None) -> None:
    """Wait for all lanes of the warp, or for the lanes of `mask`, and order their accesses. PTX ISA: "bar.warp.sync".
    """
    if mask is None or (isinstance(mask, int) and constant(mask, "T.sync_warp", "mask") == 0xFFFFFFFF):
        T.call("bar.warp.sync")
    else:
        T.call("bar.warp.sync.mask", mask)


@builtin("grid.sync", becomes="`bar.sync` and a counter of the CTAs that have arrived; a cooperative launch")
def sync_grid() -> None:
    """Wait until all threads of the grid have arrived, which requires a cooperative launch."""
    T.call("grid.sync")


@builtin("grid.sync", becomes="`bar.sync` and a counter of the CTAs that have arrived; a cooperative launch")
def sync_global() -> None:
    """Alias of `sync_grid`."""
    sync_grid()


_pointer = barrier
