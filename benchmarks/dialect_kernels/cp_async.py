"""A tile by `cp.async`, which all threads issue, and its groups."""

from tvm.script import tirx as T


@T.prim_func
def kernel(A: T.Buffer((64, 64), "float16"), D: T.Buffer((64, 64), "float16")):
    T.device_entry()
    T.cta_id([1])
    T.thread_id([128])
    tile = T.alloc_shared((64, 64), "float16")
    T.cta.copy_async(tile[:, :], A[:, :], dispatch="ldgsts")
    T.ptx.cp_async.commit_group()
    T.ptx.cp_async.wait_group(0)
    T.cuda.cta_sync()
    T.cta.copy(D[:, :], tile[:, :])
