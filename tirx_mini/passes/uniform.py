"""Uniformity analysis: values equal in all threads of a CTA, and the thread partitions induced by others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from tirx_mini.ir import (
    PARALLEL,
    AddressOf,
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Evaluate,
    Expr,
    For,
    If,
    Region,
    Stmt,
    TileCall,
    Var,
    While,
    children,
    substitute,
    walk,
)
from tirx_mini.isa import instruction_of
from tirx_mini.tile import evaluate, varies

from .teams import meets_all

Parts = frozenset[bytes]
"""What a value depends on: for each part of an expression that tells threads apart, its values in all threads."""


class Dependences:
    """The thread dependences of a statement's variables and arrays.

    threads: how many threads the CTA has.
    numbers: the values of variables that stand for indices of threads.
    """

    def __init__(self, body: Stmt, threads: int, numbers: Mapping[Var, Expr] | None = None) -> None:
        self.threads, self.numbers = threads, numbers or {}
        self.all: Parts = frozenset({np.arange(threads).tobytes()})
        self.found: dict[Var | Buffer, Parts] = {}
        while self._collect(body, frozenset()):
            pass

    def _collect(self, stmt: Stmt, around: Parts) -> bool:
        """Record the assignments of a statement under conditions that depend on `around`. Return whether any is new."""
        if isinstance(stmt, Bind):
            return self._add(stmt.var, self.of(stmt.value) | around)
        if isinstance(stmt, BufferStore):
            own = stmt.buffer.scope == "local"
            return own and self._add(stmt.buffer.root, self.of_all((*stmt.indices, stmt.value)) | around)
        if isinstance(stmt, (TileCall, Evaluate)):
            named = [part.buffer for part in walk(stmt) if isinstance(part, (Region, BufferLoad, AddressOf))]
            if isinstance(stmt, Evaluate):  # an instruction writes registers only where it is given their address
                named = [part.buffer for part in walk(stmt) if isinstance(part, AddressOf)]
            changed = [self._add(array.root, self.all) for array in named if array.scope == "local"]
            return any(changed)
        if isinstance(stmt, (If, While)):
            around = around | self.of(stmt.cond)
        elif isinstance(stmt, For):
            bounds = self.of_all((stmt.start, stmt.stop))
            shared: Parts = self.all if stmt.kind == PARALLEL else frozenset()
            around = around | bounds | shared
            self._add(stmt.var, bounds | shared)
        changed = [self._collect(part, around) for part in children(stmt) if isinstance(part, Stmt)]
        return any(changed)

    def _add(self, what: Var | Buffer, parts: Parts) -> bool:
        before = self.found.get(what, frozenset())
        self.found[what] = before | parts
        return not parts <= before

    def of_all(self, exprs: Iterable[Expr]) -> Parts:
        return frozenset[bytes]().union(*map(self.of, exprs))

    def of(self, expr: Expr) -> Parts:
        """Return the thread dependences of an expression, empty if it is uniform."""
        table = self.table(expr)
        if table is not None:
            return frozenset() if (table == table[0]).all() else frozenset({table.tobytes()})
        if isinstance(expr, Var):
            return self.found.get(expr, frozenset())
        if isinstance(expr, BufferLoad) and expr.buffer.scope == "local":
            return self.found.get(expr.buffer.root, frozenset()) | self.of_all(expr.indices)
        if meets_all(expr):
            return frozenset()
        entry = instruction_of(expr)
        if isinstance(expr, Call) and (entry is None or not entry.pure):
            return self.all
        parts = [part for part in children(expr) if isinstance(part, Expr)]
        return self.of_all(parts) if parts else self.all if varies(expr) else frozenset()

    def agree(self, exprs: Iterable[Expr], first: int, count: int) -> bool:
        """Return whether `count` threads starting at `first` have equal values."""
        tables = (np.frombuffer(part, np.int64)[first : first + count] for part in self.of_all(exprs))
        return all((table == table[0]).all() for table in tables)

    def table(self, expr: Expr) -> np.ndarray | None:
        """Return a representative integer of an expression's value for each thread.

        None if it depends on more than the number of the thread.
        """
        values = evaluate(self.numbered(expr), self.threads)
        if values is None:
            return None
        each = np.broadcast_to(np.asarray(values), (self.threads,))
        return each.astype(np.float64).view(np.int64) if each.dtype.kind == "f" else each.astype(np.int64)

    def numbered(self, expr: Expr) -> Expr:
        """Substitute linear thread indices into an expression."""
        return substitute(expr, self.numbers) if self.numbers else expr
