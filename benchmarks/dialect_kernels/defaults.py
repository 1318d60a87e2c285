"""What calls mean whose options are left out: waits, fences, scalars, a cooperative copy."""

from tvm.backend.cuda.tile_primitive.tma_utils import SwizzleMode, mma_shared_layout
from tvm.script import tirx as T

LAYOUT = mma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (128, 64))


@T.prim_func
def kernel(A: T.Buffer((128, 64), "float16"), D: T.Buffer((128, 64), "float16"), F: T.Buffer((128,), "float32")):
    T.device_entry()
    T.cta_id([1])
    thread = T.thread_id([128])
    pool = T.SMEMPool()
    tile = pool.alloc((128, 64), "float16", layout=LAYOUT, align=1024)
    pool.commit()
    value = T.local_scalar()
    values = T.alloc_local((2,))
    value = 1.5
    values[0] = value
    F[thread] = values[0]
    T.cta.copy(tile[:, :], A[:, :])
    T.ptx.fence.proxy_async()
    T.cuda.cta_sync()
    if thread == 0:
        T.tile.copy_async(D[:, :], tile[:, :], dispatch="tma_auto")
        T.ptx.cp_async.bulk.commit_group()
        T.ptx.cp_async.bulk.wait_group()
