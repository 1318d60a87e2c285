"""Tile schedulers for attention, which order the query blocks that CTAs compute."""

from __future__ import annotations

from typing import Any

from tirx_mini.ir import Buffer, TirxError
from tirx_mini.script import tirx as Tx

from .arguments import Integer, check_count, check_label, given


class _Blocks:
    """The query blocks of all heads and batches, and the variables of the current block."""

    def __init__(self, prefix: str, num_batches: int, num_heads: int, num_m_blocks: int) -> None:
        kind = type(self).__name__
        call = f'write {kind}("tile", num_batches, num_heads, num_m_blocks, …)'
        check_label(f"the first argument of {kind}, the prefix of its names,", prefix, call)
        sizes = {"num_batches": num_batches, "num_heads": num_heads, "num_m_blocks": num_m_blocks}
        for name, value in sizes.items():
            check_count(f"{name} of {kind}", value, call)
        self.num_batches, self.num_heads, self.num_m_blocks = num_batches, num_heads, num_m_blocks
        self.linear_idx: Any = Tx.alloc_scalar("int32", f"{prefix}_linear_idx")
        self.batch_idx: Any = Tx.alloc_scalar("int32", f"{prefix}_batch_idx")
        self.head_idx: Any = Tx.alloc_scalar("int32", f"{prefix}_head_idx")
        self.m_block_idx: Any = Tx.alloc_scalar("int32", f"{prefix}_m_block_idx")

    @property
    def num_tiles(self) -> int:
        """The number of query blocks of all heads and batches."""
        return self.num_batches * self.num_heads * self.num_m_blocks

    @Tx.inline
    def valid(self) -> Any:
        """Return whether the current block exists: the condition of the loop over blocks."""
        return self.linear_idx < self.num_tiles


class FlashAttentionLinearScheduler(_Blocks):
    """Distributes query blocks of unmasked attention: batches outermost, then heads, then blocks.

    Its attributes `batch_idx`, `head_idx` and `m_block_idx` identify the current block.

    prefix: the prefix of the names of its variables.
    num_batches, num_heads, num_m_blocks: the numbers of batches, heads per batch, and query blocks per head.
    num_ctas: the number of CTAs; CTA c computes the blocks c, c + num_ctas, ….

    Cost: four registers of each thread.

    Example:

        scheduler = FlashAttentionLinearScheduler("tile", num_batches=2, num_heads=4, num_m_blocks=8, num_ctas=4)
        scheduler.init(bx)
        while scheduler.valid():
            first_query = Tx.meta_var(scheduler.m_block_idx * 128)
            scheduler.next_tile()
    """

    def __init__(self, prefix: str, num_batches: int, num_heads: int, num_m_blocks: int, num_ctas: int) -> None:
        super().__init__(prefix, num_batches, num_heads, num_m_blocks)
        check_count("num_ctas of FlashAttentionLinearScheduler", num_ctas, "pass the number of CTAs of the grid")
        self.num_ctas = num_ctas

    @Tx.inline
    def init(self, cta_id: Integer) -> None:
        """Select the first block of a CTA.

        cta_id: the index of the CTA in the grid.
        """
        self.linear_idx = cta_id
        self._locate()

    @Tx.inline
    def next_tile(self) -> None:
        """Advance to the next block of this CTA."""
        self.linear_idx = self.linear_idx + self.num_ctas
        self._locate()

    @Tx.inline
    def _locate(self) -> None:
        self.batch_idx = self.linear_idx // (self.num_heads * self.num_m_blocks)
        self.head_idx = self.linear_idx // self.num_m_blocks % self.num_heads
        self.m_block_idx = self.linear_idx % self.num_m_blocks


