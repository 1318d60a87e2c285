"""A matrix descriptor in a variable, as kernels that issue MMAs by themselves keep it."""

from __future__ import annotations

from tirx_mini.ir import Buffer, Expr, cast
from tirx_mini.script import add_16B_offset, encode_matrix_descriptor
from tirx_mini.script import tirx as Tx

from .arguments import Integer

smem_desc_add_16B_offset = add_16B_offset
"""TVM's name: the descriptor of the tile that begins a number of 16 bytes further on."""


class SmemDescriptor:
    """The descriptor of a tile in shared memory, for `Tx.ptx.tcgen05.mma`: encoded once, and moved along the tile.

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
        """The descriptor of the tile that begins further on.

        offset: by how many units of 16 bytes.
        """
        return add_16B_offset(self.desc, offset)

    @Tx.inline
    def make_lo_uniform(self) -> None:
        """Give all lanes the lower 32 bits that lane 0 has, as a hint to CUDA's compiler. A whole warp executes it."""
        self.buf[0] = (self.buf[0] & 0xFFFFFFFF00000000) | cast(
            "uint64", Tx.ptx.shfl.idx(cast("uint32", self.buf[0]), 0)
        )
