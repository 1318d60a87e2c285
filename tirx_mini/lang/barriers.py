"""Arrays of mbarriers in shared memory: one barrier a pipeline stage, named after what it signals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tirx_mini.ir import Buffer, Expr, TirxError
from tirx_mini.script import PoolAllocator
from tirx_mini.script import tirx as Tx


class MBarrier:
    """`depth` mbarriers at which threads arrive themselves.

    pool: where the barriers are allocated (8 bytes each). name: how reports call them; by default the variable's name.
    phase_offset: 1 where every wait is for the other parity than it says. leader: where it holds, for one thread of
    the CTA, that thread initialises the barriers; by default thread 0.

    The third argument may also be the phase offset, as in TVM.
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
        self.buf: Buffer = pool.alloc((depth,), "uint64", align=8, name=name)

    @property
    def name(self) -> str:
        return self.buf.name

    def ptr_to(self, indices: Any) -> Expr:
        """A pointer to the barrier of a stage: ``bar.ptr_to([stage])``."""
        return self.buf.ptr_to(indices)

    @Tx.inline
    def init(self, count: Any) -> None:
        """Every barrier expects `count` arrivals a phase. Thread 0 of the CTA does it, so it must get here."""
        if self.leader:
            for stage in tuple(range(self.depth)):
                Tx.ptx.mbarrier.init(self.buf.ptr_to([stage]), count)

    @Tx.inline
    def wait(self, stage: Any, phase: Any) -> None:
        """Block until the phase of parity `phase` of the stage's barrier has completed."""
        Tx.ptx.mbarrier.try_wait(self.buf.ptr_to([stage]), phase ^ self.phase_offset if self.phase_offset else phase)

    @Tx.inline
    def arrive(self, stage: Any, cta_id: Any = None, pred: Any = None, count: Any = None, remote: Any = None) -> None:
        """Arrive once at the stage's barrier, here or in CTA `cta_id` (`remote`) of the cluster, where `pred` holds."""
        assert count is None or count == 1, "each thread arrives once: remove `count`"
        rank = Tx.meta_var(remote if cta_id is None else cta_id)
        if rank is not None:
            Tx.ptx.mbarrier.arrive(self.buf.ptr_to([stage]), cta_id=rank, pred=True if pred is None else pred)
        elif True if pred is None else pred:
            Tx.ptx.mbarrier.arrive(self.buf.ptr_to([stage]))

    def remote_view(self, cta_id: Any) -> RemoteBarrier:
        """The same barriers of CTA `cta_id` of the cluster."""
        return RemoteBarrier(self, cta_id)


class TMABar(MBarrier):
    """`depth` mbarriers that TMA loads complete by counting bytes."""

    @Tx.inline
    def arrive(self, stage: Any, bytes: Any = None, remote: Any = None, pred: Any = None, tx_count: Any = None) -> None:
        """Expect `bytes` (or `tx_count`) more bytes in the current phase of the stage's barrier, then arrive once.

        At the barrier here, or in CTA `remote` of the cluster, where `pred` holds.
        """
        expected = Tx.meta_var(tx_count if bytes is None else bytes)
        if expected is None:
            MBarrier.arrive(self, stage, remote=remote, pred=pred)
        elif True if pred is None else pred:
            bar = Tx.meta_var(self if remote is None else self.remote_view(remote))
            Tx.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([stage]), expected)


class TCGen05Bar(MBarrier):
    """`depth` mbarriers at which the tensor core arrives when the MMAs committed to them are done."""

    @Tx.inline
    def arrive(self, stage: Any, cta_group: int = 1, cta_mask: Any = None) -> None:
        """When this thread's MMAs are done, the stage's barrier gets one arrival, in each CTA of `cta_mask`."""
        Tx.ptx.tcgen05.commit(self.buf.ptr_to([stage]), cta_group=cta_group, cta_mask=cta_mask)


class RemoteBarrier:
    """Barriers in the shared memory of another CTA of the cluster: one can arrive at them, not wait on them."""

    def __init__(self, barrier: MBarrier, cta_id: Any) -> None:
        self.barrier = barrier
        self.cta_id = cta_id
        self.depth = barrier.depth

    @property
    def name(self) -> str:
        return self.barrier.name

    def ptr_to(self, indices: Any) -> Expr:
        """The shared::cluster address of the barrier of a stage."""
        return Tx.ptx.map_shared_rank(self.barrier.ptr_to(indices), self.cta_id)

    @Tx.inline
    def arrive(self, stage: Any, bytes: Any = None, pred: Any = None, tx_count: Any = None) -> None:
        """As the barrier's own `arrive`, at the barrier of the other CTA."""
        expected = Tx.meta_var(tx_count if bytes is None else bytes)
        if expected is None:
            MBarrier.arrive(self.barrier, stage, cta_id=self.cta_id, pred=pred)
        else:
            Tx.ptx.mbarrier.arrive.expect_tx(self.ptr_to([stage]), expected)


_KINDS: Mapping[str, type[MBarrier]] = {"tma": TMABar, "tcgen05": TCGen05Bar, "mbar": MBarrier}


class Pipeline:
    """A ring of `stages`: `full` tells the consumer that a stage holds data, `empty` the producer that it is free.

    full, empty: who arrives: "tma" (TMABar), "tcgen05" (TCGen05Bar) or "mbar" (MBarrier). init_full, init_empty: how
    many arrivals each expects a phase. The barriers are initialised where the pipeline is made.
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
