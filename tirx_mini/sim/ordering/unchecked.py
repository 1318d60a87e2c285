"""The clocks of a run whose accesses are not checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .clocks import ORDERS, PROXIES, Agent, Causality, Clocks, SyncClock


class UncheckedAgent(Agent):
    """The one agent of a run whose accesses are not checked: everything happens before its accesses."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(1, 0, "any")
        self.clocks.fill(np.iinfo(np.int32).max)

    def advance(self) -> None:
        """One epoch is enough."""

    def acquire(self, released: SyncClock) -> None:
        """Do nothing: an unchecked run records no order."""

    def acquire_clocks(self, released: Clocks) -> None:
        """Do nothing: an unchecked run records no order."""

    def acquire_from(self, other: Agent) -> None:
        """Do nothing: an unchecked run records no order."""

    def acquire_epoch(self, agent: int, epoch: int) -> None:
        """Do nothing: an unchecked run records no order."""

    def acquire_past(self, clocks: Clocks) -> None:
        """Do nothing: an unchecked run records no order."""

    def happens_after(self, agent: int, epoch: int) -> bool:
        """Always."""
        return True

    def fence_proxy(self, rows: Sequence[int] = PROXIES) -> None:
        """Do nothing: an unchecked run records no order."""

    def fence_gpu(self, acquires: bool, releases: bool) -> None:
        """Do nothing: an unchecked run records no order."""

    def receive(self) -> None:
        """Do nothing: an unchecked run records no order."""

    def fence_tcgen05_before(self) -> None:
        """Do nothing: an unchecked run records no order."""

    def fence_tcgen05(self) -> None:
        """Do nothing: an unchecked run records no order."""


class UncheckedClock(SyncClock):
    """The clock of a run whose accesses are not checked: everything was released to it."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(1)
        self.clocks.fill(np.iinfo(np.int32).max)

    def release(self, agent: Agent) -> None:
        """Do nothing: an unchecked run records no order."""

    def release_epoch(self, agent: int, epoch: int, rows: Sequence[int] = ORDERS) -> None:
        """Do nothing: an unchecked run records no order."""

    def release_narrowly(self, release: Callable[[SyncClock], None], published: Sequence[Clocks]) -> None:
        """Do nothing: an unchecked run records no order."""

    def release_past(self, agent: Agent) -> None:
        """Do nothing: an unchecked run records no order."""

    def join_clocks(self, other: Clocks) -> None:
        """Do nothing: an unchecked run records no order."""

    def copy_from(self, other: SyncClock) -> None:
        """Do nothing: an unchecked run records no order."""

    def clear(self) -> None:
        """Do nothing: an unchecked run records no order."""


class UncheckedCausality(Causality):
    """The clocks of a cluster whose accesses are not checked: one agent and one clock for all."""

    def __init__(self) -> None:
        super().__init__(1)
        self._any = UncheckedAgent()
        self._everything = UncheckedClock()

    def agent(self, name: str) -> Agent:
        """The agent for all."""
        return self._any

    def fork(self, issuer: Agent, name: str) -> Agent:
        """The agent for all."""
        return self._any

    def finish(self, agent: Agent) -> None:
        """The agent for all goes on."""

    def sync_clock(self) -> SyncClock:
        """The clock for all."""
        return self._everything

    def transient_clock(self) -> SyncClock:
        """The clock for all."""
        return self._everything
