"""The pass tileas-unspecialized-pipeline: loops prefetch their loads some iterations ahead, without a loading warp.

Each warp computes, and one thread of the first also begins the copies of TMA: before the loop those of the first
iterations, in iteration i those of iteration i + n. It waits for the stage that all warps released n iterations
ago, or in the one before; so a ring of n + 1 stages is full, except for the stage that is being read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tirx_mini.records import dataclass

from ..context import UNSPECIALIZED, Context
from ..cuda_tile import Dense
from ..nv_tileaa import Tensor
from ..nv_tileaa import ops as aa
from ..nv_tileaa import standard as std
from ..ssa import KEEP, Module, Op, Region, Rewriter, Value
from . import pipeline_ops as pipe
from .operands import definitions
from .pipeline_types import WGMMA


@dataclass(frozen=True, eq=False)
class Fill:
    """The fill of a pipeline stage: a sequence of consecutive operations.

    places: the operations of a loop's body that compute where the copies begin; None where the loop's own values, or
        what it loads, say that.
    """

    acquire: Op
    write: Op
    commit: Op
    advance: Op
    places: tuple[Op, ...] | None = ()

    @property
    def ahead(self) -> int:
        """The number of iterations by which it can run ahead; wgmma keeps one more stage in use by reads in flight."""
        kind = pipe.pipeline_of(self.acquire)
        return max(0, kind.stages - (2 if kind.consumer == WGMMA else 1))


def unspecialized_pipeline(module: Module, context: Context) -> Module:
    """Without agents, issue a loop's loads some iterations early if its pipelines have spare stages.

    A loop whose loads depend on what it computes stays as it is; a note says so.
    """
    if context.options.agents != UNSPECIALIZED:
        return module
    return Module(module.name, tuple(_function(op, context) if op.kind is aa.func else op for op in module.ops))


def _function(func: Op, context: Context) -> Op:
    fills = {fill.acquire: fill for fill in _fills(func.body, None, definitions(func.body))}
    if not fills:
        return func
    for fill in fills.values():
        if fill.places is None:
            message = "this loop loads nothing early: where it loads from depends on what it computes"
            context.note(message, fill.write.body.ops[0].span)
    body = _Ahead(fills).region(func.body, func.body.params)
    return Op(func.kind, func.args, func.results, func.attrs, (body,), func.span)


def _fills(region: Region, loop: Op | None, defs: Mapping[Value, Op]) -> Iterator[Fill]:
    """Yield all fills in a region and its nested regions. loop: the `for` whose body is the region."""
    for i, op in enumerate(region.ops):
        if op.kind is pipe.producer_acquire:
            yield Fill(*region.ops[i : i + 4], places=_places(region.ops[i + 1], loop, defs) if loop else ())
        for inner in op.regions:
            yield from _fills(inner, op if op.kind is std.for_ else None, defs)


def _places(write: Op, loop: Op, defs: Mapping[Value, Op]) -> tuple[Op, ...] | None:
    """Return the body operations that compute a stage's copy coordinates, in order, or None."""
    body = loop.body
    carried, own = set(body.params[1:]), set(body.ops)
    needed: set[Op] = set()
    todo = [value for op in write.body.ops for value in op.operands if value not in write.body.params]
    while todo:
        value = todo.pop()
        op = defs.get(value)
        if value in carried or isinstance(value.type, Tensor):
            return None
        if op is None or op not in own or op in needed:
            continue
        if not op.kind.pure or op.regions:
            return None
        needed.add(op)
        todo += op.operands
    return tuple(op for op in body.ops if op in needed)


