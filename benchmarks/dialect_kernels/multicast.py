"""A cluster of four CTAs in a grid of two dimensions: one of them loads a tile for all."""

from tvm.backend.cuda.tile_primitive.tma_utils import SwizzleMode, mma_shared_layout
from tvm.script import tirx as T

LAYOUT = mma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (128, 64))


@T.prim_func
def kernel(A: T.Buffer((512, 128), "float16"), D: T.Buffer((512, 128), "float16")):
    T.device_entry()
    row, column = T.cta_id([4, 2])
    rank, _ = T.cta_id_in_cluster([4, 1])
    thread = T.thread_id([96])
    pool = T.SMEMPool()
    full = pool.alloc((1,), "uint64", align=8)
    tile = pool.alloc((128, 64), "float16", layout=LAYOUT, align=1024)
    pool.commit()
    if thread == 0:
        T.ptx.mbarrier.init(full.ptr_to([0]), 1)
        T.ptx.fence.mbarrier_init()
    T.cuda.cluster_sync()
    if thread == 0:
        T.ptx.mbarrier.arrive.expect_tx(full.ptr_to([0]), 16384)
        if rank == 0:
            T.tile.copy_async(
                tile[:, :], A[0:128, column * 64 : column * 64 + 64], dispatch="tma_auto", mbar=full.ptr_to([0]),
                cta_mask=15,
            )  # fmt: skip
    T.ptx.mbarrier.try_wait(full.ptr_to([0]), 0)
    if thread == 0:
        T.tile.copy_async(
            D[row * 128 : row * 128 + 128, column * 64 : column * 64 + 64], tile[:, :], dispatch="tma_auto"
        )
        T.ptx.cp_async.bulk.commit_group()
        T.ptx.cp_async.bulk.wait_group(0)
    T.cuda.cluster_sync()
