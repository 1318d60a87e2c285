"""Rung 4: an asynchronous pipeline. One warp copies tiles ahead of time while four others add them up.

The producer fills a ring of stages by cp.async. Each stage has two mbarriers: `full` completes when the copies of the
producer have landed, `empty` when all consumers have read the stage. Each use of a stage is one phase of its barriers.
"""

# For editors: check this file, in which the annotations of kernels are values.
# pyright: basic, reportInvalidTypeForm=false

import numpy as np
from command_line import main

from tirx_mini.script import tirx as T

CTAS, TILES, WIDTH, DEPTH = 2, 10, 128, 3


@T.prim_func
def column_sums(A_ptr: T.handle, out_ptr: T.handle):
    A = T.match_buffer(A_ptr, (CTAS, TILES, WIDTH), "float32")
    out = T.match_buffer(out_ptr, (CTAS, WIDTH), "float32")

    T.device_entry()
    bx = T.cta_id([CTAS])
    tx = T.thread_id([WIDTH + 32])

    ring = T.alloc_shared((DEPTH, WIDTH), "float32")
    full = T.alloc_shared((DEPTH,), "uint64")
    empty = T.alloc_shared((DEPTH,), "uint64")
    if tx == 0:
        for s in range(DEPTH):
            T.ptx.mbarrier.init(full.ptr_to([s]), 32)
            T.ptx.mbarrier.init(empty.ptr_to([s]), WIDTH)
    T.ptx.fence.mbarrier_init()
    T.cuda.cta_sync()

    if tx >= WIDTH:
        column: T.let = (tx - WIDTH) * 4
        for k in T.serial(TILES):
            # The preceding phase of a new barrier counts as complete, so the first use of a stage does not block.
            T.ptx.mbarrier.try_wait(empty.ptr_to([k % DEPTH]), (k // DEPTH + 1) % 2)
            T.ptx.cp_async(ring.ptr_to([k % DEPTH, column]), A.ptr_to([bx, k, column]), bytes=16)
            T.ptx.cp_async.mbarrier.arrive.noinc(full.ptr_to([k % DEPTH]))
    else:
        total: T.float32 = 0.0
        for k in T.serial(TILES):
            T.ptx.mbarrier.try_wait(full.ptr_to([k % DEPTH]), k // DEPTH % 2)
            total += ring[k % DEPTH, tx]
            T.ptx.mbarrier.arrive(empty.ptr_to([k % DEPTH]))
        out[bx, tx] = total


A = np.random.default_rng(0).standard_normal((CTAS, TILES, WIDTH), np.float32)
kernel, inputs, outputs, expected = column_sums, [A], [np.zeros((CTAS, WIDTH), np.float32)], [A.sum(1)]

if __name__ == "__main__":
    raise SystemExit(main(kernel, inputs, outputs, expected))
