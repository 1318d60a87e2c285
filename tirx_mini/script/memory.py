"""Storage: the shared-memory pool, and the functions of the `Tx` namespace that allocate and declare buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tirx_mini.hardware import SWIZZLE_PERIOD
from tirx_mini.ir import (
    AddressOf,
    Buffer,
    BufferLoad,
    DataType,
    Expr,
    Region,
    Span,
    TirxError,
    Var,
    as_expr,
    const,
    int_value,
    scalar,
)  # fmt: skip
from tirx_mini.layout import (
    Axis,
    ComposeLayout,
    Layout,
    LayoutError,
    SwizzleMode,
    TCol,
    m,
    tcgen05_ld_layout,
    tma_shared_layout,
)  # fmt: skip

from .builder import Builder, current, in_dialect_of_tvm
from .diagnostics import caller_span
from .handles import BufferType, data_type, shape_of

if TYPE_CHECKING:
    from .annotations import DTypeLike, Shape

POOL_ALIGN = SWIZZLE_PERIOD
"""The alignment of the pool in bytes, at which every swizzle pattern starts."""


def buffer_type(
    shape: Shape,
    dtype: DTypeLike = "float32",
    *,
    scope: str = "global",
    layout: Layout | None = None,
    align: int = 0,
) -> BufferType:
    """``A: Tx.Buffer((M, K), "float16")``: an argument in global memory, row-major unless `layout` is given."""
    try:
        dims, kind = shape_of(shape, "a buffer"), data_type(dtype)
        check_layout("a buffer", dims, layout)
    except TirxError as error:
        raise error.at(caller_span()) from None  # Python evaluates annotations before the kernel is read
    return BufferType(dims, kind, (("scope", scope), ("layout", layout), ("align", align)))


def match_buffer(
    pointer: Any, shape: Shape, dtype: DTypeLike = "float32", *, layout: Layout | None = None, align: int = 0
) -> Buffer:
    """``A = T.match_buffer(A_ptr, (256,), "float32")``: the buffer to which a pointer argument points."""
    builder = current("T.match_buffer")
    position = next((i for i, p in enumerate(builder.params) if p is pointer), None)
    if position is None:
        raise TirxError(
            "T.match_buffer expects a T.handle parameter of the kernel that is not matched to a buffer yet"
        )
    kind = buffer_type(shape, dtype, layout=layout, align=align)
    buffer = Buffer(builder.take_name("buf"), kind.shape, kind.dtype, "global", layout, align=align, span=builder.span)
    builder.params[position] = buffer
    return buffer


def alloc_buffer(
    shape: Shape,
    dtype: DTypeLike = "float32",
    scope: str | None = None,
    *,
    layout: Layout | None = None,
    align: int = 0,
    name: str | None = None,
) -> Buffer:
    """New storage in `scope`: "local" (registers, one copy per thread; the default) or "shared" (one copy per CTA)."""
    builder = current("Tx.alloc_buffer")
    if scope is None:
        scope = "global" if in_dialect_of_tvm() else "local"
    known = {"shared.dyn": "shared"}.get(scope, scope)
    if known not in ("local", "shared"):
        hint = 'declare it with Tx.decl_buffer(…, scope="tmem", allocated_addr=…)' if known == "tmem" else None
        raise TirxError(f'buffers are allocated in "local" or "shared" memory, not in "{scope}"', hint=hint)
    label = name or builder.take_name("buf" if known == "local" else "smem_buf")
    dims = shape_of(shape, label)
    check_layout(label, dims, layout)
    return builder.alloc(Buffer(label, dims, data_type(dtype), known, layout, align=align, span=builder.span))


def alloc_local(
    shape: Shape, dtype: DTypeLike = "float32", *, layout: Layout | None = None, name: str | None = None
) -> Buffer:
    """Registers: `shape` elements per thread."""
    return alloc_buffer(shape, dtype, "local", layout=layout, name=name)


def wg_reg_tile(elem_per_thread: int, dtype: DTypeLike = "float32") -> Buffer:
    """Registers of a warpgroup as a tile of 128 rows: thread t holds row t, which has `elem_per_thread` elements."""
    registers = alloc_local((elem_per_thread,), dtype)
    return registers.view(128, elem_per_thread, layout=tcgen05_ld_layout(elem_per_thread))


def alloc_shared(
    shape: Shape,
    dtype: DTypeLike = "float32",
    *,
    layout: Layout | None = None,
    align: int = 0,
    name: str | None = None,
) -> Buffer:
    """Shared memory: `shape` elements per CTA, placed by the compiler."""
    return alloc_buffer(shape, dtype, "shared", layout=layout, align=align, name=name)


def alloc_scalar(dtype: DTypeLike = "float32", name: str | None = None) -> Any:
    """A mutable variable, like one declared by ``x: Tx.int32``: reading the name loads it, assigning stores to it."""
    builder = current("Tx.alloc_scalar")
    return builder.alloc(scalar(name or builder.take_name("x"), data_type(dtype), builder.span))


def variable_name(default: str) -> str:
    """The name of the variable to which the object under construction is assigned."""
    return current("this object").take_name(default)


def decl_buffer(
    shape: Shape,
    dtype: DTypeLike = "float32",
    *,
    scope: str = "tmem",
    allocated_addr: Expr | Buffer | int | None = None,
    layout: Layout | None = None,
    source: Buffer | None = None,
    byte_offset: int = 0,
    align: int = 0,
    name: str | None = None,
) -> Buffer:
    """A name for existing storage: tensor memory at `allocated_addr`, or a view of `source` at `byte_offset`.

    allocated_addr: the address that tcgen05.alloc wrote (``tmem_addr[0]`` or the buffer itself), or a number.
    byte_offset: where the view begins in `source`, in bytes.
    align: the required alignment, in bytes.
    """
    builder = current("Tx.decl_buffer")
    label = name or builder.take_name("buf")
    dims = shape_of(shape, label)
    if source is None and scope != "tmem":
        raise TirxError(
            "Tx.decl_buffer declares existing storage: tensor memory, or a view of another buffer (source=)",
            hint="use Tx.alloc_local for registers and Tx.PoolAllocator for shared memory",
        )
    if scope == "tmem" and allocated_addr is None:
        raise TirxError(f"{label} needs the address of its tensor memory", hint="write allocated_addr=tmem_addr[0]")
    address = None if allocated_addr is None else _address(allocated_addr)
    check_layout(label, dims, layout)
    return builder.declare(
        Buffer(label, dims, data_type(dtype), scope, layout, source, byte_offset, address, align, span=builder.span)
    )


def _address(value: Any) -> Expr:
    if isinstance(value, Buffer):
        return value[(0,) * value.ndim]
    if isinstance(value, Region):
        raise TirxError("allocated_addr must be a single value, not a slice", hint=f"write {value.buffer.name}[0]")
    return const(value, "uint32") if isinstance(value, int) else as_expr(value)


def address_of(place: Buffer | Expr) -> Expr:
    """A pointer to a buffer's first element, or to the element ``buf[i]``."""
    if isinstance(place, Buffer):
        return place.data
    if isinstance(place, BufferLoad):
        return AddressOf(DataType("handle"), place.buffer, place.indices)
    if isinstance(place, Region):
        return AddressOf(DataType("handle"), place.buffer, tuple(part.start for part in place.ranges))
    raise TirxError(f"Tx.address_of expects a buffer or an element of one, not {place!r}")


