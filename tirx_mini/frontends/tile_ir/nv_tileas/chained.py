"""Overlap of chained dots, where the second dot multiplies a value computed from the first, as in attention.

A part of tileas-optimize-dot-accumulation, on Hopper. In the order of the program, the tensor core is idle while
threads compute the operand of the second dot. The loop is turned so that an iteration begins its first dot, then the
second dot of the iteration before it. Threads compute from the first while the second is in flight:

    first dot of n          begins
    second dot of n - 1     begins
    wait for the first; what is computed from it
    wait for the second; its sums are scaled for the next one

The part before the second dot is also executed before the loop, for the first iteration, and the last iteration's
second dot follows the loop. Where registers suffice, the first dot begins even earlier (`ahead`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tirx_mini.hardware import WARPGROUP_WARPS

from ..context import Context
from ..nv_tileaa import standard as std
from ..ssa import KEEP, Op, Region, Rewriter, Value, make, uses
from . import ops
from . import pipeline_ops as pipe
from .ahead import compute, early_of, emit_ahead
from .dot_chains import Chain, all_operands, chain_of_dots, read_of
from .operands import begins_at_constant, definitions, never_runs, number_of_constant, runs


def overlap_chained_dots(body: Region, context: Context, warps: int) -> Region:
    """Rotate the loops of chained dots in a function's body; a note says why one stays as it is, and what that costs.
    """
    used, defs = uses(body), definitions(body)
    loops = {op: chain_of_dots(op, used, defs) for op in body.walk() if op.kind is std.for_}
    found = {loop: chain for loop, chain in loops.items() if chain is not None}
    for loop in loops:
        if loop not in found:
            _note_apart(loop, used, defs, context)
    if not found:
        return body
    made = _Turned(found, defs, warps, context).region(body, body.params)
    turns = any(op.kind is pipe.take_turn for op in made.walk())
    return Region(made.params, (make(pipe.begin_turns), *made.ops)) if turns else made


def _note_apart(loop: Op, used: Mapping[Value, list[Op]], defs: Mapping[Value, Op], context: Context) -> None:
    """Add a note if a product waits for threads that compute from another one, in a loop that is not rotated."""
    dots = [op for op in loop.body.ops if op.kind is ops.dot and op.mma == ops.WGMMA]
    if len(dots) < 2 or never_runs(loop, defs) or dots[0] not in _computed_from(dots[1].lhs, loop, defs):
        return
    second = dots[1]
    if len(dots) > 2:
        reason = f"the loop has {len(dots)} products, and a pipeline of products has two"
    elif not begins_at_constant(loop, defs):
        reason = "the loop begins at a number known at run time only, and is taken for one of few iterations"
    elif used.get(second.result) != [loop.body.ops[-1]]:
        reason = "its sums are used in the same iteration"
    elif read_of(second.rhs, defs) is None:
        reason = "its right operand is not loaded asynchronously"
    else:
        reason = "other operations of the iteration depend on its sums or on what it loads"
    rows, columns = second.acc.type.shape
    cycles = 2 * rows * columns * second.lhs.type.shape[1] / context.gpu.tensor_flops_per_cycle
    context.note(
        f"each iteration waits for this product, about {cycles:.0f} cycles of the tensor core, with nothing to compute "
        f"meanwhile: {reason}",
        second.span,
    )


def _computed_from(value: Value, loop: Op, defs: Mapping[Value, Op]) -> set[Op]:
    """Return the operations of a loop's body from which a value is computed."""
    own, found, todo = set(loop.body.ops), set[Op](), [value]
    while todo:
        op = defs.get(todo.pop())
        if op in own and op is not None and op not in found:
            found.add(op)
            todo += all_operands(op)
    return found


