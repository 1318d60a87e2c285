"""Happens-before, kept with vector clocks over everything in a cluster that accesses memory on its own.

An agent is a warp (or those of its lanes that act apart, see `lanes`), the tensor pipe that a thread issues to, the
tensor-memory loads (or stores) a warp has in flight, or an asynchronous copy. Each has an epoch, a count that grows
whenever the agent releases what it did; an access is stamped with the agent and its epoch. Seven clocks of agent a say
how it stands to what agent b did at epoch e:

    clocks[ORDER][b] >= e    b's access happens before a's next one (PTX ISA: "Memory consistency model")
    clocks[PROXY][b] >= e    and a fence.proxy.async lies between, so the async proxy sees b's ordinary writes to shared
                             memory
    clocks[PROXY_GLOBAL][b]  the same for global memory: a fence covers the state space that it names
    clocks[BEFORE][b] >= e   and a tcgen05.fence::before_thread_sync lies between b's access and its release
    clocks[PAST][b] >= e     b executed e earlier, though nothing may make its accesses visible to a
    clocks[FENCED][b] >= e   and a thread executed a fence at the scope of the GPU between b's access and a's next one
    clocks[OBSERVED][b] >= e  a strong read that happens before a's next access found what b released after its access

Synchronisation copies clocks from one agent to another through a `SyncClock`: `SyncClock.release`, `Agent.acquire`. The
other fence of tcgen05 (`fence::after_thread_sync`) orders only the later tcgen05 operations of the executing thread; it
is the snapshot `fenced` of a warp, and is not released.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .pages import PagedClocks

ORDER, PROXY, BEFORE, PAST, PROXY_GLOBAL, FENCED, OBSERVED = 0, 1, 2, 3, 4, 5, 6
ROWS = 7
PROXIES = (PROXY, PROXY_GLOBAL)
"""The clocks that fence.proxy.async without a state space advances."""


class Agent:
    """One agent's vector clocks.

    clocks: int32[ROWS, capacity], or `PagedClocks` where agents are very many.
    epoch: the stamp of its accesses from now on.
    version: changes whenever the agent may have acquired something, or accessed memory since it last released.
    fenced: its ORDER clock at its last `tcgen05.fence::after_thread_sync`.
    warp: the number of the warp whose lanes it stands for, -1 for anything but lanes.
    forked: of an asynchronous operation, the agent that issued it, and the epoch that ended with this; else None.
    synced: of lanes, the last epoch whose accesses are ordered among all of them; later ones only lane by lane.
    scattered: of lanes, whether lanes made accesses of their own since then.
    """

    __slots__ = (
        "_known", "clocks", "epoch", "fenced", "forked", "index", "name", "scattered", "synced", "version", "warp",
    )  # fmt: skip

    def __init__(self, capacity: int, index: int, name: str) -> None:
        self.index = index
        self.name = name
        self.clocks: Any = self._made(capacity)
        self.epoch = 0
        self.version = 0
        self._known: tuple[int, Any] | None = None
        self.fenced: Any = None
        self.forked: tuple[int, int] | None = None
        self.warp = -1
        self.synced = 0
        self.scattered = False
        self.advance()

    def _made(self, capacity: int) -> Any:
        return np.zeros((ROWS, capacity), np.int32)

    def advance(self) -> None:
        """Begin a new epoch: no earlier release covers accesses from now on."""
        self.epoch += 1
        self.clocks[ORDER, self.index] = self.epoch

    def acquire(self, released: SyncClock) -> None:
        """Acquire what others released. What all of its own lanes released comes back to each of them."""
        own = released.clocks.item(ORDER, self.index)
        if own > self.synced:
            self.synced = own
        self.acquire_clocks(released.clocks)

    def acquire_clocks(self, released: Any) -> None:
        """Acquire what clocks hold."""
        np.maximum(self.clocks, released, out=self.clocks)
        self.version += 1

    def acquire_older(self, released: Any) -> None:
        """Acquire what clocks hold that may be older than the last growth of the clocks."""
        clocks = self.clocks[:, : released.shape[1]]
        np.maximum(clocks, released, out=clocks)
        self.version += 1

    def acquire_from(self, other: Agent) -> None:
        """Acquire all that another agent did and acquired; it begins a new epoch."""
        self.acquire_clocks(other.clocks)
        other.advance()

    def acquire_epoch(self, agent: int, epoch: int) -> None:
        """Acquire one agent's accesses up to `epoch`, and nothing that it had acquired itself."""
        clocks = self.clocks
        if clocks.item(ORDER, agent) < epoch:
            clocks[ORDER, agent] = epoch
            self.version += 1

    def acquire_past(self, clocks: Any) -> None:
        """Put what an agent with these clocks did into this one's past, without making it visible."""
        past = self.clocks[PAST, : clocks.shape[1]]
        np.maximum(past, clocks[ORDER], out=past)
        np.maximum(past, clocks[PAST], out=past)
        self.version += 1

    def executed(self, agent: int, epoch: int) -> None:
        """Put what another agent executed up to `epoch` into this one's past."""
        self.clocks[PAST, agent] = epoch

    def keep(self, rows: Sequence[int], agent: int, epochs: Sequence[int]) -> None:
        """Go back to these epochs of another agent, one for each of the rows."""
        self.clocks[rows, agent] = epochs

    def happens_after(self, agent: int, epoch: int) -> bool:
        """Return whether the accesses of `agent` at `epoch` happen before this agent's next one."""
        return agent == self.index or self.clocks.item(ORDER, agent) >= epoch

    @property
    def known(self) -> Any:
        """Up to which epoch of each other agent what it did happens before this one's next access."""
        if self._known is None or self._known[0] != self.version:
            self._known = self.version, self.clocks[ORDER].copy()
        return self._known[1]

    def joined(self, others: Sequence[Agent]) -> tuple[Any, Any]:
        """What happens before the next access of this or one of the others, and what they or it executed before."""
        clocks = [self.clocks, *(each.clocks for each in others)]
        ordered = np.maximum.reduce([each[ORDER] for each in clocks])
        return ordered, np.maximum.reduce([ordered, *(each[PAST] for each in clocks)])

    def merge_fenced(self, fenced: Any) -> None:
        """A thread of this agent executed fence::after_thread_sync as part of another one."""
        self.fenced = fenced.copy() if self.fenced is None else np.maximum(self.fenced, fenced)

    def snapshot(self, fenced: Any = None) -> Snapshot:
        """This agent as it is now, for checking an access that takes effect later."""
        return Snapshot(self.index, self.epoch, self.clocks.copy(), fenced)

    def fence_proxy(self, rows: Sequence[int] = PROXIES) -> None:
        """fence.proxy.async: the async proxy sees all writes that happen before this point.

        rows: the clocks of the state spaces that the fence covers.
        """
        self.version += 1
        order = self.clocks[ORDER]
        for row in rows:
            proxy = self.clocks[row]
            np.maximum(proxy, order, out=proxy)
        self.advance()

    def observe(self, released: Any) -> None:
        """A strong read found a value that was released with these clocks: a fence behind it acquires them."""
        observed = self.clocks[OBSERVED, : released.shape[1]]
        np.maximum(observed, released[ORDER], out=observed)
        self.version += 1

    @property
    def has_fenced(self) -> bool:
        """Return whether such a fence has made anything visible."""
        return bool(self.clocks[FENCED].any())

    def fenced_clocks(self) -> Any:
        """The clocks of what a fence at the scope of the GPU has made visible, by this thread or others."""
        return np.minimum(self.clocks, self.clocks[FENCED])

    def fence_gpu(self, acquires: bool, releases: bool) -> None:
        """A fence at the scope of the GPU, for the threads that this one synchronises with, as for itself."""
        self.version += 1
        if acquires:
            np.maximum(self.clocks[ORDER], self.clocks[OBSERVED], out=self.clocks[ORDER])
        if releases:
            np.maximum(self.clocks[FENCED], self.clocks[ORDER], out=self.clocks[FENCED])

    def fence_tcgen05_before(self) -> None:
        """tcgen05.fence::before_thread_sync: later releases carry the fence."""
        self.version += 1
        np.maximum(self.clocks[BEFORE], self.clocks[ORDER], out=self.clocks[BEFORE])

    def fence_tcgen05(self) -> None:
        """tcgen05.fence::after_thread_sync."""
        self.version += 1
        self.fenced = self.clocks[ORDER].copy()


