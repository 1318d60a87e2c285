"""TMA loads and stores with each swizzle, and of each width of element: tensor maps and bytes."""

from tvm.backend.cuda.tile_primitive.tma_utils import SwizzleMode, mma_shared_layout
from tvm.script import tirx as T

WIDE = mma_shared_layout("bfloat16", SwizzleMode.SWIZZLE_64B_ATOM, (64, 32))
NARROW = mma_shared_layout("float32", SwizzleMode.SWIZZLE_32B_ATOM, (64, 8))
BYTES = mma_shared_layout("uint8", SwizzleMode.SWIZZLE_128B_ATOM, (2, 64, 128))


@T.prim_func
def kernel(A: T.Buffer((256, 96), "bfloat16"), B: T.Buffer((128, 24), "float32"), C: T.Buffer((4, 64, 256), "uint8")):
    T.device_entry()
    block = T.cta_id([4])
    thread = T.thread_id([64])
    pool = T.SMEMPool()
    full = pool.alloc((3,), "uint64", align=8)
    a_tile = pool.alloc((64, 32), "bfloat16", layout=WIDE, align=1024)
    b_tile = pool.alloc((64, 8), "float32", layout=NARROW, align=1024)
    c_tile = pool.alloc((2, 64, 128), "uint8", layout=BYTES, align=1024)
    pool.commit()
    if thread == 0:
        for i in range(3):
            T.ptx.mbarrier.init(full.ptr_to([i]), 1)
        T.ptx.fence.mbarrier_init()
    T.cuda.cta_sync()
    if thread == 0:
        row = block * 64
        T.tile.copy_async(a_tile[:, :], A[row : row + 64, 32:64], dispatch="tma_auto", mbar=full.ptr_to([0]))
        T.ptx.mbarrier.arrive.expect_tx(full.ptr_to([0]), 4096)
        T.tile.copy_async(b_tile[:, :], B[64:128, 8:16], dispatch="tma_auto", mbar=full.ptr_to([1]))
        T.ptx.mbarrier.arrive.expect_tx(full.ptr_to([1]), 2048)
        T.tile.copy_async(c_tile[:, :, :], C[0:2, :, 128:256], dispatch="tma_auto", mbar=full.ptr_to([2]))
        T.ptx.mbarrier.arrive.expect_tx(full.ptr_to([2]), 16384)
    for i in range(3):
        T.ptx.mbarrier.try_wait(full.ptr_to([i]), 0)
    if thread == 0:
        T.tile.copy_async(A[block * 64 : block * 64 + 64, 0:32], a_tile[:, :], dispatch="tma_auto")
        if block == 0:
            T.tile.copy_async(C[2:4, :, 128:256], c_tile[:, :, :], dispatch="tma_auto")
        T.ptx.cp_async.bulk.commit_group()
        T.ptx.cp_async.bulk.wait_group(0, False)