def check_view(view: Buffer) -> None:
    """Reject a view of registers or shared memory that extends beyond its source."""
    source = view.source
    if source is None or view.scope not in ("local", "shared"):
        return
    check_layout(view.name, view.shape, view.layout)
    needed = view.byte_offset + _own_elements(view) * view.dtype.bits // 8
    have = stored_bytes(source.shape, source.dtype, source.layout)
    if needed <= have:
        return
    hint = None
    if view.scope == "local" and view.ndim == 2 and view.layout is None:
        spread = f"TileLayout(S[{view.shape} : (1@tid_in_wg, 1)])"
        hint = f"each thread has its own registers; to view those of a warpgroup as one tile, pass layout={spread}"
    shape = " × ".join(map(str, view.shape))
    raise TirxError(f"a view of {shape} {view.dtype} takes {needed} bytes, but {source.name} has {have}", hint=hint)


def _own_elements(view: Buffer) -> int:
    """The number of elements of a view that one thread (or shared memory) holds."""
    places = [axis for axis in _axes(view.layout) if axis in (m, TCol)]
    return max((view.layout.cosize(axis) for axis in places), default=1) if view.layout is not None else view.size


def _axes(layout: Any) -> tuple[Axis, ...]:
    return layout.axes if isinstance(layout, Layout) else ()


