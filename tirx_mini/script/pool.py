"""The shared-memory pool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tirx_mini.hardware import SWIZZLE_PERIOD
from tirx_mini.ir import Buffer, DataType, Span, TirxError, Var, int_value
from tirx_mini.layout import Layout, SwizzleMode, tma_shared_layout
from tirx_mini.wording import described

from .builder import Builder, current
from .handles import data_type, shape_of
from .placement import default_align, fitted, placed, round_up, stored_bytes

if TYPE_CHECKING:
    from .annotations import DTypeLike, Shape

POOL_ALIGN = SWIZZLE_PERIOD
"""The alignment of the pool in bytes, at which every swizzle pattern starts."""


class PoolAllocator:
    """The shared-memory pool of a CTA, which places buffers consecutively, aligned as their layouts require.

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

    def __init__(self, base: object = None) -> None:
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
        """The offset of the next allocation, in bytes from the start of the pool."""
        return self._offset

    @property
    def ptr(self) -> Buffer:
        """The whole pool, for use as `decl_buffer(…, data=pool.ptr, byte_offset=…)`."""
        return self._pool

    def alloc(
        self,
        shape: Shape,
        dtype: DTypeLike = "float32",
        *,
        layout: Layout | str | None = None,
        align: int | None = None,
        name: str | None = None,
        scope: str = "shared",
        strides: Sequence[int] | None = None,
    ) -> Buffer:
        """Allocate a buffer in shared memory.

        shape: its extents; the first is the stage where there are several.
        dtype: of an element.
        layout: the place of each element; by default row-major. TMA and the tensor core need `tma_shared_layout`.
        align: the alignment in bytes; by default the one that the layout and dtype require.
        name: the name where the buffer is not assigned to a variable.
        scope: "shared".
        strides: distances between neighbours in elements, instead of a layout.
        """
        label = self._builder.label(name, "buf")
        if self._committed is not None:
            raise TirxError(
                f"{label} is allocated after `pool.commit()`, which fixes the size of the pool",
                hint="move the allocation before `pool.commit()`",
                notes=(("committed here", self._committed),),
                kind="pool-committed",
            )
        dims, kind = shape_of(shape, label), data_type(dtype)
        layout = fitted(label, dims, placed(layout, dims, strides))
        offset = round_up(self._offset, align or default_align(dims, kind, layout))
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
        """Allocate a tile for TMA and the tensor core, with the shared-memory layout of a swizzle mode.

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
        """Allocate a tile as `alloc_mma`, under TVM's name.

        swizzle_mode: a mode, "auto" for the 128-byte swizzle, or "none".
        shape, dtype, align: as for `alloc_mma`.
        """
        named = {"auto": SwizzleMode.SWIZZLE_128B_ATOM, "none": SwizzleMode.SWIZZLE_NONE}
        mode = named.get(swizzle_mode, swizzle_mode) if isinstance(swizzle_mode, str) else swizzle_mode
        if not isinstance(mode, SwizzleMode):
            raise TirxError(f'swizzle_mode must be "auto", "none" or a SwizzleMode, not {described(swizzle_mode)}')
        return self.alloc_mma(shape, dtype, swizzle_mode=mode, align=align)

    def move_base_to(self, offset: int) -> None:
        """Set the offset of the next allocation, which may overlap earlier buffers.

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

    def commit(self, size: int | None = None) -> None:
        """Fix the size of the pool, which extends to the end of its last buffer.

        size: the size in bytes, if it is larger.
        """
        if self._committed is not None:
            raise TirxError(
                "the pool is committed twice",
                hint="keep one `pool.commit()`, after the last allocation",
                notes=(("first committed here", self._committed),),
            )
        self._committed = self._builder.span
        self._builder.end(self)
        # The pool was declared before its size was known.
        object.__setattr__(self._pool, "shape", (max(self._end, size or 0, 1),))
