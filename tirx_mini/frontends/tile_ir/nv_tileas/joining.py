"""The pass tileas-join-loops: loops with the same iterations become one, so that a pipeline runs on across them.

Causal attention goes through the keys before the diagonal without a mask, and through those on it with one. As two
loops, the products of the second begin when those of the first are complete, and a loop of one iteration overlaps
nothing at all. As one loop, the mask of the second is a branch:

    for n in [0, whole): step(n)                        for n in [0, stop): step(n, masked where n >= whole)
    for n in [whole, stop): step(n, masked)

The second loop may also end where the first begins; and one of them may be a single iteration without a loop, such as
the diagonal block. Values are the same bit for bit: each iteration executes the operations that it had.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from tirx_mini.records import dataclass

from ..context import Context
from ..cuda_tile import Dense
from ..nv_tileaa import ops as aa
from ..nv_tileaa import standard as std
from ..ssa import Builder, Module, Op, Region, Value, remove_dead, uses
from . import ops
from .masks import chain_of_mask, guarded
from .matching import Matching, kept_arm, used_by
from .operands import definitions, never_runs, number_of_constant

LEAST_PRODUCTS = 2
"""Products of a loop that is joined: one that only adds up products has no pipeline of them to run on."""


def join_loops(module: Module, context: Context) -> Module:
    """Join loops of products whose iterations are the same but for a mask, so that one pipeline serves them."""
    found = tuple(_function(op) if op.kind is aa.func else op for op in module.ops)
    return module if found == module.ops else Module(module.name, found)


def _function(func: Op) -> Op:
    body = _joined(func.body, definitions(func.body))
    return func if body is func.body else Op(func.kind, func.args, func.results, func.attrs, (body,), func.span)


def _joined(region: Region, defs: Mapping[Value, Op]) -> Region:
    """Join the loops of a region and of those inside; it is the region itself where there are none."""
    block = list(region.ops)
    for number, op in enumerate(block):
        if op.kind in (std.for_, std.if_, std.while_):
            inner = tuple(_joined(body, defs) for body in op.regions)
            if any(new is not old for new, old in zip(inner, op.regions, strict=True)):
                block[number] = Op(op.kind, op.args, op.results, op.attrs, inner, op.span)
    while (made := _joined_once(_Frame(block, defs))) is not None:
        block = made
    same = len(block) == len(region.ops) and all(a is b for a, b in zip(block, region.ops, strict=True))
    return region if same else Region(region.params, tuple(block))


class _Frame:
    """A block with the definitions of all values that it may use, and the uses of its own."""

    def __init__(self, block: Sequence[Op], defs: Mapping[Value, Op]) -> None:
        region = Region((), tuple(block))
        self.block = list(block)
        self.defs = {**defs, **definitions(region)}
        self.uses = uses(region)

    @property
    def loops(self) -> list[Op]:
        """The loops of several products, which count up in steps of 1."""
        return [
            op for op in self.block
            if op.kind is std.for_ and not op.unsigned and number_of_constant(self.defs.get(op.step)) == 1
            and sum(inner.kind is ops.dot for inner in op.body.ops) >= LEAST_PRODUCTS
        ]  # fmt: skip

    def without(self, gone: set[Op], place: int, instead: Sequence[Op]) -> list[Op] | None:
        """Return the block with `instead` behind the operation at `place`, or None if it would lack a value."""
        parts = self.block[: place + 1], self.block[place + 1 :]
        before, after = ([op for op in part if op not in gone] for part in parts)
        made = remove_dead(Module("", (*before, *instead, *after))).ops
        own = {value for op in self.block for value in op.results}
        for op in made:
            own.difference_update(op.results)
            if own & used_by(op):
                return None
        return list(made)


def _joined_once(frame: _Frame) -> list[Op] | None:
    loops = frame.loops
    for first, second in pairwise(loops):
        if (made := _pair(frame, first, second)) is not None:
            return made
    for loop in loops:
        made = _with_next(frame, loop) or _with_previous(frame, loop)
        if made is not None:
            return made
    return None


@dataclass(frozen=True, eq=False)
class _Counter:
    """The counter of a joined loop. begin, end: its bounds. before: what computes them, and index: what an iteration
    computes from it. is_first: whether an iteration is one of those that come first."""

    value: Value
    begin: Value
    end: Value
    before: Sequence[Op]
    index: Sequence[Op]
    is_first: Value


# -- two loops -----------------------------------------------------------------------------------------------------


def _pair(frame: _Frame, first: Op, second: Op) -> list[Op] | None:
    """Join two loops, of which the second goes on with what the first has computed."""
    between = frame.block[frame.block.index(first) + 1 : frame.block.index(second)]
    if tuple(second.inits) != tuple(first.results) or any(not op.kind.pure for op in between):
        return None
    if second.lower is not first.upper and second.upper is not first.lower:
        return None
    if any(never_runs(loop, frame.defs) for loop in (first, second)):
        return None
    for plain, other in ((first, second), (second, first)):
        matching = _same_iterations(frame, plain, other)
        if matching is None:
            continue
        counter = (_running if second.lower is first.upper else _turning)(plain.body.params[0], first, second)
        body = _with_masks(frame, plain, matching, other.body.ops, counter, masked_where=other is first)
        if body is None:
            continue
        region = Region((counter.value, *plain.body.params[1:]), body)
        args = (counter.begin, counter.end, second.step, tuple(first.inits))
        joined = Op(std.for_, args, second.results, {**first.attrs, **second.attrs}, (region,), second.span)
        return frame.without({first, second}, frame.block.index(second), (*counter.before, joined))
    return None


def _running(index: Value, first: Op, second: Op) -> _Counter:
    """Count through two loops, of which the second begins where the first ends."""
    b, inner = Builder(second.span), Builder(second.span)
    begin = b.emit(std.minsi, first.lower, first.upper, hint="begin")
    end = b.emit(std.maxsi, second.upper, first.upper, hint="end")
    is_first = inner.emit(std.cmpi, index, first.upper, predicate="slt")
    return _Counter(index, begin, end, b.ops, inner.ops, is_first)


def _turning(index: Value, first: Op, second: Op) -> _Counter:
    """Count through two loops, of which the second ends where the first begins."""
    b, inner, edge = Builder(second.span), Builder(second.span), first.lower
    begin = b.emit(std.minsi, second.lower, edge, hint="begin")
    end = b.emit(std.maxsi, first.upper, edge, hint="end")
    count, forward = b.emit(std.subi, end, edge), b.emit(std.subi, edge, begin)
    last = b.emit(std.addi, begin, count)
    counter = Value(index.type, index.hint)
    is_first = inner.emit(std.cmpi, counter, last, predicate="slt")
    places = inner.emit(std.addi, counter, forward), inner.emit(std.subi, counter, count)
    inner.add(Op(std.select, (is_first, *places), (index,), {}, (), second.span))
    return _Counter(counter, begin, end, b.ops, inner.ops, is_first)


def _same_iterations(frame: _Frame, plain: Op, other: Op) -> Matching | None:
    """Return how the iterations of two loops match, or None."""
    if [v.type for v in plain.body.params] != [v.type for v in other.body.params]:
        return None
    free: dict[Value, Value | None] = dict(zip(plain.body.params, other.body.params, strict=True))
    matching = Matching(frame.defs, free, frozenset(plain.body.ops))
    if not matching.all(plain.body.ops[-1].operands, other.body.ops[-1].operands):
        return None
    return matching if _same_effects(plain, other.body.ops[:-1], matching) else None


def _same_effects(plain: Op, other: Sequence[Op], matching: Matching) -> bool:
    """Return whether the effects of two iterations are the same, in the same order."""
    one, two = ([op for op in block if not op.kind.pure] for block in (plain.body.ops[:-1], other))
    return len(one) == len(two) and all(
        a.results and all(matching.pairs.get(x) is y for x, y in zip(a.results, b.results, strict=True))
        for a, b in zip(one, two, strict=True)
    )


# -- a loop and a single iteration ---------------------------------------------------------------------------------


def _with_next(frame: _Frame, loop: Op) -> list[Op] | None:
    """Join a loop and one iteration more, which stands behind it."""
    index, *carried = loop.body.params
    free: dict[Value, Value | None] = {index: None, **dict(zip(carried, loop.results, strict=True))}
    given = _next_values(frame, loop, free)
    matching = Matching(frame.defs, dict(free), frozenset(loop.body.ops))
    if given is None or not matching.all(loop.body.ops[-1].operands, given):
        return None
    own = _single(frame, loop, matching)
    at = matching.free[index]
    if own is None or at is None:
        return None
    b, inner = Builder(loop.span), Builder(loop.span)
    counter = Value(index.type, index.hint)
    edge = b.emit(std.maxsi, loop.lower, loop.upper, hint="edge")
    end = b.emit(std.addi, edge, loop.step, hint="end")
    is_first = inner.emit(std.cmpi, counter, edge, predicate="slt")
    inner.add(Op(std.select, (is_first, counter, at), (index,), {}, (), loop.span))
    found = _Counter(counter, loop.lower, end, b.ops, inner.ops, is_first)
    gone = {*own, *(frame.defs[value] for value in given)}
    place = max(frame.block.index(op) for op in gone)
    return _placed(frame, loop, matching, found, loop.inits, given, gone, place)


def _with_previous(frame: _Frame, loop: Op) -> list[Op] | None:
    """Join a loop and an iteration that stands before it."""
    index, *carried = loop.body.params
    matching = Matching(frame.defs, dict.fromkeys(loop.body.params), frozenset(loop.body.ops))
    if not loop.results or not matching.all(loop.body.ops[-1].operands, loop.inits):
        return None
    own = _single(frame, loop, matching)
    at, *inits = (matching.free[value] for value in (index, *carried))
    if own is None or at is None or any(value is None for value in inits):
        return None
    b, inner = Builder(loop.span), Builder(loop.span)
    counter, known = Value(index.type, index.hint), number_of_constant(frame.defs.get(loop.lower))
    if known is None:
        begin = b.emit(std.subi, loop.lower, loop.step, hint="begin")
    else:
        begin = b.emit(std.constant, types=[index.type], value=Dense.of(str(index.type), known - 1), hint="begin")
    end = b.emit(std.maxsi, loop.lower, loop.upper, hint="end")
    is_first = inner.emit(std.cmpi, counter, loop.lower, predicate="slt")
    inner.add(Op(std.select, (is_first, at, counter), (index,), {}, (), loop.span))
    found = _Counter(counter, begin, end, b.ops, inner.ops, is_first)
    before = [value for value in inits if value is not None]
    return _placed(frame, loop, matching, found, before, loop.results, set(own), frame.block.index(loop))


def _placed(
    frame: _Frame, loop: Op, matching: Matching, counter: _Counter, inits: Sequence[Value], results: Sequence[Value],
    gone: set[Op], place: int,
) -> list[Op] | None:  # fmt: skip
    """Return the block with a loop that executes a single iteration, too."""
    body = _with_masks(frame, loop, matching, (), counter, masked_where=results is loop.results)
    if body is None:
        return None
    region = Region((counter.value, *loop.body.params[1:]), body)
    args = (counter.begin, counter.end, loop.step, tuple(inits))
    joined = Op(std.for_, args, tuple(results), loop.attrs, (region,), loop.span)
    return frame.without({*gone, loop}, place, (*counter.before, joined))


def _next_values(frame: _Frame, loop: Op, free: Mapping[Value, Value | None]) -> list[Value] | None:
    """Return the values behind a loop that one iteration more would make of its results, or None."""
    chosen: list[Value] = []
    later = [op for op in frame.block[frame.block.index(loop) + 1 :] if len(op.results) == 1]
    for value in loop.body.ops[-1].operands:
        made = frame.defs.get(value)
        fitting = [
            op.result for op in later
            if made is not None and op.kind is made.kind
            and Matching(frame.defs, dict(free), frozenset(loop.body.ops)).all([value], [op.result])
        ]  # fmt: skip
        if len(fitting) != 1:
            return None
        chosen += fitting
    return chosen or None


def _single(frame: _Frame, loop: Op, matching: Matching) -> list[Op] | None:
    """Return the effects of the single iteration that matches a loop's, or None if others stand between the two."""
    image = set(matching.pairs.values())
    own = [op for op in frame.block if not op.kind.pure and image & set(op.results)]
    places = [frame.block.index(op) for op in (loop, *own)]
    between = [op for op in frame.block[min(places) : max(places) + 1] if not op.kind.pure and op is not loop]
    return own if between == own and _same_effects(loop, own, matching) else None


