"""Code generation for asynchronous copies from global to shared memory: TMA and per-thread cp.async."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tirx_mini.ir import HANDLE, AddressOf, Expr, TileCall, const, select
from tirx_mini.tile import OPS

from ..nv_tileas import COPY_BYTES
from ..nv_tileas import pipeline_ops as ops
from ..ssa import Op, OpKind
from .emitter import CLUSTER, Emitter
from .places import SharedTile, tile_region
from .values import Blocks, Pointers, Tile

MOST_SPAN, ATOM_ROWS = 128, 8
"""Bytes of the widest swizzle span, and rows of a swizzle atom."""


def _make_desc(emitter: Emitter, op: Op) -> None:
    """Forward the array; the copies that use the descriptor create the tensor map."""
    emitter.set(op.result, emitter.value(op.memref))


def _tma_load(emitter: Emitter, op: Op) -> None:
    tile: SharedTile = emitter.value(op.buffer)
    blocks: Blocks = emitter.value(op.view)
    box: list[tuple[Expr | int, int]] = [(0, extent) for extent in tile.shape]
    options: dict[str, Any] = {"mbar": emitter.arrives_at}
    own = list(box)
    if emitter.in_pair:
        options["cta_group"] = 2
        assert emitter.rank is not None, "a pair is a cluster"
        for axis, extent in enumerate(tile.shape):
            if extent < blocks.tile[axis]:
                box[axis] = emitter.rank * extent, extent
    if op.multicast:
        assert emitter.rank is not None, "a multicast needs a cluster"
        axis = _halved(tile, blocks.view.buffer.dtype.itemsize)
        half = tile.shape[axis] // CLUSTER
        own[axis] = box[axis] = emitter.rank * half, half
        options["cta_mask"] = (1 << CLUSTER) - 1
    source = tile_region(emitter, blocks, [emitter.scalar(index) for index in op.indices], box)
    emitter.add(copy_async(emitter, tile.region(*own), source, **options))
    emitter.set(op.result, None)


def _halved(tile: SharedTile, itemsize: int) -> int:
    """Return the dimension along which a cluster's CTAs split a load, in whole swizzle spans or groups of eight rows.
    """
    fit = [
        axis
        for axis, extent in enumerate(tile.shape)
        if extent // CLUSTER % (MOST_SPAN // itemsize if tile.contiguous(axis) else ATOM_ROWS) == 0 and extent > 1
    ]
    return max(fit, key=lambda axis: tile.shape[axis])


def _async_load(emitter: Emitter, op: Op) -> None:
    """Emit one cp.async for each vector of the tile whose addresses the thread holds."""
    pointers: Pointers = emitter.value(op.source)
    mask: Tile | None = None if op.mask is None else emitter.value(op.mask)
    tile: SharedTile = emitter.value(op.buffer)
    offsets, layout = pointers.offsets, op.source.type.linear
    assert isinstance(offsets, Tile) and tile.stage is not None
    stage, size = tile.stage, pointers.buffer.dtype.itemsize
    axes = [tile.dims.index(place) for place in range(tile.buffer.ndim - 1)]
    count = COPY_BYTES // size

    def copy(step: Expr) -> None:
        first = step * count
        places = [emitter.coordinate(layout, axis, first) for axis in axes]
        target = tile.buffer.ptr_to([stage, *places])
        place = offsets.at(first)
        if mask is None:
            source = AddressOf(HANDLE, pointers.buffer, (place,))
            emitter.issue("cp.async", target, source, bytes=COPY_BYTES)
            return
        inside = mask.at(first)
        source = AddressOf(HANDLE, pointers.buffer, (select(inside, place, const(0, place.dtype)),))
        read = select(inside, const(COPY_BYTES, "uint32"), const(0, "uint32"))
        emitter.issue("cp.async.zfill", target, source, read, bytes=COPY_BYTES)

    emitter.loop(layout.registers // count, copy, parallel=False)
    emitter.set(op.result, None)


def copy_async(emitter: Emitter, dst: object, src: object, **options: object) -> TileCall:
    """Return a TMA copy issued by the executing thread."""
    return OPS["copy_async"].build(dst, src, dispatch="tma", span=emitter.span, scope="thread", **options)


COPY_OPS: Mapping[OpKind, Callable[[Emitter, Op], None]] = {
    ops.make_tiled_tma_desc: _make_desc,
    ops.tiled_tma_load: _tma_load,
    ops.async_load: _async_load,
}
