"""Scope elimination: rename the declarations of nested scopes so that every name is unique in its function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import is_

from tirx_mini.ir import Span
from tirx_mini.records import dataclass, replace

from .syntax import (
    Address,
    Declaration,
    Directive,
    Function,
    Group,
    Instruction,
    Label,
    Operand,
    Pair,
    Prototype,
    Register,
    Scope,
    Statement,
    Symbol,
    Targets,
    Vector,
)


@dataclass(frozen=True)
class Flat:
    """A body without nested scopes. registers: type and vector length by name; targets: its jump tables."""

    code: tuple[Instruction | Label, ...]
    registers: Mapping[str, tuple[str, int]]
    variables: tuple[Declaration, ...]
    targets: Mapping[str, Targets]

    @property
    def names(self) -> set[str]:
        """All names that the body declares."""
        labels = {each.name for each in self.code if isinstance(each, Label)}
        return {*self.registers, *labels, *self.targets, *(each.name for each in self.variables)}


def flatten(function: Function) -> Flat:
    """Flatten the nested scopes of a function's body."""
    flattening = _Flattening()
    for parameter in (*function.parameters, *function.results):
        if parameter.space == "reg":
            flattening.registers[parameter.name] = parameter.type, parameter.vector
    flattening.scope(function.body or (), {})
    return Flat(
        tuple(flattening.code), flattening.registers, tuple(flattening.variables), flattening.targets
    )  # fmt: skip


class Fresh:
    """A generator of unused names, which appends a number to a name that is taken."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = set(taken)
        self.last: dict[str, int] = {}

    def name(self, wish: str) -> str:
        found = wish
        while found in self.taken:
            self.last[wish] = self.last.get(wish, 1) + 1
            found = f"{wish}_{self.last[wish]}"
        self.taken.add(found)
        return found


def renamed(operand: Operand, names: Mapping[str, str]) -> Operand:
    """Rename the registers and symbols of an operand; one without a name in `names` is returned itself."""
    if isinstance(operand, Register):
        name = names.get(operand.name)
        return operand if name is None else Register(name, operand.negated, operand.component)
    if isinstance(operand, Symbol):
        name = names.get(operand.name)
        return operand if name is None else Symbol(name, operand.offset, operand.generic)
    if isinstance(operand, Address):
        base, more = renamed(operand.base, names), _all_renamed(operand.more, names)
        same = base is operand.base and more is operand.more
        return operand if same else Address(base, operand.offset, more)
    if isinstance(operand, (Vector, Group)):
        items = _all_renamed(operand.items, names)
        return operand if items is operand.items else type(operand)(items)
    if isinstance(operand, Pair):
        return Pair(renamed(operand.first, names), renamed(operand.second, names))
    return operand


def _all_renamed(operands: tuple[Operand, ...], names: Mapping[str, str]) -> tuple[Operand, ...]:
    found = tuple([renamed(each, names) for each in operands])
    return operands if all(map(is_, found, operands)) else found


def with_names(instruction: Instruction, names: Mapping[str, str], span: Span | None = None) -> Instruction:
    """Rename the registers and symbols of an instruction. span: another place for it."""
    operands, guard = _all_renamed(instruction.operands, names), instruction.guard
    if guard is not None and guard.name in names:
        guard = Register(names[guard.name], guard.negated, guard.component)
    if span is None and operands is instruction.operands and guard is instruction.guard:
        return instruction
    of = instruction
    return Instruction(of.opcode, operands, guard, of.text, of.line, span or of.span)


class _Flattening:
    """The flattened prefix of a body."""

    def __init__(self) -> None:
        self.code: list[Instruction | Label] = []
        self.registers: dict[str, tuple[str, int]] = {}
        self.variables: list[Declaration] = []
        self.targets: dict[str, Targets] = {}
        self.fresh = Fresh()

    def scope(self, body: tuple[Statement, ...], outer: Mapping[str, str]) -> None:
        """Append the statements of a scope. outer: the renamings of the enclosing scopes."""
        names = {**outer, **self._own(body)}
        names = {old: new for old, new in names.items() if old != new}
        for each in body:
            if isinstance(each, Instruction):
                self.code.append(with_names(each, names) if names else each)
            elif isinstance(each, Label):
                self.code.append(replace(each, name=names.get(each.name, each.name)))
            elif isinstance(each, Scope):
                self.scope(each.body, names)
            elif isinstance(each, Declaration):
                self._declaration(each, names)
            elif isinstance(each, Targets):
                new = tuple(names.get(name, name) for name in each.names)
                name = names.get(each.name, each.name)
                self.targets[name] = replace(each, name=name, names=new)

    def _own(self, body: tuple[Statement, ...]) -> dict[str, str]:
        """Return unique names for the declarations of a scope."""
        found: dict[str, str] = {}
        for each in body:
            if isinstance(each, (Label, Targets, Prototype)):
                found[each.name] = self.fresh.name(each.name)
            elif isinstance(each, Declaration):
                found.update((name, self.fresh.name(name)) for name in each.names)
            else:
                assert isinstance(each, (Instruction, Scope, Directive))
        return found

    def _declaration(self, each: Declaration, names: Mapping[str, str]) -> None:
        if each.space == "reg":
            self.registers.update((names.get(name, name), (each.type, each.vector)) for name in each.names)
        else:
            self.variables.append(replace(each, name=names.get(each.name, each.name)))
