"""Comparison of MMA operands with the tiles that were written to shared memory.

The shadow of shared memory records the last write of each byte, and thereby the tile call or tensor map that made it.
Bytes written by other stores have no layout and are not checked.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache, partial

import numpy as np

from tirx_mini.ir import DataType, Span
from tirx_mini.isa import BlockScales, Format, SmemDescriptor, TmemOperand
from tirx_mini.records import dataclass

from ..facts import Origin
from ..machine import ChunkTable, Cta, Gpu, SharedMemory, WrittenTile
from ..ordering import Access, Operation, distinct
from .issued import Mma, TmemCopy
from .operands import CHUNK, MatrixProduct, Operands, Place
from .tensor_map import BoxCopier, LinearCopier, smem_chunks
from .tile_facts import FactorsMisread, Misread, OwnAccumulator, Seen, TileMisread
from .tile_sums import Entry, TileSum, entry_of
from .tile_views import Mismatch, Reading, TileView, in_order
from .wgmma_group import Issued

FOUND = (Operation.STORE, Operation.CP_ASYNC)
"""The operations of tile calls, which are identified by their source location."""


@dataclass
class Source:
    """The tiles of a range of shared memory. ids: the index in `tiles` of each chunk's tile, or -1; None if one tile
    covers the range. writes: the last writes of the tiles."""

    tiles: list[WrittenTile]
    ids: np.ndarray | None
    writes: list[Access]

    @property
    def key(self) -> Hashable:
        """The identity of the range's tiles."""
        tiles = tuple(map(id, self.tiles))
        return tiles if self.ids is None else (tiles, self.ids.tobytes())


