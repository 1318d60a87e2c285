"""wgmma: MMAs that the four warps of a warpgroup issue together, with accumulators in registers.

A warp runs ahead of its warpgroup, so each keeps its own issued operations. After all four have committed a group, the
tensor core starts it; its effects, also on registers, occur at its completion, and the groups of a warpgroup complete
in order. An MMA is ordered after everything that happens before its issue in each of the four warps. The registers of
an MMA belong to the tensor core from its issue until its warp has waited for it (PTX ISA: "wgmma.mma_async",
"wgmma.fence", "wgmma.wait_group").
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence
from typing import Any

from tirx_mini.hardware import WARPGROUP_WARPS
from tirx_mini.isa import FRAGMENT_REGISTERS, WgmmaProduct

from ..facts import Fault, Origin
from ..machine import Blocking, Cta, RegisterArray, Registers, Warp
from ..ordering import Actor, Agent, Operation, Proxy, Snapshot, common
from ..timing import Flow
from .batched import multiply_registers_each
from .operands import Operands, scaled
from .submatrix import Submatrix
from .sums import accumulate_registers, fragments, multiply, multiply_exactly
from .tile_reads import TileReads
from .wgmma_facts import MissingWgmmaFence, WarpgroupTooSmall, WgmmaAtExit, WgmmasDiffer, WgmmaWait
from .wgmma_group import Group, Issued, Series, Work, expanded, from_registers, work_of


class Warpgroup:
    """The MMAs of a warpgroup's four warps. waiters: the warps that wait for a group.

    free: the end of its last MMA. done: the end of its last group. led: with data, while one warp acts for all four,
    the accumulator arrays of each.
    """

    def __init__(self, cta: Cta, number: int, agent: Agent, operands: Operands, tiles: TileReads) -> None:
        self.cta = cta
        self.number = number
        self.name = f"warpgroup {number}" if len(cta.warps) > WARPGROUP_WARPS else "the warpgroup"
        self.agent = agent
        self.groups: list[Group] = []
        self.running: deque[Group] = deque()
        self.waiters: dict[int, Warp] = {}
        self.flow = Flow()
        self.led: dict[Warp, tuple[RegisterArray, ...]] = {}
        self._parts: dict[int, tuple[Series, dict[Warp, tuple[RegisterArray, ...]], dict[int, tuple[Issued, ...]]]] = {}
        self.free = self.done = 0.0
        self._operands, self._tiles = operands, tiles
        self._anyone = Actor(agent, cta.cluster.domain, Proxy.ASYNC, Operation.WGMMA, self.name)

    @property
    def cluster_index(self) -> int:
        return self.cta.cluster.index

    @property
    def event(self) -> str:
        return f"the tensor core of {self.name} of {self.cta.name}"

    def delay(self, now: float) -> None:
        """Do nothing: groups have their own times."""

    def committed(
        self, w: Warp, number: int, issued: tuple[Issued, ...], begun: float, series: Series | None,
        others: Sequence[int],
    ) -> None:
        """Commit group `number` for warp `w`; the commit of the fourth warp starts the tensor core.

        begun: the issue time of its first MMA. series: the series that the MMAs form, if any. others: the warps that it
        represents.
        """
        if number == len(self.groups):
            self.groups.append(Group(number, series=series))
        group = self.groups[number]
        known = series is not None and series is group.series
        if group.parts and not known:
            first = next(iter(group.parts.values()))
            if first is not issued and not _alike(first, issued):
                raise Fault(WgmmasDiffer(w.origin, self.name))
        if begun > group.begun:
            group.begun = begun
        group.parts[w.warp_id % WARPGROUP_WARPS] = issued
        for other in others:
            group.parts[other] = issued
        if self.led:
            group.parts = self._for_all(w, issued, series)
        if len(group.parts) == WARPGROUP_WARPS:
            group.epoch = self.agent.epoch
            self.agent.advance()
            clock = self.cta.gpu.clock
            self.cta.cluster.time.begin(clock, w.time, self, self._start, self._finish, group)

    def _for_all(self, w: Warp, issued: tuple[Issued, ...], series: Series | None) -> dict[int, tuple[Issued, ...]]:
        """Return the operations of all four warps, given those of `w`: the same ones with accumulators of their own."""
        known = self._parts.get(id(series)) if series is not None else None
        if known is not None and known[1] == self.led:
            return dict(known[2])
        arrays = self.led[w]
        parts = {w.warp_id % WARPGROUP_WARPS: issued}
        for other, own in self.led.items():
            if other is not w:
                places = ((own[arrays.index(mma.registers.array)], mma.index) for mma in issued)
                pairs = zip(issued, (Registers(other, *place) for place in places), strict=True)
                parts[other.warp_id % WARPGROUP_WARPS] = tuple(
                    Issued(other, mine, mma.product, span=mma.span) for mma, mine in pairs
                )
        if series is not None:
            self._parts[id(series)] = series, self.led, dict(parts)
        return parts

    # -- time ----------------------------------------------------------------------------------------------------

    def _start(self, group: Group) -> None:
        """Start the group on the tensor core, after all four warps have committed it. Its first MMA may begin when the
        last warp has issued it."""
        gpu, sm, mmas = self.cta.gpu, self.cta.sm, group.parts[0]
        self.running.append(group)
        begin = now = gpu.clock.now
        if mmas:
            begin = min(now, max(self.free, group.begun))
        work = self._work(group)
        operands = gpu.traffic.read_shared(sm.traffic, begin, work.nbytes) if mmas else now
        gpu.count("tensor_cycles", work.cycles)
        left = work.cycles - (now - begin) / (1 + sm.tensor.flows)
        sm.tensor.serve(self.flow, left, lambda took: self._multiplied(group, begin, operands))

    def _multiplied(self, group: Group, begin: float, operands: float) -> None:
        """Finish the arithmetic of a group whose operands were read by the time `operands`."""
        gpu, mmas = self.cta.gpu, group.parts[0]
        group.done_at = self.done
        if mmas:
            self.free = max(gpu.clock.now, operands)
            group.done_at = max(self.done, self.free + gpu.traffic.jitter(gpu.spec.mma_latency))
            if gpu.recorder is not None:
                gpu.recorder.group_multiplied(self.cta, mmas, begin, self.free)
        self.done = group.done_at
        gpu.clock.at(group.done_at, self, self._complete)

    def _finish(self, group: Group) -> None:
        """Execute a group immediately."""
        self.running.append(group)
        self._complete()

    def _complete(self) -> None:
        group = self.running.popleft()
        if not self.cta.cluster.values.apply(self._execute_all, group):
            self._check(group)
        group.done = True
        now = self.cta.gpu.clock.now
        waiters, self.waiters = self.waiters, {}
        for warp in waiters.values():
            self.cta.gpu.wake(warp, now)

    # -- effects -------------------------------------------------------------------------------------------------

    def _work(self, group: Group) -> Work:
        """Return the work of a group's MMAs."""
        mmas, series = group.parts[0], group.series
        if series is not None and series.work is not None:
            return series.work
        work = work_of(mmas, self.cta.gpu.spec)
        if series is not None:
            series.work = work
        return work

    def _check(self, group: Group) -> None:
        """Check that the operands of a group lie in shared memory, and count its operations: a run without data."""
        series = group.series
        if series is None or not series.inside:
            for mma in group.parts[0]:
                if mma.product.a is not None:
                    self._operands.check(self.cta.smem, [mma], "a", mma.shape.m)
                self._operands.check(self.cta.smem, [mma], "b", mma.shape.n)
            if series is not None:
                series.inside = True
        self.cta.gpu.count("flops", self._work(group).flops)

    def _execute_all(self, group: Group) -> None:
        """Execute the MMAs of a group.

        MMAs of other accumulators may lie between the MMAs of a chain, as in a loop over K around one over rows.
        """
        series = group.series
        if series is not None and series.batches:
            self._execute_each(group, series.batches)
            return
        parts = group.parts.values()
        batches: list[list[int]] = []
        for position, mma in enumerate(group.parts[0]):
            batch = next((b for b in batches if all(p[position].continues(p[b[0]]) for p in parts)), None)
            if batch is not None:
                batch.append(position)
                continue
            if any(mma.overlaps(group.parts[0][b[0]]) for b in batches):
                self._execute_each(group, batches)
                batches, series = [], None
            batches.append([position])
        self._execute_each(group, batches)
        if series is not None:
            series.batches = batches

    def _execute_each(self, group: Group, batches: Sequence[list[int]]) -> None:
        for batch in batches:
            self._execute(group, batch)

    def _execute(self, group: Group, batch: list[int]) -> None:
        """Execute a chain of MMAs with one accumulator."""
        mmas = [group.parts[0][position] for position in batch]
        mma = mmas[0]
        shape = mma.shape
        self.cta.gpu.count("flops", shape.flops * len(batch))
        actor = self.cta.cluster.order.of(self._actor, group, mma, batch[0]) or self._anyone
        known = (id(group.series), batch[0]) if group.series is not None else None
        registers = [group.parts[warp][batch[0]].registers for warp in range(WARPGROUP_WARPS)]
        self.cta.cluster.order.record(self._tiles.of_wgmma, self._operands, mmas, self.cta, known)
        if self.cta.cluster.width:
            multiply_registers_each(self._operands, mmas, self.cta, registers, known)
            return
        smem = self.cta.smem
        if mma.product.a is None:
            left = Submatrix.whole(from_registers(group, batch))
        else:
            left = self._operands.read(smem, mmas, "a", shape.m, actor, known)
        if shape.selector is not None:
            left = Submatrix.whole(expanded(left.values, group, batch[0], shape.selector))
        right = scaled(
            self._operands.read(smem, mmas, "b", shape.n, actor, known), self.cta.gpu.probe, self.cta, self.number
        )
        if shape.d == "float32":
            accumulate_registers(registers, [left], [right], mma.accumulate)
            return
        if shape.d == "float16":
            for each, values in zip(registers, fragments(multiply(left.values, right.values)), strict=True):
                each.accumulate_halves(values, mma.accumulate)
            return
        for each, values in zip(registers, fragments(multiply_exactly(left.values, right.values)), strict=True):
            each.accumulate(values, mma.accumulate)

    def _actor(self, group: Group, mma: Issued, position: int) -> Actor:
        """Return the actor of an MMA, which follows everything that happens before its issue in each warp."""
        clocks = common([part[position].clocks for part in group.parts.values()])
        snapshot = Snapshot(self.agent.index, group.epoch, clocks, None)
        domain = self.cta.cluster.domain
        return Actor(snapshot, domain, Proxy.ASYNC, Operation.WGMMA, mma.role, mma.span, mma.time)


