"""Tensor memory handed out column by column."""

from __future__ import annotations

from typing import Any

from tirx_mini.ir import Buffer, DataType, Expr, TirxError
from tirx_mini.layout import S, TCol, TileLayout, TLane
from tirx_mini.script import PoolAllocator
from tirx_mini.script import tirx as Tx


class TMEMPool:
    """`total_cols` columns of tensor memory, allocated by one warp and freed by one.

    pool: the shared memory in which the address is kept. total_cols: a power of two from 32 to 512.
    alloc_warp, dealloc_warp: the numbers of those warps in the CTA. tmem_addr: a buffer for the address, if not a new
    one.
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
        """The address of the first column, once it is allocated."""
        return self.address[0]

    def alloc(self, shape: Any, dtype: Any = "float32", *, layout: Any = None, cols: int | None = None) -> Buffer:
        """A tile of 128 lanes, in the next columns; dtype: 32 bits wide where `cols` is not given.

        Raises TirxError where more columns are taken than the pool has.
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
        """The next tile begins at column `col`; tiles may overlap by it."""
        self.offset = col

    @Tx.inline
    def commit(self) -> None:
        """Allocate the columns. The whole warp must get here."""
        if Tx.warp_id_in_cta == self.alloc_warp:
            Tx.ptx.tcgen05.alloc(Tx.address_of(self.address), n_cols=self.total_cols, cta_group=self.cta_group)
            if self.sync_after_alloc:
                Tx.cuda.warp_sync()

    @Tx.inline
    def dealloc(self) -> None:
        """Free the columns. The whole warp must get here, when nothing uses them any more."""
        if Tx.warp_id_in_cta == self.dealloc_warp:
            Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=self.cta_group)
            Tx.ptx.tcgen05.dealloc(self.addr, n_cols=self.total_cols, cta_group=self.cta_group)
