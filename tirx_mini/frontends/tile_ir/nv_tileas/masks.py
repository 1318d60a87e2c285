"""The pass tileas-guard-masks: a mask that only some iterations of a loop need stands in a branch.

In causal attention, only the scores on the diagonal are masked, and elements beyond the end of an array are only in
the last tiles. A program may compute the mask in every iteration all the same. A mask compares rows and columns, that
is, a number of the iteration and a range. The greatest and the least element of each side are numbers, too; so one
comparison of these tells whether the mask holds for a whole tile, and a branch leaves it out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from tirx_mini.records import dataclass

from ..context import Context
from ..cuda_tile import Dense
from ..nv_tileaa import Tensor
from ..nv_tileaa import ops as aa
from ..nv_tileaa import standard as std
from ..ssa import Builder, Module, Op, Region, Scalar, Value, make, remove_dead
from . import ops
from .matching import kept_arm
from .operands import definitions, number_of_constant

LEAST = 1024
"""Elements of a tile whose mask is worth a branch."""
SAME = (ops.view, ops.expand_dims, ops.broadcast, ops.permute)
"""Operations that only rename elements, or repeat them."""
CHEAP = (
    aa.make_range, aa.splat, std.constant, std.addi, std.subi, std.muli, std.cmpi, std.andi, std.ori, std.xori, *SAME,
)  # fmt: skip
"""Operations of masks, which are repeated where the mask is needed."""
_OPPOSITE = {"slt": "sge", "sge": "slt", "sle": "sgt", "sgt": "sle", "ult": "uge", "uge": "ult"}
_SWAPPED = {"sgt": "slt", "sge": "sle"}
I1 = Scalar("i1")


def guard_masks(module: Module, context: Context) -> Module:
    """Put masks that only some iterations of a loop need into branches."""
    found = tuple(_function(op, context) if op.kind is aa.func else op for op in module.ops)
    return module if found == module.ops else remove_dead(Module(module.name, found))


def _function(func: Op, context: Context) -> Op:
    body = _guarded(func.body, definitions(func.body), context)
    return func if body is func.body else Op(func.kind, func.args, func.results, func.attrs, (body,), func.span)


def _guarded(region: Region, defs: Mapping[Value, Op], context: Context) -> Region:
    """Guard the masks of all loops in a region; it is the region itself where there are none."""
    made: list[Op] = []
    for op in region.ops:
        if op.kind in (std.for_, std.while_, std.if_):
            regions = tuple(_guarded(inner, defs, context) for inner in op.regions)
            if any(new is not old for new, old in zip(regions, op.regions, strict=True)):
                op = Op(op.kind, op.args, op.results, op.attrs, regions, op.span)
        if op.kind is std.for_ and any(inner.kind is ops.dot for inner in op.body.ops):
            body = _loop_body(op.body, defs, context)
            if body is not op.body:
                op = Op(op.kind, op.args, op.results, op.attrs, (body,), op.span)
        made.append(op)
    same = len(made) == len(region.ops) and all(a is b for a, b in zip(made, region.ops, strict=True))
    return region if same else Region(region.params, tuple(made))


def _loop_body(body: Region, defs: Mapping[Value, Op], context: Context) -> Region:
    """Guard the masks of products in a loop's body."""
    varying = _varying(body)
    made: list[Op] = []
    for op in body.ops:
        kept = kept_arm(op, defs)
        if kept is not None and _is_worth_it(op, kept, varying, defs):
            builder = Builder(op.span)
            want = kept is op.on_true
            needless = Bounds(builder, defs).holds(op.condition, want)
            if needless is not None:
                chain = chain_of_mask(op, {}, defs, ())
                if chain is not None:
                    made += [*builder.ops, guarded(op, kept, needless, chain, {}, masked_where=False)]
                    continue
            context.note(
                "this mask is computed in every iteration of its loop: no comparison of its bounds says which "
                "iterations need it",
                op.span,
                "compare a sum of a number and ct.arange with another one, or with a number",
            )
        made.append(op)
    return body if len(made) == len(body.ops) else Region(body.params, tuple(made))


