"""A kernel for each of the other functions of TileLang that stand for instructions."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.tirx_mini.frontends.tilelang.builtins.examples import LANE, Example, zeros
from tirx_mini.frontends.tilelang.builtins import MORE, NAMES
from tirx_mini.script import tirx as T

B: Any = SimpleNamespace(**NAMES, **MORE)


@T.prim_func
def voted(out: T.Buffer((12, 64), "int32")):
    T.device_entry()
    t = T.thread_id([64])
    lane = t % 32
    with T.thread():
        out[0, t] = B.any_sync(lane == 3)
        out[1, t] = B.all_sync(lane < 32, 0xFFFFFFFF)
        out[2, t] = T.Cast("int32", B.ballot_sync(lane % 4 == 1, 0xFFFFFFFF))
        out[3, t] = T.Cast("int32", B.ballot(lane < 4))
        out[4, t] = B.syncthreads_count(t < 40)
        out[5, t] = B.syncthreads_and(t < 63)
        out[6, t] = B.syncthreads_or(t == 63)
        out[7, t] = B.warp_reduce_sum(t)
        out[8, t] = B.warp_reduce_max(t)
        out[9, t] = B.warp_reduce_min(t)
        out[10, t] = B.warp_reduce_bitand(t + 64)
        out[11, t] = B.warp_reduce_bitor(t)


def wanted_votes(out: np.ndarray) -> np.ndarray:
    first = np.arange(64) < 32
    rows = [
        1, 1, 0x22222222, 15, 40, 0, 1, np.where(first, 496, 1520), np.where(first, 31, 63), np.where(first, 0, 32),
        np.where(first, 64, 96), np.where(first, 31, 63),
    ]  # fmt: skip
    return np.stack([np.broadcast_to(row, 64) for row in rows])


@T.prim_func
def in_clusters(out: T.Buffer((2, 32), "int32")):
    T.device_entry()
    T.cta_id([2])
    T.cta_id_in_cluster([2])
    t = T.thread_id([32])
    with T.thread():
        B.pdl_sync()
        B.cluster_arrive()
        B.cluster_wait()
        B.cluster_arrive_relaxed()
        B.cluster_wait()
        B.cluster_sync()
        out[B.block_rank_in_cluster(), t] = t
        B.pdl_trigger()


@T.prim_func
def arrived(out: T.Buffer((64,), "int32")):
    T.device_entry()
    t = T.thread_id([64])
    tile = T.alloc_shared((32,), "int32")
    bars = T.alloc_shared((2,), "uint64")
    with T.thread():
        if t == 0:
            B.ptx_init_barrier_thread_count(bars[0], 1)
            B.ptx_init_barrier_thread_count(bars[1], 33)
            B.ptx_fence_barrier_init()
        B.sync_threads()
        if t == 0:
            B.mbarrier_arrive_expect_tx(bars[0], 0)
            B.ptx_arrive_barrier_expect_tx(bars[1], 0)
        B.ptx_wait_barrier(bars[0], 0)
        if t < 32:
            tile[t] = 10 * t
            B.named_barrier_arrive(1, 64)
            B.ptx_arrive_barrier(bars[1])
            out[t] = 1
        else:
            B.sync_threads(1, 64)
            B.ptx_wait_barrier(bars[1])
            out[t] = tile[t - 32]


@T.prim_func
def shared_words(x: T.Buffer((32, 16), "float16"), out: T.Buffer((5, 32, 8), "float16")):
    T.device_entry()
    t = T.thread_id([32])
    tile = T.alloc_shared((32, 16), "float16")
    copy = T.alloc_shared((4, 32, 8), "float16")
    with T.thread():
        B.ptx_cp_async(B.access_ptr(tile[t, 0], "w", 8), B.access_ptr(x[t, 0], "r", 8), 8)
        B.ptx_cp_async(B.access_ptr(tile[t, 8], "w", 4), B.access_ptr(x[t, 8], "r", 4), 4)
        B.ptx_commit_group()
        B.ptx_wait_group(0)
        B.sync_warp()
        B.sts32(copy[0, t, 2], B.lds32(tile[t, 2]))
        B.sts64(copy[1, t, 4:8], B.lds64(tile[t, 8:12]))
        B.sts128(copy[2, t, 0], B.lds128(tile[t, 0:8]))
        fragment = T.alloc_local((8,), "float16")
        B.ptx_ldmatrix(False, 4, B.access_ptr(tile[t, 0], "r", 8), B.access_ptr(fragment[0], "w", 8))
        for i in T.serial(8):
            out[3, t, i] = fragment[i]
        out[0, t, 2] = copy[0, t, 2]
        out[0, t, 3] = copy[0, t, 3]
        for i in T.serial(4):
            out[1, t, 4 + i] = copy[1, t, 4 + i]
        for i in T.serial(8):
            out[2, t, i] = copy[2, t, i]


def wanted_words(x: np.ndarray, out: np.ndarray) -> np.ndarray:
    wanted = np.zeros_like(out)
    wanted[0, :, 2:4], wanted[1, :, 4:8], wanted[2] = x[:, 2:4], x[:, 8:12], x[:, :8]
    for block in range(4):  # PTX ISA, "ldmatrix": lane 4g + t has elements 2t and 2t + 1 of row g of each block
        rows = x[8 * block + LANE // 4]
        for half in (0, 1):
            wanted[3, :, 2 * block + half] = rows[LANE, 2 * (LANE % 4) + half]
    return wanted


@T.prim_func
def computed(x: T.Buffer((32,), "float32"), y: T.Buffer((32,), "float32"), out: T.Buffer((20, 32), "float32")):
    T.device_entry()
    t = T.thread_id([32])
    with T.thread():
        flags = T.alloc_local((4,), "int32")
        for i in T.serial(4):
            flags[i] = T.Cast("int32", i < t)
        a = B.__ldg(x[t])
        b = B.__ldg(y, t)
        out[0, t] = B.ieee_add(a, b)
        out[1, t] = B.ieee_sub(a, b, "rz")
        out[2, t] = B.ieee_mul(a, b, "ru") - B.ieee_mul(a, b, "rd")
        out[3, t] = B.ieee_fmaf(a, b, a)
        out[4, t] = B.ieee_fdiv(a, b)
        out[5, t] = B.ieee_frcp(b)
        out[6, t] = B.ieee_fsqrt(b)
        out[7, t] = B.__sin(a)
        out[8, t] = B.__cos(a)
        out[9, t] = B.__tan(a)
        out[10, t] = T.Cast("float32", B.__ffs(t + 8))
        out[11, t] = T.Cast("float32", B.align_up(t, 8))
        out[12, t] = T.Cast("float32", B.any_of(flags))
        out[13, t] = T.Cast("float32", B.all_of(flags[0:3]))
        p = T.alloc_local((2,), "float32")
        q = T.alloc_local((2,), "float32")
        p[0] = a
        p[1] = b
        pair = p[T.ramp(0, 2)]
        q[T.ramp(0, 2)] = B.fma2(pair, B.mul2(pair, pair), B.sub2(B.add2(pair, pair), pair))
        out[14, t] = q[0]
        out[15, t] = q[1]
        out[16, t] = B.fmul(a, b)
        out[17, t] = B.ieee_frsqrt(b)
        q[T.ramp(0, 2)] = B.abs2(B.min2(pair, B.max2(pair, pair * 2.0)))
        out[18, t] = q[0]
        bytes_ = T.alloc_local((4,), "int8")
        total = T.alloc_local((1,), "int32")
        total[0] = 1
        for i in T.serial(4):
            bytes_[i] = T.Cast("int8", i - t)
        B.dp4a(bytes_, bytes_[0], total)
        out[19, t] = T.Cast("float32", total[0])


def wanted_numbers(x: np.ndarray, y: np.ndarray, out: np.ndarray) -> np.ndarray:
    t, wanted = LANE, np.zeros_like(out)
    exact = x.astype(np.float64) * y.astype(np.float64)
    low = exact.astype(np.float32)
    spacing = np.where(low.astype(np.float64) == exact, 0, np.spacing(np.abs(low)))
    rows = [
        x + y, x - y, spacing, x * y + x, x / y, 1 / y, np.sqrt(y), np.sin(x), np.cos(x), np.tan(x),
        np.log2((t + 8) & -(t + 8)) + 1, (t + 7) // 8 * 8, t > 0, t > 2, x * x * x + x, y * y * y + y,
        x * y, 1 / np.sqrt(y), np.abs(x), 1 + sum((i - t) ** 2 for i in range(4)),
    ]  # fmt: skip
    for number, row in enumerate(rows):
        wanted[number] = row
    return wanted


@T.prim_func
def fenced(out: T.Buffer((32,), "int32")):
    T.device_entry()
    t = T.thread_id([32])
    with T.thread():
        B.tcgen05_before_thread_sync()
        B.sync_threads()
        B.tcgen05_after_thread_sync()
        out[t] = t


def operands() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal(32).astype(np.float32), rng.uniform(0.5, 2, 32).astype(np.float32)
    return x, y, np.zeros((20, 32), np.float32)


def halves() -> tuple[np.ndarray, ...]:
    x = np.random.default_rng(5).standard_normal((32, 16)).astype(np.float16)
    return x, np.zeros((5, 32, 8), np.float16)


MORE_EXAMPLES: Mapping[str, Example] = {
    "voted": Example(voted, lambda: (np.zeros((12, 64), np.int32),), wanted_votes),
    "in clusters": Example(
        in_clusters, lambda: (np.zeros((2, 32), np.int32),), lambda _: np.broadcast_to(LANE, (2, 32))
    ),
    "arrived": Example(arrived, lambda: (zeros(64),), lambda _: np.concatenate([0 * LANE + 1, 10 * LANE])),
    "shared words": Example(shared_words, halves, wanted_words),
    "computed": Example(computed, operands, wanted_numbers, tolerance=1e-5),
    "fenced": Example(fenced, lambda: (zeros(32),), lambda _: LANE, ("b200",)),
}
