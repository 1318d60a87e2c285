"""Reductions: `sum`, `max`, `min`, `prod`, and `comm_reducer` for others."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tirx_mini.ir import DataType, Expr, TirxError, as_bool, as_expr, binary, cast, const, select
from tirx_mini.records import dataclass
from tirx_mini.script import caller_span

from .axis import REDUCTION, IterVar


@dataclass(frozen=True)
class Reducer:
    """A commutative and associative binary operator with its identity element.

    combine: the combination of two values.
    identity: the neutral element of a dtype.
    """

    name: str
    combine: Callable[[Any, Any], Any]
    identity: Callable[..., Any]

    def __call__(self, expr: object, axis: object, where: object = None, init: object = None) -> Expr:
        """Reduce `expr` over one or several axes, restricted to values for which `where` holds."""
        return reduce(self, expr, axis, where, init)


@dataclass(frozen=True, eq=False, repr=False)
class Group(Expr):
    """The tuple of values for one element of several tensors, defined by a single `compute`."""

    values: tuple[Expr, ...]

    def __repr__(self) -> str:
        return f"({', '.join(map(repr, self.values))})"

    def __iter__(self) -> Iterator[Expr]:
        return iter(self.values)


@dataclass(frozen=True, eq=False, repr=False)
class Reduce(Expr):
    """A reduction of `source` over `axes`, valid only as the body of a `compute`.

    source: the value; a `Group` where several are reduced together.
    where: the values that take part; None for all.
    start: the initial value, in place of the identity element.
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
        """The initial value of the reduction."""
        return self.identities[0]

    @property
    def identities(self) -> tuple[Expr, ...]:
        """The initial values, one for each reduced value."""
        if self.start is not None:
            found = self.start if isinstance(self.start, Group) else (self.start,)
        else:
            made = self.reducer.identity(*(value.dtype for value in self.sources))
            found = made if isinstance(made, (tuple, list)) else (made,)
        return tuple(cast(own.dtype, as_expr(value)) for own, value in zip(self.sources, found, strict=True))

    @property
    def sources(self) -> tuple[Expr, ...]:
        """The values that are reduced."""
        return self.source.values if isinstance(self.source, Group) else (self.source,)

    def combined(self, before: Expr) -> Expr:
        """Return the accumulator after combining one more value with `before`."""
        return self.all_combined((before,))[0]

    def all_combined(self, before: Sequence[Expr]) -> tuple[Expr, ...]:
        """Return the accumulators after combining one more value each with `before`."""
        if isinstance(self.source, Group):
            made = tuple(self.reducer.combine(tuple(before), self.source.values))
        else:
            made = (self.reducer.combine(before[0], self.source),)
        values = [cast(own.dtype, as_expr(value)) for own, value in zip(self.sources, made, strict=True)]
        if self.where is None:
            return tuple(values)
        return tuple(select(self.where, value, old) for value, old in zip(values, before, strict=True))


def reduce(reducer: Reducer, expr: Any, axis: Any, where: Any = None, init: Any = None) -> Reduce:
    """Reduce `expr` over `axis`, one axis or several. Raises `TirxError` unless these are reduction axes."""
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    for each in axes:
        if not isinstance(each, IterVar) or each.kind != REDUCTION:
            raise TirxError(
                f"te.{reducer.name} reduces over {each!r}", caller_span(), "reduce over axes of te.reduce_axis"
            )
    source = _grouped(expr)
    condition = None if where is None else as_bool(where)
    made = Reduce(source.dtype, reducer, source, axes, condition, None if init is None else _grouped(init))
    _check(made)
    return made


def _grouped(value: object) -> Expr:
    """Return a single value, or a `Group` of several."""
    if not isinstance(value, (tuple, list)):
        return as_expr(value)
    values = tuple(map(as_expr, value))
    return Group(values[0].dtype, values)


def _check(made: Reduce) -> None:
    """Raise `TirxError` unless the reducer combines as many values as are reduced."""
    count = len(made.sources)
    try:
        given = len(made.identities), len(made.all_combined(made.sources))
    except (TypeError, ValueError):
        raise TirxError(
            f"te.{made.reducer.name} does not reduce {count} value{'s' * (count > 1)}",
            caller_span(),
            "its functions take and return as many values: combine((a0, a1), (b0, b1)), identity(dtype0, dtype1)",
        ) from None
    assert given == (count, count)


def least(dtype: DataType) -> Expr:
    """Return the least value of a dtype."""
    if dtype.is_float:
        return const(float("-inf"), dtype)
    return const(int(np.iinfo(str(dtype)).min), dtype)


def greatest(dtype: DataType) -> Expr:
    """Return the greatest value of a dtype."""
    if dtype.is_float:
        return const(float("inf"), dtype)
    return const(int(np.iinfo(str(dtype)).max), dtype)


def min_value(dtype: str) -> Expr:
    """Return the least finite value of a dtype."""
    kind = DataType(dtype)
    return const(_finite(kind, "min"), dtype) if kind.is_float else least(kind)


def max_value(dtype: str) -> Expr:
    """Return the greatest finite value of a dtype."""
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
    fcombine: Callable[[Any, Any], object], fidentity: Callable[[str], object], name: str = "reduce"
) -> Callable[..., Expr]:
    """Return a reduction by `fcombine`, commutative and associative, with identity element ``fidentity(dtype)``.

    Several values are reduced together where they are given as a tuple: ``fcombine((a0, a1), (b0, b1))`` and
    ``fidentity(dtype0, dtype1)`` return tuples, too. Raises `TirxError` where they do not.
    """
    reducer = Reducer(name, fcombine, fidentity)

    def reduced(expr: object, axis: object | Sequence[object], where: object = None, init: object = None) -> Expr:
        return reduce(reducer, expr, axis, where, init)

    return reduced
