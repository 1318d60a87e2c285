"""Printer of expressions in the style of TVMScript."""

from __future__ import annotations

import json
import keyword
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field

from tirx_mini.narrowing import is_listed
from tirx_mini.records import dataclass

from .bits import Reinterpret
from .buffer import Address, AddressOf, Buffer, BufferLoad, Region
from .expr import (
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Ramp,
    Select,
    Str,
    Unary,
    Var,
    binary,
    cast,
    select,
    unary,
)  # fmt: skip
from .span import TirxError
from .units import Special

_ATOM, _NOT, _UNARY = 20, 4, 12
_PRECEDENCE: Mapping[str, int] = {
    "or": 2, "and": 3, "==": 5, "!=": 5, "<": 5, "<=": 5, ">": 5, ">=": 5, "|": 6, "^": 7, "&": 8, "<<": 9, ">>": 9,
    "+": 10, "-": 10, "*": 11, "/": 11, "//": 11, "%": 11,
}  # fmt: skip
_RESERVED = frozenset({"Tx", "T", "range", "float"})


def expr_text(expr: Expr) -> str:
    """Return the text of an expression in Python syntax."""
    return ExprPrinter().expr(expr)


def instruction_path(op: str) -> str:
    """Return the path of an instruction in the language: ``ptx.`` and its name.

    A part that is a Python keyword is joined to the part before it with an underscore: ``cp.async.bulk.commit_group``
    becomes ``ptx.cp_async.bulk.commit_group``.
    """
    parts: list[str] = []
    for part in op.split("."):
        if keyword.iskeyword(part) and parts:
            parts[-1] += f"_{part}"
        else:
            parts.append(part)
    return ".".join(["ptx", *parts])


