"""The IR as source text, in the style of TVMScript. The text of a function parses back to an equal function.

`expr_text` and `stmt_text` print a node; `script` prints a whole kernel, lowered or not.
"""

from __future__ import annotations

import json
import keyword
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .buffer import AddressOf, Buffer, BufferLoad, Region
from .expr import (
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Ramp,
    Select,
    Special,
    Str,
    Unary,
    Var,
    binary,
    cast,
    select,
    unary,
)  # fmt: skip
from .func import PrimFunc
from .span import TirxError
from .stmt import (
    UNROLLED,
    AllocBuffer,
    Bind,
    Break,
    BufferStore,
    Continue,
    DeclBuffer,
    Evaluate,
    For,
    Hint,
    If,
    Scope,
    ScopeIds,
    Seq,
    Stmt,
    TensorMap,
    TileCall,
    While,
)  # fmt: skip
from .text import node_text
from .visit import walk

_INDENT = "    "
_ATOM, _NOT, _UNARY = 20, 4, 12
_PRECEDENCE: Mapping[str, int] = {
    "or": 2, "and": 3, "==": 5, "!=": 5, "<": 5, "<=": 5, ">": 5, ">=": 5, "|": 6, "^": 7, "&": 8, "<<": 9, ">>": 9,
    "+": 10, "-": 10, "*": 11, "/": 11, "//": 11, "%": 11,
}  # fmt: skip
_RESERVED = frozenset({"Tx", "T", "range", "float"})


def expr_text(expr: Expr) -> str:
    """An expression as Python text."""
    return Printer().expr(expr)


def stmt_text(stmt: Stmt) -> str:
    """A statement as lines of Python text."""
    return "\n".join(Printer().stmt(stmt, 0))


def script(func: PrimFunc) -> str:
    """A kernel as Python text that `tirx_mini.script.from_source` can parse."""
    return Printer(set(_layout_names(func))).func(func)


node_text.register(Expr, expr_text)
node_text.register(Stmt, stmt_text)
node_text.register(PrimFunc, script)


