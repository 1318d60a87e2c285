"""Statements of a run without data: the time of every statement, and only the values in `needed`.

The issue cost of a statement is counted during its translation. So even an unneeded value is translated, and its text
is discarded. A memory access becomes a `passes` of the warp, which takes its time and checks its bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from tirx_mini.hardware import WARPGROUP_WARPS
from tirx_mini.ir import (
    Binary,
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    Evaluate,
    Expr,
    For,
    PrimFunc,
    Ramp,
    Span,
    Stmt,
    While,
    const,
    int_value,
    walk,
)

from .needed import Needed, is_kept, stored_data
from .repeats import Cut
from .representatives import Loop, joins_warpgroup, moved_scalars, represented_loops
from .sameness import Samenesses
from .statements import Statements
from .storage import Place
from .uniformity import Uniformity
from .untimed import lead
from .values import Value
from .writer import Writer


class ClockStatements(Statements):
    """The statement translator for a run without data."""

    def __init__(
        self, func: PrimFunc, facts: Uniformity, same: Samenesses, writer: Writer, needed: Needed, cut: Cut
    ) -> None:
        super().__init__(func, facts, same, writer)
        self.needed = needed
        self.cut = cut
        self.data = False
        self.storage.alone = True
        self.bursts = cut.known_mmas
        self._alike: frozenset[Loop] = represented_loops(func, needed) if cut == Cut() else frozenset()
        self.leading = False
        """Whether the current statement is in a loop that one warp executes for its warpgroup."""
        self.each = ""
        """The name of the warp number for which a memory access is made in such a loop."""

    def _numbers(self, stmt: For, numbers: str) -> str:
        if stmt not in self.cut.middle:
            return numbers
        first, stop = self.cut.middle[stmt]
        whole = range(int_value(stmt.start) or 0, int_value(stmt.stop) or 0)
        return self.out.object("K", (*whole[:first], *whole[stop:]))

    def _For(self, stmt: For) -> None:
        self._loop_of_warpgroup(stmt, super()._For)

    def _While(self, stmt: While) -> None:
        self._loop_of_warpgroup(stmt, super()._While)

    def _loop_of_warpgroup(self, stmt: Loop, executed: Callable[[Any], None]) -> None:
        """Translate a loop that one warp of a warpgroup may execute for others.

        executed: translates it.
        """
        outside = self.storage.places
        moved = [outside[buffer] for buffer in moved_scalars(stmt, self.needed) if buffer in outside]
        led = stmt in self.cut.led.loops
        if not (led or stmt in self._alike) or any(place.kind != "scalar" for place in moved):
            executed(stmt)
            return
        if not led:
            self.represented += 1
            _represent(self.out, moved, self.represented, lambda: executed(stmt))
            return

        def execute() -> None:
            self.leading = True
            executed(stmt)
            self.leading = False

        lead(self.out, moved, (), execute)

    def _condition(self, stmt: While) -> Expr:
        if stmt not in self.cut.tiles:
            return stmt.cond
        assert isinstance(stmt.cond, Binary)
        return replace(stmt.cond, b=const(self.cut.tiles[stmt], stmt.cond.b.dtype))

    def stmt(self, stmt: Stmt | None) -> None:
        if stmt is not None and self._is_repeated(stmt):
            self._repeat([stmt])
        else:
            super().stmt(stmt)

    def _sequence(self, stmts: list[Stmt]) -> None:
        for repeated, group in groupby(stmts, self._is_repeated):
            if repeated:
                self._repeat(list(group))
            else:
                super()._sequence(list(group))

    def _is_repeated(self, stmt: Stmt) -> bool:
        return self.leading and not self.each and self.cut.led.for_each_warp(stmt)

    def _repeat(self, stmts: list[Stmt]) -> None:
        """Emit statements that the first warp executes once for each warp of its warpgroup."""
        self.each = self.out.fresh("own")
        with self.out.block(f"for {self.each} in w.gpu.leaders.each(w):"):
            super()._sequence(stmts)
        self.each = ""

    def _Evaluate(self, stmt: Evaluate) -> None:
        data = stored_data(stmt.call)
        if data:
            with self.out.dropped():
                for value in stmt.call.args:
                    if id(value) in data:
                        self.expressions.value(value)
            args = tuple(const(0, each.dtype) if id(each) in data else each for each in stmt.call.args)
            stmt = replace(stmt, call=replace(stmt.call, args=args))
        if not self.leading or not joins_warpgroup(stmt.call):
            super()._Evaluate(stmt)
            return
        with self.out.dropped():
            super()._Evaluate(stmt)
        self.out.settle()
        self.out.line("yield from w.gpu.leaders.sync(w)")

    def _Bind(self, stmt: Bind) -> None:
        if self.needed.has(stmt.var) or is_kept(stmt.value):
            super()._Bind(stmt)
            return
        with self.out.dropped():
            super()._Bind(stmt)
        self._loads(stmt.value, stmt.span)

    def _BufferStore(self, stmt: BufferStore) -> None:
        if stmt in self.cut.skips:
            assert isinstance(stmt.value, Binary)
            by = const(self.cut.skips[stmt], stmt.value.b.dtype)
            stmt = replace(stmt, value=replace(stmt.value, b=by))
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
        """Emit the timing of the memory loads in an unneeded value."""
        for node in walk(expr):
            if isinstance(node, BufferLoad) and node.buffer.scope != "local":
                self._passes(node.buffer, node.indices[0], span, write=False)

    def _passes(self, buffer: Buffer, index: Expr, span: Span | None, write: bool) -> None:
        """Emit an access without a value: its location is a uniform start plus a static pattern."""
        lanes, base = (index.lanes, index.base) if isinstance(index, Ramp) else (1, index)
        with self.out.free():
            uniform, pattern, rest = self.expressions.split(base)
            shape = "None" if pattern is None else self._pattern(pattern)
        self.out.at(span)
        name, start = self.storage.name(buffer), uniform.code if uniform is not None else "0"
        if rest is None:
            self.out.line(f"w.passes({name}, {start}, {shape}, {lanes}, {write})")
            return
        terms = [start, rest.code] if pattern is None else [start, rest.code, shape]
        self.out.line(f"w.passes_at({name}, {' + '.join(terms)}, {lanes}, {write})")

    def _pattern(self, pattern: Value) -> str:
        """Return the name of a static pattern, of the executing warp or of the warp that it represents."""
        if not self.each:
            return self.expressions.ready(pattern).code
        table = self.expressions.table(pattern)
        name = self.out.object("P", list(table), ("all", pattern.code, self.expressions.iterations))
        return f"{name}[{self.each}]"


def _represent(out: Writer, moved: Sequence[Place], number: int, execute: Callable[[], None]) -> None:
    """Emit a loop that one of the last three warps of a warpgroup may execute for others. execute: translates it.

    moved: the scalars that it changes. number: of the loop.
    """
    names = "".join(f"{place.name}, " for place in moved)
    state = out.fresh("state")
    out.settle()
    join, passes = f"(yield from w.gpu.representatives.join(w, {number}))", "w.gpu.representatives.passes(w)"
    out.line(f"{state} = {join} if wid % {WARPGROUP_WARPS} else {passes}")
    with out.block(f"if {state} is None:"):
        execute()
        out.settle()
        with out.block(f"if wid % {WARPGROUP_WARPS}:"):
            out.line(f"w.gpu.representatives.leave(w, ({names}))")
    if names:
        with out.block("else:"):
            out.line(f"({names}) = {state}")
