"""Actors, threads and proxies of memory accesses."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np

from tirx_mini.ir import Span
from tirx_mini.records import dataclass

from .clocks import BEFORE, Agent, Snapshot
from .operations import CtaPlace, KnownValue, Operation, Proxy, Strong, is_wide

ELECTED_LANE = 64
"""The offset added to the number of a lane that elect.sync chose; any lane may be chosen (PTX ISA: "elect.sync")."""

LANES_TOGETHER = 33
"""The lane number of an access in which all lanes of a set read, or write the same value to, one location."""

COLLECTIVE = 34
"""The lane number of a collective access, in which the lanes of a warp access data for one another (PTX ISA:
"stmatrix")."""


class Access:
    """The accesses of one operation to a memory.

    The attributes are those of its `Actor` at the issue.

    known: the epoch of each agent up to which its accesses happen before these.
    released: for a strong write, the releases that an acquire of its value observes. repeated: whether it represents
        several accesses.
    """

    __slots__ = (
        "agent", "cluster", "cta", "decides", "epoch", "form", "known", "operation", "parted", "pipeline", "proxy",
        "released",
        "repeated", "role", "span", "strong", "time", "value", "warp", "word", "write",
    )  # fmt: skip

    def __init__(self, actor: Actor, write: bool) -> None:
        self.agent = actor.agent.index
        self.epoch = actor.agent.epoch
        self.known = actor.agent.known
        self.cluster = actor.cluster
        self.proxy = actor.proxy
        self.write = write
        self.operation = actor.operation
        self.pipeline = actor.pipeline
        self.value = actor.value
        self.role = actor.role
        self.span = actor.span
        self.time = actor.time
        self.warp = actor.agent.warp
        self.parted = actor.parted
        self.word = actor.word
        self.strong = actor.strong
        self.released: tuple[Release, ...] = ()
        self.repeated = False
        self.decides = actor.decides
        self.cta = actor.cta
        self.form = actor.form


@dataclass(frozen=True, eq=False)
class Release:
    """The release of a thread's write (PTX ISA: "Release and Acquire Patterns").

    clocks: of everything that happens before it, like those of an agent. scope, place: of the release operation or
        fence.
    each: for a joint release of many threads, the individual releases.
    """

    clocks: Any
    scope: str
    place: CtaPlace
    each: Callable[[], Iterator[Release]] | None = None

    @property
    def wide(self) -> bool:
        """Return whether the scope includes all threads of the launch."""
        return is_wide(self.scope)


class Actor:
    """The source of a memory access: its agent, threads and proxy.

    agent: the agent whose clocks order the access. cluster: its number.
    role: the warp that issued the operation, with its CTA. span: the location. time: in cycles.
    tcgen05: whether these are accesses of tcgen05 operations, which `fence::after_thread_sync` of the issuing thread
        orders after others.
    fenced: the ORDER clock of that thread at its last such fence.
    own: the agents whose accesses need no such fence, because the same thread issued and awaited them.
    handed: the agents whose operations another thread handed over without the fence before its synchronisation.
    value: for a write, its value, if that is known to be the same in every order of events.
    awaited: the epoch of the agent up to which its thread has waited for its unordered operations; None if they are
        ordered among themselves.
    ordered: the epoch up to which a commit or a fence of its thread has ordered them since, without a wait.
    pipeline: the key of operations of the agent that may still be ordered with others.
    preceded: the pipelines that it follows, in the order of issue (PTX ISA: "Pipelined tcgen05 Instructions").
    issued: for an asynchronous operation, the issuing agent and its epoch; else None.
    lanes: for a warp's access, the accessing lane, or int8 with the lane for each granule; None for an engine.
    strong: set for an access with a memory order that is not weak; else None.
    tested: whether a condition of the thread may depend on the value that a strong load finds.
    decides: for an atomic operation, whether the thread's next operations depend on the old value.
    thread: for an operation of the tensor core, the warp and the lane (as `word`) that issued it.
    stored: for a pending store, the items of memory, the indices that it writes, and the values.
    cta: for a copy from or to global memory, the issuing CTA: each CTA has its own async proxy.
    word: the active lanes, lane 0 lowest. parted: the number of divergences and reconvergences of the warp so far.
    form: for a write, the interpretation of the bytes: a layout, or a dtype; None if unknown.
    """

    __slots__ = (
        "agent", "awaited", "cluster", "cta", "decides", "fenced", "form", "handed", "issued", "lanes", "operation",
        "ordered", "own", "parted", "pipeline", "preceded", "proxy", "role", "span", "stored", "strong", "tcgen05",
        "tested", "thread", "time", "value", "word",
    )  # fmt: skip

    def __init__(
        self,
        agent: Agent | Snapshot,
        cluster: int,
        proxy: Proxy,
        operation: Operation,
        role: str,
        span: Span | None = None,
        time: float = 0.0,
    ) -> None:
        self.agent = agent
        self.cluster = cluster
        self.proxy = proxy
        self.operation = operation
        self.role = role
        self.span = span
        self.time = time
        self.tcgen05 = False
        self.fenced: Any = None
        self.own: tuple[int, ...] = ()
        self.handed: tuple[int, ...] = ()
        self.value: KnownValue | None = None
        self.thread: tuple[int, int] | None = None
        self.awaited: int | None = None
        self.ordered = 0
        self.pipeline: Hashable = None
        self.preceded: tuple[Hashable, ...] = ()
        self.issued = agent.forked
        self.lanes: int | np.ndarray | None = None
        self.word = 0
        self.parted = 0
        self.strong: Strong | None = None
        self.decides = False
        self.tested = True
        self.cta: CtaPlace | None = None
        self.stored: tuple[np.ndarray, Any, Any] | None = None
        self.form: Any = None

    def crosses(self, access: Access) -> bool:
        """Return whether an earlier access is visible to this actor only after fence.proxy.async (PTX ISA: "Causality
        Order").

        The end of a copy makes its bytes visible to threads, and to the async proxy of its own CTA.
        """
        if access.proxy is Proxy.GENERIC:
            return self.proxy is Proxy.ASYNC
        return access.write and access.cta != self.cta and None not in (access.cta, self.cta)

    def sees(self, access: Access) -> bool:
        """Return whether the issuing thread made an access itself or executed fence::after_thread_sync after it."""
        agent, epoch = access.agent, access.epoch
        if self.thread == (access.warp, access.word):
            return True
        if agent in self.own or agent == self.agent.index or agent in self.handed:
            return True
        return self.fenced is not None and agent < len(self.fenced) and self.fenced.item(agent) >= epoch

    def issued_before(self, access: Access) -> bool:
        """Return whether this operation is issued before an access of the same cluster in every order."""
        if self.issued is None or access.cluster != self.cluster:
            return False
        issuer, epoch = self.issued
        if access.agent == issuer:
            return access.epoch > epoch
        return issuer < len(access.known) and access.known.item(issuer) >= epoch

    def follows(self, agent: int, epoch: int) -> bool:
        """Return whether the thread of `agent` executed fence::before_thread_sync between an access and its release."""
        if agent in self.own or agent == self.agent.index:
            return True
        clocks = self.agent.clocks
        return agent < clocks.shape[1] and clocks.item(BEFORE, agent) >= epoch
