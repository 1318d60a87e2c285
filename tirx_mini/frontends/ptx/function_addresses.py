"""Addresses of functions: a number for each function of a module, and the functions that a call may reach by one.

A kernel stores these numbers in pointers, in tables of functions and in the tables of virtual functions. A call through
a pointer compares it with the number of each function that has such parameters and results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tirx_mini.records import replace

from .arguments import size_of
from .syntax import (
    Declaration,
    Function,
    Immediate,
    Initial,
    Instruction,
    Module,
    Operand,
    Scope,
    Statement,
    Symbol,
)

_FIRST, _STEP = 5 << 56, 16
"""The address of the first function, outside the windows of other memory, and the distance to the next one."""


class FunctionAddresses:
    """The functions of a module whose addresses its code or its variables hold.

    functions: those with a body, by name.
    """

    def __init__(self, module: Module) -> None:
        self.functions = {each.name: each for each in module.functions if each.body is not None}
        self.numbers = {name: _FIRST + _STEP * place for place, name in enumerate(self.functions)}
        self.taken = self._taken(module)

    def _taken(self, module: Module) -> Sequence[Function]:
        """Return the functions whose address is an operand or an initial value."""
        names: dict[str, None] = {}
        for function in module.functions:
            for each in _instructions(function.body or ()):
                if each.opcode[0] == "mov":
                    names.update(dict.fromkeys(one.name for one in each.operands[1:] if isinstance(one, Symbol)))
        for variable in module.variables:
            if isinstance(variable.initial, (tuple, Symbol)):
                names.update(dict.fromkeys(_symbols(variable.initial)))
        return [self.functions[name] for name in names if name in self.functions]

    def candidates(self, results: Sequence[int | None], arguments: Sequence[int | None]) -> Sequence[Function]:
        """Return the functions that a call may reach. results, arguments: their bytes; None where that is not known."""
        return [each for each in self.taken if _fits(each.results, results) and _fits(each.parameters, arguments)]

    def numbered(self, instruction: Instruction) -> Instruction:
        """Return an instruction with numbers for the addresses of functions."""
        if instruction.opcode[0] != "mov" or not any(map(self._is_function, instruction.operands)):
            return instruction
        operands = tuple(self._number(each) for each in instruction.operands)
        return replace(instruction, operands=operands)

    def in_initial(self, variables: Sequence[Declaration]) -> tuple[Declaration, ...]:
        """Return variables with numbers for the addresses of functions in their initial values."""
        return tuple(
            replace(each, initial=self._initial(each.initial))
            if isinstance(each.initial, (tuple, Symbol)) and self.numbers.keys() & set(_symbols(each.initial))
            else each
            for each in variables
        )  # fmt: skip

    def _initial(self, initial: Initial | None) -> Initial:
        assert initial is not None
        return tuple(map(self._initial, initial)) if isinstance(initial, tuple) else self._number(initial)

    def _is_function(self, operand: Operand) -> bool:
        return isinstance(operand, Symbol) and operand.name in self.numbers

    def _number(self, operand: Operand) -> Operand:
        if isinstance(operand, Symbol) and operand.name in self.numbers:
            return Immediate(self.numbers[operand.name] + operand.offset)
        return operand


def _fits(declared: Sequence[Declaration], sizes: Sequence[int | None]) -> bool:
    return len(declared) == len(sizes) and all(
        size in (None, size_of(each)) for each, size in zip(declared, sizes, strict=True)
    )


def _instructions(body: Sequence[Statement]) -> Iterator[Instruction]:
    for each in body:
        if isinstance(each, Instruction):
            yield each
        elif isinstance(each, Scope):
            yield from _instructions(each.body)


def _symbols(initial: Initial) -> Iterator[str]:
    if isinstance(initial, Symbol):
        yield initial.name
    elif isinstance(initial, tuple):
        for each in initial:
            yield from _symbols(each)
