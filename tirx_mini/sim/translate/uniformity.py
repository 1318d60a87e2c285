"""Divergence analysis: the values that are uniform across a warp's lanes, and the branches that split a warp.

Three properties are computed together, by iteration to a fixed point:

- a variable is *varying* if its value may differ among the active lanes;
- a *region* is code that runs under a narrowed lane mask: the arms of an ``if`` over a varying condition, the body of
  a loop that lanes may leave at different times;
- a register buffer (a mutable scalar is one) needs *lanes*, one value a lane, unless every read sees one value in all
  lanes. An assignment inside a region reaches only the lanes of that region, so a read that it reaches must lie in the
  same region, and if both share a loop, the region must select the same lanes in every iteration.

Warps are distinguished as well: a condition over `warp_id_in_cta` alone decides which warps execute an arm, and values
of disjoint warps cannot reach one another (each warp has its own registers).
"""

from __future__ import annotations

from dataclasses import field

import numpy as np

from tirx_mini.ir import (
    AddressOf,
    Analyzer,
    Bind,
    Break,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Const,
    Continue,
    Evaluate,
    Expr,
    For,
    Hint,
    If,
    Launch,
    PrimFunc,
    Ramp,
    Seq,
    Special,
    Stmt,
    Str,
    Var,
    While,
    children,
)  # fmt: skip
from tirx_mini.isa import LaneResult, instruction_of
from tirx_mini.records import dataclass, replace

from .threads import selected
from .values import integer_range

LANE_SPECIALS = frozenset({"threadIdx.x"})

def call_varies(call: Call, operands_vary: bool) -> bool:
    """Return whether the result of an instruction may differ among the active lanes."""
    entry = instruction_of(call)
    return operands_vary or (entry is not None and entry.lanes is not LaneResult.AS_OPERANDS)


@dataclass(frozen=True, eq=False)
class Region:
    """Code under a narrowed mask. `invariant`: whether the mask is the same at each entry by this warp."""

    invariant: bool
    loops: tuple[Stmt, ...]


@dataclass(frozen=True)
class Place:
    """A program point: its order, its enclosing statements, and (one bit each) the warps that reach it.

    blocks: the enclosing arms of branches and bodies of loops, from the outside in.
    """

    order: int = 0
    regions: tuple[Region, ...] = ()
    loops: tuple[Stmt, ...] = ()
    warps: int = -1
    blocks: tuple[tuple[Stmt, str], ...] = ()

    def inside(self, stmt: Stmt, arm: str, **changes: object) -> Place:
        """Return the start of a block of `stmt`."""
        return replace(self, blocks=(*self.blocks, (stmt, arm)), **changes)

    def always_before(self, other: Place) -> bool:
        """Return whether every lane that reaches `other` has passed this point."""
        return self.order < other.order and other.blocks[: len(self.blocks)] == self.blocks


@dataclass
class Uniformity:
    """The result of the analysis.

    lanes: register buffers that need a value for each lane. ragged: loops whose iterations some lanes may leave before
    others. assigned_first: buffers of one element that are written on every path to a read. addressed: buffers whose
    address is passed to an instruction. ranges: bounds of the values assigned to a signed scalar.
    """

    launch: Launch
    lanes: set[Buffer] = field(default_factory=set[Buffer])
    varying_vars: set[Var] = field(default_factory=set[Var])
    unsteady_vars: set[Var] = field(default_factory=set[Var])
    ragged: set[Stmt] = field(default_factory=set[Stmt])
    assigned_first: set[Buffer] = field(default_factory=set[Buffer])
    addressed: set[Buffer] = field(default_factory=set[Buffer])
    ranges: dict[Buffer, tuple[int, int]] = field(default_factory=dict[Buffer, tuple[int, int]])

    @property
    def size(self) -> tuple[int, ...]:
        """The size of the analysis state, which grows monotonically."""
        return len(self.lanes), len(self.varying_vars), len(self.unsteady_vars), len(self.ragged)

    def varying(self, expr: Expr) -> bool:
        """Return whether the value may differ among the active lanes."""
        if isinstance(expr, Var):
            return expr in self.varying_vars
        if isinstance(expr, Special):
            return expr.name in LANE_SPECIALS
        if isinstance(expr, (Const, Str)):
            return False
        if isinstance(expr, Call):
            return call_varies(expr, any(self.varying(arg) for arg in expr.args))
        if isinstance(expr, BufferLoad) and expr.buffer in self.lanes:
            return True
        return any(self.varying(child) for child in children(expr) if isinstance(child, Expr))

    def steady(self, expr: Expr) -> bool:
        """Return whether a lane always computes the same value: no memory, mutable variable or loop variable."""
        if isinstance(expr, Var):
            return expr not in self.unsteady_vars
        if isinstance(expr, BufferLoad):
            return False
        if isinstance(expr, Call):
            entry = instruction_of(expr)
            return entry is not None and entry.elects and all(self.steady(arg) for arg in expr.args)
        return all(self.steady(child) for child in children(expr) if isinstance(child, Expr))


