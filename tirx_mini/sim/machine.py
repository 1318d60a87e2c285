"""The modelled GPU: multiprocessors, clusters and CTAs that come and go, and the run that drives them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tirx_mini.hardware import GpuSpec

from .bandwidth import Bandwidth
from .barriers import ClusterBarrier, Mbarrier, NamedBarriers, Wait
from .causality import Causality, NoCausality
from .clock import Clock
from .ending import check_end
from .fair_share import FairShare, Flow
from .faults import Fault, Findings
from .findings import Finding
from .griddepcontrol import GridBefore
from .hazards import HazardReporter
from .image import KernelImage
from .memory import GlobalMemory, Locator, SharedMemory, TensorMemory
from .register_pool import RegisterPool
from .services import Services
from .shadow import AccessLog
from .tensor_core import TensorCores
from .tma import Incoming, TmaEngine
from .tmem import TmemAllocator, TmemColumns
from .traffic import Traffic
from .warp import Warp

MOST_CTAS = (2**31 - 1, 65_535, 65_535)
"""The largest grid, in x, y and z."""


@dataclass
class Outcome:
    """What a run left behind.

    cycles: of the SM clock, from launch to the end of the last warp. fault: what stopped the run, if something did.
    blocked: warps that wait for ever, in order of CTA; each has its `waiting`. findings: in the order they were found,
    the fault last. stats: figures by name. trace: (track, name, start, end, span) in cycles, where asked for.
    """

    cycles: float
    findings: tuple[Finding, ...]
    fault: Finding | None
    blocked: tuple[Warp, ...]
    stats: dict[str, float]
    trace: list[tuple[Any, ...]] | None = None
    barrier_log: list[tuple[Any, ...]] | None = None
    extra: dict[str, Any] = field(default_factory=dict)


class Sm:
    """A streaming multiprocessor: what its resident CTAs share."""

    def __init__(self, index: int, spec: GpuSpec, clock: Clock) -> None:
        self.index = index
        self.smem_room = spec.smem_per_sm
        self.threads_free = spec.threads_per_sm
        self.registers_free = spec.registers_per_sm
        self.ctas_free = spec.ctas_per_sm
        self.tmem = TmemColumns()
        self.port = Bandwidth(spec.port_bytes_per_cycle)
        self.shared = Bandwidth(spec.smem_bytes_per_cycle)
        self.accesses = Bandwidth(spec.smem_bytes_per_cycle)
        self.loads = Flow()
        self.tensor = FairShare(clock, rate=1.0, most=1.0)
        self.tensor_free = 0.0
        self.stores_free = 0.0


class Cta:
    """A resident CTA. rank: its %cluster_ctarank; name: its blockIdx, as in "CTA (3, 0, 0)"."""

    def __init__(
        self,
        gpu: Gpu,
        cluster: Cluster,
        sm: Sm,
        block_idx: tuple[int, int, int],
        cluster_ctaid: tuple[int, int, int],
        rank: int,
    ) -> None:
        self.gpu = gpu
        self.cluster = cluster
        self.sm = sm
        self.block_idx = block_idx
        self.cluster_ctaid = cluster_ctaid
        self.rank = rank
        grid = gpu.image.launch.grid
        used = max((axis + 1 for axis in range(3) if grid[axis] > 1), default=1)
        self.name = f"CTA {block_idx[0]}" if used == 1 else f"CTA ({', '.join(map(str, block_idx[:used]))})"
        hazards = HazardReporter(gpu, self)
        shared, tensor = (hazards.shared, hazards.tensor) if gpu.checks else (None, None)
        self.smem = SharedMemory(gpu.image.launch.smem_bytes, gpu.image.shared, cluster.log, shared)
        self.tmem = TensorMemory(cluster.tmem_log, tensor)
        self.allocator = TmemAllocator(self)
        self.mbarriers: dict[int, Mbarrier] = {}
        self.inits: list[Mbarrier] = []
        self.incoming: dict[int, Incoming] = {}
        self.named = NamedBarriers(self)
        self.registers = RegisterPool(self)
        self.warps: list[Warp] = []
        self.exited = 0
        self.alive = True

    def start(self, time: float) -> None:
        """Create the warps and let them run from `time` on."""
        causality = self.cluster.causality
        for warp_id in range(self.gpu.image.launch.warps):
            self.warps.append(Warp(self, warp_id, causality.agent(f"{self.name} warp {warp_id}"), time))
        for warp in self.warps:
            self.gpu.clock.at(time, warp.resume)

    def mbarrier(self, offset: int) -> Mbarrier:
        """The mbarrier at a byte of shared memory, initialised or not."""
        barrier = self.mbarriers.get(offset)
        if barrier is None:
            barrier = self.mbarriers[offset] = Mbarrier(self, offset, self.gpu.locator.name(offset))
            segment = self.smem.shadow.segment(offset)
            if segment is not None:
                segment.barriers = True
        return barrier

    def stored_over_barrier(self, w: Warp, buffer: Any, index: Any, width: int) -> None:
        """Record a plain store onto an mbarrier."""
        first = buffer.byte_offset + index * buffer.dtype.itemsize
        for offset, barrier in self.mbarriers.items():
            if barrier.expected and np.any((first < offset + 8) & (first + width > offset)):
                w.report(
                    "barrier-misuse",
                    "error",
                    f"an ordinary store overwrites {barrier.name}, which is an mbarrier",
                    other=barrier.init_span,
                    barrier=barrier.name,
                    rule="PTX ISA: mbarrier",
                    notes=(("it was initialised here", barrier.init_span),),
                )

    def warp_exited(self, warp: Warp) -> None:
        """A warp has ended; with the last one the CTA ends."""
        self.exited += 1
        self.gpu.lasts(warp.time)
        self.named.warp_exited()
        self.cluster.warp_exited()
        if self.exited == len(self.warps):
            self.alive = False
            check_end(self)
            self.allocator.release()
            self.cluster.cta_exited(warp.time)


class Cluster:
    """CTAs that are launched together and may reach each other's shared memory."""

    def __init__(self, gpu: Gpu, index: int) -> None:
        self.gpu = gpu
        self.index = index
        self.causality = Causality() if gpu.checks else NoCausality()
        early = gpu.checks and gpu.image.launch.programmatic
        self.before = GridBefore(self.causality.agent("the grid before")) if early else None
        self.log = AccessLog()
        self.tmem_log = AccessLog()
        self.ctas: list[Cta] = []
        self.barrier = ClusterBarrier(self, self.causality)
        self.live_warps = 0
        self.live_ctas = 0

    def warp_exited(self) -> None:
        self.live_warps -= 1
        self.barrier.check()

    def cta_exited(self, time: float) -> None:
        self.live_ctas -= 1
        if self.live_ctas == 0:
            self.gpu.retire(self, time)


