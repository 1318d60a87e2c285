"""Dataclass objects and named tuples in tile code: construction, fields and methods."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any

from .errors import TileTypeError
from .values import MISSING, BoundFunction, field_names, is_record


def is_object(value: object) -> bool:
    """Return whether `value` is a dataclass object or named tuple of the program."""
    return is_record(value) or (isinstance(value, tuple) and hasattr(value, "_fields"))


def is_kind(value: object) -> bool:
    """Return whether `value` is a dataclass or a named-tuple class."""
    return isinstance(value, type) and (dataclasses.is_dataclass(value) or issubclass(value, tuple))


def frozen(kind: type) -> None:
    """Raise `TileTypeError` for a mutable dataclass, since tile code only has values."""
    params = getattr(kind, "__dataclass_params__", None)
    if params is not None and not params.frozen:
        raise TileTypeError(
            f"the data class `{kind.__name__}` is not frozen, and objects that change are not supported in tile code",
            hint=f"write `@dataclass(frozen=True)` above `class {kind.__name__}`",
        )


def constructed(kind: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Construct a dataclass object or named tuple with tile-code values in its fields."""
    frozen(kind)
    try:
        return kind(*args, **kwargs)
    except TypeError as error:
        raise TileTypeError(f"{kind.__name__}(): {error}") from None


def replaced(record: Any, changes: Mapping[str, Any]) -> Any:
    """Evaluate ``dataclasses.replace(record, …)``."""
    frozen(type(record))
    try:
        return dataclasses.replace(record, **changes)
    except (TypeError, ValueError) as error:
        raise TileTypeError(f"dataclasses.replace(): {error}") from None


def member(owner: object, name: str) -> Any:
    """Return the method `name` of an object or class, or its `Computed` value for a property.

    It is `MISSING` for a field, and for what no function of the program computes.
    """
    kind = owner if isinstance(owner, type) else type(owner)
    if not isinstance(owner, type) and name in field_names(kind):
        return MISSING
    found = inspect.getattr_static(kind, name, None)
    if isinstance(found, classmethod):
        return BoundFunction(found.__func__, kind)
    if isinstance(found, staticmethod):
        return found.__func__
    if isinstance(owner, type):
        return MISSING
    if isinstance(found, (property, functools.cached_property)):
        function = found.fget if isinstance(found, property) else found.func
        return Computed(BoundFunction(function, owner))
    return BoundFunction(found, owner) if isinstance(found, FunctionType) else MISSING


@dataclasses.dataclass(frozen=True)
class Computed:
    """A property value, computed by calling its function."""

    function: BoundFunction
