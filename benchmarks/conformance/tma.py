"""TMA: boxes of one to five dimensions, each swizzle, places outside of the tensor, multicast, groups, reductions."""

from __future__ import annotations

import math
import re
from functools import partial
from typing import Any

from tirx_mini.ir import PrimFunc
from tirx_mini.layout import tma_shared_layout
from tirx_mini.passes import lower
from tirx_mini.script import from_source
from tirx_mini.script import tirx as T

from .case import Array, Built, Case, blank, random_bytes, small_integers
from .copies import SWIZZLES

THREADS = 64
Shape = tuple[int, ...]


def words_of(box: Shape, dtype: str) -> int:
    return math.prod(box) * random_bytes((1,), dtype).itemsize // 4


def starts(values: Shape) -> Array:
    """The coordinates of a box's first element: arguments, so that nothing is known of them when compiling."""
    array = blank(len(values))
    array[:] = values
    return array


def load(dtype: str, swizzle: str, shape: Shape, box: Shape, first: Shape) -> Built:
    """One box of a tensor of `shape`, from `first` on; its raw bytes in shared memory are what is compared."""
    rank, words = len(shape), words_of(box, dtype)
    layout = tma_shared_layout(dtype, SWIZZLES[swizzle], box) if rank > 1 else None

    @T.prim_func
    def kernel(A: T.Buffer(shape, dtype), at: T.Buffer((rank,), "int32"), raw: T.Buffer((words,), "uint32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([THREADS])
        pool = T.PoolAllocator()
        tile = pool.alloc(box, dtype, layout=layout, align=1024)
        pool.move_base_to(0)
        plain = pool.alloc((words,), "uint32", align=1024)
        bar = pool.alloc((1,), "uint64")
        pool.commit()
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.fence.mbarrier_init()
            T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), words * 4)
            with T.thread():
                tma = T.meta_var({"dispatch": "tma", "mbar": bar.ptr_to([0])})
                i: T.let = at[0]
                if rank == 1:
                    T.copy_async(tile[:], A[i : i + box[0]], **tma)
                if rank > 1:
                    j: T.let = at[1]
                    if rank == 2:
                        T.copy_async(tile[:, :], A[i : i + box[0], j : j + box[1]], **tma)
                    if rank > 2:
                        k: T.let = at[2]
                        if rank == 3:
                            T.copy_async(tile[:, :, :], A[i : i + box[0], j : j + box[1], k : k + box[2]], **tma)
                        if rank > 3:
                            m: T.let = at[3]
                            if rank == 4:
                                T.copy_async(
                                    tile[:, :, :, :],
                                    A[i : i + box[0], j : j + box[1], k : k + box[2], m : m + box[3]],
                                    **tma,
                                )
                            if rank == 5:
                                n: T.let = at[4]
                                T.copy_async(
                                    tile[:, :, :, :, :],
                                    A[i : i + box[0], j : j + box[1], k : k + box[2], m : m + box[3], n : n + box[4]],
                                    **tma,
                                )
        T.cuda.cta_sync()
        T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
        for w in T.serial(T.ceildiv(words, THREADS)):
            if w * THREADS + tx < words:
                raw[w * THREADS + tx] = plain[w * THREADS + tx]

    return kernel, (random_bytes(shape, dtype), starts(first), blank(words, "uint32"))


