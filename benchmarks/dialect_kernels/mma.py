"""One MMA of tcgen05 from shared memory: descriptors, columns of tensor memory, barriers, the load of the result."""

from tvm.backend.cuda.tile_primitive.tma_utils import SwizzleMode, mma_shared_layout
from tvm.script import tirx as T
from tvm.tirx.layout import S, TCol, TileLayout, TLane

LAYOUT = mma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (128, 64))


@T.prim_func
def kernel(A: T.Buffer((128, 64), "float16"), B: T.Buffer((128, 64), "float16"), D: T.Buffer((128, 128), "float32")):
    T.device_entry()
    T.cta_id([1])
    T.warpgroup_id([1])
    warp = T.warp_id([4])
    thread = T.thread_id([128])
    pool = T.SMEMPool()
    address = pool.alloc((1,), "uint32")
    full = pool.alloc((1,), "uint64", align=8)
    done = pool.alloc((1,), "uint64", align=8)
    a_tile = pool.alloc((128, 64), "float16", layout=LAYOUT, align=1024)
    b_tile = pool.alloc((128, 64), "float16", layout=LAYOUT, align=1024)
    pool.commit()
    if warp == 0:
        T.ptx.tcgen05.alloc(T.address_of(address), n_cols=128, cta_group=1)
    if thread == 0:
        T.ptx.mbarrier.init(full.ptr_to([0]), 1)
        T.ptx.mbarrier.init(done.ptr_to([0]), 1)
        T.ptx.fence.mbarrier_init()
    T.cuda.cta_sync()
    accumulator = T.decl_buffer(
        (128, 128), "float32", scope="tmem", allocated_addr=address[0],
        layout=TileLayout(S[(128, 128) : (1 @ TLane, 1 @ TCol)]),
    )  # fmt: skip
    if thread == 0:
        T.tile.copy_async(a_tile[:, :], A[:, :], dispatch="tma_auto", mbar=full.ptr_to([0]))
        T.tile.copy_async(b_tile[:, :], B[:, :], dispatch="tma_auto", mbar=full.ptr_to([0]))
        T.ptx.mbarrier.arrive.expect_tx(full.ptr_to([0]), 32768)
        T.ptx.mbarrier.try_wait(full.ptr_to([0]), 0)
        T.ptx.tcgen05.fence.after_thread_sync()
        T.tile.gemm_async(accumulator[:, :], a_tile[:, :], b_tile[:, :], accum=False, dispatch="tcgen05", cta_group=1)
        T.ptx.tcgen05.commit(done.ptr_to([0]), cta_group=1)
    T.ptx.mbarrier.try_wait(done.ptr_to([0]), 0)
    T.ptx.tcgen05.fence.after_thread_sync()
    registers = T.wg_reg_tile(128, "float32")
    T.wg.copy_async(registers[:, :], accumulator[:, :])
    T.ptx.tcgen05.wait.ld()
    T.wg.copy(D[:, :], registers[:, :])
    T.cuda.cta_sync()
    if warp == 0:
        T.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
        T.ptx.tcgen05.dealloc(address[0], n_cols=128, cta_group=1)
