"""The FlattenBuffers pass: give every access a single index, the element's position in its storage.

Only this pass applies layouts, including swizzles. It also resolves views: a view of registers to the registers, a view
of shared memory to its source. Tensor memory has addresses instead of elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

from tirx_mini.ir import (
    INT64,
    UINT32,
    AddressOf,
    AllocBuffer,
    Buffer,
    BufferLoad,
    BufferStore,
    DeclBuffer,
    Expr,
    Mutator,
    PrimFunc,
    Ramp,
    Seq,
    Span,
    Stmt,
    TirxError,
    as_expr,
    cast,
    const,
    simplify,
)
from tirx_mini.layout import Layout, TCol, TLane, m, vector_length
from tirx_mini.records import replace
from tirx_mini.tile import coordinate, layout_of

from .retyped import retyped_index, retyped_load, retyped_store

MOST_INT32 = 2**31 - 1
"""The number of elements that an int32 can index; larger global buffers use int64."""


def flatten_buffers(func: PrimFunc, aligned: bool = True) -> PrimFunc:
    """Flatten the accesses to buffers, resolving views except for shared buffers, which may be in the pool.

    A single index into a buffer of several dimensions is already flat: dispatch emits such accesses.

    aligned: whether the machine, as a GPU does, accesses a vector only at a multiple of its size.
    """
    return func.with_body(_Flatten(aligned).stmt(func.body))


def _whole_bytes(node: BufferLoad | BufferStore) -> None:
    """Raise `TirxError` for a memory access to a single 4-bit element; in registers, each occupies a byte."""
    buffer = node.buffer
    if buffer.dtype.bits < 8 and buffer.scope != "local" and not isinstance(node.indices[-1], Ramp):
        raise TirxError(
            f"a byte holds two elements of {buffer.name}, so that a thread cannot access one of them by itself",
            node.span, "access the bytes: a uint8 buffer of which it is a view",
        )  # fmt: skip


class _Storage(NamedTuple):
    """The storage of a buffer, `first` elements of its dtype after the start of `holder`.

    The holder may have another dtype: then accesses reinterpret its bits (`passes/retyped.py`).
    """

    holder: Buffer
    first: int | Expr


class _Flatten(Mutator):
    def __init__(self, aligned: bool) -> None:
        self.aligned = aligned
        self.padded: dict[Buffer, Buffer] = {}
        self.storages: dict[Buffer, _Storage] = {}

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        _whole_bytes(node)
        buffer, index = self._place(node.buffer, node.indices, node.span)
        if buffer.dtype != node.buffer.dtype:
            return retyped_load(buffer, node.buffer.dtype, index, node.span)
        return BufferLoad(node.dtype, buffer, (index,), span=node.span)

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        _whole_bytes(node)
        buffer, index = self._place(node.buffer, node.indices, node.span)
        value = self.expr(node.value)
        if buffer.dtype != node.buffer.dtype:
            return retyped_store(buffer, node.buffer.dtype, index, value, node.span)
        return BufferStore(buffer, (index,), value, span=node.span)

    def visit_AddressOf(self, node: AddressOf) -> Expr:
        if node.buffer.scope == "tmem":
            return self._tmem_address(node)
        buffer, index = self._place(node.buffer, node.indices, node.span)
        if buffer.dtype != node.buffer.dtype:
            index = retyped_index(buffer, node.buffer.dtype, index, node.span)
        return AddressOf(node.dtype, buffer, (index,), span=node.span)

    def visit_AllocBuffer(self, node: AllocBuffer) -> Stmt:
        buffer = self._storage(node.buffer).holder
        return node if buffer is node.buffer else replace(node, buffer=buffer)

    def visit_DeclBuffer(self, node: DeclBuffer) -> Stmt:
        if node.buffer.scope != "shared":
            return Seq((), span=node.span)
        storage = self._storage(node.buffer).holder
        if storage is node.buffer:
            return node
        retyped = storage.dtype == node.buffer.dtype and storage.name == node.buffer.name
        return replace(node, buffer=storage) if retyped else Seq((), span=node.span)

    def _place(self, buffer: Buffer, indices: tuple[Expr, ...], span: Span | None) -> tuple[Buffer, Expr]:
        if buffer.scope == "tmem":
            raise TirxError(
                f"{buffer.name} is in tensor memory, whose elements a thread cannot load or store",
                span,
                "copy it to registers first: Tx.copy(register view, tile) in `with Tx.warpgroup():`",
            )
        storage, offset = self._storage(buffer)
        *outer, last = (self.expr(index) for index in indices or (const(0),))  # one of rank 0 has one element
        if not outer and buffer.ndim != 1:
            return storage, _shifted(last, offset)
        vector = last if isinstance(last, Ramp) else None
        coords = [coordinate(index) for index in (*outer, vector.base if vector is not None else last)]
        layout = layout_of(buffer)
        if vector is not None and not self._is_vector(layout, vector.lanes):
            raise TirxError(
                f"{vector.lanes} neighbouring elements of {buffer.name} are not one vector: they lie apart in memory",
                span,
                f"access at most {vector_length(layout)} elements at once",
            )
        if buffer.scope == "global" and buffer.size > MOST_INT32:
            coords = [cast(INT64, c) if isinstance(c, Expr) else c for c in coords]
        place = as_expr(layout.place(*coords).get(m, 0)) + offset + _past_the_end(buffer, coords)
        return storage, replace(vector, base=place, dtype=place.dtype) if vector is not None else place

    def _is_vector(self, layout: Layout, lanes: int) -> bool:
        """Return whether any `lanes` neighbours along the last dimension can be accessed as a vector."""
        if self.aligned or layout is not layout.linear:
            return lanes == 1 or vector_length(layout) % lanes == 0 or _begins_rows(layout, lanes)
        last = [it for it in layout.linear.dims[-1] if it.extent > 1]
        return not last or (len(last) == 1 and last[0].stride == 1 and last[0].axis == m)

    def _tmem_address(self, node: AddressOf) -> Expr:
        if node.buffer.allocated_addr is None:
            raise TirxError(f"{node.buffer.name} has no address", node.span, "pass allocated_addr= to decl_buffer")
        place = layout_of(node.buffer).apply(*(coordinate(self.expr(index)) for index in node.indices))
        column, lane = (cast(UINT32, as_expr(place.get(axis, 0))) for axis in (TCol, TLane))
        return cast(UINT32, self.expr(node.buffer.allocated_addr)) + column + (lane << 16)

    def _storage(self, buffer: Buffer) -> _Storage:
        if buffer not in self.storages:
            static, dynamic = self._offset(buffer)
            if buffer.scope == "shared":
                self.storages[buffer] = _shared_storage(buffer, static, dynamic, self._unpadded)
            else:
                self.storages[buffer] = _Storage(self._held(buffer.root), _first(buffer, static, dynamic))
        return self.storages[buffer]

    def _unpadded(self, buffer: Buffer) -> Buffer:
        """Return the storage of a buffer with its layout's padding as explicit elements, cached per buffer."""
        if buffer.layout is None or buffer.layout.cosize(m) <= buffer.size:
            return buffer
        return self.padded.setdefault(buffer, replace(buffer, shape=(buffer.layout.cosize(m),), layout=None))

    def _held(self, root: Buffer) -> Buffer:
        """Return the per-thread registers of a distributed buffer, shared by all its views."""
        if root.scope != "local" or root.layout is None:
            return root
        return self.padded.setdefault(root, replace(root, shape=(root.layout.cosize(m),), layout=None))

    def _offset(self, buffer: Buffer) -> tuple[int, Expr | None]:
        """Return the offset of a view in its root or pool: static bytes, and dynamic elements."""
        static, dynamic, view = 0, None, buffer
        while view.source is not None:
            if view.elem_offset is not None:
                more = self.expr(view.elem_offset)
                if view.dtype.bits != buffer.dtype.bits:
                    more = simplify(more * view.dtype.bits // buffer.dtype.bits)
                dynamic = more if dynamic is None else dynamic + more
            if not (view.scope == "shared" and _is_bytes(view.source)):
                static += view.byte_offset
            view = view.source
        return static, dynamic


def _first(buffer: Buffer, static: int, dynamic: Expr | None) -> int | Expr:
    elements, rest = divmod(static * 8, buffer.dtype.bits)
    if rest:
        raise TirxError(f"{buffer.name} begins at byte {static}, inside of an element of {buffer.dtype}", buffer.span)
    return elements if dynamic is None else dynamic + elements


def _shared_storage(
    buffer: Buffer, static: int, dynamic: Expr | None, unpadded: Callable[[Buffer], Buffer]
) -> _Storage:
    """Return the storage of a shared view: its source, or a separate adjacent buffer if the dtypes differ."""
    storage = buffer
    while storage.source is not None and not _is_bytes(storage.source):
        storage = storage.source
    storage = unpadded(storage)
    if storage.dtype == buffer.dtype:
        if storage.scalar or storage.elem_offset is not None:
            storage = replace(storage, scalar=False, elem_offset=None)
        return _Storage(storage, _first(buffer, static, dynamic))
    base, start = (storage.source, storage.byte_offset) if storage.source is not None else (storage, 0)
    if dynamic is None:
        return _Storage(replace(buffer, source=base, byte_offset=start + static), 0)
    elements = storage.layout.cosize() if storage.layout is not None else storage.size
    whole = (elements * storage.dtype.bits // buffer.dtype.bits,)
    view = replace(buffer, shape=whole, layout=None, source=base, byte_offset=start, elem_offset=None)
    return _Storage(view, _first(buffer, static, dynamic))


def _past_the_end(buffer: Buffer, coords: Sequence[int | Expr]) -> int | Expr:
    """Return the offset of nonzero indices along dimensions of extent 1, which layouts ignore.

    The offset moves the access beyond the buffer, as on a GPU, so that the simulator detects a wrong index.
    """
    place: int | Expr = 0
    for dim, coord in enumerate(coords):
        if buffer.shape[dim] == 1:
            place = place + coord * prod(buffer.shape[dim + 1 :])
    return place


def _is_bytes(buffer: Buffer) -> bool:
    """Return whether a shared buffer is the pool, an array of bytes that contains other buffers."""
    return buffer.source is None and buffer.dtype == "uint8"


def _shifted(index: Expr, offset: int | Expr) -> Expr:
    if isinstance(offset, int) and not offset:
        return index
    return replace(index, base=index.base + offset) if isinstance(index, Ramp) else index + offset


def _begins_rows(layout: Layout, lanes: int) -> bool:
    """Return whether vectors are aligned at multiples of `lanes` in each row, possibly with a shorter tail."""
    if layout is not layout.linear:
        return False
    *others, last = layout.linear.dims
    row = [it for it in last if it.extent > 1]
    strides = [it.stride for dim in others for it in dim if it.extent > 1 and it.axis == m]
    contiguous = len(row) == 1 and row[0].stride == 1 and row[0].axis == m and row[0].extent >= lanes
    return contiguous and not any(n % lanes for n in (*strides, layout.linear.offset.get(m, 0)))