class TileReads:
    """Compares the operands of MMAs with the tiles that they read."""

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self._boxes: dict[tuple[BoxCopier, int], WrittenTile | None] = {}
        self._known: dict[Hashable, Reading | Mismatch] = {}
        self._right: set[tuple[int, int]] = set()  # pairs of readings that are kept, whose MMAs are one sum
        self._sums: dict[Cta, dict[Hashable, TileSum]] = {}

    def of_tcgen05(self, operands: Operands, group: Sequence[Mma], ctas: Sequence[Cta], known: Hashable) -> None:
        """Compare the operands of a chain of tcgen05.mma in each CTA. known: see `Operands.read`."""
        mma = group[0]
        rows, columns = mma.shape.m // mma.cta_group, mma.shape.n // mma.cta_group
        of_a = None if isinstance(mma.a, TmemOperand) else rows
        self._check_overlap(group, ctas[0])
        for cta in ctas:
            if mma.scales is not None:
                self._check_factors(mma, cta, mma.scales)
            sums = (mma.column, mma.lane)
            self._compare(operands, group, cta, (of_a, columns), known, sums, mma.snapshot, mma.accumulate)

    def of_wgmma(self, operands: Operands, group: Sequence[Issued], cta: Cta, known: Hashable) -> None:
        """Compare the operands of a chain of wgmma of a warpgroup."""
        mma = group[0]
        rows = None if mma.product.a is None else mma.shape.m, mma.shape.n
        sums = (mma.registers.array, mma.index)
        self._compare(operands, group, cta, rows, known, sums, mma.clocks, mma.accumulate)

    def of_copy(self, copy: TmemCopy, cta: Cta, items: np.ndarray) -> tuple[WrittenTile, Span | None] | None:
        """Compare a tcgen05.cp of the given chunks with the tile that it reads; return the tile and its last write."""
        low, high = int(items.min()) * CHUNK, (int(items.max()) + 1) * CHUNK
        source = self._source(cta.smem, low, high)
        if source is None:
            return None
        tile, span = source.tiles[0], source.writes[0].span
        key = ("cp", copy.layout, copy.shape, copy.start, source.key)
        if key not in self._known:
            ids = np.zeros(items.shape, np.int16) if source.ids is None else source.ids[items - low // CHUNK]
            found = TileView(items, ids, source.tiles, False, 1, 1).compare()
            # bytes that are no floating-point numbers may have been put in order before the launch
            if isinstance(found, Mismatch) and (not tile.dtype.is_float or in_order(tile, items)):
                found = Reading((None,))
            self._known[key] = found
        if isinstance(self._known[key], Mismatch):
            origin = Origin(copy.role, copy.role, cta.name, copy.span)
            self._gpu.facts.record(FactorsMisread(origin, Misread.SWIZZLE, tile, str(copy.layout), span))
        return tile, span

    def _check_factors(self, mma: Mma, cta: Cta, scales: BlockScales) -> None:
        """Record scale factors whose dtype differs from that of the factors copied to tensor memory."""
        shadow = cta.tmem.shadow
        for address in (scales.a, scales.b):
            number = shadow.writes[0, address & 0xFFFF].item()
            form = shadow.log.accesses[number].form if number > 0 else None
            if not isinstance(form, tuple):
                continue
            copied: tuple[WrittenTile, Span | None] = shadow.log.accesses[number].form
            tile, span = copied
            if tile.dtype.is_float and tile.dtype.bits == 8 and str(tile.dtype) != mma.shape.scale:
                origin = Origin(mma.role, mma.role, cta.name, mma.span)
                self._gpu.facts.record(FactorsMisread(origin, Misread.DTYPE, tile, mma.shape.scale, span))

    def _check_overlap(self, group: Sequence[Mma], cta: Cta) -> None:
        """Record operands in tensor memory that overlap the accumulator of their own sum."""
        mma = group[0]
        shape = mma.shape
        written = mma.column, mma.column + shape.n // shape.parts(mma.cta_group) - 1
        reads: list[tuple[str, int, int]] = []
        if isinstance(mma.a, TmemOperand):
            reads += (("matrix A", each.a_start & 0xFFFF, mma.a.columns(shape)) for each in group)
        if mma.scales is not None:
            rows = (("A", mma.scales.a, shape.m // mma.cta_group), ("B", mma.scales.b, shape.n))
            reads += ((f"the scale factors of {name}", at & 0xFFFF, -(-extent // 32)) for name, at, extent in rows)
        for what, first, width in reads:
            if first <= written[1] and written[0] < first + width:
                origin = Origin(mma.role, mma.role, cta.name, mma.span)
                self._gpu.facts.record(OwnAccumulator(origin, what, (first, first + width - 1), written))

    def forget(self, cta: Cta) -> None:
        """Drop the state of an ended CTA."""
        self._sums.pop(cta, None)

    def _compare(
        self, operands: Operands, group: Sequence[MatrixProduct], cta: Cta, rows: tuple[int | None, int],
        known: Hashable, sums: Hashable, snapshot: object, accumulate: bool,
    ) -> None:  # fmt: skip
        """Compare the operands of a chain of MMAs with the tiles in a CTA's shared memory.

        rows: of A and of B; None for an A outside shared memory. sums: the identity of the accumulator. snapshot: one
        object for MMAs without intervening operations.
        """
        found: list[tuple[Reading, Source] | None] = []
        for which, extent in zip("ab", rows, strict=True):
            place = None if extent is None else operands.place(cta.smem, group, which, extent, known)
            found.append(None if place is None else self._operand(cta, group, which, place))
        if group[0].span in self._gpu.image.tile_writes:
            return  # a tile call, whose operands are slices: the steps are those that its author says
        sums_of = self._sums.setdefault(cta, {})
        whole = sums_of.get(sums)
        fresh = whole is None or whole.snapshot is not snapshot or not accumulate
        if whole is None or fresh:
            whole = sums_of[sums] = TileSum(snapshot)
        whole.waiting += zip(*(self._entries(each, len(group)) for each in found), strict=True)
        alone = all(each is not None and len(each[1].tiles) == 1 for each in found)
        key = (id(found[0] and found[0][0]), id(found[1] and found[1][0]))
        if fresh and alone and key in self._right:
            return  # until others follow
        stray = whole.stray()
        if stray is None:
            if fresh and alone:
                self._right.add(key)
            return
        seen = tuple(Seen((0, 0), spot.element) for spot in stray.spots)
        self._record(cta, group[0], stray.operand, stray.wrong, tuple(spot.tile for spot in stray.spots), None, seen)

    @staticmethod
    def _entries(found: tuple[Reading, Source] | None, count: int) -> Sequence[Entry | None]:
        """Return the start of each MMA in an operand."""
        if found is None:
            return (None,) * count
        reading, source = found
        boxes = {tile: write.form for tile, write in zip(source.tiles, source.writes, strict=True) if tile.loaded}
        entries: list[Entry | None] = []
        for spot in reading.spots:
            form = None if spot is None else boxes.get(spot.tile)
            entries.append(None if spot is None else entry_of(spot, *((form[2], form[0].dims) if form else (None, ()))))
        return entries

    def _operand(
        self, cta: Cta, group: Sequence[MatrixProduct], which: str, place: Place
    ) -> tuple[Reading, Source] | None:
        """Return an operand as a part of tiles, or None if the tiles are unknown or mismatched."""
        source = self._source(cta.smem, place.low, place.high)
        if source is None:
            return None
        mma = group[0]
        fmt: Format = getattr(mma.shape, which)
        key = (id(place.pattern), place.base, len(group), fmt.dtype, source.key)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = _compare(source, place, fmt, len(group))
        if isinstance(found, Reading):
            return found, source
        writer = source.writes[source.tiles.index(found.tile)].span
        self._record(cta, mma, which, found.wrong, (found.tile,), writer, found.seen)
        return None

    def _record(
        self, cta: Cta, mma: MatrixProduct, operand: str, wrong: Misread, tiles: Sequence[WrittenTile],
        writer: Span | None, seen: tuple[Seen, ...],
    ) -> None:  # fmt: skip
        if self._gpu.facts.seen(TileMisread, mma.span, writer, operand):
            return
        shape, which = mma.shape, operand or "a"
        descriptor: SmemDescriptor = getattr(mma, which)
        mn_major = shape.transpose_a if which == "a" else shape.transpose_b
        origin = Origin(mma.role, mma.role, cta.name, mma.span)
        self._gpu.facts.record(
            TileMisread(
                origin, operand, wrong, tuple(tiles), writer, descriptor, getattr(shape, which).dtype, mn_major,
                *offsets(tiles[0]), seen,
            )
        )  # fmt: skip

    # -- tiles -------------------------------------------------------------------------------------------------------

    def _source(self, smem: SharedMemory, low: int, high: int) -> Source | None:
        """Return the tiles last written to a byte range, or None."""
        tiles: list[WrittenTile] = []
        writes: list[Access] = []
        pieces = list(smem.shadow.pieces(low, high))
        ids: np.ndarray | None = None
        for segment, where in pieces:
            numbers = segment.writes[where]
            first = segment.start + where.start * segment.granule
            many = distinct(numbers)
            accesses = [segment.log.accesses[n] if n > 0 else None for n in many]
            found = [self._number(access, max(low, first), tiles, writes) for access in accesses]
            if len(set(found)) == 1 and len(pieces) == 1:
                return Source(tiles, None, writes) if found[0] >= 0 else None
            if ids is None:
                ids = np.full((high - low) // CHUNK, -1, np.int16)
            own = np.full(numbers.shape, -1, np.int16)
            for number, tile in zip(many, found, strict=True):
                own[numbers == number] = tile
            per = max(1, CHUNK // segment.granule)
            begin = max(low, first)
            part = own[(begin - first) // segment.granule :: per]
            chunks = slice((begin - low) // CHUNK, (begin - low) // CHUNK + len(part))
            ids[chunks] = part[: len(ids[chunks])]
        return Source(tiles, ids, writes) if tiles else None

    def _number(self, access: Access | None, first: int, tiles: list[WrittenTile], writes: list[Access]) -> int:
        """Return the index in `tiles` of the tile that a write belongs to, adding it if needed; -1 if unknown."""
        tile = self._tile(access, first) if access is not None else None
        if tile is None or access is None:
            return -1
        if tile not in tiles:
            tiles.append(tile)
            writes.append(access)
        return tiles.index(tile)

    def _tile(self, access: Access, first: int) -> WrittenTile | None:
        if access.operation is Operation.TMA_LOAD:
            place = access.form[:2]
            if place not in self._boxes:
                self._boxes[place] = tile_of_box(*place)
            return self._boxes[place]
        if access.operation not in FOUND:
            return None
        if access.form is None:
            access.form = self._gpu.image.tile_writes.get(access.span, ()) if access.span is not None else ()
        if len(access.form) == 1:
            return access.form[0]
        return next((t for t in access.form if t.start <= first < t.start + t.nbytes), None)


def _compare(source: Source, place: Place, fmt: Format, mmas: int) -> Reading | Mismatch:
    for tile in source.tiles[:1]:
        if tile.dtype.is_float and fmt.dtype != str(tile.dtype) and DataType(fmt.dtype).is_float:
            return Mismatch(Misread.DTYPE, tile)
        if not tile.loaded and {fmt.dtype, str(tile.dtype)} == {"int8", "uint8"}:  # a tensor map has one type of both
            return Mismatch(Misread.DTYPE, tile)
    pattern = place.pattern
    at = pattern.items + place.base // CHUNK
    ids = np.zeros(at.shape, np.int16) if source.ids is None else source.ids[at - place.low // CHUNK]
    return TileView(at, ids, source.tiles, pattern.mn_major, mmas, fmt.itemsize).compare()


def tile_of_box(copier: BoxCopier, offset: int) -> WrittenTile | None:
    """Return the tile that TMA writes from byte `offset` on; None for a linear copy, which has no rows."""
    if isinstance(copier, LinearCopier):
        return None
    tensor_map = copier.tensor_map
    dtype, box = tensor_map.buffer.dtype, tensor_map.box[::-1]
    if dtype.bits < 8 or dtype.itemsize > CHUNK:
        return None
    return WrittenTile(
        copier.name, True, offset, copier.box_bytes, dtype, box, tensor_map.swizzle, box[-1] * dtype.itemsize,
        partial(_table, box, dtype.itemsize, tensor_map.swizzle, offset % 1024),
    )  # fmt: skip


@lru_cache(maxsize=256)
def _table(box: tuple[int, ...], itemsize: int, swizzle: int, phase: int) -> ChunkTable:
    per = CHUNK // itemsize
    shape = (*box[:-1], box[-1] // per)
    places = smem_chunks(int(np.prod(shape)), swizzle, phase)
    coords = np.zeros((len(box), len(places)), np.int32)
    coords[:, places] = np.array(np.unravel_index(np.arange(len(places)), shape))
    coords[-1] *= per
    return ChunkTable(coords, np.ones(len(places), bool), len(box) - 1)


def offsets(tile: WrittenTile) -> tuple[int | None, int | None]:
    """Return the byte distances to the eighth next row of a tile, and to the next group of columns.

    A group is as wide as the swizzle, or a chunk of 16 bytes.
    """
    table = tile.table
    if table is None:
        return None, None
    rows = [d for d, extent in enumerate(tile.shape) if d != table.along and extent > 8]
    group = (tile.swizzle or CHUNK) // tile.dtype.itemsize
    return _distance(table, rows[-1], 8) if rows else None, _distance(table, table.along, group)


def _distance(table: ChunkTable, dim: int, step: int) -> int | None:
    """Return the byte distance from the first chunk of a tile to the one `step` elements further along a dimension."""
    target = np.zeros(len(table.coords), np.int32)
    first = np.flatnonzero((table.coords == target[:, None]).all(axis=0) & table.valid)
    target[dim] = step
    found = np.flatnonzero((table.coords == target[:, None]).all(axis=0) & table.valid)
    return (int(found[0]) - int(first[0])) * CHUNK if len(found) and len(first) else None
