"""Compiler-made parallel loops as single NumPy operations: all iterations side by side, (iterations, 32).

No iteration reads what another writes, so a load, a conversion or a store of all of them is one operation. Loops in
another form than a perfect nest of element-wise statements fall back to one iteration after the other.
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
"""Iterations that are kept side by side at most."""


class StatementTranslator(Protocol):
    """The translator of a loop's body."""

    @property
    def expressions(self) -> Expressions: ...
    @property
    def storage(self) -> Storage: ...
    def stmt(self, stmt: Stmt | None) -> None: ...


def together(statements: StatementTranslator, loop: For) -> bool:
    """Translate `loop` with all its iterations at once; False, with nothing emitted, where its form forbids it."""
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
    """How often the loop runs, where that is known."""
    start, stop = int_value(loop.start), int_value(loop.stop)
    return None if start is None or stop is None else trips(start, stop, loop.step)


def _iteration(statements: StatementTranslator, level: For, total: int, extent: int, inner: int) -> Value:
    """The loop variable in each of the `total` iterations of the nest, [total, 1] beside the lanes."""
    start = int_value(level.start) or 0
    values = start + level.step * (np.arange(total) // inner % extent)
    name = f"it_{total}_{extent}_{inner}_{start}_{level.step}".replace("-", "m")
    statements.expressions.static_names[name] = values[:, None]
    return Value(name, level.var.dtype, True, int(values.min()), int(values.max()), static=True)


def _elementwise(statements: StatementTranslator, body: Stmt, loop_vars: set[Var]) -> bool:
    """Return whether the body only moves and computes elements, each iteration to places of its own."""
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
            return False  # the lanes choose, in each iteration anew, what they read
    return True


def _vector_of_uniform(stmt: Stmt, dependent: set[Var]) -> bool:
    """A vector load that is the same in all iterations has no axis of iterations to line up with the others'."""
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
