"""Contiguity analysis of integer and pointer tensors: consecutive or equal neighbours, and divisors.

A group is a number of successive elements along one dimension that begins at a multiple of this number. A gather whose
groups are consecutive addresses, with one mask for each, is made of vectors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ..cuda_tile import Ptr
from ..cuda_tile.attributes import DivBy
from ..nv_tileaa import Tensor
from ..nv_tileaa import ops as aa
from ..nv_tileaa import standard as std
from ..ssa import Op, Region, Value
from . import ops
from .operands import same_but_ones

MOST = 1 << 30
"""A divisor of what is 0."""
_BOTH = (std.addi, std.subi, std.minsi, std.maxsi, std.minui, std.maxui)
_SAME = (ops.view, ops.expand_dims, ops.broadcast, ops.permute, ops.convert_layout, aa.splat, aa.extract, std.extsi,
         std.extui)  # fmt: skip
_BELOW = ("slt", "ult", "sge", "uge")
"""Comparisons that hold, or not, for a whole group of numbers if the limit is a multiple of its size."""


class Contiguity:
    """Answers contiguity queries about the values of a function."""

    def __init__(self, body: Region) -> None:
        self.defs: Mapping[Value, Op] = {value: op for op in body.walk() for value in op.results}
        self.loops: Mapping[Value, Op] = {op.body.params[0]: op for op in body.walk() if op.kind is std.for_}

    def divisor(self, value: Value) -> int:
        """Return a common divisor of all elements; for pointers, the alignment in elements."""
        loop = self.loops.get(value)
        if loop is not None:
            return math.gcd(self.divisor(loop.lower), self.divisor(loop.step))
        op = self.defs.get(value)
        if op is None:
            return 1
        if op.kind is std.constant and not isinstance(op.value.values.flat[0], np.floating):
            return int(np.gcd.reduce(np.abs(op.value.values.astype(object)), axis=None)) or MOST
        if op.kind is aa.assume and isinstance(op.predicate, DivBy) and op.predicate.every is None:
            size = _size(value)
            return max(1, op.predicate.divisor // size)
        if op.kind is std.muli:
            return min(MOST, self.divisor(op.lhs) * self.divisor(op.rhs))
        if op.kind in _BOTH or op.kind is aa.addptr:
            return math.gcd(*(self.divisor(v) for v in op.operands))
        if op.kind is std.select:
            return math.gcd(self.divisor(op.on_true), self.divisor(op.on_false))
        return self.divisor(op.operands[0]) if op.kind in _SAME else 1

    def consecutive(self, value: Value, axis: int, count: int) -> bool:
        """Return whether each group of `count` elements along `axis` is x, x + 1, … with x divisible by `count`."""
        op = self.defs.get(value)
        if op is None or not isinstance(value.type, Tensor) or value.type.shape[axis] % count:
            return False
        if op.kind is aa.make_range:
            return op.start % count == 0
        if op.kind in (std.addi, aa.addptr):
            a, b = op.operands
            return any(
                self.consecutive(x, axis, count) and self.equal(y, axis, count) and self.divisor(y) % count == 0
                for x, y in ((a, b), (b, a))
            )
        if op.kind is std.subi:
            a, b = op.operands
            return self.consecutive(a, axis, count) and self.equal(b, axis, count) and self.divisor(b) % count == 0
        if op.kind in (std.extsi, std.extui):
            return self.consecutive(op.source, axis, count)
        if _moves(op):
            before = source_axis(op, axis)
            return before is not None and self.consecutive(op.operands[0], before, count)
        return False

    def equal(self, value: Value, axis: int, count: int) -> bool:
        """Return whether each group of `count` elements along `axis` is uniform."""
        op = self.defs.get(value)
        if op is None:
            return False
        if op.kind is aa.splat:
            return True
        if op.kind is std.constant:
            return bool((op.value.values == op.value.values.flat[0]).all())
        if _moves(op):
            before = source_axis(op, axis)
            return before is None or self.equal(op.operands[0], before, count)
        if op.kind is std.cmpi and op.predicate in _BELOW and self.consecutive(op.lhs, axis, count):
            return self.equal(op.rhs, axis, count) and self.divisor(op.rhs) % count == 0
        elementwise = op.kind in std.ELEMENTWISE or op.kind in (std.cmpi, std.cmpf, std.select, aa.addptr, ops.load)
        tensors = [v for v in op.operands if isinstance(v.type, Tensor)]
        return elementwise and all(self.equal(v, axis, count) for v in tensors)


def _moves(op: Op) -> bool:
    """Return whether an operation preserves the order of elements along each dimension."""
    if op.kind in (ops.view, ops.expand_dims):
        return same_but_ones(op.source.type, op.result.type)
    return op.kind in (ops.permute, ops.broadcast, ops.convert_layout)


def source_axis(op: Op, axis: int) -> int | None:
    """Return the source dimension that corresponds to a result dimension of a move, or None."""
    source, result = op.operands[0].type, op.result.type
    if op.kind is ops.convert_layout:
        return axis
    if op.kind is ops.permute:
        return op.permutation[axis]
    if op.kind is ops.broadcast:
        return axis if source.shape[axis] == result.shape[axis] else None
    wide = [a for a, extent in enumerate(result.shape) if extent > 1]
    kept = [a for a, extent in enumerate(source.shape) if extent > 1]
    return kept[wide.index(axis)] if axis in wide else None


def _size(value: Value) -> int:
    """Return the size in bytes of a pointer's pointee, or 1 for a number."""
    element = value.type.element if isinstance(value.type, Tensor) else value.type
    return element.pointee.bits // 8 if isinstance(element, Ptr) else 1
