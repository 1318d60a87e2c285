"""Happens-before, kept with vector clocks over everything in a cluster that accesses memory on its own.

An agent is a warp, the tensor pipe that a warp issues to, the tensor-memory loads (or stores) a warp has in flight, or
an asynchronous copy. Each has an epoch, a count that grows whenever it publishes what it did; an access is stamped with
the agent and its epoch. Agent a may touch what agent b touched at epoch e without a race if a knows of b's epoch e:

    known[ORDER][b] >= e    b's access happens before (PTX ISA: "Memory consistency model", causality order)
    known[PROXY][b] >= e    and a fence.proxy.async lies on the way, so the async proxy sees b's ordinary writes
    known[BEFORE][b] >= e   and a tcgen05.fence::before_thread_sync lies between b's access and what it synchronised by
    known[PAST][b] >= e     b executed e earlier, though nothing may make its accesses visible

Synchronisation copies what one agent knows to another through a barrier: `Knowledge.add`, then `Agent.learn`. The
other fence of tcgen05 (`fence::after_thread_sync`) orders only the executing thread's later tcgen05 operations; it is
the snapshot `fenced` of a warp, and does not travel.
"""

from __future__ import annotations

import numpy as np

ORDER, PROXY, BEFORE, PAST = 0, 1, 2, 3
ROWS = 4


class Agent:
    """One agent's vector clocks.

    known: int32[ROWS, capacity]. epoch: the stamp of its accesses from now on. version: changes whenever the agent may
    have learnt something, or written something since it last published.
    """

    __slots__ = ("causality", "epoch", "fenced", "index", "known", "name", "version")

    def __init__(self, causality: Causality, index: int, name: str) -> None:
        self.causality = causality
        self.index = index
        self.name = name
        self.known = np.zeros((ROWS, causality.capacity), np.int32)
        self.epoch = 0
        self.version = 0
        self.fenced: np.ndarray | None = None
        self.advance()

    def advance(self) -> None:
        """Begin a new epoch: accesses from now on are not covered by what was published before."""
        self.epoch += 1
        self.known[ORDER, self.index] = self.epoch

    def learn(self, knowledge: Knowledge) -> None:
        """Acquire what others published."""
        known = self.known
        np.maximum(known, knowledge.known, out=known)
        self.version += 1

    def learn_from(self, other: Agent) -> None:
        """Acquire what another agent knows and did, which begins a new epoch of that agent."""
        np.maximum(self.known, other.known, out=self.known)
        self.version += 1
        other.advance()

    def snapshot(self, fenced: np.ndarray | None = None) -> Snapshot:
        """This agent as it is now, for checking an access that takes effect later."""
        return Snapshot(self.index, self.epoch, self.known.copy(), fenced)

    def learn_epoch(self, agent: int, epoch: int) -> None:
        """Acquire one agent's accesses up to `epoch`, and nothing that it knew of others."""
        known = self.known
        if known[ORDER, agent] < epoch:
            known[ORDER, agent] = epoch
            self.version += 1

    def learn_past(self, known: np.ndarray) -> None:
        """What another agent did, whose clocks were `known`, lies in this one's past, without being released to it."""
        past = self.known[PAST, : known.shape[1]]
        np.maximum(past, known[ORDER], out=past)
        np.maximum(past, known[PAST], out=past)
        self.version += 1

    def knows(self, agent: int, epoch: int) -> bool:
        """Whether accesses of `agent` at `epoch` happen before this agent's next one."""
        return agent == self.index or self.known.item(ORDER, agent) >= epoch

    def fence_proxy(self, own: bool = True) -> None:
        """fence.proxy.async: what is known now is known through the fence.

        own: whether that includes this agent's accesses so far (not where lanes that wrote did not fence).
        """
        self.version += 1
        order, proxy = self.known[ORDER], self.known[PROXY]
        before = proxy.item(self.index)
        np.maximum(proxy, order, out=proxy)
        if own:
            self.advance()
        else:
            proxy[self.index] = before

    def fence_tcgen05_before(self) -> None:
        """tcgen05.fence::before_thread_sync: what is known now travels with the fence."""
        self.version += 1
        np.maximum(self.known[BEFORE], self.known[ORDER], out=self.known[BEFORE])

    def fence_tcgen05(self) -> None:
        """tcgen05.fence::after_thread_sync."""
        self.version += 1
        self.fenced = self.known[ORDER].copy()


class AllKnowing(Agent):
    """The agent of a run whose accesses are not checked: everything happened before, and nothing is kept."""

    __slots__ = ()

    def __init__(self, causality: Causality) -> None:
        super().__init__(causality, 0, "any")
        self.known.fill(np.iinfo(np.int32).max)

    def advance(self) -> None:
        """There is but one epoch."""

    def learn(self, knowledge: Knowledge) -> None:
        """There is nothing to learn."""

    def learn_from(self, other: Agent) -> None:
        """There is nothing to learn."""

    def learn_epoch(self, agent: int, epoch: int) -> None:
        """There is nothing to learn."""

    def learn_past(self, known: np.ndarray) -> None:
        """There is nothing to learn."""

    def fence_proxy(self, own: bool = True) -> None:
        """There is nothing to fence."""

    def fence_tcgen05_before(self) -> None:
        """There is nothing to fence."""

    def fence_tcgen05(self) -> None:
        """There is nothing to fence."""

    def knows(self, agent: int, epoch: int) -> bool:
        """Always."""
        return True


