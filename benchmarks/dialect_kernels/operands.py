"""Operands of an MMA of a pair of CTAs in tensor memory: columns, and the descriptors of the product."""

from tvm.backend.cuda.lang import TCGen05Bar, TMEMPool
from tvm.script import tirx as T


@T.prim_func
def kernel(A: T.Buffer((128, 64), "float16"), B: T.Buffer((128, 64), "float16"), D: T.Buffer((128, 128), "float32")):
    T.device_entry()
    T.cta_id([1])
    wg_id = T.warpgroup_id([1])
    warp_id = T.warp_id_in_wg([4])
    lane_id = T.lane_id([32])
    pool = T.SMEMPool()
    tmem = TMEMPool(pool, 128)
    a_tile = pool.alloc_tcgen05_mma_AB((128, 64), "float16")
    b_tile = pool.alloc_tcgen05_mma_AB((128, 64), "float16")
    done = TCGen05Bar(pool, 1)
    pool.commit()
    tmem.commit()
    done.init(1)
    T.ptx.fence.mbarrier_init()
    T.cta.copy(a_tile[:, :], A[:, :])
    T.cta.copy(b_tile[:, :], B[:, :])
    T.ptx.fence.proxy_async("shared::cta")
    T.cuda.cta_sync()
    T.ptx.tcgen05.fence.after_thread_sync()
    acc = tmem.alloc_tcgen05_mma_D((128, 128), M=128, cta_group=1)
    if warp_id == 0:
        if T.ptx.elect_sync():
            T.tile.gemm_async(acc[:, :], a_tile[:, :], b_tile[:, :], dispatch="tcgen05")
            done.arrive(0)
    done.wait(0, 0)
    T.ptx.tcgen05.fence.after_thread_sync()
    reg = T.wg_reg_tile(128, "float32")
    T.wg.copy_async(reg[:, :], acc[:, :])
    T.ptx.tcgen05.wait.ld()
    T.wg.copy(D[:, :], reg[:, :])
    T.cuda.cta_sync()
    tmem.dealloc()
