"""Printer of TIR in Apache TVM's TVMScript, for functions whose loops a schedule arranges.

`script` prints any function, and `stmt_text` any statement: in this way, or as kernels are (`printer.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from .block import REDUCE, Block
from .buffer import Buffer, Range, Region
from .expr import Cast, Const, Expr, Ramp, binary, int_value
from .expr_printer import expr_text, quoted
from .func import TIR, PrimFunc
from .printer import Printer, kernel_text
from .stmt import PARALLEL, SERIAL, THREAD, UNROLLED, VECTORIZED, AllocBuffer, BufferStore, For, Stmt
from .text import node_text
from .walk import walk

_FUNCTIONS: Mapping[str, str] = {
    SERIAL: "range", UNROLLED: "Tx.unroll", PARALLEL: "Tx.parallel", VECTORIZED: "Tx.vectorized"
}  # fmt: skip
_ATOM = 20


def script(func: PrimFunc) -> str:
    """Return Python text that parses back to an equal function."""
    return TirPrinter().func(func) if func.spelling == TIR else kernel_text(func)


def stmt_text(stmt: Stmt) -> str:
    """Return a statement as lines of Python text."""
    if any(_is_scheduled(node) for node in walk(stmt)):
        return _in_tir(TirPrinter().stmt(stmt, 0))
    return "\n".join(Printer().stmt(stmt, 0))


def _in_tir(lines: list[str]) -> str:
    """Replace the prefix of the language by TVMScript's, `T`, outside of strings."""
    return re.sub(r"""("(?:\\.|[^"\\])*")|\bTx\.""", lambda match: match[1] or "T.", "\n".join(lines))


def _grid(stmt: For) -> list[For]:
    """Return the perfectly nested plain loops around a block that ``T.grid`` can print."""
    loops: list[For] = []
    inner: Stmt = stmt
    while isinstance(inner, For) and (inner.kind, int_value(inner.start), inner.step) == (SERIAL, 0, 1):
        loops.append(inner)
        inner = inner.body
    return loops if isinstance(inner, Block) else []


def _note(value: object) -> str:
    return quoted(value) if isinstance(value, str) else repr(value)


def _is_scheduled(node: Expr | Stmt) -> bool:
    return isinstance(node, Block) or (isinstance(node, For) and node.kind not in (SERIAL, UNROLLED))


node_text.register(Expr, expr_text)
node_text.register(Stmt, stmt_text)
node_text.register(PrimFunc, script)


