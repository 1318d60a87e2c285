"""Vectorisation of VECTORIZED loops: in schedules (`vectorize`), and in kernels by VectorizeLoops."""

from __future__ import annotations

from tirx_mini.ir import (
    SERIAL,
    UNROLLED,
    VECTORIZED,
    Analyzer,
    Binary,
    Bind,
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    DataType,
    Expr,
    For,
    If,
    Mutator,
    PrimFunc,
    Ramp,
    Select,
    Seq,
    Stmt,
    Unary,
    Var,
    const,
    int_value,
    seq,
    substitute,
    walk,
)
from tirx_mini.isa import instruction_of
from tirx_mini.records import replace

from .vectors import lower_vectors

MOST_BYTES = 16
"""The widest access of a thread (PTX ISA, "Vector Data Types")."""


def vectorize(func: PrimFunc) -> PrimFunc:
    """Replace the iterations of VECTORIZED loops by vector operations.

    A vector is a `Ramp` as the last index of an access; a scalar operand of a vector is a `Cast` to its type. A loop
    stays as it is where its iterations do not access neighbours, or are guarded by a condition.
    """
    return func.with_body(_Vectorize().stmt(func.body))


def vectorize_loops(func: PrimFunc) -> PrimFunc:
    """Vectorise or unroll the VECTORIZED loops of a kernel with flat indices.

    An iteration over as many elements as one access has, 16 bytes at most, takes the place of theirs where all of them
    access neighbours, from a multiple of the access' size on. Any other loop is unrolled.
    """
    if not any(isinstance(node, For) and node.kind == VECTORIZED for node in func.nodes):
        return func
    return lower_vectors(func.with_body(_Accesses().stmt(func.body)))


class _Accesses(Mutator):
    def visit_For(self, node: For) -> Stmt:
        loop = self.rebuild(node)
        if loop.kind != VECTORIZED:
            return loop
        count, width = int_value(loop.stop), max((_itemsize(access) for access in _accesses(loop.body)), default=1)
        lanes = MOST_BYTES // width
        while count is not None and int_value(loop.start) == 0 and loop.step == 1 and lanes > 1:
            vectors = None if count % lanes else self._by(loop, lanes)
            if vectors is not None:
                rounds = count // lanes
                return vectors if rounds == 1 else replace(loop, stop=const(rounds), body=vectors, kind=UNROLLED)
            lanes //= 2
        return replace(loop, kind=UNROLLED)

    @staticmethod
    def _by(loop: For, lanes: int) -> Stmt | None:
        """Return the loop body with groups of `lanes` iterations as vectors."""
        group, lane = const(0) if int_value(loop.stop) == lanes else loop.var * lanes, Var(loop.var.dtype, "lane")
        vectors = _LanesOfThread(lane, lanes).statement(substitute(loop.body, {loop.var: group + lane}))
        if vectors is None or not all(_aligned(access) for access in _accesses(vectors)):
            return None
        return vectors


def _accesses(body: Stmt) -> list[BufferLoad | BufferStore]:
    return [node for node in walk(body) if isinstance(node, (BufferLoad, BufferStore))]


def _itemsize(access: BufferLoad | BufferStore) -> int:
    """Return the bytes of an element, or more than any vector has for sub-byte elements."""
    return access.buffer.dtype.itemsize if access.buffer.dtype.bits >= 8 else MOST_BYTES


def _aligned(access: BufferLoad | BufferStore) -> bool:
    """Return whether a vector access is aligned to its size."""
    index, buffer = access.indices[-1], access.buffer
    if not isinstance(index, Ramp):
        return True
    size = index.lanes * buffer.dtype.itemsize
    return not buffer.byte_offset % size and Analyzer().divisible(index.base, index.lanes)


class _Vectorize(Mutator):
    def visit_For(self, node: For) -> Stmt:
        loop = self.rebuild(node)
        lanes = int_value(loop.stop)
        if loop.kind != VECTORIZED or lanes is None or int_value(loop.start) != 0:
            return loop
        if lanes == 1:
            return replace(loop, kind=SERIAL)
        vectors = _Lanes(loop.var, lanes).statement(loop.body)
        return loop if vectors is None else vectors


class _NotAVector(Exception):
    """An expression whose values across iterations do not form a vector."""


