"""Chained dots of which the first one begins an iteration early, while threads still compute from the one before it.

A part of tileas-optimize-dot-accumulation, on Hopper, for loops whose sums leave registers free. In a turned loop
threads wait for the first dot at the beginning of each iteration. Its sums are dead once they have been read, for
example by the subtraction of a maximum. From there on, the next iteration's dot may overwrite them:

    wait for the first dot of n; what reads its sums
    first dot of n + 1      begins
    costly functions, and what is computed from them
    wait for both dots; the sums of the second are scaled
    second dot of n         begins

The first iteration's first dot precedes the loop. The last iteration follows it, and begins no further dot. ptxas
leaves MMAs in flight only if nothing but MMAs uses accumulators meanwhile, so the second wait is for both dots.

Warpgroups in step would compute costly functions at the same time, and then find the maxima of their scores at the same
time, while the units of these functions are idle. So they take turns from the first dot of n + 1 on, until they have
computed what precedes the second wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tirx_mini.records import dataclass

from ..context import Context
from ..nv_tileaa import Tensor
from ..nv_tileaa import standard as std
from ..ssa import Op, Region, Rewriter, Value
from . import pipeline_ops as pipe
from .agents import agent_of, registers_of
from .dot_chains import Chain, all_operands, results_of
from .operands import is_zero
from .pipeline_ops import COMPUTE, PRODUCER
from .scheduling import registers_of as registers_for

COSTLY = frozenset(f"math.{name}" for name in "exp exp2 log log2 sqrt rsqrt sin cos tan sinh cosh tanh powf".split())
"""Functions that take threads about as long as the tensor core needs for a dot."""
SPARE_REGISTERS = 32
"""Registers of a thread for addresses, counters and rows."""
MOST_REGISTERS = 255
"""Of a thread, where agents do not divide them."""


@dataclass(frozen=True, eq=False)
class Early:
    """The middle part of a chain, divided where the sums of the first dot are dead.

    reads: the operations up to there. rest: the others. kept: the tensors that pass from the first to the others.
    sums: the tensor whose registers the next dot takes. again: operations before the first dot whose results its
    iteration needs later. ahead: which carried values have advanced with the next dot: iterators of producers.
    """

    reads: Sequence[Op]
    rest: Sequence[Op]
    kept: Sequence[Value]
    sums: Value
    again: Sequence[Op]
    ahead: Sequence[int]


def early_of(chain: Chain, defs: Mapping[Value, Op], warps: int, context: Context) -> Early | None:
    """Return the division of a chain's middle part, or None if there is none or registers do not suffice."""
    sums = _after_masks(chain)
    costly = [op for op in chain.middle if _is_costly(op, sums)]
    enough = _registers(chain, sums) <= _available(warps, context)
    if not costly or not enough or not is_zero(defs.get(chain.first.acc)):
        return None
    again = [op for op in chain.before if op.kind.pure or op.kind in (pipe.consumer_wait, pipe.consumer_read)]
    others = [op for op in chain.before if op not in again]
    if any(agent_of(op) != PRODUCER and op.kind is not pipe.inc_iter for op in others):
        return None
    early = _reads(chain, sums, costly[0], defs)
    reads = [op for op in chain.middle if op in early]
    rest = [op for op in chain.middle if op not in early]
    ends = (*rest, chain.second, *chain.late, chain.loop.body.ops[-1])
    used = _used_by(ends)
    kept = [value for value in results_of(reads) if value in used and isinstance(value.type, Tensor)]
    sizes = [value.type.size for value in kept]
    ahead = [i for i, value in enumerate(chain.loop.body.ops[-1].operands) if value in results_of(others)]
    if any(_is_costly(op, sums) for op in reads) or sizes.count(sums.type.size) != 1 or max(sizes) > sums.type.size:
        return None
    if not used.isdisjoint(_staged(chain)) or not _may_advance(chain, reads, ahead):
        return None
    return Early(reads, rest, kept, sums, again, ahead)


def _is_costly(op: Op, sums: Value) -> bool:
    """Return whether an operation computes a costly function of as many elements as the first dot adds up."""
    return op.kind.name in COSTLY and isinstance(op.result.type, Tensor) and op.result.type.size == sums.type.size


def _after_masks(chain: Chain) -> Value:
    """Return the sums of the first dot behind the branches that mask them."""
    value = chain.first.result
    for op in chain.middle:
        if op.kind is std.if_ and any(region.ops[-1].operands == (value,) for region in op.regions):
            value = op.result
    return value


