"""Allocation of tensor memory, column by column."""

from __future__ import annotations

from typing import Any

from tirx_mini.ir import Buffer, DataType, Expr, TirxError
from tirx_mini.layout import S, TCol, TileLayout, TLane
from tirx_mini.script import PoolAllocator
from tirx_mini.script import tirx as Tx


class TMEMPool:
    """`total_cols` columns of tensor memory, allocated by one warp and deallocated by one warp.

    pool: the shared-memory pool for the address.
    total_cols: a power of two from 32 to 512.
    alloc_warp, dealloc_warp: the indices of the two warps in the CTA.
    tmem_addr: an existing buffer for the address; by default a new one.
    """

    def __init__(
        self,
        pool: PoolAllocator,
        total_cols: int = 512,
        *,
        cta_group: int = 1,
        alloc_warp: int = 0,
        dealloc_warp: int | None = None,
        tmem_addr: Buffer | None = None,
        sync_after_alloc: bool = True,
    ) -> None:
        self.total_cols = total_cols
        self.cta_group = cta_group
        self.alloc_warp = alloc_warp
        self.dealloc_warp = alloc_warp if dealloc_warp is None else dealloc_warp
        self.sync_after_alloc = sync_after_alloc
        self.offset = 0
        self.address = pool.alloc((1,), "uint32", name="tmem_addr") if tmem_addr is None else tmem_addr

    @property
    def addr(self) -> Expr:
        """The address of the first column, valid after `commit`."""
        return self.address[0]

    def alloc(self, shape: Any, dtype: Any = "float32", *, layout: Any = None, cols: int | None = None) -> Buffer:
        """A tile of 128 lanes in the next columns.

        dtype: the dtype of an element; it must be 32 bits wide unless `cols` is given.
        cols: the number of columns.

        Raises TirxError if the pool has too few columns.
        """
        lanes, columns = shape
        taken = columns * DataType(dtype).bits // 32 if cols is None else cols
        if self.offset + taken > self.total_cols:
            raise TirxError(
                f"the tile needs columns {self.offset} to {self.offset + taken - 1} of tensor memory, "
                f"but the pool has {self.total_cols}",
                hint="increase total_cols of TMEMPool, or overlap tiles with move_base_to",
            )
        buffer = Tx.decl_buffer(
            (lanes, columns),
            dtype,
            scope="tmem",
            allocated_addr=self.addr + self.offset,
            layout=TileLayout(S[(lanes, columns) : (1 @ TLane, 1 @ TCol)]) if layout is None else layout,
        )
        self.offset += taken
        return buffer

    def move_base_to(self, col: int) -> None:
        """Start the next tile at column `col`; it may overlap earlier tiles."""
        self.offset = col

    @Tx.inline
    def commit(self) -> None:
        """Allocate the columns. All lanes of the warp must execute it."""
        if Tx.warp_id_in_cta == self.alloc_warp:
            Tx.ptx.tcgen05.alloc(Tx.address_of(self.address), n_cols=self.total_cols, cta_group=self.cta_group)
            if self.sync_after_alloc:
                Tx.cuda.warp_sync()

    @Tx.inline
    def dealloc(self) -> None:
        """Deallocate the columns after their last use. All lanes of the warp must execute it."""
        if Tx.warp_id_in_cta == self.dealloc_warp:
            Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=self.cta_group)
            Tx.ptx.tcgen05.dealloc(self.addr, n_cols=self.total_cols, cta_group=self.cta_group)