class WarpWgmma:
    """The operations that one warp has issued to its warpgroup's tensor core. number: of committed groups."""

    def __init__(self, w: Warp, warpgroup: Warpgroup, known: dict[Hashable, Series]) -> None:
        self._warp = w
        self.warpgroup = warpgroup
        self._known = known
        self._learning: tuple[Hashable, float, tuple[RegisterArray, ...]] | None = None
        self._mine: dict[int, tuple[tuple[RegisterArray, ...], tuple[Issued, ...]]] = {}
        self._open: list[Issued] = []
        self._begun = 0.0
        self._series: Series | None = None
        self._committed: deque[tuple[int, tuple[Issued, ...]]] = deque()
        self.number = 0
        self._others: tuple[int, ...] = ()
        self._clocks_then: Any = None
        self._seen = -1
        self._values = w.cta.cluster.values
        self._whole = w.warp_id // WARPGROUP_WARPS * WARPGROUP_WARPS + WARPGROUP_WARPS <= len(w.cta.warps)

    @property
    def issues(self) -> bool:
        """Return whether the warp has issued uncommitted MMAs."""
        return bool(self._open)

    def fence(self) -> None:
        """Execute wgmma.fence."""
        self._warp.register_fences += 1

    def issue(
        self, d: Registers, product: WgmmaProduct, a: Registers | None = None, e: Registers | None = None
    ) -> None:
        """Execute wgmma.mma_async."""
        w = self._warp
        if not self._whole:
            raise Fault(WarpgroupTooSmall(w.origin, len(w.cta.warps)))
        issued = Issued(w, d, product, a)
        words = product.registers
        if not self._values.apply(self._lend, issued, d, a, e):
            d.check_inside(words)
            if a is not None:
                a.check_inside(FRAGMENT_REGISTERS)
        fences = w.register_fences
        if fences == 0 or d.array.touched == fences:
            w.gpu.facts.record(MissingWgmmaFence(w.origin, d.array.name, fences == 0))
        elif a is not None and a.array.touched == fences:
            w.gpu.facts.record(MissingWgmmaFence(w.origin, a.array.name, False))
        if not self._open:
            self._begun = w.time
        self._open.append(issued)

    def _lend(self, issued: Issued, d: Registers, a: Registers | None, e: Registers | None) -> None:
        """Lend the registers of an MMA to the tensor core, besides the metadata, which it reads at once."""
        words, span = issued.product.registers, self._warp.span
        if issued.product.accumulate:
            d.check_defined(words)
        issued.clocks = self._clocks()
        issued.flight = d.lend(words, span)
        if a is not None:
            a.check_defined(FRAGMENT_REGISTERS)
            issued.fragment = a.values(FRAGMENT_REGISTERS)
            issued.source_flight = a.lend(FRAGMENT_REGISTERS, span)
        if e is not None:
            e.check_defined(1)
            issued.metadata = e.values(1)[0]

    def again(self, key: Hashable, arrays: tuple[RegisterArray, ...]) -> bool:
        """Issue a memoised series of MMAs at once; without an entry, let `learn` record the next ones.

        arrays: of its accumulators. key: the location in the program, and all inputs of the operands. With data, MMAs
        that take A from registers are never memoised.
        """
        w = self._warp
        self._learning = None
        if w.gpu.recorder is not None or self._open or w.mask is not w.all_lanes or not self._whole:
            return False
        series = self._known.get(key)
        if series is None:
            self._learning = key, w.time, arrays
            return False
        if self._values.of(_is_sourced, series):
            return False
        fences = w.register_fences
        if fences == 0:
            return False
        for array in arrays:
            if array.touched == fences:
                return False
        self._begun = w.time + series.first
        self._open.extend(self._values.of(self._own, series, arrays) or series.mmas)
        self._series = series
        w.time += series.cycles
        w.span = series.span
        return True

    def learn(self) -> None:
        """Memoise the MMAs that were issued since `again` as a series."""
        if self._learning is not None:
            w, (key, time, arrays) = self._warp, self._learning
            places = tuple((arrays.index(mma.registers.array), mma.index) for mma in self._open)
            series = Series(tuple(self._open), places, self._begun - time, w.time - time, w.span)
            self._known[key] = series
            self._series = None if self._values.of(_is_sourced, series) is not None else series

    def _mine_of(self, series: Series) -> tuple[Issued, ...]:
        return self._mine[id(series)][1]

    def _own(self, series: Series, arrays: tuple[RegisterArray, ...]) -> tuple[Issued, ...]:
        """Return the MMAs of a series with the accumulators of this warp."""
        found = self._mine.get(id(series))
        if found is None or any(mine is not array for mine, array in zip(found[0], arrays, strict=True)):
            registers = (Registers(self._warp, arrays[number], index) for number, index in series.places)
            pairs = zip(series.mmas, registers, strict=True)
            mmas = tuple(Issued(self._warp, mine, mma.product, span=mma.span) for mma, mine in pairs)
            found = self._mine[id(series)] = arrays, mmas
        return found[1]

    def _clocks(self) -> Any:
        """Return the warp's current clocks, cached until they change."""
        agent = self._warp.agent
        clocks = self._clocks_then
        if clocks is None or self._seen != agent.version:
            clocks = self._clocks_then = agent.clocks.copy()
            self._seen = agent.version
        return clocks

    def commit(self) -> None:
        """Execute wgmma.commit_group."""
        series, self._series = self._series, None
        if series is None or len(series.mmas) != len(self._open):
            issued, series = tuple(self._open), None
        else:
            issued = self._values.of(self._mine_of, series) or series.mmas
        self._open = []
        self._committed.append((self.number, issued))
        self.warpgroup.committed(self._warp, self.number, issued, self._begun, series, self._others)
        self.number += 1

    def wait(self, count: int) -> Blocking:
        """Execute wgmma.wait_group: block until at most `count` groups of the warp are pending."""
        self._leave(count)
        return self._block(count) if len(self._committed) > count else ()

    def _block(self, count: int) -> Blocking:
        w = self._warp
        while len(self._committed) > count:
            group = self.warpgroup.groups[self._committed[0][0]]
            self.warpgroup.waiters[w.warp_id] = w
            missing = WARPGROUP_WARPS - len(group.parts)
            yield WgmmaWait(w, w.time, w.span, self.warpgroup.name, missing, WARPGROUP_WARPS)
            self._leave(count)

    def _leave(self, count: int) -> None:
        """Retire the warp's completed groups, except its last `count`."""
        w, committed, groups = self._warp, self._committed, self.warpgroup.groups
        while len(committed) > count:
            number, issued = committed[0]
            group = groups[number]
            if not group.done:
                return
            if group.done_at > w.time:
                w.time = group.done_at
            self._values.apply(self._acquire, group, issued)
            committed.popleft()

    def _acquire(self, group: Group, issued: Sequence[Issued]) -> None:
        """Acquire a completed group, and return the registers of its MMAs to the warp."""
        agent = self._warp.agent
        agent.acquire_epoch(self.warpgroup.agent.index, group.epoch)
        for part in group.parts.values():  # it could only be done once all four warps had issued it
            if part:
                agent.acquire_past(part[-1].clocks)
        for mma in issued:
            mma.give_back()

    def represent(self, others: Sequence[Warp]) -> None:
        """Let the warp issue and commit for some others as well, in a run without data."""
        self._others = tuple(each.warp_id % WARPGROUP_WARPS for each in others)

    def follow(self, leader: WarpWgmma) -> None:
        """Replicate the issues, commits and waits of another warp."""
        groups, mine = self.warpgroup.groups, self._warp.warp_id % WARPGROUP_WARPS
        self.number = leader.number
        self._committed = deque((number, groups[number].parts[mine]) for number, _ in leader._committed)
        self._warp.register_fences = leader._warp.register_fences

    def exited(self) -> None:
        """Record the MMAs that an ended warp has not waited for."""
        left = [mma for _, issued in self._committed for mma in issued] + self._open
        if left:
            w = self._warp
            w.gpu.facts.record(WgmmaAtExit(Origin(w.role, w.place, w.cta.name, left[0].span)))


def _is_sourced(series: Series) -> bool:
    return series.sourced


def _alike(first: Sequence[Issued], other: Sequence[Issued]) -> bool:
    """Return whether two warps have issued the same MMAs."""
    return [(mma.index, mma.product) for mma in first] == [(mma.index, mma.product) for mma in other]