class Gpu(Services):
    """One launch of a kernel on a modelled GPU.

    arrays: the global buffers by slot; written in place. seed: None for the deterministic schedule, else randomises
    the order of simultaneous events, engine latencies and the placement of CTAs.
    clock: what orders the events, by default their times.
    trace, log_barriers: whether to keep a timeline and every change of every mbarrier.
    checks: whether to look for accesses that nothing orders, and for those of memory that nothing has written.
    """

    def __init__(
        self,
        image: KernelImage,
        arrays: Sequence[np.ndarray],
        spec: GpuSpec,
        *,
        seed: int | None = None,
        trace: bool = False,
        log_barriers: bool = False,
        clock: Clock | None = None,
        checks: bool = True,
    ) -> None:
        self.image = image
        self.spec = spec
        self.checks = checks
        self.rng = None if seed is None else random.Random(seed)
        self.clock = clock or Clock(self.rng)
        self.findings = Findings()
        self.memory = GlobalMemory(image.globals, arrays, HazardReporter(self, None).global_ if checks else None)
        self.locator = Locator(image.shared)
        self.traffic = Traffic(spec, self.clock, self.rng, sum(buffer.nbytes for buffer in image.globals))
        self.tma = TmaEngine(self)
        self.tensor = TensorCores(self)
        self.trace: list[tuple[Any, ...]] | None = [] if trace else None
        self.barrier_log: list[tuple[Any, ...]] | None = [] if log_barriers else None
        self.sms = [Sm(index, spec, self.clock) for index in range(spec.sms)]
        self.clusters: list[Cluster] = []
        self.stats: dict[str, float] = {}
        self.end = 0.0
        size = image.launch.cluster_size
        self._groups = [self.sms[i : i + size] for i in range(0, spec.sms - size + 1, size)]
        if self.rng:
            self.rng.shuffle(self._groups)
        self._waiting = range(image.launch.num_ctas // size)

    # -- running -------------------------------------------------------------------------------------------------

    def run(self) -> Outcome:
        """Execute the kernel to its end, to a fault, or until nothing can advance."""
        fault: Finding | None = None
        try:
            self._check_launch()
            self._fill(0.0)
            self.clock.run()
        except Fault as stop:
            fault = stop.finding
        findings = (*self.findings, *((fault,) if fault else ()))
        blocked = () if fault else tuple(w for c in self.clusters for cta in c.ctas for w in cta.warps if not w.done)
        return Outcome(self.end, findings, fault, blocked, self._figures(), self.trace, self.barrier_log)

    def wake(self, warp: Warp, time: float) -> None:
        """Let a blocked warp run on from `time`."""
        if time > warp.time:
            if self.trace is not None and warp.waiting is not None:
                wait = warp.waiting
                self.trace.append((f"{warp.cta.name} {warp.role}", f"wait {wait.text}", wait.since, time, wait.span))
            warp.time = time
        self.clock.at(warp.time, warp.resume)

    def lasts(self, time: float) -> None:
        """The kernel is not over before `time`: a warp has ended, or a store arrives."""
        if time > self.end:
            self.end = time

    def count(self, name: str, amount: float) -> None:
        """Add to a figure of the statistics."""
        self.stats[name] = self.stats.get(name, 0.0) + amount

    def _figures(self) -> dict[str, float]:
        return {**self.stats, **self.traffic.figures()}

    # -- placement -----------------------------------------------------------------------------------------------

    def _check_launch(self) -> None:
        launch, spec = self.image.launch, self.spec
        if any(extent > most for extent, most in zip(launch.grid, MOST_CTAS, strict=True)):
            raise Fault(
                "launch-limit",
                f"a grid of {launch.grid} CTAs is larger than {MOST_CTAS}",
                self.image.span,
                rule="CUDA: technical specifications, dimensions of a grid",
            )
        for extent, size in zip(launch.grid, launch.cluster, strict=True):
            if extent % size:
                raise Fault(
                    "launch-limit",
                    f"a grid of {launch.grid} CTAs is not a multiple of the cluster {launch.cluster}",
                    self.image.span,
                    rule="CUDA: cluster launch",
                )
        if launch.threads > spec.threads_per_cta:
            raise Fault(
                "launch-limit",
                f"the CTA has {launch.threads} threads; {spec.name} allows {spec.threads_per_cta}",
                self.image.span,
            )
        if launch.cluster_size > spec.cluster_size:
            raise Fault(
                "launch-limit",
                f"the cluster has {launch.cluster_size} CTAs; {spec.name} allows {spec.cluster_size}",
                self.image.span,
            )
        if launch.smem_bytes > spec.smem_per_cta:
            raise self._too_much_shared_memory()
        if self.image.registers * launch.threads > spec.registers_per_sm:
            raise Fault(
                "register-limit",
                f"{launch.threads} threads of {self.image.registers} registers do not fit in the "
                f"{spec.registers_per_sm} of an SM",
                self.image.span,
            )

    def _too_much_shared_memory(self) -> Fault:
        launch, limit = self.image.launch, self.spec.smem_per_cta
        over = [b for b in self.image.shared if b.end > limit]
        culprit = min(over, key=lambda b: b.byte_offset, default=None)
        notes = tuple((f"{b.name} takes {b.nbytes} bytes", b.span) for b in self.image.shared if b.nbytes >= 1024)
        which = f"; {culprit.name} ends at byte {culprit.end}" if culprit else ""
        return Fault(
            "shared-memory-limit",
            f"the kernel needs {launch.smem_bytes} bytes of shared memory, and a CTA can "
            f"have {limit} ({limit // 1024} KiB) on {self.spec.name}{which}",
            culprit.span if culprit else self.image.span,
            notes=notes,
            buffer=culprit.name if culprit else None,
            hint="use fewer stages or smaller tiles, or let buffers that are not needed at the same time overlap",
        )

    def _fill(self, time: float) -> None:
        """Start clusters wherever there is room, one on each group of SMs before a second one on any."""
        placed = True
        while self._waiting and placed:
            placed = False
            for group in self._groups:
                if self._waiting and self._fits(group):
                    self._start(group, time)
                    placed = True

    def _needs(self) -> tuple[int, int, int]:
        launch = self.image.launch
        threads = launch.warps * 32
        return launch.smem_bytes + self.spec.smem_reserved, threads, threads * self.image.registers

    def _fits(self, group: list[Sm]) -> bool:
        smem, threads, registers = self._needs()
        return all(
            sm.smem_room >= smem and sm.threads_free >= threads and sm.registers_free >= registers and sm.ctas_free >= 1
            for sm in group
        )

    def _take(self, group: Sequence[Sm], sign: int) -> None:
        smem, threads, registers = self._needs()
        for sm in group:
            sm.smem_room -= sign * smem
            sm.threads_free -= sign * threads
            sm.registers_free -= sign * registers
            sm.ctas_free -= sign

    def _start(self, group: list[Sm], time: float) -> None:
        launch = self.image.launch
        number, self._waiting = self._waiting[0], self._waiting[1:]
        self._take(group, 1)
        cluster = Cluster(self, number)
        shape = tuple(g // c for g, c in zip(launch.grid, launch.cluster, strict=True))
        origin = _unflatten(number, shape)
        for rank, sm in enumerate(group):
            inner = _unflatten(rank, launch.cluster)
            block = tuple(o * c + i for o, c, i in zip(origin, launch.cluster, inner, strict=True))
            cluster.ctas.append(Cta(self, cluster, sm, block, inner, rank))  # type: ignore[arg-type]
        cluster.live_ctas = len(group)
        cluster.live_warps = len(group) * launch.warps
        self.clusters.append(cluster)
        for cta in cluster.ctas:
            cta.start(time)

    def retire(self, cluster: Cluster, time: float) -> None:
        """A cluster has ended: its SMs take the next one."""
        group = [cta.sm for cta in cluster.ctas]
        self._take(group, -1)
        self.clusters.remove(cluster)
        while self._waiting and self._fits(group):
            self._start(group, time + self.spec.cta_launch_latency)


def _unflatten(number: int, shape: Sequence[int]) -> tuple[int, int, int]:
    """Coordinates of a number, x fastest."""
    x, rest = number % shape[0], number // shape[0]
    return x, rest % shape[1], rest // shape[1]


__all__ = ["Cluster", "Cta", "Gpu", "Outcome", "Sm", "Wait"]
