"""Tests of values of any type, after which their items are objects: `isinstance` leaves the types of items unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import TypeIs


def is_tuple(value: object) -> TypeIs[tuple[object, ...]]:
    """Return whether `value` is a tuple."""
    return isinstance(value, tuple)


def is_list(value: object) -> TypeIs[list[object]]:
    """Return whether `value` is a list."""
    return isinstance(value, list)


def is_listed(value: object) -> TypeIs[tuple[object, ...] | list[object]]:
    """Return whether `value` is a tuple or a list."""
    return isinstance(value, (tuple, list))


def is_dict(value: object) -> TypeIs[dict[object, object]]:
    """Return whether `value` is a dictionary."""
    return isinstance(value, dict)


def is_mapping(value: object) -> TypeIs[Mapping[object, object]]:
    """Return whether `value` is a mapping."""
    return isinstance(value, Mapping)


def is_iterable(value: object) -> TypeIs[Iterable[object]]:
    """Return whether `value` is iterable."""
    return isinstance(value, Iterable)


def is_slice(value: object) -> TypeIs[slice[object, object, object]]:
    """Return whether `value` is a slice."""
    return isinstance(value, slice)
