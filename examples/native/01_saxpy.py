"""Rung 1: elementwise. Each thread computes one element; the last CTA has more threads than elements."""

# For editors: check this file, in which the annotations of kernels are values.
# pyright: basic, reportInvalidTypeForm=false

import numpy as np
from command_line import main

from tirx_mini.script import tirx as T

N, THREADS, FACTOR = 1000, 256, 2.5


@T.prim_func
def saxpy(x_ptr: T.handle, y_ptr: T.handle):
    x = T.match_buffer(x_ptr, (N,), "float32")
    y = T.match_buffer(y_ptr, (N,), "float32")

    T.device_entry()
    cta = T.cta_id([T.ceildiv(N, THREADS)])
    thread = T.thread_id([THREADS])
    i: T.let = cta * THREADS + thread

    if i < N:
        y[i] = FACTOR * x[i] + y[i]


x = np.arange(N, dtype=np.float32)
kernel, inputs, outputs, expected = saxpy, [x], [np.ones(N, np.float32)], [FACTOR * x + 1]

if __name__ == "__main__":
    raise SystemExit(main(kernel, inputs, outputs, expected))
