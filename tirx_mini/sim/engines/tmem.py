"""Allocation of tensor memory: columns of an SM, assigned to CTAs (PTX ISA: "tcgen05.alloc")."""

from __future__ import annotations

from collections.abc import Generator, Hashable
from enum import Enum, auto
from typing import ClassVar

from tirx_mini.hardware import TMEM_ALLOCATIONS, TMEM_COLUMNS
from tirx_mini.ir import Span
from tirx_mini.records import dataclass, replace

from ..doubts import Doubt
from ..facts import Fact, Fault
from ..machine import Cta, Sm, Wait, Warp
from ..ordering import Actor, Operation, Proxy, UncheckedCausality
from .tcgen05_facts import FreedBeforePeer
from .unread import keep_unread

MIN_COLUMNS = TMEM_ALLOCATIONS[0]


@dataclass
class ColumnsWait(Wait):
    """A wait at tcgen05.alloc for free columns.

    columns: requested; free: on the SM; held: by the CTA itself, allocated at the locations `blocks`.
    """

    instruction: ClassVar[str] = "tcgen05.alloc"
    looks: ClassVar[bool] = True
    columns: int
    free: int
    held: int
    blocks: tuple[Span | None, ...] = ()


@dataclass
class PairWait(Wait):
    """A wait at tcgen05.alloc with cta_group=2 for the peer CTA."""

    instruction: ClassVar[str] = "tcgen05.alloc"
    looks: ClassVar[bool] = True


@dataclass(frozen=True)
class Block:
    """An allocation: first column, number of columns, and source location. whole: whether no part of it was freed."""

    column: int
    columns: int
    cta_group: int
    span: Span | None
    whole: bool = True

    def covers(self, column: int, columns: int) -> bool:
        """Return whether the allocation contains a range of columns."""
        return self.column <= column and column + columns <= self.column + self.columns


@dataclass(frozen=True)
class Freed:
    """A freed allocation. agent, epoch, role, span: of its dealloc."""

    block: Block
    agent: int
    epoch: int
    role: str
    span: Span | None

    def before(self, w: Warp) -> bool:
        """Return whether the warp's next access follows the dealloc in every order; in an unchecked run, in program
        order.
        """
        if isinstance(w.cta.cluster.causality, UncheckedCausality):
            return w.place == self.role
        return w.agent.happens_after(self.agent, self.epoch)


# -- facts ---------------------------------------------------------------------------------------------------------


class AllocRule(Enum):
    """A requirement of tcgen05.alloc (PTX ISA: "tcgen05.alloc")."""

    POWER_OF_TWO = auto()
    """The number of columns is a power of two from 32 up to all columns."""
    NOT_GROWING = auto()
    """The number of columns does not exceed that of the CTA's previous allocation."""
    PAIR_AGREES = auto()
    """With cta_group=2, both CTAs request the same number of columns."""


@dataclass(frozen=True)
class BadAllocation(Fact):
    """tcgen05.alloc of an invalid number of columns. other_columns: the number that limits it."""

    broken: AllocRule
    columns: int
    other_columns: int = 0

    @property
    def variety(self) -> Hashable:
        return self.broken


@dataclass(frozen=True)
class AllocWithoutPermit(Fact):
    """tcgen05.alloc after the CTA has relinquished its permit, at `relinquished`."""

    relinquished: Span | None


@dataclass(frozen=True)
class BadDealloc(Fact):
    """tcgen05.dealloc of columns that do not match an allocation of the CTA. held: its allocations; freed: the last
    dealloc."""

    address: int
    columns: int
    held: tuple[Block, ...]
    freed: Span | None


@dataclass(frozen=True)
class FreedTwice(Fact):
    """tcgen05.dealloc of columns that are already free. first: the dealloc that freed them; ordered: whether it came
    before."""

    address: int
    columns: int
    first: Freed
    ordered: bool

    @property
    def other(self) -> Span | None:
        return self.first.span

    @property
    def variety(self) -> Hashable:
        return self.ordered


@dataclass(frozen=True)
class MixedCtaGroups(Fact):
    """A tcgen05 instruction whose cta_group differs from that of earlier ones."""

    cta_group: int
    before: int


