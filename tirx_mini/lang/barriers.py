"""Arrays of mbarriers in shared memory: one barrier a pipeline stage, named after what it signals."""

from __future__ import annotations

from typing import Any

from tirx_mini.ir import Buffer, Expr
from tirx_mini.script import PoolAllocator
from tirx_mini.script import tirx as Tx


class MBarrier:
    """`depth` mbarriers at which threads arrive themselves.

    pool: where the barriers are allocated (8 bytes each). name: how reports call them; by default the variable's name.
    """

    def __init__(self, pool: PoolAllocator, depth: int, name: str | None = None) -> None:
        self.depth = depth
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
        if Tx.threadIdx.x < 1:
            for stage in tuple(range(self.depth)):
                Tx.ptx.mbarrier.init(self.buf.ptr_to([stage]), count)

    @Tx.inline
    def wait(self, stage: Any, phase: Any) -> None:
        """Block until the phase of parity `phase` of the stage's barrier has completed."""
        Tx.ptx.mbarrier.try_wait(self.buf.ptr_to([stage]), phase)

    @Tx.inline
    def arrive(self, stage: Any, cta_id: Any = None, pred: Any = None, count: Any = None) -> None:
        """Arrive once at the stage's barrier, here or in CTA `cta_id` of the cluster, where `pred` holds."""
        assert count is None or count == 1, "each thread arrives once: drop `count`"
        if cta_id is None:
            if pred is None:
                Tx.ptx.mbarrier.arrive(self.buf.ptr_to([stage]))
            else:
                if pred:
                    Tx.ptx.mbarrier.arrive(self.buf.ptr_to([stage]))
        else:
            Tx.ptx.mbarrier.arrive(self.buf.ptr_to([stage]), cta_id=cta_id, pred=True if pred is None else pred)

    def remote_view(self, cta_id: Any) -> RemoteBarrier:
        """The same barriers of CTA `cta_id` of the cluster."""
        return RemoteBarrier(self, cta_id)


class TMABar(MBarrier):
    """`depth` mbarriers that TMA loads complete by counting bytes."""

    @Tx.inline
    def arrive(self, stage: Any, bytes: Any = None) -> None:
        """Expect `bytes` more bytes in the current phase of the stage's barrier, then arrive once."""
        if bytes is None:
            Tx.ptx.mbarrier.arrive(self.buf.ptr_to([stage]))
        else:
            Tx.ptx.mbarrier.arrive.expect_tx(self.buf.ptr_to([stage]), bytes)


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
    def arrive(self, stage: Any, bytes: Any = None, pred: Any = None) -> None:
        """As the barrier's own `arrive`, at the barrier of the other CTA."""
        if bytes is None:
            self.barrier.arrive(stage, cta_id=self.cta_id, pred=pred)
        else:
            Tx.ptx.mbarrier.arrive.expect_tx(self.ptr_to([stage]), bytes)
