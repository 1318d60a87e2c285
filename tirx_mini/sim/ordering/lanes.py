"""The lanes of a warp as threads of their own, at the cost of one thread while they are together.

A warp has one agent for all of its lanes, the *whole*, and one for each set of lanes that acts apart, a *part*: the
arms of a divergent branch are parts. What a part acquires, fences and releases is its lanes' alone. The lanes *meet*
at bar.warp.sync and at barriers that every lane waits for (PTX ISA: "bar.warp.sync", "bar"): then each lane has
acquired what any of them has, and the parts dissolve. elect.sync, shfl.sync and other collectives order no memory.

Accesses by the whole since the lanes last met are ordered lane by lane only. An access therefore carries the lane that
made it (`LANES_TOGETHER` where all lanes of the set access one place), and two accesses of one warp that no clock
orders conflict where their lanes differ.
"""

from __future__ import annotations

from collections.abc import Iterator

from .clocks import BEFORE, ORDER, PROXIES, Agent, Causality, SyncClock, UncheckedCausality

MOST_PARTS = 8
"""Parts that a warp keeps apart between two meetings. Lanes that part further act as the whole warp, but for those that
act alone, which may hand over to one another.
"""

MOST_AGENTS = 1024
"""Agents with which lanes that act alone get further parts: their clocks grow with the square of that."""


_LIMITED = [ORDER, *PROXIES, BEFORE]
"""The clocks that hold accesses."""


class Part:
    """Lanes that act apart. word: which, lane 0 lowest. seen: the versions of the sets around it that it acquired."""

    __slots__ = ("agent", "seen", "word")

    def __init__(self, word: int, agent: Agent) -> None:
        self.word = word
        self.agent = agent
        self.seen: dict[int, tuple[int, int]] = {}


class Lanes:
    """The agents of one warp. whole: of all lanes. word: all lanes that it has.

    together: whether they are never told apart, as accesses are not checked.
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
        """The agent of a set of lanes, with the clock that its lanes have in common."""
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
        """Return whether these lanes get a part, although there are many: one lane does, in a cluster of few agents."""
        return not word & (word - 1) and self._causality.count() < MOST_AGENTS

    @staticmethod
    def _inherit(part: Part, around: Agent) -> None:
        """Join the clock that every lane of a larger set has into the part."""
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
        """Each lane of `word`, which act as `agent`, releases what it did and acquired."""
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
        """Lanes release what they did with the whole: it is released, up to the first of these, when all lanes have."""
        whole = self.whole
        lanes, epoch = self._told.pop(released, (0, whole.epoch - 1))
        if lanes | word != self.word:
            self._told[released] = lanes | word, epoch
            if len(self._told) > MOST_PARTS:
                del self._told[next(iter(self._told))]
            return
        for row in _LIMITED:
            released.release_epoch(whole.index, min(whole.clocks.item(row, whole.index), epoch), row)

    def within(self, word: int, agent: Agent) -> Iterator[Agent]:
        """The agents of the lanes of `word`, which act as `agent`: an instruction is each lane's own, so it comes
        after what they did apart."""
        yield agent
        for part in self._parts.values():
            if part.agent is not agent and not part.word & ~word:
                yield part.agent

    def come_together(self) -> None:
        """All lanes execute one instruction, which orders no memory: what each did lies in the past of all."""
        for part in self._parts.values():
            self.whole.acquire_past(part.agent.clocks)

    def meet_within(self, word: int, agent: Agent) -> None:
        """The lanes of `word`, which act as `agent`, synchronise with one another, and with memory.

        What the whole warp did before they parted is taken as theirs: which of its lanes did it is not kept.
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
        """All lanes synchronise with one another, and with memory."""
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
    """Acquire the common knowledge of the lanes of a larger set: accesses that were ordered among its lanes."""
    index, clocks = around.index, agent.clocks
    if around.scattered:
        limit = around.synced
        own = [max(clocks.item(row, index), min(limit, around.clocks.item(row, index))) for row in _LIMITED]
        agent.acquire_clocks(around.clocks)
        agent.keep(_LIMITED, index, own)
    else:
        agent.acquire_clocks(around.clocks)
    agent.executed(index, around.epoch)
