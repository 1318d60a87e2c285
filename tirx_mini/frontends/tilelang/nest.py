"""Analysis of parallel loops: their iterations, tile accesses and vector widths."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from tirx_mini.ir import (
    INT32,
    PARALLEL,
    Analyzer,
    Binary,
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    Const,
    Evaluate,
    Expr,
    For,
    Hint,
    If,
    Select,
    Seq,
    Span,
    Stmt,
    TirxError,
    Var,
    While,
    const,
    int_value,
    substitute,
    walk,
)
from tirx_mini.layout import vector_length
from tirx_mini.records import dataclass

from .language.loops import PARALLEL_HINT
from .language.memory import FRAGMENT
from .layouts import Fragment

Access = BufferLoad | BufferStore
MAX_ACCESS_BYTES = 16
"""The widest access of one thread (PTX ISA, "Vector Data Types"), except for those of 32 bytes on sm_100."""


@dataclass(frozen=True, eq=False)
class Nest:
    """A perfect nest of parallel loops.

    vars, extents: their variables, which begin at 0.
    width: how many neighbouring iterations a thread executes, where the program says so.
    layout: which thread executes which iteration, where the program says so.
    """

    vars: tuple[Var, ...]
    extents: tuple[int, ...]
    body: Stmt
    span: Span | None
    width: int | None = None
    layout: Fragment | None = None

    def accesses(self) -> Iterator[Access]:
        """Yield the loads and stores of the body."""
        for node in walk(self.body):
            if isinstance(node, (BufferLoad, BufferStore)):
                yield node

    def fragments(self) -> Iterator[Access]:
        """Yield the accesses to fragments."""
        return (node for node in self.accesses() if node.buffer.scope == FRAGMENT)

    def dimensions(self, access: Access) -> list[int | None]:
        """Return, for each dimension of an access, the loop whose variable (or its quotient) is the index, or None."""
        numbers = {var: number for number, var in enumerate(self.vars)}
        return [numbers.get(var) if var is not None else None for var, _ in map(_quotient, access.indices)]

    def divisors(self, access: Access) -> list[int]:
        """Return, for each dimension of an access, the divisor of its loop variable."""
        return [divisor for _, divisor in map(_quotient, access.indices)]

    def names_loops(self, index: Expr) -> bool:
        """Return whether an index depends on the loop variables."""
        own = set(self.vars)
        return any(part in own for part in walk(index) if isinstance(part, Var))


def _quotient(index: Expr) -> tuple[Var | None, int]:
    """Return the variable and divisor of an index of the form variable or variable // constant."""
    bare = Analyzer().simplify(index)
    if isinstance(bare, Var):
        return bare, 1
    if isinstance(bare, Binary) and bare.op == "//" and isinstance(bare.a, Var) and isinstance(bare.b, Const):
        return bare.a, int(bare.b.value)
    return None, 1


def nest_of(stmt: Stmt, analyzer: Analyzer) -> Nest | None:
    """Return the parallel nest that a statement forms, or None. Raises `TirxError` for unknown extents."""
    options: Mapping[str, object] = {}
    if isinstance(stmt, Hint) and stmt.message == PARALLEL_HINT and stmt.body is not None:
        options, stmt = dict(stmt.attrs), stmt.body
    if not isinstance(stmt, For) or stmt.kind != PARALLEL:
        return None
    names, extents, span = [], [], stmt.span
    inner: Stmt = stmt
    while isinstance(inner, For) and inner.kind == PARALLEL:
        start = int_value(analyzer.simplify(inner.start))
        stop = int_value(analyzer.simplify(inner.stop))
        if stop is None or start != 0:
            raise TirxError(
                f"the extent of the parallel loop over `{inner.var.name}` is not known when the kernel is compiled",
                inner.span,
                "give T.Parallel constants, and write an `if` for the iterations that are too many",
            )
        names.append(inner.var)
        extents.append(stop)
        inner = inner.body
    width, layout = options.get("coalesced_width"), options.get("loop_layout")
    assert width is None or isinstance(width, int)
    made = layout if isinstance(layout, Fragment) else None
    return Nest(tuple(names), tuple(extents), inner, span, width, made)


