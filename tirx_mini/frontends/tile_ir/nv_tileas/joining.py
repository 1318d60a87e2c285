"""The pass tileas-join-loops: loops with the same iterations become one, so that a pipeline runs on across them.

Causal attention goes through the keys before the diagonal without a mask, and through those on it with one. As two
loops, the products of the second begin when those of the first are complete, and a loop of one iteration overlaps
nothing at all. As one loop, the mask of the second is a branch:

    for n in [0, whole): step(n)                        for n in [0, stop): step(n, masked where n >= whole)
    for n in [whole, stop): step(n, masked)

The second loop may also end where the first begins; and one of them may be a single iteration without a loop, as of the
diagonal block. Values are the same bit for bit: each iteration executes the operations that it had.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tirx_mini.records import dataclass

from ..context import Context
from ..cuda_tile import Dense
from ..nv_tileaa import ops as aa
from ..nv_tileaa import standard as std
from ..ssa import Builder, Module, Op, Region, Value, flat, remove_dead, uses
from . import ops
from .masks import chain_of_mask, guarded
from .matching import Matching
from .operands import definitions, number_of_constant


def join_loops(module: Module, context: Context) -> Module:
    """Join loops of products whose iterations are the same but for a mask, so that one pipeline serves them."""
    found = tuple(_function(op) if op.kind is aa.func else op for op in module.ops)
    return module if found == module.ops else remove_dead(Module(module.name, found))


def _function(func: Op) -> Op:
    body = _joined(func.body)
    return func if body is func.body else Op(func.kind, func.args, func.results, func.attrs, (body,), func.span)


def _joined(region: Region) -> Region:
    """Join the loops of a region and of those inside; it is the region itself where there are none."""
    block = list(region.ops)
    for number, op in enumerate(block):
        inner = tuple(_joined(body) if op.kind in (std.for_, std.if_, std.while_) else body for body in op.regions)
        if any(new is not old for new, old in zip(inner, op.regions, strict=True)):
            block[number] = Op(op.kind, op.args, op.results, op.attrs, inner, op.span)
    while (made := _joined_once(block)) is not None:
        block = made
    same = len(block) == len(region.ops) and all(a is b for a, b in zip(block, region.ops, strict=True))
    return region if same else Region(region.params, tuple(block))


def _joined_once(block: Sequence[Op]) -> list[Op] | None:
    loops = [op for op in block if _is_candidate(op)]
    if not loops:
        return None
    frame = _Frame(block)
    for first, second in zip(loops, loops[1:], strict=False):
        if (made := _pair(frame, first, second)) is not None:
            return made
    for loop in loops:
        for after in (True, False):
            if (made := _single(frame, loop, after)) is not None:
                return made
    return None


def _is_candidate(op: Op) -> bool:
    """Return whether an operation is a loop with two products or more, in steps of 1."""
    return op.kind is std.for_ and not op.unsigned and sum(inner.kind is ops.dot for inner in op.body.ops) > 1


class _Frame:
    """A block with the definitions and uses of its values."""

    def __init__(self, block: Sequence[Op]) -> None:
        region = Region((), tuple(block))
        self.block = list(block)
        self.defs = definitions(region)
        self.uses = uses(region)

    def is_one(self, value: Value) -> bool:
        return number_of_constant(self.defs.get(value)) == 1


@dataclass(frozen=True, eq=False)
class _Join:
    """How two loops, or a loop and a single iteration, become one.

    body: the body that is kept, of the loop without masks. index, begin, end: the counter of the new loop and its
    bounds. ahead: emits what precedes the body, and returns the condition under which an iteration is masked.
    """

    loop: Op
    matching: Matching
    own: Sequence[Op]
    begin: Value
    end: Value
    inits: Sequence[Value]
    results: Sequence[Value]


def _pair(frame: _Frame, first: Op, second: Op) -> list[Op] | None:
    """Join two loops, of which the second begins with what the first has computed."""
    if not (frame.is_one(first.step) and frame.is_one(second.step)) or tuple(second.inits) != tuple(first.results):
        return None
    if any(set(frame.uses.get(value, ())) != {second} for value in first.results):
        return None
    between = frame.block[frame.block.index(first) + 1 : frame.block.index(second)]
    if any(not op.kind.pure for op in between):
        return None
    follows, precedes = second.lower is first.upper, second.upper is first.lower
    if not (follows or precedes):
        return None
    for plain, other in ((first, second), (second, first)):
        matching = _same_iterations(frame, plain, other)
        if matching is None:
            continue
        b = Builder(second.span)
        edge = second.lower if follows else first.lower
        ends = (first.lower, second.upper) if follows else (second.lower, first.upper)
        begin = b.emit(std.minsi, ends[0], edge, hint="begin")
        end = b.emit(std.maxsi, ends[1], edge, hint="end")
        index = plain.body.params[0]
        if follows:
            counter, head = index, Builder(second.span)
            is_first = head.emit(std.cmpi, index, edge, predicate="slt") if matching.masks else None
        else:
            counter, head = Value(index.type, index.hint), Builder(second.span)
            count = b.emit(std.subi, end, edge)
            forward = b.emit(std.subi, edge, begin)
            last = b.emit(std.addi, begin, count)
            is_first = head.emit(std.cmpi, counter, last, predicate="slt")
            shifts = head.emit(std.addi, counter, forward), head.emit(std.subi, counter, count)
            head.add(Op(std.select, (is_first, *shifts), (index,), {}, (), second.span))
        body = _with_masks(frame, plain, matching, other.body.ops, head, is_first, masked_where=other is first)
        if body is None:
            continue
        region = Region((counter, *plain.body.params[1:]), body)
        args = (begin, end, second.step, tuple(first.inits))
        joined = Op(std.for_, args, second.results, {**first.attrs, **second.attrs}, (region,), second.span)
        made = [op for op in frame.block if op is not first]
        place = made.index(second)
        return [*made[:place], *b.ops, joined, *made[place + 1 :]]
    return None


def _same_iterations(frame: _Frame, plain: Op, other: Op) -> Matching | None:
    """Return how the iterations of two loops match, or None."""
    free: dict[Value, Value | None] = dict(zip(plain.body.params, other.body.params, strict=True))
    matching = Matching(frame.defs, free)
    if not matching.all(plain.body.ops[-1].operands, other.body.ops[-1].operands):
        return None
    return matching if _same_effects(plain.body.ops[:-1], other.body.ops[:-1], matching) else None


def _same_effects(plain: Sequence[Op], other: Sequence[Op], matching: Matching) -> bool:
    """Return whether the effects of two iterations are the same, in the same order."""
    one, two = ([op for op in block if not op.kind.pure] for block in (plain, other))
    return len(one) == len(two) and all(
        a.results and all(matching.pairs.get(x) is y for x, y in zip(a.results, b.results, strict=True))
        for a, b in zip(one, two, strict=True)
    )


def _single(frame: _Frame, loop: Op, after: bool) -> list[Op] | None:
    """Join a loop and a single iteration after it, or before it, that stands in the block."""
    if not frame.is_one(loop.step) or not loop.results:
        return None
    index, *carried = loop.body.params
    yields = loop.body.ops[-1].operands
    free: dict[Value, Value | None] = {index: None}
    if after:
        free |= dict(zip(carried, loop.results, strict=True))
        ends = _candidates_after(frame, loop)
    else:
        free |= dict.fromkeys(carried)
        ends = [tuple(loop.inits)]
    for given in ends:
        matching = Matching(frame.defs, dict(free))
        if not matching.all(yields, given):
            continue
        made = _with_single(frame, loop, matching, given, after)
        if made is not None:
            return made
    return None


def _candidates_after(frame: _Frame, loop: Op) -> list[tuple[Value, ...]]:
    """Return the values after a loop that may be what one more iteration makes of its results."""
    later = frame.block[frame.block.index(loop) + 1 :]
    found: list[list[Value]] = []
    for value in loop.body.ops[-1].operands:
        made = loop_op(value, frame.defs)
        found.append([op.result for op in later if made is not None and op.kind is made.kind and len(op.results) == 1])
    free = dict(zip(loop.body.params[1:], loop.results, strict=True))
    chosen: list[Value] = []
    for place, value in enumerate(loop.body.ops[-1].operands):
        fitting = [
            other for other in found[place]
            if Matching(frame.defs, {loop.body.params[0]: None, **free}).value(value, other, 0)
        ]  # fmt: skip
        if len(fitting) != 1:
            return []
        chosen.append(fitting[0])
    return [tuple(chosen)]


def loop_op(value: Value, defs: Mapping[Value, Op]) -> Op | None:
    return defs.get(value)


def _with_single(
    frame: _Frame, loop: Op, matching: Matching, given: Sequence[Value], after: bool
) -> list[Op] | None:  # fmt: skip
    index, *carried = loop.body.params
    at = matching.free[index]
    before = [matching.free[value] for value in carried]
    if at is None or any(value is None for value in before):
        return None
    image = set(matching.pairs.values())
    own = [op for op in frame.block if image & set(op.results)]
    effects = [op for op in loop.body.ops[:-1] if not op.kind.pure]
    removed = [op for op in own if not op.kind.pure]
    if len(effects) != len(removed) or not _same_effects(effects, removed, matching):
        return None
    places = [frame.block.index(op) for op in own] + [frame.block.index(loop)]
    inside = {op for op in frame.block[min(places) : max(places)] if not op.kind.pure}
    if inside - {*removed, loop}:
        return None
    results = {value for op in removed for value in op.results}
    users = {user for value in (*results, *(given if not after else loop.results)) for user in frame.uses.get(value, ())}
    reached = {op for op in own} | {op for op in frame.block if op.kind is std.select and op in matching.masks.values()}
    if any(user not in reached and user is not loop for user in users):
        return None
    b, head = Builder(loop.span), Builder(loop.span)
    counter = Value(index.type, index.hint)
    one = loop.step
    if after:
        edge = b.emit(std.maxsi, loop.lower, loop.upper, hint="edge")
        begin, end = loop.lower, b.emit(std.addi, edge, one, hint="end")
        is_first = head.emit(std.cmpi, counter, edge, predicate="slt")
        head.add(Op(std.select, (is_first, counter, at), (index,), {}, (), loop.span))
    else:
        known = number_of_constant(frame.defs.get(loop.lower))
        if known is None:
            begin = b.emit(std.subi, loop.lower, one, hint="begin")
        else:
            begin = b.emit(std.constant, types=[index.type], value=Dense.of(str(index.type), known - 1), hint="begin")
        end = b.emit(std.maxsi, loop.lower, loop.upper, hint="end")
        is_first = head.emit(std.cmpi, counter, loop.lower, predicate="slt")
        head.add(Op(std.select, (is_first, at, counter), (index,), {}, (), loop.span))
    body = _with_masks(frame, loop, matching, (), head, is_first, masked_where=not after)
    if body is None:
        return None
    region = Region((counter, *carried), body)
    inits = tuple(loop.inits) if after else tuple(value for value in before if value is not None)
    outs = tuple(given) if after else loop.results
    joined = Op(std.for_, (begin, end, one, inits), outs, loop.attrs, (region,), loop.span)
    place = max(places)
    gone = {*removed, loop, *(frame.defs[value] for value in (given if after else ()))}
    made = [op for op in frame.block[: place + 1] if op not in gone]
    return [*made, *b.ops, joined, *(op for op in frame.block[place + 1 :] if op not in gone)]


def _with_masks(
    frame: _Frame, plain: Op, matching: Matching, own: Sequence[Op], head: Builder, is_first: Value | None,
    masked_where: bool,
) -> tuple[Op, ...] | None:  # fmt: skip
    """Return the operations of the plain iteration, with the masks of the other one in branches.

    own: the operations of the other iteration, if it is a loop's. is_first: whether an iteration is one of the loop
    that comes first. masked_where: its value where the mask is needed.
    """
    body = list(plain.body.ops)
    env: dict[Value, Value] = {other: value for value, other in matching.pairs.items()}
    for value, select in matching.masks.items():
        env.pop(select.result, None)
    if own:
        env |= {other: value for value, other in matching.free.items() if other is not None}
    for value, select in matching.masks.items():
        chain = chain_of_mask(select.condition, env, frame.defs, own)
        made = frame.defs.get(value)
        if chain is None or made not in body or is_first is None:
            return None
        place = next(i for i, op in enumerate(body) if value in _all(op))
        needed = {env[v] for op in chain for v in op.operands if v in env} | {env.get(select.condition)}
        later = {v for op in body[place:] for v in op.results}
        if needed & later:
            return None
        plain_value = Value(value.type, value.hint)
        at = body.index(made)
        body[at] = Op(
            made.kind, made.args, tuple(plain_value if v is value else v for v in made.results), made.attrs,
            made.regions, made.span,
        )  # fmt: skip
        arms = [v for v in (select.on_true, select.on_false)]
        kept = next(v for v in arms if (d := frame.defs.get(v)) is None or d.kind is not std.constant)
        constant = next(v for v in arms if v is not kept)
        known = {**env, kept: plain_value}
        fixed = [] if constant in env else [frame.defs[constant]]
        branch = guarded(
            Op(select.kind, select.args, (value,), select.attrs, (), select.span), kept, is_first, [*chain, *fixed],
            known, masked_where,
        )  # fmt: skip
        body[place:place] = branch
    return (*head.ops, *body)


def _all(op: Op) -> set[Value]:
    """Return the values that an operation uses, those of its regions included."""
    return {*flat(op.args), *(v for region in op.regions for inner in region.walk() for v in inner.operands)}