@dataclass
class ExprPrinter:
    """Prints expressions and gives each variable and buffer a unique name.

    as_written: whether instructions are printed under the paths by which the kernel calls them.
    """

    taken: set[str] = field(default_factory=set[str])
    as_written: bool = False
    _names: dict[Var | Buffer, str] = field(default_factory=dict["Var | Buffer", str])

    def name(self, node: Var | Buffer) -> str:
        """Return the name of a variable or buffer, made unique at first use."""
        known = self._names.get(node)
        if known is None:
            base = re.sub(r"\W", "_", node.name) or "x"
            if base[0].isdigit() or keyword.iskeyword(base) or base in _RESERVED:
                base = f"_{base}"
            known, number = base, 0
            while known in self.taken:
                number += 1
                known = f"{base}_{number}"
            self.taken.add(known)
            self._names[node] = known
        return known

    def expr(self, expr: object, level: int = 0) -> str:
        """Return the text of an expression, parenthesised if its operator binds less tightly than `level`."""
        text, own = getattr(self, f"visit_{type(expr).__name__}")(expr)
        return f"({text})" if own < level else text

    def visit_Var(self, expr: Var) -> tuple[str, int]:
        return self.name(expr), _ATOM

    def visit_Const(self, expr: Const) -> tuple[str, int]:
        plain = literal(expr.value)
        if expr.dtype.lanes > 1:
            return f'Tx.const({plain}, "{expr.dtype}")', _ATOM
        if expr.dtype in ("int32", "bool", "float32") and not plain.startswith('"'):
            return plain, _UNARY if plain.startswith("-") else _ATOM
        return f"Tx.{expr.dtype}({plain})", _ATOM

    def _operand(self, expr: Expr, other: Expr, level: int) -> str:
        """Return the text of an operand. A literal that takes the `other` operand's type is printed without a type."""
        follows = isinstance(expr, Const) and not isinstance(other, Const) and expr.dtype == other.dtype
        if isinstance(expr, Const) and follows and is_plain(expr) and (expr.value >= 0 or expr.dtype.bits >= 32):
            text = literal(expr.value)
            return f"({text})" if text.startswith("-") and level > _UNARY else text
        return self.expr(expr, level)

    def visit_Binary(self, expr: Binary) -> tuple[str, int]:
        if not _is_normal(expr, lambda: binary(expr.op, expr.a, expr.b)):
            parts = self.list([expr.a, expr.b])
            return f'Tx.node("binary", "{expr.op}", "{expr.dtype}", {parts})', _ATOM
        if expr.op in ("min", "max"):
            return f"Tx.{expr.op}({self._operand(expr.a, expr.b, 0)}, {self._operand(expr.b, expr.a, 0)})", _ATOM
        own = _PRECEDENCE[expr.op]
        if expr.op in ("and", "or"):  # over a bare literal, Python would evaluate it at once
            sides = [f"Tx.bool({e.value})" if isinstance(e, Const) else None for e in (expr.a, expr.b)]
            return f"{sides[0] or self.expr(expr.a, own)} {expr.op} {sides[1] or self.expr(expr.b, own + 1)}", own
        left = own + 1 if own == _PRECEDENCE["=="] else own
        return f"{self._operand(expr.a, expr.b, left)} {expr.op} {self._operand(expr.b, expr.a, own + 1)}", own

    def visit_Unary(self, expr: Unary) -> tuple[str, int]:
        if not _is_normal(expr, lambda: unary(expr.op, expr.value)):
            return f'Tx.node("unary", "{expr.op}", "{expr.dtype}", {self.expr(expr.value)})', _ATOM
        if expr.op == "not":
            return f"not {self.expr(expr.value, _NOT)}", _NOT
        return f"{expr.op}{self.expr(expr.value, _UNARY)}", _UNARY

    def visit_Cast(self, expr: Cast) -> tuple[str, int]:
        if not _is_normal(expr, lambda: cast(expr.dtype, expr.value)):
            return f'Tx.node("cast", "{expr.dtype}", {self.expr(expr.value)})', _ATOM
        return f"Tx.{expr.dtype}({self.expr(expr.value)})", _ATOM

    def visit_Reinterpret(self, expr: Reinterpret) -> tuple[str, int]:
        return f'Tx.reinterpret("{expr.dtype}", {self.expr(expr.value)})', _ATOM

    def visit_Select(self, expr: Select) -> tuple[str, int]:
        parts = self.list([expr.cond, expr.a, expr.b])
        if not _is_normal(expr, lambda: select(expr.cond, expr.a, expr.b)):
            return f'Tx.node("select", "{expr.dtype}", {parts})', _ATOM
        return f"Tx.if_then_else({parts})", _ATOM

    def visit_Ramp(self, expr: Ramp) -> tuple[str, int]:
        return f"Tx.ramp({self.expr(expr.base)}, {expr.lanes})", _ATOM

    def visit_BufferLoad(self, expr: BufferLoad) -> tuple[str, int]:
        return self.element(expr.buffer, expr.indices), _ATOM

    def element(self, buffer: Buffer, indices: tuple[Expr, ...]) -> str:
        """Return the text of an element: ``buf[i, j]``, ``buf.flat[offset]``, or just the name of a scalar."""
        if buffer.scalar and len(indices) == 1 and isinstance(indices[0], Const) and indices[0].value == 0:
            return self.name(buffer)
        return f"{self._place(buffer, indices)}[{self.list(indices)}]"

    def _place(self, buffer: Buffer, indices: tuple[Expr, ...]) -> str:
        flat = len(indices) == 1 and buffer.ndim != 1
        return f"{self.name(buffer)}.flat" if flat else self.name(buffer)

    def visit_AddressOf(self, expr: AddressOf) -> tuple[str, int]:
        if expr.buffer.scalar:
            return f"Tx.address_of({self.name(expr.buffer)})", _ATOM
        return f"{self._place(expr.buffer, expr.indices)}.ptr_to([{self.list(expr.indices)}])", _ATOM

    def visit_Address(self, expr: Address) -> tuple[str, int]:
        return f'Tx.reinterpret("handle", {self.expr(expr.value)})', _ATOM

    def visit_Region(self, expr: Region) -> tuple[str, int]:
        """Print a region, with extents of 1 as indices. If all extents are 1, the last is a slice, to mark a tile."""
        parts: list[str] = []
        single = [isinstance(r.extent, Const) and r.extent.value == 1 for r in expr.ranges]
        for axis, r in enumerate(expr.ranges):
            if single[axis] and not (all(single) and axis == len(single) - 1):
                parts.append(self.expr(r.start))
            else:
                start, stop = self.expr(r.start), self.expr(binary("+", r.start, r.extent))
                parts.append(f"{start}:{stop}" if start.isalnum() and stop.isalnum() else f"{start} : {stop}")
        return f"{self.name(expr.buffer)}[{', '.join(parts)}]", _ATOM

    def visit_Call(self, expr: Call) -> tuple[str, int]:
        if self.as_written and expr.written is not None:
            path, places, names, numbers = expr.written
            kept = [(place in numbers, arg) for place, arg in enumerate(expr.args) if place not in places]
            shown = [literal(arg.value) if plain and isinstance(arg, Const) else self.expr(arg) for plain, arg in kept]
            shown += [f"{name}={self.value(value)}" for name, value in expr.attrs if name not in names]
            return f"Tx.{path}({', '.join(shown)})", _ATOM
        args = [self.expr(arg) for arg in expr.args]
        args += [f"{name}={self.value(value)}" for name, value in expr.attrs]
        path = instruction_path(expr.op)
        if all(part.isidentifier() for part in path.split(".")):
            return f"Tx.{path}({', '.join(args)})", _ATOM
        return f"Tx.call({', '.join([quoted(expr.op), *args])})", _ATOM

    def visit_Special(self, expr: Special) -> tuple[str, int]:
        return f"Tx.{expr.name}", _ATOM

    def visit_Str(self, expr: Str) -> tuple[str, int]:
        return quoted(expr.value), _ATOM

    def list(self, exprs: Iterable[Expr]) -> str:
        return ", ".join(self.expr(e) for e in exprs)

    def value(self, value: object) -> str:
        """Return the text of an option, an expression or a Python value."""
        if isinstance(value, Buffer):
            return self.name(value)
        if is_listed(value):
            inner = ", ".join(map(self.value, value))
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        if isinstance(value, str):
            return quoted(value)
        if isinstance(value, Const):  # a bare literal would read back as a Python number
            return f"Tx.{value.dtype}({literal(value.value)})"
        return self.expr(value) if isinstance(value, Expr) else repr(value)


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def is_plain(expr: Const) -> bool:
    """Return whether a literal can be printed without its type if the context determines it."""
    return expr.dtype.lanes == 1 and (
        expr.dtype.is_integer or expr.dtype.is_bool or (isinstance(expr.value, float) and math.isfinite(expr.value))
    )


def literal(value: object) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f'"{value}"'
    return repr(value)


def _is_normal(expr: Expr, build: Callable[[], Expr]) -> bool:
    """Return whether the language's operators rebuild exactly this node from its parts, without simplification."""
    try:
        built = build()
    except TirxError:
        return False
    names = ("a", "b", "value", "cond")
    same = all(getattr(built, name, None) is getattr(expr, name, None) for name in names)
    return type(built) is type(expr) and built.dtype == expr.dtype and same