class UncheckedAgent(Agent):
    """The one agent of a run whose accesses are not checked: everything happens before its accesses."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(1, 0, "any")
        self.clocks.fill(np.iinfo(np.int32).max)

    def advance(self) -> None:
        """One epoch is enough."""

    def acquire(self, released: SyncClock) -> None:
        """Keep nothing: no order is recorded."""

    def acquire_clocks(self, released: Any) -> None:
        """Keep nothing: no order is recorded."""

    def acquire_from(self, other: Agent) -> None:
        """Keep nothing: no order is recorded."""

    def acquire_epoch(self, agent: int, epoch: int) -> None:
        """Keep nothing: no order is recorded."""

    def acquire_past(self, clocks: Any) -> None:
        """Keep nothing: no order is recorded."""

    def happens_after(self, agent: int, epoch: int) -> bool:
        """Always."""
        return True

    def fence_proxy(self, rows: Sequence[int] = PROXIES) -> None:
        """Keep nothing: no order is recorded."""

    def fence_gpu(self, acquires: bool, releases: bool) -> None:
        """Keep nothing: no order is recorded."""

    def fence_tcgen05_before(self) -> None:
        """Keep nothing: no order is recorded."""

    def fence_tcgen05(self) -> None:
        """Keep nothing: no order is recorded."""


class Snapshot:
    """An agent as it was at some moment. The attributes are those of `Agent`."""

    __slots__ = ("clocks", "epoch", "fenced", "forked", "index", "warp")

    def __init__(self, index: int, epoch: int, clocks: Any, fenced: Any) -> None:
        self.index = index
        self.epoch = epoch
        self.clocks = clocks
        self.fenced = fenced
        self.forked: tuple[int, int] | None = None
        self.warp = -1

    @property
    def known(self) -> Any:
        """As `Agent.known`."""
        return self.clocks[ORDER]

    def happens_after(self, agent: int, epoch: int) -> bool:
        """As `Agent.happens_after`."""
        return agent == self.index or (agent < self.clocks.shape[1] and self.clocks.item(ORDER, agent) >= epoch)


def common(clocks: Sequence[Any]) -> Any:
    """What all of some agents' clocks hold, which may be older than the last growth."""
    first, *others = clocks
    if isinstance(first, PagedClocks):
        return first.common(others)
    width = min(each.shape[1] for each in clocks)
    return np.minimum.reduce([each[:, :width] for each in clocks])


