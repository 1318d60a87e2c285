"""The library of barriers and pools: arrival counts, columns of tensor memory, shared memory."""

from tvm.script import tirx as T
from tvm.tirx.lang.pipeline import MBarrier, Pipeline, PipelineState

DEPTH = 3


@T.prim_func
def kernel(A: T.Buffer((128, 192), "float16"), D: T.Buffer((128,), "float32")):
    T.device_entry()
    T.cta_id([1])
    T.warpgroup_id([1])
    T.warp_id_in_wg([4])
    warp = T.warp_id([4])
    thread = T.thread_id([128])
    pool = T.SMEMPool()
    tmem_pool = T.TMEMPool(pool, total_cols=256)
    stages = Pipeline(pool, DEPTH, full="tma", empty="tcgen05")
    ready = Pipeline(pool, 1, full="tcgen05", empty="mbar", init_empty=128)
    extra = MBarrier(pool, 2)
    extra.init(64)
    pool.move_base_to(1024)
    tiles = pool.alloc_tcgen05_mma_AB((DEPTH, 128, 64), "float16")
    pool.commit()
    tmem = tmem_pool.alloc((128, 128), "float32")
    tmem_pool.commit()
    T.ptx.fence.mbarrier_init()
    T.cuda.cta_sync()
    if warp == 0:
        if T.ptx.elect_sync():
            state = PipelineState(DEPTH, phase=1)
            for k in range(3):
                stages.empty.wait(state.stage, state.phase)
                T.tile.copy_async(
                    tiles[state.stage, :, :], A[:, k * 64 : k * 64 + 64], dispatch="tma_auto",
                    mbar=stages.full.ptr_to([state.stage]),
                )  # fmt: skip
                stages.full.arrive(state.stage, 16384)
                state.advance()
    for i in range(DEPTH):
        stages.full.wait(i, 0)
    D[thread] = T.float32(0)
    T.cuda.cta_sync()
    tmem_pool.dealloc()
