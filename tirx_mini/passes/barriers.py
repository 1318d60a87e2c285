"""Insertion of barriers between the threads of a CTA that access the same memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from tirx_mini.hardware import WARP_SIZE, WARPGROUP_SIZE
from tirx_mini.ir import (
    Bind,
    Buffer,
    BufferStore,
    Evaluate,
    Expr,
    For,
    Hint,
    If,
    Scope,
    Seq,
    Stmt,
    TirxError,
    Var,
    While,
    seq,
    unary,
    walk,
)
from tirx_mini.isa import NAMES, instruction_of
from tirx_mini.records import dataclass, replace
from tirx_mini.tile import conjuncts

from .accesses import SharedUses, Uses
from .teams import TEAM_HINT, Team, meets_all, ordered_by_mbarriers, team_of
from .uniform import Dependences

FREE_BARRIERS = 8
"""The first named barrier for the threads of a branch."""


@dataclass
class _Since:
    """The accesses to buffers since the last barrier.

    parts: those of only some threads, with these threads.
    """

    uses: Uses = field(default_factory=Uses)
    parts: list[tuple[Team, Uses]] = field(default_factory=list[tuple[Team, Uses]])

    def conflicts(self, later: Uses, team: Team, roles: bool) -> bool:
        """Return whether the accesses `later` by a team require a preceding barrier."""
        parts = (part for other, part in self.parts if not (roles and _have_roles(other, team)))
        return _conflict(self.uses, later) or any(_conflict(part, later) for part in parts)

    def of(self, team: Team) -> _Since:
        """Return the accesses of exactly this team."""
        found = _Since()
        for other, part in self.parts:
            if other.same_threads(team):
                found.add(part)
        return found

    def without(self, team: Team) -> _Since:
        """Return all accesses except those of exactly this team."""
        return _Since(self.uses, [(other, part) for other, part in self.parts if not other.same_threads(team)])

    def add(self, later: Uses) -> None:
        for buffer, uses in later.items():
            self.uses.setdefault(buffer, set()).update(uses)

    def merge(self, later: _Since) -> None:
        self.add(later.uses)
        self.parts += later.parts

    def copy(self) -> _Since:
        return _Since({buffer: set(uses) for buffer, uses in self.uses.items()}, list(self.parts))

    def clear(self) -> None:
        self.uses.clear()
        self.parts.clear()


def _conflict(earlier: Uses, later: Uses) -> bool:
    both = earlier.keys() & later.keys()
    return any(one.conflicts(other) for buffer in both for one in earlier[buffer] for other in later[buffer])


def _have_roles(one: Team, other: Team) -> bool:
    """Return whether two teams are disjoint sets of whole warpgroups, which may synchronise by mbarriers."""
    apart = one.first + one.count <= other.first or other.first + other.count <= one.first
    return apart and all(number % WARPGROUP_SIZE == 0 for t in (one, other) for number in (t.first, t.count))


def insert_barriers(
    body: Stmt, threads: int, *, numbers: Mapping[Var, Expr] | None = None, roles: bool = False
) -> Stmt:
    """Insert barriers wherever a thread may read or overwrite data that another thread accesses.

    threads: how many threads a CTA has. Hints of teams say which of them execute a part; they are gone afterwards.
    numbers: the values of variables that stand for indices of threads.
    roles: whether warpgroups may have roles, between which mbarriers order the uses, and threads of a warp that part
        ways are ordered by other means.

    Raises `TirxError` where only some threads would reach a barrier, and nothing else orders them.
    """
    ordered: set[Buffer] = set()
    for node in walk(body):
        if isinstance(node, Hint) and node.message == TEAM_HINT:
            ordered.update(buffer.root for buffer in ordered_by_mbarriers(node))
    known = Dependences(body, threads, numbers)
    placer = _Placer(SharedUses(body, ordered, known), known, roles)
    return placer.stmt(body, _Since(), Team(0, threads))


class _Placer:
    def __init__(self, shared: SharedUses, known: Dependences, roles: bool) -> None:
        self.shared, self.known, self.roles = shared, known, roles
        self.numbers: dict[tuple[int, int], int] = {}

    def stmt(self, stmt: Stmt, since: _Since, team: Team) -> Stmt:
        """Insert barriers into `stmt`, given the accesses `since` the last barrier, which is updated."""
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
        made = self._whole(stmt, since, team)
        if _meetings(stmt):
            since.clear()
        return made

    def _whole(self, stmt: Stmt, since: _Since, team: Team) -> Stmt:
        """Insert at most one barrier, before the statement."""
        uses = self.shared.of(stmt)
        before = self._needed(stmt, uses, since, team)
        since.add(uses)
        return seq(before, stmt)

    def _needed(self, stmt: Stmt, uses: Uses, since: _Since, team: Team) -> Stmt | None:
        if not since.conflicts(uses, team, self.roles):
            return None
        since.clear()
        return self._barrier(stmt, team)

    def _hint(self, hint: Hint, since: _Since, team: Team) -> Stmt:
        if hint.body is None:
            return hint
        own = hint.message == TEAM_HINT
        body = self.stmt(hint.body, since, team_of(hint) if own else team)
        return body if own else replace(hint, body=body)

    def _loop(self, loop: For | While, since: _Since, team: Team) -> Stmt:
        uses = self.shared.of(loop)
        if not _conflict(uses, uses) or (isinstance(loop, For) and _is_one_store(loop.body) and _only_writes(uses)):
            return self._whole(loop, since, team)
        bounds = [loop.cond] if isinstance(loop, While) else [loop.start, loop.stop]
        if not self.known.agree(bounds, team.first, team.count):  # threads leave it at different times
            self._check(loop, loop.body)
            return self._whole(loop, since, team)
        after = since.copy()
        self.stmt(loop.body, after, team)  # what is pending when an iteration ends, for the next one
        since.merge(after)
        return replace(loop, body=self.stmt(loop.body, since, team))

    def _branch(self, branch: If, since: _Since, team: Team) -> Stmt:
        """Insert barriers into a branch, for the taking threads only if the compiler knows them."""
        inner = self._taken(branch.cond, team)
        condition = self.shared.of(branch.cond)
        before = self._needed(branch, condition, since, team)
        since.add(condition)
        if inner is None or inner.count % WARP_SIZE:  # threads of a warp part ways: no barrier inside
            self._check(branch, branch.then, branch.orelse)
            uses = self.shared.of(branch)
            first = before or self._needed(branch, uses, since, team)
            since.add(uses)
            return seq(first, branch)
        if inner is not team:
            return self._parted(branch, since, team, inner, before)
        one, two = since.copy(), since.copy()
        then = self.stmt(branch.then, one, inner)
        orelse = None if branch.orelse is None else self.stmt(branch.orelse, two, team)
        since.uses, since.parts = one.uses, one.parts
        since.merge(two)
        return seq(before, replace(branch, then=then, orelse=orelse))

    def _taken(self, condition: Expr, team: Team) -> Team | None:
        """Return the team members that take a branch: all if they agree, or None if unknown."""
        if self.known.agree([condition], team.first, team.count):
            return team
        for part in conjuncts(condition):
            entry = instruction_of(part)
            elects = entry is not None and entry.elects
            if not elects and self.known.table(part) is None and self.known.of(part):
                return None
        taken = team.part(self.known.numbered(condition))
        return team if taken is not None and taken.count == 0 else taken

    def _check(self, stmt: Stmt, *sides: Stmt | None) -> None:
        """Raise `TirxError` if a divergent part of a statement needs barriers.

        Nothing else orders the threads of a program without roles.
        """
        whole = Team(0, self.known.threads)
        for side in sides:
            if self.roles or side is None or _meetings(self.stmt(side, _Since(), whole)) == _meetings(side):
                continue
            raise TirxError(
                "only some threads would reach a barrier between a write and a read of shared memory",
                stmt.span,
                "let the factors of split divide the extents of its loops",
            )

    def _parted(self, branch: If, since: _Since, team: Team, inner: Team, before: Stmt | None) -> Stmt:
        """Insert barriers into a divergent branch, in which a CTA-wide barrier would hang."""
        sides: list[Stmt | None] = []
        others = team.part(unary("not", branch.cond)) or team
        taken = [(branch.then, inner)] if branch.orelse is None else [(branch.then, inner), (branch.orelse, others)]
        for side, own in taken:
            if since.without(own).conflicts(self.shared.of(side), own, self.roles):
                since.clear()
                before = seq(before, self._barrier(branch, team))
        for side, own in taken:
            done = since.of(own)
            sides.append(self.stmt(side, done, own))
            since.parts = [*since.without(own).parts, (own, done.uses)]
        then, orelse = (*sides, None)[:2]
        assert then is not None
        return seq(before, replace(branch, then=then, orelse=orelse))

    def _barrier(self, before: Stmt, team: Team) -> Stmt:
        """Return a barrier for the threads of a team."""
        if team.barrier == 0:
            return Evaluate(NAMES["cuda.cta_sync"].call(span=before.span), span=before.span)
        number = team.barrier
        if number < 0:
            number = self.numbers.setdefault((team.first, team.count), FREE_BARRIERS + len(self.numbers))
        return Evaluate(NAMES["ptx.bar.sync"].call(number, team.count, span=before.span), span=before.span)


def _meetings(stmt: Stmt) -> int:
    """Return the number of CTA-wide barriers in a statement."""
    return sum(meets_all(part) for part in walk(stmt) if isinstance(part, Expr))


def _only_writes(uses: Uses) -> bool:
    return all(len({use.kind for use in found}) == 1 for found in uses.values())


def _is_one_store(body: Stmt) -> bool:
    """Return whether a body is a single store inside loops and conditions, apart from value bindings before it."""
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
