"""The issue order of MMAs in the MMA agent, a part of tileas-materialize-schedule.

In the order of the program, an iteration of attention is S = Q Kᵀ, then O += P V, and the tensor core is idle while
threads compute P from S. So the loop is turned: before the product that waits for threads, the agent issues the first
product of the next iteration. And where each warpgroup has rows of its own, with barriers of their own (parts of
pipelines), it issues the MMAs of one part after those of the other:

    S of n + 1, rows of warpgroup 0
    P V of n,   rows of warpgroup 0
    S of n + 1, rows of warpgroup 1
    P V of n,   rows of warpgroup 1

While warpgroup 0 computes from its scores, the tensor core multiplies for warpgroup 1. Where P takes the place of S,
P V of an iteration comes first, and S of the next one waits until it is complete. A stage that all parts read is
waited for by the first, and released after the last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tirx_mini.records import dataclass

from ..nv_tileaa import standard as std
from ..ssa import KEEP, Op, Region, Rewriter, Value
from . import ops
from . import pipeline_ops as pipe
from .operands import definitions, runs
from .pipeline_types import ITERATOR, MMA, STAGE, THREADS, Pipeline

_ONCE = (pipe.create_iterator, pipe.inc_iter, pipe.consumer_release, pipe.producer_commit)
"""What is done once for all parts, unless the pipeline has barriers for each."""


def in_order(region: Region, around: Region) -> Region:
    """Return the program of the MMA agent with rotated loops and MMAs issued part by part.

    around: the body of the function.
    """
    defs = {**definitions(around), **definitions(region)}
    return _Ordered(region, defs).region(region, region.params)


@dataclass(frozen=True, eq=False)
class _Halves:
    """A loop split into the operations of products that wait for no thread, and all other operations.

    early: the iterators, by their place among the carried values, that belong to the first.
    frees: whether the second releases storage that the next iteration's first overwrites, so that it must come before.
    """

    first: Sequence[Op]
    second: Sequence[Op]
    early: frozenset[int]
    frees: bool


class _Ordered(Rewriter):
    def __init__(self, region: Region, defs: Mapping[Value, Op]) -> None:
        super().__init__({std.for_: self._loop})
        self.defs = defs
        kinds = (v.type for v in (op.pipeline for op in region.walk() if op.kind is pipe.create_iterator))
        self.parts = max((kind.parts for kind in kinds if isinstance(kind, Pipeline)), default=1)

    def region(self, region: Region, params: Sequence[Value] | None = None) -> Region:
        new = tuple(params) if params is not None else tuple(Value(p.type, p.hint) for p in region.params)
        self.bind(region.params, new)
        outer, self.ops = self.ops, []
        self._block(region.ops)
        made, self.ops = self.ops, outer
        return Region(new, tuple(made))

    def _block(self, block: Sequence[Op]) -> None:
        """Emit the operations of a block, with runs between control flow emitted part by part."""
        if self.parts == 1:
            for op in block:
                self.op(op)
            return
        run: list[Op] = []
        for op in block:
            moved = {value for other in run if other.kind is pipe.inc_iter for value in other.results}
            if op.regions or op.kind.terminator or moved & set(op.operands):
                self._all_parts(run)
                run = []
            if op.regions or op.kind.terminator:
                self.op(op)
            else:
                run.append(op)
        self._all_parts(run)

    def _all_parts(self, run: Sequence[Op]) -> None:
        for part in range(self.parts):
            self._part(run, part)

    def _part(self, run: Sequence[Op], part: int) -> None:
        """Emit operations for one part; operations shared by all parts are emitted with the last."""
        for op in run:
            kind = self._pipeline(op)
            has_parts = self.parts > 1 if kind is None else kind.parts > 1
            if has_parts and "part" in op.kind.attrs:
                # Threads have read the agent's own sums before they hand over what takes their place.
                own = op.kind is pipe.consumer_wait and kind is not None and kind.producer == MMA
                known: dict[str, Any] = {"again": True} if own else {}
                made = self.copy(op, part=part, **known)
                self.env.update(zip(op.results, made.results, strict=True))
            elif op.kind is pipe.consumer_wait and part > 0:
                self.env[op.result] = self.copy(op, again=True).result
            elif op.kind not in _ONCE or part == self.parts - 1:
                self.op(op)

    def _pipeline(self, op: Op) -> Pipeline | None:
        """Return the pipeline type on which an operation works, or None."""
        kinds = (v.type for v in op.operands if isinstance(v.type, Pipeline))
        return next(kinds, None)

    # -- loops -----------------------------------------------------------------------------------------------------

    def _loop(self, op: Op, _: Rewriter) -> object:
        halves = halves_of(op, self.defs)
        return KEEP if halves is None else self._turned(op, halves)

    def _turned(self, loop: Op, halves: _Halves) -> list[Value]:
        """Emit a rotated loop: the first products of an iteration are issued one iteration early."""
        lower, upper, step = (self[value] for value in (loop.lower, loop.upper, loop.step))
        carried = [self[value] for value in loop.inits]
        begins = None if runs(loop, self.defs) else self.emit(std.cmpi, lower, upper, predicate="slt")
        self._enter(loop, lower, carried)
        for part in range(self.parts):
            self._early(loop, halves, part, begins, carried)
        index = Value(loop.body.params[0].type, loop.body.params[0].hint)
        params = [Value(value.type, param.hint) for value, param in zip(carried, loop.body.params[1:], strict=True)]
        outer, self.ops = self.ops, []
        following = self.emit(std.addi, index, step)
        more = self.emit(std.cmpi, following, upper, predicate="slt")
        last, positions = loop.body.ops[-1].operands, list(params)
        late = list(params)
        for part in range(self.parts):
            for early in (False, True) if halves.frees else (True, False):
                if early:
                    self._enter(loop, following, positions)
                    self._early(loop, halves, part, more, positions)
                else:
                    self._enter(loop, index, params)
                    self._part(halves.second, part)
                    late = [self[value] for value in last]
        self.emit(std.yield_, [positions[i] if i in halves.early else late[i] for i in range(len(last))])
        body, self.ops = Region((index, *params), tuple(self.ops)), outer
        results = tuple(Value(value.type, value.hint) for value in loop.results)
        args = (lower, upper, step, tuple(carried))
        self.add(Op(loop.kind, args, results, loop.attrs, (body,), loop.span))
        return list(results)

    def _early(self, loop: Op, halves: _Halves, part: int, condition: Value | None, positions: list[Value]) -> None:
        """Emit the first products of an iteration, conditionally if it may not exist, and return the updated iterators.
        """
        last, final = loop.body.ops[-1].operands, part == self.parts - 1
        early = sorted(halves.early) if final else []
        if condition is None:
            self._part(halves.first, part)
            after = [self[last[i]] for i in early]
        else:
            outer, self.ops = self.ops, []
            self._part(halves.first, part)
            self.emit(std.yield_, [self[last[i]] for i in early])
            then = Region((), tuple(self.ops))
            self.ops = []
            self.emit(std.yield_, [positions[i] for i in early])
            orelse = Region((), tuple(self.ops))
            self.ops = outer
            made = self.emit(std.if_, condition, regions=(then, orelse), types=[ITERATOR] * len(early))
            after = [made] if isinstance(made, Value) else list(made)
        for i, value in zip(early, after, strict=True):
            positions[i] = value

    def _enter(self, loop: Op, index: Value, carried: Sequence[Value]) -> None:
        """Bind the loop's parameters for an iteration."""
        self.env.update(zip(loop.body.params, (index, *carried), strict=True))


