"""The modelled GPU: its engines, the scheduling of clusters on its SMs, and the main loop of a run."""

from __future__ import annotations

import random
import weakref
from collections.abc import Hashable, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from tirx_mini.hardware import GpuSpec

from .budget import Budget, check_budget
from .classes import Classes, NoDoubts, NoFacts
from .doubts import Doubts, Ends, OpenOrder, Tests
from .engines import (
    ClusterCopies,
    CpAsync,
    LaunchControl,
    Leaders,
    NoRepresentatives,
    Representatives,
    ScopedAccesses,
    TensorCores,
    TmaEngine,
    TmemAccesses,
    TmemAllocators,
    UnreadColumns,
    WgmmaEngines,
)
from .facts import Entry, Fact, FactLog, Fault, Origin
from .hazards import HazardWatch, Space
from .launch import GridNotResident, check_launch, lost_share, needs, resident_clusters
from .machine import (
    LANES,
    NO_ORDER,
    NO_VALUES,
    BarrierEvent,
    Element,
    FreshWait,
    GlobalMemory,
    GridBarrier,
    KernelImage,
    LateWaits,
    Locator,
    Mbarrier,
    Multiprocessor,
    NoTime,
    Order,
    PartMbarrier,
    RepeatedWait,
    ResidentCluster,
    ResidentCta,
    RunningWarp,
    Time,
    UncheckedMbarrier,
    Values,
    cta_name,
)
from .ordering import Epochs, UncheckedCausality, causality
from .outcome import Outcome, Standing
from .recording import RecordedMbarrier, RecordedWarp, TimelineRecorder
from .services import Services
from .setup import DEFAULT_SETUP, Setup
from .stillness import NobodyWrites, Stillness, never_starts
from .timing import Clock, Traffic, Untimed