def store(dtype: str, swizzle: str, shape: Shape, box: Shape, first: Shape) -> Built:
    """Raw bytes in shared memory, stored as one box from `first` on; what lies outside of the tensor is left out."""
    rank, words = len(shape), words_of(box, dtype)
    layout = tma_shared_layout(dtype, SWIZZLES[swizzle], box)

    @T.prim_func
    def kernel(raw: T.Buffer((words,), "uint32"), at: T.Buffer((rank,), "int32"), out: T.Buffer(shape, dtype)):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([THREADS])
        pool = T.PoolAllocator()
        tile = pool.alloc(box, dtype, layout=layout, align=1024)
        pool.move_base_to(0)
        plain = pool.alloc((words,), "uint32", align=1024)
        pool.commit()
        for w in T.serial(words // THREADS):
            plain[w * THREADS + tx] = raw[w * THREADS + tx]
        T.ptx.fence.proxy_async("shared::cta")
        T.cuda.cta_sync()
        if tx == 0:
            i: T.let = at[0]
            j: T.let = at[1]
            with T.thread():
                if rank == 2:
                    T.copy_async(out[i : i + box[0], j : j + box[1]], tile[:, :], dispatch="tma")
                if rank == 3:
                    k: T.let = at[2]
                    T.copy_async(out[i : i + box[0], j : j + box[1], k : k + box[2]], tile[:, :, :], dispatch="tma")
            T.ptx.cp_async.bulk.commit_group()
            T.ptx.cp_async.bulk.wait_group(0)

    return kernel, (random_bytes((words,), "uint32"), starts(first), blank(shape, dtype))


def reduce_add(dtype: str, first: Shape) -> Built:
    """The store of `store`, but added to what is there: small integers, so that each sum is exact."""
    func, (_, at, _) = store(dtype, "128-byte", (16, 128), (8, 128 // random_bytes((1,), dtype).itemsize), first)
    box_words = func.params[0]
    lowered = lower(func)
    text = lowered.script().replace("Tx.ptx.cp_async.bulk.tensor.store(", "Tx.ptx.cp_reduce_async.bulk.tensor(")
    kernel: PrimFunc = from_source(re.sub(r""", (cache_hint|store_mode)=['"]\w*['"]""", "", text))
    size = math.prod(getattr(box_words, "shape", ())) * 4 // random_bytes((1,), dtype).itemsize
    added = small_integers((size,), dtype, 1).view("uint32")
    return kernel, (added, at, small_integers((16, 128), dtype, 2))


def multicast(size: int, mask: int, late: bool = False) -> Built:
    """CTA 0 loads a box into the CTAs of `mask`; each of those waits on its own barrier. late: `mask` is computed at
    run time."""

    @T.prim_func
    def kernel(A: T.Buffer((8, 64), "float16"), out: T.Buffer((size, 8, 64), "float16")):
        T.device_entry()
        cta = T.cta_id([size], parent="kernel")
        rank = T.cta_id([size], parent="cluster")
        tx = T.thread_id([64])
        bar = T.alloc_shared((1,), "uint64")
        tile = T.alloc_shared((8, 64), "float16", align=128)
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
        T.ptx.fence.mbarrier_init()
        T.cuda.cluster_sync()
        if (mask >> rank) % 2 == 1:
            if tx == 0:
                T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 1024)
        T.cuda.cluster_sync()
        if rank == 0:
            if tx == 0:
                with T.thread():
                    ctas = T.meta_var(mask + rank if late else mask)
                    T.copy_async(tile[:, :], A[:, :], dispatch="tma", mbar=bar.ptr_to([0]), cta_mask=ctas)
        if (mask >> rank) % 2 == 1:
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            for i in T.serial(8):
                out[rank, i, tx] = tile[i, tx]
        T.cuda.cluster_sync()

    return kernel, (random_bytes((8, 64), "float16"), blank((size, 8, 64), "float16"))


def hinted(load_hint: str, store_hint: str) -> Built:
    """A box there and back, with what the L2 cache is told of it."""

    @T.prim_func
    def kernel(A: T.Buffer((8, 64), "float16"), out: T.Buffer((8, 64), "float16")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        bar = T.alloc_shared((1,), "uint64")
        tile = T.alloc_shared((8, 64), "float16", align=128)
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.fence.mbarrier_init()
            T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 1024)
            with T.thread():
                T.copy_async(tile[:, :], A[:, :], dispatch="tma", mbar=bar.ptr_to([0]), cache_hint=load_hint)
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            with T.thread():
                T.copy_async(out[:, :], tile[:, :], dispatch="tma", cache_hint=store_hint)
            T.ptx.cp_async.bulk.commit_group()
            T.ptx.cp_async.bulk.wait_group(0)

    return kernel, (random_bytes((8, 64), "float16"), blank((8, 64), "float16"))


def reduce_by(op: str, dtype: str) -> Built:
    """A box combined with what is there, by another operation, after it was brought into the L2."""

    tensor: Any = T.ptx.cp_async.bulk.tensor

    @T.prim_func
    def kernel(A: T.Buffer((8, 32), dtype), out: T.Buffer((8, 32), dtype)):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        box = T.alloc_shared((8, 32), dtype, align=128)
        out_map = T.tvm_stack_alloca("tensormap", 1)
        shape = (32, 8, 128, 32, 8, 1, 1, 0, 0, 2, 0)
        T.call_packed("runtime.cuTensorMapEncodeTiled", out_map, dtype, 2, out.data, *shape)
        for i in T.unroll(8):
            box[i, tx] = A[i, tx]
        T.ptx.fence.proxy_async()
        T.cuda.cta_sync()
        if tx == 0:
            tensor.prefetch(2, out_map, "", 0, 0)
            tensor.s2g_reduce(2, box.ptr_to([0, 0]), out_map, "", op, 0, 0)
            T.ptx.cp_async.bulk.commit_group()
            T.ptx.cp_async.bulk.wait_group(0)

    return kernel, (small_integers((8, 32), dtype, 1), small_integers((8, 32), dtype, 2))


def prefetched(threads: int) -> Built:
    """A box there and back, by maps that so many threads prefetch first."""
    func, arrays = hinted("evict_normal", "evict_normal")
    text = lower(func).script()
    by_one = "if Tx.threadIdx.x < 1:\n        Tx.ptx.prefetch.tensormap("
    assert text.count(by_one) == 1 and text.count("Tx.ptx.prefetch.tensormap(") == 2
    return from_source(text.replace(by_one, by_one.replace("< 1", f"< {threads}"))), arrays


def groups(in_flight: int, read: bool) -> Built:
    """Six stores through two buffers; before a buffer is filled again, all but `in_flight` groups are done with it."""

    @T.prim_func
    def kernel(out: T.Buffer((48, 64), "float16")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([64])
        tile = T.alloc_shared((2, 8, 64), "float16", align=128)
        for i in T.serial(6):
            if tx == 0:
                T.ptx.cp_async.bulk.wait_group(in_flight, read=read)
            T.cuda.cta_sync()
            for j in T.serial(8):
                tile[i % 2, j, tx] = T.Cast("float16", i * 300 + j * 8 + tx % 8)
            T.ptx.fence.proxy_async("shared::cta")
            T.cuda.cta_sync()
            if tx == 0:
                with T.thread():
                    T.copy_async(out[i * 8 : i * 8 + 8, :], tile[i % 2, :, :], dispatch="tma")
                T.ptx.cp_async.bulk.commit_group()
        if tx == 0:
            T.ptx.cp_async.bulk.wait_group(0)

    return kernel, (blank((48, 64), "float16"),)


LOADS: tuple[tuple[str, str, str, Shape, Shape, Shape], ...] = (
    ("1-D", "float32", "no", (256,), (64,), (40,)),
    ("1-D, past the end", "float32", "no", (256,), (64,), (220,)),
    ("2-D", "float16", "no", (64, 128), (16, 64), (8, 16)),
    ("2-D", "float16", "32-byte", (64, 128), (16, 16), (8, 24)),
    ("2-D", "float16", "64-byte", (64, 128), (16, 32), (8, 24)),
    ("2-D", "float16", "128-byte", (64, 128), (16, 64), (8, 24)),
    ("2-D", "bfloat16", "128-byte", (64, 128), (64, 64), (0, 64)),
    ("2-D", "float32", "128-byte", (64, 128), (16, 32), (3, 4)),
    ("2-D", "uint8", "64-byte", (64, 128), (16, 64), (1, 16)),
    ("2-D", "int32", "32-byte", (64, 128), (24, 8), (1, 8)),
    ("2-D, two slabs", "float16", "128-byte", (64, 256), (16, 128), (8, 24)),
    ("2-D, before the start", "float16", "128-byte", (64, 128), (16, 64), (-5, -8)),
    ("2-D, past the end", "float16", "128-byte", (64, 128), (16, 64), (57, 88)),
    ("2-D, all outside", "float16", "64-byte", (64, 128), (16, 32), (64, 0)),
    ("2-D, a ragged tensor", "float32", "no", (37, 100), (16, 32), (30, 80)),
    ("3-D", "float16", "128-byte", (4, 32, 128), (2, 8, 64), (1, 5, 32)),
    ("3-D, outside in two", "float16", "64-byte", (4, 32, 128), (2, 8, 32), (3, -3, 104)),
    ("4-D", "float32", "128-byte", (2, 3, 16, 64), (2, 2, 8, 32), (0, 1, 4, 8)),
    ("5-D", "float16", "no", (2, 3, 2, 16, 32), (2, 2, 2, 8, 16), (0, 1, 0, 4, 8)),
)
STORES: tuple[tuple[str, str, str, Shape, Shape, Shape], ...] = (
    ("2-D", "float16", "no", (64, 128), (16, 64), (8, 16)),
    ("2-D", "float16", "32-byte", (64, 128), (16, 16), (8, 24)),
    ("2-D", "float16", "64-byte", (64, 128), (16, 32), (8, 24)),
    ("2-D", "float16", "128-byte", (64, 128), (16, 64), (8, 24)),
    ("2-D, two slabs", "bfloat16", "128-byte", (64, 256), (16, 128), (0, 64)),
    ("2-D", "float32", "128-byte", (64, 128), (16, 32), (3, 4)),
    ("2-D, past the end", "float16", "64-byte", (64, 128), (16, 32), (57, 104)),
    ("2-D, all outside", "float16", "128-byte", (64, 128), (16, 64), (64, 0)),
    ("3-D, past the end", "float16", "128-byte", (4, 32, 128), (2, 8, 64), (3, 5, 32)),
)
NEGATIVE: tuple[tuple[str, str, Shape, Shape, Shape], ...] = (
    ("float16", "128-byte", (64, 128), (16, 64), (-5, 0)),
    ("float16", "no", (64, 128), (16, 64), (0, -8)),
    ("float32", "64-byte", (64, 128), (16, 16), (-16, -16)),
    ("float16", "128-byte", (4, 32, 128), (2, 8, 64), (-1, 0, 0)),
)
"""Boxes that begin before their tensor, which only loads may."""
MISALIGNED: tuple[tuple[str, str, Shape, Shape, Shape], ...] = (
    ("float16", "128-byte", (64, 128), (16, 64), (8, 4)),
    ("float16", "no", (64, 128), (16, 64), (8, -9)),
    ("float32", "64-byte", (64, 128), (16, 16), (8, 2)),
    ("uint8", "no", (64, 128), (16, 64), (0, 8)),
)
"""Boxes that begin at no multiple of 16 bytes in their rows."""

TMA = (
    *(
        Case("TMA load", f"{what}, {dtype}, {swizzle} swizzle", partial(load, dtype, swizzle, *rest))
        for what, dtype, swizzle, *rest in LOADS
    ),
    *(
        Case("TMA store", f"{what}, {dtype}, {swizzle} swizzle", partial(store, dtype, swizzle, *rest))
        for what, dtype, swizzle, *rest in STORES
    ),
    *(
        Case("TMA fault", f"{name} from column {a[-1][-1]} of {a[0]}, {a[1]} swizzle", partial(make, *a), faults=True)
        for name, make in (("load", load), ("store", store))
        for a in MISALIGNED
    ),
    *(
        Case("TMA fault", f"store from {a[-1]} of {a[0]}, {a[1]} swizzle", partial(store, *a), faults=True)
        for a in NEGATIVE
    ),
    Case("TMA fault", "reduce from (-4, 0)", partial(reduce_add, "float32", (-4, 0)), faults=True),
    *(
        Case("TMA reduce", f"add {dtype}, from {first}", lambda dtype=dtype, first=first: reduce_add(dtype, first))
        for dtype, first in (("float32", (4, 16)), ("float16", (4, 16)), ("bfloat16", (8, 0)), ("int32", (12, 112)))
    ),
    *(
        Case("TMA multicast", f"mask {mask:#b} of {size}", lambda size=size, mask=mask: multicast(size, mask))
        for size, mask in ((2, 0b11), (4, 0b1111), (4, 0b1010), (4, 0b0110))
    ),
    Case("TMA multicast", "mask 0b1010 of 4, of run time", partial(multicast, 4, 0b1010, late=True)),
    *(Case("TMA reduce", f"{op} {dtype}", lambda op=op, dtype=dtype: reduce_by(op, dtype))
      for op, dtype in (("min", "int32"), ("max", "int32"), ("and", "int32"), ("xor", "int32"))),
    Case("TMA cache hint", "evict_last, evict_first", lambda: hinted("evict_last", "evict_first")),
    Case("TMA cache hint", "evict_first, evict_last", lambda: hinted("evict_first", "evict_last")),
    *(Case("TMA prefetch", f"of the tensor maps by {n} of 32 threads", lambda n=n: prefetched(n)) for n in (1, 7, 32)),
    *(
        Case("bulk group", f"wait_group{'.read' * read} {n}", lambda n=n, read=read: groups(n, read))
        for n, read in ((0, False), (1, False), (1, True), (0, True))
    ),
)