def _varying(body: Region) -> set[Value]:
    """Return the values that differ between iterations."""
    found = set(body.params)
    for op in body.ops:
        if not op.kind.pure or found & set(op.operands):
            found.update(op.results)
    return found


def _is_worth_it(op: Op, kept: Value, varying: set[Value], defs: Mapping[Value, Op]) -> bool:
    """Return whether a select masks a large tile that a product has computed, by a mask that changes."""
    large = isinstance(op.result.type, Tensor) and op.result.type.size >= LEAST
    if not large or op.condition not in varying:
        return False
    made = defs.get(kept)
    while made is not None and (made.kind in std.ELEMENTWISE or made.kind is aa.fp_to_fp) and made.operands:
        made = next((d for v in made.operands if (d := defs.get(v)) is not None and v in varying), None)
    return made is not None and made.kind is ops.dot


def guarded(
    op: Op, kept: Value, condition: Value, chain: Sequence[Op], env: Mapping[Value, Value], masked_where: bool
) -> Op:
    """Return a branch that stands for a select and has its result.

    kept: the value that it masks. chain: the operations of its mask, which are repeated in the branch; env: what stands
    for values that they use. masked_where: the value of `condition` for which it masks.
    """
    inner = Builder(op.span)
    made = {value: each for each in chain for value in each.results}

    def again(value: Value) -> Value:
        """Compute a value for one use, so that it needs no layout that another use has."""
        each = made.get(value)
        if each is None or value in env:
            return env.get(value, value)
        args = tuple(again(v) for v in each.operands)
        return inner.add(Op(each.kind, args, (Value(value.type, value.hint),), each.attrs, (), each.span)).result

    masked = inner.emit(std.select, *(again(v) for v in op.operands), hint=op.result.hint)
    inner.emit(std.yield_, [masked])
    with_mask = Region((), tuple(inner.ops))
    without = Region((), (make(std.yield_, ((env.get(kept, kept),),)),))
    regions = (with_mask, without) if masked_where else (without, with_mask)
    return Op(std.if_, (condition,), op.results, {}, regions, op.span)


def chain_of_mask(
    select: Op, env: Mapping[Value, Value], defs: Mapping[Value, Op], own: Sequence[Op]
) -> list[Op] | None:
    """Return the operations that compute the mask and the constant of a select, or None if some cannot be repeated.

    env: the values that need not be computed. own: operations whose numbers, too, must be computed.
    """
    kept = kept_arm(select, defs)
    found: dict[Op, None] = {}
    inside = {v for op in own for v in op.results}

    def visit(current: Value) -> bool:
        if current in env or not (isinstance(current.type, Tensor) or current in inside):
            return True
        op = defs.get(current)
        if op is None or not op.kind.pure or op.regions:
            return current not in inside and isinstance(current.type, Tensor)
        if op.kind not in CHEAP and current not in inside:
            return True
        if not all(visit(v) for v in op.operands):
            return False
        found[op] = None
        return True

    return list(found) if all(visit(value) for value in select.operands if value is not kept) else None


@dataclass(frozen=True)
class Bound:
    """A number: that of `base`, or 0, plus `offset`."""

    base: Value | None
    offset: int


