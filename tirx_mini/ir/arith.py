"""Integer arithmetic at compile time: simplification, equality and bounds of index expressions.

An integer expression is rewritten into the linear form c0 + c1*t1 + c2*t2 + …, where no term t is itself a sum or a
multiple. Division and remainder by a constant distribute over that form where divisibility or bounds allow. Index
arithmetic over tiles relies on this: ``(k + 1) * 64 - k * 64`` simplifies to 64, and ``(b * 128 + i) % 128`` to i for
i below 128.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import field
from operator import is_

from tirx_mini.records import dataclass, replace

from .bits import Reinterpret, reinterpret
from .dtype import DataType
from .expr import (
    Binary,
    Call,
    Cast,
    Const,
    Element,
    Expr,
    Ramp,
    Select,
    Str,
    Unary,
    Var,
    binary,
    cast,
    const,
    select,
    unary,
)  # fmt: skip
from .units import Special

_LEAVES = (Const, Var, Special, Str)
"""The classes of expressions that are as simple as they can be."""

Bounds = tuple[int, int]
"""Least and greatest value, both inclusive."""


def key(expr: Expr) -> Hashable:
    """Return a hashable key of an expression; structurally equal expressions have equal keys."""
    if isinstance(expr, Const):
        return ("c", expr.dtype, expr.value)
    if isinstance(expr, Var):
        return expr
    if isinstance(expr, Special):
        return ("s", expr.name)
    if isinstance(expr, Binary):
        return (expr.op, expr.dtype, key(expr.a), key(expr.b))
    if isinstance(expr, (Unary, Cast, Reinterpret)):
        return (getattr(expr, "op", type(expr).__name__), expr.dtype, key(expr.value))
    if isinstance(expr, Select):
        return ("select", key(expr.cond), key(expr.a), key(expr.b))
    if isinstance(expr, Element):
        return (type(expr).__name__, expr.buffer, tuple(key(i) for i in expr.indices))
    if isinstance(expr, Ramp):
        return ("ramp", expr.lanes, key(expr.base))
    if isinstance(expr, Call):
        return (expr.op, tuple(key(a) for a in expr.args), expr.attrs)
    if isinstance(expr, Str):
        return ("str", expr.value)
    return expr


@dataclass(slots=True)
class Linear:
    """A linear form: the sum of `constant` and coefficient * term over all `terms`."""

    constant: int = 0
    terms: dict[Hashable, tuple[Expr, int]] = field(default_factory=dict[Hashable, tuple[Expr, int]])

    def add(self, expr: Expr, coefficient: int) -> None:
        identity = key(expr)
        _, old = self.terms.get(identity, (expr, 0))
        if old + coefficient:
            self.terms[identity] = (expr, old + coefficient)
        else:
            self.terms.pop(identity, None)

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        terms = dict(self.terms)
        for identity, (expr, coefficient) in other.terms.items():
            known = terms.get(identity)
            total = factor * coefficient + (0 if known is None else known[1])
            if total:
                terms[identity] = (expr, total)
            else:
                terms.pop(identity, None)
        return Linear(self.constant + factor * other.constant, terms)

    def split(self, divisor: int) -> tuple[Linear, Linear]:
        """Return (multiple, rest) such that self = divisor * multiple + rest."""
        whole, rest = Linear(), Linear()
        whole.constant, rest.constant = divmod(self.constant, divisor)
        for identity, (expr, coefficient) in self.terms.items():
            if coefficient % divisor == 0:
                whole.terms[identity] = (expr, coefficient // divisor)
            else:
                rest.terms[identity] = (expr, coefficient)
        return whole, rest


@dataclass(frozen=True)
class Analyzer:
    """Simplifies and bounds expressions, given the ranges of variables and special registers.

    ranges: inclusive bounds by `Var`, or by the name of a special register.
    """

    ranges: Mapping[Var | str, Bounds] = field(default_factory=dict[Var | str, Bounds])
    _linears: dict[Expr, Linear] = field(default_factory=dict[Expr, Linear], init=False, repr=False, compare=False)
    """The linear forms that are known, by node. None of them is changed."""

    def bind(self, var: Var | str, low: int, high: int) -> Analyzer:
        """Return an analyzer that additionally assumes low <= var <= high."""
        return replace(self, ranges={**self.ranges, var: (low, high)})

    def simplify(self, expr: Expr) -> Expr:
        """Return an equal, possibly simpler expression. Unchanged parts keep their spans."""
        if isinstance(expr, _LEAVES):
            return expr
        if expr.dtype.is_integer and expr.dtype.lanes == 1:
            return self._emit(self._linear(expr), expr.dtype, expr)
        return self._node(expr)

    def equal(self, a: Expr, b: Expr) -> bool:
        """Return whether the integers `a` and `b` are provably equal."""
        difference = self._linear(a).plus(self._linear(b), -1)
        return not difference.terms and difference.constant == 0

    def bounds(self, expr: Expr) -> Bounds | None:
        """Return inclusive bounds of an integer expression, or None if it is unbounded or unknown."""
        if isinstance(expr, Const):
            return (int(expr.value), int(expr.value)) if not isinstance(expr.value, float) else None
        if isinstance(expr, Var):
            return self.ranges.get(expr)
        if isinstance(expr, Special):
            return self.ranges.get(expr.name)
        if isinstance(expr, Cast):
            return self.bounds(expr.value) if expr.dtype.is_integer and expr.value.dtype.is_integer else None
        if isinstance(expr, Select):
            a, b = self.bounds(expr.a), self.bounds(expr.b)
            return (min(a[0], b[0]), max(a[1], b[1])) if a and b else None
        if isinstance(expr, Binary):
            return self._binary_bounds(expr)
        return None

    def divisor(self, expr: Expr) -> int:
        """Return the largest known divisor of `expr`, or 0 for the constant 0, which every number divides."""
        linear = self._linear(expr)
        return math.gcd(linear.constant, *(coefficient for _, coefficient in linear.terms.values()))

    def divisible(self, expr: Expr, divisor: int) -> bool:
        """Return whether `expr` is always a multiple of `divisor`."""
        return self.divisor(expr) % divisor == 0

    def partition(self, expr: Expr, chosen: Callable[[Expr], bool]) -> tuple[Expr, Expr]:
        """Split `expr` into a sum of two: the terms that satisfy `chosen`, and all others with the constant."""
        linear = self._linear(expr)
        picked, rest = Linear(), Linear(linear.constant)
        for identity, (term, coefficient) in linear.terms.items():
            (picked if chosen(term) else rest).terms[identity] = (term, coefficient)
        return self._emit(picked, expr.dtype, expr), self._emit(rest, expr.dtype, expr)

    # -- bounds -------------------------------------------------------------------------------------------------

    def _binary_bounds(self, expr: Binary) -> Bounds | None:
        if expr.dtype.is_bool:
            return (0, 1)
        a, b = self.bounds(expr.a), self.bounds(expr.b)
        if expr.op in ("%", "&") and b and b[0] == b[1] and b[0] > 0 and (expr.op == "%" or not b[0] & (b[0] + 1)):
            top = b[0] - (expr.op == "%")
            return (a[0], a[1]) if a and a[0] >= 0 and a[1] <= top else (0, top)
        if a is None or b is None:
            return None
        if expr.op in ("<<", "*"):
            if expr.op == "<<" and not 0 <= b[0] <= b[1] < 64:
                return None
            factor = (1 << b[0], 1 << b[1]) if expr.op == "<<" else b
            products = [x * y for x in a for y in factor]
            return (min(products), max(products))
        if expr.op in ("//", ">>") and b[0] == b[1]:
            if expr.op == ">>" and not 0 <= b[0] < 64:
                return None
            divisor = b[0] if expr.op == "//" else 1 << b[0]
            return (a[0] // divisor, a[1] // divisor) if divisor > 0 else None
        if expr.op in ("|", "^") and a[0] >= 0 and b[0] >= 0:
            return (0, (1 << max(a[1].bit_length(), b[1].bit_length())) - 1)
        table = {"+": (a[0] + b[0], a[1] + b[1]), "-": (a[0] - b[1], a[1] - b[0]),
                 "min": (min(a[0], b[0]), min(a[1], b[1])), "max": (max(a[0], b[0]), max(a[1], b[1]))}  # fmt: skip
        return table.get(expr.op)

    def _linear_bounds(self, linear: Linear) -> Bounds | None:
        low = high = linear.constant
        for expr, coefficient in linear.terms.values():
            bounds = self.bounds(expr)
            if bounds is None:
                return None
            ends = sorted((bounds[0] * coefficient, bounds[1] * coefficient))
            low, high = low + ends[0], high + ends[1]
        return (low, high)

    # -- linear form --------------------------------------------------------------------------------------------

    def _linear(self, expr: Expr) -> Linear:
        if isinstance(expr, Const) and not isinstance(expr.value, float):
            return Linear(int(expr.value))
        if isinstance(expr, _LEAVES):
            return Linear(0, {key(expr): (expr, 1)})
        known = self._linears.get(expr)
        if known is None:
            known = self._linears[expr] = self._sum(expr)
        return known

    def _sum(self, expr: Expr) -> Linear:
        if isinstance(expr, Unary) and expr.op == "-":
            return Linear().plus(self._linear(expr.value), -1)
        if (
            isinstance(expr, Cast)
            and expr.dtype.is_signed
            and expr.value.dtype.is_signed
            and expr.dtype.bits >= expr.value.dtype.bits
        ):
            inner = self._linear(expr.value)
            if not inner.terms:
                return inner
        if isinstance(expr, Binary) and expr.dtype.is_integer:
            known = self._linear_binary(expr)
            if known is not None:
                return known
        out = Linear()
        kept = self._node(expr)
        if isinstance(kept, Const) and not isinstance(kept.value, float):
            out.constant = int(kept.value)
        else:
            out.add(kept, 1)
        return out

    def _linear_binary(self, expr: Binary) -> Linear | None:
        a, b = self._linear(expr.a), self._linear(expr.b)
        if expr.op in ("+", "-"):
            return a.plus(b, 1 if expr.op == "+" else -1)
        if expr.op == "*" and not (a.terms and b.terms):
            return Linear().plus(a, b.constant) if not b.terms else Linear().plus(b, a.constant)
        if expr.op == "^":
            return self._scaled_xor(expr, a, b)
        if b.terms:
            return None
        # An unsigned shift stays one: it packs a bit field.
        if expr.op == "<<" and expr.dtype.is_signed and 0 <= b.constant < expr.dtype.bits:
            return Linear().plus(a, 1 << b.constant)
        if expr.op in ("//", ">>", "%", "&"):
            return self._divided(expr, a, b.constant)
        return None

    def _scaled_xor(self, expr: Binary, a: Linear, b: Linear) -> Linear | None:
        """Rewrite (g * x) ^ (g * y) as g * (x ^ y) for the largest such power of two g."""
        coefficients = [coefficient for side in (a, b) for _, coefficient in side.terms.values()]
        common = math.gcd(a.constant, b.constant, *coefficients)
        common &= -common
        if common <= 1:
            return None
        x, y = (self._emit(side.split(common)[0], expr.dtype, expr) for side in (a, b))
        return Linear().plus(self._linear(binary("^", x, y, span=expr.span)), common)

    def _divided(self, expr: Binary, a: Linear, b: int) -> Linear | None:
        """Split a // divisor or a % divisor into the multiple of the divisor and the rest."""
        divisor = _constant_divisor(expr, b)
        if divisor is None:
            return None
        whole, rest = a.split(divisor)
        bounds = self._linear_bounds(rest)
        quotient = None
        if bounds is not None and bounds[0] // divisor == bounds[1] // divisor:
            quotient = bounds[0] // divisor
        floor = expr.op in ("//", ">>")
        if quotient is not None:
            if floor:
                return Linear(whole.constant + quotient, whole.terms)
            return Linear(rest.constant - quotient * divisor, rest.terms)
        left = self._reduced(expr, rest, divisor) or self._nested(expr, rest, divisor)
        if left is None and (whole.terms or whole.constant):
            left = self._atom(expr, rest, b)
        return whole.plus(left) if left is not None and floor else left

    def _atom(self, expr: Binary, rest: Linear, b: int) -> Linear:
        inner = self._emit(rest, expr.dtype, expr.a)
        out = Linear()
        divided = Binary(expr.dtype, expr.op, inner, const(b, expr.dtype), span=expr.span)
        out.add(divided, 1)
        return out

    def _reduced(self, expr: Binary, rest: Linear, divisor: int) -> Linear | None:
        """Rewrite (g * x) // (g * n) as x // n, and (g * x) % (g * n) as g * (x % n), if such a g > 1 exists."""
        common = math.gcd(divisor, rest.constant, *(coefficient for _, coefficient in rest.terms.values()))
        if common == 1:
            return None
        x = self._emit(rest.split(common)[0], expr.dtype, expr.a)
        op = "//" if expr.op in ("//", ">>") else "%"
        divided = self._linear(binary(op, x, const(divisor // common, expr.dtype), span=expr.span))
        return divided if op == "//" else Linear().plus(divided, common)

    def _nested(self, expr: Binary, rest: Linear, divisor: int) -> Linear | None:
        """Rewrite (x % (n * d)) % d as x % d, and (x // n) // d as x // (n * d)."""
        if rest.constant or len(rest.terms) != 1:
            return None
        ((inner, coefficient),) = rest.terms.values()
        known = _constant_divisor(inner) if coefficient == 1 and isinstance(inner, Binary) else None
        if known is None or not isinstance(inner, Binary):
            return None
        floor, of_floor = inner.op in ("//", ">>"), expr.op in ("//", ">>")
        if not floor and not of_floor and known % divisor == 0:
            return self._linear(binary("%", inner.a, const(divisor, expr.dtype), span=expr.span))
        if floor and of_floor and known * divisor < 1 << (expr.dtype.bits - 1):
            return self._linear(binary("//", inner.a, const(known * divisor, expr.dtype), span=expr.span))
        return None

    def _emit(self, linear: Linear, dtype: DataType, origin: Expr) -> Expr:
        total: Expr | None = None
        terms: Iterable[tuple[Expr, int]] = linear.terms.values()
        if len(linear.terms) > 1:
            terms = sorted(terms, key=lambda t: t[1] < 0)
        for expr, coefficient in terms:
            magnitude = abs(coefficient)
            term = cast(dtype, expr)
            if magnitude != 1:
                term = Binary(dtype, "*", term, const(magnitude, dtype), span=origin.span)
            if total is None:
                total = term if coefficient > 0 else unary("-", term, span=origin.span)
            else:
                total = Binary(dtype, "+" if coefficient > 0 else "-", total, term, span=origin.span)
        if total is None:
            return const(linear.constant, dtype, span=origin.span)
        if not linear.constant:
            return total
        op, magnitude = ("+", linear.constant) if linear.constant > 0 else ("-", -linear.constant)
        return binary(op, total, const(magnitude, dtype), span=origin.span)

    # -- everything but sums ------------------------------------------------------------------------------------

    def _node(self, expr: Expr) -> Expr:
        """Simplify the children of `expr`, and fold it if its value follows from them."""
        if isinstance(expr, Binary):
            return self._comparison(expr, self.simplify(expr.a), self.simplify(expr.b))
        if isinstance(expr, Unary):
            return unary(expr.op, self.simplify(expr.value), span=expr.span)
        if isinstance(expr, Cast):
            return cast(expr.dtype, self.simplify(expr.value), span=expr.span)
        if isinstance(expr, Reinterpret):
            return reinterpret(expr.dtype, self.simplify(expr.value), span=expr.span)
        if isinstance(expr, Select):
            cond = self.simplify(expr.cond)
            return select(cond, self.simplify(expr.a), self.simplify(expr.b), span=expr.span)
        if isinstance(expr, Ramp):
            return replace(expr, base=self.simplify(expr.base))
        if isinstance(expr, Element):
            indices = tuple(map(self.simplify, expr.indices))
            return expr if all(map(is_, indices, expr.indices)) else replace(expr, indices=indices)
        if isinstance(expr, Call):
            args = tuple(map(self.simplify, expr.args))
            return expr if all(map(is_, args, expr.args)) else replace(expr, args=args)
        return expr

    def _comparison(self, expr: Binary, a: Expr, b: Expr) -> Expr:
        if expr.op in ("==", "!=", "<", "<=", ">", ">=") and a.dtype.is_signed:
            bounds = self._linear_bounds(self._linear(a).plus(self._linear(b), -1))
            decided = None if bounds is None else _decide(expr.op, bounds)
            if decided is not None:
                return const(decided, span=expr.span)
        if a is expr.a and b is expr.b and not (isinstance(a, Const) and isinstance(b, Const)):
            return expr
        return binary(expr.op, a, b, span=expr.span)  # folds two constants, which a substitution may leave


def _constant_divisor(expr: Binary, by: int | None = None) -> int | None:
    """Return the divisor in ``x // c``, ``x % c``, ``x >> c`` or ``x & (2 ** n - 1)``, else None.

    by: the right operand, where the caller has already simplified it to a constant.
    """
    b = by if by is not None else expr.b.value if isinstance(expr.b, Const) else None
    if not isinstance(b, int) or b < 0:
        return None
    if expr.op == "&":
        return None if b & (b + 1) else b + 1
    divisor = {"//": b, "%": b, ">>": 1 << b if b < 64 else 0}.get(expr.op, 0)
    return divisor or None


def _decide(op: str, bounds: Bounds) -> bool | None:
    """Return the truth value of ``difference op 0`` if the bounds of the difference decide it, else None."""
    low, high = bounds
    if op in ("==", "!="):
        if low == high == 0:
            return op == "=="
        return (op == "!=") if low > 0 or high < 0 else None
    always = {"<": high < 0, "<=": high <= 0, ">": low > 0, ">=": low >= 0}
    never = {"<": low >= 0, "<=": low > 0, ">": high <= 0, ">=": high < 0}
    return True if always[op] else False if never[op] else None


def simplify(expr: Expr) -> Expr:
    """Simplify `expr` without assumptions about its variables."""
    return Analyzer().simplify(expr)


def difference(a: Expr, b: Expr) -> Expr:
    """Return ``a - b``, simplified without assumptions about variables."""
    # The extent of a slice start : start + 128. Keys that hold variables are compared by hash: `==` builds a node.
    if isinstance(a, Binary) and a.op == "+" and isinstance(a.b, Const) and key(b) in {key(a.a)}:
        return a.b
    return simplify(a - b)
