"""A buffer of 2^30 registers a thread."""

from tirx_mini.script import tirx as Tx


def hgemm_v1(M, N, K, dtype="float16"):
    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx = Tx.cta_id([1], parent="kernel")
            row = Tx.thread_id([128], parent="cta")
            values = Tx.alloc_local((1 << 30,), "float32")
            values[row] = 1.0
            D[row, 0] = Tx.cast(values[row], dtype)

    return kernel
