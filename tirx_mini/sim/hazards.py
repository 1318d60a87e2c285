"""Conflicts in the memories of a machine, with their source names."""

from __future__ import annotations

from collections.abc import Hashable
from enum import Enum, auto

from tirx_mini.hardware import TMEM_COLUMNS
from tirx_mini.ir import Span
from tirx_mini.records import dataclass

from .engines import TmemAccesses
from .facts import Fact, Origin
from .machine import Element, Gpu, ResidentCluster, ResidentCta, element_of
from .ordering import Access, Actor, Conflict, ConflictKind, Operation, Strong


class Space(Enum):
    """A memory in which hazards occur."""

    SHARED = auto()
    TENSOR = auto()
    GLOBAL = auto()


class HazardKind(Enum):
    """The consequence of a conflict."""

    RACE = auto()
    IDENTICAL_WRITES = auto()
    """Two unordered writes that leave the same bytes: always, or (by threads) in this run."""
    EQUAL_STORES = auto()
    """Two such writes by threads, of values that the program alone determines."""
    UNPAIRED = auto()
    """Two tensor-core operations of one thread whose order the ISA leaves open and hardware preserves."""
    MISSING_TMEM_WAIT = auto()
    """A tcgen05.ld or .st in flight, because its own warp has not waited for it."""
    MISSING_PROXY_FENCE = auto()
    MISSING_READ_FENCE = auto()
    """No fence.proxy.async lies between a read and a later write by the async proxy."""
    MISSING_FENCE_AFTER = auto()
    """No tcgen05.fence::after_thread_sync lies between the accesses."""
    MISSING_FENCE_BEFORE = auto()
    """No tcgen05.fence::before_thread_sync lies between the accesses."""
    RELEASE_SCOPE = auto()
    """Between a write and a read of two CTAs, only an arrival that releases at the scope of a CTA."""
    ACQUIRE_SCOPE = auto()
    """Only a wait that acquires at the scope of a CTA, after an arrival at that of the cluster."""
    SLOT_SCOPE = auto()
    """As `RELEASE_SCOPE`, where the later access writes: the arrival gives a slot back."""
    UNINITIALISED = auto()
    LOST_REDUCTION = auto()
    """An unordered store and reduction, both strong: the later one determines the value."""


_KINDS = {
    ConflictKind.RACE: HazardKind.RACE,
    ConflictKind.UNPAIRED: HazardKind.UNPAIRED,
    ConflictKind.PROXY: HazardKind.MISSING_PROXY_FENCE,
    ConflictKind.PROXY_READ: HazardKind.MISSING_READ_FENCE,
    ConflictKind.TCGEN05_AFTER: HazardKind.MISSING_FENCE_AFTER,
    ConflictKind.TCGEN05_BEFORE: HazardKind.MISSING_FENCE_BEFORE,
    ConflictKind.RELEASE_SCOPE: HazardKind.RELEASE_SCOPE,
    ConflictKind.ACQUIRE_SCOPE: HazardKind.ACQUIRE_SCOPE,
    ConflictKind.SLOT_SCOPE: HazardKind.SLOT_SCOPE,
    ConflictKind.UNINITIALISED: HazardKind.UNINITIALISED,
    ConflictKind.LOST_REDUCTION: HazardKind.LOST_REDUCTION,
}


@dataclass(frozen=True)
class Extent:
    """A range of a memory.

    buffer: its source name, None without a buffer. first, last: its elements (shared and global memory).
    low, high: in bytes of shared memory without a buffer; the first and last column of tensor memory.
    others: arguments that overlap this one in memory.
    beside: for unwritten tensor memory, the MMA with M = 64 that wrote the other 16 of each 32 lanes, if there is one.
    """

    space: Space
    buffer: str | None
    first: Element | None
    last: Element | None
    low: int
    high: int
    others: tuple[str, ...] = ()
    beside: Access | None = None


@dataclass(frozen=True)
class LastWait:
    """The last wait of a role before a hazard. barrier: the mbarrier's buffer. span: of the wait."""

    barrier: str
    span: Span | None