class TirPrinter(Printer):
    """Prints functions with blocks, parallel, vectorised and bound loops, and vectors as slices."""

    def func(self, func: PrimFunc) -> str:
        params = ", ".join(self._param(param) for param in func.params)
        head = f"@Tx.prim_func\ndef {func.name}({params}):"
        if len(head.splitlines()[-1]) > 100:
            listed = ",\n".join(f"    {self._param(param)}" for param in func.params)
            head = f"@Tx.prim_func\ndef {func.name}(\n{listed},\n):"
        attrs = ", ".join(f"{quoted(key)}: {self._attribute(value)}" for key, value in func.attrs)
        lines = ["# from tvm.script import tir as T", head]
        if attrs:
            lines.append(f"    Tx.func_attr({{{attrs}}})")
        lines += self.stmt(func.body, 1) or ["    pass"]
        return _in_tir(lines) + "\n"

    @staticmethod
    def _attribute(value: object) -> str:
        return f"Tx.bool({value})" if isinstance(value, bool) else repr(value)

    # -- statements ---------------------------------------------------------------------------------------------

    def visit_For(self, stmt: For, depth: int) -> list[str]:
        nested = _grid(stmt)
        if len(nested) > 1:
            names = ", ".join(self.name(loop.var) for loop in nested)
            head = f"for {names} in Tx.grid({self.list(loop.stop for loop in nested)})"
            return self._block(head, nested[-1].body, depth, [loop.var for loop in nested])
        if stmt.kind == THREAD:
            head = f'for {self.name(stmt.var)} in Tx.thread_binding({self.expr(stmt.stop)}, thread="{stmt.thread}")'
        else:
            start, stop = self.expr(stmt.start), self.expr(stmt.stop)
            bounds = stop if start == "0" and stmt.step == 1 else f"{start}, {stop}"
            bounds += "" if stmt.step == 1 else f", {stmt.step}"
            head = f"for {self.name(stmt.var)} in {_FUNCTIONS[stmt.kind]}({bounds})"
        return self._block(head, stmt.body, depth, [stmt.var])

    def visit_BufferStore(self, stmt: BufferStore, depth: int) -> list[str]:
        return self._line(f"{self.element(stmt.buffer, stmt.indices)} = {self.expr(stmt.value)}", depth)

    def visit_AllocBuffer(self, stmt: AllocBuffer, depth: int) -> list[str]:
        return self._line(self._alloc(stmt.buffer), depth)

    def _alloc(self, buffer: Buffer) -> str:
        extra = ""
        if buffer.layout is not None:
            neighbours = ([int(dim == along) for dim in range(buffer.ndim)] for along in range(buffer.ndim))
            extra = f", strides={self.value(tuple(buffer.layout.apply_m(*place) for place in neighbours))}"
        return (
            f'{self.name(buffer)} = Tx.alloc_buffer({self.value(buffer.shape)}, "{buffer.dtype}"{extra}, '
            f'scope="{buffer.scope}")'
        )

    def visit_Block(self, stmt: Block, depth: int) -> list[str]:
        lines: list[str] = []
        for var, kind, domain, value in zip(stmt.vars, stmt.kinds, stmt.domains, stmt.values, strict=True):
            name = "reduce" if kind == REDUCE else "spatial"
            start, stop = self.expr(domain.start), self.expr(binary("+", domain.start, domain.extent))
            extent = stop if start == "0" else f"({start}, {stop})"
            lines += self._line(f"{self.name(var)} = Tx.axis.{name}({extent}, {self.expr(value)})", depth + 1)
        if stmt.predicate is not None:
            lines += self._line(f"Tx.where({self.expr(stmt.predicate)})", depth + 1)
        for word, regions in (("reads", stmt.reads), ("writes", stmt.writes)):
            if regions is not None:
                lines += self._line(f"Tx.{word}({', '.join(self.region(region) for region in regions)})", depth + 1)
        if stmt.attrs:
            notes = ", ".join(f"{quoted(key)}: {_note(value)}" for key, value in stmt.attrs)
            lines += self._line(f"Tx.block_attr({{{notes}}})", depth + 1)
        lines += [line for buffer in stmt.allocs for line in self._line(self._alloc(buffer), depth + 1)]
        if stmt.init is not None:
            lines += self._block("with Tx.init()", stmt.init, depth + 1)
        body = self.stmt(stmt.body, depth + 1) or self._line("pass", depth + 1)
        return [*self._line(f'with Tx.block("{stmt.name}"):', depth), *lines, *body]

    def region(self, region: Region) -> str:
        """Return the text of a region, with extents of 1 as indices."""
        return f"{self.name(region.buffer)}[{', '.join(map(self._range, region.ranges))}]"

    def _range(self, part: Range) -> str:
        if int_value(part.extent) == 1:
            return self.expr(part.start)
        return f"{self.expr(part.start)}:{self.expr(binary('+', part.start, part.extent))}"

    # -- expressions --------------------------------------------------------------------------------------------

    def visit_Const(self, expr: Const) -> tuple[str, int]:
        if expr.dtype.is_float and expr.dtype.lanes == 1 and isinstance(expr.value, float):
            whole = expr.value.is_integer() and abs(expr.value) < 2**24
            text = repr(int(expr.value)) if whole else super().visit_Const(Const(expr.dtype, expr.value))[0]
            return (f"Tx.{expr.dtype}({text})" if whole or not text.startswith("Tx.") else text), _ATOM
        return super().visit_Const(expr)

    def _operand(self, expr: Expr, other: Expr, level: int) -> str:
        if isinstance(expr, Const) and expr.dtype.is_float:
            return self.expr(expr, level)
        return super()._operand(expr, other, level)

    def visit_Ramp(self, expr: Ramp) -> tuple[str, int]:
        return f"{self.expr(expr.base)}:{self.expr(binary('+', expr.base, expr.lanes))}", 0

    def visit_Cast(self, expr: Cast) -> tuple[str, int]:
        if expr.dtype.lanes > 1 and expr.value.dtype.lanes == 1:
            return f"Tx.Broadcast({self.expr(expr.value)}, {expr.dtype.lanes})", _ATOM
        return super().visit_Cast(expr)
