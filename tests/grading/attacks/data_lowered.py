"""A kernel that says it is lowered already, which no pass checks any more."""

from dataclasses import replace

from tirx_mini.ir import Launch
from tirx_mini.script import tirx as Tx


def hgemm_v1(M, N, K, dtype="float16"):
    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx = Tx.cta_id([1], parent="kernel")
            row = Tx.thread_id([128], parent="cta")
            D[row, 0] = Tx.cast(1.0, dtype)

    return replace(kernel, launch=Launch(grid=(1, 1, 1), cluster=(1, 1, 1), threads=128))
