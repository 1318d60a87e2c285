"""TMA by its operands: a tensor map that the kernel encodes, a load and a store that name it."""

from tvm.backend.cuda.tile_primitive.tma_utils import SwizzleMode, mma_shared_layout
from tvm.script import tirx as T

TILE = mma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (64, 64))
ENCODE = "runtime.cuTensorMapEncodeTiled"


@T.prim_func
def kernel(A: T.Buffer((128, 128), "float16")):
    A_map: T.let[T.handle("tensormap")] = T.tvm_stack_alloca("tensormap", 1)
    T.call_packed(ENCODE, A_map, "float16", 2, A.data, 128, 128, 256, 64, 64, 1, 1, 0, 3, 2, 0)
    T.device_entry()
    T.cta_id([1])
    thread = T.thread_id([32])
    pool = T.SMEMPool()
    tile = pool.alloc((64, 64), "float16", layout=TILE, align=1024)
    full = pool.alloc((1,), "uint64", align=8)
    pool.commit()
    if thread == 0:
        T.ptx.mbarrier.init(full.ptr_to([0]), 1)
        T.ptx.fence.mbarrier_init()
        T.ptx.mbarrier.arrive.expect_tx(full.ptr_to([0]), 8192)
        T.ptx.cp_async.bulk.tensor.g2s_cta(2, tile.ptr_to([0, 0]), full.ptr_to([0]), T.address_of(A_map), 1, "", 0, 64)
        T.ptx.mbarrier.try_wait(full.ptr_to([0]), 0)
        T.ptx.cp_async.bulk.tensor.s2g(2, tile.ptr_to([0, 0]), T.address_of(A_map), "", 64, 0)
        T.ptx.cp_async.bulk.commit_group()
        T.ptx.cp_async.bulk.wait_group(0, False)