def _reads(chain: Chain, sums: Value, costly: Op, defs: Mapping[Value, Op]) -> set[Op]:
    """Return what must precede the next iteration's first dot.

    That is what uses the sums of this one or its tiles, what frees these tiles, and the operands of the first costly
    function.
    """
    waits = [op for op in chain.before if op.kind is pipe.consumer_wait]
    positions, wanted = {op.iterator for op in waits}, {chain.first.result, sums, *_staged(chain)}
    todo = [op for op in chain.middle if not wanted.isdisjoint(all_operands(op))]
    todo += [op for op in chain.middle if op.kind is pipe.inc_iter and op.iterator in positions]
    todo += [defs[value] for value in costly.operands if value in defs]
    own, found = set(chain.middle), set[Op]()
    while todo:
        op = todo.pop()
        if op in own and op not in found:
            found.add(op)
            todo += [defs[value] for value in all_operands(op) if value in defs]
    return found


def _staged(chain: Chain) -> set[Value]:
    """Return the stages that precede the first dot, and views of their tiles."""
    found: set[Value] = set()
    for op in chain.before:
        if op.kind in (pipe.consumer_wait, pipe.consumer_read) or not found.isdisjoint(op.operands):
            found.update(op.results)
    return found


def _may_advance(chain: Chain, reads: Iterable[Op], ahead: Sequence[int]) -> bool:
    """Return whether what precedes the first dot depends on no carried values but iterators, which advance early."""
    params, last = chain.loop.body.params[1:], chain.loop.body.ops[-1].operands
    early = {value for op in reads if op.kind is pipe.inc_iter for value in op.results}
    used, later = _used_by((*chain.before, chain.first)), _used_by((*chain.middle, chain.second, *chain.late))
    return (
        all(i in ahead or params[i] not in used or last[i] in early for i in range(len(last)))
        and later.isdisjoint(value for i in ahead for value in (params[i], last[i]))
        and all(pipe.pipeline_of(op).stages > 1 for op in chain.leave if op.kind is pipe.consumer_release)
    )


def _used_by(part: Iterable[Op]) -> set[Value]:
    return {value for op in part for value in all_operands(op)}


def _registers(chain: Chain, sums: Value) -> int:
    """Return a thread's registers for the sums of both dots, operands, and what is computed of the first one."""
    held = (sums, sums, chain.first.lhs, chain.second.lhs, chain.second.result)
    return sum(map(registers_for, held)) + SPARE_REGISTERS


def _available(warps: int, context: Context) -> int:
    """Return the registers of a computing thread."""
    if (context.options.occupancy or 1) > 1:
        return 0
    agents = ((PRODUCER, 1), (COMPUTE, warps))
    return (registers_of(agents) or (0, MOST_REGISTERS))[1]


# -- the loop ------------------------------------------------------------------------------------------------------


def emit_ahead(rw: Rewriter, chain: Chain, early: Early, defs: Mapping[Value, Op], turns: bool) -> list[Value]:
    """Emit the first iteration's first dot, the loop, and the last iteration. Returns the results of the loop.

    turns: whether warpgroups take turns in the part of an iteration between its two dots.
    """
    return _Ahead(rw, chain, early, defs, turns).emit()


def compute(rw: Rewriter, values: Iterable[Value]) -> None:
    """Have values computed before what follows, by ptxas too."""
    for value in values:
        rw.env[value] = rw.emit(pipe.computed, rw[value], hint=value.hint)