class Causality:
    """The agents of one cluster. Clocks have room for `capacity` agents, and grow together when that is used up."""

    def __init__(self, capacity: int = 48) -> None:
        self.capacity = capacity
        self.agents: list[Agent] = []
        self._shared: list[SyncClock] = []
        self._idle: list[Agent] = []

    def count(self) -> int:
        """How many agents there are."""
        return len(self.agents)

    def agent(self, name: str) -> Agent:
        """A new agent, which has acquired nothing."""
        if len(self.agents) == self.capacity:
            self._grow()
        agent = Agent(self.capacity, len(self.agents), name)
        self.agents.append(agent)
        return agent

    def fork(self, issuer: Agent, name: str) -> Agent:
        """An agent for one asynchronous operation: all that its issuer did and acquired happens before it.

        The agent of a finished operation is used again where its end happens before the issuer's next access: then
        nobody can take the old operation for the new one.
        """
        for position, idle in enumerate(self._idle):
            if issuer.happens_after(idle.index, idle.epoch):
                agent = self._idle.pop(position)
                agent.name = name
                break
        else:
            agent = self.agent(name)
        epoch = agent.epoch
        self._begin(agent, issuer)
        agent.epoch = epoch
        agent.version += 1
        agent.forked = issuer.index, issuer.epoch
        agent.advance()
        issuer.advance()
        return agent

    def _begin(self, agent: Agent, issuer: Agent) -> None:
        """All that the issuer did and acquired happens before what `agent` does."""
        np.copyto(agent.clocks, issuer.clocks)

    def finish(self, agent: Agent) -> None:
        """The operation of a forked agent is over; whoever acquired its last epoch keeps it."""
        self._idle.append(agent)

    def sync_clock(self) -> SyncClock:
        """An empty clock for a barrier, which grows with the others."""
        shared = SyncClock(self.capacity)
        self._shared.append(shared)
        return shared

    def transient_clock(self) -> SyncClock:
        """An empty clock for the release of one operation at its end."""
        return SyncClock(self.capacity)

    def _grow(self) -> None:
        extra = self.capacity
        self.capacity *= 2
        for holder in (*self.agents, *self._shared):
            holder.clocks = np.pad(holder.clocks, ((0, 0), (0, extra)))
        for agent in self.agents:
            if agent.fenced is not None:
                agent.fenced = np.pad(agent.fenced, (0, extra))


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


