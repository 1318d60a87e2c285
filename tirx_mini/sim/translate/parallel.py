"""Parallel loops as single NumPy operations over all iterations: arrays of shape (iterations, 32).

No iteration reads the results of another, so a load, a conversion or a store of all iterations is one operation. Loops
in any other form than a perfect nest of element-wise statements are executed iteration by iteration.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Protocol

import numpy as np

from tirx_mini.ir import Bind, BufferLoad, BufferStore, Call, For, Ramp, Seq, Stmt, Var, int_value, trips, walk

from .choice import is_choice
from .expressions import Expressions
from .storage import Storage
from .values import Value

MOST = 1 << 16
"""The maximum number of vectorised iterations."""


class StatementTranslator(Protocol):
    """The interface of the statement translator for the loop body."""

    @property
    def expressions(self) -> Expressions: ...
    @property
    def storage(self) -> Storage: ...
    def stmt(self, stmt: Stmt | None) -> None: ...


def together(statements: StatementTranslator, loop: For) -> bool:
    """Translate all iterations of `loop` at once; return False, with nothing emitted, if its form forbids it."""
    expressions = statements.expressions
    nest, body = _perfect_nest(loop)
    extents = [_trip(level) for level in nest]
    total = math.prod(n for n in extents if n is not None)
    if expressions.iterations or None in extents or not 2 <= total <= MOST:
        return False
    if not _elementwise(statements, body, {level.var for level in nest}):
        return False
    inner = total
    for level, extent in zip(nest, extents, strict=True):
        assert extent is not None
        inner //= extent
        expressions.vars[level.var] = _iteration(statements, level, total, extent, inner)
    expressions.iterations = total
    try:
        statements.stmt(body)
    finally:
        expressions.iterations = 0
    return True


def _perfect_nest(loop: For) -> tuple[list[For], Stmt]:
    nest, body = [loop], loop.body
    while isinstance(body, For) and body.parallel:
        nest.append(body)
        body = body.body
    return nest, body


def _trip(loop: For) -> int | None:
    """Return the trip count of the loop if it is known."""
    start, stop = int_value(loop.start), int_value(loop.stop)
    return None if start is None or stop is None else trips(start, stop, loop.step)


def _iteration(statements: StatementTranslator, level: For, total: int, extent: int, inner: int) -> Value:
    """Return the loop variable in each of the `total` iterations of the nest, with shape [total, 1]."""
    start = int_value(level.start) or 0
    values = start + level.step * (np.arange(total) // inner % extent)
    name = f"it_{total}_{extent}_{inner}_{start}_{level.step}".replace("-", "m")
    statements.expressions.static_names[name] = values[:, None]
    return Value(name, level.var.dtype, True, int(values.min()), int(values.max()), static=True)


def _elementwise(statements: StatementTranslator, body: Stmt, loop_vars: set[Var]) -> bool:
    """Return whether the body only moves and computes elements, with disjoint destinations per iteration."""
    dependent = set(loop_vars)
    for stmt in _flat(body):
        if isinstance(stmt, Bind):
            if any(isinstance(node, Var) and node in dependent for node in walk(stmt.value)):
                dependent.add(stmt.var)
        elif isinstance(stmt, BufferStore):
            place = statements.storage.places.get(stmt.buffer)
            if place is None or place.kind not in ("array", "memory"):
                return False
            if not any(isinstance(node, Var) and node in dependent for node in walk(stmt.indices[0])):
                return False
        else:
            return False
        if any(isinstance(node, Call) for node in walk(stmt)) or _vector_of_uniform(stmt, dependent):
            return False
        if any(is_choice(node, statements.storage.is_checked) for node in walk(stmt)):
            return False  # the lanes choose their reads anew in each iteration
    return True


def _vector_of_uniform(stmt: Stmt, dependent: set[Var]) -> bool:
    """Return whether a statement contains a loop-invariant vector load, which has no axis of iterations."""
    return any(
        isinstance(node, BufferLoad) and isinstance(node.indices[0], Ramp)
        and not any(isinstance(v, Var) and v in dependent for v in walk(node.indices[0]))
        for node in walk(stmt)
    )  # fmt: skip


def _flat(stmt: Stmt) -> Iterator[Stmt]:
    if isinstance(stmt, Seq):
        for child in stmt.stmts:
            yield from _flat(child)
    else:
        yield stmt
