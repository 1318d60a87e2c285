"""Index maps: functions from old to new indices, and their inverses."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple, NoReturn

from tirx_mini.ir import INT32, Analyzer, Binary, Expr, TirxError, Var, as_expr, const, int_value, substitute
from tirx_mini.records import dataclass
from tirx_mini.script import caller_span


@dataclass(frozen=True, eq=False, repr=False)
class IndexMap:
    """A map from old to new indices: ``IndexMap.from_func(lambda i, j: (i // 16, j, i % 16))``.

    initial_indices: the variables that `final_indices` are written in.
    """

    initial_indices: tuple[Var, ...]
    final_indices: tuple[Expr, ...]

    AXIS_SEPARATOR = "axis_separator"
    """Between two indices: accepted as TVM has it. Memory is flat here, so it has no effect."""

    @staticmethod
    def from_func(
        mapping_function: Callable[..., object], ndim: int | None = None, inverse_index_map: object = None, **_: object
    ) -> IndexMap:
        """Return the map that a function computes. ndim: the number of indices, for a function of ``*indices``.

        inverse_index_map: accepted as TVM has it; the inverse follows from the map.
        """
        parameters = list(inspect.signature(mapping_function).parameters.values())
        names = [each.name for each in parameters if each.kind is not each.VAR_POSITIONAL]
        if len(names) < len(parameters):
            names += [f"i{number}" for number in range(len(names), ndim or len(names))]
        variables = tuple(Var(INT32, name) for name in names)
        made = mapping_function(*variables)
        listed = made if isinstance(made, (tuple, list)) else [made]
        kept = [each for each in listed if each is not IndexMap.AXIS_SEPARATOR]
        return IndexMap(variables, tuple(map(as_expr, kept)))

    def map_indices(self, indices: Sequence[object]) -> list[Expr]:
        """Return the new indices of an element."""
        if len(indices) != len(self.initial_indices):
            count = len(self.initial_indices)
            raise TirxError(f"the index map has {count} indices, but it is given {len(indices)}", caller_span())
        values = {var: as_expr(index) for var, index in zip(self.initial_indices, indices, strict=True)}
        return [Analyzer().simplify(substitute(index, values)) for index in self.final_indices]

    def map_shape(self, shape: Sequence[object]) -> list[int]:
        """Return the extents of the new indices."""
        ranges = self._ranges(_numbers(shape))
        bounds = [ranges.bounds(ranges.simplify(index)) for index in self.final_indices]
        if any(each is None or each[0] < 0 for each in bounds):
            raise TirxError(f"the values of {self} are not known", caller_span())
        return [each[1] + 1 for each in bounds if each is not None]

    def inverse(self, shape: Sequence[object]) -> IndexMap:
        """Return the old indices in terms of the new ones, for old extents `shape`.

        Raises `TirxError` unless the map permutes digits: each new index is a sum of ``i // a % b * c``.
        """
        sizes = _numbers(shape)
        if len(sizes) != len(self.initial_indices):
            self._refuse(f"it has {len(self.initial_indices)} indices, not {len(sizes)}")
        extents = dict(zip(self.initial_indices, sizes, strict=True))
        ranges = self._ranges(sizes)
        made: dict[Var, list[_Digit]] = {var: [] for var in self.initial_indices}
        names = tuple(Var(INT32, f"axis{number}") for number in range(len(self.final_indices)))
        for name, index in zip(names, self.final_indices, strict=True):
            self._digits(name, ranges.simplify(index), extents, made)
        values: list[Expr] = []
        for var in self.initial_indices:
            value, low = const(0), 1
            for digit in sorted(made[var], key=lambda each: each.low):
                if digit.low != low:
                    self._refuse(f"it does not keep all digits of {var.name}, which has {extents[var]} values")
                value, low = value + digit.value * low, low * digit.size
            if low != extents[var]:
                self._refuse(f"it is of {low} values of {var.name}, which has {extents[var]}")
            values.append(Analyzer().simplify(as_expr(value)))
        return IndexMap(names, tuple(values))

    def _ranges(self, shape: Sequence[int]) -> Analyzer:
        ranges = Analyzer()
        for var, extent in zip(self.initial_indices, shape, strict=False):
            ranges = ranges.bind(var, 0, extent - 1)
        return ranges

    def _digits(
        self, name: Var, index: Expr, extents: dict[Var, int], made: dict[Var, list[_Digit]]
    ) -> None:
        """Decompose an index into digits of the variables, and record the expression of each."""
        terms = [self._term(part, extents) for part in _summands(index) if int_value(part) != 0]
        scale = 1
        ordered = sorted(terms, key=lambda term: term.scale)
        for number, term in enumerate(ordered):
            if term.scale != scale:
                self._refuse(f"{index!r} leaves out values")
            value: Expr = name if scale == 1 else name // scale
            value = value if number == len(ordered) - 1 else value % term.size
            made[term.var].append(_Digit(term.low, term.size, value))
            scale *= term.size

    def _term(self, part: Expr, extents: dict[Var, int]) -> _Term:
        """Parse a term of the form ``var // low % size * scale``."""
        scale = 1
        while isinstance(part, Binary) and part.op == "*" and int_value(part.b) is not None:
            scale, part = scale * (int_value(part.b) or 1), part.a
        steps: list[tuple[str, int]] = []
        while isinstance(part, Binary) and part.op in ("//", "%") and int_value(part.b):
            steps.insert(0, (part.op, int_value(part.b) or 1))
            part = part.a
        if not isinstance(part, Var) or part not in extents:
            self._refuse(f"{part!r} is not a sum of `i // a % b * c`")
        low, size = 1, extents[part]
        for op, by in steps:
            if op == "//":
                low, size = low * by, -(-size // by)
            elif size % min(by, size):
                self._refuse(f"the extent {extents[part]} of {part.name} is not divisible by {low * by}")
            else:
                size = min(by, size)
        return _Term(part, low, size, scale)

    def _refuse(self, why: str) -> NoReturn:
        hint = "map each index to tiles that divide its extent, as in lambda i, j: (i // 16, j // 16, i % 16, j % 16)"
        raise TirxError(f"the inverse of the index map {self} is not known: {why}", caller_span(), hint)

    def is_equivalent_to(self, other: IndexMap) -> bool:
        """Return whether another map computes the same new indices."""
        if len(self.initial_indices) != len(other.initial_indices):
            return False
        pairs = zip(self.final_indices, other.map_indices(self.initial_indices), strict=False)
        return len(self.final_indices) == len(other.final_indices) and all(Analyzer().equal(a, b) for a, b in pairs)

    def __repr__(self) -> str:
        names = ", ".join(var.name for var in self.initial_indices)
        return f"lambda {names}: ({', '.join(map(repr, self.final_indices))})"


class _Term(NamedTuple):
    var: Var
    low: int
    size: int
    scale: int


class _Digit(NamedTuple):
    """A digit of a variable, with `size` values in steps of `low`, and the expression that computes it."""

    low: int
    size: int
    value: Expr


def _summands(expr: Expr) -> list[Expr]:
    if isinstance(expr, Binary) and expr.op == "+":
        return [*_summands(expr.a), *_summands(expr.b)]
    return [expr]


def _numbers(shape: Sequence[object]) -> list[int]:
    sizes = [int_value(as_expr(extent)) for extent in shape]
    known = [size for size in sizes if size is not None]
    if len(known) != len(sizes) or prod(known) < 1:
        raise TirxError(f"the extents {list(shape)} are not positive numbers", caller_span())
    return known


def index_map_of(given: Any, ndim: int) -> IndexMap:
    """Return an index map, converting a function if necessary."""
    made = given if isinstance(given, IndexMap) else IndexMap.from_func(given, ndim)
    if len(made.initial_indices) != ndim:
        raise TirxError(f"the index map {made} has {len(made.initial_indices)} indices, not {ndim}", caller_span())
    return made
