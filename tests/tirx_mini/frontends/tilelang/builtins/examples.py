"""A kernel for each builtin of TileLang, with what it must compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.tirx_mini.frontends.tilelang.builtins.matrices import (
    quad_operands,
    quads,
    tensor_memory,
    wanted_product,
    wanted_quads,
    wanted_warpgroup,
    warpgroup,
)
from tirx_mini.frontends.tilelang.builtins import NAMES
from tirx_mini.script import tirx as T

B: Any = SimpleNamespace(**NAMES)
LANE = np.arange(32)


@dataclass(frozen=True)
class Example:
    """A kernel with its arguments and what the last of them must hold. gpus: that have all of its instructions."""

    kernel: Any
    args: Callable[[], tuple[np.ndarray, ...]]
    wanted: Callable[..., np.ndarray]
    gpus: tuple[str, ...] = ("h100", "b200")
    tolerance: float = 0.0
    attrs: Mapping[str, int] = field(default_factory=dict)


def zeros(count: int, dtype: str = "int32") -> np.ndarray:
    return np.zeros(count, dtype)


# -- threads ---------------------------------------------------------------------------------------------------------


@T.prim_func
def indices(out: T.Buffer((256, 8), "int32")):
    T.device_entry()
    x, y = T.thread_id([64, 4])
    with T.thread():
        t = y * 64 + x
        out[t, 0] = B.get_lane_idx()
        out[t, 1] = B.get_lane_idx(16)
        out[t, 2] = B.get_warp_idx_sync()
        out[t, 3] = B.get_warp_idx(64)
        out[t, 4] = B.get_warp_group_idx()
        out[t, 5] = B.get_warp_group_idx(32, 2)


def wanted_indices(out: np.ndarray) -> np.ndarray:
    t = np.arange(256)
    columns = (t % 32, t % 16, t // 32, t // 64, t // 128, t // 64, 0 * t, 0 * t)
    return np.stack(columns, 1)


@T.prim_func
def elected(out: T.Buffer((4,), "int32")):
    T.device_entry()
    T.thread_id([128])
    with T.thread():
        if B.shuffle_elect(0):
            T.cuda.atomic_add(out.ptr_to([0]), 1)
        if B.shuffle_elect(32):
            T.cuda.atomic_add(out.ptr_to([1]), 1)
        if B.shuffle_elect(64):
            T.cuda.atomic_add(out.ptr_to([2]), 1)
        if B.get_warp_idx() == 1:
            for i in T.serial(8):
                if i == 5:
                    B.loop_break()
                T.cuda.atomic_add(out.ptr_to([3]), 1)


@T.prim_func
def shuffled(out: T.Buffer((12, 32), "int32"), halves: T.Buffer((32,), "float16"), wide: T.Buffer((32,), "float64")):
    T.device_entry()
    lane = T.thread_id([32])
    with T.thread():
        out[0, lane] = B.shfl_xor(lane, 5)
        out[1, lane] = B.shfl_down(lane, 3)
        out[2, lane] = B.shfl_up(lane, 3)
        out[3, lane] = B.shfl_sync(lane, 7, 32, 0xFFFFFFFF)
        out[4, lane] = B.shfl_sync(T.uint32(0xFFFFFFFF), lane, 5, 4)
        out[5, lane] = B.shfl_sync(0xFFFFFFFF, lane, srcLane=lane // 2)
        out[6, lane] = B.shfl_xor(lane, 12, width=8)
        out[7, lane] = B.shfl_down(lane, 3, 8)
        out[8, lane] = B.shfl_up(lane, delta=3, width=8)
        if lane < 16:
            out[9, lane] = B.shfl_xor(lane, 1, 16, 0xFFFF)
        out[10, lane] = T.Cast("int32", B.shfl_xor(T.Cast("float16", lane), 1))
        out[11, lane] = T.Cast("int32", B.shfl_down(T.Cast("float64", lane) + 0.5, 1) * 2.0)


def wanted_shuffles(out: np.ndarray, *_: np.ndarray) -> np.ndarray:
    segment = LANE & ~7
    far = LANE ^ 12
    rows = [
        LANE ^ 5, np.where(LANE + 3 > 31, LANE, LANE + 3), np.where(LANE < 3, LANE, LANE - 3), 0 * LANE + 7,
        (LANE & ~3) | 1, LANE // 2, np.where(far > segment + 7, LANE, far),
        np.where(segment + 7 < LANE + 3, LANE, LANE + 3), np.where(segment > LANE - 3, LANE, LANE - 3),
        np.where(LANE < 16, LANE ^ 1, 0), LANE ^ 1, 2 * np.minimum(LANE + 1, 31) + 1,
    ]  # fmt: skip
    return np.stack(rows)


# -- barriers --------------------------------------------------------------------------------------------------------


@T.prim_func
def synchronised(out: T.Buffer((128,), "int32")):
    T.device_entry()
    t = T.thread_id([128])
    tile = T.alloc_shared((128,), "int32")
    with T.thread():
        tile[t] = t
        B.sync_threads()
        out[t] = tile[127 - t]
        B.sync_threads(3)
        tile[t] = out[t] + 1
        B.sync_warp()
        out[t] = tile[t ^ 1]
        B.sync_warp(0xFFFFFFFF)
        if t < 64:
            tile[t] = out[t] * 2
            B.sync_threads(1, 64)
            out[t] = tile[63 - t]
        B.sync_threads(barrier_id=2)
        if t % 32 < 16:
            tile[t] = 0 - t
            B.sync_warp(0xFFFF)
            out[t] = tile[t ^ 1]


def wanted_synchronised(out: np.ndarray) -> np.ndarray:
    t = np.arange(128)
    values = (128 - t)[t ^ 1]
    values[:64] = (values[:64] * 2)[::-1]
    return np.where(t % 32 < 16, -(t ^ 1), values)


@T.prim_func
def everywhere(count: T.Buffer((2,), "int32"), out: T.Buffer((4, 32), "int32")):
    T.device_entry()
    cta = T.cta_id([4])
    t = T.thread_id([32])
    with T.thread():
        if t == 0:
            T.cuda.atomic_add(count.ptr_to([0]), cta + 1)
        B.sync_grid()
        first = count[0]
        B.sync_global()
        if t == 0:
            T.cuda.atomic_add(count.ptr_to([1]), first)
        B.sync_grid()
        out[cta, t] = count[1]


@T.prim_func
def handed_over(out: T.Buffer((64,), "int32")):
    """A warp writes, another one reads; cp.async arrives for itself."""
    T.device_entry()
    t = T.thread_id([64])
    tile = T.alloc_shared((32,), "int32")
    bars = T.alloc_shared((3,), "uint64")
    with T.thread():
        if t == 0:
            T.ptx.mbarrier.init(bars.ptr_to([0]), 32)
            T.ptx.mbarrier.init(bars.ptr_to([1]), 32)
            T.ptx.mbarrier.init(bars.ptr_to([2]), 32)
            T.ptx.fence.mbarrier_init()
        B.sync_threads()
        if t < 32:
            for i in T.serial(2):
                B.mbarrier_wait_parity(bars[1], (i + 1) % 2)
                tile[t] = 100 * (i + 1) + t
                B.mbarrier_arrive(bars[0])
        else:
            for i in T.serial(2):
                B.barrier_wait(bars[0], i % 2)
                out[32 * i + t - 32] = tile[63 - t]
                B.barrier_arrive(bars[1])


@T.prim_func
def copied(A: T.Buffer((128,), "int32"), out: T.Buffer((128,), "int32")):
    """cp.async arrives at a barrier by itself, and bytes are expected by one thread."""
    T.device_entry()
    t = T.thread_id([32])
    tile = T.alloc_shared((128,), "int32")
    bars = T.alloc_shared((2,), "uint64")
    with T.thread():
        if t == 0:
            T.ptx.mbarrier.init(bars.ptr_to([0]), 32)
            T.ptx.mbarrier.init(bars.ptr_to([1]), 1)
            T.ptx.fence.mbarrier_init()
            B.mbarrier_expect_tx(bars[1], 64)
            T.ptx.mbarrier.complete_tx(bars.ptr_to([1]), 64)
            B.mbarrier_arrive(bars[1])
        B.sync_threads()
        T.ptx.cp_async(B.access_ptr(tile[4 * t], "w", 4), B.access_ptr(A[4 * t : 4 * t + 4], "r"), 16)
        B.cp_async_barrier_noinc(bars[0])
        B.mbarrier_wait_parity(bars[0], 0)
        B.mbarrier_wait_parity(bars[1], 0)
        for i in T.serial(4):
            out[32 * i + t] = tile[127 - 32 * i - t]


@T.prim_func
def across(out: T.Buffer((2, 32), "int32")):
    """Each CTA of a pair arrives at the other one's barrier."""
    T.device_entry()
    T.cta_id([2])
    rank = T.cta_id_in_cluster([2])
    t = T.thread_id([32])
    bars = T.alloc_shared((1,), "uint64")
    with T.thread():
        if t == 0:
            T.ptx.mbarrier.init(bars.ptr_to([0]), 64)
            T.ptx.fence.mbarrier_init()
        T.cuda.cluster_sync()
        B.ptx_arrive_cluster_barrier(bars, 1 - rank)
        B.mbarrier_arrive(bars[0], 1 - rank)
        B.mbarrier_wait_parity(bars, 0)
        out[rank, t] = rank + 1
        T.cuda.cluster_sync()


