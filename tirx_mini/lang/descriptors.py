"""Matrix descriptors in variables, for kernels that issue MMAs directly."""

from __future__ import annotations

from tirx_mini.ir import Buffer, Expr, cast
from tirx_mini.script import add_16B_offset, encode_matrix_descriptor
from tirx_mini.script import tirx as Tx

from .arguments import Integer

smem_desc_add_16B_offset = add_16B_offset
"""TVM's name for the function that advances a descriptor by a number of 16-byte units."""


class SmemDescriptor:
    """The descriptor of a shared-memory tile for `Tx.ptx.tcgen05.mma`, encoded once and advanced along the tile.

    Cost: two registers of each thread.

    Example:

        pool = Tx.PoolAllocator()
        tile = pool.alloc((128, 64), "float16", layout=A_layout)
        pool.commit()
        a_desc = SmemDescriptor()
        a_desc.init(tile.ptr_to([0, 0]), 1, 64, 3)
        next_step = a_desc.add_16B_offset(2)         # 32 bytes along K
    """

    def __init__(self) -> None:
        self.buf: Buffer = Tx.alloc_local((1,), "uint64", name=Tx.variable_name("desc"))

    @property
    def desc(self) -> Expr:
        """The descriptor."""
        return self.buf[0]

    @Tx.inline
    def init(self, smem_ptr: object, ldo: Integer, sdo: Integer, swizzle: object) -> None:
        """Encode the descriptor.

        smem_ptr: a pointer to the tile.
        ldo, sdo: the leading and the stride dimension byte offset, in units of 16 bytes.
        swizzle: 0 for none, 1 for 32, 2 for 64, 3 for 128 bytes.
        """
        encode_matrix_descriptor("tcgen05", self.buf.ptr_to([0]), smem_ptr, ldo, sdo, swizzle)

    def add_16B_offset(self, offset: Integer) -> Expr:
        """Return the descriptor of a tile that begins `offset` units further on.

        offset: the number of 16-byte units.
        """
        return add_16B_offset(self.desc, offset)

    @Tx.inline
    def make_lo_uniform(self) -> None:
        """Broadcast lane 0's lower 32 bits to all lanes, as a hint to CUDA's compiler; a whole warp executes it."""
        self.buf[0] = (self.buf[0] & 0xFFFFFFFF00000000) | cast(
            "uint64", Tx.ptx.shfl.idx(cast("uint32", self.buf[0]), 0)
        )