def analyse(func: PrimFunc) -> Uniformity:
    """Return the divergence of a lowered function."""
    assert func.launch is not None, "the function is not lowered"
    result = Uniformity(func.launch)
    while True:
        before = result.size
        walked = _Pass(result)
        walked.run(func.body)
        if result.size == before:
            walked.conclude()
            return result


@dataclass(frozen=True)
class _Access:
    place: Place
    fits_scalar: bool = True
    value: Expr | None = None


class _Pass:
    """One pass over the body under the current assumptions, which it weakens where they fail."""

    def __init__(self, result: Uniformity) -> None:
        self.result = result
        self.order = 0
        self.writes: dict[Buffer, list[_Access]] = {}
        self.reads: dict[Buffer, list[_Access]] = {}
        self.analyzer = Analyzer({"threadIdx.x": (0, result.launch.threads - 1)})

    def run(self, body: Stmt) -> None:
        self._stmt(body, Place(warps=(1 << self.result.launch.warps) - 1))
        for buffer in {*self.writes, *self.reads}:
            if buffer not in self.result.lanes and not self._one_value(buffer):
                self.result.lanes.add(buffer)

    def conclude(self) -> None:
        """Derive the final results from the assumptions."""
        for buffer, writes in self.writes.items():
            reads = self.reads.get(buffer, [])
            if all(any(w.place.always_before(r.place) for w in writes) for r in reads):
                self.result.assigned_first.add(buffer)
            bounds = [self.analyzer.bounds(w.value) if w.value is not None else None for w in writes]
            if buffer.dtype.is_signed and None not in bounds:
                low, high = min(b[0] for b in bounds if b), max(b[1] for b in bounds if b)
                least, most = integer_range(buffer.dtype)
                if least <= low and high <= most:
                    self.result.ranges[buffer] = (low, high)

    def _one_value(self, buffer: Buffer) -> bool:
        """Return whether all lanes of each read observe one value, whichever write it comes from."""
        writes, reads = self.writes.get(buffer, []), self.reads.get(buffer, [])
        return all(access.fits_scalar for access in (*writes, *reads)) and all(
            _sees(write.place, read.place) for write in writes for read in reads
        )

    # -- statements ---------------------------------------------------------------------------------------------

    def _stmt(self, stmt: Stmt | None, at: Place) -> None:
        if stmt is None:
            return
        if isinstance(stmt, Seq):
            for child in stmt.stmts:
                self._stmt(child, at)
            return
        self.order += 1
        at = replace(at, order=self.order)
        if isinstance(stmt, Bind):
            self._bind(stmt, at)
        elif isinstance(stmt, BufferStore):
            self._store(stmt, at)
        elif isinstance(stmt, Evaluate):
            self._expr(stmt.call, at)
        elif isinstance(stmt, If):
            self._if(stmt, at)
        elif isinstance(stmt, (For, While)):
            self._loop(stmt, at)
        elif isinstance(stmt, (Break, Continue)):
            self._leave(at)
        elif isinstance(stmt, Hint):
            self._stmt(stmt.body, at)

    def _bind(self, stmt: Bind, at: Place) -> None:
        self._expr(stmt.value, at)
        self._know(stmt.var, stmt.value)
        if self.result.varying(stmt.value):
            self.result.varying_vars.add(stmt.var)
        if not self.result.steady(stmt.value):
            self.result.unsteady_vars.add(stmt.var)

    def _know(self, var: Var, value: Expr) -> None:
        bounds = self.analyzer.bounds(value)
        if bounds is not None:
            self.analyzer = self.analyzer.bind(var, *bounds)

    def _store(self, stmt: BufferStore, at: Place) -> None:
        for expr in (*stmt.indices, stmt.value):
            self._expr(expr, at)
        if stmt.buffer.scope == "local":
            varying = any(self.result.varying(expr) for expr in (*stmt.indices, stmt.value))
            vector = any(isinstance(index, Ramp) for index in stmt.indices)
            self.writes.setdefault(stmt.buffer, []).append(_Access(at, not varying and not vector, stmt.value))

    def _if(self, stmt: If, at: Place) -> None:
        self._expr(stmt.cond, at)
        then, orelse = warps_of(stmt.cond, at.warps)
        varying, steady = self.result.varying(stmt.cond), self.result.steady(stmt.cond)
        for name, arm, warps in (("then", stmt.then, then), ("else", stmt.orelse, orelse)):
            regions = (*at.regions, Region(steady, at.loops)) if varying else at.regions
            self._stmt(arm, at.inside(stmt, name, warps=warps, regions=regions))

    def _loop(self, stmt: For | While, at: Place) -> None:
        loops = (*at.loops, stmt)
        if isinstance(stmt, For):
            bounds = (stmt.start, stmt.stop)
            self._loop_range(stmt)
        else:
            bounds = (stmt.cond,)
        for expr in bounds:
            self._expr(expr, at if isinstance(stmt, For) else replace(at, loops=loops))
        if any(self.result.varying(expr) for expr in bounds):
            self.result.ragged.add(stmt)
            if isinstance(stmt, For):
                self.result.varying_vars.add(stmt.var)
        regions = (*at.regions, Region(False, loops)) if stmt in self.result.ragged else at.regions
        self._stmt(stmt.body, at.inside(stmt, "body", regions=regions, loops=loops))

    def _loop_range(self, stmt: For) -> None:
        self.result.unsteady_vars.add(stmt.var)
        if stmt.parallel:
            self.result.varying_vars.add(stmt.var)  # its iterations are executed side by side, as an array
        start, stop = self.analyzer.bounds(stmt.start), self.analyzer.bounds(stmt.stop)
        if start and stop:
            ends = (start[0], stop[1] - 1) if stmt.step > 0 else (stop[0] + 1, start[1])
            self.analyzer = self.analyzer.bind(stmt.var, min(ends), max(ends))

    def _leave(self, at: Place) -> None:
        """Mark the innermost loop as ragged if a break or continue is under a mask narrowed inside the loop."""
        if at.loops and any(at.loops[-1] in region.loops for region in at.regions):
            self.result.ragged.add(at.loops[-1])

    # -- expressions --------------------------------------------------------------------------------------------

    def _expr(self, expr: Expr, at: Place) -> None:
        stack = [expr]
        while stack:
            top = stack.pop()
            if isinstance(top, (BufferLoad, AddressOf)) and top.buffer.scope == "local":
                if isinstance(top, AddressOf):
                    self.result.addressed.add(top.buffer)
                one = isinstance(top, BufferLoad) and not any(
                    isinstance(i, Ramp) or self.result.varying(i) for i in top.indices
                )
                self.reads.setdefault(top.buffer, []).append(_Access(at, one))
            stack.extend(child for child in children(top) if isinstance(child, Expr))


def _sees(write: Place, read: Place) -> bool:
    """Return whether every lane at `read` has executed the latest write at `write`, or none has."""
    shared = [loop for loop in write.loops if loop in read.loops]
    if not write.warps & read.warps or (write.order > read.order and not shared):
        return True
    if read.regions[: len(write.regions)] != write.regions:
        return False
    return all(region.invariant for region in write.regions if any(loop in region.loops for loop in shared))


def warps_of(cond: Expr, warps: int) -> tuple[int, int]:
    """Split `warps` (one bit each) into those where `cond` may hold for some lane and those where it may fail."""
    holds, fails = selected(cond, warps.bit_length())
    return _bits(holds) & warps, _bits(fails) & warps


def _bits(threads: np.ndarray) -> int:
    return sum(1 << warp for warp, some in enumerate(map(any, threads.tolist())) if some)