class _Turned(Rewriter):
    def __init__(self, chains: Mapping[Op, Chain], defs: Mapping[Value, Op], warps: int, context: Context) -> None:
        super().__init__({std.for_: self._loop})
        self.chains, self.defs = chains, defs
        self.warps, self.context = warps, context

    def _loop(self, op: Op, _: Rewriter) -> object:
        chain = self.chains.get(op)
        if chain is None:
            return KEEP
        if runs(op, self.defs):
            return self._overlapped(chain)
        condition = self.emit(std.cmpi, self[op.lower], self[op.upper], predicate="slt")
        outer, self.ops = self.ops, []
        self.emit(std.yield_, self._overlapped(chain))
        then, self.ops = Region((), tuple(self.ops)), []
        self.emit(std.yield_, [self[value] for value in op.inits])
        orelse, self.ops = Region((), tuple(self.ops)), outer
        made = Op(std.if_, (condition,), tuple(Value(v.type, v.hint) for v in op.results), {}, (then, orelse), op.span)
        return self.add(made).results

    def _overlapped(self, chain: Chain) -> list[Value]:
        early = None if self._is_single(chain.loop) else early_of(chain, self.defs, self.warps, self.context)
        if early is None:
            return self._turned(chain)
        return emit_ahead(self, chain, early, self.defs, turns=self.warps > WARPGROUP_WARPS)

    def _turned(self, chain: Chain) -> list[Value]:
        """Emit the prologue of the first iteration, the rotated loop, and the last iteration's second dot."""
        loop = chain.loop
        last = loop.body.ops[-1].operands
        kept = [i for i in range(len(last)) if i not in (chain.sums, chain.position)]
        inits = [self[value] for value in loop.inits]
        self._enter(loop, self[loop.lower], inits)
        self._part((*chain.before, chain.first, *chain.middle, *chain.late))
        given = [*(self[last[i]] for i in kept), inits[chain.position], self[chain.second.acc], self[chain.second.lhs]]
        results = self._others(chain, given, kept)
        found = dict(zip(kept, results, strict=False))
        begun = {chain.position: results[-3], chain.sums: results[-2], **found}
        carried = [begun[i] for i in range(len(last))]
        self._enter(loop, self[loop.lower], carried)
        self._part(chain.fetch)
        found[chain.sums] = self.emit(
            chain.second.kind, results[-1], self[chain.second.rhs], results[-2], hint=chain.second.result.hint,
            span=chain.second.span, **chain.second.attrs,
        )  # fmt: skip
        self._part(chain.leave)
        found[chain.position] = self[last[chain.position]]
        return [found[i] for i in range(len(last))]

    def _others(self, chain: Chain, given: Sequence[Value], kept: Sequence[int]) -> Sequence[Value]:
        """Emit the loop over all iterations but the first, or nothing for a single-iteration loop."""
        loop = chain.loop
        if self._is_single(loop):
            return given
        second = self.emit(std.addi, self[loop.lower], self[loop.step])
        index = Value(loop.body.params[0].type, loop.body.params[0].hint)
        hints = [*(loop.body.params[i + 1].hint for i in kept), "it", chain.second.acc.hint, "a"]
        params = [Value(value.type, hint) for value, hint in zip(given, hints, strict=True)]
        outer, self.ops = self.ops, []
        self._iteration(chain, index, params, kept)
        body, self.ops = Region((index, *params), tuple(self.ops)), outer
        results = tuple(Value(v.type, v.hint) for v in params)
        args = (second, self[loop.upper], self[loop.step], tuple(given))
        self.add(Op(loop.kind, args, results, loop.attrs, (body,), loop.span))
        return results

    def _is_single(self, loop: Op) -> bool:
        """Return whether a loop is known to have exactly one iteration."""
        lower, upper, step = (number_of_constant(self.defs.get(v)) for v in (loop.lower, loop.upper, loop.step))
        return lower is not None and upper is not None and step is not None and lower + step >= upper

    def _iteration(self, chain: Chain, index: Value, params: Sequence[Value], kept: Sequence[int]) -> None:
        """Emit the body of the rotated loop."""
        loop, first, second = chain.loop, chain.first, chain.second
        *others, position, sums, operand = params
        carried = dict(zip(kept, others, strict=True)) | {chain.position: position, chain.sums: sums}
        self._enter(loop, index, [carried[i] for i in range(len(carried))])
        self._part(chain.before)
        begun = self.emit(
            pipe.async_dot, self[first.lhs], self[first.rhs], self[first.acc], mma=first.mma, hint=first.result.hint,
            signed=first.signed_lhs, span=first.span,
        )  # fmt: skip
        self._part(chain.fetch)
        added = self.emit(
            pipe.async_dot, operand, self[second.rhs], sums, mma=second.mma, signed=second.signed_lhs, span=second.span
        )
        self.env[first.result] = self.emit(pipe.async_wait, [begun], pending=1)
        self._part(chain.middle)
        compute(self, chain.meanwhile(self.defs))
        conversion = chain.conversion(self.defs)
        if conversion is not None:
            self.op(conversion)
        release, advance = sorted(chain.leave, key=lambda op: op.kind is pipe.inc_iter)
        self.op(advance)
        if pipe.pipeline_of(release).stages > 1:
            # A branch, behind which ptxas moves none of what precedes: the next tile is needed soon anyway.
            self.emit(pipe.consumer_wait, self[release.pipeline], self[advance.result])
        self.env[loop.body.params[1 + chain.sums]] = self.emit(pipe.async_wait, [added])
        self.op(release)
        self._part(chain.late)
        last = loop.body.ops[-1].operands
        values = [*(self[last[i]] for i in kept), self[last[chain.position]], self[second.acc], self[second.lhs]]
        self.emit(std.yield_, values)

    def _enter(self, loop: Op, index: Value, carried: Sequence[Value]) -> None:
        """Bind the loop's parameters for an iteration."""
        self.env.update(zip(loop.body.params, (index, *carried), strict=True))

    def _part(self, part: Sequence[Op]) -> None:
        for op in part:
            self.op(op)
