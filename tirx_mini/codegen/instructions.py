"""Rendering of a table instruction as a device function with inline PTX assembly."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from typing import NamedTuple

from tirx_mini.ir import AddressOf, Call, DataType, Expr, TirxError, int_value
from tirx_mini.isa import REGISTER_TYPES, Access, Instruction, Operand, OperandKind
from tirx_mini.records import dataclass

from .builtins import PREFIX
from .types import c_type

NAMELESS: Mapping[str, str] = {"dim": "{}d", "num": "x{}", "n": "{}"}
"""Modifiers with a form of their own in a function's name; other numbers follow their name, as in cta_group_1."""

CONSTRAINTS: Mapping[str, str] = {
    "float32": "f", "float64": "d", "int64": "l", "uint64": "l", "handle": "l", "int32": "r", "uint32": "r",
    "float16": "h", "bfloat16": "h", "int16": "h", "uint16": "h", "int8": "r", "uint8": "r",
    "float32x2": "l",
}  # fmt: skip
"""Register classes of inline assembly (CUDA: Inline PTX Assembly)."""

_BITS: Mapping[str, str] = {"float16": "uint16_t", "bfloat16": "uint16_t", "float32x2": "uint64_t"}
"""The bits of class types, which inline assembly does not take."""

WIDENED: Mapping[str, str] = {"int8": "int", "uint8": "uint32_t"}
"""The registers of types that inline assembly has none for."""

WIDTH = 120
"""The longest line of the emitted text, in columns, that can be broken."""


@dataclass(frozen=True)
class DeviceFunction:
    """A `__device__` function.

    name: the function's name.
    definition: its text.
    arguments: the operands that a call passes, in order.
    """

    name: str
    definition: str
    arguments: tuple[Expr, ...]


class _Kind(NamedTuple):
    """The argument properties that determine a function's text: its type, and its elements' type."""

    dtype: DataType
    element: DataType | None


def device_function(entry: Instruction, call: Call) -> DeviceFunction:
    """Return the device function for a call of `entry`; equal modifiers and operand types share one."""
    if entry.only_in_ptx:
        raise TirxError(f"{entry.name} is simulated in programs that are read as PTX, and is not compiled", call.span)
    matched = entry.matched(call.args, dict(call.attrs))
    named = entry.cuda is not None and _implied(entry.cuda.fixed, matched)
    kinds = tuple(_Kind(arg.dtype, arg.buffer.dtype if isinstance(arg, AddressOf) else None) for arg in call.args)
    types = tuple(value.__class__ for _, value in call.attrs)  # 1 and True are equal, but differ in the text
    name, text = _definition(entry, call.attrs, types, call.dtype, kinds, named)
    fixed: Mapping[str, int] = entry.cuda.fixed if entry.cuda is not None and named else {}
    passed = [arg for operand, args in matched if operand.name not in fixed for arg in args]
    return DeviceFunction(name, text, tuple(passed))


def _implied(fixed: Mapping[str, int], matched: Sequence[tuple[Operand, tuple[Expr, ...]]]) -> bool:
    """Return whether a call has the operand values that a function's name implies."""
    values = {operand.name: int_value(args[0]) for operand, args in matched if args}
    return all(values[label] == value for label, value in fixed.items())


@lru_cache(maxsize=1024)
def _definition(
    entry: Instruction,
    attrs: tuple[tuple[str, object], ...],
    types: tuple[type, ...],
    dtype: DataType,
    kinds: tuple[_Kind, ...],
    named: bool,
) -> tuple[str, str]:
    """Return the name and text of a device function.

    types: those of the values of `attrs`. dtype: that of the call. named: whether its name is the one in CUDA.
    """
    fixed: Mapping[str, int] = entry.cuda.fixed if entry.cuda is not None and named else {}
    given = dict(attrs)
    name = PREFIX + (entry.cuda.name if entry.cuda is not None and named else _ptx_name(entry, given))
    template = entry.template(given)
    for label, value in fixed.items():
        template = template.replace(f"{{{label}}}", str(value))
    body = _Assembly(touches_memory=not entry.in_registers, space=str(given.get("space", "")))
    body.word = str(given.get(entry.typed)) if entry.typed else ""
    result = dtype if entry.result is not None else None
    if result is not None:
        template = _in_words(template, result)
        body.add_result(result)
    counts = entry.register_counts(given)
    for operand, args in entry.matched(kinds, given):
        if operand.name not in fixed:
            if operand.type.kind is OperandKind.REGISTERS:
                body.add_registers(operand.name, operand.type.access, args, counts[operand.name])
            else:
                body.add_operand(operand.name, operand.type.kind, args)
    returned = c_type(result) if result is not None else "void"
    head = f"__device__ __forceinline__ {returned} {name}({', '.join(body.parameters)})"
    return name, f"{head} {{\n{body.text(template)}}}"