@dataclass(frozen=True)
class Hazard(Fact):
    """An access that conflicts with an earlier one, or reads uninitialised memory. origin: of the access.

    operation, writes, time: of the access; time in cycles, at its issue.
    earlier: the access that was simulated first, None for an uninitialised read.
    extent: the memory range. foreign: whether the earlier access is by another cluster.
    strong: set for an access with a memory order that is not weak.
    overtaken: whether this access belongs to an operation issued before the earlier one in every order.
    cluster: None in global memory. waited: for an uninitialised read.
    """

    kind: HazardKind
    operation: Operation
    writes: bool
    time: float
    earlier: Access | None
    extent: Extent
    foreign: bool
    cluster: ResidentCluster | None
    waited: LastWait | None
    overtaken: bool = False
    strong: Strong | None = None

    @property
    def other(self) -> Span | None:
        return self.earlier and self.earlier.span

    @property
    def variety(self) -> Hashable:
        return _variety(self.kind)


@dataclass(frozen=True)
class LaneHazard(Fact):
    """Unordered accesses of two lanes of one warp to one location. origin: of the later access; the other fields are as
    in `Hazard`.

    elected: whether the two are ordered if elect.sync chose the lowest lane. parted: whether lanes diverged between the
    two, so that even the compiler does not keep them converged. kept: whether the compiler keeps both in place, as it
    does strong and asynchronous accesses. travelled: whether a write has its value from the earlier read, through other
    lanes.
    """

    operation: Operation
    writes: bool
    earlier: Access
    extent: Extent
    elected: bool
    parted: bool
    kept: bool = False
    travelled: bool = False

    @property
    def other(self) -> Span | None:
        return self.earlier.span


def _variety(kind: HazardKind) -> HazardKind:
    """Return the variety of a hazard; a missing pair of tcgen05 fences is reported once."""
    return HazardKind.MISSING_FENCE_AFTER if kind is HazardKind.MISSING_FENCE_BEFORE else kind


_BY_THREADS = (Operation.LOAD, Operation.STORE, Operation.ATOMIC)


def _kept(earlier: Access, actor: Actor) -> bool:
    """Return whether the compiler preserves the order of two accesses; it may keep plain values in registers."""
    asynchronous = earlier.operation not in _BY_THREADS or actor.operation not in _BY_THREADS
    return asynchronous or (earlier.strong is not None and actor.strong is not None)


def _beside(conflict: Conflict, unit: int) -> Access | None:
    """Return the MMA that wrote the other half of a warp's lanes beside an unwritten lane group."""
    group, column = divmod(unit, TMEM_COLUMNS)
    number = conflict.segment.writes[group ^ 1, column].item()
    written = conflict.segment.log.accesses[number] if number > 0 else None
    return written if written is not None and written.operation is Operation.TCGEN05_MMA else None


