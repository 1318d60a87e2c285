"""Structural comparison of two computations: whether one iteration of a loop computes what another one does.

Two iterations match where they execute the same operations on corresponding values. One of them may also mask a value,
by a `select` between it and a constant, as attention does with the scores on its diagonal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from tirx_mini.records import dataclass

from ..nv_tileaa import standard as std
from ..ssa import Op, Region, Value

MOST_DEPTH = 400
"""Operations between a value and what it is computed from that are followed."""


@dataclass(eq=False)
class Matching:
    """Corresponding values of two iterations, the plain one and the one that may mask.

    defs: the definitions of all values. free: the values of the plain iteration that stand for something of the other
        one, such as the loop's index; None until that is found. body: the operations of the plain iteration, of which
        those with effects may match; elsewhere, equal loads may still load different elements.
    pairs: the values of the plain iteration, and the corresponding ones. masks: the plain iteration's values that the
        other one masks, with its `select` operations.
    """

    defs: Mapping[Value, Op]
    free: dict[Value, Value | None]
    body: frozenset[Op]
    pairs: dict[Value, Value] = field(default_factory=dict)
    masks: dict[Value, Op] = field(default_factory=dict)

    def all(self, plain: Sequence[Value], other: Sequence[Value]) -> bool:
        """Return whether values correspond one to one, and record what they are computed from."""
        return len(plain) == len(other) and all(self.value(a, b, 0) for a, b in zip(plain, other, strict=True))

    def value(self, plain: Value, other: Value, depth: int) -> bool:
        if plain in self.pairs:
            return self.pairs[plain] is other
        if plain in self.free:
            known = self.free[plain]
            if known is None and plain.type == other.type:
                self.free[plain] = known = other
            return known is other
        if plain is other:
            return True
        one, two = self.defs.get(plain), self.defs.get(other)
        if depth > MOST_DEPTH or one is None or two is None:
            return False
        return self._same(one, two, plain, other, depth + 1) or self._masked(two, plain, other, depth + 1)

    def _same(self, one: Op, two: Op, plain: Value, other: Value, depth: int) -> bool:
        """Return whether two operations are of one kind and have corresponding operands."""
        known, free = dict(self.pairs), dict(self.free)
        place = one.results.index(plain)
        if (
            one.kind is two.kind
            and (one.kind.pure or one in self.body)
            and two.results[place] is other
            and one.attrs == two.attrs
            and [v.type for v in one.results] == [v.type for v in two.results]
            and _shape(one) == _shape(two)
            and all(self.value(a, b, depth) for a, b in zip(one.operands, two.operands, strict=True))
            and len(one.regions) == len(two.regions)
            and all(self._bodies(a, b, depth) for a, b in zip(one.regions, two.regions, strict=True))
        ):
            self.pairs.update(zip(one.results, two.results, strict=True))
            return True
        self.pairs, self.free = known, free
        return False

    def _bodies(self, one: Region, two: Region, depth: int) -> bool:
        """Return whether two regions, such as those of reductions, have the same operations."""
        if [p.type for p in one.params] != [p.type for p in two.params] or len(one.ops) != len(two.ops):
            return False
        if any(op.regions for op in one.ops):
            return False
        self.free.update(zip(one.params, two.params, strict=True))
        return all(
            a.kind is b.kind
            and a.attrs == b.attrs
            and len(a.operands) == len(b.operands)
            and all(self.value(x, y, depth) for x, y in zip(a.operands, b.operands, strict=True))
            and all(self.value(x, y, depth) for x, y in zip(a.results, b.results, strict=True))
            for a, b in zip(one.ops, two.ops, strict=True)
        )

    def _masked(self, two: Op, plain: Value, other: Value, depth: int) -> bool:
        """Return whether the other iteration selects between the plain one's value and a constant."""
        arm = kept_arm(two, self.defs)
        if arm is None or plain in self.masks or not self.value(plain, arm, depth):
            return False
        self.pairs[plain] = other
        self.masks[plain] = two
        return True


def _shape(op: Op) -> list[int | None]:
    """Return how many values each operand has: None for a single one."""
    return [len(arg) if isinstance(arg, tuple) else -1 if arg is None else None for arg in op.args]


def used_by(op: Op) -> set[Value]:
    """Return the values that an operation uses, those of its regions included."""
    return {*op.operands, *(value for region in op.regions for inner in region.walk() for value in inner.operands)}


def kept_arm(op: Op, defs: Mapping[Value, Op]) -> Value | None:
    """Return the value that a `select` masks, the arm beside a constant; None for any other operation."""
    if op.kind is not std.select:
        return None
    fixed = [(made := defs.get(arm)) is not None and made.kind is std.constant for arm in (op.on_true, op.on_false)]
    return None if fixed[0] == fixed[1] else op.on_false if fixed[0] else op.on_true
