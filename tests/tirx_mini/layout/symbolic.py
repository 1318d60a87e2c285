"""A minimal symbolic integer: it has the operators that layouts may use, and never reveals a value."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "^": operator.xor,
    ">>": operator.rshift,
    "<<": operator.lshift,
    "&": operator.and_,
}


class Symbolic:
    """Testing its truth or comparing it fails, because a layout must not branch on a value that is not known yet."""

    def evaluate(self, **values: Any) -> Any:
        raise NotImplementedError

    def __bool__(self) -> bool:
        raise AssertionError("a symbolic value was tested for truth")

    __hash__ = None

    def _ask(self, other: Any) -> bool:
        raise AssertionError("a symbolic value was compared")

    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = _ask


@dataclass(eq=False)
class Name(Symbolic):
    name: str

    def evaluate(self, **values: Any) -> Any:
        return values[self.name]

    def __str__(self) -> str:
        return self.name


@dataclass(eq=False)
class Operation(Symbolic):
    op: str
    left: Any
    right: Any

    def evaluate(self, **values: Any) -> Any:
        left, right = (x.evaluate(**values) if isinstance(x, Symbolic) else x for x in (self.left, self.right))
        return OPERATORS[self.op](left, right)

    def __str__(self) -> str:
        return f"({self.left} {self.op} {self.right})"


def _install(op: str, name: str) -> None:
    setattr(Symbolic, f"__{name}__", lambda self, other: Operation(op, self, other))
    setattr(Symbolic, f"__r{name}__", lambda self, other: Operation(op, other, self))


for _op, _function in OPERATORS.items():
    _install(_op, _function.__name__.strip("_"))


def evaluate(expression: Any, **values: Any) -> Any:
    """The value of a layout's result: a symbolic expression, or a constant if everything folded."""
    return expression.evaluate(**values) if isinstance(expression, Symbolic) else expression
