"""Arrays of mbarriers in shared memory, with one barrier per pipeline stage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tirx_mini.ir import Buffer, Expr, TirxError
from tirx_mini.script import PoolAllocator
from tirx_mini.script import tirx as Tx


class MBarrier:
    """`depth` mbarriers at which threads arrive.

    pool: the shared-memory pool that holds the barriers (8 bytes each).
    name: the name where the object is not assigned to a variable; reports use the variable's, which cannot be given
        twice.
    phase_offset: 1 to invert the parity of every wait, else 0.
    leader: the condition that selects the one thread of the CTA that initialises the barriers; by default thread 0.

    As in TVM, the third argument may also be the phase offset.
    """

    def __init__(
        self,
        pool: PoolAllocator,
        depth: int,
        name: str | int | None = None,
        *,
        phase_offset: int = 0,
        leader: Any = None,
    ) -> None:
        if isinstance(name, int):
            name, phase_offset = None, name
        self.depth = depth
        self.phase_offset = phase_offset
        self.leader = Tx.threadIdx.x < 1 if leader is None else leader
        self.buf: Buffer = pool.alloc((depth,), "uint64", align=8, name=name and Tx.variable_name(name))

    @property
    def name(self) -> str:
        return self.buf.name

    def ptr_to(self, indices: Any) -> Expr:
        """A pointer to the barrier of one stage: ``bar.ptr_to([stage])``."""
        return self.buf.ptr_to(indices)

    @Tx.inline
    def init(self, count: Any) -> None:
        """Initialise every barrier for `count` arrivals per phase. The leader thread must execute the call."""
        if self.leader:
            for stage in tuple(range(self.depth)):
                Tx.ptx.mbarrier.init(self.buf.ptr_to([stage]), count)

    @Tx.inline
    def wait(self, stage: Any, phase: Any) -> None:
        """Wait until the phase of parity `phase` of the stage's barrier has completed."""
        Tx.ptx.mbarrier.try_wait(self.buf.ptr_to([stage]), phase ^ self.phase_offset if self.phase_offset else phase)

    @Tx.inline
    def arrive(self, stage: Any, cta_id: Any = None, pred: Any = None, count: Any = None, remote: Any = None) -> None:
        """Arrive once at the stage's barrier, in this CTA or in CTA `cta_id` (or `remote`) of the cluster.

        pred: the condition under which the thread arrives.
        """
        assert count is None or count == 1, "each thread arrives once: remove `count`"
        rank = Tx.meta_var(remote if cta_id is None else cta_id)
        if rank is not None:
            Tx.ptx.mbarrier.arrive(self.buf.ptr_to([stage]), cta_id=rank, pred=True if pred is None else pred)
        elif True if pred is None else pred:
            Tx.ptx.mbarrier.arrive(self.buf.ptr_to([stage]))

    def remote_view(self, cta_id: Any) -> RemoteBarrier:
        """The same barriers in CTA `cta_id` of the cluster."""
        return RemoteBarrier(self, cta_id)


class TMABar(MBarrier):
    """`depth` mbarriers whose phases complete when TMA loads have delivered the expected bytes."""

    @Tx.inline
    def arrive(self, stage: Any, bytes: Any = None, remote: Any = None, pred: Any = None, tx_count: Any = None) -> None:
        """Expect `bytes` (or `tx_count`) more bytes in the current phase of the stage's barrier, then arrive once.

        remote: the CTA of the cluster whose barrier is used; by default this CTA.
        pred: the condition under which the thread arrives.
        """
        expected = Tx.meta_var(tx_count if bytes is None else bytes)
        if expected is None:
            MBarrier.arrive(self, stage, remote=remote, pred=pred)
        elif True if pred is None else pred:
            bar = Tx.meta_var(self if remote is None else self.remote_view(remote))
            Tx.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([stage]), expected)


class TCGen05Bar(MBarrier):
    """`depth` mbarriers at which the tensor core arrives when the committed MMAs have completed."""

    @Tx.inline
    def arrive(self, stage: Any, cta_group: int = 1, cta_mask: Any = None) -> None:
        """Commit this thread's MMAs: their completion arrives once at the stage's barrier in each CTA of `cta_mask`."""
        Tx.ptx.tcgen05.commit(self.buf.ptr_to([stage]), cta_group=cta_group, cta_mask=cta_mask)


class RemoteBarrier:
    """Barriers of another CTA of the cluster. A thread can arrive at them, but not wait on them."""

    def __init__(self, barrier: MBarrier, cta_id: Any) -> None:
        self.barrier = barrier
        self.cta_id = cta_id
        self.depth = barrier.depth

    @property
    def name(self) -> str:
        return self.barrier.name

    def ptr_to(self, indices: Any) -> Expr:
        """The shared::cluster address of the barrier of one stage."""
        return Tx.ptx.map_shared_rank(self.barrier.ptr_to(indices), self.cta_id)

    @Tx.inline
    def arrive(self, stage: Any, bytes: Any = None, pred: Any = None, tx_count: Any = None) -> None:
        """As `arrive` of the barrier itself, at the barrier of the other CTA."""
        expected = Tx.meta_var(tx_count if bytes is None else bytes)
        if expected is None:
            MBarrier.arrive(self.barrier, stage, cta_id=self.cta_id, pred=pred)
        else:
            Tx.ptx.mbarrier.arrive.expect_tx(self.ptr_to([stage]), expected)


_KINDS: Mapping[str, type[MBarrier]] = {"tma": TMABar, "tcgen05": TCGen05Bar, "mbar": MBarrier}


class Pipeline:
    """A ring of `stages`: `full` signals the consumer that a stage holds data, `empty` the producer that it is free.

    The barriers are initialised where the pipeline is created.

    full, empty: the kind of each barrier: "tma" (TMABar), "tcgen05" (TCGen05Bar) or "mbar" (MBarrier).
    init_full, init_empty: the number of arrivals per phase.
    empty_phase_offset: the phase offset of the empty barriers.
    leader: the condition that selects the thread that initialises the barriers.
    """

    def __init__(
        self,
        pool: PoolAllocator,
        stages: int,
        *,
        full: str,
        empty: str,
        init_full: int = 1,
        init_empty: int = 1,
        empty_phase_offset: int = 0,
        leader: Any = None,
    ) -> None:
        for kind in (full, empty):
            if kind not in _KINDS:
                raise TirxError(f"{kind!r} is not a kind of barrier; use one of {', '.join(map(repr, _KINDS))}")
        label = Tx.variable_name("pipeline")
        self.stages = stages
        self.full = _KINDS[full](pool, stages, f"{label}_full", leader=leader)
        self.full.init(init_full)
        self.empty = _KINDS[empty](pool, stages, f"{label}_empty", phase_offset=empty_phase_offset, leader=leader)
        self.empty.init(init_empty)
