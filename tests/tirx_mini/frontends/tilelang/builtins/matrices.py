"""Kernels with the matrix instructions of TileLang's builtins: wgmma, tcgen05, and the MMA of Volta."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from tirx_mini.frontends.tilelang.builtins import NAMES
from tirx_mini.lang import TMEMPool
from tirx_mini.layout import SwizzleMode, tma_shared_layout
from tirx_mini.script import tirx as T

B: Any = SimpleNamespace(**NAMES)

A_TILE = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (64, 64))


@T.prim_func
def warpgroup(A: T.Buffer((64, 64), "float16"), D: T.Buffer((128, 32), "float32")):
    """D = A Aᵀ by wgmma, with descriptors by their fields: 32 accumulators of each of 128 threads."""
    T.device_entry()
    t = T.thread_id([128])
    a = T.alloc_shared((64, 64), "float16", layout=A_TILE)
    T.cta.copy(a[:, :], A[:, :])
    T.cuda.cta_sync()
    with T.thread():
        total = T.alloc_local((32,), "float32")
        left = T.alloc_local((1,), "uint64")
        right = T.alloc_local((1,), "uint64")
        B.initialize_wgmma_descriptor(left, B.access_ptr(a), 1, 1, 64)
        B.initialize_wgmma_descriptor(right[0], a[0, 0], layout_type_=1, leading_byte_offset=1, stride_byte_offset=64)
        B.set_max_nreg(168, 0)
        B.sync_threads(1, 128)
        B.inc_max_nreg(208)
        B.sync_threads(1, 128)
        B.dec_max_nreg(168)
        B.warpgroup_fence_operand(total)
        B.warpgroup_arrive()
        for step in T.unroll(4):
            T.call("wgmma.mma_async", total.data, left[0], right[0], step != 0, n=64)
            B.increase_descriptor_offset(left, 32)
            B.increase_descriptor_offset(right[0], 32)
        B.warpgroup_commit_batch()
        B.warpgroup_wait(1)
        B.wait_wgmma(0)
        B.warpgroup_fence_operand(total[0], num_regs=32)
        for i in T.serial(32):
            D[t, i] = total[i]


def wanted_warpgroup(A: np.ndarray, D: np.ndarray) -> np.ndarray:
    """PTX ISA: "Register Fragments for wgmma.mma_async.m64nNk16": accumulators."""
    product = A.astype(np.float32) @ A.astype(np.float32).T
    t, i = np.ogrid[:128, :32]
    return product[16 * (t // 32) + t % 32 // 4 + 8 * (i // 2 % 2), 8 * (i // 4) + 2 * (t % 4) + i % 2]


@T.prim_func
def tensor_memory(A: T.Buffer((128, 64), "float16"), D: T.Buffer((128, 128), "float32")):
    """D = A Aᵀ by tcgen05, with descriptors by their fields."""
    T.device_entry()
    T.cta_id([1])
    T.warpgroup_id([1])
    warp = T.warp_id_in_wg([4])
    t = T.thread_id([128])
    pool = T.SMEMPool()
    tmem = TMEMPool(pool, 128)
    a = pool.alloc_tcgen05_mma_AB((128, 64), "float16")
    done = pool.alloc((2,), "uint64")
    pool.commit()
    tmem.commit()
    if t == 0:
        T.ptx.mbarrier.init(done.ptr_to([0]), 1)
        T.ptx.fence.mbarrier_init()
    T.cta.copy(a[:, :], A[:, :])
    T.cuda.cta_sync()
    T.ptx.tcgen05.fence.after_thread_sync()
    acc = tmem.alloc_tcgen05_mma_D((128, 128), M=128, cta_group=1)
    desc = T.alloc_local((1,), "uint64")
    B.initialize_tcgen05_descriptor(desc, a.ptr_to([0, 0]), 1, 64, 0, False, 2)
    if warp == 0:
        if T.ptx.elect_sync():
            for step in T.unroll(4):
                T.ptx.tcgen05.mma(tmem.addr, desc[0], desc[0], 0x08200010, step != 0)
                B.increase_descriptor_offset(desc, 32)
        B.tcgen05_mma_arrive(done[0])
    B.mbarrier_wait_parity(done[0], 0)
    T.ptx.tcgen05.fence.after_thread_sync()
    registers = T.wg_reg_tile(128, "float32")
    T.wg.copy(registers[:, :], acc[:, :])
    T.wg.copy(D[:, :], registers[:, :])
    T.cuda.cta_sync()
    tmem.dealloc()


def wanted_product(A: np.ndarray, D: np.ndarray) -> np.ndarray:
    return A.astype(np.float32) @ A.astype(np.float32).T


def quads(c_dtype: str, a_layout: str, b_layout: str) -> Any:
    """A warp's product of fragments, as `numbers` lays them out."""
    dtype, place = ("float16", 8) if c_dtype == "fp16" else ("float32", 8)

    @T.prim_func
    def multiply(a: T.Buffer((32, 4), "float16"), b: T.Buffer((32, 4), "float16"), c: T.Buffer((32, 8), dtype)):
        T.device_entry()
        t = T.thread_id([32])
        with T.thread():
            left = T.alloc_local((8,), "float16")
            right = T.alloc_local((4,), "float16")
            total = T.alloc_local((place,), dtype)
            for i in T.serial(4):
                left[i + 4] = a[t, i]
                right[i] = b[t, i]
            for i in T.serial(8):
                total[i] = c[t, i]
            B.ptx_mma_sm70(
                "m16n16k4", a_layout, b_layout, "fp16", "fp16", c_dtype, left.data, 4, right.data, 0, total.data, 0
            )
            for i in T.serial(8):
                c[t, i] = total[i]

    return multiply


def wanted_quads(c_dtype: str, a_layout: str, b_layout: str) -> Callable[..., np.ndarray]:
    """The formulas of the PTX ISA: "Matrix Fragments for mma.m8n8k4 with .f16 floating point type"."""

    def wanted(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        result = np.array(c)
        for quad in range(4):
            lanes = [*range(4 * quad, 4 * quad + 4), *range(16 + 4 * quad, 20 + 4 * quad)]
            A, Bm, places = np.zeros((8, 4)), np.zeros((4, 8)), {}
            for lane in lanes:
                high = 4 * (lane >= 16)
                for i in range(4):
                    A[(lane % 4 + high, i) if a_layout == "row" else (i + high, lane % 4)] = a[lane, i]
                    Bm[(lane % 4, i + high) if b_layout == "row" else (i, lane % 4 + high)] = b[lane, i]
                for i in range(8):
                    if c_dtype == "fp16":
                        places[lane, i] = lane % 4 + high, i
                    else:
                        places[lane, i] = (lane & 1) + (i & 2) + high, (i & 4) + (lane & 2) + (i & 1)
            product = A @ Bm
            for (lane, i), place in places.items():
                result[lane, i] = c[lane, i] + product[place]
        return result

    return wanted


def quad_operands(dtype: str) -> Callable[[], tuple[np.ndarray, ...]]:
    def make() -> tuple[np.ndarray, ...]:
        rng = np.random.default_rng(1)
        small = lambda *shape: rng.integers(-8, 8, shape).astype(np.float16)  # noqa: E731
        return small(32, 4), small(32, 4), small(32, 8).astype(dtype)

    return make
