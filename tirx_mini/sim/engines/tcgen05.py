"""The tensor cores: asynchronous MMAs, executed in order with their own timing.

Each thread issues to its own pipe. A pipe is an agent, which acquires at each MMA what the issuing thread has acquired.
The MMAs read and write when the commit that tracks them completes, as late as the ISA allows, and consecutive MMAs to
one accumulator are then one matrix product (PTX ISA: "tcgen05.mma", "tcgen05.commit").

MMAs with the same accumulator, shape, kind and cta_group execute in the order of their issue, within one thread and,
with the tcgen05 fences around their synchronisation, across threads; others are unordered until a wait for the first
one's commit (PTX ISA: "Pipelined tcgen05 Instructions").
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import partial

import numpy as np

from tirx_mini.isa import PLAIN, BlockScales, InstructionDescriptor, Kept, SmemDescriptor, TmemOperand

from ..facts import Origin
from ..machine import Cta, Gpu, Mbarrier, Signal, Sm, Warp
from ..ordering import BEFORE, ORDER, Access, Actor, Agent, Operation
from .accumulators import groups_of, keeping, lanes_of, rows_in_tmem, store_product
from .batched import multiply_each
from .issued import (
    Batch,
    Burst,
    Issue,
    Issued,
    Mma,
    Pipe,
    Pipeline,
    Repeat,
    Series,
    TmemCopy,
    actor_of_product,
    chain,
    copies_of,
    pair,
    untimed,
)
from .memoised import MemoisedBursts, MemoisedSeries
from .mma_time import fill_of, latency, steps_of
from .operands import Operands, read_tmem, scaled
from .scaled import multiply_scaled
from .sparse import expanded
from .submatrix import Submatrix, below
from .sums import accumulate_tmem, multiply
from .tcgen05_facts import CommitAtExit, CommitOfOtherThread, MmaAtExit
from .tile_reads import TileReads
from .tmem_copy import Copies
from .unread import LostResult, unread_columns


class TensorCores:
    """The tensor cores of the GPU."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self._pipes: dict[Warp, dict[int, Pipe]] = {}
        self._last: dict[Cta, dict[Pipeline, Mma | Repeat]] = {}
        self._uncommitted: dict[Cta, list[Issued]] = {}
        self._step = partial(steps_of, gpu.spec)
        self._series = MemoisedSeries(self._step)
        self._bursts = MemoisedBursts(self._step, partial(fill_of, gpu.spec))
        self._operands = Operands(gpu.probe)
        self._tiles = TileReads(gpu)
        self._copies = Copies(gpu, self._tiles)

    def pipe(self, w: Warp) -> Pipe:
        """Return the pipe of the executing thread."""
        pipes = self._pipes.get(w)
        if pipes is None:
            pipes = self._pipes[w] = {}
        pipe = pipes.get(w.lane)
        if pipe is None:
            agent = w.cta.cluster.causality.agent(f"{w.cta.name} MMA of {w.role}")
            pipe = pipes[w.lane] = Pipe(w.cta, agent, w.warp_id, (w.agent.warp, 1 << w.lane))
        return pipe

    # -- instructions --------------------------------------------------------------------------------------------

    def mma(
        self,
        w: Warp,
        d: int,
        a: SmemDescriptor | TmemOperand,
        a_start: int,
        b: SmemDescriptor,
        b_start: int,
        shape: InstructionDescriptor,
        accumulate: bool,
        cta_group: int,
        scales: BlockScales | None = None,
        kept: Kept = PLAIN,
        metadata: int | None = None,
    ) -> None:
        """Issue an MMA with its accumulator at the address `d`.

        Its operands, possibly with A in tensor memory, are at the same addresses in both CTAs of a pair.
        """
        pipe = self.pipe(w)
        agent = w.agent
        pipeline = (cta_group, d, shape.m, shape.n, shape.depth, shape.d == "int32")
        last = self._last.setdefault(w.cta, {})
        previous = last.get(pipeline)
        other = previous is not None and previous.pipe is not pipe
        if other and isinstance(previous, Mma) and not self._take_over(pipe, agent, previous):
            previous = None
        if pipe.snapshot is None or pipe.seen != (agent.index, agent.version) or pipe.pipeline != pipeline:
            self._renew(pipe, agent, pipeline)
        snapshot, issue = pipe.snapshot, pipe.issue
        assert snapshot is not None and issue is not None
        mma = Mma(
            pipe, pipeline, d & 0xFFFF, a, a_start, b, b_start, shape, accumulate, cta_group, snapshot, issue,
            agent.epoch, w.time, w.place, w.span, None if previous is None or previous.done else previous, scales,
            d >> 16, kept, metadata,
        )  # fmt: skip
        last[pipeline] = mma
        pipe.elected = w.mask.elected
        pipe.pending.append(mma)

    def series(self, w: Warp, key: Hashable) -> Series | None:
        """Return the memoised MMAs of a loop that a thread is about to execute; None if `learn_series` must record it.

        key: the loop, and all inputs of its MMAs' operands. None also if a commit tracks further operations.
        """
        alone = w.mask.count == 1 and self.gpu.recorder is None and not self.pipe(w).pending
        return self._series.find(key if alone else None)

    def learn_series(self, w: Warp) -> None:
        """Memoise the operations that the thread has issued since `series`, if they are plain MMAs of one sum."""
        self._series.learn(self.pipe(w).pending)

    def repeat(self, w: Warp, series: Series) -> list[float]:
        """Issue a memoised series.

        The caller fills the result with the issue times of the MMAs.
        """
        pipe, first = self.pipe(w), series.first
        last = self._last.setdefault(w.cta, {})
        previous = last.get(first.pipeline)
        again = Repeat(pipe, series, w.place, first.span, None if previous is None or previous.done else previous)
        last[first.pipeline] = again
        pipe.elected = w.mask.elected
        pipe.pending.append(again)
        return again.times

    def again(self, w: Warp, key: Hashable) -> bool:
        """Issue the memoised MMAs of this key at once; without an entry, let `learn` record the next ones.

        key: the location in the program, and all inputs of the operands.
        """
        return self._bursts.again(w, self.pipe(w), key)

    def learn(self, w: Warp) -> None:
        """Memoise the operations that the thread has issued since `again`, if they are MMAs."""
        self._bursts.learn(w, self.pipe(w))

    def copy(
        self, w: Warp, column: int, lane: int, layout: SmemDescriptor, start: int, shape: str, multicast: str,
        cta_group: int,
    ) -> None:
        """Issue a tcgen05.cp, which precedes MMAs that the thread issues later."""
        pipe, agent = self.pipe(w), w.agent
        if pipe.snapshot is None or pipe.seen != (agent.index, agent.version) or pipe.pipeline != copies_of(cta_group):
            self._renew(pipe, agent, copies_of(cta_group))
        assert pipe.snapshot is not None and pipe.issue is not None
        pipe.elected = w.mask.elected
        pipe.pending.append(TmemCopy(
            pipe, column, lane, layout, start, shape, multicast, cta_group, pipe.snapshot, pipe.issue, agent.epoch,
            w.time, w.place, w.span,
        ))  # fmt: skip

    @staticmethod
    def _renew(pipe: Pipe, agent: Agent, pipeline: Pipeline) -> None:
        """Begin a new order for the following MMAs. An epoch of a pipe belongs to one pipeline."""
        if pipe.pipeline not in (None, pipeline):
            pipe.agent.advance()
        pipe.pipeline = pipeline
        pipe.agent.acquire_from(agent)
        pipe.snapshot = pipe.agent.snapshot(agent.fenced)
        awaited = agent.clocks.item(ORDER, pipe.agent.index)
        pipe.issue = Issue(agent.index, pipe.agent.epoch, pipe.ordered, awaited, pipe.own, pipe.handed)
        pipe.seen = (agent.index, agent.version)

    @staticmethod
    def _take_over(pipe: Pipe, agent: Agent, previous: Mma) -> bool:
        """Return whether an MMA of another warp's pipe precedes the next one by order of issue.

        This requires both fences (PTX ISA: "Pipelined instructions, different thread"); a missing one is a finding.
        """
        issue, issuer, other = previous.issue, previous.issue.agent, previous.pipe.agent.index
        if not agent.happens_after(issuer, previous.issued):
            return False
        if agent.happens_after(other, issue.epoch):
            return True
        pipe.agent.acquire_epoch(other, issue.epoch)
        pipe.snapshot = None
        fenced = agent.fenced
        if fenced is not None and issuer < len(fenced) and fenced.item(issuer) >= previous.issued:
            if agent.clocks.item(BEFORE, issuer) < previous.issued:
                pipe.handed = tuple({*pipe.handed, other})
            else:
                pipe.own = tuple({*pipe.own, other})
        return True

    def commit(self, w: Warp, barriers: Sequence[Mbarrier]) -> None:
        """Execute tcgen05.commit: the barriers track the completion of all MMAs of the thread so far."""
        pipe = self.pipe(w)
        self._check_thread(w, pipe)
        released = w.cta.cluster.causality.transient_clock()
        released.release(pipe.agent)
        released.release_past(w.agent)
        pipe.fence()
        batch = Batch(w.cta, tuple(pipe.pending), tuple(barriers), released, w.place, w.span)
        pipe.pending = []
        pipe.queued.append(batch)
        w.cta.cluster.time.begin(self.gpu.clock, w.time, pipe, self._start, self._finish, pipe)

    def fence(self, w: Warp) -> None:
        """Execute tcgen05.fence::before_thread_sync: order the thread's earlier operations before its later ones."""
        for lane, pipe in self._pipes.get(w, {}).items():
            if w.mask.word >> lane & 1:
                pipe.fence()

    def _finish(self, pipe: Pipe) -> None:
        """Execute a batch immediately."""
        pipe.running.append(pipe.queued.pop())
        self._complete(pipe)

    def _check_thread(self, w: Warp, pipe: Pipe) -> None:
        """Record a commit that does not track MMAs issued by another thread of the warp."""
        if pipe.pending:
            if pipe.elected != w.mask.elected and w.all_lanes.count > 1:
                self.gpu.facts.record(CommitOfOtherThread(w.origin, pipe.pending[-1].span, elected=True))
            return
        for other in self._pipes[w].values():
            if other.pending:
                self.gpu.facts.record(CommitOfOtherThread(w.origin, other.pending[-1].span, elected=False))
                return

    def forget(self, w: Warp) -> None:
        """Handle the end of a warp. Another warp may take over its uncommitted operations."""
        for pipe in self._pipes.pop(w, {}).values():
            self._uncommitted.setdefault(w.cta, []).extend(pipe.pending)

    def cta_ended(self, cta: Cta) -> None:
        """Execute the MMAs of an ended CTA that no commit tracks, and drop its state."""
        self._execute_all(self._uncommitted.pop(cta, ()))
        self._last.pop(cta, None)
        self._tiles.forget(cta)

    # -- time ----------------------------------------------------------------------------------------------------

    def _start(self, pipe: Pipe) -> None:
        # A commit tracks all that its thread issued before, so the order of commits is kept even at equal times.
        batch = pipe.queued.popleft()
        pipe.running.append(batch)
        gpu = self.gpu
        spec = gpu.spec
        sms = self._sms(batch)
        end = max(gpu.clock.now, pipe.free)
        for mma in [each for last in batch.mmas for each in untimed(last)]:
            mma.timed = True
            arithmetic = 0.0
            if isinstance(mma, Repeat):
                for begin, (cycles, nbytes) in zip(mma.times, mma.series.steps, strict=True):
                    end = self._multiply(sms, begin, cycles, nbytes)
                    arithmetic += cycles
                gpu.count("tensor_cycles", arithmetic * len(sms))
                continue
            for begin, cycles, nbytes in self._steps(mma):
                end = self._multiply(sms, begin, cycles, nbytes)
                arithmetic += cycles
            gpu.count("tensor_cycles", arithmetic * len(sms))
        if batch.mmas:
            pipe.free = max(pipe.free, end + gpu.traffic.jitter(latency(spec, batch.mmas[-1])))
            if gpu.recorder is not None:
                mmas = [mma for mma in batch.mmas if not isinstance(mma, Repeat)]
                busy = sum(cycles for mma in mmas for _, cycles, _ in self._steps(mma))
                gpu.recorder.multiplying(pipe, batch, end - busy, end)
        done = max(gpu.clock.now, pipe.free) + spec.commit_latency
        gpu.clock.at(done, pipe, self._complete, pipe)

    def _multiply(self, sms: Sequence[Sm], issued: float, cycles: float, nbytes: float) -> float:
        """Return the completion time of an MMA that occupies the tensor cores of all given SMs at once."""
        traffic = self.gpu.traffic
        begin = issued
        for sm in sms:
            if sm.tensor_free > begin:
                begin = sm.tensor_free
        end = begin + cycles
        for sm in sms:
            read = traffic.read_shared(sm.traffic, begin, nbytes)
            if read > end:
                end = read
        for sm in sms:
            sm.tensor_free = end
        return end

    def _steps(self, mma: Mma | TmemCopy | Burst) -> Iterable[tuple[float, float, float]]:
        """Return (time of issue, cycles of arithmetic, bytes of operands) of each MMA."""
        if isinstance(mma, Burst):
            return [(mma.time + after, cycles, nbytes) for after, cycles, nbytes in mma.known.steps]
        return [(mma.time, *self._step(mma))]

    @staticmethod
    def _sms(batch: Batch) -> list[Sm]:
        cta = batch.cta
        if batch.mmas and batch.mmas[0].cta_group == 2:
            return [peer.sm for peer in pair(cta)]
        return [cta.sm]

    # -- effects -------------------------------------------------------------------------------------------------

    def _complete(self, pipe: Pipe) -> None:
        batch = pipe.running.popleft()
        if self.gpu.recorder is not None:
            self.gpu.recorder.multiplied(pipe, batch)
        self._execute_all([mma for last in batch.mmas for mma in chain(last)])
        now = self.gpu.clock.now
        for barrier in batch.arrivals:
            if barrier.cta.alive:
                if barrier.expected:
                    agent, released = pipe.arrival(barrier, batch.released)
                    by = Signal.COMMIT, batch.role, batch.span
                    barrier.arrive_async(batch.cta, agent.index, released, now, *by)
            else:
                origin = Origin(batch.role, batch.role, barrier.cta.name, batch.span)
                self.gpu.facts.record(CommitAtExit(origin, barrier.element))

    def _execute_all(self, mmas: Sequence[Issued]) -> None:
        """Execute MMAs and copies in order."""
        group: list[Mma] = []
        for mma in mmas:
            if mma.done:
                continue
            if isinstance(mma, Burst):  # of MMAs of which only time passes
                mma.done = True
                self.gpu.count("flops", mma.known.flops)
                continue
            if isinstance(mma, (TmemCopy, Repeat)):
                if group:
                    self._execute(group)
                    group = []
                mma.done = True
                if isinstance(mma, TmemCopy):
                    self._copies.execute(mma)
                else:
                    mma.previous = None
                    for part in mma.series.groups:
                        self._execute(part, mma)
                continue
            if group and not mma.continues(group[0]):
                self._execute(group)
                group = []
            group.append(mma)
            mma.done, mma.previous = True, None
        if group:
            self._execute(group)

    def _execute(self, group: list[Mma], by: Repeat | None = None) -> None:
        """Execute a chain of MMAs with one accumulator. by: the repetition that issued them, if any."""
        mma = group[0]
        shape, cta, role = mma.shape, (by or mma).pipe.cta, (by or mma).role
        ctas = pair(cta) if mma.cta_group == 2 else (cta,)
        if not all(c.alive for c in ctas):
            self.gpu.facts.record(MmaAtExit(Origin(role, role, cta.name, mma.span)))
            return
        self.gpu.count("flops", shape.flops * len(group))
        if not cta.cluster.values.apply(self._carry_out, group, by, ctas) and by is None:
            self._check_operands(group, ctas)  # of a repeated group, they have been in shared memory before

    def _carry_out(self, group: list[Mma], by: Repeat | None, ctas: Sequence[Cta]) -> None:
        """Multiply the operands of a chain of MMAs, and add the product to the accumulators."""
        mma, cta = group[0], ctas[0] if by is None else by.pipe.cta
        if cta.cluster.width:
            multiply_each(self._operands, group, ctas, id(group) if by is not None else None)
            return
        actor = by.series.actor if by is not None else actor_of_product(mma)
        lefts, right = self._factors(group, ctas, actor, id(group) if by is not None else None)
        cta.cluster.order.record(self._tiles.of_tcgen05, self._operands, group, ctas, id(group) if by else None)
        issuer = (by or mma).pipe
        right = scaled(right, self.gpu.probe, issuer.cta, issuer.warp)
        for c, left in zip(ctas, lefts, strict=True):
            self._accumulate(c, mma, left, right, actor)

    def _check_operands(self, group: Sequence[Mma], ctas: Sequence[Cta]) -> None:
        """Check that the operands of MMAs lie in shared memory."""
        mma = group[0]
        rows, columns = mma.shape.m // mma.cta_group, mma.shape.n // mma.cta_group
        for which, extent, c in [("a", rows, c) for c in ctas] + [("b", columns, c) for c in ctas]:
            if which == "b" or not isinstance(mma.a, TmemOperand):
                self._operands.check(c.smem, group, which, extent)

    def _factors(
        self, group: Sequence[Mma], ctas: Sequence[Cta], actor: Actor, known: Hashable
    ) -> tuple[list[list[Submatrix]], Submatrix]:
        """Return matrix A in each CTA, by parts of the columns, and matrix B. known: see `Operands.read`."""
        mma, read = group[0], self._operands.read
        shape = mma.shape
        rows, columns, parts = shape.m // mma.cta_group, shape.n // mma.cta_group, shape.parts(mma.cta_group)
        if isinstance(mma.a, TmemOperand):
            width = mma.a.columns(shape)
            lanes = groups_of(shape, mma.lane)
            in_tmem = (read_tmem(c.tmem, group, width, lanes, actor) for c in ctas)
            a = [[Submatrix.whole(each) for each in rows_in_tmem(words, shape, parts, mma.lane)] for words in in_tmem]
        else:
            a = [[read(c.smem, group, "a", rows, actor, known)] * parts for c in ctas]
        a = expanded(a, mma, ctas, actor)
        b = [read(c.smem, group, "b", columns, actor, known) for c in ctas]
        right = b[0] if len(b) == 1 else below(b)
        return a, Submatrix.whole(-right.values) if shape.negate_a != shape.negate_b else right

    def _lost(self, cta: Cta, mma: Mma, columns: int, lost: Access) -> None:
        """Record that an MMA overwrites an unread result."""
        if not self.gpu.facts.seen(LostResult, mma.span, lost.span):
            missed = unread_columns(cta, mma.column, columns)
            assert missed is not None
            origin, whole = Origin(mma.role, mma.role, cta.name, mma.span), (mma.column, mma.column + columns - 1)
            self.gpu.facts.record(LostResult(origin, lost, whole, (missed.first, missed.last)))

    def _record(self, cta: Cta, mma: Mma, columns: int, actor: Actor) -> None:
        """Record the access of an MMA to its accumulator."""
        shadow = cta.tmem.shadow
        where = groups_of(mma.shape, mma.lane), slice(mma.column, mma.column + columns)
        if mma.accumulate:
            shadow.inspect(where, actor)
        elif (lost := shadow.unread(where, Operation.TCGEN05_MMA)) is not None:
            self._lost(cta, mma, columns, lost)
        shadow.write(where, actor)

    def _accumulate(self, cta: Cta, mma: Mma, lefts: Sequence[Submatrix], right: Submatrix, actor: Actor) -> None:
        """Add a product of one CTA's rows to its tensor memory, part by part, or overwrite it. lefts: one for each
        part."""
        shape, columns = mma.shape, right.rows // len(lefts)
        cta.cluster.order.record(self._record, cta, mma, columns, actor)
        if len(lefts) == 1 and mma.plain and shape.d == "float32" and not shape.half:
            accumulate_tmem((cta.tmem,), mma.column, (lefts[0],), ((right,),), mma.accumulate)
            return
        if mma.scales is not None:
            product = multiply_scaled(cta.tmem, mma, lefts[0].values, right.values, actor)
        else:
            parts = zip(lefts, np.split(right.values, len(lefts)), strict=True)
            product = np.concatenate([multiply(left.values, part) for left, part in parts])
        lanes = lanes_of(shape, mma.lane)
        with keeping(cta.tmem.words(mma.column, columns), mma.kept, cta.rank % mma.cta_group):
            store_product(cta.tmem, mma.column, lanes, product, shape.d, mma.accumulate, mma.kept.scale)
