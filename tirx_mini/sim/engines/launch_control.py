"""Cluster launch control: pending clusters are cancelled, and the async proxy writes their index to shared memory. The
answer takes as long as an access to the far part of the L2.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tirx_mini.hardware import TMA_GLOBAL_ALIGN
from tirx_mini.ir import Span
from tirx_mini.records import dataclass

from ..facts import Fact, Fault
from ..machine import Cta, Gpu, Mbarrier, Signal, Warp
from ..ordering import Actor, Agent, Operation, Proxy
from .tma_rules import BoxOutOfSharedMemory, MisalignedBox

ANSWER_BYTES = 16


@dataclass(frozen=True)
class CancelAfterFailure(Fact):
    """A request for a further cluster after a failed one. seen: where the failure was read; role: the reading warp."""

    role: str
    seen: Span | None

    @property
    def other(self) -> Span | None:
        return self.seen


@dataclass(eq=False)
class Request:
    """A try_cancel in flight. barriers: of the CTAs that receive the answer. agents: of the bytes of each. offset: of
    the answer in shared memory.
    """

    cta: Cta
    agents: Sequence[Agent]
    offset: int
    barriers: tuple[Mbarrier, ...]
    role: str
    span: Span | None
    issued: float

    @property
    def cluster_index(self) -> int:
        return self.cta.cluster.index

    @property
    def event(self) -> str:
        return f"the try_cancel of {self.role} at {f'line {self.span.user.line}' if self.span else 'its start'}"

    def delay(self, now: float) -> None:
        """Do nothing: a request has no time of its own."""


class LaunchControl:
    """The launch-control requests of all CTAs."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self._failed: dict[Cta, tuple[str, Span | None]] = {}

    def failed(self, w: Warp) -> None:
        """Record that a warp has read a failed answer."""
        self._failed.setdefault(w.cta, (w.role, w.span))

    def cta_ended(self, cta: Cta) -> None:
        """Drop the failure record of a CTA."""
        self._failed.pop(cta, None)

    def ask(self, w: Warp, offset: int, barriers: Sequence[Mbarrier]) -> None:
        """Execute clusterlaunchcontrol.try_cancel: the answer goes to byte `offset` of the CTA of each barrier."""
        if w.cta in self._failed:
            self.gpu.facts.record(CancelAfterFailure(w.origin, *self._failed[w.cta]))
        if offset % TMA_GLOBAL_ALIGN:
            element = self.gpu.locator.element(offset)
            raise Fault(MisalignedBox(w.origin, False, element, offset, TMA_GLOBAL_ALIGN))
        if offset + ANSWER_BYTES > w.cta.smem.size:
            raise Fault(BoxOutOfSharedMemory(w.origin, ANSWER_BYTES, offset, w.cta.smem.size))
        agents = [w.cta.cluster.causality.fork(w.agent, "try_cancel") for _ in barriers]
        request = Request(w.cta, agents, offset, tuple(barriers), w.place, w.span, w.time)
        self.gpu.clock.at(w.time + self.gpu.spec.l2_far_latency, request, self._answer, request)

    def _answer(self, request: Request) -> None:
        """Take a pending cluster, if any, and write the answer."""
        first = self.gpu.take_cluster()
        words = np.array([*(first or (0, 0, 0)), first is not None], np.uint32)
        domain = request.cta.cluster.domain
        for barrier, agent in zip(request.barriers, request.agents, strict=True):
            if not barrier.cta.alive:
                continue
            actor = Actor(agent, domain, Proxy.ASYNC, Operation.TRY_CANCEL, request.role, request.span, request.issued)
            request.cta.cluster.values.apply(_write, barrier.cta, request.offset, words, actor)
            if barrier.expected:
                now = self.gpu.clock.now
                signal = Signal.TRY_CANCEL
                barrier.complete_tx(request.cta, agent, ANSWER_BYTES, now, signal, request.role, request.span)
        for agent in request.agents:
            request.cta.cluster.causality.finish(agent)


def _write(cta: Cta, offset: int, words: np.ndarray, actor: Actor) -> None:
    """Write an answer to the shared memory of a CTA."""
    cta.smem.shadow.write(offset, offset + ANSWER_BYTES, actor)
    cta.smem.view(4)[offset // 4 : offset // 4 + 4] = words
