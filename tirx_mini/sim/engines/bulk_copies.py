"""TMA copies in flight, bulk groups, and the data movement of loads and stores."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import field
from typing import ClassVar

import numpy as np

from tirx_mini.ir import Span
from tirx_mini.records import dataclass

from ..facts import Origin
from ..machine import Cta, Mbarrier, Wait
from ..ordering import Actor, Agent, KnownValue, Operation, Proxy, Strong
from .batched import load_each
from .tensor_map import BoxCopier


@dataclass(eq=False, slots=True)
class BulkCopy:
    """A copy in flight. warp: the number of the issuing warp in its CTA.

    targets: for a load, the receiving CTAs, each with the barrier that is signalled there. parts: for each target, the
        agent of its bytes, which a wait for its barrier acquires.
    source: the source of a store: its map, the byte of shared memory, and the writes found there.
    moved: the start and end of the transfer to or from shared memory, in cycles.
    """

    cta: Cta
    warp: int
    agent: Agent
    copier: BoxCopier
    coords: tuple[int, ...]
    offset: int
    role: str
    span: Span | None
    issued: float
    targets: Sequence[tuple[Cta, Mbarrier]] = ()
    reduce: str | None = None
    parts: Sequence[Agent] = ()
    groups: BulkGroups | None = field(default=None, init=False)
    read_done: bool = field(default=False, init=False)
    write_done: bool = field(default=False, init=False)
    read_time: float = field(default=0.0, init=False)
    write_time: float = field(default=0.0, init=False)
    read_epoch: int = field(default=0, init=False)
    source: Hashable = field(default=None, init=False)
    moved: tuple[float, float] = field(default=(0.0, 0.0), init=False)

    @property
    def operation(self) -> Operation:
        """The kind of copy: a load, a store or a reduction."""
        if self.targets:
            return Operation.TMA_LOAD
        return Operation.TMA_STORE if self.reduce is None else Operation.TMA_REDUCE

    @property
    def cluster_index(self) -> int:
        return self.cta.cluster.index

    @property
    def event(self) -> str:
        return f"the {self.operation} of {self.role} at {f'line {self.span.user.line}' if self.span else 'its start'}"

    def delay(self, now: float) -> None:
        """Do nothing: a copy has no time of its own."""


@dataclass
class BulkWait(Wait):
    """A wait at cp.async.bulk.wait_group. read: whether it waits for reads of the sources rather than for writes."""

    instruction: ClassVar[str] = "bulk-group"
    read: bool


@dataclass
class BulkGroups:
    """The bulk groups of one thread: `open` collects copies until the next commit (PTX ISA: "bulk async-group")."""

    open: list[BulkCopy] = field(default_factory=list[BulkCopy])
    committed: list[list[BulkCopy]] = field(default_factory=list[list[BulkCopy]])
    finished: dict[int, int] = field(default_factory=dict[int, int])
    """The agents and epochs of completed copies whose writes the thread has not waited for."""
    elected: bool = False
    """Whether elect.sync had chosen the thread at its last copy."""
    waiter: Wait | None = None
    needs: tuple[int, bool] = (0, False)
    """The condition of the wait: the maximum number of pending groups, and whether `.read`."""


@dataclass(frozen=True)
class Incoming:
    """A TMA load into the shared memory of a CTA. epoch: of its agent. buffer: the source. role, span: the issuer."""

    epoch: int
    buffer: str
    role: str
    span: Span | None


def move_load(copy: BulkCopy) -> None:
    """Write the box of a load into shared memory."""
    copier, probe = copy.copier, copy.cta.gpu.probe
    if copy.cta.cluster.width:
        for cta, _ in copy.targets:
            load_each(copier, copy.coords, cta, copy.offset)
        return
    if copier.constant and probe is None and copy.cta.cluster.order.shortcut(_bring, copy):
        return
    data = copier.read(copy.coords)
    for (cta, _), agent in zip(copy.targets, copy.parts, strict=True):
        actor = actor_of(copy)
        actor.agent, actor.form = agent, (copier, copy.offset, copy.coords)
        actor.cta = (copy.cta.cluster.index, copy.cta.rank)
        copier.read_shadow(copy.coords, actor)
        actor.cta = None  # its mbarrier orders the readers of its bytes
        if copier.segment is None:  # nothing writes the source
            actor.value = KnownValue((copier.name, copy.coords, copy.offset))
        if cta.alive:
            if copy.offset < cta.barriers_end:
                by = Origin(copy.role, copy.role, cta.name, copy.span)
                cta.written(by, copy.offset, copier.box_bytes, "TMA load")
            cta.smem.shadow.write(copy.offset, copy.offset + copier.box_bytes, actor)
            copier.write_smem(cta.smem, copy.offset, data if probe is None else probe.loaded(copy, cta, data))


def move_store(copy: BulkCopy, data: np.ndarray) -> None:
    """Write the box of a store into global memory."""
    actor = actor_of(copy)
    actor.cta = (copy.cta.cluster.index, copy.cta.rank)
    if copy.reduce is None:
        actor.value = KnownValue((copy.coords, copy.source), (copy.cta.cluster.index, copy.cta.rank))
        copy.copier.write_shadow(copy.coords, actor)
        copy.copier.write(copy.coords, data)
    else:
        copy.copier.reduce_shadow(copy.coords, actor)
        copy.copier.reduce(copy.coords, data, copy.reduce)


def _bring(copy: BulkCopy) -> bool:
    """Place the box of a constant tensor into shared memory lazily, without converting its elements."""
    box = copy.copier.loaded(copy.coords)
    for cta, _ in copy.targets:
        if cta.alive:
            cta.smem.bring(copy.offset, box)
    return True


def take_store(copy: BulkCopy) -> np.ndarray:
    """Read the box of a store from shared memory."""
    smem, stop = copy.cta.smem, copy.offset + copy.copier.box_bytes
    smem.shadow.read(copy.offset, stop, actor_of(copy))
    data = copy.copier.read_smem(smem, copy.offset)
    copy.source = (copy.copier.tensor_map.var.name, copy.offset, smem.shadow.written(copy.offset, stop))
    return data


def actor_of(copy: BulkCopy, cluster: int | None = None) -> Actor:
    """Return the actor of a copy's accesses. cluster: its number, if it differs from the CTA's clock domain."""
    cluster = copy.cta.cluster.domain if cluster is None else cluster
    actor = Actor(copy.agent, cluster, Proxy.ASYNC, copy.operation, copy.role, copy.span, copy.issued)
    if copy.reduce is not None:  # relaxed, at the scope of the GPU (PTX ISA: "cp.reduce.async.bulk.tensor")
        actor.strong = Strong("gpu", (copy.cta.cluster.index, copy.cta.rank), copy.copier.dtype.itemsize)
    return actor
