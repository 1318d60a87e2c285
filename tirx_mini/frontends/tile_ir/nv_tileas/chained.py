"""Overlap of chained dots, where the second dot multiplies a value computed from the first, as in attention.

A part of tileas-optimize-dot-accumulation, on Hopper. In the order of the program, the tensor core is idle while
threads compute the operand of the second dot. The loop is turned so that an iteration begins its first dot, then the
second dot of the iteration before it. Threads compute from the first while the second is in flight:

    first dot of n          begins
    second dot of n - 1     begins
    wait for the first; what is computed from it
    wait for the second; its sums are scaled for the next one

The part before the second dot is also executed before the loop, for the first iteration, and the last iteration's
second dot follows the loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tirx_mini.records import dataclass

from ..context import Context
from ..layouts import LinearLayout
from ..nv_tileaa import Tensor
from ..nv_tileaa import ops as aa
from ..nv_tileaa import standard as std
from ..ssa import KEEP, Op, Region, Rewriter, Value, uses
from . import ops
from . import pipeline_ops as pipe
from .operands import begins_at_constant, definitions, never_runs, number_of_constant, runs


@dataclass(frozen=True, eq=False)
class Chain:
    """The parts of a loop of chained dots, in the order of a rotated iteration.

    first: the first dot, and before: what precedes it. fetch: what reads the tile that the second dot multiplies by.
    second: this dot. middle: the operations after the first dot that do not need the second dot's sums. leave: what
    releases that tile. late: what computes with the sums of the iteration before.
    sums, position: which of the carried values are the sums, and the iterator of the tile.
    """

    loop: Op
    before: Sequence[Op]
    first: Op
    fetch: Sequence[Op]
    second: Op
    middle: Sequence[Op]
    leave: Sequence[Op]
    late: Sequence[Op]
    sums: int
    position: int


def overlap_chained_dots(body: Region, context: Context) -> Region:
    """Rotate the loops of chained dots in a function's body; a note says why one stays as it is, and what that costs.
    """
    used, defs = uses(body), definitions(body)
    loops = {op: chain_of_dots(op, used, defs) for op in body.walk() if op.kind is std.for_}
    found = {loop: chain for loop, chain in loops.items() if chain is not None}
    for loop in loops:
        if loop not in found:
            _note_apart(loop, used, defs, context)
    return _Turned(found, defs).region(body, body.params) if found else body


def chain_of_dots(loop: Op, used: Mapping[Value, list[Op]], defs: Mapping[Value, Op]) -> Chain | None:
    """Return the parts of a loop of two chained dots, or None for other loops and for loops of few iterations.

    A loop that does not begin at a constant is taken for the rest of one that does.
    """
    dots = [op for op in loop.body.ops if op.kind is ops.dot and op.mma == ops.WGMMA]
    if len(dots) != 2 or not begins_at_constant(loop, defs):
        return None
    first, second = dots
    read = _read_of(second.rhs, defs)
    *body, last = loop.body.ops
    if used.get(second.result) != [last] or read is None or read not in body:
        return None
    wait = next((op for op in body if op.kind is pipe.consumer_wait and op.result is read.stage), None)
    carried = loop.body.params[1:]
    if wait is None or wait.iterator not in carried:
        return None
    sums, position = last.operands.index(second.result), carried.index(wait.iterator)
    leave = [
        op for op in body
        if (op.kind is pipe.consumer_release and op.stage is wait.result)
        or (op.kind is pipe.inc_iter and op.iterator is wait.iterator)
    ]  # fmt: skip
    views = [op for op in body if op in _views(second.rhs, defs)]
    fetch = [wait, read, *views]
    own = {*fetch, second, *leave}
    late = _depending(body, carried[sums])
    place = body.index(first)
    others = [op for op in body if op not in own and op not in late]
    before = [op for op in others if body.index(op) < place]
    middle = [op for op in others if body.index(op) > place]
    chain = Chain(loop, before, first, fetch, second, middle, leave, late, sums, position)
    return chain if _may_turn(chain, used, last) else None


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
    elif _read_of(second.rhs, defs) is None:
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
            todo += _all_operands(op)
    return found


def _may_turn(chain: Chain, used: Mapping[Value, list[Op]], last: Op) -> bool:
    """Return whether each part depends only on earlier parts, and the late part has no side effects."""
    own = {*chain.fetch, chain.second, *chain.leave}
    inner = {value for op in own for value in op.results}
    position = chain.loop.body.params[1 + chain.position]
    others = (*chain.before, chain.first, *chain.middle, *chain.late)
    operand = chain.second.lhs
    if not isinstance(operand.type.layout, LinearLayout) or operand not in _results(chain.middle):
        return False  # it is not computed from the first dot
    return (
        len(chain.leave) == 2
        and chain.first not in chain.late
        and chain.second not in chain.before
        and all(op.kind.pure and not op.regions for op in chain.late if op is not chain.second)
        and not any(inner & set(_all_operands(op)) for op in others)
        and all(user in own for user in used[position])
        and sum(value in inner for value in last.operands) == 2
    )


def _results(part: Sequence[Op]) -> set[Value]:
    return {value for op in part for value in op.results}


def _all_operands(op: Op) -> list[Value]:
    return [*op.operands, *(v for region in op.regions for inner in region.walk() for v in inner.operands)]


def _read_of(value: Value, defs: Mapping[Value, Op]) -> Op | None:
    """Return the stage read from which a value derives through views, or None."""
    while (op := defs.get(value)) is not None and op.kind in (ops.view, ops.expand_dims, ops.permute):
        value = op.source
    return op if op is not None and op.kind is pipe.consumer_read else None


def _views(value: Value, defs: Mapping[Value, Op]) -> list[Op]:
    """Return the operations between a stage read and a view of it."""
    found: list[Op] = []
    while (op := defs[value]).kind is not pipe.consumer_read:
        found.append(op)
        value = op.source
    return found


def _depending(body: Sequence[Op], root: Value) -> list[Op]:
    """Return the operations that depend on a value, excluding the second dot."""
    varying, found = {root}, list[Op]()
    for op in body:
        if varying & set(_all_operands(op)) and op.kind is not ops.dot:
            found.append(op)
            varying.update(op.results)
    return found


class _Turned(Rewriter):
    def __init__(self, chains: Mapping[Op, Chain], defs: Mapping[Value, Op]) -> None:
        super().__init__({std.for_: self._loop})
        self.chains, self.defs = chains, defs

    def _loop(self, op: Op, _: Rewriter) -> object:
        chain = self.chains.get(op)
        if chain is None:
            return KEEP
        if runs(op, self.defs):
            return self._turned(chain)
        condition = self.emit(std.cmpi, self[op.lower], self[op.upper], predicate="slt")
        outer, self.ops = self.ops, []
        self.emit(std.yield_, self._turned(chain))
        then, self.ops = Region((), tuple(self.ops)), []
        self.emit(std.yield_, [self[value] for value in op.inits])
        orelse, self.ops = Region((), tuple(self.ops)), outer
        made = Op(std.if_, (condition,), tuple(Value(v.type, v.hint) for v in op.results), {}, (then, orelse), op.span)
        return self.add(made).results

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
        self._compute(chain, kept)
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

    def _compute(self, chain: Chain, kept: Sequence[int]) -> None:
        """Emit the middle part while the second dot is in flight, followed by its conversion."""
        last, made = chain.loop.body.ops[-1].operands, _results(chain.middle)
        operand = chain.second.lhs
        conversion = self.defs[operand] if operand in made else None
        if conversion is not None and conversion.kind is aa.fp_to_fp:
            operand = conversion.source
        for value in (*(last[i] for i in kept), operand):
            if value in made and isinstance(value.type, Tensor):
                self.env[value] = self.emit(pipe.computed, self[value], hint=value.hint)
        if conversion is not None and conversion.result is not operand:
            self.op(conversion)

    def _enter(self, loop: Op, index: Value, carried: Sequence[Value]) -> None:
        """Bind the loop's parameters for an iteration."""
        self.env.update(zip(loop.body.params, (index, *carried), strict=True))

    def _part(self, part: Sequence[Op]) -> None:
        for op in part:
            self.op(op)
