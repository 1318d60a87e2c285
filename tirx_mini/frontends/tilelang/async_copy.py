"""Lowering of T.async_copy: a group of cp.async from global to shared memory, which the program waits for itself."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tirx_mini.ir import (
    HANDLE,
    INT32,
    UNROLLED,
    AddressOf,
    Analyzer,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    If,
    Region,
    Stmt,
    TileCall,
    TirxError,
    Var,
    binary,
    cast,
    const,
    seq,
    special,
)
from tirx_mini.isa import issue
from tirx_mini.layout import Layout
from tirx_mini.records import dataclass

from .gemm import Place

ASYNC_COPY = "tl.async_copy"
SIZES = (16, 8, 4)
"""Bytes of one cp.async (PTX ISA: "cp.async", cp-size)."""


class AsyncCopyRule:
    """Distributes the 16-byte chunks of a tile over the threads of the team, zero-filling chunks outside the source."""

    def layouts(self, call: TileCall, place: Place) -> Mapping[Buffer, Layout]:
        return {}

    def lower(self, call: TileCall, place: Place) -> Stmt:
        source, target = call.operands[:2]
        assert isinstance(source, Region) and isinstance(target, Region)
        if source.buffer.scope != "global" or target.buffer.scope != "shared":
            raise TirxError("T.async_copy copies from global to shared memory", call.span)
        return _Copy(call, source, target, place).code()


@dataclass(frozen=True)
class _Copy:
    call: TileCall
    source: Region
    target: Region
    place: Place

    def code(self) -> Stmt:
        extents = [n for n in self.source.extents if n != 1] or [1]
        if extents != ([n for n in self.target.extents if n != 1] or [1]):
            raise TirxError(f"T.async_copy of {self.source!r} to {self.target!r}: the extents differ", self.call.span)
        width = self._width()
        chunks = math.prod(extents) // width
        step, count = Var(INT32, "chunk"), self.place.team.count
        number: Expr = special("threadIdx.x") - self.place.team.first + step * count
        digits = self._digits(number, extents, width)
        copy = self._one(digits, width)
        if chunks % count:
            copy = If(number < chunks, copy, span=self.call.span)
        copies = For(step, const(0), const(-(-chunks // count)), copy, unroll=True, span=self.call.span)
        return seq(copies, issue("cp.async.commit_group", span=self.call.span))

    def _width(self) -> int:
        """Return the number of elements of one access: the widest that is contiguous and aligned in both memories."""
        size, last = self.source.buffer.dtype.itemsize, self.source.ranges[-1]
        same = self.source.buffer.dtype == self.target.buffer.dtype and self.source.buffer.layout is None
        extent = self.source.extents[-1]
        near = math.gcd(self.target.extents[-1], self.target.buffer.shape[-1])
        whole = math.gcd(extent, near, self.source.buffer.shape[-1], Analyzer().divisor(last.start))
        return next((n // size for n in SIZES if same and size and n % size == 0 and whole % (n // size) == 0), 1)

    def _digits(self, number: Expr, extents: Sequence[int], width: int) -> list[Expr]:
        """Return the coordinates, within the tile, of a chunk's first element."""
        counts = [*extents[:-1], extents[-1] // width]
        found: list[Expr] = []
        for position, count in reversed(list(enumerate(counts))):
            found.append(number % count if position else number)
            number = number // count
        found.reverse()
        found[-1] = found[-1] * width
        return found

    def _one(self, digits: Sequence[Expr], width: int) -> Stmt:
        far, near = _places(self.source, digits), _places(self.target, digits)
        inside = self._inside(far)
        size = self.source.buffer.dtype.itemsize * width
        if width > 1 or size in SIZES:
            pair = AddressOf(HANDLE, self.target.buffer, near), AddressOf(HANDLE, self.source.buffer, far)
            copy = issue("cp.async", *pair, bytes=size, span=self.call.span)
        else:
            value = cast(self.target.buffer.dtype, BufferLoad(self.source.buffer.dtype, self.source.buffer, far))
            copy = BufferStore(self.target.buffer, near, value, span=self.call.span)
        if inside is None:
            return copy
        lane = Var(INT32, "lane")
        zero = BufferStore(self.target.buffer, (*near[:-1], near[-1] + lane), const(0, self.target.buffer.dtype))
        return If(inside, copy, For(lane, const(0), const(width), zero, kind=UNROLLED), span=self.call.span)

    def _inside(self, indices: Sequence[Expr]) -> Expr | None:
        """Return the condition that a chunk lies inside the array, or None if the tiles cover the array exactly."""
        condition: Expr | None = None
        whole = zip(indices, self.source.ranges, self.source.extents, self.source.buffer.shape, strict=True)
        for index, part, extent, total in whole:
            if extent == 1 or (total % extent == 0 and Analyzer().divisor(part.start) % extent == 0):
                continue
            one = binary("<", index, total)
            condition = one if condition is None else binary("and", condition, one)
        return condition


def _places(region: Region, digits: Sequence[Expr]) -> tuple[Expr, ...]:
    """Return the buffer indices of an element of a region."""
    rest = iter(digits)
    return tuple(
        r.start + next(rest) if extent != 1 else r.start
        for r, extent in zip(region.ranges, region.extents, strict=True)
    )


RULES: Mapping[str, Any] = {ASYNC_COPY: AsyncCopyRule()}