def instruction_path(op: str) -> str:
    """The path of an instruction in the language: ``ptx.`` and its name.

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


def _layout_names(func: PrimFunc) -> Iterator[str]:
    """The identifiers in the printed layouts, which no variable may shadow."""
    buffers = [p for p in func.params if isinstance(p, Buffer)]
    buffers += [node.buffer for node in walk(func.body) if isinstance(node, (AllocBuffer, DeclBuffer))]
    for buffer in buffers:
        if buffer.layout is not None:
            yield from re.findall(r"[A-Za-z_]\w*", repr(buffer.layout))


@dataclass
class Printer:
    """Turns nodes into text and gives each variable and buffer a unique name."""

    taken: set[str] = field(default_factory=set)
    _names: dict[Any, str] = field(default_factory=dict)

    def name(self, node: Var | Buffer) -> str:
        """The name of a variable or buffer, made unique at its first use."""
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

    # -- expressions --------------------------------------------------------------------------------------------

    def expr(self, expr: Any, level: int = 0) -> str:
        """The text of an expression, in parentheses if its operator binds less tightly than `level`."""
        text, own = getattr(self, f"visit_{type(expr).__name__}")(expr)
        return f"({text})" if own < level else text

    def visit_Var(self, expr: Var) -> tuple[str, int]:
        return self.name(expr), _ATOM

    def visit_Const(self, expr: Const) -> tuple[str, int]:
        plain = _literal(expr.value)
        if expr.dtype.lanes > 1:
            return f'Tx.const({plain}, "{expr.dtype}")', _ATOM
        if expr.dtype in ("int32", "bool", "float32") and not plain.startswith('"'):
            return plain, _UNARY if plain.startswith("-") else _ATOM
        return f"Tx.{expr.dtype}({plain})", _ATOM

    def _operand(self, expr: Expr, other: Expr, level: int) -> str:
        """The text of an operand. A literal needs no type where it takes that of the `other` operand."""
        follows = isinstance(expr, Const) and not isinstance(other, Const) and expr.dtype == other.dtype
        if isinstance(expr, Const) and follows and _is_plain(expr) and (expr.value >= 0 or expr.dtype.bits >= 32):
            text = _literal(expr.value)
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
        """``buf[i, j]``, ``buf.flat[offset]``, or just the name of a scalar."""
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

    def visit_Region(self, expr: Region) -> tuple[str, int]:
        """An extent of 1 prints as an index. If all extents are 1, the last prints as a slice to mark a tile."""
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
        args = [self.expr(arg) for arg in expr.args]
        args += [f"{name}={self.value(value)}" for name, value in expr.attrs]
        path = instruction_path(expr.op)
        if all(part.isidentifier() for part in path.split(".")):
            return f"Tx.{path}({', '.join(args)})", _ATOM
        return f"Tx.call({', '.join([_quoted(expr.op), *args])})", _ATOM

    def visit_Special(self, expr: Special) -> tuple[str, int]:
        return f"Tx.{expr.name}", _ATOM

    def visit_Str(self, expr: Str) -> tuple[str, int]:
        return _quoted(expr.value), _ATOM

    def list(self, exprs: Iterable[Expr]) -> str:
        return ", ".join(self.expr(e) for e in exprs)

    def value(self, value: Any) -> str:
        """The text of an option: an expression or a Python value."""
        if isinstance(value, Buffer):
            return self.name(value)
        if isinstance(value, (tuple, list)):
            inner = ", ".join(self.value(item) for item in value)
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        if isinstance(value, str):
            return _quoted(value)
        if isinstance(value, Const):  # a bare literal would read back as a Python number
            return f"Tx.{value.dtype}({_literal(value.value)})"
        return self.expr(value) if isinstance(value, Expr) else repr(value)

    # -- statements ---------------------------------------------------------------------------------------------

    def stmt(self, stmt: Stmt, depth: int) -> list[str]:
        """The lines of a statement."""
        return getattr(self, f"visit_{type(stmt).__name__}")(stmt, depth)

    def _line(self, text: str, depth: int) -> list[str]:
        return [_INDENT * depth + text]

    def _block(self, head: str, body: Stmt, depth: int, own: Sequence[Var] = ()) -> list[str]:
        """The lines of a block.

        Names that are local to the block, and those of the variables `own` in its head, may be reused after it.
        """
        before = self._names.keys() - set(own)
        lines = self.stmt(body, depth + 1) or self._line("pass", depth + 1)
        for node in self._names.keys() - before:
            if isinstance(node, Var) or node.scope == "local":
                self.taken.discard(self._names[node])
        return [f"{_INDENT * depth}{head}:", *lines]

    def visit_Seq(self, stmt: Seq, depth: int) -> list[str]:
        lines: list[str] = []
        for before, part in zip((None, *stmt.stmts), stmt.stmts, strict=False):
            text = self.stmt(part, depth)
            if _initialises(before, part):  # x: Tx.int32 = value
                value = text[0].split(" = ", 1)[1]
                lines[-1] += f" = {value}"
            else:
                lines += text
        return lines

    def visit_Bind(self, stmt: Bind, depth: int) -> list[str]:
        value = self.expr(stmt.value)
        if isinstance(stmt.value, (Var, AddressOf)):
            value = f"Tx.let({value})"
        return self._line(f"{self.name(stmt.var)} = {value}", depth)

    def visit_AllocBuffer(self, stmt: AllocBuffer, depth: int) -> list[str]:
        buffer, name = stmt.buffer, self.name(stmt.buffer)
        if buffer.scalar:
            return self._line(f"{name}: Tx.{buffer.dtype}", depth)
        function = "alloc_shared" if buffer.scope == "shared" else "alloc_local"
        extra = {"layout": buffer.layout, "align": buffer.align or None}
        if buffer.scope == "local" and buffer.align:
            function = "alloc_buffer"
        return self._line(f"{name} = Tx.{function}({self._storage(buffer, extra)})", depth)

    def visit_DeclBuffer(self, stmt: DeclBuffer, depth: int) -> list[str]:
        buffer = stmt.buffer
        extra = {
            "scope": buffer.scope,
            "allocated_addr": buffer.allocated_addr,
            "source": buffer.source,
            "byte_offset": buffer.byte_offset or None,
            "layout": buffer.layout,
            "align": buffer.align or None,
        }
        storage = self._storage(buffer, extra)
        return self._line(f"{self.name(buffer)} = Tx.decl_buffer({storage})", depth)

    def _storage(self, buffer: Buffer, extra: Mapping[str, Any]) -> str:
        given = [f"{key}={self.value(value)}" for key, value in extra.items() if value is not None]
        return ", ".join([self.value(buffer.shape), f'"{buffer.dtype}"', *given])

    def visit_BufferStore(self, stmt: BufferStore, depth: int) -> list[str]:
        value, dtype = stmt.value, stmt.buffer.dtype
        plain = isinstance(value, Const) and value.dtype == dtype and _is_plain(value)
        text = _literal(value.value) if plain and isinstance(value, Const) else self.expr(value)
        return self._line(f"{self.element(stmt.buffer, stmt.indices)} = {text}", depth)

    def visit_Evaluate(self, stmt: Evaluate, depth: int) -> list[str]:
        return self._line(self.expr(stmt.call), depth)

    def visit_If(self, stmt: If, depth: int, word: str = "if") -> list[str]:
        condition = self.expr(stmt.cond)
        if isinstance(stmt.cond, Const):
            condition = f"Tx.bool({condition})"
        lines = self._block(f"{word} {condition}", stmt.then, depth)
        if isinstance(stmt.orelse, If):
            return lines + self.visit_If(stmt.orelse, depth, "elif")
        return lines if stmt.orelse is None else lines + self._block("else", stmt.orelse, depth)

    def visit_For(self, stmt: For, depth: int) -> list[str]:
        start, stop = self.expr(stmt.start), self.expr(stmt.stop)
        bounds = [stop] if start == "0" and stmt.step == 1 else [start, stop]
        if stmt.step != 1:
            bounds.append(str(stmt.step))
        if stmt.parallel:
            bounds.append("parallel=True")
        function = "Tx.unroll" if stmt.kind == UNROLLED else "Tx.serial" if stmt.parallel else "range"
        head = f"for {self.name(stmt.var)} in {function}({', '.join(bounds)})"
        return self._block(head, stmt.body, depth, [stmt.var])

    def visit_While(self, stmt: While, depth: int) -> list[str]:
        constant = isinstance(stmt.cond, Const) and not stmt.cond.value
        condition = f"Tx.bool({self.expr(stmt.cond)})" if constant else self.expr(stmt.cond)
        return self._block(f"while {condition}", stmt.body, depth)

    def visit_Break(self, stmt: Break, depth: int) -> list[str]:
        return self._line("break", depth)

    def visit_Continue(self, stmt: Continue, depth: int) -> list[str]:
        return self._line("continue", depth)

    def visit_Hint(self, stmt: Hint, depth: int) -> list[str]:
        attrs = (
            f", {{{', '.join(f'{_quoted(key)}: {self.value(value)}' for key, value in stmt.attrs)}}}"
            if stmt.attrs
            else ""
        )
        call = f"Tx.hint({_quoted(stmt.message)}{attrs})"
        return self._line(call, depth) if stmt.body is None else self._block(f"with {call}", stmt.body, depth)

    def visit_ScopeIds(self, stmt: ScopeIds, depth: int) -> list[str]:
        names = ", ".join(self.name(var) for var in stmt.vars)
        return self._line(f'{names} = Tx.{stmt.kind}_id({list(stmt.extents)}, parent="{stmt.parent}")', depth)

    def visit_Scope(self, stmt: Scope, depth: int) -> list[str]:
        parent = "" if stmt.parent is None else f'parent="{stmt.parent}"'
        condition = "" if stmt.filter is None else f"[{self.expr(stmt.filter)}]"
        return self._block(f"with Tx.{stmt.kind}({parent}){condition}", stmt.body, depth)

    def visit_TileCall(self, stmt: TileCall, depth: int) -> list[str]:
        args = [self.expr(operand) for operand in stmt.operands]
        args += [f"{name}={self.value(value)}" for name, value in stmt.options]
        owner = "Tx" if stmt.scope is None else f"Tx.{stmt.scope}"
        return self._line(f"{owner}.{stmt.op}({', '.join(args)})", depth)

    # -- functions ----------------------------------------------------------------------------------------------

    def func(self, func: PrimFunc) -> str:
        """The whole kernel, preceded by the imports that its text needs, as comments."""
        params = ",\n".join(_INDENT + self._param(p) for p in func.params)
        head = [
            "# from tirx_mini.script import tirx as Tx",
            "# from tirx_mini.layout import *",
            "@Tx.prim_func(tirx=True)",
            f"def {func.name}(\n{params},\n):" if params else f"def {func.name}():",
        ]
        body: list[str] = []
        if func.attrs:
            body.append(f"Tx.func_attr({dict(func.attrs)!r})")
        if func.launch is not None:
            launch = func.launch
            extra = ", programmatic=True" if launch.programmatic else ""
            body.append(
                f"Tx.launch(grid={launch.grid}, threads={launch.threads}, cluster={launch.cluster}, "
                f"smem_bytes={launch.smem_bytes}{extra})"
            )
        body += [self._tensor_map(tensor_map) for tensor_map in func.tensor_maps]
        lines = [_INDENT + line for line in body] + self.stmt(func.body, 1)
        return "\n".join([*head, *(lines or [f"{_INDENT}pass"])]) + "\n"

    def _param(self, param: Buffer | Var) -> str:
        if isinstance(param, Var):
            return f"{self.name(param)}: Tx.{param.dtype}"
        scope = param.scope if param.scope != "global" else None
        extra = {"scope": scope, "layout": param.layout, "align": param.align or None}
        return f"{self.name(param)}: Tx.Buffer({self._storage(param, extra)})"

    def _tensor_map(self, tensor_map: TensorMap) -> str:
        fields = {
            "dims": tensor_map.dims,
            "strides": tensor_map.strides,
            "box": tensor_map.box,
            "swizzle": tensor_map.swizzle,
            "l2_promotion": tensor_map.l2_promotion,
        }
        given = ", ".join(f"{key}={value}" for key, value in fields.items())
        return f"{self.name(tensor_map.var)} = Tx.tensor_map({self.name(tensor_map.buffer)}, {given})"


def _initialises(declaration: Stmt | None, stmt: Stmt) -> bool:
    """Whether `stmt` is the first assignment to the scalar that `declaration` declares."""
    return (
        isinstance(declaration, AllocBuffer)
        and declaration.buffer.scalar
        and isinstance(stmt, BufferStore)
        and stmt.buffer is declaration.buffer
        and not any(isinstance(n, BufferLoad) and n.buffer is stmt.buffer for n in walk(stmt.value))
    )


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _is_plain(expr: Const) -> bool:
    """Whether a literal can be written without its type where the context gives the type."""
    return expr.dtype.lanes == 1 and (
        expr.dtype.is_integer or expr.dtype.is_bool or (isinstance(expr.value, float) and math.isfinite(expr.value))
    )


def _literal(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f'"{value}"'
    return repr(value)


def _is_normal(expr: Expr, build: Callable[[], Expr]) -> bool:
    """Whether the language's operators rebuild exactly this node from its parts, without simplifying it."""
    try:
        built = build()
    except TirxError:
        return False
    names = ("a", "b", "value", "cond")
    same = all(getattr(built, name, None) is getattr(expr, name, None) for name in names)
    return type(built) is type(expr) and built.dtype == expr.dtype and same
