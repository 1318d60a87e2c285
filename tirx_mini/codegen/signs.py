"""Sign analysis: integers that are known to be non-negative.

The IR's ``//`` and ``%`` round towards minus infinity, C++'s ``/`` and ``%`` towards zero. They agree on natural
numbers. Nearly every index of a kernel is one, so that most divisions print as the plain operators.
"""

from __future__ import annotations

from tirx_mini.ir import (
    Binary,
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    Cast,
    Const,
    DataType,
    Expr,
    For,
    PrimFunc,
    Select,
    Special,
    Var,
)  # fmt: skip

_CLOSED = ("+", "*", "//", "/", "%", "<<", "|", "^")
"""Operators whose result is not negative if neither operand is (overflow aside)."""


class Signs:
    """The non-negative integers of a function; a mutable scalar counts until a store refutes it."""

    def __init__(self, func: PrimFunc) -> None:
        self._values: dict[Var, Expr] = {bind.var: bind.value for bind in func.of(Bind)}
        self._values.update({loop.var: loop.start for loop in func.of(For) if loop.step > 0})
        stores = [store for store in func.of(BufferStore) if store.buffer.scalar]
        self._scalars: set[Buffer] = {s.buffer for s in stores if s.buffer.dtype.is_integer}
        self._known: dict[Expr, bool] = {}
        refuted = True
        while refuted:
            self._known.clear()
            wrong = {s.buffer for s in stores if s.buffer in self._scalars and not self.natural(s.value)}
            self._scalars -= wrong
            refuted = bool(wrong)

    def natural(self, expr: Expr) -> bool:
        """Return whether `expr` is known to be non-negative."""
        if expr not in self._known:
            self._known[expr] = self._natural(expr)
        return self._known[expr]

    def _natural(self, expr: Expr) -> bool:
        if expr.dtype.code == "uint" or expr.dtype.is_bool:
            return True
        if isinstance(expr, Const):
            return expr.value >= 0
        if isinstance(expr, Special):
            return True
        if isinstance(expr, Var):
            return expr in self._values and self.natural(self._values[expr])
        if isinstance(expr, BufferLoad):
            return expr.buffer in self._scalars
        if isinstance(expr, Cast):
            return self.natural(expr.value) and _keeps_value(expr.value.dtype, expr.dtype)
        if isinstance(expr, Select):
            return self.natural(expr.a) and self.natural(expr.b)
        return isinstance(expr, Binary) and self._binary(expr)

    def _binary(self, expr: Binary) -> bool:
        if expr.op in ("&", "max"):
            return self.natural(expr.a) or self.natural(expr.b)
        if expr.op == "%":
            return self.natural(expr.b)
        if expr.op == ">>":
            return self.natural(expr.a)
        return expr.op in (*_CLOSED, "min") and self.natural(expr.a) and self.natural(expr.b)


def _keeps_value(source: DataType, target: DataType) -> bool:
    """Return whether a non-negative `source` value is unchanged in the signed type `target`."""
    return source.bits < target.bits or (source.is_signed and source.bits == target.bits)
