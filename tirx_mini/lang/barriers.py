"""Arrays of mbarriers in shared memory, with one barrier per pipeline stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tirx_mini.ir import Buffer, Expr, TirxError
from tirx_mini.script import PoolAllocator
from tirx_mini.script import tirx as Tx
from tirx_mini.wording import described

from .arguments import Integer, check_choice, check_condition, check_count, check_label, check_pool


class MBarrier:
    """`depth` mbarriers for thread arrivals, one for each stage.

    A phase of a barrier completes after the number of arrivals given to `init`. Then the next phase begins, with the
    opposite parity and the same number of expected arrivals.

    pool: the shared-memory pool that holds the barriers. They must be created before `pool.commit()`.
    depth: the number of barriers.
    name: the name if the object is not assigned to a variable. Reports use the variable's name. As in TVM, the third
        argument may also be the phase offset.
    phase_offset: 1 to invert the parity of every wait, else 0.
    leader: the condition that selects the one thread of the CTA that initialises the barriers; by default thread 0.

    Cost: 8 bytes of shared memory for each barrier.

    Example:

        pool = Tx.PoolAllocator()
        drained = MBarrier(pool, 1, "drained")
        pool.commit()
        drained.init(128)                            # 128 threads arrive in each phase
        Tx.ptx.fence.mbarrier_init()
        Tx.cuda.cta_sync()
        drained.arrive(0)
        drained.wait(0, phase)
    """

    def __init__(
        self,
        pool: PoolAllocator,
        depth: int,
        name: str | int | None = None,
        *,
        phase_offset: int = 0,
        leader: Integer | None = None,
    ) -> None:
        kind = type(self).__name__
        call = f'{kind}(pool, PIPE_DEPTH, "name")'
        if isinstance(name, int):
            name, phase_offset = None, name
        check_pool(kind, pool, call)
        check_count(f"the depth of {kind}, the number of its barriers,", depth, f"write {call}")
        if name is not None:
            check_label(f"the name of {kind}", name, call)
        check_choice(f"phase_offset of {kind}", phase_offset, (0, 1), "1 inverts the parity of every wait")
        if leader is not None:
            check_condition(f"the leader of {kind}", leader, "write leader=(thread_id == 0)")
        self.depth = depth
        self.phase_offset = phase_offset
        self.leader: Any = Tx.threadIdx.x < 1 if leader is None else leader
        self.buf: Buffer = pool.alloc((depth,), "uint64", align=8, name=name and Tx.variable_name(name, given=True))

    @property
    def name(self) -> str:
        """The name that reports use."""
        return self.buf.name

    def ptr_to(self, indices: Integer | Sequence[Integer]) -> Expr:
        """Return a pointer to the barrier of one stage, for instructions and for `mbar=`: ``bar.ptr_to([stage])``.

        indices: the stage, alone or in a list.
        """
        return self.buf.ptr_to(indices)

    @Tx.inline
    def init(self, count: Integer) -> None:
        """Initialise every barrier. The leader thread executes it, so no role or branch may leave that thread out.

        count: the number of arrivals in each phase.

        Cost: one `mbarrier.init` for each barrier, in one thread.
        """
        if self.leader:
            for stage in tuple(range(self.depth)):
                Tx.ptx.mbarrier.init(self.buf.ptr_to([stage]), count)

    @Tx.inline
    def wait(self, stage: Integer, phase: Integer) -> None:
        """Wait until the phase of parity `phase` of the stage's barrier has completed.

        stage: the index of the barrier.
        phase: 0 or 1. On a fresh barrier, the wait for 1 returns at once, and the wait for 0 blocks.

        Cost: `mbarrier.try_wait`, repeated until the phase is complete.
        """
        Tx.ptx.mbarrier.try_wait(self.buf.ptr_to([stage]), phase ^ self.phase_offset if self.phase_offset else phase)

    @Tx.inline
    def arrive(
        self,
        stage: Integer,
        cta_id: Integer | None = None,
        pred: Integer | None = None,
        count: int | None = None,
        remote: Integer | None = None,
    ) -> None:
        """Arrive once at the stage's barrier with each executing thread.

        stage: the index of the barrier.
        cta_id: the rank of the CTA in the cluster with the target barrier; by default this CTA.
        pred: the condition under which the thread arrives.
        count: 1, if it is given.
        remote: TVM's name for `cta_id`.

        Cost: one `mbarrier.arrive` for each thread, preceded by `mapa` if `cta_id` is given.
        """
        assert count is None or count == 1, "each thread arrives once: remove `count`"
        rank = Tx.meta_var(remote if cta_id is None else cta_id)
        if rank is not None:
            Tx.ptx.mbarrier.arrive(self.buf.ptr_to([stage]), cta_id=rank, pred=True if pred is None else pred)
        elif True if pred is None else pred:
            Tx.ptx.mbarrier.arrive(self.buf.ptr_to([stage]))

    def remote_view(self, cta_id: Integer) -> RemoteBarrier:
        """Return the same barriers in another CTA of the cluster.

        cta_id: the rank of that CTA.
        """
        return RemoteBarrier(self, cta_id)


@described.register(MBarrier)
def _(barrier: MBarrier) -> str:
    return f"the {type(barrier).__name__} {barrier.name}"


class TMABar(MBarrier):
    """`depth` mbarriers whose phases complete when TMA loads have delivered the expected bytes.

    `arrive` announces the bytes and counts as the one arrival of the phase, so `init` takes 1. The loads name the
    barrier with ``mbar=bar.ptr_to([stage])``.

    The arguments and the other methods are those of `MBarrier`.

    Example:

        pool = Tx.PoolAllocator()
        tile = pool.alloc((128, 64), "float16", layout=A_layout)
        loaded = TMABar(pool, 1, "loaded")
        pool.commit()
        loaded.init(1)
        Tx.ptx.fence.mbarrier_init()
        Tx.cuda.cta_sync()
        if warp_id == 0 and wg_id == 0:
            with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                Tx.copy_async(tile[:, :], A[0:128, 0:64], dispatch="tma", mbar=loaded.ptr_to([0]))
                loaded.arrive(0, 128 * 64 * 2)       # bytes
        loaded.wait(0, phase)
    """

    @Tx.inline
    def arrive(  # pyright: ignore[reportIncompatibleMethodOverride] - as in TVM, each kind arrives in its own way
        self,
        stage: Integer,
        bytes: Integer | None = None,
        remote: Integer | None = None,
        pred: Integer | None = None,
        tx_count: Integer | None = None,
    ) -> None:
        """Expect bytes in the current phase of the stage's barrier, then arrive once, in one thread.

        stage: the index of the barrier.
        bytes: the number of bytes that the loads of this phase deliver; without it, the call is a plain arrival.
        remote: the rank of the CTA in the cluster with the target barrier; by default this CTA.
        pred: the condition under which the thread arrives.
        tx_count: TVM's name for `bytes`.

        Cost: one `mbarrier.arrive.expect_tx`.
        """
        expected = Tx.meta_var(tx_count if bytes is None else bytes)
        if expected is None:
            MBarrier.arrive(self, stage, remote=remote, pred=pred)
        elif True if pred is None else pred:
            bar = Tx.meta_var(self if remote is None else self.remote_view(remote))
            Tx.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([stage]), expected)


class TCGen05Bar(MBarrier):
    """`depth` mbarriers for tensor core arrivals, which signal that a thread's issued MMAs are complete.

    A commit is one arrival, so `init` takes the number of commits in a phase.

    The arguments and the other methods are those of `MBarrier`.

    Example:

        pool = Tx.PoolAllocator()
        multiplied = TCGen05Bar(pool, 2, "multiplied")
        pool.commit()
        multiplied.init(1)
        Tx.ptx.fence.mbarrier_init()
        Tx.cuda.cta_sync()
        if warp_id == 0 and wg_id == 0:
            with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                multiplied.arrive(0, cta_group=1)    # after the MMAs of stage 0, in the thread that issued them
        multiplied.wait(0, phase)
    """

    @Tx.inline
    def arrive(  # pyright: ignore[reportIncompatibleMethodOverride] - as in TVM, each kind arrives in its own way
        self, stage: Integer, cta_group: int = 1, cta_mask: int | None = None
    ) -> None:
        """Commit this thread's MMAs: the tensor core arrives once when all of them are complete.

        stage: the index of the barrier.
        cta_group: the cta_group of the MMAs, 1 or 2.
        cta_mask: the CTAs of the cluster at whose barriers it arrives, bit r for rank r; by default this CTA.

        Cost: one `tcgen05.commit`.
        """
        Tx.ptx.tcgen05.commit(self.buf.ptr_to([stage]), cta_group=cta_group, cta_mask=cta_mask)


class RemoteBarrier:
    """Barriers of another CTA in the cluster, from `remote_view`, which support arrivals but not waits."""

    def __init__(self, barrier: MBarrier, cta_id: Integer) -> None:
        self.barrier = barrier
        self.cta_id = cta_id
        self.depth = barrier.depth

    @property
    def name(self) -> str:
        """The name that reports use."""
        return self.barrier.name

    def ptr_to(self, indices: Integer | Sequence[Integer]) -> Expr:
        """Return the shared::cluster address of the barrier of one stage.

        indices: the stage, alone or in a list.
        """
        return Tx.ptx.map_shared_rank(self.barrier.ptr_to(indices), self.cta_id)

    @Tx.inline
    def arrive(
        self,
        stage: Integer,
        bytes: Integer | None = None,
        pred: Integer | None = None,
        tx_count: Integer | None = None,
    ) -> None:
        """Arrive at the barrier of the other CTA, as `arrive` of the barrier itself does.

        stage: the index of the barrier.
        bytes: the number of expected bytes; without it, the call is a plain arrival.
        pred: the condition under which the thread arrives.
        tx_count: TVM's name for `bytes`.
        """
        expected = Tx.meta_var(tx_count if bytes is None else bytes)
        if expected is None:
            MBarrier.arrive(self.barrier, stage, cta_id=self.cta_id, pred=pred)
        else:
            Tx.ptx.mbarrier.arrive.expect_tx(self.ptr_to([stage]), expected)


_KINDS: Mapping[str, type[MBarrier]] = {"tma": TMABar, "tcgen05": TCGen05Bar, "mbar": MBarrier}


class Pipeline:
    """The two rings of barriers of a pipeline, initialised at creation.

    `full` signals the consumer that a stage holds data, `empty` the producer that it is free. Both are barrier arrays
    of `stages` barriers.

    pool: the shared-memory pool that holds the barriers.
    stages: the number of stages.
    full, empty: the kind of each ring: "tma" (TMABar), "tcgen05" (TCGen05Bar) or "mbar" (MBarrier).
    init_full, init_empty: the number of arrivals in each phase.
    empty_phase_offset: the phase offset of `empty`. With 1, a producer that starts with phase 0 does not block in its
        first round.
    leader: the condition that selects the thread that initialises the barriers; by default thread 0 of the CTA.

    Cost: 16 bytes of shared memory for each stage.

    Example:

        pool = Tx.PoolAllocator()
        ring = Pipeline(pool, 4, full="tma", empty="tcgen05")
        pool.commit()
        Tx.ptx.fence.mbarrier_init()
        Tx.cuda.cta_sync()
        ring.empty.wait(0, 1)                        # a fresh stage is free
    """

    full: MBarrier
    empty: MBarrier

    def __init__(
        self,
        pool: PoolAllocator,
        stages: int,
        *,
        full: str,
        empty: str,
        init_full: Integer = 1,
        init_empty: Integer = 1,
        empty_phase_offset: int = 0,
        leader: Integer | None = None,
    ) -> None:
        call = 'Pipeline(pool, PIPE_DEPTH, full="tma", empty="tcgen05")'
        check_pool("Pipeline", pool, call)
        check_count("the number of stages of Pipeline", stages, f"write {call}")
        for which, kind in (("full", full), ("empty", empty)):
            if not isinstance(kind, str) or kind not in _KINDS:
                raise TirxError(
                    f"{which} of Pipeline must be a kind of barrier, {', '.join(map(repr, _KINDS))}, but "
                    f"{described(kind)} is given",
                    hint=f"write {call}",
                )
        label = Tx.variable_name("pipeline")
        self.stages = stages
        self.full = _KINDS[full](pool, stages, f"{label}_full", leader=leader)
        self.full.init(init_full)
        self.empty = _KINDS[empty](pool, stages, f"{label}_empty", phase_offset=empty_phase_offset, leader=leader)
        self.empty.init(init_empty)
