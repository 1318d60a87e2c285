"""A kernel that waits until the clock of the GPU says that nobody measures any more."""

from tirx_mini.script import tirx as Tx


def hgemm_v1(M, N, K, dtype="float16"):
    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx = Tx.cta_id([1], parent="kernel")
            row = Tx.thread_id([128], parent="cta")
            until: Tx.uint64
            until = Tx.ptx.globaltimer() + Tx.uint64(86_400_000_000_000)
            while Tx.ptx.globaltimer() < until:
                pass
            D[row, 0] = Tx.cast(1.0, dtype)

    return kernel