_MOVES_A_WORD = ".b32 {result}, {value},"


def _in_words(template: str, dtype: DataType) -> str:
    """Adapt the PTX of an instruction that moves a 32-bit word (PTX ISA: "shfl.sync") to another size."""
    if _MOVES_A_WORD not in template or (dtype.bits in (8, 32) and not dtype.is_bool):
        return template

    def moved(word: str) -> str:
        return template.replace("{result}", word).replace("{value}", word)

    if dtype.bits == 64:
        steps = [".reg .b32 low, high;", "mov.b64 {low, high}, {value};", moved("low"), moved("high"),
                 "mov.b64 {result}, {low, high};"]  # fmt: skip
    elif dtype.is_bool:
        steps = [".reg .b32 word;", "mov.b32 word, {value};", moved("word"), "setp.ne.b32 {result}, word, 0;"]
    else:
        steps = [".reg .b32 word;", ".reg .b16 none;", "mov.b32 word, {{value}, {value}};", moved("word"),
                 "mov.b32 {{result}, none}, word;"]  # fmt: skip
    return "\n".join(["{", *steps, "}"])


def _ptx_name(entry: Instruction, given: Mapping[str, object]) -> str:
    """Return the name of a device function without a CUDA equivalent."""
    attrs = {a.name: a.default for a in entry.attributes} | dict(given)
    words = [entry.name, *(_modifier(label, value) for label, value in attrs.items())]
    return "ptx_" + re.sub(r"\W+", "_", "_".join(word for word in words if word))


_ZERO_IS_NONE = ("cta_mask", "cache_policy", "half")
"""Modifiers that an instruction does not have where they are 0."""


def _modifier(label: str, value: object) -> str:
    if value is None or value is False or value in ("", "tile") or (label in _ZERO_IS_NONE and not value):
        return ""
    if label in NAMELESS:
        return NAMELESS[label].format(value)
    if value is True:
        return label
    return f"{label}_{value}" if isinstance(value, int) else str(value)


