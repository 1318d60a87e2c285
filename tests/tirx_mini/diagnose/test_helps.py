"""Helps, followed to the letter: each wrong kernel names the edit, and with this edit it is clean."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.ir import Buffer, PrimFunc
from tirx_mini.lang import MBarrier, TMABar
from tirx_mini.layout import SwizzleMode, tma_shared_layout
from tirx_mini.script import tirx as T

TILE = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (64, 64))
NBYTES = 8192


def one_arrival_for_each_copy(followed: bool) -> PrimFunc:
    @T.prim_func
    def kernel(X: T.Buffer((64, 8), "float16"), D: T.Buffer((64,), "float16")):
        T.device_entry()
        warp = T.warp_id([3])
        lane = T.lane_id([32])
        pool = T.SMEMPool()
        ready = MBarrier(pool, 1)
        words = pool.alloc((64, 8), "float16")
        pool.commit()
        ready.init(64)
        T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        if warp < 2:
            T.ptx.cp_async(words.ptr_to([warp * 32 + lane, 0]), X.ptr_to([warp * 32 + lane, 0]), bytes=16)
            if followed:
                T.ptx.cp_async.mbarrier.arrive.noinc(ready.ptr_to([0]))
            else:
                T.ptx.cp_async.mbarrier.arrive(ready.ptr_to([0]))
        else:
            ready.wait(0, 0)
            D[lane] = words[lane, 0]
            D[32 + lane] = words[32 + lane, 0]

    return kernel


def a_flag_after_the_writes(followed: bool) -> PrimFunc:
    @T.prim_func
    def kernel(F: T.Buffer((1,), "uint32"), W: T.Buffer((64, 64), "float16"), D: T.Buffer((32,), "float16")):
        T.device_entry()
        cta = T.cta_id([2])
        lane = T.thread_id([32])
        pool = T.SMEMPool()
        tile = pool.alloc((64, 64), "float16", layout=TILE)
        pool.commit()
        if cta == 0:
            for i in T.serial(64):
                tile[lane, i] = T.float16(3.0)
                tile[32 + lane, i] = T.float16(4.0)
            T.ptx.fence.proxy_async("shared::cta")
            T.cuda.cta_sync()
            if lane == 0:
                T.copy_async(W[:, :], tile[:, :], dispatch="tma")
                T.ptx.cp_async.bulk.commit_group()
                if followed:
                    T.ptx.cp_async.bulk.wait_group(0)
                else:
                    T.ptx.cp_async.bulk.wait_group(0, read=True)
                T.ptx.fence.proxy_async("")
                T.ptx.st(F.ptr_to([0]), T.uint32(1), sem="release", scope="gpu", space="global")
        else:
            if lane == 0:
                while T.ptx.ld(F.ptr_to([0]), sem="acquire", scope="gpu") != T.uint32(1):
                    pass
            T.cuda.cta_sync()
            D[lane] = W[lane, 1]

    return kernel


def a_block_that_a_mask_skips(followed: bool) -> PrimFunc:
    @T.prim_func
    def kernel(X: T.Buffer((4, 64, 64), "float16"), D: T.Buffer((2, 4, 32), "float16")):
        T.device_entry()
        warp = T.warp_id([3])
        lane = T.lane_id([32])
        pool = T.SMEMPool()
        full = TMABar(pool, 1, "full")
        empty = MBarrier(pool, 1, "empty")
        tile = pool.alloc((64, 64), "float16", layout=TILE)
        pool.commit()
        full.init(1)
        empty.init(2)
        T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        if warp == 2:
            if lane == 0:
                for i in T.serial(4):
                    empty.wait(0, (i + 1) % 2)
                    full.arrive(0, NBYTES)
                    T.copy_async(tile[:, :], X[i, :, :], dispatch="tma", mbar=full.ptr_to([0]))
        else:
            for i in T.serial(4):
                full.wait(0, i % 2)
                if i < 2 + 2 * warp:
                    D[warp, i, lane] = tile[lane, 0]
                    T.ptx.fence.proxy_async("shared::cta")
                    T.cuda.warp_sync()
                    if not followed:
                        if lane == 0:
                            empty.arrive(0)
                if followed:
                    if lane == 0:
                        empty.arrive(0)

    return kernel


def two_groups_that_take_turns(followed: bool) -> PrimFunc:
    @T.prim_func
    def kernel(D: T.Buffer((2, 2, 32), "float32")):
        T.device_entry()
        warp = T.warp_id([2])
        lane = T.lane_id([32])
        if followed:
            if warp == 1:
                T.ptx.bar.arrive(5, 64)
        for i in T.serial(2):
            T.ptx.bar.sync(5 + warp, 64)
            D[warp, i, lane] = T.float32(i)
            if warp == 0:
                T.ptx.bar.arrive(6, 64)
            else:
                if i < 1:
                    T.ptx.bar.arrive(5, 64)

    return kernel


def bytes_of_the_last_tile(followed: bool) -> PrimFunc:
    @T.prim_func
    def kernel(X: T.Buffer((100, 64), "float16"), D: T.Buffer((2, 32), "float16")):
        T.device_entry()
        lane = T.thread_id([32])
        pool = T.SMEMPool()
        full = TMABar(pool, 1, "full")
        tile = pool.alloc((64, 64), "float16", layout=TILE)
        pool.commit()
        full.init(1)
        T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        for i in T.serial(2):
            if lane == 0:
                if followed:
                    full.arrive(0, NBYTES)
                else:
                    if i * 64 + 64 <= 100:
                        full.arrive(0, NBYTES)
                T.copy_async(tile[:, :], X[i * 64 : i * 64 + 64, :], dispatch="tma", mbar=full.ptr_to([0]))
            full.wait(0, i % 2)
            D[i, lane] = tile[lane, 0]
            T.ptx.fence.proxy_async("shared::cta")
            T.cuda.cta_sync()

    return kernel


def a_barrier_for_three_loaders(followed: bool) -> PrimFunc:
    count = 128 if followed else 64

    @T.prim_func
    def kernel(D: T.Buffer((96,), "float32")):
        T.device_entry()
        warp = T.warp_id([4])
        lane = T.lane_id([32])
        words = T.alloc_shared((96,), "float32")
        if warp < 3:
            words[warp * 32 + lane] = 1.0
            T.ptx.bar.arrive(2, count)
        else:
            T.ptx.bar.sync(2, count)
            for i in T.serial(3):
                D[i * 32 + lane] = words[i * 32 + lane]

    return kernel


def the_wait_behind_the_loop(followed: bool) -> PrimFunc:
    @T.prim_func
    def kernel(D: T.Buffer((2, 3, 32), "float32")):
        T.device_entry()
        warp = T.warp_id([2])
        lane = T.lane_id([32])
        pool = T.SMEMPool()
        full = MBarrier(pool, 1, "full")
        empty = MBarrier(pool, 1, "empty")
        pool.commit()
        full.init(1)
        empty.init(1)
        T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        phase: T.int32 = 0
        if warp == 1:
            if lane == 0:
                for i in T.serial(6):
                    empty.wait(0, (i + 1) % 2)
                    full.arrive(0)
        else:
            for tile in T.serial(2):
                for k in T.serial(2):
                    full.wait(0, phase)
                    phase = phase ^ 1
                    D[tile, k, lane] = 1.0
                    if lane == 0:
                        empty.arrive(0)
                full.wait(0, phase)
                if followed:
                    phase = phase ^ 1
                D[tile, 2, lane] = 2.0
                if lane == 0:
                    empty.arrive(0)

    return kernel


def a_word_of_the_peer(followed: bool) -> PrimFunc:
    @T.prim_func
    def kernel(D: T.Buffer((2, 32), "uint32")):
        T.device_entry()
        rank = T.cta_id([2])
        T.cta_id_in_cluster([2])
        lane = T.thread_id([32])
        words = T.alloc_shared((32,), "uint32")
        words[lane] = T.uint32(0)
        T.cuda.cluster_sync()
        words[lane] = T.uint32(7)
        if followed:
            T.cuda.cluster_sync()
        else:
            T.cuda.cta_sync()
        peer = T.ptx.map_shared_rank(words.ptr_to([lane]), 1 - rank)
        D[rank, lane] = T.ptx.ld(peer, space="shared::cluster", type="u32")
        T.cuda.cluster_sync()

    return kernel


HELPS = {
    one_arrival_for_each_copy: ("TX107", "cp_async.mbarrier.arrive.noinc"),
    a_flag_after_the_writes: ("TX201", "wait_group(0); with read=True"),
    a_block_that_a_mask_skips: ("TX107", "move the arrive out of the guard"),
    two_groups_that_take_turns: ("TX111", "let warp 1 call Tx.ptx.bar.arrive(5, 64) once"),
    bytes_of_the_last_tile: ("TX106", "announce the bytes in every round"),
    a_barrier_for_three_loaders: ("TX201", "count all threads that arrive or wait: 128"),
    the_wait_behind_the_loop: ("TX126", "flip the phase after this wait"),
    a_word_of_the_peer: ("TX201", "cluster_sync()"),
}


def simulated(kernel: PrimFunc) -> tvm.Report:
    buffers = [buffer for buffer in kernel.params if isinstance(buffer, Buffer)]
    return tvm.simulate(kernel, *(np.zeros(buffer.shape, str(buffer.dtype)) for buffer in buffers))


@pytest.mark.parametrize("build", HELPS, ids=lambda build: build.__name__)
def test_a_help_that_is_followed_leads_to_a_clean_kernel(build: Callable[[bool], PrimFunc]) -> None:
    code, words = HELPS[build]
    report = simulated(build(False))
    assert report.findings[0].code == code and words in report.findings[0].details["hint"], str(report)
    report = simulated(build(True))
    assert (report.verdict, report.findings) == ("ok", ()), str(report)