def check_layout(name: str, shape: tuple[int, ...], layout: Any) -> None:
    """Reject a layout that does not have the shape `shape`."""
    if layout is None:
        return
    if not isinstance(layout, Layout):
        raise TirxError(
            f"the layout of {name} is {layout!r}, which is not a layout",
            hint="use tma_shared_layout(…) or TileLayout(S[shape : strides])",
        )
    if layout.shape == shape:
        return
    try:
        layout.group(shape)
    except LayoutError:
        raise TirxError(
            f"{name} has shape {shape}, but its layout has shape {layout.shape}", hint="give both the same shape"
        ) from None


class PoolAllocator:
    """The shared memory of a CTA: buffers follow one another, each aligned as its layout requires.

    The pool is a single allocation. `commit` fixes its size; nothing can be allocated after it. `SMEMPool` is another
    name of it.

    base: accepted for compatibility with TVM; it has no effect.

    Cost: the bytes of its buffers, and what their alignment leaves free between them, of the CTA's shared memory.

    Example:

        pool = Tx.PoolAllocator()
        word = pool.alloc((1,), "uint32")
        tiles = pool.alloc((2, 128, 64), "float16", layout=tma_shared_layout(
            "float16", SwizzleMode.SWIZZLE_128B_ATOM, (2, 128, 64)))
        pool.move_base_to(1024)                      # the next buffer overlaps the tiles, which are no longer needed
        result = pool.alloc((128, 64), "float16", layout=A_layout)
        pool.commit()
    """

    def __init__(self, base: Any = None) -> None:
        self._builder: Builder = current("Tx.PoolAllocator")
        self._offset = 0
        self._end = 0
        self._committed: Span | None = None
        self._pool = self._builder.alloc(
            Buffer("smem", (0,), DataType("uint8"), "shared", align=POOL_ALIGN, span=self._builder.span)
        )
        self._builder.begin(
            self,
            TirxError(
                "this shared-memory pool is never committed, so its buffers have no memory",
                self._builder.span,
                "call `pool.commit()` after the last allocation",
            ),
        )

    @property
    def offset(self) -> int:
        """Where the next allocation may begin, in bytes from the start of the pool."""
        return self._offset

    def alloc(
        self,
        shape: Shape,
        dtype: DTypeLike = "float32",
        *,
        layout: Layout | None = None,
        align: int | None = None,
        name: str | None = None,
        scope: str = "shared",
    ) -> Buffer:
        """A buffer in shared memory.

        shape: its extents; the first is the stage where there are several.
        dtype: of an element.
        layout: the place of each element; by default row-major. TMA and the tensor core need `tma_shared_layout`.
        align: the alignment in bytes; by default the one that the layout and dtype require.
        name: the name where the buffer is not assigned to a variable.
        scope: "shared".
        """
        label = name or self._builder.take_name("buf")
        if self._committed is not None:
            raise TirxError(
                f"{label} is allocated after `pool.commit()`, which fixes the size of the pool",
                hint="move the allocation before `pool.commit()`",
                notes=(("committed here", self._committed),),
                kind="pool-committed",
            )
        dims, kind = shape_of(shape, label), data_type(dtype)
        check_layout(label, dims, layout)
        offset = _round_up(self._offset, align or default_align(dims, kind, layout))
        buffer = Buffer(
            label, dims, kind, "shared", layout, self._pool, offset, align=align or 0, span=self._builder.span
        )
        self._offset = offset + stored_bytes(dims, kind, layout)
        self._end = max(self._end, self._offset)
        return self._builder.declare(buffer)

    def alloc_mma(
        self,
        shape: Shape,
        dtype: DTypeLike = "float16",
        *,
        swizzle_mode: SwizzleMode = SwizzleMode.SWIZZLE_128B_ATOM,
        align: int | None = None,
        name: str | None = None,
    ) -> Buffer:
        """A tile for TMA and the tensor core: `alloc` with the shared-memory layout of a swizzle mode.

        shape: its extents; the last two are the tile, earlier ones stages.
        dtype: of an element.
        swizzle_mode: the mode; the width of its atom divides the rows of the tile.
        align, name: as for `alloc`.
        """
        layout = tma_shared_layout(str(data_type(dtype)), swizzle_mode, shape_of(shape, name or "the tile"))
        return self.alloc(shape, dtype, layout=layout, align=align, name=name)

    def alloc_tcgen05_mma_AB(
        self,
        shape: Shape,
        dtype: DTypeLike = "float16",
        swizzle_mode: SwizzleMode | str = "auto",
        align: int | None = None,
    ) -> Buffer:
        """TVM's name for `alloc_mma`.

        swizzle_mode: a mode, "auto" for the 128-byte swizzle, or "none".
        shape, dtype, align: as for `alloc_mma`.
        """
        named = {"auto": SwizzleMode.SWIZZLE_128B_ATOM, "none": SwizzleMode.SWIZZLE_NONE}
        mode = named.get(swizzle_mode, swizzle_mode) if isinstance(swizzle_mode, str) else swizzle_mode
        if not isinstance(mode, SwizzleMode):
            raise TirxError(f'swizzle_mode must be "auto", "none" or a SwizzleMode, not {swizzle_mode!r}')
        return self.alloc_mma(shape, dtype, swizzle_mode=mode, align=align)

    def move_base_to(self, offset: int) -> None:
        """Start the next allocation at a place of the pool. It may overlap earlier buffers.

        offset: the place, in bytes from the start of the pool; known at compile time.
        """
        place = int_value(offset)
        if place is None or place < 0:
            raise TirxError(
                "`pool.move_base_to` expects a number of bytes known at compile time",
                hint="define it outside the kernel" if isinstance(offset, Var) else None,
            )
        if self._committed is not None:
            raise TirxError(
                "`pool.move_base_to` is called after `pool.commit()`",
                notes=(("committed here", self._committed),),
                kind="pool-committed",
            )
        self._offset = place

    def commit(self) -> None:
        """Fix the size of the pool, which extends to the end of the last buffer in memory."""
        if self._committed is not None:
            raise TirxError(
                "the pool is committed twice",
                hint="keep one `pool.commit()`, after the last allocation",
                notes=(("first committed here", self._committed),),
            )
        self._committed = self._builder.span
        self._builder.end(self)
        # The pool was declared before its size was known.
        object.__setattr__(self._pool, "shape", (max(self._end, 1),))


def default_align(shape: tuple[int, ...], dtype: DataType, layout: Any) -> int:
    """The default alignment in bytes: a swizzled tile is aligned to its atom (8 rows of the swizzle's width), barriers
    to 8 bytes, other buffers to 16.
    """
    if isinstance(layout, ComposeLayout):
        return layout.swizzle.mode.atom_bytes
    if dtype == "uint64" or stored_bytes(shape, dtype, layout) < 16:
        return dtype.itemsize
    return max(dtype.itemsize, 16)


def stored_bytes(shape: tuple[int, ...], dtype: DataType, layout: Any) -> int:
    """The size in bytes from the first to the last element, as placed by the layout."""
    if layout is None:
        return Buffer("", shape, dtype).nbytes
    return -(-layout.cosize() * dtype.bits // 8)


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
