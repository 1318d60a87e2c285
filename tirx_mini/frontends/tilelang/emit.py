"""The LowerTiles pass: lower parallel loops and tile operations to per-thread code."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace

from tirx_mini.ir import (
    PARALLEL,
    SERIAL,
    UNROLLED,
    VECTORIZED,
    AddressOf,
    AllocBuffer,
    Analyzer,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Evaluate,
    Expr,
    For,
    Hint,
    If,
    Mutator,
    PrimFunc,
    Region,
    Seq,
    Span,
    Stmt,
    TileCall,
    TirxError,
    as_expr,
    binary,
    seq,
    substitute,
    unary,
    walk,
)
from tirx_mini.isa import NAMES, Instruction, instruction_of

from .infer import nest_layout, ranges_of, with_loop, with_team
from .language.hints import LAYOUT_HINT, SWIZZLE_HINT
from .language.memory import FRAGMENT
from .layouts import REGISTER, THREAD, Digit, Fragment
from .loops import Elsewhere, lower_nest, stores_all
from .nest import Nest, lanes_of, loop_vars, nest_of
from .place import Place, Rule
from .raster import RANGES
from .rules import REDUCE, SCAN, combine, result_layout
from .teams import Team, team_of_hint, whole
from .tma import async_operands


def lower_tiles(func: PrimFunc, arch: str, rules: Mapping[str, Rule]) -> PrimFunc:
    """Lower a function to per-thread code: fragments become thread-local arrays, and no tile operation remains."""
    team = whole(func)
    fragments = {node.buffer: node.buffer.layout for node in func.nodes if isinstance(node, AllocBuffer)}
    known = {buffer: layout for buffer, layout in fragments.items() if isinstance(layout, Fragment)}
    place = Place(arch, team, Analyzer(ranges_of(func)), known)
    return func.with_body(_Lower(place, rules, async_operands(func, arch)).stmt(func.body))


class _Lower(Mutator):
    """Lowers statements.

    shown: the shared buffers that the async proxy reads: after stores, a thread executes the fence that shows them.
    """

    def __init__(self, place: Place, rules: Mapping[str, Rule], shown: Set[Buffer]) -> None:
        self.place, self.rules, self.shown = place, rules, shown
        self.fenced = False  # whether a fence follows the statements around

    def stmt(self, node: Stmt) -> Stmt:
        nest = nest_of(node, self.place.analyzer)
        if nest is None:
            if self.fenced or not self.shown or not all(map(_is_of_one_thread, walk(node))):
                return super().stmt(node)
            self.fenced = True
            made = super().stmt(node)
            self.fenced = False
            return self._after(made, node.span) if any(map(self._shows, walk(node))) else made
        layout = nest_layout(nest, self.place.fragments, self.place.team, self.place.analyzer)
        return self._fenced(nest, self._exchanged(nest, layout))

    def _exchanged(self, nest: Nest, layout: Fragment) -> Stmt:
        """Lower parallel loops, exchanging fragments through shared memory if other threads need them."""
        try:
            return self._shared(nest, layout)
        except Elsewhere as conflict:
            buffer = conflict.buffer
            if self.place.fragment(buffer).partial:
                raise
        scratch = Buffer(f"{buffer.name}_exchange", buffer.shape, buffer.dtype, "shared", span=nest.span)
        inner = replace(nest, body=substitute(nest.body, {}, {buffer: scratch}))
        reads, writes = (any(isinstance(a, kind) and a.buffer is buffer for a in nest.accesses())
                         for kind in (BufferLoad, BufferStore))  # fmt: skip
        filled = self._whole(buffer, scratch, buffer, nest) if reads or not stores_all(nest, buffer) else None
        back = self._whole(scratch, buffer, buffer, nest) if writes else None
        return seq(AllocBuffer(scratch), filled, self._exchanged(inner, layout), back, span=nest.span)

    def _whole(self, source: Buffer, target: Buffer, fragment: Buffer, nest: Nest) -> Stmt:
        """Copy a whole fragment to or from shared memory with the threads that hold it."""
        names = loop_vars(fragment.ndim)
        load = BufferLoad(source.dtype, source, names, span=nest.span)
        body = BufferStore(target, names, load, span=nest.span)
        held = self.place.fragment(fragment)
        return self._shared(Nest(names, tuple(map(int, fragment.shape)), body, nest.span), held)

    def _shared(self, nest: Nest, layout: Fragment) -> Stmt:
        """Lower parallel loops for the threads over which their layout distributes them."""
        team, owners = self.place.team, Team(layout.first, layout.threads, -1)
        if (owners.first, owners.count) == (team.first, team.count):
            return lower_nest(nest, layout, self.place)
        apart = [digit for digit in layout.of(THREAD) if digit.dim is not None]
        if owners.count > team.count and any(digit.stride * digit.extent > team.count for digit in apart):
            raise TirxError(
                f"the fragments of this loop are spread over {owners.count} threads, but {team.count} execute it",
                nest.span,
                "use them where all of these threads do, or go through shared memory",
            )
        if owners.count >= team.count:
            return lower_nest(nest, layout, self.place)
        inner = self.place.at(team=owners, analyzer=with_team(self.place.analyzer, owners))
        return If(_in_team(owners, team), lower_nest(nest, layout, inner), span=nest.span)

    def _shown(self, call: TileCall, made: Stmt) -> Stmt:
        """Append a proxy fence to a scan if it writes a buffer that the async proxy reads."""
        target = call.operands[1] if call.op == SCAN else None
        written = isinstance(target, Region) and target.buffer.root in self.shown
        return self._after(made, call.span) if written else made

    def _fenced(self, nest: Nest, made: Stmt) -> Stmt:
        """Append a proxy fence to parallel loops if they write a buffer that the async proxy reads (PTX ISA: membar).
        """
        return self._after(made, nest.span) if any(map(self._shows, walk(nest.body))) else made

    def _shows(self, node: Stmt | Expr) -> bool:
        """Return whether a store, an atomic operation or the end of cp.async writes what the async proxy reads."""
        if isinstance(node, BufferStore):
            return node.buffer.root in self.shown
        entry = instruction_of(node) if isinstance(node, Call) else None
        if entry is None or not isinstance(node, Call):
            return False
        if entry.is_atomic:
            return any(isinstance(part, AddressOf) and part.buffer.root in self.shown for part in node.args)
        return _ends_copies(entry)

    def _after(self, made: Stmt, span: Span | None) -> Stmt:
        return seq(made, Evaluate(NAMES["ptx.fence.proxy_async"].call("shared::cta", span=span), span=span))

    def _within(self, team: Team | None, analyzer: Analyzer | None, body: Stmt) -> Stmt:
        """Lower `body` for another team or with other variable ranges."""
        before = self.place
        ranges = analyzer or before.analyzer
        self.place = before.at(team=team or before.team, analyzer=with_team(ranges, team) if team else ranges)
        made = self.stmt(body)
        self.place = before
        return made

    def visit_TileCall(self, node: TileCall) -> Stmt:
        rule = self.rules.get(node.op)
        if node.op == REDUCE and (layout := result_layout(node, self.place)) is not None:
            return self._reduced_elsewhere(node, layout)
        if rule is not None:
            return self._shown(node, rule.lower(node, self.place))
        if node.op.startswith("tl."):
            raise TirxError(f"T.{node.op.removeprefix('tl.')} is not provided for these operands", node.span)
        return node

    def _reduced_elsewhere(self, call: TileCall, layout: Fragment) -> Stmt:
        """Reduce into a temporary fragment, then copy the results to the target with a parallel loop."""
        target = call.operands[1]
        assert isinstance(target, Region)
        own = Buffer(f"{target.buffer.name}_result", target.buffer.shape, target.dtype, FRAGMENT, span=call.span)
        place = self.place
        self.place = place.at(fragments={**place.fragments, own: layout})
        options = tuple((name, True if name == "clear" else value) for name, value in call.options)
        made = self.stmt(replace(call, operands=(call.operands[0], own.region(), *call.operands[2:]), options=options))
        names = loop_vars(own.ndim)
        value: Expr = BufferLoad(own.dtype, own, names, span=call.span)
        if not call.option("clear"):
            value = combine(call, BufferLoad(target.dtype, target.buffer, names, span=call.span), value)
        body = BufferStore(target.buffer, names, value, span=call.span)
        nest = Nest(names, tuple(map(int, own.shape)), body, call.span)
        moved = self._exchanged(nest, place.fragment(target.buffer))
        array = AllocBuffer(self.place.registers(own))
        self.place = place
        return seq(array, made, moved, span=call.span)

    def visit_Hint(self, node: Hint) -> Stmt:
        if node.message in (LAYOUT_HINT, SWIZZLE_HINT, RANGES):
            return Seq((), span=node.span)
        if node.body is None:
            return node
        team = team_of_hint(node, self.place.team)
        body = self._within(team, None, node.body)
        if not node.message.startswith("tl."):
            return replace(node, body=body)
        if team is self.place.team:
            return body
        return If(_in_team(team, self.place.team), body, span=node.span)

    def visit_If(self, node: If) -> Stmt:
        cond = self.expr(node.cond)
        then = self._within(self._taken(node.cond), None, node.then)
        others = self._taken(unary("not", node.cond))
        orelse = None if node.orelse is None else self._within(others, None, node.orelse)
        return If(cond, then, orelse, span=node.span)

    def _taken(self, condition: Expr) -> Team | None:
        """Return the threads that take a branch on the thread index, or None if all may take it."""
        part = self.place.team.part(condition)
        return None if part is None or part.count == 0 else part

    def visit_For(self, node: For) -> Stmt:
        if node.kind == VECTORIZED:
            return self._vectorised(node)
        start, stop = self.expr(node.start), self.expr(node.stop)
        body = self._within(None, with_loop(self.place.analyzer, node), node.body)
        return replace(node, start=start, stop=stop, body=body)

    def _vectorised(self, node: For) -> Stmt:
        """Lower a vectorised loop of one thread, with vector accesses where possible."""
        extent = self.place.analyzer.bounds(node.stop)
        if extent is None or extent[0] != extent[1]:
            return self.visit_For(replace(node, kind=SERIAL))
        nest = Nest((node.var,), (extent[1],), node.body, node.span)
        lanes = lanes_of(nest, self.place.analyzer.bind(node.var, 0, extent[1] - 1), 1)
        digits = [Digit(0, lanes, 1, REGISTER, 1), Digit(0, extent[1] // lanes, lanes, REGISTER, lanes)]
        layout = Fragment((extent[1],), tuple(digit for digit in digits if digit.extent > 1), 1)
        if any(isinstance(part, (TileCall, Hint)) for part in walk(node.body)):
            return self.visit_For(replace(node, kind=UNROLLED))
        return self._fenced(nest, lower_nest(nest, layout, self.place))

    def visit_AllocBuffer(self, node: AllocBuffer) -> Stmt:
        if node.buffer.scope != FRAGMENT:
            return node
        if node.buffer not in self.place.fragments:  # nothing uses it
            return Seq((), span=node.span)
        return AllocBuffer(self.place.registers(node.buffer), span=node.span)

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        if node.buffer.scope != FRAGMENT:
            return self.rebuild(node)
        return replace(node, buffer=self.place.registers(node.buffer), indices=(self._register(node),))

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        if node.buffer.scope != FRAGMENT:
            return self.rebuild(node)
        array, index = self.place.registers(node.buffer), self._register(node)
        return replace(node, buffer=array, indices=(index,), value=self.expr(node.value))

    def _register(self, node: BufferLoad | BufferStore) -> Expr:
        """Return the register of a fragment element that each thread indexes for itself."""
        layout = self.place.fragment(node.buffer)
        for digit in layout.digits:
            if digit.dim is not None and digit.place != REGISTER and not layout.pinned:
                raise TirxError(
                    f"{node.buffer.name} is spread over the threads, so a single thread cannot index it",
                    node.span,
                    "index fragments with the variables of T.Parallel",
                )
        indices = [self.expr(index) for index in node.indices]
        return self.place.analyzer.simplify(as_expr(layout.register(indices)))


def _is_of_one_thread(node: Stmt | Expr) -> bool:
    """Return whether a thread executes a node for itself: neither a tile operation nor one that threads meet at."""
    if isinstance(node, (TileCall, Hint)) or (isinstance(node, For) and node.kind == PARALLEL):
        return False
    entry = instruction_of(node) if isinstance(node, Call) else None
    return entry is None or entry.is_atomic or _ends_copies(entry) or (entry.pure and entry.lanewise)


def _ends_copies(entry: Instruction) -> bool:
    """Return whether a thread waits for its own copies by cp.async."""
    return entry.awaits == "cp.async-group"


def _in_team(team: Team, around: Team) -> Expr:
    """Return the condition that a thread of the enclosing team belongs to a team."""
    number = Team(0, 0).thread
    last = team.first + team.count
    if team.first == around.first:
        return number < last
    if last == around.first + around.count:
        return number >= team.first
    return binary("and", number >= team.first, number < last)