def loop_vars(count: int) -> tuple[Var, ...]:
    """Return variables for the loops of a tile operation."""
    return tuple(Var(INT32, "ijklmn"[number]) for number in range(count))


def lanes_of(nest: Nest, analyzer: Analyzer, threads: int) -> int:
    """Return how many consecutive iterations of the innermost loop form a vector: a power of two."""
    if not nest.vars or nest.extents[-1] == 1:
        return 1
    if nest.width is not None:
        return math.gcd(nest.width, nest.extents[-1])
    if not is_straight(nest.body):
        return 1
    widest = 0
    for access in nest.accesses():
        if access.buffer.scope in ("global", "shared"):
            width = _width(nest, access, analyzer)
            widest = width if widest == 0 else min(widest, width)
    lanes = math.gcd(max(widest, 1), nest.extents[-1])
    total = math.prod(nest.extents)
    while lanes > 1 and total // lanes < threads:
        lanes //= 2
    return lanes


def _width(nest: Nest, access: Access, analyzer: Analyzer) -> int:
    """Return the maximum vector width of an access, or a large number if it is invariant in the innermost loop."""
    var = nest.vars[-1]
    following = [substitute(index, {var: var + 1}) for index in access.indices]
    if all(analyzer.equal(a, b) for a, b in zip(access.indices, following, strict=True)):
        return MAX_ACCESS_BYTES
    return vector_width(access, var, analyzer)


def vector_width(access: Access, lane: Var, analyzer: Analyzer, stop: int | None = None) -> int:
    """Return how many consecutive values of `lane` form one aligned access of at most 16 bytes.

    stop: the number of lanes, where `lane` does not count further.
    """
    buffer = access.buffer
    *outer, last = access.indices
    first = {lane: const(0)}
    start = [substitute(index, first) for index in access.indices]
    moves = analyzer.equal(last, start[-1] + lane)
    still = all(analyzer.equal(a, b) for a, b in zip(outer, start, strict=False))
    size = buffer.dtype.itemsize
    if not moves or not still or size == 0 or buffer.dtype.is_bool:
        return 1
    widest = MAX_ACCESS_BYTES // size
    if buffer.layout is not None:
        return math.gcd(widest, vector_length(buffer.layout), analyzer.divisor(start[-1]))
    stride, common = 1, widest
    for index, extent in zip(reversed(start), reversed(buffer.shape), strict=True):
        common = math.gcd(common, analyzer.divisor(index * stride) if stride % widest else widest)
        stride *= int(extent)
    return math.gcd(common, buffer.shape[-1]) if buffer.ndim > 1 else common


def is_straight(body: Stmt) -> bool:
    """Return whether a body consists of stores only, so that its iterations can be vector lanes."""
    parts: Sequence[Stmt] = body.stmts if isinstance(body, Seq) else (body,)
    stored: set[Buffer] = set()
    for part in parts:
        if not isinstance(part, BufferStore):
            return False
        read = {node.buffer for node in walk(part.value) if isinstance(node, BufferLoad)}
        if read & stored and any(buffer.scope != FRAGMENT and buffer.scope != "local" for buffer in read & stored):
            return False
        stored.add(part.buffer)
    return True


def guarded(body: Stmt) -> set[BufferLoad]:
    """Return the loads that a thread executes conditionally."""
    found: set[BufferLoad] = set()
    for node in walk(body):
        if isinstance(node, Select):
            found |= {part for side in (node.a, node.b) for part in walk(side) if isinstance(part, BufferLoad)}
    return found


CONTROL = (If, For, While, Bind, Evaluate)
"""Statements that a vector cannot execute."""
