"""What a builtin becomes: facts that stand beside its definition, from which the documentation's table is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tirx_mini.isa import TABLE

_F = TypeVar("_F", bound=Callable[..., Any])
_FACTS = "__tilelang_builtin__"


@dataclass(frozen=True)
class Builtin:
    """The facts of a builtin.

    uses: the instructions that it becomes, by their names in the table of `isa`; what a call becomes depends on its
        arguments, so not every call has all of them.
    becomes: what it is besides or instead, in words.
    """

    uses: tuple[str, ...] = ()
    becomes: str = ""

    @property
    def min_sm(self) -> int:
        """The first architecture that has it, as in 90."""
        return max((TABLE[name].min_sm for name in self.uses), default=70)

    @property
    def max_sm(self) -> int | None:
        """The last architecture that has it; None where all later ones do."""
        return min((last for name in self.uses if (last := TABLE[name].max_sm) is not None), default=None)


def builtin(*uses: str, becomes: str = "") -> Callable[[_F], _F]:
    """Decorator: the function is a builtin with these facts."""

    def mark(function: _F) -> _F:
        setattr(function, _FACTS, Builtin(uses, becomes))
        return function

    return mark


def facts_of(function: Callable[..., Any]) -> Builtin:
    """The facts of a builtin."""
    return getattr(function, _FACTS)


def named(functions: Sequence[Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Builtins by their names."""
    return {function.__name__: function for function in functions}
