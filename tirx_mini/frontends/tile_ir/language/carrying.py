"""Variables carried by loops and branches, with their types and origins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

from tirx_mini.records import dataclass

from ..ssa import Value
from .arguments import materialize, own_dtype
from .dtypes import DType, default_dtype, float32, int32
from .errors import TileTypeError
from .loop_forms import RETURNED
from .tracer import Tracer
from .values import (
    MISSING,
    ArrayValue,
    ChoiceValue,
    TileValue,
    Undefined,
    describe,
    is_constant,
    is_record,
    leaves,
    map_leaves,
    plain,
    record_fields,
    same_constant,
)


@dataclass(eq=False)
class LoopContext:
    """The loop-carried values of a loop.

    names: the variables, with values of the types that they have at the beginning of each iteration.
    roots: the arrays whose tokens are carried.
    before, header: the variables before the loop, and at the start of an iteration.
    exits, ends: the variables where a `break` leaves the loop, and where an iteration ends, of each.
    runs_out: whether the loop also ends where an iteration would begin.
    index, step: of a `for` that is a `loop`, since it has a `break`: the number of the iteration, to be advanced.
    """

    names: dict[str, Any] = field(default_factory=dict)
    roots: list[int] = field(default_factory=list)
    before: dict[str, Any] = field(default_factory=dict)
    header: dict[str, Any] = field(default_factory=dict)
    exits: list[dict[str, Any]] = field(default_factory=list)
    ends: list[dict[str, Any]] = field(default_factory=list)
    runs_out: bool = False
    index: TileValue | None = None
    step: TileValue | None = None

    def constants(self) -> dict[str, Any]:
        """Return the variables with the same constant value at every exit of the loop."""
        found: dict[str, Any] = {}
        for name in self.names:
            kept = self.header.get(name)
            exits, ends = ([names.get(name, MISSING) for names in places] for places in (self.exits, self.ends))
            values = [value for value in exits if value is not kept]
            if self.runs_out or len(values) < len(exits):  # it is left with what an iteration begins with
                values += [self.before[name], *(value for value in ends if value is not kept)]
            if values and all(same_constant(values[0], value) for value in values):
                found[name] = values[0]
        return found


class Carrying(Tracer):
    """Handles values that regions take and yield: tiles in variables, and memory tokens of arrays."""

    def _dynamic(self, value: object) -> object:
        """Convert a value to its carried form, in which constants become scalars of their own types."""
        return map_leaves(lambda leaf: materialize(self, leaf) if is_constant(leaf) else leaf, value)

    def one_of_arrays(self, first: Sequence[object], others: Sequence[object]) -> ChoiceValue | None:
        """Return one array to stand for argument arrays of the same dtype and rank that may be exchanged."""
        items: list[Any] = []
        for value in (*first, *others):
            found = value.items if isinstance(value, ChoiceValue) else (value,)
            items += [item for item in found if item not in items]
        arrays = all(isinstance(item, ArrayValue) and item.base in self.parameters for item in items)
        if not arrays or len(items) < 2 or len({(item.dtype, item.ndim) for item in items}) > 1:
            return None
        ordered = tuple(sorted(items, key=lambda item: item.root))
        return ChoiceValue(materialize(self, ordered.index(items[0]), int32), ordered)

    def _tiles(self, value: object) -> list[TileValue]:
        return [leaf for leaf in leaves(value) if isinstance(leaf, TileValue)]

    def _rebuilt(self, value: object, tiles: list[Value]) -> object:
        """Rebuild a value of the same structure from new tiles, consuming them from the front of `tiles`."""
        return map_leaves(
            lambda leaf: TileValue(tiles.pop(0), leaf.dtype, leaf.shape) if isinstance(leaf, TileValue) else leaf, value
        )

    def _conform(self, template: object, value: object, name: str, before: str, after: str) -> list[TileValue]:
        """Return the tiles of `value`, checked against the types of `template`; constants adopt these types."""
        if isinstance(value, Undefined):
            raise TileTypeError(f"the variable `{name}` has no value {value.why}", hint="assign it on every path")
        if isinstance(template, tuple) and isinstance(value, tuple) and len(template) == len(value):
            return [t for a, b in zip(template, value, strict=True) for t in self._conform(a, b, name, before, after)]
        if is_record(template) and type(template) is type(value):
            fields = zip(record_fields(template), record_fields(value), strict=True)
            return [t for a, b in fields for t in self._conform(a, b, name, before, after)]
        if isinstance(template, ChoiceValue):
            if isinstance(value, ChoiceValue) and value.items == template.items:
                return [value.index]
            if value in template.items:
                return [materialize(self, template.items.index(value), int32)]
        if isinstance(template, TileValue):
            if is_constant(value) and template.shape == () and _fits(value, template.dtype):
                return [materialize(self, plain(value), template.dtype)]
            if isinstance(value, TileValue) and (value.dtype, value.shape) == (template.dtype, template.shape):
                return [value]
        elif value is template or _same(value, template):
            return []
        what = f"`{name}`" if name != RETURNED else "what the function returns"
        raise TileTypeError(
            f"the type of {what} depends on the path: it is {describe(template)} {before}, "
            f"and {describe(value)} {after}",
            hint=_type_hint(name, template, value),
        )

    def _carried(self, context: LoopContext, leaves: bool = False) -> list[Value]:
        """Return the loop-carried values at the end of an iteration. leaves: whether a `break` ends it."""
        if leaves:
            context.exits.append(dict(self.frame.names))
        values: list[Value] = []
        for name, template in context.names.items():
            value = self.frame.names.get(name, Undefined(None, "at the end of an iteration"))
            tiles = self._conform(template, value, name, "before the loop", "at the end of an iteration")
            values += [t.value for t in tiles]
        return values + self.order.start(context.roots)


def _fits(value: object, dtype: DType) -> bool:
    """Return whether a constant has the given dtype, explicitly or by default."""
    return (own_dtype(value) or default_dtype(plain(value))) == dtype


def _same(a: object, b: object) -> bool:
    """Return whether two compile-time values are equal."""
    if isinstance(a, TileValue) or isinstance(b, TileValue):
        return False
    try:
        return bool(a == b)
    except Exception:  # an object of the program may refuse to be compared
        return False


def _type_hint(name: str, template: object, value: object) -> str | None:
    if isinstance(template, TileValue) and template.shape == () and is_constant(value) and own_dtype(value) is None:
        number = plain(value)
        if isinstance(number, int) and template.dtype == float32:
            return f"write the number as `{number}.0`"
        return f"give the number that type: `ct.{template.dtype}({number})`"
    if isinstance(template, TileValue) and isinstance(value, TileValue):
        if template.shape == value.shape:
            return f"convert one of them: `{name}.astype(ct.{template.dtype})`"
        if template.shape == ():
            return f"begin with a tile: `{name} = ct.zeros({value.shape}, dtype=ct.{value.dtype})`"
    return None
