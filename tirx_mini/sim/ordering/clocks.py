"""The happens-before relation, kept as vector clocks of all agents in a cluster that access memory.

An agent is a warp (or a set of its lanes that act apart, see `lanes`), the tensor pipe of a thread, the tensor-memory
loads (or stores) of a warp in flight, or an asynchronous copy. Each has an epoch, a count that grows at every release
of the agent; an access is stamped with the agent and its epoch. Agent a has ten clocks, which relate it to the
accesses of agent b at epoch e:

    clocks[ORDER][b] >= e    b's access happens before a's next one (PTX ISA: "Memory consistency model")
    clocks[WIDE][b] >= e     and no arrival at another CTA's mbarrier between the two releases at CTA scope only (PTX
                             ISA: "mbarrier.arrive", .scope)
    clocks[RECEIVED][b] >= e  and no wait between the two acquires at CTA scope only, after such an arrival
    clocks[PROXY][b] >= e    and a fence.proxy.async lies between, so the async proxy sees b's ordinary writes to shared
                             memory
    clocks[PROXY_GLOBAL][b]  likewise for global memory: a fence covers the state space that it names
    clocks[BEFORE][b] >= e   and a tcgen05.fence::before_thread_sync lies between b's access and its release
    clocks[PAST][b] >= e     b executed e earlier, but its accesses need not be visible to a
    clocks[FENCED][b] >= e   and a thread executed a fence at GPU scope between b's access and a's next one
    clocks[OBSERVED][b] >= e  a strong read that happens before a's next access observed b's release after its access
    clocks[SEEN][b] >= e     a strong read observed what b, or one that b synchronised with, wrote after its access; no
                             fence need lie between, so that a may still read what was there before

Synchronisation copies clocks from one agent to another through a `SyncClock`: `SyncClock.release`, `Agent.acquire`. The
other fence of tcgen05 (`fence::after_thread_sync`) orders only the later tcgen05 operations of the executing thread; it
is stored in the snapshot `fenced` of a warp, and is not released.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from .pages import Epochs, PagedClocks

ORDER, WIDE, RECEIVED, PROXY, BEFORE, PAST, PROXY_GLOBAL, FENCED, OBSERVED, SEEN = range(10)
ROWS = 10
ORDERS = (ORDER, WIDE, RECEIVED)
"""The clocks of the order itself. None of them is ahead of the one before it."""
_ORDERS, _SCOPES = slice(ORDER, RECEIVED + 1), slice(WIDE, RECEIVED + 1)
Clocks: TypeAlias = "np.ndarray | PagedClocks"
"""The clocks of an agent or a barrier, int32[ROWS, agents] or paged. All of one cluster have the same form."""
PROXIES = (PROXY, PROXY_GLOBAL)
"""The clock rows that fence.proxy.async without a state space advances."""


class Agent:
    """An agent with its vector clocks.

    clocks: int32[ROWS, capacity], or `PagedClocks` for very many agents.
    epoch: the stamp of its accesses from now on.
    version: changes whenever the agent may have acquired something, or accessed memory since it last released.
    fenced: its ORDER clock at its last `tcgen05.fence::after_thread_sync`.
    warp: the number of the warp whose lanes it represents, -1 for any other agent.
    forked: for an asynchronous operation, the issuing agent, and the epoch that the issue ended; else None.
    synced: for lanes, the last epoch whose accesses are ordered among all of them; later ones only lane by lane.
    scattered: for lanes, whether single lanes made accesses since then.
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
        self._known: tuple[int, Epochs] | None = None
        self.fenced: Any = None
        self.forked: tuple[int, int] | None = None
        self.warp = -1
        self.synced = 0
        self.scattered = False
        self.advance()

    def _made(self, capacity: int) -> Any:
        return np.zeros((ROWS, capacity), np.int32)

    def advance(self) -> None:
        """Begin a new epoch; earlier releases do not cover later accesses."""
        self.epoch += 1
        self.clocks[_ORDERS, self.index] = self.epoch

    def acquire(self, released: SyncClock) -> None:
        """Acquire everything released to a clock.

        A release by all of its own lanes thereby becomes ordered for each of them.
        """
        own = released.clocks.item(ORDER, self.index)
        if own > self.synced:
            self.synced = own
        self.acquire_clocks(released.clocks)

    def acquire_clocks(self, released: Clocks) -> None:
        """Join the given clocks into this agent's clocks."""
        given: Any = released
        np.maximum(self.clocks, given, out=self.clocks)
        self.version += 1

    def acquire_older(self, released: Clocks) -> None:
        """Join clocks that may be narrower because they were created before the last growth."""
        given: Any = released
        clocks = self.clocks[:, : given.shape[1]]
        np.maximum(clocks, given, out=clocks)
        self.version += 1

    def acquire_from(self, other: Agent) -> None:
        """Acquire everything that another agent did and acquired, and begin a new epoch of that agent."""
        self.acquire_clocks(other.clocks)
        other.advance()

    def acquire_epoch(self, agent: int, epoch: int) -> None:
        """Acquire one agent's accesses up to `epoch`, without the accesses that this agent had acquired."""
        if _put(self.clocks, ORDERS, agent, epoch):
            self.version += 1

    def acquire_past(self, clocks: Clocks) -> None:
        """Add the accesses covered by `clocks` to this agent's past, without making them visible."""
        given: Any = clocks
        past = self.clocks[PAST, : given.shape[1]]
        np.maximum(past, given[ORDER], out=past)
        np.maximum(past, given[PAST], out=past)
        self.version += 1

    def executed(self, agent: int, epoch: int) -> None:
        """Add the operations of another agent up to `epoch` to this agent's past."""
        self.clocks[PAST, agent] = epoch

    def keep(self, rows: Sequence[int], agent: int, epochs: Sequence[int]) -> None:
        """Restore the given epochs of another agent, one for each row."""
        self.clocks[rows, agent] = epochs

    def happens_after(self, agent: int, epoch: int) -> bool:
        """Return whether the accesses of `agent` at `epoch` happen before the next access of this agent."""
        return agent == self.index or self.clocks.item(ORDER, agent) >= epoch

    @property
    def known(self) -> Epochs:
        """The latest epoch of each agent whose accesses happen before this agent's next access."""
        if self._known is None or self._known[0] != self.version:
            self._known = self.version, self.clocks[ORDER].copy()
        return self._known[1]

    def joined(self, others: Sequence[Agent]) -> tuple[Epochs, Epochs]:
        """Return the joined ORDER clocks of these agents, and the joined clocks of everything that they executed."""
        clocks = [self.clocks, *(each.clocks for each in others)]
        ordered = np.maximum.reduce([each[ORDER] for each in clocks])
        return ordered, np.maximum.reduce([ordered, *(each[PAST] for each in clocks)])

    def merge_fenced(self, fenced: Epochs) -> None:
        """Record that a thread of this agent executed fence::after_thread_sync as part of another agent."""
        given: Any = fenced
        self.fenced = given.copy() if self.fenced is None else np.maximum(self.fenced, given)

    def snapshot(self, fenced: Epochs | None = None) -> Snapshot:
        """Return a copy of this agent's current state, for checking an access that takes effect later."""
        return Snapshot(self.index, self.epoch, self.clocks.copy(), fenced)

    def fence_proxy(self, rows: Sequence[int] = PROXIES) -> None:
        """Execute fence.proxy.async: the async proxy sees all writes that happen before this point.

        rows: the clock rows of the state spaces that the fence covers.
        """
        self.version += 1
        order = self.clocks[ORDER]
        for row in rows:
            proxy = self.clocks[row]
            np.maximum(proxy, order, out=proxy)
        self.advance()

    def observe(self, released: Clocks) -> None:
        """Record that a strong read returned a value released with these clocks; a later fence acquires them."""
        given: Any = released
        observed = self.clocks[OBSERVED, : given.shape[1]]
        np.maximum(observed, given[ORDER], out=observed)
        self.version += 1

    def trail(self) -> Epochs:
        """Return what a strong read of this agent's next write sees, and begin a new epoch."""
        trail = np.maximum(self.clocks[ORDER], self.clocks[SEEN])
        self.advance()
        return trail

    def see(self, trail: Epochs) -> None:
        """Record that a strong read found a write with this trail."""
        given: np.ndarray = np.asarray(trail)
        seen = self.clocks[SEEN, : len(given)]
        np.maximum(seen, given, out=seen)

    @property
    def has_fenced(self) -> bool:
        """Return whether a fence at GPU scope has made any access visible."""
        return bool(self.clocks[FENCED].any())

    def fenced_clocks(self) -> Clocks:
        """Return the clocks of everything that fences at GPU scope have made visible."""
        return np.minimum(self.clocks, self.clocks[FENCED])

    def fence_gpu(self, acquires: bool, releases: bool) -> None:
        """Execute a fence at GPU scope, also for the threads that synchronise with this one."""
        self.version += 1
        if acquires:
            np.maximum(self.clocks[_ORDERS], self.clocks[OBSERVED], out=self.clocks[_ORDERS])
        if releases:
            np.maximum(self.clocks[FENCED], self.clocks[ORDER], out=self.clocks[FENCED])

    def receive(self) -> None:
        """An acquire at the scope of the cluster: what other CTAs released at such a scope is received."""
        np.copyto(self.clocks[RECEIVED], self.clocks[WIDE])
        self.version += 1

    def fence_tcgen05_before(self) -> None:
        """Execute tcgen05.fence::before_thread_sync; later releases carry the fence."""
        self.version += 1
        np.maximum(self.clocks[BEFORE], self.clocks[ORDER], out=self.clocks[BEFORE])

    def fence_tcgen05(self) -> None:
        """Execute tcgen05.fence::after_thread_sync."""
        self.version += 1
        self.fenced = self.clocks[ORDER].copy()


