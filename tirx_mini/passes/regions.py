"""Region analysis: the tensor elements accessed by the iterations of loops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tirx_mini.ir import Analyzer, Expr, Var, const, int_value, simplify, walk
from tirx_mini.records import dataclass


@dataclass(frozen=True, eq=False)
class Interval:
    """An interval of `size` values starting at `first`."""

    first: Expr
    size: int


def interval(index: Expr, moves: Callable[[Var], bool], ranges: Analyzer, extent: int) -> Interval:
    """Return the range of `index` while the variables selected by `moves` take all their values.

    extent: the extent of the dimension that is indexed, which is the answer where none better is known.
    """
    whole = Interval(const(0), extent)
    index = ranges.simplify(index)
    moving, still = ranges.partition(index, lambda part: any(isinstance(v, Var) and moves(v) for v in walk(part)))
    bounds = ranges.bounds(moving)
    if bounds is None:
        return whole
    size = bounds[1] - bounds[0] + 1
    if size >= extent and int_value(still) is None:
        return whole
    return Interval(ranges.simplify(still + bounds[0]), size)


def union(parts: Sequence[Interval], extent: int) -> Interval:
    """Return an interval that contains all `parts`, or the whole dimension if their distances are unknown."""
    first, *rest = parts
    low, high = 0, first.size
    for part in rest:
        distance = int_value(simplify(part.first - first.first))
        if distance is None:
            return Interval(const(0), extent)
        low, high = min(low, distance), max(high, distance + part.size)
    return Interval(simplify(first.first + low), high - low)


def box(
    accesses: Iterable[tuple[tuple[Expr, ...], Analyzer]], shape: Sequence[int], moves: Callable[[Var], bool]
) -> tuple[Interval, ...]:
    """Return a bounding box of the elements that the given accesses to a tensor of `shape` touch.

    accesses: the indices of each place, and the ranges of the variables in them.
    """
    found = list(accesses)
    return tuple(
        union([interval(indices[dim], moves, ranges, extent) for indices, ranges in found], extent)
        for dim, extent in enumerate(shape)
    )
