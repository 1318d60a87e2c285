"""Reductions: `sum`, `max`, `min`, `prod`, and `comm_reducer` for others."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tirx_mini.ir import DataType, Expr, TirxError, as_bool, as_expr, binary, cast, const, select
from tirx_mini.script import caller_span

from .axis import REDUCTION, IterVar


@dataclass(frozen=True)
class Reducer:
    """A commutative and associative combination of two values, and its neutral element.

    combine: the combination of two values.
    identity: the neutral element of a dtype.
    """

    name: str
    combine: Callable[[Expr, Expr], Any]
    identity: Callable[[DataType], Any]

    def __call__(self, expr: Any, axis: Any, where: Any = None, init: Any = None) -> Expr:
        """The reduction of `expr` over `axis`, or over several; of the values for which `where` holds."""
        return reduce(self, expr, axis, where, init)


@dataclass(frozen=True, eq=False, repr=False)
class Reduce(Expr):
    """The combination of the values of `source` over `axes`. Only the body of a `compute` may be one.

    where: the values that take part; None for all.
    start: what the combination begins with, in place of the neutral element.
    """

    reducer: Reducer
    source: Expr
    axes: tuple[IterVar, ...]
    where: Expr | None = None
    start: Expr | None = None

    def __repr__(self) -> str:
        axes = ", ".join(map(str, self.axes))
        where = "" if self.where is None else f", where={self.where!r}"
        return f"te.{self.reducer.name}({self.source!r}, axis=[{axes}]{where})"

    @property
    def identity(self) -> Expr:
        """The value before the first one is combined."""
        if self.start is not None:
            return cast(self.dtype, self.start)
        return cast(self.dtype, as_expr(self.reducer.identity(self.dtype)))

    def combined(self, before: Expr) -> Expr:
        """The value after one more, given that `before` it."""
        value = cast(self.dtype, as_expr(self.reducer.combine(before, self.source)))
        return value if self.where is None else select(self.where, value, before)


def reduce(reducer: Reducer, expr: Any, axis: Any, where: Any = None, init: Any = None) -> Reduce:
    """The reduction of `expr` over the axes `axis`, one or several. Raises `TirxError` for an axis of another kind."""
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    for each in axes:
        if not isinstance(each, IterVar) or each.kind != REDUCTION:
            raise TirxError(
                f"te.{reducer.name} reduces over {each!r}", caller_span(), "reduce over axes of te.reduce_axis"
            )
    source = as_expr(expr)
    condition = None if where is None else as_bool(where)
    return Reduce(source.dtype, reducer, source, axes, condition, None if init is None else as_expr(init))


def least(dtype: DataType) -> Expr:
    """The least value of a dtype."""
    if dtype.is_float:
        return const(float("-inf"), dtype)
    return const(int(np.iinfo(str(dtype)).min), dtype)


def greatest(dtype: DataType) -> Expr:
    """The greatest value of a dtype."""
    if dtype.is_float:
        return const(float("inf"), dtype)
    return const(int(np.iinfo(str(dtype)).max), dtype)


def min_value(dtype: str) -> Expr:
    """The least finite value of a dtype."""
    kind = DataType(dtype)
    return const(_finite(kind, "min"), dtype) if kind.is_float else least(kind)


def max_value(dtype: str) -> Expr:
    """The greatest finite value of a dtype."""
    kind = DataType(dtype)
    return const(_finite(kind, "max"), dtype) if kind.is_float else greatest(kind)


def _finite(dtype: DataType, end: str) -> float:
    import ml_dtypes

    return float(getattr(ml_dtypes.finfo(str(dtype)), end))


sum = Reducer("sum", operator.add, lambda dtype: const(0, dtype))
prod = Reducer("prod", operator.mul, lambda dtype: const(1, dtype))
max = Reducer("max", lambda a, b: binary("max", a, b), least)
min = Reducer("min", lambda a, b: binary("min", a, b), greatest)


def comm_reducer(
    fcombine: Callable[[Any, Any], Any], fidentity: Callable[[str], Any], name: str = "reduce"
) -> Callable[..., Expr]:
    """A reduction by `fcombine`, commutative and associative, whose neutral element is ``fidentity(dtype)``."""
    reducer = Reducer(name, fcombine, fidentity)

    def reduced(expr: Any, axis: Any | Sequence[Any], where: Any = None, init: Any = None) -> Expr:
        return reduce(reducer, expr, axis, where, init)

    return reduced