def halves_of(loop: Op, defs: Mapping[Value, Op]) -> _Halves | None:
    """Split a loop into halves, or return None unless it has both kinds of products."""
    *body, last = loop.body.ops
    carried = loop.body.params[1:]
    dots = [op for op in body if op.kind is pipe.async_dot]
    late = [dot for dot in dots if any(_from_threads(value, defs) for value in dot.operands)]
    early = [dot for dot in dots if dot not in late]
    if not early or not late or any(op.regions for op in body) or any(v.type is not ITERATOR for v in carried):
        return None
    frees = [op for op in body if op.kind is pipe.consumer_release and pipe.pipeline_of(op).producer == MMA]
    first, second = (_with_pipelines(some, body, defs) for some in (early, [*late, *frees]))
    effects = [op for op in body if not op.kind.pure]
    if any((op in first) == (op in second) for op in effects):
        return None
    moved = {op.result for op in first if op.kind is pipe.inc_iter}
    places = frozenset(i for i, value in enumerate(last.operands) if value in moved)
    return _Halves([op for op in body if op in first], [op for op in body if op in second], places, bool(frees))


def _from_threads(value: Value, defs: Mapping[Value, Op]) -> bool:
    """Return whether an operand lies in a stage that threads fill."""
    op = defs.get(value)
    while op is not None and op.kind in (ops.view, ops.expand_dims, ops.permute):
        op = defs.get(op.source)
    return op is not None and op.kind is pipe.consumer_read and pipe.pipeline_of(op).producer == THREADS


def _with_pipelines(dots: Sequence[Op], body: Sequence[Op], defs: Mapping[Value, Op]) -> set[Op]:
    """Return dots together with their operands' computations and the pipeline operations of their stages."""
    found: set[Op] = set()
    todo = list(dots)
    while todo:
        op = todo.pop()
        if op in found or op not in body:
            continue
        found.add(op)
        todo += [defs[value] for value in op.operands if value in defs]
        stages = {value for value in (*op.results, *op.operands) if value.type in (STAGE, ITERATOR)}
        todo += [other for other in body if stages & set(other.operands)]
    return found