class _Ahead:
    """The loop carries its index, what the program's loop carries, and the sums of both dots, which are in flight."""

    def __init__(self, rw: Rewriter, chain: Chain, early: Early, defs: Mapping[Value, Op], turns: bool) -> None:
        self.rw, self.chain, self.early, self.turns = rw, chain, early, turns
        self.loop = chain.loop
        self.params, self.last = self.loop.body.params, self.loop.body.ops[-1].operands
        self.kept = [i for i in range(len(self.last)) if i != chain.sums]
        self.conversion, self.meanwhile = chain.conversion(defs), chain.meanwhile(defs)
        self.release, self.advance = sorted(chain.leave, key=lambda op: op.kind is pipe.inc_iter)

    def emit(self) -> list[Value]:
        rw, loop, first = self.rw, self.loop, self.chain.first
        inits = [rw[value] for value in loop.inits]
        self._enter(rw[loop.lower], inits)
        self._part((*self.chain.before, first))
        for i in self.early.ahead:
            inits[i] = rw[self.last[i]]
        given = (rw[loop.lower], *(inits[i] for i in self.kept), inits[self.chain.sums], rw[first.result])
        second = rw.emit(std.addi, rw[loop.lower], rw[loop.step])
        index = Value(self.params[0].type, "next")
        names = (self.params[0], *(self.params[i + 1] for i in self.kept), self.chain.second.acc, first.result)
        params = [Value(value.type, named.hint) for value, named in zip(given, names, strict=True)]
        outer, rw.ops = rw.ops, []
        self._iteration(index, params)
        body, rw.ops = Region((index, *params), tuple(rw.ops)), outer
        results = tuple(Value(value.type, value.hint) for value in params)
        rw.add(Op(loop.kind, (second, rw[loop.upper], rw[loop.step], given), results, loop.attrs, (body,), loop.span))
        return self._last_iteration(results)

    def _iteration(self, index: Value, params: Sequence[Value]) -> None:
        rw, second = self.rw, self.chain.second
        self._begin(params)
        self._part(self.early.reads)
        compute(rw, self.early.kept)
        if self.turns:
            rw.emit(pipe.take_turn)
        begun, advanced = self._next(index)
        self._part(op for op in self.early.rest if op is not self.conversion)
        compute(rw, self.meanwhile)
        if self.turns:
            rw.emit(pipe.pass_turn)
        self._wait()
        rw.copy(self.release, deferred=True)
        self._operands()
        added = rw.emit(
            pipe.async_dot, rw[second.lhs], rw[second.rhs], rw[second.acc], mma=second.mma, signed=second.signed_lhs,
            hint=second.result.hint, span=second.span,
        )  # fmt: skip
        rw.op(self.advance)
        rw.env.update(advanced)
        rw.emit(std.yield_, [index, *(rw[self.last[i]] for i in self.kept), added, begun])

    def _last_iteration(self, results: Sequence[Value]) -> list[Value]:
        rw = self.rw
        self._begin(results)
        self._part(op for op in self.chain.middle if op is not self.conversion)
        compute(rw, self.meanwhile)
        self._wait()
        rw.emit(pipe.consumer_drain, rw[self.release.pipeline], rw[self.advance.iterator])
        self._operands()
        self._part((self.chain.second, self.release, self.advance))
        return [rw[value] for value in self.last]

    def _begin(self, carried: Sequence[Value]) -> None:
        """Enter an iteration whose first dot was begun, and wait for that."""
        index, *others, sums, scores = carried
        found = dict(zip(self.kept, others, strict=True)) | {self.chain.sums: sums}
        self._enter(index, [found[i] for i in range(len(found))])
        for i in self.early.ahead:
            self.rw.env[self.last[i]] = found[i]
        for op in self.early.again:
            if op.kind is pipe.consumer_wait:
                self.rw.bind(op.results, self.rw.copy(op, again=True).results)
            else:
                self.rw.op(op)
        self.rw.env[self.chain.first.result] = self.rw.emit(pipe.async_wait, [scores], pending=1)

    def _next(self, index: Value) -> tuple[Value, dict[Value, Value]]:
        """Begin the first dot of iteration `index`. Returns its sums, and the iterators that have advanced."""
        rw, first = self.rw, self.chain.first
        over, env = rw[self.early.sums], dict(rw.env)
        self._enter(index, [rw[value] for value in self.last])
        self._part(self.chain.before)
        begun = rw.emit(
            pipe.async_dot, rw[first.lhs], rw[first.rhs], rw[first.acc], None, over, mma=first.mma,
            signed=first.signed_lhs, hint=first.result.hint, span=first.span,
        )  # fmt: skip
        advanced = {self.last[i]: rw[self.last[i]] for i in self.early.ahead}
        rw.env = env
        return begun, advanced

    def _wait(self) -> None:
        """Wait for the second dot's tile, a branch behind which ptxas moves none of what precedes, and for the dots."""
        rw, sums = self.rw, self.params[1 + self.chain.sums]
        self._part(self.chain.fetch)
        rw.env[sums] = rw.emit(pipe.async_wait, [rw[sums]])

    def _operands(self) -> None:
        """Emit the second dot's operand and sums."""
        self._part((self.conversion,) if self.conversion is not None else ())
        self._part(self.chain.late)

    def _enter(self, index: Value, carried: Sequence[Value]) -> None:
        """Bind the parameters of the program's loop for an iteration."""
        self.rw.env.update(zip(self.params, (index, *carried), strict=True))

    def _part(self, part: Iterable[Op]) -> None:
        for op in part:
            self.rw.op(op)
