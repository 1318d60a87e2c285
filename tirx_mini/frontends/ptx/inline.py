"""Inlining of calls to functions defined in the module.

Formal parameters stand for the variables that the call passes. A call through a pointer becomes a choice among the
functions whose address the module holds. Calls of functions without a body, such as `vprintf`, stay, and so do calls
through a pointer that no function fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tirx_mini.ir import Span, TirxError
from tirx_mini.records import replace

from .arguments import size_of
from .flat import Flat, Fresh, flatten, with_names
from .function_addresses import FunctionAddresses
from .names import plain_name
from .registers import has_result, registers_in
from .syntax import (
    Address,
    Declaration,
    Function,
    Group,
    Immediate,
    Instruction,
    Label,
    Module,
    Operand,
    Register,
    Symbol,
    Targets,
)


def inlined(module: Module, function: Function, addresses: FunctionAddresses | None = None) -> Flat:
    """Return a function's body with all calls inlined. Raises `TirxError` for recursion."""
    return _Inlining(module, addresses or FunctionAddresses(module)).body(function, ())


class _Inlining:
    """Inlines calls. done: the bodies already inlined."""

    def __init__(self, module: Module, addresses: FunctionAddresses) -> None:
        self.module, self.addresses = module, addresses
        self.functions = addresses.functions
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
        known = _function_addresses(original, functions)
        for each in _without_empty_structures(original):
            call = _as_call(each)
            function = None if call is None else functions.get(_callee(call, known) or "")
            if call is not None and function is not None:
                self._inline(call, function)
            elif call is not None and (pointer := _pointer(call)) is not None:
                self._through(call, pointer)
            else:
                self.code.append(self.inlining.addresses.numbered(each) if isinstance(each, Instruction) else each)
        return Flat(tuple(self.code), self.registers, tuple(self.variables), self.targets)

    def _through(self, call: Instruction, pointer: Register) -> None:
        """Append a call through a pointer: the bodies of the functions that it may reach, of which one is executed."""
        results, arguments = (self._sizes(operands) for operands in _results_and_arguments(call))
        functions = self.inlining.addresses.candidates(results, arguments)
        if not functions or call.guard is not None:
            self.code.append(call)
            return
        end, chosen = self.fresh.name("call_end"), self.fresh.name("%call")
        self.registers[chosen] = "pred", 1
        for function in functions:
            other = self.fresh.name("call_other")
            number = Immediate(self.inlining.addresses.numbers[function.name])
            compared = Register(chosen), pointer, number
            self.code.append(replace(call, opcode=("setp", "ne", "b64"), operands=compared))
            self.code.append(replace(call, opcode=("bra",), operands=(Symbol(other),), guard=Register(chosen)))
            self._inline(call, function)
            self.code.append(replace(call, opcode=("bra",), operands=(Symbol(end),)))
            self.code.append(Label(other, call.line))
        self.code += (replace(call, opcode=("trap",), operands=()), Label(end, call.line))

    def _sizes(self, operands: tuple[Operand, ...]) -> list[int | None]:
        """Return the bytes of the variables that a call passes, None for other operands."""
        sizes = {each.name: size_of(each) for each in self.original.variables}
        return [sizes.get(each.name) if isinstance(each, Symbol) else None for each in operands]

    def _inline(self, call: Instruction, function: Function) -> None:
        """Append the body of the called function."""
        if function.name in self.callers:
            names = (*self.callers[self.callers.index(function.name) :], function.name)
            way = " → ".join(map(plain_name, names))
            message = f"the function {plain_name(function.name)} is recursive: {way}"
            raise TirxError(message, call.span, kind="not-modelled")
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
                spans[each.span] = self._at(each.span, call.span)
            made = with_names(each, names, spans[each.span])
            leaves = each.opcode[0] == "ret"
            self.code.append(replace(made, opcode=("bra",), operands=(Symbol(end),)) if leaves else made)
        for formal, actual in zip(function.results, results, strict=True):
            if formal.space == "reg":
                self._pass(call, formal, actual, names, into=False)
        self.code.append(Label(end, call.line))

    def _at(self, span: Span, call: Span) -> Span:
        """Return the place of an inlined instruction.

        A function without lines of its source, such as that of an atomic operation, is shown at the line of the call.
        """
        text = self.inlining.module.file
        return call if span.file == text != call.file else span.inlined(call)

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


def _without_empty_structures(flat: Flat) -> Iterator[Instruction | Label]:
    """Yield the code of a body with zeros for the bytes of empty structures that it passes, which nothing sets."""
    passes = [each for each in flat.code if isinstance(each, Instruction) and each.opcode == ("st", "param", "b8")]
    passed = {each.operands[1].name for each in passes if isinstance(each.operands[1], Register)}
    if passed:
        written = (each.operands[0] for each in flat.code if isinstance(each, Instruction) and has_result(each))
        passed -= {register.name for operand in written for register in registers_in((operand,))}
    for each in flat.code:
        if isinstance(each, Instruction) and each.opcode == ("st", "param", "b8"):
            value = each.operands[1]
            if isinstance(value, Register) and value.name in passed:
                yield replace(each, operands=(each.operands[0], Immediate(0)))
                continue
        yield each


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


def _pointer(call: Instruction) -> Register | None:
    """Return the register that holds the address of the called function, or None if the call names it."""
    callee = next((each for each in call.operands if isinstance(each, (Symbol, Register))), None)
    return callee if isinstance(callee, Register) else None


def _results_and_arguments(call: Instruction) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
    """Split the operands of a call into results and arguments; both lists are optional."""
    groups = [each for each in call.operands if isinstance(each, Group)]
    has_results = bool(call.operands) and isinstance(call.operands[0], Group)
    results = groups[0].items if has_results else ()
    arguments = groups[has_results].items if len(groups) > has_results else ()
    return results, arguments
