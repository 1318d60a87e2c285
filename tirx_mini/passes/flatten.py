"""FlattenBuffers: every access gets a single index, the place of the element in its storage.

Only this pass applies layouts, including swizzles. It also resolves views: a view of registers to the registers, a view
of shared memory to its source. Tensor memory has addresses instead of elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

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
)
from tirx_mini.layout import TCol, TLane, m
from tirx_mini.tile import coordinate, layout_of

MOST_INT32 = 2**31 - 1
"""The number of elements that an int32 can index; larger global buffers use int64."""


def flatten_buffers(func: PrimFunc) -> PrimFunc:
    """`func` with flat accesses to buffers that are not views, except for shared buffers, which may be in the pool.

    A single index into a buffer of several dimensions is already flat: dispatch emits such accesses.
    """
    return func.with_body(_Flatten().stmt(func.body))


class _Flatten(Mutator):
    def __init__(self) -> None:
        self.storages: dict[Buffer, tuple[Buffer, int]] = {}

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        buffer, index = self._place(node.buffer, node.indices, node.span)
        return BufferLoad(node.dtype, buffer, (index,), span=node.span)

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        buffer, index = self._place(node.buffer, node.indices, node.span)
        return BufferStore(buffer, (index,), self.expr(node.value), span=node.span)

    def visit_AddressOf(self, node: AddressOf) -> Expr:
        if node.buffer.scope == "tmem":
            return self._tmem_address(node)
        buffer, index = self._place(node.buffer, node.indices, node.span)
        return AddressOf(node.dtype, buffer, (index,), span=node.span)

    def visit_AllocBuffer(self, node: AllocBuffer) -> Stmt:
        buffer, _ = self._storage(node.buffer)
        return node if buffer is node.buffer else replace(node, buffer=buffer)

    def visit_DeclBuffer(self, node: DeclBuffer) -> Stmt:
        if node.buffer.scope != "shared":
            return Seq((), span=node.span)
        storage, _ = self._storage(node.buffer)
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
        *outer, last = (self.expr(index) for index in indices)
        if not outer and buffer.ndim != 1:
            return storage, _shifted(last, offset)
        vector = last if isinstance(last, Ramp) else None
        coords = [coordinate(index) for index in (*outer, vector.base if vector is not None else last)]
        if buffer.scope == "global" and buffer.size > MOST_INT32:
            coords = [cast(INT64, c) if isinstance(c, Expr) else c for c in coords]
        place = as_expr(layout_of(buffer).apply(*coords).get(m, 0)) + offset + _past_the_end(buffer, coords)
        return storage, replace(vector, base=place, dtype=place.dtype) if vector is not None else place

    def _tmem_address(self, node: AddressOf) -> Expr:
        if node.buffer.allocated_addr is None:
            raise TirxError(f"{node.buffer.name} has no address", node.span, "pass allocated_addr= to decl_buffer")
        place = layout_of(node.buffer).apply(*(coordinate(self.expr(index)) for index in node.indices))
        column, lane = (cast(UINT32, as_expr(place.get(axis, 0))) for axis in (TCol, TLane))
        return cast(UINT32, self.expr(node.buffer.allocated_addr)) + column + (lane << 16)

    def _storage(self, buffer: Buffer) -> tuple[Buffer, int]:
        """The buffer that holds the elements of `buffer`, and the offset of the first one, in elements."""
        if buffer not in self.storages:
            self.storages[buffer] = _shared_storage(buffer) if buffer.scope == "shared" else _storage(buffer)
        return self.storages[buffer]


def _storage(buffer: Buffer) -> tuple[Buffer, int]:
    offset, root = 0, buffer
    while root.source is not None:
        offset, root = offset + root.byte_offset, root.source
    if root.dtype != buffer.dtype:
        raise TirxError(
            f"{buffer.name} views {root.name}, which is {root.dtype}, as {buffer.dtype}",
            buffer.span or root.span,
            "a view of registers or global memory must keep the dtype; convert with Tx.cast",
        )
    offset //= buffer.dtype.itemsize
    if root.scope == "local" and root.layout is not None:
        return replace(root, shape=(root.layout.cosize(m),), layout=None), offset
    return root, offset


def _shared_storage(buffer: Buffer) -> tuple[Buffer, int]:
    """The storage of a shared view: its source, or a separate buffer next to it if the dtypes differ."""
    offset, storage = 0, buffer
    while storage.source is not None and not _is_bytes(storage.source):
        offset, storage = offset + storage.byte_offset, storage.source
    if storage.dtype == buffer.dtype:
        return storage, offset // buffer.dtype.itemsize
    base, start = (storage.source, storage.byte_offset) if storage.source is not None else (storage, 0)
    return replace(buffer, source=base, byte_offset=start + offset), 0


def _past_the_end(buffer: Buffer, coords: Sequence[int | Expr]) -> int | Expr:
    """The offset caused by indices along dimensions of extent 1. Layouts ignore these indices; only 0 is in bounds.

    The offset moves the access beyond the buffer, as on a GPU, so that the simulator detects a wrong index.
    """
    place: int | Expr = 0
    for dim, coord in enumerate(coords):
        if buffer.shape[dim] == 1:
            place = place + coord * prod(buffer.shape[dim + 1 :])
    return place


def _is_bytes(buffer: Buffer) -> bool:
    """Whether a shared buffer is the pool: plain bytes that contain other buffers."""
    return buffer.source is None and buffer.dtype == "uint8"


def _shifted(index: Expr, offset: int) -> Expr:
    if not offset:
        return index
    return replace(index, base=index.base + offset) if isinstance(index, Ramp) else index + offset