# -- copies ----------------------------------------------------------------------------------------------------------


@T.prim_func
def boxed(A: T.Buffer((64, 64), "float16"), out: T.Buffer((32, 64), "float16")):
    """TMA by its operands, there and back."""
    T.device_entry()
    t = T.thread_id([32])
    tile = T.alloc_shared((32, 64), "float16")
    bar = T.alloc_shared((1,), "uint64")
    source = B.create_tma_descriptor(6, 2, A.data, 64, 64, 2, 128, 64, 32, 1, 1, 0, 0, 2, 0)
    target = B.create_tma_descriptor("float16", 2, out, 64, 32, 2, 128, 64, 32, 1, 1, 0, 0, 2, 0)
    with T.thread():
        if t == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.fence.mbarrier_init()
            B.mbarrier_expect_tx(bar, 4096)
            B.tma_load(source, bar[0], B.access_ptr(tile, "w"), 0, 16, 1)
            B.mbarrier_arrive(bar)
        B.sync_threads()
        B.mbarrier_wait_parity(bar, 0)
        for row in T.serial(32):
            tile[row, t] = tile[row, t] + T.float16(1)
        B.fence_proxy_async()
        B.sync_threads()
        if t == 0:
            T.call("cp.async.bulk.tensor.store", target, tile.ptr_to([0, 0]), 0, 0, dim=2)
            B.tma_store_arrive()
            B.tma_store_wait(0, read=False)