class HazardWatch:
    """A converter of conflicts in one memory of a CTA, or in global memory, into facts."""

    def __init__(self, gpu: Gpu, tmem: TmemAccesses, space: Space, cta: ResidentCta | None) -> None:
        self._gpu = gpu
        self._tmem = tmem
        self._space = space
        self._cta = cta

    def __call__(self, conflict: Conflict) -> None:
        """Record a conflict."""
        earlier, actor, facts = conflict.earlier, conflict.actor, self._gpu.facts
        if earlier is not None and conflict.kind in (ConflictKind.LANES, ConflictKind.ELECTED_LANE):
            self._lanes(conflict, earlier)
            return
        variety = _variety(_KINDS[conflict.kind])
        if facts.seen(Hazard, actor.span, earlier and earlier.span, variety):
            return
        cta = self._cta
        kind = self._kind(conflict)
        origin = Origin(actor.role, actor.role, cta.name if cta else "", actor.span)
        foreign = earlier is not None and earlier.cluster != actor.cluster
        waited = self._last_wait(actor.role) if kind is HazardKind.UNINITIALISED else None
        facts.record(
            Hazard(
                origin, kind, actor.operation, conflict.writes, actor.time, earlier, self._extent(conflict), foreign,
                cta.cluster if cta else None, waited, earlier is not None and actor.issued_before(earlier),
                actor.strong,
            )
        )  # fmt: skip

    def _lanes(self, conflict: Conflict, earlier: Access) -> None:
        """Record a conflict among the lanes of a warp."""
        actor, facts, cta = conflict.actor, self._gpu.facts, self._cta
        if facts.seen(LaneHazard, actor.span, earlier.span):
            return
        origin = Origin(actor.role, actor.role, cta.name if cta else "", actor.span)
        elected, parted = conflict.kind is ConflictKind.ELECTED_LANE, earlier.parted != actor.parted
        if conflict.writes and earlier.write and actor.value is not None and actor.value.is_the_same(earlier.value):
            return  # the same bytes in every order
        reads: frozenset[Span] = frozenset()
        if actor.span is not None:
            reads = self._gpu.image.travelled.get(actor.span, reads)
        facts.record(
            LaneHazard(
                origin, actor.operation, conflict.writes, earlier, self._extent(conflict), elected, parted,
                _kept(earlier, actor), not earlier.write and earlier.span in reads,
            )
        )  # fmt: skip

    def _kind(self, conflict: Conflict) -> HazardKind:
        earlier, actor = conflict.earlier, conflict.actor
        if conflict.kind is not ConflictKind.RACE or earlier is None:
            return _KINDS[conflict.kind]
        if earlier.write and conflict.writes:
            known = actor.value is not None and actor.value.is_the_same(earlier.value)
            if actor.operation is earlier.operation is Operation.STORE and (known or not conflict.changes()):
                fixed = self._gpu.image.fixed
                return HazardKind.EQUAL_STORES if {actor.span, earlier.span} <= fixed else HazardKind.IDENTICAL_WRITES
            if known:
                return HazardKind.IDENTICAL_WRITES
        if self._cta is None or earlier.operation not in (Operation.TCGEN05_LD, Operation.TCGEN05_ST):
            return HazardKind.RACE
        awaited = self._tmem.awaited(self._cta.cluster, earlier.agent, earlier.epoch)
        return HazardKind.RACE if awaited else HazardKind.MISSING_TMEM_WAIT

    def _last_wait(self, role: str) -> LastWait | None:
        """Return the last completed wait of a role for an mbarrier of the cluster."""
        if self._cta is None:
            return None
        barriers = [barrier for barrier in self._cta.cluster.mbarriers() if barrier.expected]
        waits = [(w.time, b, w.span) for b in barriers if (w := b.history.waits.get(role)) is not None]
        if not waits:
            return None
        _, barrier, span = max(waits, key=lambda wait: wait[0])
        return LastWait(barrier.element.buffer, span)

    def _extent(self, conflict: Conflict) -> Extent:
        low, high = conflict.extent()
        if self._space is Space.TENSOR:  # units are (lane group, column), row by row
            names = self._gpu.image.tmem_names
            first, last = sorted((low % TMEM_COLUMNS, (high - 1) % TMEM_COLUMNS))
            beside = _beside(conflict, low) if conflict.earlier is None else None
            name = names[0] if len(names) == 1 else None
            return Extent(self._space, name, None, None, first, last, beside=beside)
        if self._space is Space.SHARED:
            buffer = self._gpu.locator.find(low)
            if buffer is None:
                return Extent(self._space, None, None, None, low, high)
            start, others = buffer.byte_offset, ()
        else:
            memory, start = self._gpu.memory, 0
            buffer = memory.buffers[next(s for s, segment in memory.segments.items() if segment is conflict.segment)]
            others = memory.others(buffer.slot)
        size = buffer.dtype.itemsize
        first, last = (low - start) // size, min(buffer.size - 1, (max(low, high - 1) - start) // size)
        elements = element_of(buffer, first), element_of(buffer, max(first, last))
        return Extent(self._space, buffer.name, *elements, low, high, others)
