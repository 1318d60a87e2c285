"""Ordinary copies: vectors of every width, swizzled tiles, cp.async, ldmatrix and stmatrix."""

from __future__ import annotations

import numpy as np

from tirx_mini.layout import SwizzleMode, tma_shared_layout
from tirx_mini.script import tirx as T

from .case import Built, Case, blank, random_bytes, small_integers

SWIZZLES = {
    "no": SwizzleMode.SWIZZLE_NONE, "32-byte": SwizzleMode.SWIZZLE_32B_ATOM,
    "64-byte": SwizzleMode.SWIZZLE_64B_ATOM, "128-byte": SwizzleMode.SWIZZLE_128B_ATOM,
}  # fmt: skip


def vectors(dtype: str, count: int) -> Built:
    """Each thread moves `count` elements at once: global to registers to shared memory, and its neighbour's back."""

    @T.prim_func
    def kernel(A: T.Buffer((64, count), dtype), out: T.Buffer((64, count), dtype)):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([64])
        box = T.alloc_shared((64, count), dtype, align=16)
        mine = T.alloc_local((count,), dtype)
        other = T.alloc_local((count,), dtype)
        with T.thread():
            T.copy(mine[:], A[tx, :])
            T.copy(box[tx, :], mine[:])
        T.cuda.cta_sync()
        with T.thread():
            T.copy(other[:], box[63 - tx, :])
            T.copy(out[tx, :], other[:])

    return kernel, (random_bytes((64, count), dtype), blank((64, count), dtype))


