"""Rung 2: shared memory. Each CTA divides the elements of a row by the sum of the row.

Every thread needs the sum. In each round all threads publish their partial sums in shared memory and add the partial
sum of one partner, at twice the distance of the round before. After seven rounds each of the 128 threads has added up
the whole row. A round needs two barriers: one before the partial sums are read, one before they are overwritten.
"""

# For editors: check this file, in which the annotations of kernels are values.
# pyright: basic, reportInvalidTypeForm=false

import numpy as np
from command_line import main

from tirx_mini.script import tirx as T

ROWS, COLUMNS, THREADS = 3, 512, 128


@T.prim_func
def row_shares(X_ptr: T.handle, shares_ptr: T.handle):
    X = T.match_buffer(X_ptr, (ROWS, COLUMNS), "float32")
    shares = T.match_buffer(shares_ptr, (ROWS, COLUMNS), "float32")

    T.device_entry()
    row = T.cta_id([ROWS])
    thread = T.thread_id([THREADS])
    published = T.alloc_shared((THREADS,), "float32")

    total: T.float32 = 0.0
    for column in T.serial(thread, COLUMNS, THREADS):
        total += X[row, column]

    distance: T.int32 = 1
    while distance < THREADS:
        published[thread] = total
        T.cuda.cta_sync()
        total += published[thread ^ distance]
        T.cuda.cta_sync()
        distance *= 2

    for column in T.serial(thread, COLUMNS, THREADS):
        shares[row, column] = X[row, column] / total


X = np.random.default_rng(0).random((ROWS, COLUMNS), np.float32)
kernel, inputs, outputs, expected = row_shares, [X], [np.zeros_like(X)], [X / X.sum(1, keepdims=True)]

if __name__ == "__main__":
    raise SystemExit(main(kernel, inputs, outputs, expected))
