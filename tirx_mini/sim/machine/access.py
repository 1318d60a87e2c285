"""Plain loads and stores of a warp: bounds, alignment, hazards, values and time, vectorised over the lanes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tirx_mini.records import dataclass

from ..facts import Fact, Fault
from ..ordering import KnownValue, Operation, Segment
from .banks import conflicts
from .dtypes import Index, Number, numpy_dtype
from .image import GlobalBuffer, SharedBuffer
from .interfaces import Warp

Buffer = SharedBuffer | GlobalBuffer
BANK_CONFLICTS = "bank_conflicts"
"""The statistic that counts the extra passes of bank conflicts; the clock ignores them."""


@dataclass(frozen=True)
class ElementOutOfBounds(Fact):
    """An access outside a buffer. element: the index; size: the buffer's number of elements.

    in_bytes: whether they are single bytes that the access joins.
    """

    buffer: str
    element: int
    size: int
    in_bytes: bool = False


@dataclass(frozen=True)
class MisalignedVector(Fact):
    """A vector access whose address is not a multiple of its width, in bytes."""

    buffer: str
    width: int


@dataclass(frozen=True)
class LanesDisagree(Fact):
    """Several lanes of one warp write different values to the same element."""

    buffer: str


class _Span:
    """The memory range of an access: `items` of the access width, of which the indices `where` are touched.

    index: element offsets of the active lanes. granules: those of `segment` that it touches. lanes: the accessing
    lanes.
    """

    __slots__ = ("granules", "index", "items", "lanes", "segment", "where", "width")

    def __init__(self, w: Warp, buffer: Buffer, index: Index, lanes: int) -> None:
        size = buffer.dtype.itemsize
        self.width = width = size * lanes
        self.index = index = active(w, index) if isinstance(index, np.ndarray) else int(index)
        inside = check_bounds(w, buffer, index, lanes)
        if lanes > 1:
            check_alignment(w, buffer, index, lanes)
        if isinstance(buffer, SharedBuffer):
            smem, offset = w.cta.smem, buffer.byte_offset
            self.items = smem.near(width, offset, buffer.end) if inside else smem.view(width)
            self.segment = smem.segment_of(buffer) if inside else None
        else:
            memory = w.gpu.memory
            self.items, offset, self.segment = memory.view(buffer.slot, width), 0, memory.segments.get(buffer.slot)
        self.where = (index // lanes if lanes > 1 else index) + offset // width
        if self.segment is None:
            self.granules = self.lanes = None
            return
        granules: Any = granules_of(self.segment, index, size, offset, width)
        self.granules = granules
        if isinstance(index, np.ndarray) and index.ndim:
            w.agent.scattered = True
            self.lanes = w.mask.owners if granules.ndim == index.ndim else w.mask.owners[:, None]
        else:
            self.lanes = w.mask.owner


def granules_of(segment: Segment, index: Index, size: int, offset: int, width: int) -> np.ndarray | slice:
    """Return the granules of a segment that accesses of `width` bytes to elements of `size` bytes touch."""
    granule, start = segment.granule, offset - segment.start
    if not isinstance(index, np.ndarray):
        first = index * size + start
        return slice(first // granule, -(-(first + width) // granule))
    if width <= granule:
        return (
            index // (granule // size) + start // granule if start % granule == 0 else (index * size + start) // granule
        )
    first = (index * size + start) // granule
    return first[..., None] + np.arange(width // granule)


def active(w: Warp, index: Index) -> Index:
    """Return the element offsets of the active lanes; offsets of inactive lanes are arbitrary."""
    return index[..., w.mask.lanes] if isinstance(index, np.ndarray) and index.ndim and not w.mask.full else index


def check_bounds(w: Warp, buffer: Buffer, index: Index, lanes: int) -> bool:
    """Return whether all elements of a thread's access are inside `buffer`.

    An access to shared memory outside its buffer is recorded, and continues with the adjacent contents, as on hardware.
    An access outside the CTA's shared memory or a global buffer is a fault.
    """
    limit = buffer.size - lanes
    if isinstance(index, np.ndarray):
        if not index.size or index.view(f"u{index.itemsize}").max() <= limit:
            return True
        bad = index[(index < 0) | (index > limit)]
        element, low, high = int(bad.flat[0]), int(index.min()), int(index.max())
    else:
        if 0 <= index <= limit:
            return True
        element = low = high = int(index)
    fact = ElementOutOfBounds(w.origin, buffer.name, element, buffer.size)
    if isinstance(buffer, SharedBuffer):
        size = buffer.dtype.itemsize
        first, end = buffer.byte_offset + low * size, buffer.byte_offset + (high + lanes) * size
        if first >= 0 and end <= w.cta.smem.size:
            w.gpu.facts.record(fact)
            return False
    raise Fault(fact)


def check_alignment(w: Warp, buffer: Buffer, index: Index, lanes: int) -> None:
    width = lanes * buffer.dtype.itemsize
    bad = (index & (lanes - 1)).any() if isinstance(index, np.ndarray) else index & (lanes - 1)
    start = buffer.byte_offset if isinstance(buffer, SharedBuffer) else 0
    if bad or start % width:
        raise Fault(MisalignedVector(w.origin, buffer.name, width))


def load(w: Warp, buffer: Buffer, index: Index, lanes: int) -> Number:
    """See `RunningWarp.load`."""
    one = isinstance(index, int) and lanes == 1 and 0 <= index < buffer.size
    if one and isinstance(buffer, SharedBuffer):
        value = w.cta.cluster.order.shortcut(_load_one, w, buffer, index)
        if value is not None:
            return value
    span = _Span(w, buffer, index, lanes)
    items = _read(w, buffer, span)
    dtype = numpy_dtype(buffer.dtype)
    if not isinstance(items, np.ndarray):
        values = np.asarray(items).view(dtype) if lanes == 1 else np.asarray(items).reshape(1).view(dtype)
        return values.item() if lanes == 1 else values
    if lanes > 1:
        values = np.ascontiguousarray(items).view(dtype).reshape(*items.shape, lanes)
    else:
        values = items.view(dtype)
    return values if w.mask.full else _spread(w, values, items.ndim)


def _load_one(w: Warp, buffer: SharedBuffer, index: int) -> int | float:
    """Load an element of shared memory in an unchecked run, without recording the access."""
    spend_read(w, buffer.dtype.itemsize)
    return peek(w, buffer, index)


def spend_read(w: Warp, nbytes: int) -> None:
    """Advance the warp's time by the read of one element of shared memory."""
    gpu, begin = w.gpu, w.time
    passed = gpu.traffic.access(w.cta.sm.traffic, begin, nbytes)
    w.time = (passed if passed > begin + 1 else begin + 1) + gpu.spec.smem_latency


