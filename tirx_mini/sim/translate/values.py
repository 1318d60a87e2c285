"""The text of a value in generated code, with its dtype, range and dependences."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tirx_mini.ir import DataType
from tirx_mini.records import dataclass, replace


def integer_range(dtype: DataType) -> tuple[int, int]:
    """Return the inclusive range of an integer type (or bool)."""
    if dtype.is_bool:
        return (0, 1)
    if dtype.is_signed:
        return (-(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1)
    return (0, (1 << dtype.bits) - 1)


@dataclass(frozen=True)
class Value:
    """The Python source text of a value.

    lanes: whether it is an array with a last axis of lanes (or of 1); otherwise it is a Python number. Integer arrays
        are int64 (uint64 for uint64), whatever the type in the kernel; `low` and `high` keep them exact.
    low, high: inclusive bounds of an integer.
    static: whether it depends only on the position of the lane in the CTA and on the variables of parallel loops, so
        that all its values can be computed before the kernel runs.
    view: whether the text names storage that may change; it must be copied before it is kept.
    depth: the nesting depth of operations in the text; Python's parser has a limit.
    """

    code: str
    dtype: DataType
    lanes: bool = False
    low: int = 0
    high: int = 0
    static: bool = False
    view: bool = False
    depth: int = 0

    @property
    def known(self) -> int | None:
        """The value of an integer constant, or None."""
        return self.low if not self.lanes and self.low == self.high and self.dtype.is_integer else None


def combined(code: str, dtype: DataType, *parts: Value, low: int = 0, high: int = 0) -> Value:
    """Return the value of an operation on `parts`."""
    return Value(
        code,
        dtype,
        any(part.lanes for part in parts),
        low,
        high,
        static=all(part.static for part in parts),
        depth=1 + max(part.depth for part in parts),
    )


def ranged(
    code: str, dtype: DataType, *, lanes: bool = False, static: bool = False, view: bool = False,
    depth: int = 0,
) -> Value:
    """Return a value whose only known bounds are those of its dtype."""
    low, high = integer_range(dtype) if dtype.is_integer or dtype.is_bool else (0, 0)
    return Value(code, dtype, low=low, high=high, lanes=lanes, static=static, view=view, depth=depth)


def literal(value: int | bool, dtype: DataType) -> Value:
    """Return an integer or boolean constant."""
    code = f"({value})" if value < 0 else repr(value)
    return Value(code, dtype, low=int(value), high=int(value), static=True)


def wrapped(value: Value) -> Value:
    """Wrap `value` to the range of its integer type; return it unchanged if it cannot overflow."""
    low, high = integer_range(value.dtype)
    if low <= value.low and value.high <= high:
        return value
    if value.lanes and value.dtype.bits == 64:
        return replace(value, low=low, high=high)  # the arrays' own arithmetic wraps
    mask = (1 << value.dtype.bits) - 1
    if value.dtype.is_signed:
        code = f"(({value.code} + {-low} & {mask}) - {-low})"
    else:
        code = f"({value.code} & {mask})"
    return replace(value, code=code, low=low, high=high, view=False)


def checked(value: Value) -> Value:
    """Wrap a signed value of an address computation with a runtime check that records overflow."""
    same = wrapped(value)
    if same.code == value.code:
        return same
    return replace(same, code=f"signed(w, {value.code}, {same.low}, {same.high})")


# -- bounds of integer operations ----------------------------------------------------------------------------------


def _products(a: Value, b: Value) -> tuple[int, int]:
    ends = (a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high)
    return min(ends), max(ends)


def _shift_left(a: Value, b: Value) -> tuple[int, int]:
    bits = a.dtype.bits
    if b.low < 0 or b.high >= bits:
        return -(1 << (2 * bits)), 1 << (2 * bits)
    ends = (a.low << b.low, a.low << b.high, a.high << b.low, a.high << b.high)
    return min(ends), max(ends)


def _quotients(a: Value, b: Value) -> tuple[int, int]:
    if b.low <= 0:
        biggest = max(abs(a.low), abs(a.high))
        return -biggest - 1, biggest + 1
    ends = (a.low // b.low, a.low // b.high, a.high // b.low, a.high // b.high)
    return min(ends), max(ends)


def _remainder(a: Value, b: Value) -> tuple[int, int]:
    if b.low <= 0:
        biggest = max(abs(b.low), abs(b.high))
        return -biggest, biggest
    return (a.low, a.high) if a.low >= 0 and a.high < b.low else (0, b.high - 1)


def _shift_right(a: Value, b: Value) -> tuple[int, int]:
    if b.low < 0 or b.high >= a.dtype.bits:
        return min(a.low, -1), max(a.high, 0)
    ends = (a.low >> b.low, a.low >> b.high, a.high >> b.low, a.high >> b.high)
    return min(ends), max(ends)


def _and(a: Value, b: Value) -> tuple[int, int]:
    if a.low >= 0 or b.low >= 0:
        tops = [v.high for v in (a, b) if v.low >= 0]
        return 0, min(tops)
    return integer_range(a.dtype)


def _or(a: Value, b: Value) -> tuple[int, int]:
    if a.low >= 0 and b.low >= 0:
        return 0, (1 << max(a.high.bit_length(), b.high.bit_length())) - 1
    return integer_range(a.dtype)


_BITWISE: Mapping[str, Callable[[int, int], int]] = {
    "&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b,
}  # fmt: skip
BOUNDS: Mapping[str, Callable[[Value, Value], tuple[int, int]]] = {
    "+": lambda a, b: (a.low + b.low, a.high + b.high),
    "-": lambda a, b: (a.low - b.high, a.high - b.low),
    "*": _products, "<<": _shift_left, "//": _quotients, "/": _quotients, "%": _remainder, ">>": _shift_right,
    "&": _and, "|": _or, "^": _or,
    "min": lambda a, b: (min(a.low, b.low), min(a.high, b.high)),
    "max": lambda a, b: (max(a.low, b.low), max(a.high, b.high)),
}  # fmt: skip


def bounds(op: str, a: Value, b: Value) -> tuple[int, int]:
    """Return inclusive bounds of ``a op b`` over integers, before wrapping."""
    if op in _BITWISE and a.known is not None and b.known is not None:
        exact = _BITWISE[op](a.known, b.known)
        return exact, exact
    return BOUNDS[op](a, b)
