"""Allocation of tensor memory: columns of an SM, handed to CTAs (PTX ISA: "tcgen05.alloc")."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_mini.ir import Span

from .barriers import Wait
from .memory import TMEM_COLUMNS
from .shadow import GENERIC, Actor

if TYPE_CHECKING:
    from .machine import Cta
    from .warp import Warp

MIN_COLUMNS = 32


class TmemColumns:
    """Which columns of an SM's tensor memory are taken, in units of 32."""

    def __init__(self) -> None:
        self.taken = [False] * (TMEM_COLUMNS // MIN_COLUMNS)
        self.waiters: list[Wait] = []

    def find(self, columns: int, also: TmemColumns | None = None) -> int | None:
        """The first column of a free range here (and in `also`), or None."""
        count = columns // MIN_COLUMNS
        for first in range(len(self.taken) - count + 1):
            units = range(first, first + count)
            if not any(self.taken[u] or (also is not None and also.taken[u]) for u in units):
                return first * MIN_COLUMNS
        return None

    def mark(self, column: int, columns: int, taken: bool) -> None:
        """Take or free a range; those who wait for columns look again when some become free."""
        for unit in range(column // MIN_COLUMNS, (column + columns) // MIN_COLUMNS):
            self.taken[unit] = taken
        if not taken:
            waiters, self.waiters = self.waiters, []
            for wait in waiters:
                wait.warp.gpu.wake(wait.warp, wait.warp.gpu.clock.now)


@dataclass
class Block:
    """An allocation. freed: where it was, or None while it is held."""

    column: int
    columns: int
    cta_group: int
    span: Span | None


class TmemAllocator:
    """The tensor memory that one CTA holds."""

    def __init__(self, cta: Cta) -> None:
        self.cta = cta
        self.blocks: dict[int, Block] = {}
        self.relinquished: Span | None = None
        self.given_up = False
        self.freed: Span | None = None
        self.cta_group = 0
        self._last_columns = TMEM_COLUMNS
        self._asking: tuple[int, Warp] | None = None
        self._granted: int | None = None

    @property
    def peer(self) -> TmemAllocator | None:
        """The allocator of the pair's other CTA, where the cluster has one."""
        ctas = self.cta.cluster.ctas
        rank = self.cta.rank ^ 1
        return ctas[rank].allocator if rank < len(ctas) else None

    # -- instructions --------------------------------------------------------------------------------------------

    def alloc(self, w: Warp, columns: int, cta_group: int) -> Generator[Wait, None, int]:
        """tcgen05.alloc: block until `columns` are free, and return their address."""
        w.require_converged("tcgen05.alloc")
        self.use_group(w, cta_group)
        if columns not in (32, 64, 128, 256, 512):
            raise w.fault(
                "tmem-allocation",
                f"tcgen05.alloc of {columns} columns: the number must be a power of two from "
                f"{MIN_COLUMNS} to {TMEM_COLUMNS}",
                rule="PTX ISA: tcgen05.alloc",
            )
        if self.given_up:
            raise w.fault(
                "tmem-allocation",
                "tcgen05.alloc after the CTA gave up its permit to allocate",
                rule="PTX ISA: tcgen05.relinquish_alloc_permit",
                notes=(("the permit was given up here", self.relinquished),),
                hint="allocate first, and relinquish the permit at the end, before dealloc",
            )
        if columns > self._last_columns:
            w.report(
                "tmem-allocation",
                "error",
                f"tcgen05.alloc of {columns} columns after one of {self._last_columns}: "
                "a CTA's allocations must not grow",
                rule="PTX ISA: tcgen05.alloc",
            )
        self._last_columns = columns
        column = yield from self._pair_alloc(w, columns) if cta_group == 2 else self._own_alloc(w, columns)
        self.blocks[column] = Block(column, columns, cta_group, w.span)
        self.cta.tmem.clear(column, columns)
        return column

    def _own_alloc(self, w: Warp, columns: int) -> Generator[Wait, None, int]:
        pool = self.cta.sm.tmem
        while (column := pool.find(columns)) is None:
            yield self._wait_for_columns(w, columns)
        pool.mark(column, columns, True)
        return column

    def _wait_for_columns(self, w: Warp, columns: int) -> Wait:
        pool = self.cta.sm.tmem
        held = sum(b.columns for b in self.blocks.values())
        free = TMEM_COLUMNS - pool.taken.count(True) * MIN_COLUMNS
        text = f"{columns} columns of tensor memory ({free} are free on the SM, this CTA holds {held})"
        wait = Wait("tcgen05.alloc", w, text, None, None, w.time, w.span)
        pool.waiters.append(wait)
        return wait

    def _pair_alloc(self, w: Warp, columns: int) -> Generator[Wait, None, int]:
        """Both CTAs of a pair allocate together, at one address."""
        peer = self._peer(w, "tcgen05.alloc")
        self._asking, self._granted = (columns, w), None
        while self._granted is None:
            if peer._asking is None:
                yield Wait(
                    "tcgen05.alloc",
                    w,
                    "the other CTA of the pair to allocate tensor memory too",
                    None,
                    None,
                    w.time,
                    w.span,
                )
                continue
            if peer._asking[0] != columns:
                raise w.fault(
                    "tmem-allocation",
                    f"the CTAs of a pair allocate {columns} and {peer._asking[0]} columns; "
                    "with cta_group=2 both ask for the same",
                    rule="PTX ISA: tcgen05.alloc",
                )
            column = self.cta.sm.tmem.find(columns, peer.cta.sm.tmem)
            if column is None:
                yield self._wait_for_columns(w, columns)
                continue
            for side in (self, peer):
                side.cta.sm.tmem.mark(column, columns, True)
                side._granted = column
            w.gpu.wake(peer._asking[1], w.time)
        self._asking = None
        return self._granted

    def dealloc(self, w: Warp, address: int, columns: int, cta_group: int) -> None:
        """tcgen05.dealloc: give back an allocation.

        The ISA lets a pair's first warp wait for the other CTA's, and lets it not wait; here it does not.
        """
        w.require_converged("tcgen05.dealloc")
        self.use_group(w, cta_group)
        block = self.blocks.get(address)
        if block is None or block.columns != columns:
            held = ", ".join(f"{b.columns} columns at address {b.column:#x}" for b in self.blocks.values()) or "nothing"
            notes = (("it was freed here", self.freed),) if self.freed else ()
            raise w.fault(
                "tmem-allocation",
                f"tcgen05.dealloc of {columns} columns at address {address:#x}, but the CTA holds {held}",
                rule="PTX ISA: tcgen05.dealloc",
                notes=notes,
                hint="free each allocation once, with the address that alloc wrote and the same number of columns",
            )
        actor = Actor(w.agent, self.cta.cluster.index, GENERIC, "dealloc", w.place, w.span, w.time)
        where = (slice(None), slice(address, address + columns))
        self.cta.tmem.shadow.write(where, actor)
        self.cta.tmem.shadow.forget(where)
        del self.blocks[address]
        self.freed = w.span
        self.cta.sm.tmem.mark(address, columns, False)

    def _peer(self, w: Warp, what: str) -> TmemAllocator:
        peer = self.peer
        if peer is None:
            raise w.fault(
                "illegal-instruction",
                f"{what} with cta_group=2 needs a cluster of an even number of CTAs",
                rule="PTX ISA: tcgen05, CTA pair",
                hint="launch clusters of two CTAs, or use cta_group=1",
            )
        return peer

    def relinquish(self, w: Warp) -> None:
        """tcgen05.relinquish_alloc_permit."""
        w.require_converged("tcgen05.relinquish_alloc_permit")
        self.given_up = True
        self.relinquished = w.span

    # -- checks --------------------------------------------------------------------------------------------------

    def use_group(self, w: Warp, cta_group: int) -> None:
        """All tcgen05 instructions of a kernel have one cta_group."""
        if self.cta_group and self.cta_group != cta_group:
            raise w.fault(
                "illegal-instruction",
                f"a tcgen05 instruction with cta_group={cta_group} in a kernel that uses cta_group={self.cta_group}",
                rule="PTX ISA: tcgen05, .cta_group",
                hint="give alloc, mma, commit and dealloc the same cta_group",
            )
        self.cta_group = cta_group

    def check(self, w: Warp, column: int, columns: int, what: str) -> None:
        """Raise a fault unless this CTA holds the columns."""
        for block in self.blocks.values():
            if block.column <= column and column + columns <= block.column + block.columns:
                return
        if self.blocks:
            held = ", ".join(f"{b.column} to {b.column + b.columns - 1}" for b in self.blocks.values())
            notes = tuple(("allocated here", b.span) for b in self.blocks.values())
            raise w.fault(
                "tmem-access",
                f"{what} touches columns {column} to {column + columns - 1} of tensor memory, but the CTA holds {held}",
                rule="PTX ISA: Tensor Memory",
                notes=notes,
            )
        if self.freed is not None:
            raise w.fault(
                "tmem-access",
                f"{what} touches tensor memory after it was freed",
                rule="PTX ISA: tcgen05.dealloc",
                notes=(("it was freed here", self.freed),),
                hint="free tensor memory after every warp is done with it: cta_sync() before dealloc",
            )
        raise w.fault(
            "tmem-access",
            f"{what} touches tensor memory, but the CTA has allocated none",
            rule="PTX ISA: tcgen05.alloc",
            hint="one warp allocates it with tcgen05.alloc before its first use",
        )

    def release(self) -> None:
        """The CTA has ended: the SM's columns are free, whether it gave them back or not."""
        for block in self.blocks.values():
            self.cta.sm.tmem.mark(block.column, block.columns, False)
        self.blocks = {}