def peek(w: Warp, buffer: SharedBuffer, index: int) -> int | float:
    """See `RunningWarp.peek`."""
    dtype = buffer.dtype
    size = dtype.itemsize
    if not 0 <= index < buffer.size:
        check_bounds(w, buffer, index, 1)
    items, place = w.cta.smem.near(size, buffer.byte_offset, buffer.end), index + buffer.byte_offset // size
    return items.item(place) if dtype.code == "uint" else items[place : place + 1].view(numpy_dtype(dtype)).item()


def _spread(w: Warp, values: np.ndarray, rank: int) -> np.ndarray:
    """Scatter values of the active lanes to their positions among all lanes (axis rank - 1)."""
    shape = (*values.shape[: rank - 1], 32, *values.shape[rank:])
    full = np.zeros(shape, values.dtype)
    full[(..., w.mask.lanes, *(slice(None),) * (values.ndim - rank))] = values
    return full


def store(w: Warp, buffer: Buffer, index: Index, value: Number, lanes: int, in_cta: bool | None = None) -> None:
    """See `RunningWarp.store`."""
    span = _Span(w, buffer, index, lanes)
    dtype = numpy_dtype(buffer.dtype)
    if in_cta is not None and span.segment is not None:
        scope = (w.cta.cluster.index, w.cta.rank) if in_cta else None
        w.stores.value = KnownValue(np.asarray(value, dtype).tobytes(), scope)
    uniform = not isinstance(index, np.ndarray)
    if isinstance(value, np.ndarray):
        rank = value.ndim - (lanes > 1)
        if rank > 0 and not w.mask.full:
            value = value[(..., w.mask.lanes, *(slice(None),) * (lanes > 1))]
        if uniform and rank > 0:
            value = _one_value(w, buffer, value)
    value = np.ascontiguousarray(value, dtype)
    if lanes > 1:
        value = np.ascontiguousarray(np.broadcast_to(value, (*np.shape(span.index), lanes)))
        value = value.reshape(-1).view(span.items.dtype).reshape(np.shape(span.index))
    else:
        value = value.view(span.items.dtype).reshape(value.shape if value.ndim and not uniform else ())
    _write(w, buffer, span, value)


def _one_value(w: Warp, buffer: Buffer, value: np.ndarray) -> np.ndarray:
    """Return the last lane's value of a store to one location; record a finding if the values differ."""
    if not _all_equal(value):
        _lanes_disagree(w, buffer)
    return value[-1]


def _all_equal(value: np.ndarray) -> bool:
    """Return whether all lanes have the same value; NaN equals NaN."""
    differ = value != value[:1]
    return not (differ.any() and (differ & ((value == value) | (value[:1] == value[:1]))).any())


