"""The StoreOnce pass: execute a redundant store in only the first of the threads that would perform it.

Statements outside `T.Parallel` are executed by every thread, as in CUDA C++. ``mean[row] = total / N`` would be as many
stores of one value, which nothing orders. A store stays as it is where the values may differ: that is a race.
"""

from __future__ import annotations

import numpy as np

from tirx_mini.ir import (
    PARALLEL,
    VECTORIZED,
    Bind,
    BufferStore,
    Call,
    Expr,
    For,
    Hint,
    If,
    Mutator,
    PrimFunc,
    Stmt,
    Var,
    binary,
    seq,
    special,
    walk,
)
from tirx_mini.isa import instruction_of
from tirx_mini.passes import Dependences, Parts
from tirx_mini.records import replace
from tirx_mini.tile import evaluate

from .language.memory import FRAGMENT
from .teams import Team, team_of_hint, whole


def store_once(func: PrimFunc) -> PrimFunc:
    """Guard the stores that several threads would perform redundantly."""
    team = whole(func)
    known = Dependences(func.body, team.count)
    return func.with_body(_Once(known, team).stmt(func.body))


class _Once(Mutator):
    """Adds guards to stores. active: the threads that reach the current statement, or None if unknown."""

    def __init__(self, known: Dependences, team: Team) -> None:
        self.known = known
        self.active: np.ndarray | None = np.ones(team.count, bool)
        self.team = team

    def _under(self, active: np.ndarray | None, body: Stmt) -> Stmt:
        before, self.active = self.active, active
        made = self.stmt(body)
        self.active = before
        return made

    def visit_If(self, node: If) -> Stmt:
        values = evaluate(node.cond, self.known.threads)
        active, other = self.active, self.active
        if values is not None and self.active is not None:
            taken = np.broadcast_to(np.asarray(values).astype(bool), self.active.shape)
            active, other = self.active & taken, self.active & ~taken
        elif self.known.of(node.cond):
            active = other = None
        then = self._under(active, node.then)
        orelse = None if node.orelse is None else self._under(other, node.orelse)
        return If(node.cond, then, orelse, span=node.span)

    def visit_Hint(self, node: Hint) -> Stmt:
        if node.body is None:
            return node
        before, self.team = self.team, team_of_hint(node, self.team)
        numbers = np.arange(self.known.threads)
        own = (numbers >= self.team.first) & (numbers < self.team.first + self.team.count)
        body = self._under(None if self.active is None else self.active & own, node.body)
        self.team = before
        return Hint(node.message, node.attrs, body, span=node.span)

    def visit_For(self, node: For) -> Stmt:
        if node.kind == PARALLEL:
            return node
        if node.kind == VECTORIZED:
            return self._guarded(node, [part for part in walk(node.body) if isinstance(part, BufferStore)])
        return self.rebuild(node)

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        return self._guarded(node, [node])

    def _guarded(self, stmt: Stmt, stores: list[BufferStore]) -> Stmt:
        guards = [self._guard(store) for store in stores]
        if not guards or any(guard is None or guard != guards[0] for guard in guards):
            return stmt
        first, step = guards[0] or (0, 0)
        number = special("threadIdx.x")
        condition = number < first if not step else binary("==", number % step, 0)
        if isinstance(stmt, BufferStore) and any(map(_by_many, walk(stmt.value))):  # all of them take part in the value
            value = Var(stmt.value.dtype, "value", span=stmt.span)
            return seq(Bind(value, stmt.value), If(condition, replace(stmt, value=value), span=stmt.span))
        return If(condition, stmt, span=stmt.span)

    def _guard(self, store: BufferStore) -> tuple[int, int] | None:
        """Return the guard that selects the storing threads (a prefix or a stride), or None for all threads."""
        if store.buffer.scope in ("local", FRAGMENT) or self.active is None or not self.active.any():
            return None
        places = self.known.of_all(store.indices)
        values = self.known.of(store.value) | places
        threads = np.flatnonzero(self.active)
        firsts = _firsts(places, threads)
        if len(firsts) == len(threads) or len(_firsts(values, threads)) > len(firsts):
            return None
        stop = int(firsts[-1]) + 1
        if np.array_equal(threads[threads < stop], firsts):
            return stop, 0
        step = int(firsts[1] - firsts[0]) if len(firsts) > 1 else 0
        return (0, step) if step and np.array_equal(threads[threads % step == 0], firsts) else None


def _by_many(node: Stmt | Expr) -> bool:
    """Return whether a node is an instruction that the lanes of a warp execute together."""
    entry = instruction_of(node) if isinstance(node, Call) else None
    return entry is not None and not (entry.pure and entry.lanewise)


def _firsts(parts: Parts, threads: np.ndarray) -> np.ndarray:
    """Return the first thread of each set that an expression's parts do not distinguish."""
    if not parts:
        return threads[:1]
    tables = np.stack([np.frombuffer(part, np.int64)[threads] for part in sorted(parts)])
    _, first = np.unique(tables, axis=1, return_index=True)
    return threads[np.sort(first)]