class Snapshot:
    """An agent as it was at some moment."""

    __slots__ = ("epoch", "fenced", "index", "known")

    def __init__(self, index: int, epoch: int, known: np.ndarray, fenced: np.ndarray | None) -> None:
        self.index = index
        self.epoch = epoch
        self.known = known
        self.fenced = fenced

    def knows(self, agent: int, epoch: int) -> bool:
        """As `Agent.knows`."""
        return agent == self.index or (agent < self.known.shape[1] and self.known.item(ORDER, agent) >= epoch)


class Causality:
    """The agents of one cluster. Clocks have room for `capacity` agents, and grow together when that is used up."""

    def __init__(self, capacity: int = 48) -> None:
        self.capacity = capacity
        self.agents: list[Agent] = []
        self._shared: list[Knowledge] = []
        self._idle: list[Agent] = []

    def agent(self, name: str) -> Agent:
        """A new agent that knows nothing."""
        if len(self.agents) == self.capacity:
            self._grow()
        agent = Agent(self, len(self.agents), name)
        self.agents.append(agent)
        return agent

    def fork(self, issuer: Agent, name: str) -> Agent:
        """An agent for one asynchronous operation: it knows what its issuer knows and did so far.

        The agent of a finished operation is used again where the issuer knows of its end; no one can then mistake
        the old operation for the new one.
        """
        for position, idle in enumerate(self._idle):
            if issuer.knows(idle.index, idle.epoch):
                agent = self._idle.pop(position)
                agent.name = name
                break
        else:
            agent = self.agent(name)
        epoch = agent.epoch
        np.copyto(agent.known, issuer.known)
        agent.epoch = epoch
        agent.advance()
        issuer.advance()
        return agent

    def finish(self, agent: Agent) -> None:
        """The operation of a forked agent is over; its last epoch stays known to whoever learnt it."""
        self._idle.append(agent)

    def knowledge(self) -> Knowledge:
        """An empty place to publish to."""
        shared = Knowledge(self.capacity)
        self._shared.append(shared)
        return shared

    def message(self) -> Knowledge:
        """An empty place for what one operation publishes when it is over."""
        return Knowledge(self.capacity)

    def _grow(self) -> None:
        extra = self.capacity
        self.capacity *= 2
        for holder in (*self.agents, *self._shared):
            holder.known = np.pad(holder.known, ((0, 0), (0, extra)))
        for agent in self.agents:
            if agent.fenced is not None:
                agent.fenced = np.pad(agent.fenced, (0, extra))


class NoCausality(Causality):
    """What stands for the clocks of a cluster where accesses are not checked: one agent for all, and one knowledge."""

    def __init__(self) -> None:
        super().__init__(1)
        self._any = AllKnowing(self)
        self._everything = AllKnown()

    def agent(self, name: str) -> Agent:
        """The agent for all."""
        return self._any

    def fork(self, issuer: Agent, name: str) -> Agent:
        """The agent for all."""
        return self._any

    def finish(self, agent: Agent) -> None:
        """It goes on."""

    def knowledge(self) -> Knowledge:
        """What is published everywhere."""
        return self._everything

    def message(self) -> Knowledge:
        """What is published everywhere."""
        return self._everything


class Knowledge:
    """What was published to a barrier: the join of clocks. known: int32[ROWS, capacity]."""

    __slots__ = ("known",)

    def __init__(self, capacity: int) -> None:
        self.known = np.zeros((ROWS, capacity), np.int32)

    def add(self, agent: Agent) -> None:
        """`agent` releases: what it knows and did so far becomes part of this."""
        np.maximum(self.known, agent.known, out=self.known)
        agent.advance()

    def add_epoch(self, agent: int, epoch: int) -> None:
        """One agent's accesses up to `epoch`, alone."""
        if self.known.item(ORDER, agent) < epoch:
            self.known[ORDER, agent] = epoch

    def add_all(self, other: Knowledge) -> None:
        """What `other` knows becomes part of this; it may be of before the clocks grew."""
        known = self.known[:, : other.known.shape[1]]
        np.maximum(known, other.known, out=known)

    def add_past(self, agent: Agent) -> None:
        """What `agent` did and knows lies in the past of this, without being released."""
        past = self.known[PAST, : agent.known.shape[1]]
        np.maximum(past, agent.known[ORDER], out=past)
        np.maximum(past, agent.known[PAST], out=past)

    def follows(self, agent: int, epoch: int) -> bool:
        """Whether this was published after `agent` executed its epoch `epoch`."""
        return self.known.item(ORDER, agent) >= epoch or self.known.item(PAST, agent) >= epoch

    def become(self, other: Knowledge) -> None:
        """Know exactly what `other` knows now."""
        np.copyto(self.known, other.known)

    def clear(self) -> None:
        self.known.fill(0)


class AllKnown(Knowledge):
    """What is published where accesses are not checked: everything."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(1)
        self.known.fill(np.iinfo(np.int32).max)

    def add(self, agent: Agent) -> None:
        """It is known."""

    def add_epoch(self, agent: int, epoch: int) -> None:
        """It is known."""

    def add_all(self, other: Knowledge) -> None:
        """It is known."""

    def add_past(self, agent: Agent) -> None:
        """It is known."""

    def become(self, other: Knowledge) -> None:
        """It stays."""

    def clear(self) -> None:
        """It stays."""
