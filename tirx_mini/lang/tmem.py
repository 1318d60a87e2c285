"""Allocation of tensor memory, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tirx_mini.hardware import TMEM_ALLOCATIONS
from tirx_mini.ir import Buffer, DataType, Expr, TirxError
from tirx_mini.layout import (
    Layout,
    LayoutError,
    S,
    TCol,
    TileLayout,
    TLane,
    sf_tmem_layout,
    tmem_datapath_layout,
    tmem_mma_operand_layout,
)
from tirx_mini.script import PoolAllocator
from tirx_mini.script import tirx as Tx

from .arguments import check_choice, check_pool, given


class TMEMPool:
    """`total_cols` columns of tensor memory, allocated by one warp and deallocated by one warp.

    pool: the shared-memory pool for the address that tcgen05.alloc writes.
    total_cols: the number of columns: 32, 64, 128, 256 or 512.
    cta_group: 2 if the two CTAs of a pair allocate together, for MMAs with cta_group=2; else 1.
    alloc_warp, dealloc_warp: the indices of the two warps in the CTA; by default both are warp 0.
    tmem_addr: an existing buffer for the address; by default a new one.
    sync_after_alloc: whether the lanes of the warp synchronise after the allocation.

    Cost: 4 bytes of shared memory, and the columns, which other CTAs on the SM cannot allocate until they are freed.

    Example:

        pool = Tx.PoolAllocator()
        columns = TMEMPool(pool, 256)
        pool.commit()
        columns.commit()                             # one warp executes tcgen05.alloc
        Tx.cuda.cta_sync()
        Tx.ptx.tcgen05.fence.after_thread_sync()
        acc = columns.alloc((128, 256))
        Tx.cuda.cta_sync()
        columns.dealloc()
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
        call = "TMEMPool(pool, 512)"
        check_pool("TMEMPool", pool, call)
        check_choice("total_cols of TMEMPool", total_cols, TMEM_ALLOCATIONS, f"write {call}")
        check_choice("cta_group of TMEMPool", cta_group, (1, 2))
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

    def alloc(
        self,
        shape: Sequence[int],
        dtype: Any = "float32",
        *,
        layout: Layout | None = None,
        cols: int | None = None,
        datapath: str | None = None,
    ) -> Buffer:
        """Allocate a tile of 128 lanes in the next columns.

        shape: the extents (lanes, columns), or those of the layout.
        dtype: the dtype of an element.
        layout: the position of each element; by default, element (r, c) is in lane r, column c.
        cols: the number of columns of 32 bits; by default, those that a row of elements fills.
        datapath: the data path of the MMA, "A" to "G", which sets the tile's layout: `tmem_datapath_layout`.

        Raises TirxError if the pool has too few columns.
        """
        counts = isinstance(shape, (tuple, list)) and all(isinstance(n, int) for n in shape)
        if not counts or (len(shape) != 2 and layout is None):
            raise TirxError(
                f"the shape of a tile of tensor memory must be (lanes, columns), two integers, but {given(shape)}",
                hint="write alloc((128, columns))",
            )
        lanes, columns = shape[0], shape[-1]
        if datapath is not None:
            if layout is not None:
                raise TirxError("alloc of TMEMPool is given both a layout and a data path", hint="give one of them")
            layout = tmem_datapath_layout(datapath, lanes, columns)
        width = columns if layout is None else layout.cosize(TCol)
        taken = width * DataType(dtype).bits // 32 if cols is None else cols
        if self.offset + taken > self.total_cols:
            raise TirxError(
                f"the tile needs columns {self.offset} to {self.offset + taken - 1} of tensor memory, "
                f"but the pool has {self.total_cols}",
                hint="increase total_cols of TMEMPool, or overlap tiles with move_base_to",
            )
        buffer = Tx.decl_buffer(
            tuple(shape),
            dtype,
            scope="tmem",
            allocated_addr=self.addr + self.offset,
            layout=TileLayout(S[(lanes, columns) : (1 @ TLane, 1 @ TCol)]) if layout is None else layout,
        )
        self.offset += taken
        return buffer

    def alloc_tcgen05_mma_D(
        self,
        shape: Sequence[int],
        dtype: object = "float32",
        *,
        M: int,
        cta_group: int,
        ws: bool = False,
        sparse: bool = False,
        group: Sequence[int] | None = None,
        cols: int | None = None,
    ) -> Buffer:
        """Allocate an accumulator in the next columns, with the layout that the MMA uses.

        shape: its extents in this CTA.
        dtype: the dtype of an element.
        M: the rows of the MMA, in both CTAs of a pair.
        cta_group, ws, sparse: its modifiers.
        group: (segments, 2, columns) if the columns of a flat shape are folded into segments.
        cols: the number of columns of 32 bits, by default as many as the layout spans.

        Raises TirxError if no MMA has such an accumulator, or if the pool has too few columns.
        """
        return self._operand("D", shape, dtype, cols, M=M, cta_group=cta_group, ws=ws, sparse=sparse, group=group)

    alloc_tcgen05_mma_C = alloc_tcgen05_mma_D

    def alloc_tcgen05_mma_A(
        self,
        shape: Sequence[int],
        dtype: object = "bfloat16",
        *,
        M: int,
        cta_group: int,
        ws: bool = False,
        sparse: bool = False,
        cols: int | None = None,
    ) -> Buffer:
        """Allocate a matrix A in the next columns, for MMAs that read it from tensor memory.

        shape: its extents in this CTA.
        dtype: the dtype of an element.
        M: the rows of the MMA, in both CTAs of a pair.
        cta_group, ws, sparse: its modifiers.
        cols: the number of columns of 32 bits, by default as many as the layout spans.
        """
        return self._operand("A", shape, dtype, cols, M=M, cta_group=cta_group, ws=ws, sparse=sparse)

    def _operand(
        self, operand: str, shape: Sequence[int], dtype: object, cols: int | None, **instruction: Any
    ) -> Buffer:
        try:
            layout = tmem_mma_operand_layout(operand, shape, dtype, **instruction)
        except LayoutError as error:
            raise TirxError(f"TMEMPool.alloc_tcgen05_mma_{operand}: {error}") from None
        return self.alloc(shape, dtype, layout=layout, cols=cols)

    def alloc_sf(
        self, shape: Sequence[int], dtype: Any, *, sf_per_mma: int, sf_reuse: int = 1
    ) -> Buffer:
        """Allocate scale factors for `Tx.gemm_async(…, SFA=, SFB=)` in the next columns.

        shape: (rows, factors along K), optionally preceded by a number of stages; rows is a multiple of 32,
            factors of 4.
        dtype: float8_e8m0fnu or float8_e4m3fn.
        sf_per_mma: the factors of a row that one MMA uses: 1, 2 or 4.
        sf_reuse: the number of MMAs that share factors; each factor then has `sf_reuse` coordinates along K.

        Raises TirxError for other shapes, and if the pool has too few columns.
        """
        counts = isinstance(shape, (tuple, list)) and all(isinstance(extent, int) for extent in shape)
        if not counts or len(shape) not in (2, 3):
            raise TirxError(
                f"the shape of scale factors must be (rows, factors) or (stages, rows, factors), but {given(shape)}",
                hint="write alloc_sf((128, 8), dtype, sf_per_mma=1)",
            )
        *stages, rows, factors = shape
        try:
            layout = sf_tmem_layout(rows, factors // sf_reuse, sf_per_mma, sf_reuse, stages[0] if stages else None)
        except LayoutError as error:
            raise TirxError(f"TMEMPool.alloc_sf: {error}") from None
        columns = (stages[0] if stages else 1) * rows * factors // sf_reuse // 128
        if self.offset + columns > self.total_cols:
            raise TirxError(
                f"the scale factors need columns {self.offset} to {self.offset + columns - 1} of tensor memory, "
                f"but the pool has {self.total_cols}",
                hint="increase total_cols of TMEMPool, or overlap tiles with move_base_to",
            )
        buffer = Tx.decl_buffer(
            tuple(shape), dtype, scope="tmem", allocated_addr=self.addr + self.offset, layout=layout
        )
        self.offset += columns
        return buffer

    def move_base_to(self, col: int) -> None:
        """Set the column of the next tile, which may overlap earlier tiles.

        col: the column, counted from 0.
        """
        if not isinstance(col, int) or col < 0:
            raise TirxError(
                f"move_base_to of TMEMPool needs a column, an integer that is known at compile time, but {given(col)}"
            )
        self.offset = col

    @Tx.inline
    def commit(self) -> None:
        """Allocate the columns with all lanes of `alloc_warp`, without effect in other warps.

        Cost: one `tcgen05.alloc`, which waits until the columns are free.
        """
        if Tx.warp_id_in_cta == self.alloc_warp:
            Tx.ptx.tcgen05.alloc(Tx.address_of(self.address), n_cols=self.total_cols, cta_group=self.cta_group)
            if self.sync_after_alloc:
                Tx.cuda.warp_sync()

    @Tx.inline
    def dealloc(self) -> None:
        """Deallocate the columns after their last use. All lanes of the warp must execute it.

        Cost: one `tcgen05.relinquish_alloc_permit` and one `tcgen05.dealloc`.
        """
        if Tx.warp_id_in_cta == self.dealloc_warp:
            Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=self.cta_group)
            Tx.ptx.tcgen05.dealloc(self.addr, n_cols=self.total_cols, cta_group=self.cta_group)
