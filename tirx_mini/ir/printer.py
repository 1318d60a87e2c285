"""Printer of the IR in the style of TVMScript. The text of a function parses back to an equal function.

Kernels are printed here, lowered or not; expressions by `expr_printer.py`, and what schedules arrange by
`tir_printer.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from .buffer import AddressOf, Buffer, BufferLoad
from .expr import Const, Expr, Var, int_value
from .expr_printer import ExprPrinter, is_plain, literal, quoted
from .func import DIALECT, NATIVE, PrimFunc
from .stmt import (
    UNROLLED,
    VECTORIZED,
    AllocBuffer,
    Bind,
    Break,
    BufferStore,
    Continue,
    DeclBuffer,
    Evaluate,
    Expanded,
    For,
    Hint,
    If,
    Return,
    Scope,
    ScopeIds,
    Seq,
    Stmt,
    TensorMap,
    TileCall,
    While,
)  # fmt: skip
from .symbols import symbols
from .walk import walk

_INDENT = "    "
_NATIVE_IDS: Mapping[tuple[str, str], str] = {
    ("cluster", "kernel"): "cluster_id", ("cta", "kernel"): "cta_id", ("cta", "cluster"): "cta_id_in_cluster",
    ("warpgroup", "cta"): "warpgroup_id", ("warp", "cta"): "warp_id", ("warp", "warpgroup"): "warp_id_in_wg",
    ("thread", "cta"): "thread_id", ("thread", "warpgroup"): "thread_id_in_wg", ("thread", "warp"): "lane_id",
}  # fmt: skip
"""The functions of the native dialect for (kind, parent) of ids."""
_LANGUAGE = re.compile(r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|\bTx\.""")
"""A string, or the prefix of a name of the language."""


def kernel_text(func: PrimFunc) -> str:
    """Return a kernel as Python text that `tirx_mini.script.from_source` can parse."""
    return Printer(set(_layout_names(func))).func(func)


def _layout_names(func: PrimFunc) -> Iterator[str]:
    """Return the identifiers in printed layouts, which no variable may shadow."""
    buffers = [p for p in func.params if isinstance(p, Buffer)]
    buffers += [node.buffer for node in func.nodes if isinstance(node, (AllocBuffer, DeclBuffer))]
    for buffer in buffers:
        if buffer.layout is not None:
            yield from re.findall(r"[A-Za-z_]\w*", repr(buffer.layout))


