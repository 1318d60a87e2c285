"""Paged clocks, for more agents than dense clocks can hold, such as those of a whole launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .clocks import (
    BEFORE,
    FENCED,
    OBSERVED,
    ORDER,
    ORDERS,
    PAST,
    PROXIES,
    RECEIVED,
    ROWS,
    SEEN,
    WIDE,
    Agent,
    Causality,
    Clocks,
    SyncClock,
)  # fmt: skip
from .pages import NOTHING, Epochs, PagedClocks, Row, join, meet

MOST_DENSE = 256
"""The maximum number of warps for dense clocks, which are faster for few agents."""


class PagedAgent(Agent):
    """An agent with paged clocks."""

    __slots__ = ()

    clocks: PagedClocks

    def _made(self, capacity: int) -> PagedClocks:
        return _empty()

    def advance(self) -> None:
        """See `Agent.advance`."""
        self.epoch += 1
        self.clocks.put(ORDERS, self.index, self.epoch)

    def acquire_epoch(self, agent: int, epoch: int) -> None:
        """See `Agent.acquire_epoch`."""
        if self.clocks.put(ORDERS, agent, epoch):
            self.version += 1

    def acquire_clocks(self, released: Clocks) -> None:
        """See `Agent.acquire_clocks`."""
        given: Any = released
        self.clocks.join(given)
        self.version += 1

    acquire_older = acquire_clocks

    def acquire_past(self, clocks: Clocks) -> None:
        """See `Agent.acquire_past`."""
        given: Any = clocks
        self.clocks.join_row(PAST, given.rows[ORDER])
        self.clocks.join_row(PAST, given.rows[PAST])
        self.version += 1

    def keep(self, rows: Sequence[int], agent: int, epochs: Sequence[int]) -> None:
        """See `Agent.keep`."""
        self.clocks.keep(rows, agent, epochs)

    @property
    def known(self) -> Row:
        """See `Agent.known`."""
        return self.clocks[ORDER]

    def joined(self, others: Sequence[Agent]) -> tuple[Row, Row]:
        """See `Agent.joined`."""
        ordered = past = NOTHING
        for each in (self, *others):
            ordered = join(ordered, each.clocks.rows[ORDER])
            past = join(past, each.clocks.rows[PAST])
        return Row(ordered), Row(join(past, ordered))

    def merge_fenced(self, fenced: Epochs) -> None:
        """See `Agent.merge_fenced`."""
        given: Any = fenced
        self.fenced = given if self.fenced is None else Row(join(self.fenced.root, given.root))

    def fence_proxy(self, rows: Sequence[int] = PROXIES) -> None:
        """See `Agent.fence_proxy`."""
        self.version += 1
        for row in rows:
            self.clocks.join_row(row, self.clocks.rows[ORDER])
        self.advance()

    def observe(self, released: Clocks) -> None:
        """See `Agent.observe`."""
        given: Any = released
        self.clocks.join_row(OBSERVED, given.rows[ORDER])
        self.version += 1

    def trail(self) -> Epochs:
        """See `Agent.trail`."""
        trail = join(self.clocks.rows[ORDER], self.clocks.rows[SEEN])
        self.advance()
        return Row(trail)

    def see(self, trail: Epochs) -> None:
        """See `Agent.see`."""
        assert isinstance(trail, Row)
        self.clocks.join_row(SEEN, trail.root)

    @property
    def has_fenced(self) -> bool:
        """See `Agent.has_fenced`."""
        return bool(self.clocks.rows[FENCED])

    def fenced_clocks(self) -> PagedClocks:
        """See `Agent.fenced_clocks`."""
        return self.clocks.limited(FENCED)

    def fence_gpu(self, acquires: bool, releases: bool) -> None:
        """See `Agent.fence_gpu`."""
        self.version += 1
        if acquires:
            self.clocks.join_rows(ORDERS, self.clocks.rows[OBSERVED])
        if releases:
            self.clocks.join_row(FENCED, self.clocks.rows[ORDER])

    def receive(self) -> None:
        """See `Agent.receive`."""
        self.clocks.rows[RECEIVED] = self.clocks.rows[WIDE]
        self.version += 1

    def fence_tcgen05_before(self) -> None:
        """See `Agent.fence_tcgen05_before`."""
        self.version += 1
        self.clocks.join_row(BEFORE, self.clocks.rows[ORDER])

    def fence_tcgen05(self) -> None:
        """See `Agent.fence_tcgen05`."""
        self.version += 1
        self.fenced = self.known


class PagedClock(SyncClock):
    """The paged clock of a barrier."""

    __slots__ = ()

    clocks: PagedClocks

    def __init__(self) -> None:
        self.clocks = _empty()

    def release(self, agent: Agent) -> None:
        """See `SyncClock.release`."""
        self.clocks.join(agent.clocks)
        agent.advance()

    def release_epoch(self, agent: int, epoch: int, rows: Sequence[int] = ORDERS) -> None:
        """See `SyncClock.release_epoch`."""
        self.clocks.put(rows, agent, epoch)

    def release_narrowly(self, release: Callable[[SyncClock], None], published: Sequence[Clocks]) -> None:
        """See `SyncClock.release_narrowly`."""
        wide, received = self.clocks.rows[WIDE], self.clocks.rows[RECEIVED]
        release(self)
        rows = self.clocks.rows
        given: Sequence[Any] = published
        for clocks in given:
            wide = join(wide, meet(clocks.rows[WIDE], rows[ORDER]))
        rows[WIDE], rows[RECEIVED] = wide, received

    def release_past(self, agent: Agent) -> None:
        """See `SyncClock.release_past`."""
        self.clocks.join_row(PAST, agent.clocks.rows[ORDER])
        self.clocks.join_row(PAST, agent.clocks.rows[PAST])

    def release_synced(self, agent: Agent) -> None:
        """See `SyncClock.release_synced`."""
        own = [self.clocks.item(row, agent.index) for row in range(ROWS)]
        self.clocks.join(agent.clocks)
        self.clocks.keep(range(ROWS), agent.index, own)
        self.release_epoch(agent.index, agent.synced)

    def join_clocks(self, other: Clocks) -> None:
        """See `SyncClock.join_clocks`."""
        given: Any = other
        self.clocks.join(given)

    def copy_from(self, other: SyncClock) -> None:
        """See `SyncClock.copy_from`."""
        self.clocks = other.clocks.copy()

    def clear(self) -> None:
        """See `SyncClock.clear`."""
        self.clocks = _empty()


class PagedCausality(Causality):
    """The causality of very many agents, with paged clocks."""

    def __init__(self) -> None:
        super().__init__(0)
        self._count = 0
        self._idle_of: dict[int, list[Agent]] = {}

    def count(self) -> int:
        """See `Causality.count`."""
        return self._count

    def agent(self, name: str) -> Agent:
        """See `Causality.agent`."""
        self._count += 1
        return PagedAgent(0, self._count - 1, name)

    def fork(self, issuer: Agent, name: str) -> Agent:
        """Fork an agent as `Causality.fork` does, reusing only agents of the same issuer."""
        self._idle = self._idle_of.setdefault(issuer.index, [])
        return super().fork(issuer, name)

    def _begin(self, agent: Agent, issuer: Agent) -> None:
        agent.clocks = issuer.clocks.copy()

    def finish(self, agent: Agent) -> None:
        """See `Causality.finish`."""
        assert agent.forked is not None
        self._idle_of.setdefault(agent.forked[0], []).append(agent)

    def sync_clock(self) -> SyncClock:
        """See `Causality.sync_clock`."""
        return PagedClock()

    def transient_clock(self) -> SyncClock:
        """See `Causality.transient_clock`."""
        return PagedClock()


def causality(warps: int) -> Causality:
    """Return the causality for a given number of warps that may synchronise: dense or paged."""
    return Causality() if warps <= MOST_DENSE else PagedCausality()


def _empty() -> PagedClocks:
    return PagedClocks([NOTHING] * ROWS)
