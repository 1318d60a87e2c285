"""Translation of lowered statements to Python source, with lane masks where a warp's lanes diverge.

Under a varying condition the warp's mask is narrowed, the arm executed, and the mask restored. A loop that lanes may
leave individually is *ragged*: `live` holds the lanes still in it, `gone` those that left the current iteration, and
code after a possible exit runs only if some lanes remain.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from tirx_mini.ir import (
    OVERLAPPED,
    AllocBuffer,
    Bind,
    Break,
    Buffer,
    BufferStore,
    Call,
    Continue,
    DeclBuffer,
    Evaluate,
    Expr,
    For,
    Hint,
    If,
    PrimFunc,
    Ramp,
    Seq,
    Stmt,
    TirxError,
    While,
    leaves,
)  # fmt: skip
from tirx_mini.records import dataclass, replace

from ..machine import UniformArray, numpy_dtype
from .addresses import address_values
from .calls import Calls
from .course import Course
from .divergent import diverge, is_elect, length_of_run
from .expressions import Expressions
from .iterations import Iterations
from .leaving import counts, spins, steady
from .memoised import as_series
from .moves import copied, stored
from .parallel import together
from .progress import loop_state
from .sameness import Samenesses
from .storage import Place, Storage
from .uniformity import Uniformity
from .values import Value, integer_range
from .writer import Writer


@dataclass
class Loop:
    """A loop under translation. For a ragged loop: the locals that hold its masks."""

    stmt: For | While
    live: str = ""
    gone: str = ""
    left: str = ""


class Statements:
    """The translator of a function body."""

    def __init__(self, func: PrimFunc, facts: Uniformity, same: Samenesses, writer: Writer) -> None:
        self.func = func
        self.facts = facts
        self.same = same
        self.out = writer
        assert func.launch is not None
        self.storage = Storage(writer)
        self.calls = Calls(writer, func.tensor_maps)
        self.expressions = Expressions(writer, func.launch, self.storage, self.calls, address_values(func))
        self.storage.expressions = self.calls.expressions = self.expressions
        self.iterations = Iterations(writer)
        self.loops: list[Loop] = []
        self.regions = 0
        self.course = Course(writer)
        self.data = True
        self.represented = 0  # loops so far in which warps may stand in for others
        self.bursts = False
        """Whether memoised tcgen05 MMAs are issued at once (`series`)."""

    def stmt(self, stmt: Stmt | None) -> None:
        if stmt is None:
            return
        method: Callable[[Any], None] | None = getattr(self, f"_{type(stmt).__name__}", None)
        if method is None:
            raise TirxError(f"the simulator cannot execute a {type(stmt).__name__}; was the kernel lowered?", stmt.span)
        try:
            method(stmt)
        except TirxError as error:
            raise error.at(stmt.span) from None

    def close(self) -> None:
        """Break the reference cycles between the translators."""
        del self.storage.expressions, self.calls.expressions

    # -- blocks --------------------------------------------------------------------------------------------------

    def _Seq(self, stmt: Seq) -> None:
        self._sequence(list(stmt.stmts))

    def _sequence(self, stmts: list[Stmt]) -> None:
        position = 0
        while position < len(stmts):
            run = length_of_run(stmts[position:], self.facts)
            if run:
                diverge(self, stmts[position : position + run])
                position += run
                continue
            stmt = stmts[position]
            self.stmt(stmt)
            position += 1
            rest = stmts[position:]
            if rest and self._may_lose_lanes(stmt):
                with self.out.block("if w.mask:"):
                    self._sequence(rest)
                return

    def _may_lose_lanes(self, stmt: Stmt) -> bool:
        """Return whether lanes may leave the current iteration of the innermost loop inside `stmt`."""
        return bool(self.loops) and bool(self.loops[-1].live) and any(leaves(stmt))

    def _Hint(self, stmt: Hint) -> None:
        if stmt.message == OVERLAPPED:
            self.out.settle()
            self.out.line(f"w.overlap({dict(stmt.attrs)['begin']!r})")
        self.stmt(stmt.body)

    def _Bind(self, stmt: Bind) -> None:
        value = self.expressions.part(stmt.value, stmt.var)
        if value.static:
            self.expressions.vars[stmt.var] = self.expressions.brief(value)
            return
        value = self.expressions.ready(value)
        self.out.at(stmt.value.span or stmt.span)
        name = self.out.fresh(stmt.var.name)
        self.out.line(f"{name} = {value.code}{'.copy()' if value.view else ''}")
        self.expressions.vars[stmt.var] = replace(value, code=name, static=False, view=False)

    def _AllocBuffer(self, stmt: AllocBuffer) -> None:
        buffer = stmt.buffer
        if buffer in self.storage.places:
            return
        if buffer.scope != "local":
            raise TirxError(f"{buffer.name} ({buffer.scope} memory) has no place; was the kernel lowered?", stmt.span)
        name = self.out.fresh(buffer.name)
        self.storage.places[buffer] = self._register_place(buffer, name)

    def _register_place(self, buffer: Buffer, name: str) -> Place:
        """Declare a local buffer in the cheapest form that its uses allow."""
        facts, dtype = self.facts, buffer.dtype
        low, high = integer_range(dtype) if dtype.is_integer or dtype.is_bool else (0, 0)
        span = self.out.object("S", buffer.span)
        kind = self.out.object("T", numpy_dtype(dtype).type, str(dtype))
        if buffer in facts.lanes:
            if buffer.size == 1 and buffer in facts.assigned_first and buffer not in facts.addressed:
                self.out.line(f"{name} = zeros(32, {self._wide(buffer)})")
                return Place("lanes", name, low, high)
            self.out.line(f"{name} = w.registers({buffer.name!r}, {buffer.size}, {kind}, {span})")
            return Place("array", name, low, high)
        if buffer.size == 1 and buffer in facts.assigned_first:
            self.out.line(f"{name} = None")  # a loop may copy it before its first assignment
            return Place("scalar", name, *facts.ranges.get(buffer, (low, high)))
        maker = self.out.object("UniformArray", UniformArray)
        self.out.line(f"{name} = {maker}({buffer.name!r}, {buffer.size}, {span})")
        return Place("list", name, low, high)

    def _wide(self, buffer: Buffer) -> str:
        """Return the array type for arithmetic on the buffer's values."""
        dtype = buffer.dtype
        if dtype.is_integer:
            return "uint64" if dtype == "uint64" else "int64"
        return self.out.object("T", numpy_dtype(dtype).type, str(dtype))

    def _DeclBuffer(self, stmt: DeclBuffer) -> None:
        """Declare a view as an alias of its source; tensor memory is accessed by address only."""
        source = stmt.buffer.source
        if stmt.buffer not in self.storage.places and source is not None and source in self.storage.places:
            self.storage.places[stmt.buffer] = self.storage.places[source]

    # -- stores --------------------------------------------------------------------------------------------------

    def _BufferStore(self, stmt: BufferStore) -> None:
        place, index = self.storage.place(stmt.buffer), stmt.indices[0]
        lanes, base = (index.lanes, index.base) if isinstance(index, Ramp) else (1, index)
        self.out.spend(1)
        if place.kind in ("scalar", "lanes"):
            self._assign(stmt, place)
            return
        if place.kind == "list":
            value = self.expressions.value(stmt.value)
            at = self.expressions.value(base)
            self.out.at(stmt.span)
            self.out.line(f"{place.name}.store(w, {at.code}, {value.code})")
            return
        if place.kind == "memory":
            if not copied(self, stmt, base, lanes):
                stored(self, stmt, base, lanes)
            return
        value = self.expressions.raw(stmt.value)
        rows = self.storage.rows(base, lanes)
        self.out.at(stmt.span)
        if rows is not None:
            self.out.line(f"{place.name}.store_block(w, {rows.start}, {rows.steps}, {lanes}, {value.code})")
            return
        at = self.expressions.index(base)
        width = f", {lanes}" if lanes > 1 else ""
        self.out.line(f"{place.name}.store(w, {at.code}, {value.code}{width})")

    def _assign(self, stmt: BufferStore, place: Place) -> None:
        """Emit an assignment to a mutable scalar."""
        value = self.expressions.ready(self.expressions.part(stmt.value, stmt.buffer))
        self.out.at(stmt.span)
        if place.kind == "scalar":
            assert not value.lanes, f"{stmt.buffer.name} was taken to be uniform"
            self.out.line(f"{place.name} = {value.code}")
        elif self.regions:
            self.out.line(f"{place.name} = merge(w.mask, {value.code}, {place.name})")
        elif value.lanes:
            self.out.line(f"{place.name} = {value.code}{'.copy()' if value.view else ''}")
        else:
            self.out.line(f"{place.name} = spread({value.code}, {self._wide(stmt.buffer)})")

    def _Evaluate(self, stmt: Evaluate) -> None:
        self.out.at(stmt.call.span or stmt.span)
        self.calls.statement(stmt.call)

    # -- branches ------------------------------------------------------------------------------------------------

    def _If(self, stmt: If) -> None:
        if length_of_run([stmt], self.facts):
            diverge(self, [stmt])
            return
        cond = self.expressions.build(stmt.cond) if not is_elect(stmt.cond) else None
        if cond is None or cond.lanes:
            self._masked_if(stmt, cond)
            return
        self.out.at(stmt.cond.span)
        self.out.spend(1)
        self.course.note(stmt, cond.code)
        with self.out.block(f"if {cond.code}:"):
            self.stmt(stmt.then)
        if stmt.orelse is not None:
            with self.out.block("else:"):
                self.stmt(stmt.orelse)

    def _masked_if(self, stmt: If, cond: Value | None) -> None:
        """Emit both arms under narrowed masks, one after the other."""
        outer, inner = self.out.fresh("outer"), self.out.fresh("inner")
        self.out.at(stmt.cond.span)
        self.out.settle()
        self.out.line(f"{outer} = w.mask")
        self.out.line(f"{inner} = {self.narrowed(outer, stmt.cond, cond)}")
        self.course.note(stmt, f"{inner}.word")
        with self._region(f"if {inner}:", inner):
            self.stmt(stmt.then)
        if stmt.orelse is not None:
            other = self.out.fresh("other")
            self.out.line(f"{other} = {outer}.minus({inner})")
            with self._region(f"if {other}:", other):
                self.stmt(stmt.orelse)
        self.out.line(f"w.select({self._remaining(outer, stmt)})")

    def narrowed(self, outer: str, expr: Expr, cond: Value | None) -> str:
        """Return the lanes of the mask `outer` in which a condition holds; `cond` is None for elect.sync."""
        if cond is None:
            assert isinstance(expr, Call)
            return self.calls.elected(expr)
        if cond.static:
            masks = self.expressions.static_masks(cond)
            name = self.out.per_warp("G", masks, (cond.code, 0))
            return f"{outer}.both({name})"
        return f"{outer}.where({cond.code})"

    def _remaining(self, outer: str, stmt: Stmt) -> str:
        """Return the mask after a region, without the lanes that left the loop's iteration inside it."""
        return f"{outer}.minus({self.loops[-1].gone})" if self._may_lose_lanes(stmt) else outer

    @contextmanager
    def _region(self, head: str, mask: str) -> Generator[None]:
        self.regions += 1
        with self.out.block(head):
            self.out.line(f"w.select({mask})")
            yield
        self.regions -= 1

    # -- loops ---------------------------------------------------------------------------------------------------

    def _For(self, stmt: For) -> None:
        if stmt.step == 0:
            raise TirxError("a loop with step 0 never ends", stmt.span)
        if stmt.parallel and together(self, stmt):
            return
        if stmt in self.facts.ragged:
            self._ragged_for(stmt)
            return
        if not as_series(self, stmt):
            self.plain_for(stmt)

    def plain_for(self, stmt: For) -> None:
        start, stop = self.expressions.value(stmt.start), self.expressions.value(stmt.stop)
        self.out.at(stmt.span)
        name = self._loop_var(stmt, start, stop)
        step = f", {stmt.step}" if stmt.step != 1 else ""
        first = "" if start.known == 0 and not step else f"{start.code}, "
        self.course.note(stmt, f"({start.code}, {stop.code})")
        each = self.iterations.begin(stmt, start, stop, early=any(leaves(stmt.body)))
        numbers = self._numbers(stmt, f"range({first}{stop.code}{step})")
        with self._loop(Loop(stmt), f"for {name} in {numbers}:"):
            self.out.spend(2)
            if each:
                self.iterations.one(stmt.body)
            self.stmt(stmt.body)

    def _numbers(self, stmt: For, numbers: str) -> str:
        """Return the text of the values of the loop variable. A shortened run overrides it."""
        return numbers

    def _condition(self, stmt: While) -> Expr:
        """Return the condition of a loop, which a shortened run replaces."""
        return stmt.cond

    def _loop_var(self, stmt: For, start: Value, stop: Value) -> str:
        name = self.out.fresh(stmt.var.name)
        low, high = (start.low, stop.high - 1) if stmt.step > 0 else (stop.low + 1, start.high)
        self.expressions.vars[stmt.var] = Value(name, stmt.var.dtype, False, low, max(low, high))
        return name

    @contextmanager
    def _loop(self, loop: Loop, head: str) -> Generator[None]:
        self.loops.append(loop)
        with self.out.block(head):
            yield
        self.loops.pop()

    def _While(self, stmt: While) -> None:
        (self._ragged_while if stmt in self.facts.ragged else self._plain_while)(stmt)
        if spins(stmt):
            self.out.line("w.gpu.stillness.moved()")

    def _plain_while(self, stmt: While) -> None:
        state = self._state(stmt)
        if state is not None:
            self.out.line(f"{state[0]} = None")
        with self._loop(Loop(stmt), "while True:"):
            self.out.at(stmt.cond.span or stmt.span)
            self.out.spend(2)
            cond = self.expressions.value(self._condition(stmt))
            self.out.settle()
            self.course.note(stmt, f"bool({cond.code})")
            self.out.line(f"if not {cond.code}: break")
            if state is not None:
                last, values, names = state
                self.out.line(f"if {last} == {values}: raise endless(w, {names!r})")
                self.out.line(f"{last} = {values}")
            self._count_iteration(stmt)
            self.stmt(stmt.body)

    def _state(self, stmt: While) -> tuple[str, str, tuple[str, ...]] | None:
        """Return the (local, tuple, names) of the state that must change for the loop to end, if known."""
        state = loop_state(stmt)
        if state is None or any(self.storage.place(buffer).kind != "scalar" for buffer in state):
            return None
        values = "".join(f"{self.storage.place(buffer).name}, " for buffer in state)
        return self.out.fresh("last"), f"({values})", tuple(buffer.name for buffer in state)

    def _count_iteration(self, stmt: While | For, *, parted: bool = False) -> None:
        if polls := spins(stmt):
            self.out.line("polls += 1")
            self.out.line("if polls > MAX_POLLS: raise runaway(w)")
            self.out.line(f"yield poll(w, {steady(stmt)})")
        cond = stmt.cond if isinstance(stmt, While) else None
        self.iterations.one(stmt.body, cond=cond, parted=parted, polls=polls and not counts(stmt))

    def _ragged_while(self, stmt: While) -> None:
        outer, loop = self._ragged_head(stmt)
        with self._loop(loop, "while True:"):
            self.out.line(f"w.select({loop.live})")
            self.out.at(stmt.cond.span or stmt.span)
            cond = self.expressions.value(self._condition(stmt))
            self.out.line(f"{loop.live} = {loop.live}.where({cond.code})")
            self.out.line(f"if not {loop.live}: break")
            self._count_iteration(stmt, parted=True)
            self._ragged_body(loop, stmt.body)
        self.out.line(f"w.select({outer})")

    def _ragged_for(self, stmt: For) -> None:
        start, stop = self.expressions.value(stmt.start), self.expressions.value(stmt.stop)
        outer, loop = self._ragged_head(stmt)
        if not (start.lanes or stop.lanes):
            name = self._loop_var(stmt, start, stop)
            numbers = self._numbers(stmt, f"range({start.code}, {stop.code}, {stmt.step})")
            with self._loop(loop, f"for {name} in {numbers}:"):
                self.iterations.one(stmt.body, parted=True)
                self._ragged_body(loop, stmt.body)
                self.out.line(f"if not {loop.live}: break")
        else:
            name, end = self.out.fresh(stmt.var.name), self.out.fresh("stop")
            self.out.line(f"{name}, {end} = spread({start.code}, int64), {stop.code}{'.copy()' if stop.view else ''}")
            self.expressions.vars[stmt.var] = Value(name, stmt.var.dtype, True, start.low, stop.high)
            with self._loop(loop, "while True:"):
                self.out.line(f"{loop.live} = {loop.live}.where({name} {'<' if stmt.step > 0 else '>'} {end})")
                self.out.line(f"if not {loop.live}: break")
                self.iterations.one(stmt.body, parted=True)
                self._ragged_body(loop, stmt.body)
                self.out.line(f"{name} = {name} + {stmt.step}")
        self.out.line(f"w.select({outer})")

    def _ragged_head(self, stmt: For | While) -> tuple[str, Loop]:
        *names, outer = map(self.out.fresh, ("live", "gone", "left", "outer"))
        loop = Loop(stmt, *names)
        self.out.settle()
        self.out.line(f"{outer} = {loop.live} = w.mask")
        return outer, loop

    def _ragged_body(self, loop: Loop, body: Stmt) -> None:
        self.out.line(f"w.select({loop.live})")
        self.out.line(f"{loop.gone} = {loop.left} = EMPTY")
        self.regions += 1
        self.stmt(body)
        self.regions -= 1
        self.out.settle()
        self.out.line(f"{loop.live} = {loop.live}.minus({loop.left})")

    def _Break(self, stmt: Break) -> None:
        self._leave(stmt, "break", for_good=True)

    def _Continue(self, stmt: Continue) -> None:
        self._leave(stmt, "continue", for_good=False)

    def _leave(self, stmt: Stmt, keyword: str, for_good: bool) -> None:
        if not self.loops:
            raise TirxError(f"`{keyword}` is outside of any loop", stmt.span)
        loop = self.loops[-1]
        self.out.settle()
        if not loop.live:
            self.out.line(keyword)
            return
        for name in (loop.gone, loop.left)[: 1 + for_good]:
            self.out.line(f"{name} = {name}.plus(w.mask)")
        self.out.line("w.select(EMPTY)")