class Printer(ExprPrinter):
    """Prints statements and functions."""

    # -- statements ---------------------------------------------------------------------------------------------

    def stmt(self, stmt: Stmt, depth: int) -> list[str]:
        """Return the lines of a statement."""
        return getattr(self, f"visit_{type(stmt).__name__}")(stmt, depth)

    def _line(self, text: str, depth: int) -> list[str]:
        return [_INDENT * depth + text]

    def _block(self, head: str, body: Stmt, depth: int, own: Sequence[Var] = ()) -> list[str]:
        """Return the lines of a block.

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
        if buffer.scalar and buffer.scope == "shared":
            return self._line(f'{name} = Tx.shared_scalar("{buffer.dtype}")', depth)
        if buffer.scalar:
            return self._line(f"{name}: Tx.{buffer.dtype}", depth)
        function = "alloc_shared" if buffer.scope == "shared" else "alloc_local"
        workspace = "global" if buffer.scope == "global" else None
        extra = {"scope": workspace, "layout": buffer.layout, "align": buffer.align or None}
        if workspace or (buffer.scope == "local" and buffer.align):
            function = "alloc_buffer"
        return self._line(f"{name} = Tx.{function}({self._storage(buffer, extra)})", depth)

    def visit_DeclBuffer(self, stmt: DeclBuffer, depth: int) -> list[str]:
        buffer = stmt.buffer
        extra = {
            "scope": buffer.scope,
            "allocated_addr": buffer.allocated_addr,
            "source": buffer.source,
            "byte_offset": buffer.byte_offset or None,
            "elem_offset": buffer.elem_offset,
            "layout": buffer.layout,
            "align": buffer.align or None,
        }
        if buffer.scalar and buffer.source is not None:
            extra = {name: value for name, value in extra.items() if name.endswith("_offset") and value is not None}
            more = "".join(f", {name}={self.value(value)}" for name, value in extra.items())
            call = f'Tx.decl_scalar("{buffer.dtype}", {self.name(buffer.source)}.data, "{buffer.scope}"{more})'
            return self._line(f"{self.name(buffer)} = {call}", depth)
        storage = self._storage(buffer, extra)
        return self._line(f"{self.name(buffer)} = Tx.decl_buffer({storage})", depth)

    def _storage(self, buffer: Buffer, extra: Mapping[str, object]) -> str:
        given = [f"{key}={self.value(value)}" for key, value in extra.items() if value is not None]
        shape = tuple(self._extent(extent) for extent in buffer.shape)
        return ", ".join([self.value(shape), f'"{buffer.dtype}"', *given])

    def visit_BufferStore(self, stmt: BufferStore, depth: int) -> list[str]:
        value, dtype = stmt.value, stmt.buffer.dtype
        plain = isinstance(value, Const) and value.dtype == dtype and is_plain(value)
        text = literal(value.value) if plain and isinstance(value, Const) else self.expr(value)
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
        if stmt.unroll is not None:
            bounds.append(f"unroll={stmt.unroll}")
        plain = not stmt.parallel and stmt.unroll is None
        if stmt.thread:
            head = f"for {self.name(stmt.var)} in Tx.thread_binding({', '.join(bounds)}, thread={quoted(stmt.thread)})"
            return self._block(head, stmt.body, depth, [stmt.var])
        counted = "range" if plain else "Tx.serial"
        function = {UNROLLED: "Tx.unroll", VECTORIZED: "Tx.vectorized"}.get(stmt.kind, counted)
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

    def visit_Return(self, stmt: Return, depth: int) -> list[str]:
        return self._line("Tx.thread_return()", depth)

    def visit_Hint(self, stmt: Hint, depth: int) -> list[str]:
        attrs = (
            f", {{{', '.join(f'{quoted(key)}: {self.value(value)}' for key, value in stmt.attrs)}}}"
            if stmt.attrs
            else ""
        )
        named = stmt.message or not stmt.attrs
        call = f"Tx.hint({quoted(stmt.message)}{attrs})" if named else f"Tx.attr({attrs[2:]})"
        return self._line(call, depth) if stmt.body is None else self._block(f"with {call}", stmt.body, depth)

    def visit_Expanded(self, stmt: Expanded, depth: int) -> list[str]:
        return self._line(f"Tx.{stmt.path}({', '.join(map(self._argument, stmt.args))})", depth)

    def _argument(self, value: object) -> str:
        """Return the text of an argument; a pointer to a buffer's first element is its `data`."""
        if isinstance(value, AddressOf) and all(int_value(index) == 0 for index in value.indices):
            return f"{self.name(value.buffer)}.data"
        return self.value(value)

    def visit_ScopeIds(self, stmt: ScopeIds, depth: int) -> list[str]:
        names = ", ".join(self.name(var) for var in stmt.vars)
        if self.as_written and (stmt.kind, stmt.parent) in _NATIVE_IDS:
            counts = [self._counts(stmt.extents)] if stmt.extents else []
            counts += [f"preferred={self._counts(stmt.preferred)}"] if stmt.preferred else []
            return self._line(f"{names} = Tx.{_NATIVE_IDS[stmt.kind, stmt.parent]}({', '.join(counts)})", depth)
        if stmt.parent == "pair":
            return self._line(f"{names} = Tx.cta_id_in_pair()", depth)
        preferred = f", preferred={self._counts(stmt.preferred)}" if stmt.preferred else ""
        where = f'parent="{stmt.parent}"{preferred}'
        return self._line(f"{names} = Tx.{stmt.kind}_id({self._counts(stmt.extents)}, {where})", depth)

    def _counts(self, extents: Sequence[object]) -> str:
        return f"[{', '.join(str(self._extent(extent)) for extent in extents)}]"

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
        """Return the whole kernel, preceded by the required imports as comments."""
        text = "\n".join(self.lines(func)) + "\n"
        return _in_native(text) if self.as_written else text

    def lines(self, func: PrimFunc) -> list[str]:
        """Return the lines of the whole kernel in the language's own prefix; the first ones may hold several."""
        native = self.as_written = func.spelling == NATIVE and func.launch is None
        params = ",\n".join(_INDENT + self._param(p) for p in func.params)
        attrs = dict(func.attrs)
        dialect = attrs.pop(DIALECT, None) if native else None
        told = "" if native and dialect is None else f"(dialect={quoted(str(dialect))})" if native else "(tirx=True)"
        head = [
            "# from tirx_mini.script import tirx as Tx",
            "# from tirx_mini.layout import *",
            f"@Tx.prim_func{told}",
            f"def {func.name}(\n{params},\n):" if params else f"def {func.name}():",
        ]
        body = [f"{self.name(var)} = Tx.{var.dtype}()" for var in symbols(func) if var not in set(func.params)]
        if attrs:
            body.append(f"Tx.func_attr({attrs!r})")
        if func.launch is not None:
            launch = func.launch
            extra = ", programmatic=True" if launch.programmatic else ""
            body.append(
                f"Tx.launch(grid={launch.grid}, threads={launch.threads}, cluster={launch.cluster}, "
                f"smem_bytes={launch.smem_bytes}{extra})"
            )
        body += [self._tensor_map(tensor_map) for tensor_map in func.tensor_maps]
        lines = [_INDENT + line for line in body] + (self._entered(func.body) if native else self.stmt(func.body, 1))
        return [*head, *(lines or [f"{_INDENT}pass"])]

    def _entered(self, body: Stmt) -> list[str]:
        """Return the lines of a body; a trailing kernel scope extends to the end without its own block."""
        *before, last = body.stmts if isinstance(body, Seq) and body.stmts else (body,)
        if not isinstance(last, Scope) or (last.kind, last.parent, last.filter) != ("kernel", None, None):
            return self.stmt(body, 1)
        inner = self.stmt(last.body, 1)
        return [*self.stmt(Seq(tuple(before)), 1), *self._line("Tx.device_entry()", 1), *inner]

    def _param(self, param: Buffer | Var) -> str:
        if isinstance(param, Var):
            return f"{self.name(param)}: Tx.{param.dtype}"
        scope = param.scope if param.scope != "global" else None
        extra = {"scope": scope, "layout": param.layout, "align": param.align or None}
        return f"{self.name(param)}: Tx.Buffer({self._storage(param, extra)})"

    def _extent(self, extent: object) -> object:
        """Return the text of an extent, quoted if it is symbolic, since its name is declared in the body."""
        return self.expr(extent) if isinstance(extent, Expr) else extent

    def _tensor_map(self, tensor_map: TensorMap) -> str:
        fields = {
            "dims": tensor_map.dims,
            "strides": tensor_map.strides,
            "box": tensor_map.box,
            "swizzle": tensor_map.swizzle,
            "l2_promotion": tensor_map.l2_promotion,
        }
        if tensor_map.nan_fill:
            fields["nan_fill"] = True
        given = ", ".join(f"{key}={value}" for key, value in fields.items())
        return f"{self.name(tensor_map.var)} = Tx.tensor_map({self.name(tensor_map.buffer)}, {given})"


def _in_native(text: str) -> str:
    """Replace the prefix of the language by the native dialect's, `T`, outside of strings."""
    return _LANGUAGE.sub(lambda match: match[1] or "T.", text).replace(" import tirx as Tx\n", " import tirx as T\n", 1)


def _initialises(declaration: Stmt | None, stmt: Stmt) -> bool:
    """Return whether `stmt` is the first assignment to the scalar that `declaration` declares."""
    return (
        isinstance(declaration, AllocBuffer)
        and declaration.buffer.scalar
        and declaration.buffer.scope == "local"
        and isinstance(stmt, BufferStore)
        and stmt.buffer is declaration.buffer
        and not any(isinstance(n, BufferLoad) and n.buffer is stmt.buffer for n in walk(stmt.value))
    )
