"""Arrays selected at run time: list elements, or variables assigned different arrays on two paths.

Memory has no pointers that may belong to one of several arrays here, so an operation on such an array becomes a branch
for each of them; extents and strides are selected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

from .arguments import materialize, own_dtype, scalar_index
from .branches import Branches, Path
from .dtypes import default_dtype, promote
from .errors import TileTypeError
from .surface import Operation
from .tracer import Exit, How
from .values import ChoiceValue, TileValue, describe, is_constant, plain

_VIEWS = ("slice", "tiled_view", "get_raw_memory")
"""Methods that make a view of an array, and access no memory."""


class Choices(Branches):
    """Traces operations on arrays that are selected at run time."""

    def element(self, items: tuple[object, ...], index: object) -> Any:
        """Return an element of a list of arrays."""
        number = plain(index)
        if isinstance(number, int) and not isinstance(number, bool):
            if not 0 <= number < len(items):
                raise TileTypeError(f"the index {number} is out of range for a list of {len(items)} arrays")
            return items[number]
        chosen = scalar_index(self, index, "the index of a list")
        first, *others = items
        return ChoiceValue(chosen, items) if others else first

    def chosen(
        self, choice: ChoiceValue, function: Operation, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> Any:
        """Trace an operation that has `choice` as an argument."""

        def apply(item: object) -> object:
            given = [item if a is choice else a for a in args]
            named = {name: item if a is choice else a for name, a in kwargs.items()}
            return self.call(function, given, named)

        if function.__name__ in _VIEWS:
            return ChoiceValue(choice.index, tuple(apply(item) for item in choice.items))
        if function.__name__ == "num_tiles":
            return self.selected(choice.index, [apply(item) for item in choice.items])
        return self._one_of(choice.index, [lambda item=item: apply(item) for item in choice.items], 0)

    def _one_of(self, index: TileValue, cases: Sequence[Callable[[], object]], first: int) -> Any:
        """Trace the cases so that only the one selected by `index` executes, and return its value."""
        if len(cases) == 1:
            return cases[0]()
        condition = self.emit.compare("equal", index, first)
        names, tokens = self.frame.names, self.order.state
        arms = []
        for make in (cases[0], lambda: self._one_of(index, cases[1:], first + 1)):
            self.frame.names, self.order.state = dict(names), dict(tokens)
            with self.emit.region() as block:
                value = make()
            arms.append(Path(block, Exit(How.RETURN, value), self.frame.names, self.order.state, "for one array"))
        self.frame.names, self.order.state = names, dict(tokens)
        return self._merge(condition, arms, names, tokens, frozenset(), returned=True)

    def selected(self, index: TileValue, values: Sequence[Any]) -> Any:
        """Select one of several integers."""
        if all(is_constant(v) for v in values) and len({plain(v) for v in values}) == 1:
            return values[0]
        dtype = reduce(promote, (own_dtype(v) or default_dtype(plain(v)) for v in values))
        scalars = [materialize(self, plain(v), dtype) if is_constant(v) else self.emit.cast(v, dtype) for v in values]
        made = scalars[-1]
        for number, scalar in reversed(list(enumerate(scalars[:-1]))):
            here = self.emit.compare("equal", index, number)
            made = self.emit.tile("select", dtype, (), here, scalar, made)
        return made

    def choice_attribute(self, choice: ChoiceValue, name: str) -> Any:
        """Return ``choice.name``: an attribute common to all arrays, or selected extents or strides."""
        values = [self.attribute(item, name) for item in choice.items]  # type: ignore[attr-defined]
        if name in ("shape", "strides"):
            return tuple(self.selected(choice.index, dims) for dims in zip(*values, strict=True))
        if any(v != values[0] for v in values):
            raise TileTypeError(f"`{name}` of {describe(choice)} is known at run time only")
        return values[0]