@dataclass(frozen=True)
class NoPair(Fact):
    """A tcgen05 instruction with cta_group=2 in a CTA without a peer. instruction: in PTX, "" for an MMA."""

    instruction: str


@dataclass(frozen=True)
class TmemNotHeld(Fact):
    """An access to columns that the CTA has not allocated.

    operation: the access. column, columns: the range. held: its allocations; freed: the last dealloc. taken: whether
    another CTA has allocated the columns since.
    """

    operation: Operation
    column: int
    columns: int
    held: tuple[Block, ...]
    freed: Span | None
    taken: bool = False


@dataclass(frozen=True)
class TmemAtExit(Fact):
    """The end of a CTA that still holds tensor memory. columns: their number."""

    columns: int


class TmemColumns:
    """The allocation state of an SM's tensor-memory columns, in units of 32."""

    def __init__(self) -> None:
        self.taken = [False] * (TMEM_COLUMNS // MIN_COLUMNS)
        self.waiters: list[Wait] = []

    def find(self, columns: int, also: TmemColumns | None = None) -> int | None:
        """Return the first column of a free range in this pool (and in `also`), or None."""
        count = columns // MIN_COLUMNS
        for first in range(len(self.taken) - count + 1):
            units = range(first, first + count)
            if not any(self.taken[u] or (also is not None and also.taken[u]) for u in units):
                return first * MIN_COLUMNS
        return None

    def any_taken(self, column: int, columns: int) -> bool:
        """Return whether any of the columns is allocated."""
        return any(self.taken[column // MIN_COLUMNS : -(-(column + columns) // MIN_COLUMNS)])

    def mark(self, column: int, columns: int, taken: bool) -> None:
        """Allocate or free a range; freed columns wake the waiting warps."""
        for unit in range(column // MIN_COLUMNS, (column + columns) // MIN_COLUMNS):
            self.taken[unit] = taken
        if not taken:
            waiters, self.waiters = self.waiters, []
            for wait in waiters:
                wait.warp.gpu.wake(wait.warp, wait.warp.gpu.clock.now)


class TmemAllocator:
    """The tensor memory of one CTA."""

    def __init__(self, allocators: TmemAllocators, cta: Cta) -> None:
        self._allocators = allocators
        self.cta = cta
        self.columns = allocators.columns(cta.sm)
        self.blocks: dict[int, Block] = {}
        self.relinquished: Span | None = None
        self.given_up = False
        self.freed: list[Freed] = []
        self.cta_group = 0
        self._last_columns = TMEM_COLUMNS
        self._asked: list[int] = []  # columns of each allocation so far
        self._asking: tuple[int, Warp] | None = None
        self._granted: int | None = None
        self.allocated: tuple[int, int] | None = None  # the agent and the epoch of the last allocation
        self.peer_allocated: tuple[int, int] | None = None  # that of the pair's other CTA, which has ended
        self._met = False  # whether it followed an operation of the peer CTA

    @property
    def peer(self) -> TmemAllocator | None:
        """The allocator of the peer CTA, if the cluster has one."""
        ctas = self.cta.cluster.ctas
        rank = self.cta.rank ^ 1
        return self._allocators.of(ctas[rank]) if rank < len(ctas) else None

    # -- instructions --------------------------------------------------------------------------------------------

    def alloc(self, w: Warp, columns: int, cta_group: int) -> Generator[Wait, None, int]:
        """Execute tcgen05.alloc: block until `columns` are free, and return their address."""
        w.require_converged("tcgen05.alloc")
        self.use_group(w, cta_group)
        if columns not in TMEM_ALLOCATIONS:
            raise Fault(BadAllocation(w.origin, AllocRule.POWER_OF_TWO, columns))
        if self.given_up:
            raise Fault(AllocWithoutPermit(w.origin, self.relinquished))
        if columns > self._last_columns:
            w.gpu.facts.record(BadAllocation(w.origin, AllocRule.NOT_GROWING, columns, self._last_columns))
        self._last_columns = columns
        self._note_doubt(w, columns, cta_group)
        column = yield from self._pair_alloc(w, columns) if cta_group == 2 else self._own_alloc(w, columns)
        block = self.blocks[column] = Block(column, columns, cta_group, w.span)
        self.freed = [old for old in self.freed if not block.covers(old.block.column, 1)]
        self.cta.tmem.clear(column, columns)
        self.allocated = w.agent.index, w.agent.epoch
        return column

    def _note_doubt(self, w: Warp, columns: int, cta_group: int) -> None:
        """Record a CTA that may hold columns while it waits for more, which makes the order of allocations relevant.

        CTAs that allocate only once, for themselves or with their pair, wait only for other CTAs to end.
        """
        self._asked.append(columns)
        launch, architecture = w.gpu.image.launch, w.gpu.spec.architecture
        fits = architecture.smem_per_sm // (launch.smem_bytes + architecture.smem_reserved)
        resident = max(1, min(fits, architecture.threads_per_sm // (launch.warps * 32), architecture.ctas_per_sm))
        once = len(self._asked) == 1 and len(self.cta.cluster.ctas) == cta_group
        if not once and sum(self._asked) * resident > TMEM_COLUMNS:
            w.gpu.doubts.record(Doubt.COLUMNS, w.origin, "tensor memory")

    def _own_alloc(self, w: Warp, columns: int) -> Generator[Wait, None, int]:
        pool = self.columns
        while (column := pool.find(columns)) is None:
            yield self._wait_for_columns(w, columns)
        pool.mark(column, columns, True)
        return column

    def _wait_for_columns(self, w: Warp, columns: int) -> Wait:
        pool = self.columns
        held = sum(b.columns for b in self.blocks.values())
        free = TMEM_COLUMNS - pool.taken.count(True) * MIN_COLUMNS
        places = tuple(block.span for block in self.blocks.values())
        wait = ColumnsWait(w, w.time, w.span, columns, free, held, places)
        pool.waiters.append(wait)
        return wait

    def _pair_alloc(self, w: Warp, columns: int) -> Generator[Wait, None, int]:
        """Allocate for both CTAs of a pair together, at a common address."""
        peer = self._peer(w, "tcgen05.alloc")
        self._met = peer.cta.known_to(w)
        self._asking, self._granted = (columns, w), None
        while self._granted is None:
            if peer._asking is None:
                yield PairWait(w, w.time, w.span)
                continue
            if peer._asking[0] != columns:
                raise Fault(BadAllocation(w.origin, AllocRule.PAIR_AGREES, columns, peer._asking[0]))
            column = self.columns.find(columns, peer.columns)
            if column is None:
                yield self._wait_for_columns(w, columns)
                continue
            for side in (self, peer):
                side.columns.mark(column, columns, True)
                side._granted = column
            w.gpu.wake(peer._asking[1], w.time)
        self._asking = None
        return self._granted

    def dealloc(self, w: Warp, address: int, columns: int, cta_group: int) -> None:
        """Execute tcgen05.dealloc: free an allocation.

        The columns keep their contents until the next allocation.

        The ISA allows, but does not require, a pair's first warp to wait for the other CTA's; here it does not.

        ptxas guards each dealloc by two bit masks of columns in shared memory: it traps if the columns are not marked
        as allocated, or do not begin at an allocation. It passes if two warps test before either clears the marks, or
        if fewer columns are freed than were allocated.
        """
        w.require_converged("tcgen05.dealloc")
        self.use_group(w, cta_group)
        block = self.blocks.get(address)
        if block is None and self._freed_twice(w, address, columns):
            return
        if cta_group == 2:
            self._check_peer(w)
        bad = BadDealloc(w.origin, address, columns, tuple(self.blocks.values()), self.last_freed)
        if block is None or not block.whole or not 0 < columns <= block.columns:
            raise Fault(bad)
        keep_unread(self.cta, address, columns)
        self.cta.tmem.shadow.write((slice(None), slice(address, address + columns)), _actor(w))
        del self.blocks[address]
        if columns < block.columns:
            w.gpu.facts.record(bad)
            end = address + columns
            self.blocks[end] = replace(block, column=end, columns=block.columns - columns, whole=False)
        self.freed.append(Freed(replace(block, columns=columns), w.agent.index, w.agent.epoch, w.place, w.span))
        self.columns.mark(address, columns, False)

    def _check_peer(self, w: Warp) -> None:
        """Record a dealloc that may precede the return of the peer CTA's tcgen05.alloc."""
        peer = self.peer
        if peer is None or isinstance(self.cta.cluster.causality, UncheckedCausality):
            return
        allocated = peer.allocated or self.peer_allocated
        if allocated is None or not w.agent.happens_after(*allocated):
            w.gpu.facts.record(FreedBeforePeer(w.origin, peer.cta.name, self._met))

    def _freed_twice(self, w: Warp, address: int, columns: int) -> bool:
        """Return whether exactly these columns were freed before, and record it."""
        for first in self.freed:
            if (first.block.column, first.block.columns) == (address, columns):
                w.gpu.facts.record(FreedTwice(w.origin, address, columns, first, first.before(w)))
                return True
        return False

    @property
    def last_freed(self) -> Span | None:
        """The location of the CTA's last dealloc."""
        return self.freed[-1].span if self.freed else None

    def _peer(self, w: Warp, what: str) -> TmemAllocator:
        peer = self.peer
        if peer is None:
            raise Fault(NoPair(w.origin, what))
        return peer

    def relinquish(self, w: Warp) -> None:
        """Execute tcgen05.relinquish_alloc_permit."""
        w.require_converged("tcgen05.relinquish_alloc_permit")
        self.given_up = True
        self.relinquished = w.span

    # -- checks --------------------------------------------------------------------------------------------------

    def use_group(self, w: Warp, cta_group: int) -> None:
        """Check that all tcgen05 instructions of a kernel have the same cta_group."""
        if self.cta_group and self.cta_group != cta_group:
            raise Fault(MixedCtaGroups(w.origin, cta_group, self.cta_group))
        self.cta_group = cta_group

    def holds(self, column: int, columns: int) -> bool:
        """Return whether the CTA holds the columns at this time."""
        return any(block.covers(column, columns) for block in self.blocks.values())

    def check(self, w: Warp, column: int, columns: int, operation: Operation) -> None:
        """Record an access to columns that the CTA has freed; raise a fault if it never held them.

        A dealloc that is not ordered before the access is a race, which the shadow of tensor memory detects.
        """
        for block in self.blocks.values():
            if block.covers(column, columns):
                return
        held = tuple(self.blocks.values())
        freed = next((old for old in self.freed if old.block.covers(column, columns)), None)
        if freed is None:
            raise Fault(TmemNotHeld(w.origin, operation, column, columns, held, self.last_freed))
        taken = self.columns.any_taken(column, columns)
        if taken or freed.before(w):
            w.gpu.facts.record(TmemNotHeld(w.origin, operation, column, columns, (), freed.span, taken))
        if taken:
            self.cta.tmem.clear(column, columns)

    def end(self) -> None:
        """Record the columns that an ending CTA still holds. The columns become free in either case."""
        for block in self.blocks.values():
            self.cta.gpu.facts.record(TmemAtExit(self.cta.origin(block.span), block.columns))
            self.columns.mark(block.column, block.columns, False)


class TmemAllocators:
    """The tensor memory of the GPU: the columns of each SM, and the allocations of each CTA."""

    def __init__(self) -> None:
        self._columns: dict[int, TmemColumns] = {}
        self._allocators: dict[Cta, TmemAllocator] = {}

    def close(self) -> None:
        """Release the allocators, which refer to this object."""
        self._allocators.clear()

    def columns(self, sm: Sm) -> TmemColumns:
        """Return the columns of an SM."""
        columns = self._columns.get(sm.index)
        if columns is None:
            columns = self._columns[sm.index] = TmemColumns()
        return columns

    def of(self, cta: Cta) -> TmemAllocator:
        """Return the allocator of a CTA."""
        allocator = self._allocators.get(cta)
        if allocator is None:
            allocator = self._allocators[cta] = TmemAllocator(self, cta)
        return allocator

    def cta_ended(self, cta: Cta) -> None:
        """Record and free the columns that a CTA still holds."""
        if (allocator := self._allocators.pop(cta, None)) is not None:
            allocator.end()
            if (peer := allocator.peer) is not None:
                peer.peer_allocated = allocator.allocated


def _actor(w: Warp) -> Actor:
    """Return the actor of a dealloc."""
    return Actor(
        w.agent, w.cta.cluster.domain, Proxy.ASYNC, Operation.TCGEN05_DEALLOC, w.place, w.span, w.time
    )
