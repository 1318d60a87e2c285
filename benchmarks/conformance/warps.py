"""Instructions of a warp: elect, shuffles, reductions built on them, setmaxnreg."""

from __future__ import annotations

import numpy as np

from tirx_mini.script import tirx as T

from .case import Built, Case, blank, random_bytes, small_integers


def elect() -> Built:
    @T.prim_func
    def kernel(out: T.Buffer((96,), "int32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([96])
        out[tx] = T.Cast("int32", T.ptx.elect_sync())

    return kernel, (blank(96),)


def shuffle(kind: str, dtype: str) -> Built:
    """Every distance, by all lanes; the elements have any bits."""

    @T.prim_func
    def kernel(A: T.Buffer((32,), dtype), out: T.Buffer((32, 32), dtype)):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        for i in T.serial(32):
            if kind == "xor":
                out[i, tx] = T.ptx.shfl.xor(A[tx], i)
            if kind == "idx":
                out[i, tx] = T.ptx.shfl.idx(A[tx], (tx * 7 + i) % 32)
            if kind == "down":
                out[i, tx] = T.ptx.shfl.down(A[tx], i)
            if kind == "up":
                out[i, tx] = T.ptx.shfl.up(A[tx], i)

    return kernel, (random_bytes((32,), dtype), blank((32, 32), dtype))


def segments(kind: str, width: int, mask: int) -> Built:
    """Every distance within segments, by the lanes of a mask."""

    @T.prim_func
    def kernel(A: T.Buffer((32,), "uint32"), out: T.Buffer((32, 32), "uint32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        for i in T.serial(32):
            out[i, tx] = T.uint32(0)
            if (mask >> T.Cast("uint32", tx)) % 2 == 1:
                out[i, tx] = T.call(f"shfl.{kind}.segment", A[tx], i % width, mask, width=width)

    return kernel, (random_bytes((32,), "uint32"), blank((32, 32), "uint32"))


def reduction(op: str, dtype: str) -> Built:
    @T.prim_func
    def kernel(A: T.Buffer((128,), dtype), by_warp: T.Buffer((128,), dtype), by_cta: T.Buffer((128,), dtype)):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([128])
        scratch = T.alloc_shared((4,), dtype)
        by_warp[tx] = T.cuda.warp_reduce(A[tx], op)
        by_cta[tx] = T.cuda.cta_reduce(A[tx], op, 4, scratch.ptr_to([0]))

    return kernel, (small_integers((128,), dtype, limit=50), blank(128, dtype), blank(128, dtype))


def register_budget() -> Built:
    """One warpgroup gives registers up, the other takes them; both compute."""

    @T.prim_func
    def kernel(A: T.Buffer((256,), "int32"), out: T.Buffer((256,), "int32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([256])
        if tx < 128:
            T.ptx.setmaxnreg.dec(40)
            out[tx] = A[tx] * 3
        else:
            T.ptx.setmaxnreg.inc(232)
            out[tx] = A[tx] * 5

    return kernel, (np.arange(256, dtype=np.int32), blank(256))


WARPS = (
    Case("warp", "elect.sync", elect),
    *(
        Case("warp", f"shfl.{kind} of {dtype}", lambda kind=kind, dtype=dtype: shuffle(kind, dtype))
        for kind, dtype in (("xor", "int32"), ("xor", "float32"), ("idx", "uint32"), ("idx", "float32"),
                            ("down", "int32"), ("up", "float32"))
    ),
    *(
        Case("warp", f"shfl.{kind}, segments of {w}", lambda kind=kind, w=w, mask=mask: segments(kind, w, mask))
        for kind in ("xor", "idx", "down", "up") for w, mask in ((8, 0xFFFFFFFF), (16, 0xFFFF0000))
    ),
    *(
        Case("warp", f"reduce by {op} of {dtype}", lambda op=op, dtype=dtype: reduction(op, dtype))
        for op, dtype in (("sum", "float32"), ("max", "float32"), ("min", "int32"), ("sum", "int32"))
    ),
    Case("warp", "setmaxnreg", register_budget),
)  # fmt: skip