class SyncClock:
    """The clock that was released to a barrier: the join of clocks. clocks: int32[ROWS, capacity]."""

    __slots__ = ("clocks",)

    def __init__(self, capacity: int) -> None:
        self.clocks: Any = np.zeros((ROWS, capacity), np.int32)

    def release(self, agent: Agent) -> None:
        """`agent` releases all that it did and acquired so far."""
        np.maximum(self.clocks, agent.clocks, out=self.clocks)
        agent.advance()

    def release_epoch(self, agent: int, epoch: int, row: int = ORDER) -> None:
        """Release one agent's accesses up to `epoch`, alone."""
        if self.clocks.item(row, agent) < epoch:
            self.clocks[row, agent] = epoch

    def release_past(self, agent: Agent) -> None:
        """Put the operations of `agent` into the past of the threads that acquire this, without making them visible."""
        past = self.clocks[PAST, : agent.clocks.shape[1]]
        np.maximum(past, agent.clocks[ORDER], out=past)
        np.maximum(past, agent.clocks[PAST], out=past)

    def release_synced(self, agent: Agent) -> None:
        """`agent` releases what it acquired, and of what it did itself that which is in order among its lanes."""
        own = self.clocks[:, agent.index].copy()
        self.join_clocks(agent.clocks)
        self.clocks[:, agent.index] = own
        self.release_epoch(agent.index, agent.synced)

    def join(self, other: SyncClock) -> None:
        """Release all that was released to `other`, which may be older than the last growth of the clocks."""
        self.join_clocks(other.clocks)

    def join_clocks(self, other: Any) -> None:
        """Release what clocks hold."""
        clocks = self.clocks[:, : other.shape[1]]
        np.maximum(clocks, other, out=clocks)

    def follows(self, agent: int, epoch: int) -> bool:
        """Return whether this was released after `agent` executed its epoch `epoch`."""
        return self.clocks.item(ORDER, agent) >= epoch or self.clocks.item(PAST, agent) >= epoch

    def copy_from(self, other: SyncClock) -> None:
        """Hold exactly what was released to `other`."""
        np.copyto(self.clocks, other.clocks)

    def clear(self) -> None:
        """Hold nothing."""
        self.clocks.fill(0)


class UncheckedClock(SyncClock):
    """The clock of a run whose accesses are not checked: everything was released to it."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(1)
        self.clocks.fill(np.iinfo(np.int32).max)

    def release(self, agent: Agent) -> None:
        """Keep nothing: no order is recorded."""

    def release_epoch(self, agent: int, epoch: int, row: int = ORDER) -> None:
        """Keep nothing: no order is recorded."""

    def release_past(self, agent: Agent) -> None:
        """Keep nothing: no order is recorded."""

    def join_clocks(self, other: Any) -> None:
        """Keep nothing: no order is recorded."""

    def copy_from(self, other: SyncClock) -> None:
        """Keep nothing: no order is recorded."""

    def clear(self) -> None:
        """Keep nothing: no order is recorded."""