class _Lanes:
    """The iterations of a loop over `var`, treated as vector lanes."""

    def __init__(self, var: Var, lanes: int) -> None:
        self.var, self.lanes = var, lanes

    def statement(self, body: Stmt) -> Stmt | None:
        """Vectorise `body` over all iterations, or return None."""
        if isinstance(body, Seq):
            parts = [self.statement(part) for part in body.stmts]
            return None if None in parts else seq(*parts, span=body.span)
        if isinstance(body, If) and body.orelse is None and not self.depends(body.cond):
            then = self.statement(body.then)
            return None if then is None else replace(body, then=then)
        if not isinstance(body, BufferStore):
            return None
        try:
            index = self._index(body.indices)
            if not isinstance(index[-1], Ramp):
                return None  # all iterations write one element
            value = self._wide(self.value(body.value), body.buffer.dtype.with_lanes(self.lanes))
        except _NotAVector:
            return None
        return replace(body, indices=index, value=value)

    def depends(self, expr: Expr) -> bool:
        return any(node is self.var for node in walk(expr))

    def _index(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Return the indices of a contiguous or uniform access."""
        *outer, last = indices
        if any(self.depends(index) for index in outer) or isinstance(last, Ramp):
            raise _NotAVector
        if not self.depends(last):
            return indices
        moving, still = Analyzer().partition(last, self.depends)
        if moving is not self.var:
            raise _NotAVector
        return (*outer, Ramp(still.dtype, still, self.lanes))

    def value(self, expr: Expr) -> Expr:
        """Return the value in all lanes; a lane-invariant expression stays scalar."""
        if not self.depends(expr):
            return expr
        if isinstance(expr, BufferLoad):
            index = self._index(expr.indices)
            return replace(expr, indices=index, dtype=expr.dtype.with_lanes(self.lanes))
        wide = expr.dtype.with_lanes(self.lanes)
        if isinstance(expr, Binary):
            a, b = self.value(expr.a), self.value(expr.b)
            sides = expr.a.dtype.with_lanes(self.lanes)
            return Binary(wide, expr.op, self._wide(a, sides), self._wide(b, sides), span=expr.span)
        if isinstance(expr, Unary):
            return replace(expr, dtype=wide, value=self.value(expr.value))
        if isinstance(expr, Cast):
            return replace(expr, dtype=wide, value=self.value(expr.value))
        if isinstance(expr, Select):
            sides = (expr.cond, expr.a, expr.b)
            cond, a, b = (self._wide(self.value(part), part.dtype.with_lanes(self.lanes)) for part in sides)
            return Select(wide, cond, a, b, span=expr.span)
        raise _NotAVector

    @staticmethod
    def _wide(value: Expr, dtype: DataType) -> Expr:
        """Broadcast a scalar to a vector of `dtype`."""
        return value if value.dtype == dtype else Cast(dtype, value, span=value.span)


class _LanesOfThread(_Lanes):
    """Lanes executed serially by a thread, as for the lanes of math functions.

    bound: the vectors of the variables that the iterations bind.
    """

    def __init__(self, var: Var, lanes: int) -> None:
        super().__init__(var, lanes)
        self.bound: dict[Var, Var] = {}

    def depends(self, expr: Expr) -> bool:
        return any(node is self.var or node in self.bound for node in walk(expr) if isinstance(node, Var))

    def statement(self, body: Stmt) -> Stmt | None:
        if not isinstance(body, Bind) or not self.depends(body.value):
            return body if isinstance(body, Bind) else super().statement(body)
        try:
            value = self.value(body.value)
        except _NotAVector:
            return None
        self.bound[body.var] = Var(value.dtype, body.var.name)
        return replace(body, var=self.bound[body.var], value=value)

    def value(self, expr: Expr) -> Expr:
        if isinstance(expr, Var) and expr in self.bound:
            return self.bound[expr]
        if not isinstance(expr, Call) or not self.depends(expr):
            return super().value(expr)
        entry = instruction_of(expr)
        if entry is None or not entry.pure:
            raise _NotAVector
        args = tuple(self.value(argument) for argument in expr.args)
        return replace(expr, dtype=expr.dtype.with_lanes(self.lanes), args=args)
