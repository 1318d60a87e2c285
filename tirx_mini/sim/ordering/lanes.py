"""The lanes of a warp as separate threads, at the cost of one thread while they are converged.

A warp has one agent for all of its lanes, the *whole*, and one for each set of lanes that act apart, a *part*: the arms
of a divergent branch are parts. A part acquires, fences and releases for its lanes alone. The lanes *meet* at
bar.warp.sync and at barriers that every lane waits for (PTX ISA: "bar.warp.sync", "bar"): each lane has then acquired
what any of them has, and the parts dissolve. elect.sync, shfl.sync and other collectives order no memory.

Accesses by the whole since the last meeting are ordered lane by lane only. An access therefore carries the lane that
made it (`LANES_TOGETHER` if all lanes of the set access one location), and two accesses of one warp that no clock
orders conflict if their lanes differ.
"""

from __future__ import annotations

from collections.abc import Iterator

from .clocks import BEFORE, ORDERS, PROXIES, Agent, Causality, SyncClock
from .unchecked import UncheckedCausality

MOST_PARTS = 8
"""The maximum number of parts that a warp tracks between two meetings. Lanes that diverge further act as the whole
warp, except single lanes, which may hand over to one another.
"""

MOST_AGENTS = 1024
"""The number of agents beyond which single lanes get no parts of their own; the clocks grow quadratically."""


_LIMITED = [*ORDERS, *PROXIES, BEFORE]
"""The clock rows that stamp accesses."""


class Part:
    """A set of lanes that act apart. word: the lanes, lane 0 lowest. seen: the versions of the enclosing sets it
    acquired."""

    __slots__ = ("agent", "seen", "word")

    def __init__(self, word: int, agent: Agent) -> None:
        self.word = word
        self.agent = agent
        self.seen: dict[int, tuple[int, int]] = {}


class Lanes:
    """The agents of one warp. whole: the agent of all lanes. word: the lanes of the warp.

    together: whether the lanes are never distinguished, in an unchecked run.
    """

    __slots__ = ("_causality", "_parts", "_spare", "_told", "together", "whole", "word")

    def __init__(self, causality: Causality, whole: Agent, word: int) -> None:
        self.whole = whole
        self.word = word
        self._causality = causality
        self.together = isinstance(causality, UncheckedCausality)
        self._parts: dict[int, Part] = {}
        self._spare: list[Agent] = []
        self._told: dict[SyncClock, tuple[int, int]] = {}

    def of(self, word: int) -> Agent:
        """Return the agent of a set of lanes, with the clock common to those lanes."""
        if word == self.word or self.together:
            return self.whole
        part = self._parts.get(word)
        if part is None:
            if len(self._parts) >= MOST_PARTS and not self._apart(word):
                return self.whole
            agent = self._spare.pop() if self._spare else self._causality.agent(f"lanes of {self.whole.name}")
            agent.warp = self.whole.warp
            part = self._parts[word] = Part(word, agent)
        self._inherit(part, self.whole)
        if len(self._parts) > 1:
            for other in self._parts.values():
                if other is not part and not word & ~other.word:
                    self._inherit(part, other.agent)
        return part.agent

    def _apart(self, word: int) -> bool:
        """Return whether the lanes get a part beyond the limit: a single lane does, in a cluster of few agents."""
        return not word & (word - 1) and self._causality.count() < MOST_AGENTS

    @staticmethod
    def _inherit(part: Part, around: Agent) -> None:
        """Join the clock of a larger set of lanes into a part of it."""
        seen = (around.version, around.synced)
        agent = part.agent
        if part.seen.get(around.index) == seen:
            # A wait that acquired nothing, as of a fresh mbarrier, is an event all the same.
            agent.executed(around.index, around.epoch)
            around.advance()
            return
        _acquire(agent, around)
        if around.fenced is not None:
            agent.merge_fenced(around.fenced)
        around.advance()
        part.seen[around.index] = seen

    def release(self, released: SyncClock, word: int, agent: Agent) -> None:
        """Release the accesses and acquired clocks of each lane of `word`; the lanes act as `agent`."""
        released.release(agent)
        if agent is not self.whole and self.whole.scattered:
            self._release_whole(released, word)
        for part in self._parts.values():
            if part.word & word and part.agent is not agent:
                if part.word & ~word:
                    released.release_synced(part.agent)
                else:
                    released.release(part.agent)

    def _release_whole(self, released: SyncClock, word: int) -> None:
        """Release the lanes' accesses as part of the whole warp, once all lanes have released them."""
        whole = self.whole
        lanes, epoch = self._told.pop(released, (0, whole.epoch - 1))
        if lanes | word != self.word:
            self._told[released] = lanes | word, epoch
            if len(self._told) > MOST_PARTS:
                del self._told[next(iter(self._told))]
            return
        for row in _LIMITED:
            released.release_epoch(whole.index, min(whole.clocks.item(row, whole.index), epoch), (row,))

    def within(self, word: int, agent: Agent) -> Iterator[Agent]:
        """Yield the agents of the lanes of `word`, whose earlier separate accesses precede their common instruction."""
        yield agent
        for part in self._parts.values():
            if part.agent is not agent and not part.word & ~word:
                yield part.agent

    def come_together(self) -> None:
        """Record an instruction of all lanes that orders no memory: the accesses of each lane lie in the past of
        all."""
        for part in self._parts.values():
            self.whole.acquire_past(part.agent.clocks)

    def meet_within(self, word: int, agent: Agent) -> None:
        """Synchronise the lanes of `word`, which act as `agent`, with one another, memory included.

        Accesses of the whole warp before the divergence are attributed to all of the lanes, since the individual lanes
        are not recorded.
        """
        whole = self.whole
        for key, part in list(self._parts.items()):
            if part.agent is not agent and not part.word & ~word:
                agent.acquire_from(part.agent)
                self._spare.append(self._parts.pop(key).agent)
        agent.acquire_epoch(whole.index, whole.epoch)
        whole.advance()
        agent.synced = agent.epoch
        agent.scattered = False
        agent.advance()

    def meet(self) -> None:
        """Synchronise all lanes with one another, memory included."""
        whole = self.whole
        self._told.clear()
        if self._parts:
            for part in self._parts.values():
                whole.acquire_from(part.agent)
                part.agent.synced = part.agent.epoch - 1
                self._spare.append(part.agent)
            self._parts.clear()
        whole.synced = whole.epoch
        whole.scattered = False
        whole.advance()


def _acquire(agent: Agent, around: Agent) -> None:
    """Acquire the clock of a larger set of lanes: the accesses that are ordered among its lanes."""
    index, clocks = around.index, agent.clocks
    if around.scattered:
        limit = around.synced
        own = [max(clocks.item(row, index), min(limit, around.clocks.item(row, index))) for row in _LIMITED]
        agent.acquire_clocks(around.clocks)
        agent.keep(_LIMITED, index, own)
    else:
        agent.acquire_clocks(around.clocks)
    agent.executed(index, around.epoch)
