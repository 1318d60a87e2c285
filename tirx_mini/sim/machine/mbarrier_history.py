"""The history of an mbarrier, kept to explain findings."""

from __future__ import annotations

from dataclasses import field

from tirx_mini.ir import Span
from tirx_mini.records import dataclass

from ..facts import Origin
from ..ordering import PROXY, Agent
from .barriers import Arrival, CompletedWait, RemoteSignal, Signal, WaitCount
from .interfaces import Warp
from .late_waits import Observers


@dataclass
class Init:
    """An execution of mbarrier.init. agent, epoch: of its thread, which is the lanes `word` of `warp`.

    fenced: the agent and epoch of its later fence.mbarrier_init. other_lane: whether only another lane executed one.
    fenced_memory: likewise for a fence at cluster scope or wider that releases everything the thread did.
    announced: the agent and epoch that represent the initialisation alone, if a relaxed arrival after
        fence.mbarrier_init has released it.
    """

    span: Span | None
    agent: int
    epoch: int
    warp: Warp | None = None
    word: int = 0
    fenced: tuple[int, int] | None = None
    other_lane: bool = False
    fenced_memory: tuple[int, int] | None = None
    announced: tuple[int, int] | None = None

    def fence_memory(self, w: Warp) -> None:
        """Record a fence of `w` at cluster scope or wider, which also releases the initialisation by the same
        threads."""
        if self.warp is w and self.fenced_memory is None and not self.word & ~w.mask.word:
            self.fenced_memory = (w.agent.index, w.agent.epoch)

    def announced_by(self, w: Warp) -> bool:
        """Return whether a relaxed arrival of `w` releases the initialisation after fence.mbarrier_init."""
        ready = self.warp is w and self.fenced is not None and self.announced is None
        return ready and not self.word & ~w.mask.word

    def is_fenced(self, agent: Agent, proxy: bool, inside: bool) -> bool:
        """Return whether a sufficient fence lies between the initialisation and a use by `agent`.

        proxy: whether an asynchronous operation must see it; for threads, a general memory fence suffices. inside:
        whether the barrier is in the CTA of the agent.
        """
        if self.announced is not None and agent.happens_after(*self.announced):
            return True
        if not proxy and self.fenced_memory is not None and agent.happens_after(*self.fenced_memory):
            return True
        if self.fenced is not None:
            itself = agent.index == self.agent  # it may have executed the fence with its warp
            if itself or agent.happens_after(*self.fenced):
                return True
        return inside and agent.clocks.item(PROXY, self.agent) >= self.epoch


@dataclass
class History:
    """The history of an mbarrier, from which findings are explained.

    arrivals: signals by kind, role and location. last: the latest of them.
    waits: the last completed wait of each role; wait_counts: the number of completed waits of each.
    observers: the waits that found the previous phase complete.
    remote: the last signal by each agent of another CTA, and by the commits of each thread. invalidated: the location
    of its last mbarrier.inval.
    overwritten: the origin and the operation of the last overwrite.
    failed: by role and parity, the first test that found the phase incomplete and was not repeated successfully.
    """

    arrivals: dict[tuple[int, Signal, str], Arrival] = field(default_factory=dict[tuple[int, Signal, str], Arrival])
    last: Arrival | None = None
    waits: dict[str, CompletedWait] = field(default_factory=dict[str, CompletedWait])
    wait_counts: dict[str, WaitCount] = field(default_factory=dict[str, WaitCount])
    observers: Observers = field(default_factory=Observers)
    remote: dict[int, RemoteSignal] = field(default_factory=dict[int, RemoteSignal])
    failed: dict[tuple[str, int], Origin] = field(default_factory=dict[tuple[str, int], Origin])
    invalidated: Span | None = None
    overwritten: tuple[Origin, str] | None = None
