"""Compile-time representations of tile-code values.

Constants are plain Python objects: an `int`, `float` or `bool` is a loosely typed constant, and tuples, strings,
dtypes, functions and modules are themselves. What exists at run time is one of the classes here.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType
from typing import Any

from tirx_mini.ir import Span
from tirx_mini.records import dataclass

from ..ssa import Value as SsaValue
from .dtypes import DType
from .enums import PaddingMode
from .surface import Operation

MISSING: Any = object()
"""In place of a value that is not there."""


@dataclass(frozen=True, eq=False)
class TileValue:
    """A tile, or a scalar if its shape is ()."""

    value: SsaValue
    dtype: DType
    shape: tuple[int, ...]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __str__(self) -> str:
        return f"<tile[{self.dtype}, {self.shape}]>"


@dataclass(frozen=True)
class Strict:
    """A strictly typed constant, such as ``ct.int16(5)`` or an array extent."""

    value: Any
    dtype: DType

    def __str__(self) -> str:
        return str(self.value)


Scalar = Strict | TileValue


@dataclass(frozen=True, eq=False)
class ArrayValue:
    """A view of an array in global memory.

    base: a pointer to the first element.
    shape, strides: in elements; known when the program is compiled unless they come from `slice`.
    root: the number of the parameter whose memory it is.
    name: the parameter's name.
    """

    base: SsaValue
    dtype: DType
    shape: tuple[Scalar, ...]
    strides: tuple[Scalar, ...]
    root: int
    name: str

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def static(self) -> bool:
        """Return whether all extents and strides are compile-time constants."""
        return all(isinstance(n, Strict) for n in (*self.shape, *self.strides))


@dataclass(frozen=True, eq=False)
class TiledViewValue:
    """An array partitioned into tiles: ``array.tiled_view(tile_shape)``.

    steps: elements between the origins of consecutive tiles.
    """

    array: ArrayValue
    tile_shape: tuple[int, ...]
    padding: PaddingMode
    steps: tuple[int, ...]

    @property
    def dtype(self) -> DType:
        return self.array.dtype


@dataclass(frozen=True, eq=False)
class RawMemoryValue:
    """The memory of an array, addressed by element offsets: ``array.get_raw_memory()``."""

    array: ArrayValue

    @property
    def dtype(self) -> DType:
        return self.array.dtype


@dataclass(frozen=True, eq=False)
class PointerValue:
    """The address of an array: ``array.foreign_pointer``."""

    array: ArrayValue


class ArrayList(tuple[ArrayValue, ...]):
    """A list of arrays, indexable at run time."""


@dataclass(frozen=True, eq=False)
class ChoiceValue:
    """One of several arrays or views of the same dtype and rank, selected at run time.

    index: which one, a scalar that is known at run time.
    """

    index: TileValue
    items: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class RangeValue:
    """The value ``range(start, stop, step)``, of constants or scalars."""

    start: Any
    stop: Any
    step: Any


@dataclass(frozen=True)
class SliceValue:
    """The value ``ct.Slice(start, length)``."""

    start: Any
    length: Any


@dataclass(frozen=True, eq=False)
class Closure:
    """A function or lambda defined in tile code.

    frame: the `frames.Frame` that it is defined in, whose variables it reads when it is called.
    """

    node: ast.FunctionDef | ast.Lambda
    frame: Any


@dataclass(frozen=True, eq=False)
class BoundMethod:
    """A method of a tile, array or view, bound to its object."""

    operation: Operation
    owner: Any


@dataclass(frozen=True, eq=False)
class BoundFunction:
    """A Python method bound to a compile-time object."""

    function: Any
    owner: Any


@dataclass(frozen=True)
class Formatted:
    """An f-string, as literal texts and values with format specifiers."""

    parts: tuple[str | tuple[Any, str], ...]


@dataclass(frozen=True)
class Undefined:
    """A variable without a value on some path to the current point.

    span: where it is assigned on another path.
    why: the path on which it is not, as "where the loop makes no iteration".
    """

    span: Span | None
    why: str


_OWN = (
    DType, TileValue, Strict, ArrayValue, TiledViewValue, RawMemoryValue, PointerValue, RangeValue, SliceValue, Closure,
    BoundMethod, BoundFunction, Formatted, Undefined, ChoiceValue,
)  # fmt: skip
"""Data classes that are not of the program."""


def is_constant(value: object) -> bool:
    """Return whether `value` is a compile-time number, loosely or strictly typed."""
    return isinstance(value, (bool, int, float, Strict))


def same_constant(a: Any, b: Any) -> bool:
    """Return whether two values are the same constant: equal, and of the same type. 0.0 differs from -0.0."""
    if isinstance(a, tuple) and type(a) is type(b):
        return len(a) == len(b) and all(map(same_constant, a, b))
    if not (is_constant(a) and is_constant(b)):
        return False
    if isinstance(a, Strict) and isinstance(b, Strict) and a.dtype != b.dtype:
        return False
    return type(plain(a)) is type(plain(b)) and repr(plain(a)) == repr(plain(b))


def plain(value: object) -> Any:
    """Return a constant as a plain Python value, dropping strict types."""
    if isinstance(value, tuple):
        return tuple(plain(v) for v in value)
    return value.value if isinstance(value, Strict) else value


def is_record(value: object) -> bool:
    """Return whether `value` is a dataclass object of the program."""
    return dataclasses.is_dataclass(value) and not isinstance(value, (type, *_OWN))


def field_names(kind: type) -> tuple[str, ...]:
    """Return the field names of a dataclass or named tuple."""
    return getattr(kind, "_fields", None) or tuple(field.name for field in dataclasses.fields(kind))


def new_record(kind: type, items: Sequence[Any]) -> Any:
    """Create a dataclass object without calling its constructor, or a named tuple."""
    if issubclass(kind, tuple):
        return kind(*items)
    made = object.__new__(kind)
    for name, item in zip(field_names(kind), items, strict=True):
        object.__setattr__(made, name, item)
    return made


def record_fields(value: Any) -> tuple[Any, ...]:
    """Return the field values of a dataclass object."""
    return tuple(getattr(value, field.name) for field in dataclasses.fields(value))


def with_fields(value: object, items: tuple[object, ...]) -> Any:
    """Return an object of the same dataclass with the fields `items`."""
    return new_record(type(value), items)


def leaves(value: object) -> Iterator[Any]:
    """Yield the leaves of a value, descending into tuples and dataclass fields."""
    if isinstance(value, ChoiceValue):
        yield value.index
    elif isinstance(value, tuple) or is_record(value):
        for item in value if isinstance(value, tuple) else record_fields(value):
            yield from leaves(item)
    else:
        yield value


def map_leaves(function: Callable[[Any], Any], value: Any) -> Any:
    """Return a value of the same structure with `function` applied to its leaves, in order."""
    if isinstance(value, ChoiceValue):
        return ChoiceValue(function(value.index), value.items)
    if isinstance(value, ArrayList):
        return value
    if isinstance(value, tuple):
        items = tuple(map_leaves(function, item) for item in value)
        return type(value)(*items) if hasattr(value, "_fields") else items
    if is_record(value):
        return with_fields(value, tuple(map_leaves(function, item) for item in record_fields(value)))
    return function(value)


def describe(value: object) -> str:
    """Describe a value for an error message."""
    if isinstance(value, TileValue):
        return f"a scalar of {value.dtype}" if value.shape == () else f"a tile of {value.dtype} {value.shape}"
    if isinstance(value, ArrayValue):
        return f"an array of {value.dtype} with {value.ndim} dimension{'s' if value.ndim != 1 else ''}"
    if isinstance(value, ChoiceValue):
        return f"{describe(value.items[0])}, which one is known at run time"
    if isinstance(value, ArrayList):
        return f"a list of {len(value)} arrays"
    if isinstance(value, TiledViewValue):
        return f"a tiled view of {value.dtype} {value.tile_shape}"
    if isinstance(value, Strict):
        return f"the {value.dtype} constant {value.value}"
    if isinstance(value, (bool, int, float)):
        return f"the constant {value}"
    if isinstance(value, str):
        return f"the string {value!r}"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)} value{'s' if len(value) != 1 else ''}"
    if isinstance(value, DType):
        return f"the dtype {value}"
    if value is None:
        return "None"
    if isinstance(value, PointerValue):
        return "a foreign pointer"
    if isinstance(value, (Closure, FunctionType, BoundMethod, BoundFunction)):
        return "a function"
    if isinstance(value, RangeValue):
        return "a range"
    if isinstance(value, RawMemoryValue):
        return "the memory of an array"
    if isinstance(value, Formatted):
        return "a formatted string"
    return f"a {type(value).__name__}"
