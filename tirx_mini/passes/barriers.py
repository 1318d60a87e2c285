"""Barriers between the threads of a CTA that write shared memory and those that read it."""

from __future__ import annotations

from dataclasses import field

from tirx_mini.ir import (
    AddressOf,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Evaluate,
    Expr,
    For,
    If,
    Region,
    Seq,
    Stmt,
    TirxError,
    While,
    seq,
    walk,
)
from tirx_mini.isa import NAMES, Memory, instruction_of
from tirx_mini.records import dataclass, replace


@dataclass
class _Since:
    """The shared buffers that were read and written since the last barrier."""

    reads: set[Buffer] = field(default_factory=set)
    writes: set[Buffer] = field(default_factory=set)

    def conflicts(self, later: _Since) -> bool:
        """Whether `later` accesses need a barrier before them: they read what was written, or write what was used."""
        return bool(later.reads & self.writes or later.writes & (self.reads | self.writes))

    def add(self, later: _Since) -> None:
        self.reads |= later.reads
        self.writes |= later.writes

    def copy(self) -> _Since:
        return _Since(set(self.reads), set(self.writes))


def insert_barriers(body: Stmt) -> Stmt:
    """`body` with a barrier of the CTA wherever a thread may read what another has written, or overwrite what it reads.

    The threads of a CTA all execute the loops of `body`. Raises `TirxError` where only some of them would reach a
    barrier.
    """
    return _placed(body, _Since())


def _placed(stmt: Stmt, since: _Since) -> Stmt:
    """`stmt` with its barriers, after accesses `since` the last one, which it updates."""
    if isinstance(stmt, Seq):
        return seq(*(_placed(part, since) for part in stmt.stmts), span=stmt.span)
    if isinstance(stmt, (For, While)):
        return _loop(stmt, since)
    accesses = _accesses(stmt)
    if isinstance(stmt, If) and _barriers(_placed(stmt.then, _Since())) > _barriers(stmt.then):
        raise TirxError(
            "only some threads would reach a barrier between a write and a read of shared memory",
            stmt.span,
            "let the factors of split divide the extents of its loops",
        )
    if not since.conflicts(accesses):
        since.add(accesses)
        return stmt
    since.reads, since.writes = accesses.reads, accesses.writes
    return seq(barrier(stmt), stmt)


def _loop(loop: For | While, since: _Since) -> Stmt:
    accesses = _accesses(loop)
    if not _conflicts_within(loop):  # no iteration waits for another: at most one barrier, before the loop
        if not since.conflicts(accesses):
            since.add(accesses)
            return loop
        since.reads, since.writes = accesses.reads, accesses.writes
        return seq(barrier(loop), loop)
    after = since.copy()
    _placed(loop.body, after)  # what is pending when an iteration ends, for the next one
    since.add(after)
    body = _placed(loop.body, since)
    return replace(loop, body=body)


def barrier(before: Stmt) -> Stmt:
    """A barrier of all threads of the CTA."""
    return Evaluate(NAMES["cuda.cta_sync"].call(span=before.span), span=before.span)


def _conflicts_within(stmt: Stmt) -> bool:
    """Whether parts of a statement need a barrier between them."""
    accesses = _accesses(stmt)
    return bool(accesses.reads & accesses.writes)


def _barriers(stmt: Stmt) -> int:
    return sum(isinstance(node, Evaluate) for node in walk(stmt))


def _by_instructions(stmt: Stmt, found: _Since) -> set[Expr | Stmt]:
    """Adds what instructions access through pointers into shared memory, and returns these pointers."""
    named: set[Expr | Stmt] = set()
    for call in walk(stmt):
        entry = instruction_of(call)
        for pointer in call.args if entry is not None and isinstance(call, Call) else ():
            if isinstance(pointer, AddressOf) and pointer.buffer.scope == "shared":
                assert entry is not None
                named.add(pointer)
                if Memory.SHARED in entry.reads:
                    found.reads.add(pointer.buffer.root)
                if Memory.SHARED in entry.writes:
                    found.writes.add(pointer.buffer.root)
    return named


def _accesses(stmt: Stmt) -> _Since:
    found = _Since()
    named = _by_instructions(stmt, found)
    for node in walk(stmt):
        if node in named:
            continue
        if isinstance(node, (BufferStore, BufferLoad, AddressOf, Region)) and node.buffer.scope == "shared":
            if not isinstance(node, BufferLoad):  # a tile primitive may write what it names
                found.writes.add(node.buffer.root)
            if not isinstance(node, BufferStore):
                found.reads.add(node.buffer.root)
    return found
