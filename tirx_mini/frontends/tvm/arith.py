"""`tvm.arith`: index arithmetic for programs that use the analyzer directly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tirx_mini.ir import Analyzer as OwnAnalyzer
from tirx_mini.ir import Binary, Const, Expr, Var, as_expr, substitute

__all__ = ["Analyzer"]


class Analyzer:
    """Simplifies integer expressions and proves conditions, given the bounds and values of variables."""

    def __init__(self) -> None:
        self._own = OwnAnalyzer()
        self._values: dict[Var, Expr] = {}

    def bind(self, var: Any, expr: Any, allow_override: bool = False) -> None:
        """Bind a variable to a value, or to a range with `min` and `extent`."""
        if hasattr(expr, "extent"):
            low, count = (int(as_int(part)) for part in (expr.min, expr.extent))
            self._own = self._own.bind(var, low, low + count - 1)
        else:
            self._values[var] = as_expr(expr)

    def simplify(self, expr: object, steps: int = 2) -> Expr:
        """Return the simplified expression."""
        return self._own.simplify(substitute(as_expr(expr), self._values))

    rewrite_simplify = canonical_simplify = simplify

    def can_prove_equal(self, lhs: object, rhs: object) -> bool:
        """Return whether two expressions are equal for all values of their variables."""
        return self._own.equal(self.simplify(lhs), self.simplify(rhs))

    def can_prove(self, expr: object, strength: object = 0) -> bool:
        """Return whether a condition holds for all values of its variables."""
        condition = self.simplify(expr)
        if isinstance(condition, Const):
            return bool(condition.value)
        return isinstance(condition, Binary) and self._holds(condition)

    def _holds(self, condition: Binary) -> bool:
        if condition.op == "==":
            return self._own.equal(condition.a, condition.b)
        if condition.op in ("and", "or"):
            both = (self.can_prove(condition.a), self.can_prove(condition.b))
            return all(both) if condition.op == "and" else any(both)
        left, right = self._own.bounds(condition.a), self._own.bounds(condition.b)
        if left is None or right is None:
            return False
        holds = {
            "<": left[1] < right[0], "<=": left[1] <= right[0], ">": left[0] > right[1], ">=": left[0] >= right[1],
            "!=": left[1] < right[0] or left[0] > right[1],
        }  # fmt: skip
        return holds.get(condition.op, False)

    @contextmanager
    def constraint_scope(self, constraint: object) -> Iterator[None]:
        """Enter a block in which a condition holds; the analyzer ignores the condition."""
        yield


def as_int(value: Any) -> int:
    """Return the integer value of a constant."""
    return int(getattr(value, "value", value))
