"""Clocks of so many agents that not each of them can have an entry for every other one, as of a whole launch."""

from __future__ import annotations

from collections.abc import Sequence

from .clocks import BEFORE, FENCED, OBSERVED, ORDER, PAST, PROXIES, ROWS, Agent, Causality, SyncClock
from .pages import NOTHING, PagedClocks, Row, join

MOST_DENSE = 256
"""Warps that may synchronise up to which each clock has an entry for each agent: few agents cost less so."""


class PagedAgent(Agent):
    """An agent with clocks in pages."""

    __slots__ = ()

    clocks: PagedClocks

    def _made(self, capacity: int) -> PagedClocks:
        return _empty()

    def acquire_clocks(self, released: PagedClocks) -> None:
        """As `Agent.acquire_clocks`."""
        self.clocks.join(released)
        self.version += 1

    acquire_older = acquire_clocks

    def acquire_past(self, clocks: PagedClocks) -> None:
        """As `Agent.acquire_past`."""
        self.clocks.join_row(PAST, clocks.rows[ORDER])
        self.clocks.join_row(PAST, clocks.rows[PAST])
        self.version += 1

    def keep(self, rows: Sequence[int], agent: int, epochs: Sequence[int]) -> None:
        """As `Agent.keep`."""
        for row, epoch in zip(rows, epochs, strict=True):
            self.clocks[row, agent] = epoch

    @property
    def known(self) -> Row:
        """As `Agent.known`."""
        return self.clocks[ORDER]

    def joined(self, others: Sequence[Agent]) -> tuple[Row, Row]:
        """As `Agent.joined`."""
        ordered = past = NOTHING
        for each in (self, *others):
            ordered = join(ordered, each.clocks.rows[ORDER])
            past = join(past, each.clocks.rows[PAST])
        return Row(ordered), Row(join(past, ordered))

    def merge_fenced(self, fenced: Row) -> None:
        """As `Agent.merge_fenced`."""
        self.fenced = fenced if self.fenced is None else Row(join(self.fenced.root, fenced.root))

    def fence_proxy(self, rows: Sequence[int] = PROXIES) -> None:
        """As `Agent.fence_proxy`."""
        self.version += 1
        for row in rows:
            self.clocks.join_row(row, self.clocks.rows[ORDER])
        self.advance()

    def observe(self, released: PagedClocks) -> None:
        """As `Agent.observe`."""
        self.clocks.join_row(OBSERVED, released.rows[ORDER])
        self.version += 1

    @property
    def has_fenced(self) -> bool:
        """As `Agent.has_fenced`."""
        return bool(self.clocks.rows[FENCED])

    def fenced_clocks(self) -> PagedClocks:
        """As `Agent.fenced_clocks`."""
        return self.clocks.limited(FENCED)

    def fence_gpu(self, acquires: bool, releases: bool) -> None:
        """As `Agent.fence_gpu`."""
        self.version += 1
        if acquires:
            self.clocks.join_row(ORDER, self.clocks.rows[OBSERVED])
        if releases:
            self.clocks.join_row(FENCED, self.clocks.rows[ORDER])

    def fence_tcgen05_before(self) -> None:
        """As `Agent.fence_tcgen05_before`."""
        self.version += 1
        self.clocks.join_row(BEFORE, self.clocks.rows[ORDER])

    def fence_tcgen05(self) -> None:
        """As `Agent.fence_tcgen05`."""
        self.version += 1
        self.fenced = self.known


class PagedClock(SyncClock):
    """What was released to a barrier, in pages."""

    __slots__ = ()

    clocks: PagedClocks

    def __init__(self) -> None:
        self.clocks = _empty()

    def release(self, agent: Agent) -> None:
        """As `SyncClock.release`."""
        self.clocks.join(agent.clocks)
        agent.advance()

    def release_past(self, agent: Agent) -> None:
        """As `SyncClock.release_past`."""
        self.clocks.join_row(PAST, agent.clocks.rows[ORDER])
        self.clocks.join_row(PAST, agent.clocks.rows[PAST])

    def release_synced(self, agent: Agent) -> None:
        """As `SyncClock.release_synced`."""
        own = [self.clocks.item(row, agent.index) for row in range(ROWS)]
        self.clocks.join(agent.clocks)
        for row, epoch in enumerate(own):
            if self.clocks.item(row, agent.index) != epoch:
                self.clocks[row, agent.index] = epoch
        self.release_epoch(agent.index, agent.synced)

    def join_clocks(self, other: PagedClocks) -> None:
        """As `SyncClock.join_clocks`."""
        self.clocks.join(other)

    def copy_from(self, other: SyncClock) -> None:
        """As `SyncClock.copy_from`."""
        self.clocks = other.clocks.copy()

    def clear(self) -> None:
        """As `SyncClock.clear`."""
        self.clocks = _empty()


class PagedCausality(Causality):
    """Very many agents, with clocks in pages."""

    def __init__(self) -> None:
        super().__init__(0)
        self._count = 0
        self._idle_of: dict[int, list[Agent]] = {}

    def count(self) -> int:
        """As `Causality.count`."""
        return self._count

    def agent(self, name: str) -> Agent:
        """As `Causality.agent`."""
        self._count += 1
        return PagedAgent(0, self._count - 1, name)

    def fork(self, issuer: Agent, name: str) -> Agent:
        """As `Causality.fork`, of the operations that the same agent has issued."""
        self._idle = self._idle_of.setdefault(issuer.index, [])
        return super().fork(issuer, name)

    def _begin(self, agent: Agent, issuer: Agent) -> None:
        agent.clocks = issuer.clocks.copy()

    def finish(self, agent: Agent) -> None:
        """As `Causality.finish`."""
        assert agent.forked is not None
        self._idle_of.setdefault(agent.forked[0], []).append(agent)

    def sync_clock(self) -> SyncClock:
        """As `Causality.sync_clock`."""
        return PagedClock()

    def transient_clock(self) -> SyncClock:
        """As `Causality.transient_clock`."""
        return PagedClock()


def causality(warps: int) -> Causality:
    """The agents of so many warps that may synchronise: those of a cluster, or of a launch."""
    return Causality() if warps <= MOST_DENSE else PagedCausality()


def _empty() -> PagedClocks:
    return PagedClocks([NOTHING] * ROWS)
