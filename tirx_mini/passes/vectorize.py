"""VectorizeLoops: a loop whose kind is VECTORIZED becomes operations on vectors."""

from __future__ import annotations

from dataclasses import replace

from tirx_mini.ir import (
    SERIAL,
    VECTORIZED,
    Analyzer,
    Binary,
    BufferLoad,
    BufferStore,
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
    int_value,
    seq,
    walk,
)


def vectorize(func: PrimFunc) -> PrimFunc:
    """`func` with vectors in the place of the iterations of VECTORIZED loops.

    A vector is a `Ramp` as the last index of an access; a scalar operand of a vector is a `Cast` to its type. A loop
    stays as it is where its iterations do not access neighbours, or are guarded by a condition.
    """
    return func.with_body(_Vectorize().stmt(func.body))


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
    """An expression whose values in the iterations of a loop are not a vector."""


class _Lanes:
    """The iterations of a loop over `var` as lanes."""

    def __init__(self, var: Var, lanes: int) -> None:
        self.var, self.lanes = var, lanes

    def statement(self, body: Stmt) -> Stmt | None:
        """`body` for all iterations at once, or None."""
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
        """The indices of an access of neighbours, or of one element."""
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
        """The value in all lanes; an expression that is the same in all of them stays a scalar."""
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
        """A value as a vector of `dtype`: the same in all lanes if it is a scalar."""
        return value if value.dtype == dtype else Cast(dtype, value, span=value.span)
