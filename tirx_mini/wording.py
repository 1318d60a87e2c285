"""The descriptions of values in error messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from enum import Enum
from functools import singledispatch
from types import ModuleType
from typing import Any

LONGEST = 60
"""The maximum length of a value's text in a message, in characters."""


@singledispatch
def described(value: Any) -> str:
    """Return a noun for a value within a sentence: "3", "the function f", "a TMABar".

    The noun is short, and contains no memory address. The classes of a room register their own nouns.
    """
    if value is ...:
        return "`...`"
    if type(value).__module__ in ("numpy", "torch") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return shortened(_literal(value))
    if isinstance(value, ModuleType):
        return f"the module {value.__name__.rpartition('.')[2]}"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    name = getattr(value, "__name__", None)
    if callable(value) and isinstance(name, str):
        return "a lambda" if name == "<lambda>" else f"the function {name}"
    if isinstance(value, (Sequence, Set, Mapping)) and type(value).__module__ == "builtins":
        return _collection(value)
    return a(type(value).__name__)


def _literal(value: object) -> str:
    try:
        return repr(value)
    except ValueError:  # an integer of more digits than Python converts
        return "a number of thousands of digits"


def _collection(value: Any) -> str:
    parts = [*value.keys(), *value.values()] if isinstance(value, Mapping) else value
    plain = len(value) < LONGEST and all(x is None or isinstance(x, (int, float, str)) for x in parts)
    text = repr(value) if plain else ""
    return f"the {type(value).__name__} {text}" if 0 < len(text) <= LONGEST else a(type(value).__name__)


def shortened(text: str) -> str:
    """Shorten a text that is too long for a message."""
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def a(noun: str) -> str:
    """Return a noun with its indefinite article."""
    return f"{'an' if noun[:1].lower() in 'aeio' else 'a'} {noun}"
