"""InsertBarriers: barriers of the CTA between writes and reads of shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tirx_mini.hardware import WARP_SIZE, WARPGROUP_SIZE
from tirx_mini.ir import (
    AddressOf,
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Evaluate,
    Expr,
    For,
    Hint,
    If,
    PrimFunc,
    Region,
    Scope,
    Seq,
    Special,
    Stmt,
    TileCall,
    While,
    children,
    seq,
    unary,
    walk,
)
from tirx_mini.isa import NAMES, TABLE, Memory

from .teams import THREADS_HINT, Team, team_of_hint, whole

RINGS = "rings"
"""The option of a hint of threads that names the buffers that mbarriers order."""
BARRIERS_OF_ALL = ("cuda.cta_sync", "cuda.cluster_sync")
"""The names of barriers of all threads of a CTA."""
FREE_BARRIERS = 8
"""The first named barrier for the threads of a branch."""


@dataclass
class _Since:
    """The shared buffers that were read and written since the last barrier.

    parts: those that only some threads accessed, with these threads.
    """

    reads: set[Buffer] = field(default_factory=set)
    writes: set[Buffer] = field(default_factory=set)
    parts: list[tuple[Team, _Since]] = field(default_factory=list)

    def conflicts(self, later: _Since, team: Team) -> bool:
        """Whether `later` accesses of a team need a barrier before them: they read what was written, or write what was
        used. Warpgroups with roles of their own order their accesses by mbarriers."""
        if later.reads & self.writes or later.writes & (self.reads | self.writes):
            return True
        return any(_meet(other, team) and part.conflicts(later, team) for other, part in self.parts)

    def of(self, team: Team) -> _Since:
        """What exactly this team has accessed by itself."""
        found = _Since()
        for other, part in self.parts:
            if (other.first, other.count) == (team.first, team.count):
                found.add(part)
        return found

    def without(self, team: Team) -> _Since:
        """All accesses but those of exactly this team."""
        kept = [(o, part) for o, part in self.parts if (o.first, o.count) != (team.first, team.count)]
        return _Since(self.reads, self.writes, kept)

    def add(self, later: _Since) -> None:
        self.reads |= later.reads
        self.writes |= later.writes
        self.parts += later.parts

    def copy(self) -> _Since:
        return _Since(set(self.reads), set(self.writes), list(self.parts))

    def clear(self) -> None:
        self.reads.clear()
        self.writes.clear()
        self.parts.clear()


def _meet(one: Team, other: Team) -> bool:
    """Whether two teams have threads in common, or are not whole warpgroups, which have no roles of their own."""
    apart = one.first + one.count <= other.first or other.first + other.count <= one.first
    roles = all(number % WARPGROUP_SIZE == 0 for team in (one, other) for number in (team.first, team.count))
    return not (apart and roles)


def insert_barriers(func: PrimFunc) -> PrimFunc:
    """`func` with a barrier wherever a thread may read what another has written, or overwrite what it reads.

    Hints of threads are gone after this pass.
    """
    ordered: set[Buffer] = set()
    for node in func.nodes:
        if isinstance(node, Hint) and node.message == THREADS_HINT:
            ordered.update(buffer.root for buffer in dict(node.attrs).get(RINGS, ()))
    placed = _Placer(ordered)
    return func.with_body(placed.stmt(func.body, _Since(), whole(func)))


class _Placer:
    def __init__(self, ordered: set[Buffer]) -> None:
        self.ordered = ordered
        self.numbers: dict[tuple[int, int], int] = {}

    def stmt(self, stmt: Stmt, since: _Since, team: Team) -> Stmt:
        """`stmt` with its barriers, after accesses `since` the last one, which it updates."""
        if isinstance(stmt, Seq):
            return seq(*(self.stmt(part, since, team) for part in stmt.stmts), span=stmt.span)
        if isinstance(stmt, Scope):
            return replace(stmt, body=self.stmt(stmt.body, since, team))
        if isinstance(stmt, Hint):
            return self._hint(stmt, since, team)
        if isinstance(stmt, (For, While)):
            return self._loop(stmt, since, team)
        if isinstance(stmt, If):
            return self._branch(stmt, since, team)
        accesses = self.accesses(stmt)
        before = self._needed(stmt, accesses, since, team)
        if _is_barrier(stmt, team):
            since.clear()
            return stmt
        since.add(accesses)
        return seq(before, stmt)

    def _needed(self, stmt: Stmt, accesses: _Since, since: _Since, team: Team) -> Stmt | None:
        if not since.conflicts(accesses, team):
            return None
        since.clear()
        return self.barrier(stmt, team)

    def _hint(self, hint: Hint, since: _Since, team: Team) -> Stmt:
        if hint.body is None:
            return hint
        body = self.stmt(hint.body, since, team_of_hint(hint, team))
        return body if hint.message == THREADS_HINT else replace(hint, body=body)

    def _loop(self, loop: For | While, since: _Since, team: Team) -> Stmt:
        accesses = self.accesses(loop)
        if not accesses.conflicts(accesses, team):  # no iteration waits for another: a barrier before the loop at most
            before = self._needed(loop, accesses, since, team)
            since.add(accesses)
            return seq(before, loop)
        if isinstance(loop, For) and _is_one_statement(loop.body) and not accesses.reads & accesses.writes:
            before = self._needed(loop, accesses, since, team)
            since.add(accesses)
            return seq(before, loop)
        after = since.copy()
        self.stmt(loop.body, after, team)  # what is pending when an iteration ends, for the next one
        since.add(after)
        return replace(loop, body=self.stmt(loop.body, since, team))

    def _branch(self, branch: If, since: _Since, team: Team) -> Stmt:
        """A branch: barriers inside are for the threads that take it, where their numbers say which these are."""
        part = team.part(branch.cond)
        inner = team if part is None or part.count == 0 else part
        condition = self.accesses_of([branch.cond])
        before = self._needed(branch, condition, since, team)
        since.add(condition)
        parted = part is None and _varies(branch.cond)
        if parted or inner.count % WARP_SIZE:  # threads of a warp part ways: no barrier inside
            accesses = self.accesses(branch)
            first = before or self._needed(branch, accesses, since, team)
            since.add(accesses)
            return seq(first, branch)
        if inner is not team:
            return self._parted(branch, since, team, inner, before)
        one, two = since.copy(), since.copy()
        then = self.stmt(branch.then, one, inner)
        orelse = None if branch.orelse is None else self.stmt(branch.orelse, two, team)
        since.reads, since.writes = one.reads | two.reads, one.writes | two.writes
        return seq(before, replace(branch, then=then, orelse=orelse))

    def _parted(self, branch: If, since: _Since, team: Team, inner: Team, before: Stmt | None) -> Stmt:
        """A branch of a part of the threads, which cannot wait inside it for what all have done."""
        sides: list[Stmt | None] = []
        others = team.part(unary("not", branch.cond)) or team
        taken = [(branch.then, inner)] if branch.orelse is None else [(branch.then, inner), (branch.orelse, others)]
        for side, own in taken:
            if since.without(own).conflicts(self.accesses(side), own):
                since.clear()
                before = seq(before, self.barrier(branch, team))
        for side, own in taken:
            done = since.of(own)
            sides.append(self.stmt(side, done, own))
            since.parts = [*since.without(own).parts, (own, done)]
        then, orelse = (*sides, None)[:2]
        assert then is not None
        return seq(before, replace(branch, then=then, orelse=orelse))

    def barrier(self, before: Stmt, team: Team) -> Stmt:
        """A barrier of the threads of a team."""
        if team.barrier == 0:
            return Evaluate(NAMES["cuda.cta_sync"].call(span=before.span), span=before.span)
        number = team.barrier
        if number < 0:
            number = self.numbers.setdefault((team.first, team.count), FREE_BARRIERS + len(self.numbers))
        return Evaluate(NAMES["ptx.bar.sync"].call(number, team.count, span=before.span), span=before.span)

    # -- what statements access -----------------------------------------------------------------------------------

    def accesses(self, stmt: Stmt) -> _Since:
        found = _Since()
        self._gather(stmt, found)
        return found

    def accesses_of(self, exprs: Sequence[Expr]) -> _Since:
        found = _Since()
        for expr in exprs:
            self._gather(expr, found)
        return found

    def _gather(self, node: Stmt | Expr, found: _Since) -> None:
        if isinstance(node, TileCall) and node.operands:
            first, *others = node.operands
            self._tile(first, found, writes=True)
            for other in others:
                self._tile(other, found, writes=False)
            return
        if isinstance(node, Call):
            self._call(node, found)
            return
        if isinstance(node, (BufferStore, BufferLoad, AddressOf)) and self._counts(node.buffer):
            if isinstance(node, (BufferStore, AddressOf)):
                found.writes.add(node.buffer.root)
            if isinstance(node, (BufferLoad, AddressOf)):
                found.reads.add(node.buffer.root)
        for child in children(node):
            self._gather(child, found)

    def _call(self, call: Call, found: _Since) -> None:
        """An instruction accesses what it is given the address of, and may write it unless it is known to read only."""
        only_reads = TABLE[call.op].reads is Memory.SHARED and TABLE[call.op].writes is not Memory.SHARED
        for argument in children(call):
            named = isinstance(argument, AddressOf) and self._counts(argument.buffer)
            if only_reads and named:
                assert isinstance(argument, AddressOf)
                found.reads.add(argument.buffer.root)
                for index in argument.indices:
                    self._gather(index, found)
            else:
                self._gather(argument, found)

    def _tile(self, operand: Expr, found: _Since, *, writes: bool) -> None:
        for node in walk(operand):
            if isinstance(node, (Region, BufferLoad, AddressOf)) and self._counts(node.buffer):
                (found.writes if writes else found.reads).add(node.buffer.root)

    def _counts(self, buffer: Buffer) -> bool:
        return buffer.scope in ("shared", "tmem") and buffer.root not in self.ordered and buffer.root.dtype != "uint64"


def _is_one_statement(body: Stmt) -> bool:
    """Whether a body is one store, in loops and conditions; names may be given to values before it."""
    while isinstance(body, (For, If, Seq)):
        if isinstance(body, Seq):
            if not all(isinstance(part, Bind) for part in body.stmts[:-1]):
                return False
            body = body.stmts[-1]
        elif isinstance(body, If):
            if body.orelse is not None:
                return False
            body = body.then
        else:
            body = body.body
    return isinstance(body, BufferStore)


def _is_barrier(stmt: Stmt, team: Team) -> bool:
    """Whether a statement is a barrier of all threads of the CTA."""
    return isinstance(stmt, Evaluate) and any(stmt.call.op == NAMES[name].call().op for name in BARRIERS_OF_ALL)


def _varies(condition: Expr) -> bool:
    return any(isinstance(node, Special) and node.name.startswith("threadIdx") for node in walk(condition))