class Snapshot:
    """The state of an agent at one moment. The attributes are those of `Agent`."""

    __slots__ = ("clocks", "epoch", "fenced", "forked", "index", "warp")

    def __init__(self, index: int, epoch: int, clocks: Clocks, fenced: Epochs | None) -> None:
        self.index = index
        self.epoch = epoch
        self.clocks = clocks
        self.fenced = fenced
        self.forked: tuple[int, int] | None = None
        self.warp = -1

    @property
    def known(self) -> Epochs:
        """See `Agent.known`."""
        return self.clocks[ORDER]

    def happens_after(self, agent: int, epoch: int) -> bool:
        """See `Agent.happens_after`."""
        return agent == self.index or (agent < self.clocks.shape[1] and self.clocks.item(ORDER, agent) >= epoch)


def common(clocks: Sequence[Clocks]) -> Clocks:
    """Return the element-wise minimum of several agents' clocks, which may be older than the last growth."""
    given: Sequence[Any] = clocks
    first, *others = given
    if isinstance(first, PagedClocks):
        return first.common(others)
    width = min(each.shape[1] for each in given)
    return np.minimum.reduce([each[:, :width] for each in given])


class Causality:
    """The agents of one cluster and their clocks. The clocks have room for `capacity` agents, and grow together."""

    def __init__(self, capacity: int = 48) -> None:
        self.capacity = capacity
        self.agents: list[Agent] = []
        self._shared: list[SyncClock] = []
        self._idle: list[Agent] = []

    def count(self) -> int:
        """Return the number of agents."""
        return len(self.agents)

    def agent(self, name: str) -> Agent:
        """Return a new agent that has acquired nothing."""
        if len(self.agents) == self.capacity:
            self._grow()
        agent = Agent(self.capacity, len(self.agents), name)
        self.agents.append(agent)
        return agent

    def fork(self, issuer: Agent, name: str) -> Agent:
        """Return an agent for one asynchronous operation, which everything its issuer did and acquired happens before.

        The agent of a finished operation is reused if its end happens before the issuer's next access, so that the two
        operations cannot be confused.
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
        """Initialise the clocks of `agent` with those of its issuer."""
        np.copyto(agent.clocks, issuer.clocks)

    def finish(self, agent: Agent) -> None:
        """Release the agent of a finished operation for reuse; agents that acquired its last epoch keep it."""
        self._idle.append(agent)

    def sync_clock(self) -> SyncClock:
        """Return an empty clock for a barrier; it grows with the clocks of the agents."""
        shared = SyncClock(self.capacity)
        self._shared.append(shared)
        return shared

    def transient_clock(self) -> SyncClock:
        """Return an empty clock for the release at the end of one operation."""
        return SyncClock(self.capacity)

    def _grow(self) -> None:
        extra = self.capacity
        self.capacity *= 2
        for holder in (*self.agents, *self._shared):
            holder.clocks = np.pad(holder.clocks, ((0, 0), (0, extra)))
        for agent in self.agents:
            if agent.fenced is not None:
                agent.fenced = np.pad(agent.fenced, (0, extra))


class SyncClock:
    """The clock of a barrier: the join of all clocks released to it. clocks: int32[ROWS, capacity]."""

    __slots__ = ("clocks",)

    def __init__(self, capacity: int) -> None:
        self.clocks: Any = np.zeros((ROWS, capacity), np.int32)

    def release(self, agent: Agent) -> None:
        """Release everything that `agent` has done and acquired."""
        np.maximum(self.clocks, agent.clocks, out=self.clocks)
        agent.advance()

    def release_epoch(self, agent: int, epoch: int, rows: Sequence[int] = ORDERS) -> None:
        """Release the accesses of one agent up to `epoch`, and nothing else."""
        _put(self.clocks, rows, agent, epoch)

    def release_narrowly(self, release: Callable[[SyncClock], None], published: Sequence[Clocks]) -> None:
        """Let `release` release to this at the scope of a CTA, to threads of another one.

        published: the clocks of what the same threads released at a wider scope.
        """
        before = self.clocks[_SCOPES].copy()
        release(self)
        self.clocks[_SCOPES] = before
        wide = self.clocks[WIDE]
        given: Sequence[Any] = published
        for clocks in given:
            own = wide[: clocks.shape[1]]
            np.maximum(own, clocks[WIDE], out=own)
        np.minimum(wide, self.clocks[ORDER], out=wide)

    def release_past(self, agent: Agent) -> None:
        """Add the operations of `agent` to the past of threads that acquire this clock, without making them visible."""
        past = self.clocks[PAST, : agent.clocks.shape[1]]
        np.maximum(past, agent.clocks[ORDER], out=past)
        np.maximum(past, agent.clocks[PAST], out=past)

    def release_synced(self, agent: Agent) -> None:
        """Release what `agent` acquired, and those of its own accesses that are ordered among all of its lanes."""
        own = self.clocks[:, agent.index].copy()
        self.join_clocks(agent.clocks)
        self.clocks[:, agent.index] = own
        self.release_epoch(agent.index, agent.synced)

    def join(self, other: SyncClock) -> None:
        """Release everything released to `other`, which may be older than the last growth of the clocks."""
        self.join_clocks(other.clocks)

    def join_clocks(self, other: Clocks) -> None:
        """Join the given clocks into this clock."""
        given: Any = other
        clocks = self.clocks[:, : given.shape[1]]
        np.maximum(clocks, given, out=clocks)

    def follows(self, agent: int, epoch: int) -> bool:
        """Return whether this clock was released after `agent` executed epoch `epoch`."""
        return self.clocks.item(ORDER, agent) >= epoch or self.clocks.item(PAST, agent) >= epoch

    def copy_from(self, other: SyncClock) -> None:
        """Replace this clock by a copy of `other`."""
        np.copyto(self.clocks, other.clocks)

    def clear(self) -> None:
        """Reset the clock to zero."""
        self.clocks.fill(0)


def _put(clocks: Any, rows: Sequence[int], agent: int, epoch: int) -> bool:
    """Move an agent's entry in these rows forward to an epoch. Returns whether any of them was behind it."""
    behind = False
    for row in rows:
        if clocks.item(row, agent) < epoch:
            clocks[row, agent] = epoch
            behind = True
    return behind