class Gpu(Services):
    """One launch of a kernel on a modelled GPU.

    As a context manager, it is closed on exit.

    arrays: the global buffers by slot; written in place.
    """

    def __init__(
        self, image: KernelImage, arrays: Sequence[np.ndarray], spec: GpuSpec, setup: Setup = DEFAULT_SETUP
    ) -> None:
        part, share, seed, probe = setup.part, setup.share, setup.seed, setup.probe
        equal, trace, pedantic = setup.equal, setup.trace, setup.pedantic
        self.functions = setup.functions
        self.mixed: Ends = setup.mixed
        self.recorder = TimelineRecorder(image) if trace else None
        self.image = self.recorder.image if self.recorder else image
        self.warp_type = RecordedWarp if trace else RunningWarp
        self.budget = Budget(setup.budget, image.launch.num_ctas)
        self.spend = self.budget.spend
        self.spec = spec
        self._values = setup.values
        self._order = setup.values.of(_same, setup.order) or NO_ORDER
        self._time = setup.time
        checked = RecordedMbarrier if trace else Mbarrier
        unchecked = RecordedMbarrier if trace else PartMbarrier if part is not None or equal else UncheckedMbarrier
        self._checked_mbarrier, self.unchecked_mbarrier = checked, unchecked
        self._share = share
        warps = image.launch.num_ctas * image.launch.warps
        self.causality = self._order.of(causality, warps) if image.grid_wide else None
        self.footprints: dict[Hashable, Any] = {}
        self.pedantic = pedantic
        self.rng = None if seed is None else random.Random(seed)
        self.clock = setup.clock or Clock(self.rng)
        self.stillness = Stillness(self.clock)
        self.probe = probe
        if probe is not None:
            probe.clock = self.clock
        self.facts = NoFacts() if equal else FactLog()
        self.doubts = NoDoubts() if equal else Doubts()
        self.tests = Tests(setup.late)
        self.late_waits = LateWaits()
        self.locator = Locator(image.shared)
        self.allocators = TmemAllocators()
        self.tmem = TmemAccesses(self.allocators)
        watch = self._order.of(HazardWatch, self, self.tmem, Space.GLOBAL, None)
        self.memory = GlobalMemory(image.globals, arrays, watch)
        self.memory.log.pedantic = self.memory.log.letter = pedantic
        lost = 1.0 if setup.cold else lost_share(image, spec)
        untimed = isinstance(setup.time, NoTime)
        self.traffic = (Untimed if untimed else Traffic)(spec, self.clock, self.rng, lost)
        self.tma = TmaEngine(self, setup.strips)
        self.tensor = TensorCores(self)
        self.wgmma = WgmmaEngines(self)
        self.leaders = Leaders(self.wgmma)
        self.representatives = (Representatives if equal and seed is None else NoRepresentatives)(self.wgmma)
        self.cp_async_groups = CpAsync()
        self.scoped = ScopedAccesses(self)
        self.launches = LaunchControl(self)
        self.cluster_copies = ClusterCopies(self)
        self.grid_barrier = GridBarrier(self.causality or UncheckedCausality(), warps * LANES)
        self.barrier_log: list[BarrierEvent] | None = [] if setup.log_barriers else None
        self.repeats: dict[Hashable, RepeatedWait] = {}
        self.fresh_waits: dict[Hashable, tuple[Origin, Element, int]] = {}
        self.unread: dict[Hashable, UnreadColumns] = {}
        self.sms = [Multiprocessor(index, spec, self.clock) for index in range(spec.sms)]
        self.clusters: list[ResidentCluster] = []
        self._placed: weakref.WeakSet[ResidentCluster] = weakref.WeakSet()
        self.stats: dict[str, float] = {}
        self.end = 0.0
        size = image.launch.cluster_size
        self._groups = [self.sms[i : i + size] for i in range(0, spec.sms - size + 1, size)]
        if self.rng:
            self.rng.shuffle(self._groups)
        self._waiting: Sequence[int] = range(image.launch.num_ctas // size)
        if part is not None:
            self._waiting = part.clusters
            self.traffic.cached.weight = part.weight
        checked = self._waiting if share is None else share.clusters
        self.classes = Classes(() if untimed else checked) if equal else None

    def __enter__(self) -> Gpu:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Release the machine; its outcome's facts and blocked warps are invalid afterwards.

        The parts refer to one another, and the garbage collector would not free them: it ignores objects that existed
        before a run (`process.running`).
        """
        for cluster in self._placed:
            cluster.close()
        self.tma.close()
        self.wgmma.close()
        self.allocators.close()
        self.clock.clear()
        vars(self).clear()

    # -- running -------------------------------------------------------------------------------------------------

    def run(self) -> Outcome:
        """Execute the kernel to its end, to a fault, or until nothing can advance."""
        fault: Fact | None = None
        try:
            check_launch(self.image, self.spec)
            self._check_residency()
            check_budget(self.image, self.spec, self.budget)
            self._advance()
        except Fault as stop:
            fault = stop.fact
        blocked = () if fault else tuple(w for c in self.clusters for cta in c.ctas for w in cta.warps if not w.done)
        if fault is None and not blocked:
            self.late_waits.judge(self.facts)
            self.scoped.older.check()
        facts = (*self.facts, *((Entry(fault),) if fault else ()))
        stats = {**self.stats, **self.traffic.figures()}
        repeats = tuple(self.repeats.values())
        open_orders = self._order.of(_all, self.doubts)
        mixed = self.doubts.mixed
        live = [warp for cluster in self.clusters for cta in cluster.ctas for warp in cta.warps if not warp.done]
        now = max([self.clock.now, *(warp.time for warp in live)]) if live else self.end
        trace = self.recorder.timeline(live, now, stuck=bool(blocked)) if self.recorder else None
        return Outcome(
            self.end, facts, fault, blocked, stats, trace, self.barrier_log, repeats,
            tuple(FreshWait(*wait) for wait in self.fresh_waits.values()), open_orders, mixed, self.tests.found,
        )

    def _advance(self) -> None:
        """Start the clusters, and process events until none is pending."""
        self._fill(0.0)
        self.clock.run()

    def standing(self) -> Standing:
        """Return the progress of the run, which may be read at any time."""
        budget, ctas, stats = self.budget, self.image.launch.num_ctas, self.stats

        def share(flops: float) -> float:
            multiplied = stats.get("flops", 0.0) / flops if flops else 0.0
            return max(budget.ended / ctas, multiplied)

        return Standing(share)

    def _check_residency(self) -> None:
        """Raise a fault if a grid that synchronises does not fit on the GPU."""
        launch = self.image.launch
        most = resident_clusters(self.image, self.spec) * launch.cluster_size
        if launch.num_ctas > most and any(entry.grid_wide for entry in self.image.instructions.values()):
            origin = Origin("", "", "", self.image.span)
            raise Fault(GridNotResident(origin, launch.num_ctas, most, self.spec.name))

    def wake(self, warp: RunningWarp, time: float) -> None:
        """Resume a blocked warp at `time`."""
        if warp.divergent and (warp.woken or warp.waiting is None):
            return  # it runs, or is about to, and looks at the waits of all its lanes
        warp.woken = True
        if time > warp.time:
            warp.time = time
        self.clock.at(warp.time, warp, warp.resume)

    def looks(self, warp: RunningWarp) -> None:
        """Register a poll by a warp in a steady loop. Raises `Fault` if nothing but such polls will ever happen."""
        if self.stillness.looked(warp):
            if not self._waiting:
                raise Fault(NobodyWrites(warp.origin, self.stillness.warps))
            first, launch = self.origin_of(self._waiting[0]), self.image.launch
            waiting, resident = (len(each) * launch.cluster_size for each in (self._waiting, self.clusters))
            raise never_starts(warp, cta_name(first, launch.grid), waiting, resident)

    def lasts(self, time: float) -> None:
        """Extend the kernel's duration to `time`, at which a warp ends or a store arrives."""
        if time > self.end:
            self.end = time

    def count(self, name: str, amount: float) -> None:
        """Add to a figure of the statistics."""
        self.stats[name] = self.stats.get(name, 0.0) + amount

    # -- requests of CTAs -----------------------------------------------------------------------------------------

    def values_of(self, number: int) -> Values:
        """Return the `Values` collaborator of a cluster."""
        return self._values if self._share is None or number in self._share.clusters else NO_VALUES

    def order_of(self, number: int) -> Order:
        """Return the `Order` collaborator of a cluster; in a launch of equal clusters, only some record accesses."""
        recorded = self.classes is None or self.classes.checks(number)
        return (self.values_of(number).of(_same, self._order) if recorded else None) or NO_ORDER

    def engine_time(self) -> Time:
        """Return the `Time` collaborator of engines whose accesses are not recorded."""
        return self._time

    def image_of(self, number: int) -> KernelImage:
        """Return the kernel image that a cluster executes."""
        return self.image if self._share is None or number in self._share.clusters else self._share.bare

    def checked_mbarrier(self) -> type[Mbarrier]:
        """Return the mbarrier class of clusters whose accesses are recorded."""
        return self._checked_mbarrier

    def watch_shared(self, cta: ResidentCta) -> HazardWatch:
        """Return the recorder of conflicts in the shared memory of a CTA."""
        return HazardWatch(self, self.tmem, Space.SHARED, cta)

    def watch_tensor(self, cta: ResidentCta) -> HazardWatch:
        """Return the recorder of conflicts in the tensor memory of a CTA."""
        return HazardWatch(self, self.tmem, Space.TENSOR, cta)

    def warp_ended(self, warp: RunningWarp) -> None:
        """Let the engines check and drop the state of an ended warp."""
        self.wgmma.warp_ended(warp)
        self.tensor.forget(warp)
        self.cp_async_groups.warp_ended(warp)
        self.scoped.warp_ended(warp)

    def cta_ended(self, cta: ResidentCta, ordered: Epochs) -> None:
        """Let the engines check and drop the state of an ended CTA. ordered: the epochs before its end, by agent."""
        self.tma.cta_ended(cta, ordered)
        self.cluster_copies.cta_ended(cta, ordered)
        self.allocators.cta_ended(cta)
        self.tmem.cta_ended(cta)
        self.tensor.cta_ended(cta)
        self.wgmma.cta_ended(cta)
        self.leaders.cta_ended(cta)
        self.launches.cta_ended(cta)

    # -- placement -----------------------------------------------------------------------------------------------

    def _fill(self, time: float) -> None:
        """Start waiting clusters breadth-first over the groups of SMs, as long as there is room."""
        placed = True
        while self._waiting and placed:
            placed = False
            for group in self._groups:
                if self._waiting and self._fits(group):
                    self._start(group, time)
                    placed = True

    def _fits(self, group: list[Multiprocessor]) -> bool:
        smem, threads, registers = needs(self.image, self.spec)
        return all(
            sm.smem_room >= smem and sm.threads_free >= threads and sm.registers_free >= registers and sm.ctas_free >= 1
            for sm in group
        )

    def _take(self, group: Sequence[Multiprocessor], sign: int) -> None:
        smem, threads, registers = needs(self.image, self.spec)
        for sm in group:
            sm.smem_room -= sign * smem
            sm.threads_free -= sign * threads
            sm.registers_free -= sign * registers
            sm.ctas_free -= sign

    def _start(self, group: list[Multiprocessor], time: float) -> None:
        number, self._waiting = self._waiting[0], self._waiting[1:]
        self._place(ResidentCluster(self, number), group, time)

    def _place(self, cluster: ResidentCluster, group: Sequence[Multiprocessor], time: float) -> None:
        """Start a cluster on a group of SMs."""
        launch = self.image.launch
        self._take(group, 1)
        self.budget.begin(len(group) * max(1, cluster.width))
        self._placed.add(cluster)
        cluster.log.pedantic, cluster.log.letter = True, self.pedantic
        origin = self.origin_of(cluster.index)
        for rank, sm in enumerate(group):
            inner = _unflatten(rank, launch.cluster)
            x, y, z = (o + i for o, i in zip(origin, inner, strict=True))
            cluster.ctas.append(ResidentCta(self, cluster, sm, (x, y, z), inner, rank))
        cluster.live_ctas = len(group)
        cluster.live_warps = len(group) * launch.warps
        self.clusters.append(cluster)
        for cta in cluster.ctas:
            cta.start(time)

    def take_cluster(self) -> tuple[int, int, int] | None:
        """Cancel the launch of the next cluster, and return the blockIdx of its first CTA; None if none is left."""
        if not self._waiting:
            return None
        number, self._waiting = self._waiting[0], self._waiting[1:]
        self.budget.ended += self.image.launch.cluster_size
        x, y, z = self.origin_of(number)
        return x, y, z

    def origin_of(self, number: int) -> tuple[int, ...]:
        """Return the blockIdx of the first CTA of a cluster."""
        launch = self.image.launch
        shape = tuple(g // c for g, c in zip(launch.grid, launch.cluster, strict=True))
        return tuple(i * c for i, c in zip(_unflatten(number, shape), launch.cluster, strict=True))

    def retire(self, cluster: ResidentCluster, time: float) -> None:
        """Release the SMs of an ended cluster and start the next one."""
        group = [cta.sm for cta in cluster.ctas]
        self._take(group, -1)
        self.budget.ended += len(group)
        self.clusters.remove(cluster)
        if self.classes is not None:
            cluster.values.apply(self.classes.ended, cluster)
        while self._waiting and self._fits(group):
            self._start(group, time + self.spec.cta_launch_latency)


def _unflatten(number: int, shape: Sequence[int]) -> tuple[int, int, int]:
    """Return the coordinates of a linear index, x fastest."""
    x, rest = number % shape[0], number // shape[0]
    return x, rest % shape[1], rest // shape[1]


def _same(order: Order) -> Order:
    return order


def _all(doubts: Doubts) -> tuple[OpenOrder, ...]:
    return doubts.all
