"""Lowering facts of the builtins, declared beside their definitions and used for the documentation's table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, TypeVar

from tirx_mini.isa import TABLE
from tirx_mini.records import dataclass

_F = TypeVar("_F", bound=Callable[..., Any])
_FACTS = "__tilelang_builtin__"


@dataclass(frozen=True)
class Builtin:
    """The lowering facts of a builtin.

    uses: the instructions that it becomes, by their names in the table of `isa`; what a call becomes depends on its
        arguments, so not every call has all of them.
    becomes: a description of any other lowering.
    form: the modifiers of the instructions that are the same in each call.
    """

    uses: tuple[str, ...] = ()
    becomes: str = ""
    form: Mapping[str, Any] = field(default_factory=dict)

    @property
    def opcodes(self) -> tuple[str, ...]:
        """The distinct PTX opcodes that it lowers to."""
        found = (opcode for name in self.uses for opcode in _opcodes(name, self.form))
        return tuple(dict.fromkeys(found))

    @property
    def min_sm(self) -> int:
        """The first architecture that supports it, such as 90."""
        return max((TABLE[name].min_sm for name in self.uses), default=70)

    @property
    def max_sm(self) -> int | None:
        """The last architecture that supports it, or None if all later ones do."""
        return min((last for name in self.uses if (last := TABLE[name].max_sm) is not None), default=None)


def builtin(*uses: str, becomes: str = "", **form: object) -> Callable[[_F], _F]:
    """Mark a function as a builtin with the given facts (decorator)."""

    def mark(function: _F) -> _F:
        setattr(function, _FACTS, Builtin(uses, becomes, form))
        return function

    return mark


def _opcodes(name: str, form: Mapping[str, object]) -> Iterator[str]:
    """Yield the opcodes in an instruction's PTX template, skipping register declarations and moves."""
    entry = TABLE[name]
    required = {a.name: _REQUIRED.get(a.name) for a in entry.attributes if a.required}
    for line in entry.template({**required, **form} if entry.ptx else {}).splitlines():
        word = next((each for each in line.split() if not each.startswith("@")), "")
        if "." in word and not word.startswith((".", "mov.", "{")):
            yield word.rstrip(";").replace("{bar_space}", "cta")


_REQUIRED: Mapping[str, Any] = {"dim": "N", "count": 24}
"""Modifiers that each call gives, as the documentation shows them."""


def facts_of(function: Callable[..., object]) -> Builtin:
    """Return the facts of a builtin."""
    return getattr(function, _FACTS)


def named(functions: Sequence[Callable[..., object]]) -> dict[str, Callable[..., Any]]:
    """Return a mapping from names to builtins."""
    return {function.__name__: function for function in functions}
