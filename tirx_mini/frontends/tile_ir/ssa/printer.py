"""Printer of modules, whose output `parser.py` parses."""

from __future__ import annotations

from itertools import count
from typing import Any

from .core import Module, Op, Region, Syntax, Type, Value
from .format import AttrDict, Literal, Named, Optional, Part, names_in, parts_of


class Printer:
    """Collects the lines of a module.

    default: the dialect whose operations print without their prefix.
    """

    def __init__(self, default: str = "") -> None:
        self.default = default
        self.lines: list[str] = []
        self.depth = 0
        self.names: dict[Value, str] = {}
        self.taken: set[str] = set()
        self.aliases: dict[str, str] = {}
        self._line: list[str] = []

    def name(self, value: Value) -> str:
        """Return the unique name ``%name`` of a value, chosen at first use from its hint or a number."""
        if value not in self.names:
            candidates = (
                (f"{value.hint}_{n}" if n else value.hint for n in count()) if value.hint else map(str, count())
            )
            name = next(c for c in candidates if c not in self.taken)
            self.taken.add(name)
            self.names[value] = f"%{name}"
        return self.names[value]

    def type(self, type: Type) -> str:
        return type.text(self)

    def alias(self, stem: str, text: str) -> str:
        """Return the alias ``#stem`` of an attribute's text, defining it above the module."""
        for name, defined in self.aliases.items():
            if defined == text:
                return name
        number = sum(name.rstrip("0123456789") == f"#{stem}" for name in self.aliases)
        name = f"#{stem}{number or ''}"
        self.aliases[name] = text
        return name

    def write(self, *tokens: str) -> None:
        """Append tokens to the current line, separated by spaces where appropriate."""
        for token in tokens:
            previous = self._line[-1] if self._line else ""
            if previous and not token.startswith((",", ")", "]", ">")) and not previous.endswith(("(", "[", "<")):
                self._line.append(" ")
            self._line.append(token)

    def end_line(self) -> None:
        self.lines.append("  " * self.depth + "".join(self._line))
        self._line = []

    def op(self, op: Op) -> None:
        """Print an operation on its own line."""
        if op.results:
            self.write(", ".join(self.name(v) for v in op.results), "=")
        self.write(op.kind.mnemonic if op.kind.dialect == self.default else op.kind.name)
        if isinstance(op.kind.format, Syntax):
            op.kind.format.print(op, self)
        else:
            self._formatted(op, parts_of(op.kind.format))
        self._annotations(op)
        self.end_line()

    def isolated(self, op: Op) -> None:
        """Print a top-level operation with its own scope of value names."""
        self.names, self.taken = {}, set()
        self.op(op)

    def region(self, region: Region, params: bool = True) -> None:
        """Print a region as ``{``, the operations and ``}``.

        params: whether the region states its parameters, as ``^(%x: i32):``.
        """
        self.write("{")
        self.end_line()
        if params and region.params:
            listed = ", ".join(f"{self.name(v)}: {self.type(v.type)}" for v in region.params)
            self.write(f"^({listed}):")
            self.end_line()
        self.depth += 1
        for op in region.ops:
            self.op(op)
        self.depth -= 1
        self.write("}")

    def attributes(self, op: Op, without: frozenset[str] | tuple[str, ...] = ()) -> None:
        """Print the non-default attributes as ``{a = 1}``."""
        shown = [(n, c) for n, c in op.kind.attrs.items() if n not in without and _present(op, n)]
        if shown:
            texts = (n if c.flag else f"{n} = {c.text(getattr(op, n), self)}" for n, c in shown)
            self.write("{" + ", ".join(texts) + "}")

    def _annotations(self, op: Op) -> None:
        """Print the annotations that passes attach under dotted names: ``{sched.latency = 600}``."""
        found = [f"{name} = {value}" for name, value in op.attrs.items() if "." in name]
        if found:
            self.write("{" + ", ".join(found) + "}")

    def attribute(self, op: Op, name: str) -> str:
        codec = op.kind.attrs[name]
        return name if codec.flag else codec.text(getattr(op, name), self)

    def _formatted(self, op: Op, parts: tuple[Part, ...]) -> None:
        for part in parts:
            if isinstance(part, Literal):
                self.write(part.text)
            elif isinstance(part, AttrDict):
                assert isinstance(op.kind.format, str)
                self.attributes(op, names_in(op.kind.format))
            elif isinstance(part, Optional):
                if _present(op, part.anchor):
                    self._formatted(op, part.parts)
            else:
                self._named(op, part)

    def _named(self, op: Op, part: Named) -> None:
        if part.name in op.kind.attrs:
            if not op.kind.attrs[part.name].flag or _present(op, part.name):
                self.write(self.attribute(op, part.name))
            return
        member: Any = getattr(op, part.name)
        if isinstance(member, Region):
            self.region(member)
            return
        values = member if isinstance(member, tuple) else () if member is None else (member,)
        if values:
            self.write(", ".join(self.type(v.type) if part.of_type else self.name(v) for v in values))


def _present(op: Op, name: str) -> bool:
    value = getattr(op, name)
    if name in op.kind.attrs:
        return value != op.kind.attrs[name].default
    return value is not None and value != ()


def print_module(module: Module, default: str = "") -> str:
    """Return the text of a module.

    default: the dialect whose operations print without their prefix; by default that of its first operation.
    """
    printer = Printer(default or (module.ops[0].kind.dialect if module.ops else ""))
    printer.write(f"{printer.default}.module", f"@{module.name}", "{")
    printer.end_line()
    printer.depth += 1
    for op in module.ops:
        printer.isolated(op)
    aliases = [f"{name} = {text}" for name, text in printer.aliases.items()]
    return "\n".join([*aliases, *printer.lines, "}"]) + "\n"
