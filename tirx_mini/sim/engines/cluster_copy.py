"""cp.async.bulk between the shared memories of a cluster: bytes of a CTA's own come to another CTA's, asynchronously.

The copy reads its source and writes its destination when it completes, through the async proxy, and then completes its
bytes on a barrier of the CTA that received them. No time of it has been measured: it passes through both shared
memories at their bandwidth, and takes as long as an access to another CTA's shared memory besides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tirx_mini.hardware import TMA_GLOBAL_ALIGN
from tirx_mini.ir import Span

from ..facts import Fault, Origin
from ..machine import Cta, Gpu, Mbarrier, Warp
from ..ordering import Actor, Agent, Operation, Proxy
from .tma_rules import BadBulkSize, BoxOutOfSharedMemory, BulkCopyAtExit


@dataclass(eq=False)
class ClusterCopy:
    """A copy in flight. cta: that issued it, from whose byte `source` on `nbytes` come to byte `target` of the CTA of
    the barrier. issued: in cycles. epoch: of its agent."""

    cta: Cta
    agent: Agent
    source: int
    target: int
    nbytes: int
    barrier: Mbarrier
    role: str
    span: Span | None
    issued: float
    epoch: int

    @property
    def cluster_index(self) -> int:
        return self.cta.cluster.index

    @property
    def event(self) -> str:
        return f"the bulk copy of {self.role} at {f'line {self.span.user.line}' if self.span else 'its start'}"

    def delay(self, now: float) -> None:
        """It has no time of its own."""


class ClusterCopies:
    """The copies of all CTAs. in flight: by the CTAs whose shared memory they read or write."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self._in_flight: dict[Cta, list[ClusterCopy]] = {}

    def copy(self, w: Warp, source: int, target: int, nbytes: int, barrier: Mbarrier) -> None:
        """Begin a copy to the CTA of the barrier. Raises a fault where sizes or places are not multiples of 16, or
        where the bytes are not in shared memory."""
        for what, number in (("size", nbytes), ("source address", source), ("destination address", target)):
            if number % TMA_GLOBAL_ALIGN:
                raise Fault(BadBulkSize(w.origin, what, number))
        for offset in (source, target):
            if offset + nbytes > w.cta.smem.size:
                raise Fault(BoxOutOfSharedMemory(w.origin, nbytes, offset, w.cta.smem.size))
        agent = w.cta.cluster.causality.fork(w.agent, "bulk copy")
        made = ClusterCopy(
            w.cta, agent, source, target, nbytes, barrier, w.place, w.span, w.time, agent.epoch
        )
        if w.cta.cluster.checked:
            for cta in {w.cta, barrier.cta}:
                self._in_flight.setdefault(cta, []).append(made)
        self.gpu.clock.at(w.time, made, self._start, made)

    def _start(self, copy: ClusterCopy) -> None:
        gpu, now = self.gpu, self.gpu.clock.now
        sides = {copy.cta, copy.barrier.cta}
        moved = max(gpu.traffic.shared(cta.sm.traffic, now, copy.nbytes) for cta in sides)
        gpu.clock.at(moved + gpu.traffic.jitter(gpu.spec.remote_latency), copy, self._land, copy)

    def _land(self, copy: ClusterCopy) -> None:
        target = copy.barrier.cta
        if copy.cta.cluster.data and copy.cta.alive and target.alive:
            self._move(copy, target)
        if target.alive and copy.barrier.expected:
            now = self.gpu.clock.now
            copy.barrier.complete_tx(copy.cta, copy.agent, copy.nbytes, now, copy.role, copy.span)
        copy.cta.cluster.causality.finish(copy.agent)

    @staticmethod
    def _move(copy: ClusterCopy, target: Cta) -> None:
        domain = copy.cta.cluster.domain
        actor = Actor(copy.agent, domain, Proxy.ASYNC, Operation.BULK_COPY, copy.role, copy.span, copy.issued)
        size = TMA_GLOBAL_ALIGN
        first, begin, count = copy.source // size, copy.target // size, copy.nbytes // size
        copy.cta.smem.shadow.read(copy.source, copy.source + copy.nbytes, actor)
        chunks = copy.cta.smem.view(size)[first : first + count].copy()
        target.smem.shadow.write(copy.target, copy.target + copy.nbytes, actor)
        target.smem.view(size)[begin : begin + count] = chunks

    def cta_ended(self, cta: Cta, ordered: np.ndarray) -> None:
        """Record copies that may still read or write the shared memory of a CTA that ends. ordered: epochs before."""
        for copy in self._in_flight.pop(cta, ()):
            if ordered[copy.agent.index] >= copy.epoch:
                continue
            origin = Origin(copy.role, copy.role, cta.name, copy.span)
            self.gpu.facts.record(BulkCopyAtExit(origin, cta is copy.barrier.cta))
