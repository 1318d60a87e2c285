"""Indices of the launch one by one, as in functions that TVM has scheduled."""

from tvm.script import tirx as T


@T.prim_func
def kernel(A: T.Buffer((2, 3, 64), "float32")):
    by = T.launch_thread("blockIdx.y", 3)
    bx = T.launch_thread("blockIdx.x", 2)
    with T.launch_thread("threadIdx.x", 64) as tx:
        A[bx, by, tx] = T.float32(1)
