"""A kernel that waits for an arrival that never comes."""

from tirx_mini.script import tirx as Tx


def hgemm_v1(M, N, K, dtype="float16"):
    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx = Tx.cta_id([1], parent="kernel")
            row = Tx.thread_id([128], parent="cta")
            pool = Tx.PoolAllocator()
            bar = pool.alloc((1,), "uint64")
            pool.commit()
            if row == 0:
                Tx.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            Tx.cuda.cta_sync()
            Tx.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            D[row, 0] = Tx.cast(1.0, dtype)

    return kernel
