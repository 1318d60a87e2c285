"""Rung 3: reductions with few barriers. Each CTA computes the sum of a row, and the largest element of each warp.

Within a warp, shuffles exchange registers: after five steps every lane has the result of the warp. Between the warps of
a CTA, `T.cuda.cta_sum` exchanges the partial sums through a few words of shared memory. The first CTA prints its sum.
"""

# For editors: check this file, in which the annotations of kernels are values.
# pyright: basic, reportInvalidTypeForm=false

import numpy as np
from command_line import main

from tirx_mini.script import tirx as T

ROWS, COLUMNS, WARPS = 4, 256, 8


@T.prim_func
def reduce_rows(A_ptr: T.handle, largest_ptr: T.handle, total_ptr: T.handle):
    A = T.match_buffer(A_ptr, (ROWS, COLUMNS), "float32")
    largest = T.match_buffer(largest_ptr, (ROWS, WARPS), "float32")
    total = T.match_buffer(total_ptr, (ROWS,), "float32")

    T.device_entry()
    row = T.cta_id([ROWS])
    warp = T.warp_id([WARPS])
    lane = T.lane_id([32])
    partial = T.alloc_shared((WARPS,), "float32")

    value: T.let = A[row, warp * 32 + lane]

    T.hint("the largest element of each warp")
    best: T.float32 = value
    for step in T.unroll(5):
        best = T.max(best, T.tvm_warp_shuffle_xor(T.tvm_warp_activemask(), best, 16 >> step, 32, 32))
    if lane == 0:
        largest[row, warp] = best

    T.hint("the sum of the whole row")
    row_sum: T.let = T.cuda.cta_sum(value, WARPS, partial.ptr_to([0]))
    if warp == 0 and lane == 0:
        total[row] = row_sum
        if row == 0:
            mine = T.alloc_local((1,), "float32")
            mine[0] = row_sum
            T.print_buffer(mine.data, "float32", False, False, 1, (1,))


A = np.random.default_rng(0).standard_normal((ROWS, COLUMNS), np.float32)
kernel, inputs = reduce_rows, [A]
outputs = [np.zeros((ROWS, WARPS), np.float32), np.zeros(ROWS, np.float32)]
expected = [A.reshape(ROWS, WARPS, 32).max(2), A.sum(1)]

if __name__ == "__main__":
    raise SystemExit(main(kernel, inputs, outputs, expected))
