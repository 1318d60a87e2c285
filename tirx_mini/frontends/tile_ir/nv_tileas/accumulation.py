"""The pass tileas-optimize-dot-accumulation: accumulators stay with the tensor core across iterations.

On Hopper, a dot whose result only the next iteration's dot uses need not be waited for. The loop then waits for the
dot before it, and releases the stage that that one has read; the sums are there after the loop. The first iteration
writes the sums that begin with zero, and the others add to them.

On Blackwell, sums are in tensor memory, and tileas-materialize-async makes a pipeline of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..context import Context
from ..nv_tileaa import ops as aa
from ..nv_tileaa import standard as std
from ..ssa import KEEP, Module, Op, Rewriter, Value, uses
from . import ops
from . import pipeline_ops as pipe
from .chained import overlap_chained_dots
from .dot_chains import read_of
from .operands import definitions, is_zero, runs
from .sums import simple_sum


def optimize_dot_accumulation(module: Module, context: Context) -> Module:
    """Leave the dots of pure accumulation loops in flight for one iteration."""
    return Module(module.name, tuple(_function(op, context) if op.kind is aa.func else op for op in module.ops))


def _function(func: Op, context: Context) -> Op:
    overlapped = overlap_chained_dots(func.body, context, func.num_warps or 4)
    func = Op(func.kind, func.args, func.results, func.attrs, (overlapped,), func.span)
    used, defs = uses(func.body), definitions(func.body)
    found = ((op, simple_sum(op, used)) for op in func.body.walk() if op.kind is std.for_)
    loops = {loop: dot for loop, dot in found if dot is not None and _may_be_left(dot, defs)}
    if not loops:
        return func
    body = _Deferred(loops, defs).region(func.body, func.body.params)
    return Op(func.kind, func.args, func.results, func.attrs, (body,), func.span)


def _may_be_left(dot: Op, defs: Mapping[Value, Op]) -> bool:
    """Return whether a Hopper dot may stay in flight while the next one is issued.

    Its operands are then in stages that nothing overwrites. Of a ring of one stage, the next dot would wait for the
    stage that this one has not released.
    """
    reads = [read_of(value, defs) for value in (dot.lhs, dot.rhs)]
    return dot.mma == ops.WGMMA and all(read is not None and read.pipeline.type.stages > 1 for read in reads)


class _Deferred(Rewriter):
    def __init__(self, loops: dict[Op, Op], defs: Mapping[Value, Op]) -> None:
        super().__init__({std.for_: self._loop, ops.dot: self._dot, pipe.consumer_release: self._release})
        self.loops, self.defs = loops, defs
        self.owners = {dot: loop for loop, dot in loops.items()}
        self.current: Op | None = None

    def _loop(self, op: Op, rw: Rewriter) -> object:
        dot = self.loops.get(op)
        if dot is None:
            return KEEP
        index = op.body.params[1:].index(dot.acc)
        initial: Value = op.args[3][index]  # type: ignore[index,assignment]
        outer, self.current = self.current, dot
        kept = self.env.get(initial)
        if self._overwrites(op, initial):
            self.env[initial] = self.emit(pipe.alloc_tensor, types=[initial.type], hint=initial.hint)
        made = self.copy(op)
        self.env[initial] = kept if kept is not None else initial
        self.current = outer
        results = list(made.results)
        results[index] = self.emit(pipe.async_wait, [results[index]])
        for released in (inner for inner in made.body.ops if inner.kind is pipe.consumer_release and inner.deferred):
            self._drain(made, released, results)
        return results

    def _overwrites(self, loop: Op, initial: Value) -> bool:
        """Return whether the first iteration of a loop may overwrite the accumulator instead of reading it."""
        return is_zero(self.defs.get(initial)) and runs(loop, self.defs)

    def _drain(self, loop: Op, released: Op, results: list[Value]) -> None:
        """Release the stage that the last iteration has read."""
        wait = next(op for op in loop.body.ops if op.kind is pipe.consumer_wait and op.result is released.stage)
        position = results[loop.body.params[1:].index(wait.iterator)]
        self.emit(pipe.consumer_drain, released.pipeline, position)

    def _dot(self, op: Op, rw: Rewriter) -> object:
        loop = self.owners.get(op)
        if loop is None:
            return KEEP
        operands = [self[op.lhs], self[op.rhs], self[op.acc]]
        initial: Value = loop.args[3][loop.body.params[1:].index(op.acc)]  # type: ignore[index,assignment]
        if self._overwrites(loop, initial):
            operands.append(self.emit(std.cmpi, self[loop.body.params[0]], self[loop.lower], predicate="ne"))
        result = self.emit(pipe.async_dot, *operands, hint=op.result.hint, mma=op.mma, signed=op.signed_lhs)
        self.emit(pipe.async_wait, [], pending=1)
        return result

    def _release(self, op: Op, rw: Rewriter) -> Any:
        return self.copy(op, deferred=self.current is not None).results