# -- masks ---------------------------------------------------------------------------------------------------------


def _with_masks(
    frame: _Frame, plain: Op, matching: Matching, own: Sequence[Op], counter: _Counter, masked_where: bool
) -> tuple[Op, ...] | None:
    """Return the operations of the plain iteration, with the masks of the other one in branches.

    own: the operations of the other iteration, if it is a loop's. masked_where: the value of `counter.is_first` where
    the masks are needed.
    """
    body = list(plain.body.ops)
    selects = {select.result for select in matching.masks.values()}
    env = {other: value for value, other in matching.pairs.items() if other not in selects}
    if own:
        env |= {other: value for value, other in matching.free.items() if other is not None}
    for value, select in matching.masks.items():
        made, kept = frame.defs.get(value), kept_arm(select, frame.defs)
        chain = chain_of_mask(select, env, frame.defs, own)
        if chain is None or kept is None or made is None or made not in body:
            return None
        place = next(number for number, op in enumerate(body) if value in used_by(op))
        needed = {env.get(v) for op in (*chain, select) for v in op.operands}
        if needed & {v for op in body[place:] for v in op.results}:
            return None
        unmasked = Value(value.type, value.hint)
        results = tuple(unmasked if v is value else v for v in made.results)
        body[body.index(made)] = Op(made.kind, made.args, results, made.attrs, made.regions, made.span)
        masked = Op(select.kind, select.args, (value,), select.attrs, (), select.span)
        body.insert(place, guarded(masked, kept, counter.is_first, chain, {**env, kept: unmasked}, masked_where))
    return (*counter.index, *body)
