"""Affine index arithmetic, split so that a loop adds a single number to a precomputed pattern."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from tirx_mini.ir import INT64, Binary, Cast, Const, DataType, Expr, Unary, int_value
from tirx_mini.records import dataclass

from .values import Value, bounds, combined, literal


@dataclass
class Terms:
    """A constant plus a sum of coefficient * value, with separate lists for static and other values."""

    constant: int = 0
    static: list[tuple[int, Value]] = field(default_factory=list[tuple[int, Value]])
    other: list[tuple[int, Value]] = field(default_factory=list[tuple[int, Value]])

    def add(self, terms: Terms, factor: int = 1) -> None:
        self.constant += factor * terms.constant
        self.static += [(factor * c, v) for c, v in terms.static]
        self.other += [(factor * c, v) for c, v in terms.other]

    def multiple_of(self, divisor: int) -> bool:
        """Return whether all non-static terms are multiples of `divisor`."""
        return all(c % divisor == 0 for c, _ in self.other)


class Affine:
    """A splitter of index expressions. build: translates a term that is not a sum."""

    def __init__(self, build: Callable[[Expr], Value]) -> None:
        self._build = build

    def split(self, expr: Expr) -> tuple[Value | None, Value | None, Value | None]:
        """Return (uniform, static pattern, rest), whose sum is `expr`; None stands for zero."""
        terms = self.terms(expr)
        lanes = [t for t in terms.static if t[1].lanes]
        uniform = [t for t in terms.static if not t[1].lanes] + [t for t in terms.other if not t[1].lanes]
        rest = [t for t in terms.other if t[1].lanes]
        constant = terms.constant
        pattern = None
        if lanes and not uniform:
            pattern, constant = _sum(lanes, constant), 0
        elif lanes:
            pattern = _sum(lanes, 0)
        return _sum(uniform, constant), pattern, _sum(rest, 0)

    def terms(self, expr: Expr) -> Terms:
        """Return the terms of a sum; any other expression is a single term."""
        out = Terms()
        known = int_value(expr) if isinstance(expr, Const) else None
        if known is not None:
            out.constant = known
        elif isinstance(expr, Unary) and expr.op == "-":
            out.add(self.terms(expr.value), -1)
        elif isinstance(expr, Cast) and batchable(expr.value.dtype, expr.dtype):
            out.add(self.terms(expr.value))
        elif not (isinstance(expr, Binary) and self._binary(expr, out)):
            value = self._build(expr)
            (out.static if value.static else out.other).append((1, value))
        return out

    def _binary(self, expr: Binary, out: Terms) -> bool:
        """Add the terms of `expr` to `out`; return False if it is not a sum."""
        a, b = expr.a, expr.b
        constant_b = int_value(b)
        if expr.op in ("+", "-"):
            out.add(self.terms(a))
            out.add(self.terms(b), 1 if expr.op == "+" else -1)
        elif expr.op == "*" and int_value(a) is not None:
            out.add(self.terms(b), int_value(a) or 0)
        elif expr.op == "*" and constant_b is not None:
            out.add(self.terms(a), constant_b)
        elif expr.op == "<<" and constant_b is not None and 0 <= constant_b < 32:
            out.add(self.terms(a), 1 << constant_b)
        elif expr.op in ("^", "|"):
            return self._bitwise(expr.op, self.terms(a), self.terms(b), out)
        else:
            return False
        return True

    def _bitwise(self, op: str, a: Terms, b: Terms, out: Terms) -> bool:
        """Rewrite (u + s) ^ t to u + (s ^ t) if t is below a power of two that divides u, as in swizzles."""
        if a.other and b.other:
            return False
        if a.other:
            high, low = a, b
        else:
            high, low = b, a
        s, t = _sum(high.static, high.constant), _sum(low.static, low.constant)
        if not high.other or t is None or t.low < 0 or not high.multiple_of(1 << t.high.bit_length()):
            return False
        out.other += high.other
        combined = t if s is None else _combine(op, s, t)
        out.static.append((1, combined))
        return True


def batchable(source: DataType, target: DataType) -> bool:
    """Return whether the second integer type can represent every value of the first."""
    return source.is_signed and target.is_signed and target.bits >= source.bits


def _combine(op: str, a: Value, b: Value) -> Value:
    low, high = bounds(op, a, b)
    return combined(f"({a.code} {op} {b.code})", a.dtype, a, b, low=low, high=high)


def _sum(terms: list[tuple[int, Value]], constant: int) -> Value | None:
    """Return constant + sum of coefficient * value as one value; None for zero."""
    terms = [(coefficient, value) for coefficient, value in terms if coefficient]
    if not terms:
        return literal(constant, INT64) if constant else None
    pieces: list[str] = []
    low = high = constant
    for coefficient, value in terms:
        pieces.append(value.code if coefficient == 1 else f"{value.code} * {coefficient}")
        ends = sorted((coefficient * value.low, coefficient * value.high))
        low, high = low + ends[0], high + ends[1]
    if constant:
        pieces.append(str(constant))
    code = pieces[0] if len(pieces) == 1 and "*" not in pieces[0] else "(" + " + ".join(pieces) + ")"
    return combined(code, terms[0][1].dtype, *(value for _, value in terms), low=low, high=high)