class FlashAttentionLPTScheduler(_Blocks):
    """Distributes query blocks by longest processing time: the last block of a head, which a causal mask leaves the
    most keys, is first. `l2_swizzle` heads are computed together, so that their keys stay in the L2.

    Its attributes `batch_idx`, `head_idx` and `m_block_idx` identify the current block.

    prefix: the prefix of the names of its variables.
    num_batches, num_heads, num_m_blocks: the numbers of batches, heads per batch, and query blocks per head.
    l2_swizzle: the number of heads, counted through all batches, in a group.
    num_ctas: the number of CTAs of a persistent kernel; without it, each CTA computes one block.

    Cost: four registers of each thread.

    Example:

        scheduler = FlashAttentionLPTScheduler("tile", num_batches=2, num_heads=4, num_m_blocks=8, l2_swizzle=2)
        scheduler.init(bx)
        while scheduler.valid():
            first_query = Tx.meta_var(scheduler.m_block_idx * 128)
            scheduler.next_tile()
    """

    def __init__(
        self,
        prefix: str,
        num_batches: int,
        num_heads: int,
        num_m_blocks: int,
        l2_swizzle: int,
        num_ctas: int | None = None,
    ) -> None:
        super().__init__(prefix, num_batches, num_heads, num_m_blocks)
        check_count("l2_swizzle of FlashAttentionLPTScheduler", l2_swizzle, "pass the number of heads in a group")
        if num_ctas is not None:
            check_count("num_ctas of FlashAttentionLPTScheduler", num_ctas, "pass the number of CTAs of the grid")
        self.l2_swizzle, self.num_ctas = l2_swizzle, num_ctas

    @Tx.inline
    def init(self, cta_id: Integer) -> None:
        """Select the first block of a CTA.

        cta_id: the index of the CTA in the grid.
        """
        self.linear_idx = cta_id
        self._locate()

    @Tx.inline
    def next_tile(self) -> None:
        """Advance to the next block of this CTA, or past the last block if each CTA computes one block."""
        if self.num_ctas is None:
            self.linear_idx = self.num_tiles
        else:
            self.linear_idx = self.linear_idx + self.num_ctas
            self._locate()

    @Tx.inline
    def _locate(self) -> None:
        size = Tx.meta_var(self.l2_swizzle * self.num_m_blocks)
        group, within = Tx.meta_var(self.linear_idx // size), Tx.meta_var(self.linear_idx % size)
        heads = Tx.meta_var(self._heads(group))
        head = Tx.meta_var(group * self.l2_swizzle + within % heads)
        self.batch_idx = head // self.num_heads
        self.head_idx = head % self.num_heads
        self.m_block_idx = self.num_m_blocks - 1 - within // heads

    def _heads(self, group: Any) -> Any:
        """Return the number of heads in a group; the last group has the remaining heads."""
        full, left = divmod(self.num_batches * self.num_heads, self.l2_swizzle)
        return Tx.if_then_else(group < full, self.l2_swizzle, left) if left else self.l2_swizzle


class IndexedTripleTileScheduler:
    """Distributes tiles listed in global memory, for data-dependent work such as ragged batches.

    Its attributes `b_idx`, `h_idx` and `q_idx` are the batch, head and query block of the current tile.

    prefix: the prefix of the names of its variables.
    b_indices, h_indices, q_indices: the batch, the head and the block of each tile: buffers of int32.
    tiles_indptr: the first tile of each CTA; the tiles of CTA c end before tiles_indptr[c + 1].

    Cost: five registers of each thread, and three loads a tile.

    Example:

        batches, heads, blocks, first_tiles = (Tx.alloc_shared((8,), "int32") for _ in range(4))
        scheduler = IndexedTripleTileScheduler("tile", batches, heads, blocks, first_tiles)
        scheduler.init(bx)
        while scheduler.valid():
            first_query = Tx.meta_var(scheduler.q_idx * 128)
            scheduler.next_tile()
    """

    def __init__(
        self, prefix: str, b_indices: Buffer, h_indices: Buffer, q_indices: Buffer, tiles_indptr: Buffer
    ) -> None:
        call = 'IndexedTripleTileScheduler("tile", batches, heads, blocks, first_tiles)'
        check_label("the first argument of IndexedTripleTileScheduler, the prefix of its names,", prefix, call)
        lists = {"b_indices": b_indices, "h_indices": h_indices, "q_indices": q_indices, "tiles_indptr": tiles_indptr}
        for name, value in lists.items():
            if not isinstance(value, Buffer) or value.ndim != 1:
                raise TirxError(
                    f"{name} of IndexedTripleTileScheduler must be a buffer of one dimension, but {given(value)}",
                    hint=f"write {call}",
                )
        self.b_indices, self.h_indices, self.q_indices = b_indices, h_indices, q_indices
        self.tiles_indptr = tiles_indptr
        self.linear_idx: Any = Tx.alloc_scalar("int32", f"{prefix}_linear_idx")
        self.linear_lim: Any = Tx.alloc_scalar("int32", f"{prefix}_linear_lim")
        self.b_idx: Any = Tx.alloc_scalar("int32", f"{prefix}_b_idx")
        self.h_idx: Any = Tx.alloc_scalar("int32", f"{prefix}_h_idx")
        self.q_idx: Any = Tx.alloc_scalar("int32", f"{prefix}_q_idx")

    @Tx.inline
    def init(self, sm: Integer) -> None:
        """Select the first tile of a CTA.

        sm: the index of the CTA in the grid.
        """
        self.linear_lim = self.tiles_indptr[sm + 1]
        self._go_to(self.tiles_indptr[sm])

    @Tx.inline
    def next_tile(self) -> None:
        """Advance to the next tile of this CTA."""
        self._go_to(self.linear_idx + 1)

    @Tx.inline
    def valid(self) -> Any:
        """Return whether the current tile exists: the condition of the loop over tiles."""
        return self.linear_idx < self.linear_lim

    @Tx.inline
    def _go_to(self, linear_idx: object) -> None:
        self.linear_idx = linear_idx
        if self.linear_idx < self.linear_lim:  # the lists may end with the last tile
            self.b_idx = self.b_indices[self.linear_idx]
            self.h_idx = self.h_indices[self.linear_idx]
            self.q_idx = self.q_indices[self.linear_idx]