class Bounds:
    """Emits the conditions under which a mask holds for all elements of a tile."""

    def __init__(self, builder: Builder, defs: Mapping[Value, Op]) -> None:
        self.builder, self.defs = builder, defs
        self.sure: list[Value] = []
        """Conditions under which no sum wraps around."""

    def holds(self, mask: Value, want: bool) -> Value | None:
        """Return the number, an i1, that implies that all elements of a mask are `want`; None if none is found."""
        found = self._holds(mask, want)
        for sure in dict.fromkeys(self.sure) if found is not None else ():
            found = self.builder.emit(std.andi, found, sure)
        return found

    def _holds(self, mask: Value, want: bool) -> Value | None:
        op = self.defs.get(mask)
        if op is None:
            return None
        if op.kind in SAME:
            return self._holds(op.source, want)
        if op.kind in (std.andi, std.ori):
            parts = [self._holds(value, want) for value in op.operands]
            both = (op.kind is std.andi) == want
            known = [part for part in parts if part is not None]
            if not known or (both and len(known) < len(parts)):
                return None
            joined = std.andi if both else std.ori
            return known[0] if len(known) == 1 else self.builder.emit(joined, *known)
        if op.kind is std.cmpi:
            predicate = op.predicate if want else _OPPOSITE.get(op.predicate)
            return None if predicate is None else self._compared(predicate, op.lhs, op.rhs)
        return None

    def _compared(self, predicate: str, lhs: Value, rhs: Value) -> Value | None:
        if predicate in _SWAPPED:
            predicate, lhs, rhs = _SWAPPED[predicate], rhs, lhs
        high, low = self.of(lhs, 1), self.of(rhs, 0)
        if high is None or low is None:
            return None
        if predicate in ("slt", "sle"):
            return self.builder.emit(std.cmpi, self._number(high, lhs), self._number(low, rhs), predicate=predicate)
        least = self.of(lhs, 0)
        if predicate != "ult" or least is None or low.base is not None or low.offset < 0:
            return None
        zero = self._number(Bound(None, 0), lhs)
        from_zero = self.builder.emit(std.cmpi, zero, self._number(least, lhs), predicate="sle")
        below = self.builder.emit(std.cmpi, self._number(high, lhs), self._number(low, rhs), predicate="slt")
        return self.builder.emit(std.andi, from_zero, below)

    def of(self, value: Value, side: Literal[0, 1]) -> Bound | None:
        """Return the least element of a tensor (side 0), or the greatest one (side 1); None if it is not found."""
        op = self.defs.get(value)
        if op is None:
            return None
        if op.kind in SAME:
            return self.of(op.source, side)
        if op.kind is aa.splat:
            known = number_of_constant(self.defs.get(op.source))
            return Bound(op.source, 0) if known is None else Bound(None, known)
        if op.kind is std.constant:
            values = op.value.values
            return Bound(None, int(values.max() if side else values.min()))
        if op.kind is aa.make_range:
            return Bound(None, op.end - 1 if side else op.start)
        return self._sum(op, side) if op.kind is std.addi else None

    def _sum(self, op: Op, side: Literal[0, 1]) -> Bound | None:
        sides = [[self.of(v, 0), self.of(v, 1)] for v in op.operands]
        if any(bound is None for pair in sides for bound in pair):
            return None
        fixed = next((pair for pair in sides if all(b is not None and b.base is None for b in pair)), None)
        if fixed is None:
            return None
        other = sides[0] if fixed is sides[1] else sides[1]
        element = op.result.type.element
        for near, far in zip(other, fixed, strict=True):
            assert near is not None and far is not None
            self._fits(near, far.offset, element)
        base, more = other[side], fixed[side]
        assert base is not None and more is not None
        return Bound(base.base, base.offset + more.offset)

    def _fits(self, bound: Bound, more: int, element: Scalar) -> None:
        """Add the condition that the sum of a number and `more` does not wrap around, unless that is certain."""
        total = bound.offset + more
        if bound.base is None or total == bound.offset == 0 or 0 <= total < self._divisor(bound.base):
            return
        most = (1 << element.bits - 1) - 1
        limit, predicate = (most - total, "sle") if total > 0 else (-most - 1 - total, "sge")
        edge = self.builder.emit(std.constant, types=[element], value=Dense.of(str(element), limit))
        self.sure.append(self.builder.emit(std.cmpi, bound.base, edge, predicate=predicate))

    def _divisor(self, base: Value) -> int:
        """Return a power of two that divides a number: of products, also where these wrap around."""
        op = self.defs.get(base)
        known = [number_of_constant(self.defs.get(v)) for v in op.operands] if op is not None else []
        factor = next((n for n in known if n), 1) if op is not None and op.kind is std.muli else 1
        return factor & -factor

    def _number(self, bound: Bound, like: Value) -> Value:
        """Emit a bound as a number of the type of a tensor's elements."""
        element = like.type.element
        if bound.base is not None and not bound.offset:
            return bound.base
        offset = self.builder.emit(std.constant, types=[element], value=Dense.of(str(element), bound.offset))
        return offset if bound.base is None else self.builder.emit(std.addi, bound.base, offset)