@dataclass
class _Assembly:
    """An asm statement under construction, with its parameters, declarations and register operands.

    space: the state space that the instruction names. word: the PTX type of its registers, "" for any.
    """

    touches_memory: bool
    space: str = ""
    word: str = ""
    parameters: list[str] = field(default_factory=list[str])
    places: dict[str, str] = field(default_factory=dict[str, str])
    before: list[str] = field(default_factory=list[str])
    after: list[str] = field(default_factory=list[str])
    outputs: list[str] = field(default_factory=list[str])
    inputs: list[str] = field(default_factory=list[str])
    result: str = ""

    def add_result(self, dtype: DataType) -> None:
        self.result = "int" if dtype.is_bool else WIDENED.get(dtype, c_type(dtype))
        self.outputs.append(f'"={"r" if dtype.is_bool else CONSTRAINTS[dtype]}"({_register("result", dtype)})')
        self.places["result"] = "%0"
        if dtype.is_bool:
            self.places["result"] = "result"
            self.before.append(".reg .pred result;")
            self.after.append("selp.b32 %0, 1, 0, result;")

    def add_operand(self, label: str, kind: OperandKind, args: tuple[_Kind, ...]) -> None:
        """Add one operand of the instruction."""
        if kind is OperandKind.PREDICATE:
            self.parameters.append(f"bool {label}")
            mark = self._input("r", f"(int){label}")
            self.before += [f".reg .pred {label};", f"setp.ne.b32 {label}, {mark}, 0;"]
            self.places[label] = label
        else:
            names = [label] if len(args) == 1 else [f"{label}{i}" for i in range(len(args))]
            self.places[label] = ", ".join(self._value(n, kind, arg) for n, arg in zip(names, args, strict=True))

    def _value(self, name: str, kind: OperandKind, arg: _Kind) -> str:
        if kind.in_shared_memory:
            self.places[f"{name}_space"] = "cta" if arg.dtype.is_handle else "cluster"
        if kind.in_shared_memory and arg.dtype.is_handle:
            self.parameters.append(f"void* {name}")
            return self._input("r", f"(uint32_t)__cvta_generic_to_shared({name})")
        if kind is OperandKind.GLOBAL:
            self.parameters.append(f"const void* {name}")
            return self._input("l", f"__cvta_generic_to_global({name})")
        if kind is OperandKind.MEMORY and arg.dtype.is_handle:
            self.parameters.append(f"const void* {name}")
            if self.space.startswith("shared"):
                return self._input("r", f"(uint32_t)__cvta_generic_to_shared({name})")
            return self._input("l", f"__cvta_generic_to_global({name})" if self.space else name)
        if kind is OperandKind.TENSOR_MAP:
            self.parameters.append(f"const CUtensorMap& {name}")
            return self._input("l", f"&{name}")
        self.parameters.append(f"{c_type(arg.dtype)} {name}")
        if arg.dtype in WIDENED or arg.dtype.is_bool:
            return self._input("r", f"({WIDENED.get(arg.dtype, 'int')}){name}")
        return self._input(CONSTRAINTS[arg.dtype], _register(name, arg.dtype))

    def add_registers(self, label: str, access: Access, pointers: Sequence[_Kind], count: int) -> None:
        """Add `count` 32-bit registers, consecutive from one pointer or one per pointer; narrower elements share them.
        """
        marks: list[str] = []
        for place, pointer in enumerate(pointers):
            name = label if len(pointers) == 1 else f"{label}{place}"
            marks += self._registers(name, access, pointer, count // len(pointers))
        self.places[label] = ", ".join(marks)

    def _registers(self, name: str, access: Access, pointer: _Kind, count: int) -> list[str]:
        dtype = pointer.element
        assert dtype is not None
        untyped = self.word in ("", "b32")
        words = dtype if untyped and dtype.bits == 32 else DataType(REGISTER_TYPES[self.word or "b32"])
        constraint = CONSTRAINTS[words]
        element = name if words == dtype else f"(({c_type(words)}*){name})"
        self.parameters.append(f"{c_type(dtype)}* {name}")
        if access is Access.READ:
            return [self._input(constraint, f"{element}[{i}]") for i in range(count)]
        sign = "+" if access is Access.UPDATE else "="
        self.outputs += [f'"{sign}{constraint}"({element}[{i}])' for i in range(count)]
        return [f"%{len(self.outputs) - count + i}" for i in range(count)]

    def _input(self, constraint: str, value: str) -> str:
        """Return a placeholder for an input, since its number depends on the number of outputs."""
        self.inputs.append(f'"{constraint}"({value})')
        return f"%in{len(self.inputs) - 1}%"

    def text(self, template: str) -> str:
        """Return the body of the function."""
        for label, place in self.places.items():
            template = template.replace(f"{{{label}}}", place)
        lines = [line.strip() for line in template.splitlines()]
        if self.before or self.after:
            inner = lines[1:-1] if lines[0] == "{" else lines
            lines = ["{", *self.before, *inner, *self.after, "}"]
        first = len(self.outputs)
        lines = [re.sub(r"%in(\d+)%", lambda m: f"%{first + int(m.group(1))}", line) for line in lines]
        ports = [self.outputs, self.inputs, ['"memory"'] if self.touches_memory else []]
        while ports and not ports[-1]:
            ports.pop()
        statement = _on_one_line(lines, ports) or _on_many_lines(lines, ports)
        if not self.result:
            return f"  {statement}\n"
        return f"  {self.result} result;\n  {statement}\n  return result;\n"


def _register(name: str, dtype: DataType) -> str:
    """Render a variable as an inline-assembly operand, which cannot have class type."""
    bits = _BITS.get(dtype)
    return f"*({bits}*)&{name}" if bits else name


def _on_one_line(lines: list[str], ports: list[list[str]]) -> str | None:
    operands = "".join(f" : {', '.join(port)}".rstrip() for port in ports)
    text = f'asm volatile("{lines[0]}"{re.sub(": (?=:)", ":", operands)});'
    return text if len(lines) == 1 and len(text) <= WIDTH else None


def _on_many_lines(lines: list[str], ports: list[list[str]]) -> str:
    """Format each instruction and operand list on separate lines, wrapping long lists."""
    parts = ["asm volatile("]
    for line in lines:
        end = "\\n" if len(lines) > 1 else ""
        pieces = _wrapped(line.split(", "))
        parts += [f'    "{piece}{end if piece is pieces[-1] else ""}"' for piece in pieces]
    for port in ports:
        pieces = _wrapped(port) if port else [""]
        parts.append(f"    : {pieces[0]}".rstrip())
        parts += [f"      {piece}".rstrip() for piece in pieces[1:]]
    return "\n  ".join(parts) + ");"


def _wrapped(items: list[str]) -> list[str]:
    """Join items by commas on as few lines as possible."""
    rows = [""]
    for index, item in enumerate(items):
        text = item + (", " if index < len(items) - 1 else "")
        if rows[-1] and len(rows[-1]) + len(text) > WIDTH - 16:
            rows.append("")
        rows[-1] += text
    return rows