def wanted_boxed(A: np.ndarray, out: np.ndarray) -> np.ndarray:
    return A[16:48] + (np.arange(64) < 32).astype(np.float16)


@T.prim_func
def loaded(x: T.Buffer((64, 16), "float16"), out: T.Buffer((8, 64, 16), "float16")):
    """Every width, alone and with a predicate."""
    T.device_entry()
    t = T.thread_id([64])
    with T.thread():
        B.stg32(out[0, t, 2], B.ldg32(x[t, 2]))
        B.stg64(out[1, t, 4:8], B.ldg64(x[t, 4:8]))
        B.stg128(out[2, t, 0:8], B.ldg128(x[t, 8:16]))
        whole = B.ldg256(x[t, 0:16])
        B.stg256(out[3, t, 0:16], whole)
        B.stg32(out[4, t, 0], B.ldg32(x[t, 0], pred=t < 40), pred=t >= 8)
        B.stg64(out[5, t, 0], B.ldg64(x[t, 0], t < 40), t >= 8)
        B.stg128(out[6, t, 0], B.ldg128(x[t, 0], pred=t < 40), pred=t >= 8)
        B.stg256(out[7, t, 0], B.ldg256(x[t, 0], pred=t < 40), pred=t >= 8)


def wanted_loaded(x: np.ndarray, out: np.ndarray) -> np.ndarray:
    wanted = np.ones_like(out)
    wanted[0, :, 2:4], wanted[1, :, 4:8], wanted[2, :, 0:8], wanted[3] = x[:, 2:4], x[:, 4:8], x[:, 8:16], x
    for form, width in zip(range(4, 8), (2, 4, 8, 16), strict=True):
        wanted[form, 8:, :width] = np.where(np.arange(8, 64)[:, None] < 40, x[8:, :width], 0)
    return wanted


