"""Inlining of calls to functions defined in the module.

Formal parameters stand for the variables that the call passes. Calls of functions without a body, such as `vprintf`,
stay, and so do calls through an address that is not known.
"""

from __future__ import annotations

from collections.abc import Mapping

from tirx_mini.ir import Span, TirxError
from tirx_mini.records import replace

from .flat import Flat, Fresh, flatten, with_names
from .syntax import (
    Address,
    Declaration,
    Function,
    Group,
    Instruction,
    Label,
    Module,
    Operand,
    Register,
    Symbol,
    Targets,
)


def inlined(module: Module, function: Function) -> Flat:
    """Return a function's body with all calls inlined. Raises `TirxError` for recursion."""
    functions = {each.name: each for each in module.functions if each.body is not None}
    return _Inlining(functions).body(function, ())


class _Inlining:
    """Inlines calls. functions: the defined functions by name; done: the bodies already inlined."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self.functions = functions
        self.done: dict[str, Flat] = {}

    def body(self, function: Function, callers: tuple[str, ...]) -> Flat:
        """Return the inlined body of a function. callers: the call chain, outermost first."""
        if function.name not in self.done:
            flat = flatten(function)
            self.done[function.name] = _Body(self, flat, (*callers, function.name)).flat()
        return self.done[function.name]


class _Body:
    """A body under inlining."""

    def __init__(self, inlining: _Inlining, flat: Flat, callers: tuple[str, ...]) -> None:
        self.inlining, self.callers = inlining, callers
        self.original = flat
        self.registers = dict(flat.registers)
        self.variables = list(flat.variables)
        self.targets = dict(flat.targets)
        self.fresh = Fresh(flat.names)
        self.code: list[Instruction | Label] = []

    def flat(self) -> Flat:
        original, functions = self.original, self.inlining.functions
        if not any(map(_as_call, original.code)):
            return original
        addresses = _function_addresses(original, functions)
        for each in original.code:
            call = _as_call(each)
            function = None if call is None else functions.get(_callee(call, addresses) or "")
            if call is None or function is None:
                self.code.append(each)
            elif function.name in self.callers:
                way = " → ".join((*self.callers[self.callers.index(function.name) :], function.name))
                raise TirxError(f"the function {function.name} is recursive: {way}", call.span, kind="not-modelled")
            else:
                self._inline(call, function)
        return Flat(tuple(self.code), self.registers, tuple(self.variables), self.targets)

    def _inline(self, call: Instruction, function: Function) -> None:
        """Append the body of the called function."""
        inner = self.inlining.body(function, self.callers)
        results, arguments = _results_and_arguments(call)
        if (len(results), len(arguments)) != (len(function.results), len(function.parameters)):
            raise TirxError(f"`{call.text}` has other arguments than {function.name}", call.span)
        names = {name: self.fresh.name(name) for name in sorted(inner.names - _of_all_calls(inner))}
        end = self.fresh.name(f"{function.name}_end")
        skip = replace(call, opcode=("bra",), operands=(Symbol(end),))
        if call.guard is not None:
            opposite = replace(call.guard, negated=not call.guard.negated)
            self.code.append(replace(skip, guard=opposite))
        for formal, actual in zip(function.parameters, arguments, strict=True):
            self._pass(call, formal, actual, names, into=True)
        for formal, actual in zip(function.results, results, strict=True):
            if formal.space == "param" and isinstance(actual, Symbol):
                names[formal.name] = actual.name
        self._declare(inner, names)
        spans: dict[Span, Span] = {}
        for each in inner.code:
            if isinstance(each, Label):
                self.code.append(Label(names[each.name], each.line))
                continue
            if each.span not in spans:
                spans[each.span] = each.span.inlined(call.span)
            made = with_names(each, names, spans[each.span])
            leaves = each.opcode[0] == "ret"
            self.code.append(replace(made, opcode=("bra",), operands=(Symbol(end),)) if leaves else made)
        for formal, actual in zip(function.results, results, strict=True):
            if formal.space == "reg":
                self._pass(call, formal, actual, names, into=False)
        self.code.append(Label(end, call.line))

    def _pass(self, call: Instruction, formal: Declaration, actual: Operand, names: dict[str, str], into: bool) -> None:
        """Substitute the actual parameter for the formal one, or emit a move between their registers."""
        if formal.space == "param" and isinstance(actual, Symbol):
            names[formal.name] = actual.name
            return
        if formal.space == "param":
            names[formal.name] = self.fresh.name(formal.name)
            self.variables.append(replace(formal, name=names[formal.name]))
            operands = Address(Symbol(names[formal.name])), actual
            self.code.append(replace(call, opcode=("st", "param", formal.type), operands=operands, guard=None))
            return
        register = Register(names.setdefault(formal.name, formal.name))
        operands = (register, actual) if into else (actual, register)
        self.code.append(replace(call, opcode=("mov", formal.type), operands=operands, guard=None))

    def _declare(self, inner: Flat, names: Mapping[str, str]) -> None:
        """Add the declarations of an inlined body; shared, global and constant variables are common to all calls."""
        self.registers.update((names[name], kind) for name, kind in inner.registers.items())
        known = {each.name for each in self.variables}
        for each in inner.variables:
            if each.name in names:
                self.variables.append(replace(each, name=names[each.name]))
            elif each.name not in known:
                self.variables.append(each)
        for table in inner.targets.values():
            new = tuple(names.get(name, name) for name in table.names)
            self.targets[names[table.name]] = Targets(table.kind, names[table.name], new, table.line)


def _of_all_calls(flat: Flat) -> set[str]:
    """Return the variables that are allocated once rather than once per call."""
    return {each.name for each in flat.variables if each.space not in ("local", "param")}


def _function_addresses(flat: Flat, functions: Mapping[str, Function]) -> dict[str, str]:
    """Return the registers whose only definition is the address of a function."""
    found: dict[str, str] = {}
    written: set[str] = set()
    for each in flat.code:
        if not isinstance(each, Instruction) or not each.operands or not isinstance(each.operands[0], Register):
            continue
        name = each.operands[0].name
        source = each.operands[1] if len(each.operands) == 2 else None
        if each.opcode[0] == "mov" and isinstance(source, Symbol) and source.name in functions and name not in written:
            found[name] = source.name
        elif each.opcode[0] not in ("st", "red", "call"):
            found.pop(name, None)
        written.add(name)
    return found


def _as_call(each: Instruction | Label) -> Instruction | None:
    return each if isinstance(each, Instruction) and each.opcode[0] == "call" else None


def _callee(call: Instruction, addresses: Mapping[str, str]) -> str | None:
    """Return the name of the called function, or None if it is unknown."""
    for each in call.operands:
        if isinstance(each, Symbol):
            return each.name
        if isinstance(each, Register):
            return addresses.get(each.name)
    return None


def _results_and_arguments(call: Instruction) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
    """Split the operands of a call into results and arguments; both lists are optional."""
    groups = [each for each in call.operands if isinstance(each, Group)]
    has_results = bool(call.operands) and isinstance(call.operands[0], Group)
    results = groups[0].items if has_results else ()
    arguments = groups[has_results].items if len(groups) > has_results else ()
    return results, arguments
