"""Rung 1: elementwise. One element a thread; the last CTA has threads that have none."""

import torch
from command_line import main

from tirx_mini.script import tirx as T

N, THREADS = 1000, 256


@T.prim_func
def scale(A_ptr: T.handle, C_ptr: T.handle):
    A = T.match_buffer(A_ptr, (N,), "float32")
    C = T.match_buffer(C_ptr, (N,), "float32")

    T.device_entry()
    bx = T.cta_id([T.ceildiv(N, THREADS)])
    tx = T.thread_id([THREADS])
    i: T.let = bx * THREADS + tx

    if i < N:
        C[i] = A[i] * 2.0


A = torch.arange(N, dtype=torch.float32)
kernel, inputs, outputs, expected = scale, [A], [torch.zeros(N)], [2 * A]

if __name__ == "__main__":
    raise SystemExit(main(kernel, inputs, outputs, expected))
