"""The MMA operands that descriptors define in shared memory, as matrices of numbers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from tirx_mini.hardware import SWIZZLE_PERIOD
from tirx_mini.ir import Span
from tirx_mini.isa import Format, InstructionDescriptor, SmemDescriptor, TmemOperand, operand_chunks
from tirx_mini.records import dataclass, replace

from ..facts import Fact, Fault, Origin
from ..machine import BatchedSharedMemory, Probe, SharedMemory, TensorMemory, numpy_dtype
from ..ordering import Actor, Unequal
from .numbers import fp4_values, padded_values, to_float
from .submatrix import Submatrix, below
from .tensor_map import BatchedBox, LoadedBox

B = TypeVar("B", LoadedBox, BatchedBox)

CHUNK = 16
PHASE = SWIZZLE_PERIOD
"""The period, in bytes, of operand patterns: addresses that agree modulo this number share a pattern."""


@dataclass(frozen=True)
class OperandOutOfBounds(Fact):
    """A descriptor that leads out of shared memory. operand: "a" or "b". low, high, size: in bytes."""

    operand: str
    low: int
    high: int
    size: int


class MatrixProduct(Protocol):
    """The interface of an issued MMA. a, b: operand layouts, interned; a_start, b_start: their start addresses."""

    @property
    def a(self) -> SmemDescriptor | TmemOperand: ...
    @property
    def a_start(self) -> int: ...
    @property
    def b(self) -> SmemDescriptor: ...
    @property
    def b_start(self) -> int: ...
    @property
    def shape(self) -> InstructionDescriptor: ...
    @property
    def role(self) -> str: ...
    @property
    def span(self) -> Span | None: ...


@dataclass(frozen=True, eq=False)
class Pattern:
    """The location of an operand of one or more MMAs, relative to `base`: 16-byte items, and their byte range.

    items: int64[rows, chunks] (K-major) or int64[depth, chunks]. low, high: in bytes. dense: without gaps.
    """

    items: np.ndarray
    low: int
    high: int
    dense: bool
    mn_major: bool


class Place:
    """The location of an operand: a pattern and its start address.

    low, high: in bytes of shared memory. home: the start of the box that last held the operand. part: the key of the
    operand in that box.
    """

    __slots__ = ("base", "high", "home", "low", "part", "pattern")

    def __init__(self, pattern: Pattern, base: int) -> None:
        self.pattern, self.base = pattern, base
        self.low, self.high = base + pattern.low, base + pattern.high
        self.lies_in(self.low)

    def lies_in(self, home: int) -> None:
        """Set the start address of the box that contains the operand."""
        self.home = home
        self.part = self.pattern, self.low - home


def scaled(right: Submatrix, probe: Probe | None, cta: object, unit: int) -> Submatrix:
    """Return matrix B of a product, scaled by the factor of the probe if there is one. cta, unit: see
    `Probe.factor`."""
    if probe is None:
        return right
    return Submatrix.whole(right.values * np.float32(probe.factor(cta, unit)))


class Operands:
    """Reads operands, with layouts cached. probe: notified of each read."""

    def __init__(self, probe: Probe | None = None) -> None:
        self._probe = probe
        self._patterns: dict[Any, Pattern] = {}
        self._rows: dict[Any, int | None] = {}
        self._lasting: dict[tuple[Hashable, str], Place] = {}
        self._places: dict[tuple[Pattern, int], Place] = {}
        self._kept: list[Any] = []  # keeps the keys of patterns alive, so that their ids stay unique

    def read(
        self, smem: SharedMemory, group: Sequence[MatrixProduct], which: str, rows: int, actor: Actor,
        known: Hashable = None,
    ) -> Submatrix:  # fmt: skip
        """Return the operand of all MMAs of a group, concatenated along K: rows × depth.

        known: the identity of memoised MMAs, which recur in the run.
        """
        fmt = getattr(group[0].shape, which)
        place = self.place(smem, group, which, rows, known)
        pattern, base = place.pattern, place.base
        if self._probe is not None:
            self._probe.read(smem, place.low, place.high)
        if smem.boxes and pattern.dense and not pattern.mn_major and fmt.itemsize >= 1 and not fmt.bits:
            loaded = self._loaded(smem, place, fmt.dtype)
            if loaded is not None:
                return loaded
        if pattern.dense:
            smem.shadow.read(base + pattern.low, base + pattern.high, actor)
        else:
            smem.shadow.read_items(pattern.items.reshape(-1) * 16 + base, 16, actor)
        items = smem.near(CHUNK, base + pattern.low, base + pattern.high)
        chunks = items[pattern.items + base // CHUNK]
        if fmt.bits:
            values = padded_values(chunks, fmt.dtype, fmt.bits)
        elif fmt.itemsize < 1:
            values = fp4_values(chunks)
        else:
            values = to_float(chunks.view(numpy_dtype(fmt.dtype)), fmt.dtype)
        return Submatrix.whole(values.T if pattern.mn_major else values)

    def read_each(
        self, smem: BatchedSharedMemory, group: Sequence[MatrixProduct], which: str, rows: int, known: Hashable
    ) -> list[Submatrix]:
        """Return the operand in each cluster of a batch, where operands are loaded boxes."""
        place = self.place(smem, group, which, rows, known)
        home = smem.boxes.get(place.home)
        if isinstance(home, BatchedBox):
            part = place.part
            found = [block for box in home.boxes if (block := box.operands.get(part)) is not None]
            if len(found) == len(home.boxes):
                return found
        pattern, fmt = place.pattern, getattr(group[0].shape, which)
        if not pattern.dense or pattern.mn_major or fmt.itemsize < 1 or fmt.bits:
            raise Unequal
        blocks: list[Submatrix] = []
        wide = _boxes_at(smem, place.low, place.high, BatchedBox)
        for number in range(len(smem.own)):
            boxes = [(offset, box.boxes[number]) for offset, box in wide]
            block = self._assembled(boxes, pattern, place.low, place.high, fmt.dtype)
            if block is None:
                raise Unequal
            if len(boxes) == 1:
                place.lies_in(boxes[0][0])
                boxes[0][1].operands[place.part] = block
            blocks.append(block)
        return blocks

    def place(
        self, smem: SharedMemory, group: Sequence[MatrixProduct], which: str, rows: int, known: Hashable
    ) -> Place:
        """Return the place of the operand, checked once for memoised MMAs."""
        place = self._lasting.get((known, which)) if known is not None else None
        if place is None:
            at = self.check(smem, group, which, rows)
            place = self._places.get(at)
            if place is None:
                place = self._places[at] = Place(*at)
            if known is not None:
                self._lasting[known, which] = place
        return place

    def _loaded(self, smem: SharedMemory, place: Place, dtype: str) -> Submatrix | None:
        """Return the operand if it consists of loaded boxes or rows of one; otherwise None."""
        box = smem.boxes.get(place.home)
        if isinstance(box, LoadedBox):
            found = box.operands.get(place.part)
            if found is not None:
                return found
        low, high = place.low, place.high
        boxes = _boxes_at(smem, low, high, LoadedBox)
        block = self._assembled(boxes, place.pattern, low, high, dtype)
        if block is not None and len(boxes) == 1:
            home, box = boxes[0]
            place.lies_in(home)
            box.operands[place.part] = block
        return block

    def _assembled(
        self, boxes: Sequence[tuple[int, LoadedBox]], pattern: Pattern, low: int, high: int, dtype: str
    ) -> Submatrix | None:
        """Return the operand that the boxes form, or rows of them."""
        if not boxes:
            return None
        key = (id(pattern), low % PHASE, *((offset - low, box.copier) for offset, box in boxes))
        if key not in self._rows:
            self._rows[key] = _first_row(pattern, boxes, low, high)
        first = self._rows[key]
        if first is None:
            return None
        rows, chunks = pattern.items.shape
        parts = [box.numbers(dtype) for _, box in boxes]
        numbers = parts[0] if len(parts) == 1 else below(parts)
        depth = numbers.rows * numbers.columns // (sum(box.nbytes for _, box in boxes) // CHUNK) * chunks
        if depth != numbers.columns:
            numbers = Submatrix.whole(numbers.values.reshape(-1, depth))
        return numbers.part(first, rows)

    def check(
        self, smem: SharedMemory, group: Sequence[MatrixProduct], which: str, rows: int
    ) -> tuple[Pattern, int]:
        """Return the operand's pattern and base address; raise a fault outside shared memory."""
        mma = group[0]
        layout: SmemDescriptor = getattr(mma, which)
        starts = [m.a_start if which == "a" else m.b_start for m in group]
        base = min(starts) // PHASE * PHASE
        offsets = tuple(start - base for start in starts)
        key = (which, id(layout), id(mma.shape), rows, offsets)
        pattern = self._patterns.get(key)
        if pattern is None:
            pattern = self._patterns[key] = make_pattern(mma, which, rows, offsets)
            self._kept.append((layout, mma.shape))
        if base + pattern.low < 0 or base + pattern.high > smem.size:
            origin = Origin(mma.role, mma.role, "", mma.span)
            raise Fault(OperandOutOfBounds(origin, which, base + pattern.low, base + pattern.high, smem.size))
        return pattern, base


