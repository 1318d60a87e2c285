"""Parallel loops: their iterations, the tiles that they access, and how many neighbouring iterations make a vector."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

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

from .language.loops import PARALLEL_HINT
from .language.memory import FRAGMENT
from .layouts import Fragment

Access = BufferLoad | BufferStore
MAX_ACCESS_BYTES = 16
"""The widest access of one thread (PTX ISA, "Vector Data Types"), except for those of 32 bytes on sm_100."""


@dataclass(frozen=True, eq=False)
class Nest:
    """Parallel loops, each the body of the one before.

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
        """The loads and stores of the body."""
        for node in walk(self.body):
            if isinstance(node, (BufferLoad, BufferStore)):
                yield node

    def fragments(self) -> Iterator[Access]:
        """Those of fragments."""
        return (node for node in self.accesses() if node.buffer.scope == FRAGMENT)

    def dimensions(self, access: Access) -> list[int | None]:
        """For each dimension of an access, the loop whose variable, or a quotient of it, is its index; or None."""
        numbers = {var: number for number, var in enumerate(self.vars)}
        return [numbers.get(var) if var is not None else None for var, _ in map(_quotient, access.indices)]

    def divisors(self, access: Access) -> list[int]:
        """For each dimension of an access, the divisor of its loop's variable."""
        return [divisor for _, divisor in map(_quotient, access.indices)]

    def names_loops(self, index: Expr) -> bool:
        """Return whether an index depends on the variables of the loops."""
        own = set(self.vars)
        return any(part in own for part in walk(index) if isinstance(part, Var))


def _quotient(index: Expr) -> tuple[Var | None, int]:
    """The variable and the divisor of an index that is a variable, or a variable // a constant."""
    bare = Analyzer().simplify(index)
    if isinstance(bare, Var):
        return bare, 1
    if isinstance(bare, Binary) and bare.op == "//" and isinstance(bare.a, Var) and isinstance(bare.b, Const):
        return bare.a, int(bare.b.value)
    return None, 1


def nest_of(stmt: Stmt, analyzer: Analyzer) -> Nest | None:
    """The parallel loops that a statement is, or None. Raises `TirxError` where an extent is not known."""
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
    """Variables for the loops of a tile operation."""
    return tuple(Var(INT32, "ijklmn"[number]) for number in range(count))


def lanes_of(nest: Nest, analyzer: Analyzer, threads: int) -> int:
    """How many neighbouring iterations of the last loop become one vector: a power of two."""
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
    """How many elements of an access can be one vector; large for one that does not move with the last loop."""
    var = nest.vars[-1]
    following = [substitute(index, {var: var + 1}) for index in access.indices]
    if all(analyzer.equal(a, b) for a, b in zip(access.indices, following, strict=True)):
        return MAX_ACCESS_BYTES
    return vector_width(access, var, analyzer)


def vector_width(access: Access, lane: Var, analyzer: Analyzer, stop: int | None = None) -> int:
    """How many elements, as `lane` counts from 0 on, are one aligned access of at most 16 bytes.

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
    """Return whether a body only stores: its iterations can be lanes of a vector."""
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
    """The loads that a thread executes only where a condition holds."""
    found: set[BufferLoad] = set()
    for node in walk(body):
        if isinstance(node, Select):
            found |= {part for side in (node.a, node.b) for part in walk(side) if isinstance(part, BufferLoad)}
    return found


CONTROL = (If, For, While, Bind, Evaluate)
"""Statements that a vector cannot execute."""
