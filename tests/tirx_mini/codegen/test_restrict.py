"""Parameters that are `__restrict__`: the compiler reads them early and keeps what it read, whatever a barrier says."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tirx_mini.codegen import cuda_source
from tirx_mini.ir import PrimFunc
from tirx_mini.isa import restrict_params
from tirx_mini.layout import SwizzleMode, tma_shared_layout
from tirx_mini.passes import lower
from tirx_mini.runtime import build
from tirx_mini.script import tirx as T

TILE = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (64, 64))


def by_tma_store() -> PrimFunc:
    """TMA stores ones to A; each thread then reads them."""

    @T.prim_func
    def kernel(A: T.Buffer((64, 64), "float16"), D: T.Buffer((64, 64), "float16"), E: T.Buffer((64,), "float16")):
        T.device_entry()
        tx = T.thread_id([64])
        tile = T.alloc_shared((64, 64), "float16", layout=TILE)
        for column in range(64):
            tile[tx, column] = T.float16(1.0)
        T.ptx.fence.proxy_async("shared::cta")
        T.cuda.cta_sync()
        if tx == 0:
            T.copy_async(A[:, :], tile[:, :], dispatch="tma")
            T.ptx.cp_async.bulk.commit_group()
            T.ptx.cp_async.bulk.wait_group(0)
        T.cuda.cta_sync()
        D[tx, 0] = A[tx, 0] + E[tx]

    return kernel


def by_bulk_copy() -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32"), D: T.Buffer((64,), "float32"), E: T.Buffer((64,), "float32")):
        T.device_entry()
        tx = T.thread_id([64])
        line = T.alloc_shared((64,), "float32", align=16)
        line[tx] = 1.0
        T.ptx.fence.proxy_async("shared::cta")
        T.cuda.cta_sync()
        if tx == 0:
            T.ptx.cp_async.bulk.store(A.ptr_to([0]), line.ptr_to([0]), 256)
            T.ptx.cp_async.bulk.commit_group()
            T.ptx.cp_async.bulk.wait_group(0)
        T.cuda.cta_sync()
        D[tx] = A[63 - tx] + E[tx]

    return kernel


def by_atomics() -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32"), D: T.Buffer((64,), "float32"), E: T.Buffer((64,), "float32")):
        T.device_entry()
        tx = T.thread_id([64])
        T.cuda.atomic_add(A.ptr_to([tx]), T.float32(1.0))
        T.cuda.cta_sync()
        D[tx] = A[63 - tx] + E[tx]

    return kernel


def by_a_bound_pointer() -> PrimFunc:
    """The pointer has a name before an instruction gets it."""

    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32"), D: T.Buffer((64,), "float32"), E: T.Buffer((64,), "float32")):
        T.device_entry()
        tx = T.thread_id([64])
        pointer = T.let(A.ptr_to([tx]))
        T.ptx.red(pointer, T.float32(1.0), op="add", type="f32")
        T.cuda.cta_sync()
        D[tx] = A[63 - tx] + E[tx]

    return kernel


def by_other_threads() -> PrimFunc:
    """Each thread reads from A the element that another thread stored."""

    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32"), D: T.Buffer((64,), "float32"), E: T.Buffer((64,), "float32")):
        T.device_entry()
        tx = T.thread_id([64])
        A[tx] = T.cast(tx, "float32")
        T.cuda.cta_sync()
        D[tx] = A[tx ^ 1] + E[tx]

    return kernel


def read_by_tma() -> PrimFunc:
    """Threads store to A; TMA loads it afterwards, so that the stores may not be late."""

    @T.prim_func
    def kernel(A: T.Buffer((64, 64), "float16"), D: T.Buffer((64, 64), "float16"), E: T.Buffer((64,), "float16")):
        T.device_entry()
        tx = T.thread_id([64])
        tile = T.alloc_shared((64, 64), "float16", layout=TILE)
        landed = T.alloc_shared((1,), "uint64")
        if tx == 0:
            T.ptx.mbarrier.init(landed.ptr_to([0]), 1)
        T.ptx.fence.mbarrier_init()
        for column in range(64):
            A[tx, column] = E[tx]
        T.ptx.fence.proxy_async("global")
        T.cuda.cta_sync()
        if tx == 0:
            T.ptx.mbarrier.arrive.expect_tx(landed.ptr_to([0]), 64 * 64 * 2)
            T.copy_async(tile[:, :], A[:, :], dispatch="tma", mbar=landed.ptr_to([0]))
        T.ptx.mbarrier.try_wait(landed.ptr_to([0]), 0)
        D[tx, 0] = tile[tx, 0]

    return kernel


KINDS = [by_tma_store, by_bulk_copy, by_atomics, by_a_bound_pointer, by_other_threads, read_by_tma]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_buffer_that_others_may_change_is_no_restrict_pointer(kind: Callable[[], PrimFunc]) -> None:
    """Those beside it are: D is only stored to, and E only read."""
    assert [param.name for param in restrict_params(lower(kind())) if param.name == "A"] == []
    assert {param.name for param in restrict_params(lower(kind()))} == {"D", "E"}


@pytest.mark.compiler
@pytest.mark.parametrize("kind", [by_tma_store, by_bulk_copy, by_other_threads], ids=lambda kind: kind.__name__)
def test_reads_of_it_are_not_cached_and_not_moved(kind: Callable[[], PrimFunc]) -> None:
    """E is still read through the read-only cache; the read of A stays behind the last barrier."""
    exe = build(lower(kind()), "sm_90a")
    assert "* A" in exe.source("cuda") and "__restrict__ E" in exe.source("cuda")
    lines = [line.strip() for line in exe.source("ptx").splitlines()]
    loads = [place for place, line in enumerate(lines) if line.startswith("ld.global")]
    barriers = [place for place, line in enumerate(lines) if line.startswith(("bar.sync", "barrier.sync"))]
    cached = [place for place in loads if ".nc" in lines[place]]
    assert len(loads) == 2 and len(cached) == 1
    assert max(barriers) < max(set(loads) - set(cached))


def by_a_choice() -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "int32"), B: T.Buffer((4, 32), "int32"), C: T.Buffer((4, 32), "float32")):
        T.device_entry()
        tx = T.thread_id([32])
        for k in range(4):
            A[tx] = T.if_then_else(C[k, tx] > 0.0, A[tx], B[k, tx]) + 1

    return kernel


def by_a_branch() -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "int32"), B: T.Buffer((4, 32), "int32"), C: T.Buffer((4, 32), "float32")):
        T.device_entry()
        tx = T.thread_id([32])
        x: T.int32 = 0
        for k in range(4):
            if C[k, tx] > 0.0:
                x = A[tx]
            elif C[k, tx] < -1.0:
                x = B[k, 31 - tx]
            else:
                x = B[k, tx]
            A[tx] = x + 1

    return kernel


@pytest.mark.compiler
@pytest.mark.parametrize("kind", [by_a_choice, by_a_branch], ids=lambda kind: kind.__name__)
def test_a_load_that_is_merged_with_one_of_written_memory_is_no_read_only_load(kind: Callable[[], PrimFunc]) -> None:
    """An H200 read old values: the merged load went through the read-only cache."""
    exe = build(lower(kind()), "sm_90a")
    assert "const int* B" in exe.source("cuda")
    assert not [line for line in exe.source("ptx").splitlines() if "ld.global.nc" in line and ".f32" not in line]


def test_a_kernel_that_orders_memory_has_none() -> None:
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32"), flag: T.Buffer((1,), "uint32"), D: T.Buffer((64,), "float32")):
        T.device_entry()
        tx = T.thread_id([64])
        if T.ptx.ld(flag.ptr_to([0]), type="u32", sem="acquire", scope="gpu") == T.uint32(1):
            D[tx] = A[tx]

    assert "__restrict__" not in cuda_source(lower(kernel), "sm_90a").text
