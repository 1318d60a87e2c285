"""Statements of a run without data: the time of every statement, and only the values that `needed` says.

What a statement costs to issue is counted as it is translated. So a value that nobody needs is translated too, and its
text is dropped. An access to memory becomes a `passes` of the warp, which takes its time and checks its bounds.
"""

from __future__ import annotations

from dataclasses import replace

from tirx_mini.ir import (
    Binary,
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    PrimFunc,
    Ramp,
    Span,
    While,
    const,
    int_value,
    walk,
)

from .needed import Needed, is_kept
from .repeats import Cut
from .sameness import Samenesses
from .statements import Statements
from .uniformity import Uniformity
from .writer import Writer


class ClockStatements(Statements):
    """Translates one function's body for a run without data."""

    def __init__(
        self, func: PrimFunc, facts: Uniformity, same: Samenesses, writer: Writer, needed: Needed, cut: Cut
    ) -> None:
        super().__init__(func, facts, same, writer)
        self.needed = needed
        self.cut = cut

    def _numbers(self, stmt: For, numbers: str) -> str:
        if stmt not in self.cut.middle:
            return numbers
        first, stop = self.cut.middle[stmt]
        whole = range(int_value(stmt.start) or 0, int_value(stmt.stop) or 0)
        return self.out.object("K", (*whole[:first], *whole[stop:]))

    def _condition(self, stmt: While) -> Expr:
        if stmt not in self.cut.tiles:
            return stmt.cond
        assert isinstance(stmt.cond, Binary)
        return replace(stmt.cond, b=const(self.cut.tiles[stmt], stmt.cond.b.dtype))

    def _Bind(self, stmt: Bind) -> None:
        if self.needed.has(stmt.var) or is_kept(stmt.value):
            super()._Bind(stmt)
            return
        with self.out.dropped():
            super()._Bind(stmt)
        self._loads(stmt.value, stmt.span)

    def _BufferStore(self, stmt: BufferStore) -> None:
        buffer, kept = stmt.buffer, is_kept(stmt.value)
        if self.needed.has(buffer) or (kept and buffer.scope == "local"):
            super()._BufferStore(stmt)
            return
        with self.out.dropped():
            super()._BufferStore(stmt)
        if kept:
            with self.out.free():
                self.out.line(self.expressions.value(stmt.value).code)
        else:
            self._loads(stmt.value, stmt.span)
        if buffer.scope != "local":
            self._passes(buffer, stmt.indices[0], stmt.span, write=True)

    def _loads(self, expr: Expr, span: Span | None) -> None:
        """Let the loads from memory of a value that nobody needs pass."""
        for node in walk(expr):
            if isinstance(node, BufferLoad) and node.buffer.scope != "local":
                self._passes(node.buffer, node.indices[0], span, write=False)

    def _passes(self, buffer: Buffer, index: Expr, span: Span | None, write: bool) -> None:
        """An access whose value does not matter: its place as a start that all lanes share, and a static pattern."""
        lanes, base = (index.lanes, index.base) if isinstance(index, Ramp) else (1, index)
        with self.out.free():
            uniform, pattern, rest = self.expressions.split(base)
            shape = "None" if pattern is None else self.expressions.ready(pattern).code
        self.out.at(span)
        name, start = self.storage.name(buffer), uniform.code if uniform is not None else "0"
        if rest is None:
            self.out.line(f"w.passes({name}, {start}, {shape}, {lanes}, {write})")
            return
        terms = [start, rest.code] if pattern is None else [start, rest.code, shape]
        self.out.line(f"w.passes_at({name}, {' + '.join(terms)}, {lanes}, {write})")
