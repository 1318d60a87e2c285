"""Fast copies and stores of unchecked warps, at a start offset plus a static pattern.

Facts about a pattern are computed once (`passing.Footprint`); after that, only bytes move and time passes. Accesses
that are out of bounds, misaligned or written by several lanes at once take the general path: these functions then
return False without any effect.
"""

from __future__ import annotations

import numpy as np

from .access import BANK_CONFLICTS, Buffer, granules_of
from .banks import conflicts
from .dtypes import Index, Number, numpy_dtype
from .image import SharedBuffer
from .interfaces import Warp
from .memory import WIDTHS
from .timed_access import Footprint, footprint_of, spend

LINE = 128


def move(
    w: Warp,
    dst: Buffer,
    dst_start: int,
    dst_pattern: Index | None,
    src: Buffer,
    src_start: int,
    src_pattern: Index | None,
    lanes: int,
) -> bool:
    """See `RunningWarp.move`."""
    target, source = footprint_of(w, dst_pattern, lanes), footprint_of(w, src_pattern, lanes)
    if not (target.distinct and target.fits(dst, dst_start, lanes) and source.fits(src, src_start, lanes)):
        return False
    items, first = _all(w, src, src_start, source, lanes)
    values = items[source.items + first]
    _pass(w, src, src_start, source, lanes, write=False)
    _put(w, dst, dst_start, target, lanes, values)
    return True


def put(w: Warp, buffer: Buffer, start: int, pattern: Index | None, value: Number, lanes: int) -> bool:
    """See `RunningWarp.put`."""
    target = footprint_of(w, pattern, lanes)
    if not (target.distinct and target.fits(buffer, start, lanes)):
        return False
    _put(w, buffer, start, target, lanes, _as_items(w, buffer, target, value, lanes))
    return True


def _as_items(w: Warp, buffer: Buffer, target: Footprint, value: Number, lanes: int) -> np.ndarray:
    """Convert values of the active lanes to items of one lane's store."""
    dtype, shape = numpy_dtype(buffer.dtype), target.items.shape
    if isinstance(value, np.ndarray) and value.ndim > (lanes > 1) and not w.mask.full:
        value = value[(..., w.mask.lanes, *(slice(None),) * (lanes > 1))]
    whole = (*shape, lanes) if lanes > 1 else shape
    values = np.asarray(value, dtype)
    if values.shape != whole:
        values = np.broadcast_to(values, whole)
    return np.ascontiguousarray(values).reshape(-1).view(WIDTHS[buffer.dtype.itemsize * lanes]).reshape(shape)


def _all(w: Warp, buffer: Buffer, start: int, span: Footprint, lanes: int) -> tuple[np.ndarray, int]:
    """Return a memory as items of one lane's access, with the number of the first item."""
    size = buffer.dtype.itemsize
    width = size * lanes
    if isinstance(buffer, SharedBuffer):
        first = buffer.byte_offset
        items = w.cta.smem.near(width, first + (start + span.low) * size, first + (start + span.high + lanes) * size)
        return items, first // width + start // lanes
    return w.gpu.memory.view(buffer.slot, width), start // lanes


def _put(w: Warp, buffer: Buffer, start: int, span: Footprint, lanes: int, values: np.ndarray) -> None:
    if not isinstance(buffer, SharedBuffer):
        segment = w.gpu.memory.segments.get(buffer.slot)
        if segment is not None:
            actor = w.stores
            actor.span, actor.time = w.span, w.time
            size = buffer.dtype.itemsize
            segment.write(granules_of(segment, start + span.pattern, size, 0, size * lanes), actor)
    items, first = _all(w, buffer, start, span, lanes)
    items[span.items + first] = values
    _pass(w, buffer, start, span, lanes, write=True)


def _pass(w: Warp, buffer: Buffer, start: int, span: Footprint, lanes: int, write: bool) -> None:
    """Advance the warp's time by an access, and count the passes of bank conflicts."""
    if isinstance(buffer, SharedBuffer) and span.count > 1 and span.items.ndim == 1:
        size = buffer.dtype.itemsize
        byte = (buffer.byte_offset + start * size) % LINE
        extra = span.repeats.get(byte)
        if extra is None:
            width = size * lanes
            extra = span.repeats[byte] = conflicts(span.items + (buffer.byte_offset // width + start // lanes), width)
        if extra:
            w.gpu.count(BANK_CONFLICTS, extra)
    spend(w, buffer, span, start, lanes, write)
