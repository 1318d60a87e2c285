"""StoreOnce: where threads store the same value to the same place, the first of them does.

Statements outside `T.Parallel` are executed by every thread, as in CUDA C++. ``mean[row] = total / N`` would be as many
stores of one value, which nothing orders. A store stays as it is where the values may differ: that is a race.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tirx_mini.ir import (
    PARALLEL,
    VECTORIZED,
    AddressOf,
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Expr,
    For,
    Hint,
    If,
    Mutator,
    PrimFunc,
    Region,
    Stmt,
    TileCall,
    Var,
    While,
    binary,
    children,
    special,
    walk,
)
from tirx_mini.isa import TABLE
from tirx_mini.tile import evaluate, varies

from .language.memory import FRAGMENT
from .teams import Team, team_of_hint, whole

Parts = frozenset[bytes]
"""What a value depends on: for each part of an expression that tells threads apart, its values in all threads."""


def store_once(func: PrimFunc) -> PrimFunc:
    """`func` with a condition around the stores that several threads would make."""
    team = whole(func)
    known = _Dependences(team.count)
    while known.collect(func.body, frozenset()):
        pass
    return func.with_body(_Once(known, team).stmt(func.body))


class _Dependences:
    """What the variables and arrays of each thread depend on."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.all: Parts = frozenset({np.arange(threads).tobytes()})
        self.found: dict[Var | Buffer, Parts] = {}

    def collect(self, stmt: Stmt, around: Parts) -> bool:
        """Note the assignments of a statement under conditions that depend on `around`; whether any is new."""
        if isinstance(stmt, Bind):
            return self._add(stmt.var, self.of(stmt.value) | around)
        if isinstance(stmt, BufferStore):
            own = stmt.buffer.scope == "local"
            return own and self._add(stmt.buffer.root, self.of_all((*stmt.indices, stmt.value)) | around)
        if isinstance(stmt, TileCall):
            own_arrays = [part.buffer for part in walk(stmt) if isinstance(part, (Region, BufferLoad, AddressOf))]
            changed = [self._add(array.root, self.all) for array in own_arrays if array.scope == "local"]
            return any(changed)
        if isinstance(stmt, (If, While)):
            around = around | self.of(stmt.cond)
        elif isinstance(stmt, For):
            bounds = self.of_all((stmt.start, stmt.stop))
            shared = self.all if stmt.kind == PARALLEL else frozenset()
            around = around | bounds | shared
            self._add(stmt.var, bounds | shared)
        changed = [self.collect(part, around) for part in children(stmt) if isinstance(part, Stmt)]
        return any(changed)

    def _add(self, what: Var | Buffer, parts: Parts) -> bool:
        before = self.found.get(what, frozenset())
        self.found[what] = before | parts
        return not parts <= before

    def of_all(self, exprs: Iterable[Expr]) -> Parts:
        return frozenset().union(*map(self.of, exprs))

    def of(self, expr: Expr) -> Parts:
        """What the value of an expression depends on."""
        values = evaluate(expr, self.threads)
        if values is not None:
            table = np.broadcast_to(np.asarray(values).astype(np.int64), (self.threads,))
            return frozenset() if (table == table[0]).all() else frozenset({table.tobytes()})
        if isinstance(expr, Var):
            return self.found.get(expr, frozenset())
        if isinstance(expr, BufferLoad) and expr.buffer.scope == "local":
            return self.found.get(expr.buffer.root, frozenset()) | self.of_all(expr.indices)
        if isinstance(expr, Call) and not (expr.op in TABLE and TABLE[expr.op].pure):
            return self.all
        parts = [part for part in children(expr) if isinstance(part, Expr)]
        return self.of_all(parts) if parts else self.all if varies(expr) else frozenset()


class _Once(Mutator):
    """Puts conditions around stores. active: the threads that get to a statement; None where it is not known."""

    def __init__(self, known: _Dependences, team: Team) -> None:
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
        return If(condition, stmt, span=stmt.span)

    def _guard(self, store: BufferStore) -> tuple[int, int] | None:
        """The threads that store: those before a number, or the multiples of one; None for all of them."""
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


def _firsts(parts: Parts, threads: np.ndarray) -> np.ndarray:
    """The first thread of each set that the parts of an expression do not tell apart."""
    if not parts:
        return threads[:1]
    tables = np.stack([np.frombuffer(part, np.int64)[threads] for part in sorted(parts)])
    _, first = np.unique(tables, axis=1, return_index=True)
    return threads[np.sort(first)]