def _boxes_at(smem: SharedMemory, low: int, high: int, kind: type[B]) -> list[tuple[int, B]]:
    """Return the boxes that exactly tile a byte range, or the single box that contains it."""
    found: list[tuple[int, B]] = []
    at = low
    while at < high and isinstance(box := smem.boxes.get(at), kind):
        found.append((at, box))
        at += box.nbytes
    if at == high:
        return found
    for offset, box in smem.boxes.items():
        if offset <= low and high <= offset + box.nbytes and isinstance(box, kind):
            return [(offset, box)]
    return []


def _first_row(pattern: Pattern, boxes: Sequence[tuple[int, LoadedBox]], low: int, high: int) -> int | None:
    """Return the index of the operand's first row among the stacked boxes; None if its rows are not consecutive."""
    rows, chunks = pattern.items.shape
    numbers = np.full((high - low) // CHUNK, -1)
    before = 0
    for offset, box in boxes:
        places = box.places(offset) + (offset - low) // CHUNK
        inside = (places >= 0) & (places < len(numbers))
        numbers[places[inside]] = before + np.flatnonzero(inside)
        before += len(places)
    found = numbers[pattern.items - pattern.low // CHUNK].reshape(-1)
    first, count = int(found[0]), int(rows * chunks)
    straight = np.array_equal(found, np.arange(first, first + count))
    return first // chunks if straight and first % chunks == 0 else None


def read_tmem(
    tmem: TensorMemory, group: Sequence[MatrixProduct], columns: int, groups: slice, actor: Actor
) -> np.ndarray:
    """Return matrix A of all MMAs of a group from tensor memory, concatenated along K: float32[128, depth].

    groups: the lane groups that hold the matrix.
    """
    parts: list[np.ndarray] = []
    for mma in group:
        first = mma.a_start & 0xFFFF
        where = slice(first, first + columns)
        tmem.shadow.read((groups, where), actor)
        parts.append(tmem.words(first, columns))
    fmt = group[0].shape.a
    return to_float(np.ascontiguousarray(np.concatenate(parts, axis=1)).view(numpy_dtype(fmt.dtype)), fmt.dtype)


def make_pattern(mma: MatrixProduct, which: str, rows: int, offsets: Sequence[int]) -> Pattern:
    """Return the pattern of operand `which` ("a" or "b") of MMAs at `offsets` bytes after a multiple of 1024."""
    layout: SmemDescriptor = getattr(mma, which)
    fmt: Format = getattr(mma.shape, which)
    mn_major = mma.shape.transpose_a if which == "a" else mma.shape.transpose_b
    parts = [
        operand_chunks(replace(layout, start=offset), rows, mma.shape.held(which), fmt.itemsize, mn_major)
        for offset in offsets
    ]
    items = np.concatenate(parts, axis=0 if mn_major else 1) // 16
    low, high = int(items.min()), int(items.max()) + 1
    dense = high - low == items.size and bool(np.bincount(items.reshape(-1) - low).all())
    return Pattern(items, low * 16, high * 16, dense, mn_major)
