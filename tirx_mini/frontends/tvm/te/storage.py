"""Storage of a tensor's elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tirx_mini.ir import Analyzer, Buffer, Expr, TirxError, const
from tirx_mini.passes import Padding, padded

from .nest import Nest
from .stage import ACCUMULATOR, Stage

FRAGMENT = (16, 8)
"""The rows and columns of one accumulator of a tensor core (PTX ISA, "Matrix Fragments for mma.m16n8k16")."""
REGISTERS = 4
"""The elements of it that each lane of a warp holds."""


class Storage(NamedTuple):
    """The storage of a tensor region that starts at `first`, in the dimensions `kept` of `buffer`.

    fragments: the shape of what a lane holds of one tile, for accumulators of tensor cores; None for all others.
    by_dims: whether regions are indexed dimension by dimension, because the size of the buffer may still change.
    """

    buffer: Buffer
    first: tuple[Expr, ...]
    kept: tuple[int, ...]
    fragments: tuple[int, ...] | None = None
    by_dims: bool = False

    def place(self, indices: Sequence[Expr], ranges: Analyzer) -> tuple[Expr, ...]:
        """Return the buffer indices of a tensor element. Raises `TirxError` for accumulators."""
        if self.fragments is not None:
            raise TirxError(
                f"{self.buffer.name} is spread over the lanes of a warp, so single elements of it cannot be accessed",
                self.buffer.span,
                "tensorize the loops that access it: te.mma() computes it, and te.mma_store() copies it",
            )
        return tuple(ranges.simplify(indices[dim] - self.first[dim]) for dim in self.kept)

    def region(self, first: Sequence[Expr], ranges: Analyzer) -> tuple[Expr, list[int]]:
        """Return the element offset of a region that starts at `first`, and the strides of its dimensions."""
        if self.fragments is None:
            strides = strides_of(self.buffer)
            places = zip(self.place(first, ranges), strides, strict=True)
            start = ranges.simplify(_sum([place * stride for place, stride in places]))
            every = [0] * len(first)
            for dim, stride in zip(self.kept, strides, strict=True):
                every[dim] = stride
            return start, every
        columns = self.buffer.shape[1]
        row, column = (ranges.simplify(one - own) for one, own in zip(first[-2:], self.first[-2:], strict=True))
        if not (ranges.divisible(row, FRAGMENT[0]) and ranges.divisible(column, FRAGMENT[1])):
            raise TirxError(f"a tile of {self.buffer.name} begins within a fragment", self.buffer.span)
        number = row // FRAGMENT[0] * columns + column // FRAGMENT[1]
        return ranges.simplify(number * REGISTERS), [1]


def strides_of(buffer: Buffer) -> list[int]:
    """Return the stride of each dimension, in elements."""
    if buffer.layout is not None:
        units = ([int(dim == along) for dim in range(buffer.ndim)] for along in range(buffer.ndim))
        return [buffer.layout.apply_m(*unit) for unit in units]
    strides = [1] * buffer.ndim
    for dim in reversed(range(buffer.ndim - 1)):
        strides[dim] = strides[dim + 1] * buffer.shape[dim + 1]
    return strides


def _sum(parts: Sequence[Expr]) -> Expr:
    total: Expr = const(0)
    for part in parts:
        total = total + part
    return total


def storage_of(stage: Stage, tensor: Buffer, nest: Nest, scope: str, whole: bool) -> Storage:
    """Create the buffer for the region of `tensor` that a stage computes.

    whole: whether dimensions of one element are kept.
    """
    sizes = nest.sizes
    if scope == ACCUMULATOR:
        return _accumulator(stage, nest)
    kept = [dim for dim, size in enumerate(sizes) if size > 1 or stage.align or whole]
    kept = kept or [len(sizes) - 1]
    shape = tuple(sizes[dim] for dim in kept)
    layout = None
    if stage.align:
        named: Mapping[int, tuple[int, int]] = {
            stage.compute.axis.index(axis): padding for axis, padding in stage.align.items()
        }
        layout = padded(shape, [Padding(kept.index(dim), *padding) for dim, padding in named.items()])
    buffer = Buffer(tensor.name, shape, tensor.dtype, scope, layout, span=stage.op.span)
    return Storage(buffer, nest.first, tuple(kept))


def _accumulator(stage: Stage, nest: Nest) -> Storage:
    *outer, rows, columns = nest.sizes
    if any(size > 1 for size in outer) or rows % FRAGMENT[0] or columns % FRAGMENT[1] or not nest.sizes[1:]:
        raise TirxError(
            f"{stage.op.name} is an accumulator of {' × '.join(map(str, nest.sizes))}, which is not a multiple of "
            f"{FRAGMENT[0]} × {FRAGMENT[1]}",
            stage.op.span,
            "compute it at a loop whose iterations need whole tiles",
        )
    shape = (rows // FRAGMENT[0], columns // FRAGMENT[1], REGISTERS)
    buffer = Buffer(stage.op.name, shape, stage.tensor.dtype, "local", span=stage.op.span)
    return Storage(buffer, nest.first, (), (REGISTERS,))
