"""Never end to be decorated: a function that Python calls while the kernel is built."""

from tirx_mini.script import tirx as Tx


def endless():
    while True:
        pass


def hgemm_v1(M, N, K, dtype="float16"):
    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            row = Tx.thread_id([128], parent="cta")
            D[row, 0] = Tx.cast(endless(), dtype)

    return kernel