class _Ahead(Rewriter):
    """Moves fills ahead. fills: by their first operation. early: the prefetched fills with their loops."""

    def __init__(self, fills: Mapping[Op, Fill]) -> None:
        super().__init__(default=self._kept)
        self.fills = fills
        self.early: dict[Fill, Op] = {}
        self.advanced: dict[Op, Value] = {}
        self.inside = {op for fill in fills.values() for op in (fill.write, fill.commit)}

    def _kept(self, op: Op, _: Rewriter) -> Any:
        if op in self.fills:
            fill = self.fills[op]
            again = self._again if fill in self.early else self._fill
            self.advanced[fill.advance] = again(fill, self[op.iterator])
            return op.results
        if op in self.inside:
            return op.results
        if op in self.advanced:
            return self.advanced[op]
        return self._loop(op) if op.kind is std.for_ else KEEP

    def _loop(self, op: Op) -> Sequence[Value]:
        """Emit the fills of the first iterations, followed by the loop."""
        found = [self.fills[inner] for inner in op.body.ops if inner in self.fills]
        for fill in found:
            if fill.places is not None and fill.ahead:
                self.early[fill] = op
                first = op.inits[op.body.params[1:].index(fill.acquire.iterator)]
                self.env[first] = self._before(fill, op, self[first])
        return self.copy(op).results

    def _before(self, fill: Fill, loop: Op, iterator: Value) -> Value:
        """Emit the fills of the first iterations, and return the iterator after them."""
        lower, upper, step = self[loop.lower], self[loop.upper], self[loop.step]
        end = self.emit(std.addi, lower, self._distance(fill, step))
        last = self.emit(std.minui if loop.unsigned else std.minsi, end, upper, hint="ahead")
        index, at = Value(lower.type, loop.body.params[0].hint), Value(iterator.type, iterator.hint)
        outer, self.ops = self.ops, []
        self.emit(std.yield_, [self._at(fill, loop, index, at)])
        body, self.ops = Region((index, at), tuple(self.ops)), outer
        types = [iterator.type]
        return self.emit(
            std.for_, lower, last, step, [iterator], types=types, regions=(body,), unsigned=loop.unsigned, hint="it"
        )

    def _again(self, fill: Fill, iterator: Value) -> Value:
        """Emit, within an iteration, the fill of a later one if it exists, and return the iterator after it."""
        loop = self.early[fill]
        index = self.emit(std.addi, self[loop.body.params[0]], self._distance(fill, self[loop.step]), hint="ahead")
        less = "ult" if loop.unsigned else "slt"
        goes_on = self.emit(std.cmpi, index, self[loop.upper], predicate=less)
        outer, self.ops = self.ops, []
        self.emit(std.yield_, [self._at(fill, loop, index, iterator)])
        then, self.ops = Region((), tuple(self.ops)), outer
        orelse = Region((), (Op(std.yield_, ((iterator,),)),))
        return self.emit(std.if_, goes_on, types=[iterator.type], regions=(then, orelse), hint="it")

    def _distance(self, fill: Fill, step: Value) -> Value:
        count = self.emit(std.constant, types=[step.type], value=Dense.of(str(step.type), fill.ahead))
        return self.emit(std.muli, count, step)

    def _at(self, fill: Fill, loop: Op, index: Value, iterator: Value) -> Value:
        """Emit the fill of iteration `index`."""
        env = dict(self.env)
        self.env[loop.body.params[0]] = index
        for op in fill.places or ():
            self.op(op)
        made = self._fill(fill, iterator)
        self.env = env
        return made

    def _fill(self, fill: Fill, iterator: Value) -> Value:
        """Acquire a stage and issue its copies from one thread, and return the iterator of the next stage."""
        pipeline = self[fill.acquire.pipeline]
        outer, self.ops = self.ops, []
        stage = self.emit(pipe.producer_acquire, pipeline, iterator)
        self.env[fill.acquire.result] = stage
        written = self.copy(fill.write).result
        self.emit(pipe.producer_commit, pipeline, written)
        self.emit(pipe.pipeline_yield, [])
        body, self.ops = Region((), tuple(self.ops)), outer
        self.emit(pipe.elect_one, regions=(body,))
        return self.emit(pipe.inc_iter, iterator)