@T.prim_func
def annotated(out: T.Buffer((32,), "int32")):
    B.annotate_producer_reg_dealloc()
    B.annotate_consumer_reg_alloc(232)
    B.no_set_max_nreg()
    B.disable_warp_group_reg_alloc()
    T.device_entry()
    t = T.thread_id([32])
    out[t] = t


def random_half(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float16)


def shuffle_arguments() -> tuple[np.ndarray, ...]:
    return np.zeros((12, 32), np.int32), zeros(32, "float16"), zeros(32, "float64")


EXAMPLES: Mapping[str, Example] = {
    "indices": Example(indices, lambda: (np.zeros((256, 8), np.int32),), wanted_indices),
    "elected": Example(elected, lambda: (zeros(4),), lambda _: np.array([1, 4, 2, 5 * 32])),
    "synchronised": Example(synchronised, lambda: (zeros(128),), wanted_synchronised),
    "everywhere": Example(
        everywhere, lambda: (zeros(2), np.zeros((4, 32), np.int32)), lambda *_: np.full((4, 32), 40)
    ),
    "handed over": Example(
        handed_over, lambda: (zeros(64),), lambda _: np.concatenate([100 + LANE[::-1], 200 + LANE[::-1]])
    ),
    "copied": Example(
        copied, lambda: (np.arange(128, dtype=np.int32), zeros(128)), lambda A, _: A[::-1]
    ),
    "across": Example(across, lambda: (np.zeros((2, 32), np.int32),), lambda _: np.repeat([[1], [2]], 32, 1)),
    "boxed": Example(boxed, lambda: (random_half(64, 64), np.zeros((32, 64), np.float16)), wanted_boxed),
    "loaded": Example(loaded, lambda: (random_half(64, 16), np.ones((8, 64, 16), np.float16)), wanted_loaded),
    "warpgroup": Example(
        warpgroup, lambda: (random_half(64, 64), np.zeros((128, 32), np.float32)), wanted_warpgroup, ("h100",), 1e-3
    ),
    "tensor memory": Example(
        tensor_memory, lambda: (random_half(128, 64), np.zeros((128, 128), np.float32)), wanted_product, ("b200",), 1e-3
    ),
    "annotated": Example(
        annotated, lambda: (zeros(32),), lambda _: LANE,
        attrs={"tl.producer_nreg": 24, "tl.consumer_nreg": 232, "tl.no_set_max_nreg": 1},
    ),
    **{
        f"quads {c} {a} {b}": Example(
            quads(c, a, b), quad_operands("float16" if c == "fp16" else "float32"), wanted_quads(c, a, b)
        )
        for c in ("fp16", "fp32") for a in ("row", "col") for b in ("row", "col")
    },
}  # fmt: skip
SHUFFLES = Example(shuffled, shuffle_arguments, wanted_shuffles)
