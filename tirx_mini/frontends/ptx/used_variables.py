"""The variables of a module that a kernel refers to: headers declare hundreds that it does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .flat import Flat
from .syntax import Address, Declaration, Group, Initial, Instruction, Operand, Pair, Symbol, Vector


def referenced(variables: Sequence[Declaration], flat: Flat) -> tuple[Declaration, ...]:
    """Return the variables that a body names, directly or in the initialiser of another one."""
    declared = {each.name: each for each in variables}
    found: set[str] = set()
    todo = [name for each in flat.code if isinstance(each, Instruction) for name in _named(each.operands)]
    todo += [name for each in flat.variables for name in _named([each.initial])]
    while todo:
        name = todo.pop()
        if name in declared and name not in found:
            found.add(name)
            todo += _named([declared[name].initial])
    return tuple(each for each in variables if each.name in found)


def _named(operands: Sequence[Operand | Initial | None]) -> Iterator[str]:
    """Yield the names of the symbols in operands, or in initialisers."""
    for operand in operands:
        if isinstance(operand, Symbol):
            yield operand.name
        elif isinstance(operand, (Vector, Group)):
            yield from _named(operand.items)
        elif isinstance(operand, Address):
            yield from _named((operand.base, *operand.more))
        elif isinstance(operand, Pair):
            yield from _named((operand.first, operand.second))
        elif isinstance(operand, tuple):
            yield from _named(operand)
