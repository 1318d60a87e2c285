"""Integer range analysis, used by the canonicaliser to remove comparisons, masks and roundings.

Bounds are of the signed reading, over all elements of a tensor; an i1 is 0 or 1. A result that may wrap around has the
bounds of its type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ..cuda_tile import Bounded
from ..ssa import Op, OpKind, Region, Scalar, Type, Value
from . import ops as aa
from . import standard as st
from .memory_types import element_of, is_integer

Range = tuple[int, int]
"""The least and the greatest number."""

_MOST_X, _MOST_YZ = (1 << 31) - 1, 65535
"""The greatest extents of a grid (CUDA: Compute Capabilities)."""


def whole(type_: Type) -> Range:
    """Return the full range of an integer type."""
    element = element_of(type_)
    assert isinstance(element, Scalar)
    return (0, 1) if element.bits == 1 else (-(1 << element.bits - 1), (1 << element.bits - 1) - 1)


def _corners(compute: Callable[[int, int], int]) -> Callable[[Range, Range], Range]:
    """Return the range rule of an operation that is monotonic in each operand."""

    def found(a: Range, b: Range) -> Range:
        values = [compute(x, y) for x in a for y in b]
        return min(values), max(values)

    return found


def _divided(compute: Callable[[int, int], int]) -> Callable[[Range, Range], Range | None]:
    """Return the range rule of a quotient, which requires a positive divisor."""
    inner = _corners(compute)
    return lambda a, b: inner(a, b) if b[0] > 0 else None


def _remainder(a: Range, b: Range) -> Range | None:
    if b[0] <= 0:
        return None
    most = b[1] - 1
    return max(-most, min(a[0], 0)), min(most, max(a[1], 0))


def _shifted(a: Range, b: Range) -> Range | None:
    return _corners(lambda x, n: x >> n)(a, b) if b[0] >= 0 and b[1] < 64 else None


def _masked(a: Range, b: Range) -> Range | None:
    """Return the range of a bitwise AND, bounded by its non-negative operands."""
    bounds = [hi for lo, hi in (a, b) if lo >= 0]
    return (0, min(bounds)) if bounds else None


def _unsigned_only(rule: Callable[[Range, Range], Range | None]) -> Callable[[Range, Range], Range | None]:
    """Restrict a range rule to non-negative operands, for which signed and unsigned readings agree."""
    return lambda a, b: rule(a, b) if a[0] >= 0 and b[0] >= 0 else None


_TRUNCATED = _divided(lambda x, y: abs(x) // y * (1 if x >= 0 else -1))
_BINARY: Mapping[OpKind, Callable[[Range, Range], Range | None]] = MappingProxyType({
    st.addi: lambda a, b: (a[0] + b[0], a[1] + b[1]),
    st.subi: lambda a, b: (a[0] - b[1], a[1] - b[0]),
    st.muli: _corners(lambda x, y: x * y),
    st.divsi: _TRUNCATED,
    st.divui: _unsigned_only(_TRUNCATED),
    st.floordivsi: _divided(lambda x, y: x // y),
    st.ceildivsi: _divided(lambda x, y: -(-x // y)),
    st.ceildivui: _unsigned_only(_divided(lambda x, y: -(-x // y))),
    st.remsi: _remainder,
    st.remui: _unsigned_only(_remainder),
    st.minsi: lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    st.maxsi: lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    st.minui: _unsigned_only(lambda a, b: (min(a[0], b[0]), min(a[1], b[1]))),
    st.maxui: _unsigned_only(lambda a, b: (max(a[0], b[0]), max(a[1], b[1]))),
    st.shrsi: _shifted,
    st.shrui: _unsigned_only(_shifted),
    st.andi: _masked,
})  # fmt: skip
_SAME = (aa.splat, aa.view, aa.expand_dims, aa.broadcast, aa.permute, aa.extract, aa.extract_slice, st.trunci)


class Ranges:
    """The known ranges of values."""

    def __init__(self) -> None:
        self.known: dict[Value, Range] = {}

    def __getitem__(self, value: Value) -> Range:
        return self.known.get(value) or whole(value.type)

    def see(self, op: Op) -> None:
        """Record the ranges of an operation's results from those of its operands."""
        if op.kind in (aa.get_program_id, aa.get_num_programs):
            counted = op.kind is aa.get_num_programs
            for value, most in zip(op.results, (_MOST_X, _MOST_YZ, _MOST_YZ), strict=True):
                self.known[value] = (1, most) if counted else (0, most - 1)
        elif len(op.results) == 1 and is_integer(op.results[0].type):
            found = self._of(op)
            low, high = whole(op.result.type)
            if found is not None and low <= found[0] and found[1] <= high:
                self.known[op.result] = found

    def _of(self, op: Op) -> Range | None:
        kind = op.kind
        if kind is st.constant:
            values = op.value.values.astype(object)
            return int(values.min()), int(values.max())
        if kind is aa.make_range:
            return op.start, op.end - 1
        if kind in _BINARY:
            return _BINARY[kind](self[op.operands[0]], self[op.operands[1]])
        if kind in _SAME:
            return self[op.operands[0]]
        if kind in (st.extsi, st.extui):
            low, high = self[op.source]
            boolean = element_of(op.source.type) == st.I1
            if kind is st.extsi:
                return (-high, -low) if boolean else (low, high)
            return (low, high) if low >= 0 else None
        if kind is st.select:
            (a, b), (c, d) = self[op.on_true], self[op.on_false]
            return min(a, c), max(b, d)
        if kind is aa.assume:
            low, high = self[op.value]
            bounds = op.predicate if isinstance(op.predicate, Bounded) else Bounded()
            return max(low, low if bounds.lower is None else bounds.lower), min(
                high, high if bounds.upper is None else bounds.upper
            )
        return None

    def loop(self, region: Region, lower: Value, upper: Value, step: Value) -> None:
        """Record the range of a signed loop counter with positive step."""
        (low, _), (_, high) = self[lower], self[upper]
        if self[step][0] > 0 and low < high:
            self.known[region.params[0]] = (low, high - 1)

    def compared(self, predicate: str, lhs: Value, rhs: Value) -> bool | None:
        """Return the result of a comparison if it is the same for all elements, else None."""
        a, b = self[lhs], self[rhs]
        if predicate[0] == "u" and predicate not in ("eq", "ne"):
            if a[0] < 0 or b[0] < 0:
                return None
            predicate = f"s{predicate[1:]}"
        always: Mapping[str, tuple[bool, bool]] = {
            "slt": (a[1] < b[0], a[0] >= b[1]),
            "sle": (a[1] <= b[0], a[0] > b[1]),
            "sgt": (a[0] > b[1], a[1] <= b[0]),
            "sge": (a[0] >= b[1], a[1] < b[0]),
            "eq": (a[0] == a[1] == b[0] == b[1], a[1] < b[0] or b[1] < a[0]),
            "ne": (a[1] < b[0] or b[1] < a[0], a[0] == a[1] == b[0] == b[1]),
        }
        yes, no = always[predicate]
        return True if yes else False if no else None


def nonnegative(ranges: Ranges, values: Sequence[Value]) -> bool:
    """Return whether all elements of all values are non-negative."""
    return all(ranges[v][0] >= 0 for v in values)