def _lanes_disagree(w: Warp, buffer: Buffer) -> None:
    w.gpu.facts.record(LanesDisagree(w.origin, buffer.name))


def copy(w: Warp, dst: Buffer, dst_index: Index, src: Buffer, src_index: Index, lanes: int) -> None:
    """See `RunningWarp.copy`."""
    source = _Span(w, src, src_index, lanes)
    target = _Span(w, dst, dst_index, lanes)
    items = _read(w, src, source)
    if not isinstance(dst_index, np.ndarray) and isinstance(items, np.ndarray):
        items = _one_value(w, dst, items)
    _write(w, dst, target, items)


def _read(w: Warp, buffer: Buffer, span: _Span) -> np.ndarray | np.generic:
    if w.dependence is not None and isinstance(buffer, GlobalBuffer):
        w.dependence.check(w, Operation.LOAD, buffer.name, writes=False)
    if span.segment is not None:
        actor = w.loads
        actor.span = w.span
        actor.time = w.time
        actor.lanes = span.lanes
        w.agent.scattered = True
        span.segment.read(span.granules, actor)
    _spend(w, buffer, span, write=False)
    return span.items[span.where]


def _write(w: Warp, buffer: Buffer, span: _Span, items: Any) -> None:
    segment, where = span.segment, span.where
    if w.dependence is not None and isinstance(buffer, GlobalBuffer):
        w.dependence.check(w, Operation.STORE, buffer.name, writes=True)
    if segment is not None:
        actor = w.stores
        actor.span = w.span
        actor.time = w.time
        actor.lanes = span.lanes
        actor.stored = span.items, where, items
        segment.write(span.granules, actor)
        actor.value = actor.stored = None
    span.items[where] = items
    if np.shape(items) == np.shape(where) != () and span.items[where].tobytes() != items.tobytes():
        _lanes_disagree(w, buffer)
    if segment is not None and segment.barriers and isinstance(buffer, SharedBuffer):
        w.cta.written(w.origin, buffer.byte_offset + span.index * buffer.dtype.itemsize, span.width, "store")
    _spend(w, buffer, span, write=True)


def _spend(w: Warp, buffer: Buffer, span: _Span, write: bool) -> None:
    count = span.index.size if isinstance(span.index, np.ndarray) else 1
    if isinstance(buffer, SharedBuffer):
        if count > 1 and isinstance(span.where, np.ndarray) and span.where.ndim == 1:
            extra = conflicts(span.where, span.width)
            if extra:
                w.gpu.count(BANK_CONFLICTS, extra)
        spend_shared(w, count, span.width, write)
        return
    moved, missed = w.gpu.traffic.touch(buffer.slot, span.where, span.width, count)
    spend_global(w, count, span.width, moved, missed, write)


def spend_shared(w: Warp, count: int, width: int, write: bool) -> None:
    """Advance the warp's time by `count` accesses of `width` bytes to shared memory: issue and bank cycles."""
    begin = w.time
    w.time += count / w.mask.count if count > 1 else 1
    w.time = max(w.time, w.gpu.traffic.access(w.cta.sm.traffic, begin, count * width))
    if write:
        return
    if w.loaded >= 0:
        w.loaded = max(w.loaded, w.time + w.gpu.spec.smem_latency)
    else:
        w.time += w.gpu.spec.smem_latency


def spend_global(
    w: Warp, count: int, width: int, moved: int, missed: int, write: bool, *, atomic: bool = False
) -> None:
    """Advance the warp's time by `count` accesses of `width` bytes to global memory: issue, then latency and bandwidth.

    moved, missed: the bytes transferred through the L2, and those that miss it. write: whether no value is waited for.
    """
    traffic, sm, begin = w.gpu.traffic, w.cta.sm.traffic, w.time
    issues = count / w.mask.count if count > 1 else 1
    w.time += issues
    done = traffic.serve(sm, w.time, moved, missed, write, atomic)
    if write:
        w.stored_at = done
        w.gpu.lasts(done)
    elif w.loaded >= 0:
        w.loaded = max(w.loaded, done, traffic.load(sm, begin, count * width, issues))
    else:
        w.time = max(done, traffic.load(sm, begin, count * width, issues))


def spend_fence(w: Warp, scope: str) -> None:
    """Advance the warp's time by a fence that releases its writes: the L2 has answered, to the last of them, too."""
    if scope == "cta":
        return
    latency = w.gpu.spec.l2_latency * (w.gpu.spec.system_fence_cost if scope == "sys" else 1.0)
    w.time = max(w.time + latency, w.stored_at + latency / 2)