def tile(dtype: str, swizzle: str, rows: int, columns: int) -> Built:
    """A tile into shared memory by all threads, its raw bytes out, and the tile itself out again."""
    layout = tma_shared_layout(dtype, SWIZZLES[swizzle], (rows, columns))
    size = random_bytes((1,), dtype).itemsize
    words = rows * columns * size // 4

    @T.prim_func
    def kernel(
        A: T.Buffer((rows, columns), dtype), raw: T.Buffer((words,), "uint32"), out: T.Buffer((rows, columns), dtype)
    ):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([64])
        pool = T.PoolAllocator()
        box = pool.alloc((rows, columns), dtype, layout=layout, align=1024)
        pool.move_base_to(0)
        plain = pool.alloc((words,), "uint32", align=1024)
        pool.commit()
        with T.cta():
            T.copy(box[:, :], A[:, :])
        T.cuda.cta_sync()
        for i in T.serial(words // 64):
            raw[i * 64 + tx] = plain[i * 64 + tx]
        with T.cta():
            T.copy(out[:, :], box[:, :])

    return kernel, (random_bytes((rows, columns), dtype), blank(words, "uint32"), blank((rows, columns), dtype))


def cp_async(size: int, left: int) -> Built:
    """Four groups of `size` bytes a thread; the last `left` of them are waited for only at the end."""
    count = size // 4

    @T.prim_func
    def kernel(A: T.Buffer((4, 32, count), "int32"), out: T.Buffer((4, 32, count), "int32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        box = T.alloc_shared((4, 32, count), "int32", align=16)
        for i in T.unroll(4):
            T.ptx.cp_async(box.ptr_to([i, tx, 0]), A.ptr_to([i, tx, 0]), bytes=size)
            T.ptx.cp_async.commit_group()
        T.ptx.cp_async.wait_group(left)
        T.cuda.cta_sync()
        for i in T.serial(4 - left):
            for j in T.serial(count):
                out[i, tx, j] = box[i, 31 - tx, j]
        T.ptx.cp_async.wait_group(0)
        T.cuda.cta_sync()
        for i in T.serial(left):
            for j in T.serial(count):
                out[4 - left + i, tx, j] = box[4 - left + i, 31 - tx, j]

    return kernel, (random_bytes((4, 32, count), "int32"), blank((4, 32, count)))


def cp_async_or_zeros() -> Built:
    """Copies of parts of 16 bytes, of none, and under a condition."""

    @T.prim_func
    def kernel(A: T.Buffer((3, 32, 16), "uint8"), N: T.Buffer((32,), "int32"), out: T.Buffer((3, 32, 16), "uint8")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        box = T.alloc_shared((3, 32, 16), "uint8", align=128)
        for k in T.unroll(16):
            box[2, tx, k] = T.Cast("uint8", 7)
        T.cuda.cta_sync()
        T.ptx.cp_async.zfill(box.ptr_to([0, tx, 0]), A.ptr_to([0, tx, 0]), N[tx])
        T.ptx.cp_async(box.ptr_to([1, tx, 0]), A.ptr_to([1, tx, 0]), 16, predicate=N[tx] > 8, fill_mode="zero")
        T.ptx.cp_async(box.ptr_to([2, tx, 0]), A.ptr_to([2, tx, 0]), 16, predicate=N[tx] > 8, prefetch_size=128)
        T.ptx.cp_async.commit_group()
        T.ptx.cp_async.wait_group(0)
        for i in T.unroll(3):
            for k in T.unroll(16):
                out[i, tx, k] = box[i, tx, k]

    sizes = (np.arange(32) * 5 % 17).astype(np.int32)
    return kernel, (random_bytes((3, 32, 16), "uint8"), sizes, blank((3, 32, 16), "uint8"))


def cp_async_arrives() -> Built:
    """The copies of 64 threads complete a phase of an mbarrier; 64 others wait for it."""

    @T.prim_func
    def kernel(A: T.Buffer((3, 64, 4), "int32"), out: T.Buffer((3, 64, 4), "int32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([128])
        bar = T.alloc_shared((1,), "uint64")
        box = T.alloc_shared((3, 64, 4), "int32", align=16)
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 64)
        T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        if tx < 64:
            for i in T.serial(3):
                T.ptx.cp_async(box.ptr_to([i, tx, 0]), A.ptr_to([i, tx, 0]), bytes=16)
            T.ptx.cp_async.mbarrier.arrive.noinc(bar.ptr_to([0]))
        else:
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            for i in T.serial(3):
                for j in T.serial(4):
                    out[i, tx - 64, j] = box[i, 127 - tx, j]

    return kernel, (random_bytes((3, 64, 4), "int32"), blank((3, 64, 4)))


def bulk_to_the_other() -> Built:
    """Each CTA of a pair sends bytes to the other one, and adds one to what it gets."""

    @T.prim_func
    def kernel(A: T.Buffer((2, 256), "int32"), out: T.Buffer((2, 256), "int32")):
        T.device_entry()
        T.cta_id([2])
        rank = T.cta_id_in_cluster([2])
        tx = T.thread_id([256])
        mine = T.alloc_shared((256,), "int32", align=16)
        theirs = T.alloc_shared((256,), "int32", align=16)
        bar = T.alloc_shared((1,), "uint64")
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.fence.mbarrier_init()
        mine[tx] = A[rank, tx]
        T.ptx.fence.proxy_async("shared::cta")
        T.cuda.cluster_sync()
        if tx == 0:
            T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 1024)
            dst = T.ptx.map_shared_rank(theirs.ptr_to([0]), 1 - rank)
            T.ptx.cp_async_bulk_s2s_cluster(
                dst, mine.ptr_to([0]), 1024, T.ptx.map_shared_rank(bar.ptr_to([0]), 1 - rank)
            )
        T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
        out[rank, tx] = theirs[tx] + 1
        T.cuda.cluster_sync()

    return kernel, (random_bytes((2, 256), "int32"), blank((2, 256)))


def stores_to_others(vec: str, words: int) -> Built:
    """Each thread of a cluster of four stores words to the next CTA, whose threads wait for the bytes."""

    @T.prim_func
    def kernel(A: T.Buffer((4, 64, words), "int32"), out: T.Buffer((4, 64, words), "int32")):
        T.device_entry()
        T.cta_id([4])
        rank = T.cta_id_in_cluster([4])
        tx = T.thread_id([64])
        box = T.alloc_shared((64, words), "int32", align=16)
        bar = T.alloc_shared((1,), "uint64")
        mine = T.alloc_local((words,), "int32")
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.fence.mbarrier_init()
            T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 64 * words * 4)
        for i in T.unroll(words):
            mine[i] = A[rank, tx, i] * 3
        T.cuda.cluster_sync()
        there = (rank + 1) % 4
        T.ptx.st_async(
            T.ptx.map_shared_rank(box.ptr_to([63 - tx, 0]), there), mine.ptr_to([0]),
            T.ptx.map_shared_rank(bar.ptr_to([0]), there), vec=vec, type="s32",
        )
        T.ptx.mbarrier.try_wait_acquire_cluster(bar.ptr_to([0]), 0)
        for i in T.unroll(words):
            out[rank, tx, i] = box[tx, i] - 1

    return kernel, (small_integers((4, 64, words), "int32"), blank((4, 64, words)))


def bulk_bytes(op: str, kind: str, dtype: str) -> Built:
    """Plain bytes come by TMA, and are stored, or with an operation changed, in global memory."""

    @T.prim_func
    def kernel(A: T.Buffer((256,), dtype), out: T.Buffer((256,), dtype)):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        bar = T.alloc_shared((1,), "uint64")
        box = T.alloc_shared((256,), dtype, align=16)
        nbytes = 256 * box.dtype.itemsize
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.fence.mbarrier_init()
            T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), nbytes)
            T.ptx.cp_async_bulk_g2s_cluster(box.ptr_to([0]), A.ptr_to([0]), nbytes, bar.ptr_to([0]))
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            if op == "store":
                T.ptx.cp_async_bulk_s2g(out.ptr_to([0]), box.ptr_to([0]), nbytes)
            else:
                T.ptx.cp_reduce_async.bulk(out.ptr_to([0]), box.ptr_to([0]), nbytes, op=op, type=kind)
            T.ptx.cp_async.bulk.commit_group()
            T.ptx.cp_async.bulk.wait_group(0)

    if dtype.startswith("float"):
        return kernel, (small_integers((256,), dtype), small_integers((256,), dtype, 1))
    return kernel, (random_bytes((256,), dtype), random_bytes((256,), dtype, 1))


BULK = (
    ("store", "", "int32"), ("add", "f32", "float32"), ("add", "f16", "float16"), ("add", "u64", "uint64"),
    ("min", "s32", "int32"), ("max", "u32", "uint32"), ("and", "b32", "uint32"), ("xor", "b64", "uint64"),
    ("inc", "u32", "uint32"), ("dec", "u32", "uint32"),
)  # fmt: skip


def cp_async_tile() -> Built:
    """copy_async by all threads into a swizzled tile."""
    layout = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (32, 64))

    @T.prim_func
    def kernel(A: T.Buffer((32, 64), "float16"), out: T.Buffer((32, 64), "float16")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([64])
        pool = T.PoolAllocator()
        box = pool.alloc((32, 64), "float16", layout=layout)
        pool.commit()
        with T.cta():
            T.copy_async(box[:, :], A[:, :], dispatch="cp_async")
        T.ptx.cp_async.commit_group()
        T.ptx.cp_async.wait_group(0)
        T.cuda.cta_sync()
        with T.cta():
            T.copy(out[:, :], box[:, :])

    return kernel, (random_bytes((32, 64), "float16"), blank((32, 64), "float16"))


def load_matrix(num: int, transpose: bool) -> Built:
    """The fragments that each lane receives."""

    @T.prim_func
    def kernel(A: T.Buffer((8 * num, 8), "float16"), out: T.Buffer((32, 2 * num), "float16")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        box = T.alloc_shared((8 * num, 8), "float16", align=16)
        mine = T.alloc_local((2 * num,), "float16")
        for i in T.serial(2 * num):
            box[(i * 32 + tx) // 8, tx % 8] = A[(i * 32 + tx) // 8, tx % 8]
        T.cuda.cta_sync()
        T.ptx.ldmatrix(mine.ptr_to([0]), box.ptr_to([(tx * 3 + 5) % (8 * num), 0]), num=num, transpose=transpose)
        for i in T.unroll(2 * num):
            out[tx, i] = mine[i]

    return kernel, (random_bytes((8 * num, 8), "float16"), blank((32, 2 * num), "float16"))


def store_matrix(num: int, transpose: bool) -> Built:
    """The fragments of each lane, to rows in another order."""

    @T.prim_func
    def kernel(A: T.Buffer((32, 2 * num), "float16"), out: T.Buffer((8 * num, 8), "float16")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        box = T.alloc_shared((8 * num, 8), "float16", align=16)
        mine = T.alloc_local((2 * num,), "float16")
        for i in T.unroll(2 * num):
            mine[i] = A[tx, i]
        T.ptx.stmatrix(box.ptr_to([(tx * 3 + 5) % (8 * num), 0]), mine.ptr_to([0]), num=num, transpose=transpose)
        T.cuda.cta_sync()
        for i in T.serial(2 * num):
            out[(i * 32 + tx) // 8, tx % 8] = box[(i * 32 + tx) // 8, tx % 8]

    return kernel, (random_bytes((32, 2 * num), "float16"), blank((8 * num, 8), "float16"))


COPIES = (
    Case("cp.async.bulk", "to another CTA", bulk_to_the_other),
    *(
        Case("st.async", f"to the next CTA{f', {vec}' if vec else ''}", lambda vec=vec, n=n: stores_to_others(vec, n))
        for vec, n in (("", 1), ("v2", 2), ("v4", 4))
    ),
    *(Case("cp.async.bulk", f"{b[0]} {b[1]}".strip(), lambda b=b: bulk_bytes(*b)) for b in BULK),
    *(
        Case("ld, st", f"{n} × {dtype}", lambda n=n, dtype=dtype: vectors(dtype, n))
        for dtype, n in (("uint8", 1), ("uint8", 2), ("float16", 2), ("uint8", 16), ("float16", 4), ("float32", 4),
                         ("float16", 8), ("bfloat16", 8), ("int64", 2), ("float32", 16), ("uint8", 3))
    ),
    *(
        Case("tile", f"{rows} × {columns} {dtype}, {swizzle} swizzle",
             lambda r=rows, c=columns, d=dtype, s=swizzle: tile(d, s, r, c))
        for dtype, swizzle, rows, columns in (
            ("float16", "no", 16, 64), ("float16", "32-byte", 16, 16), ("float16", "64-byte", 16, 32),
            ("float16", "128-byte", 16, 64), ("float16", "128-byte", 32, 128), ("float32", "128-byte", 16, 32),
            ("uint8", "128-byte", 16, 128),
        )
    ),
    *(
        Case("cp.async", f"{n} bytes, wait_group {left}", lambda n=n, left=left: cp_async(n, left))
        for n, left in ((4, 0), (8, 1), (16, 0), (16, 2))
    ),
    Case("cp.async", "some bytes, or none", cp_async_or_zeros),
    Case("cp.async", "mbarrier.arrive.noinc", cp_async_arrives),
    Case("cp.async", "a tile, 128-byte swizzle", cp_async_tile),
    *(
        Case(name, f"x{num}{' trans' * t}", lambda f=f, num=num, t=t: f(num, bool(t)))
        for name, f in (("ldmatrix", load_matrix), ("stmatrix", store_matrix))
        for num in (1, 2, 4)
        for t in (0, 1)
    ),
)  # fmt: skip
