"""Options of tile primitives that TVM 0.26 has: copies between CTAs, TMA stores that add, rounding, hints."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini
from tirx_mini.ir import PrimFunc, TirxError
from tirx_mini.passes import lower
from tirx_mini.script import tirx as T


def exchange(columns: int, mbar: bool = True) -> PrimFunc:
    """Each of two CTAs sends the last columns of its tile to the other one."""
    first = 64 - columns

    @T.prim_func
    def kernel(A: T.Buffer((2, 16, 64), "float16"), B: T.Buffer((2, 16, columns), "float16")):
        T.device_entry()
        rank = T.cta_id_in_cluster([2])
        bx = T.cta_id([2])
        thread = T.thread_id([128])
        own = T.alloc_shared((16, 64), "float16", align=128)
        received = T.alloc_shared((16, columns), "float16", align=128)
        bar = T.alloc_shared((1,), "uint64")
        if thread == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
        T.ptx.fence.mbarrier_init()
        T.cta.copy(own[:, :], A[bx, :, :])
        T.cuda.cta_sync()
        T.cuda.cluster_sync()
        if thread == 0:
            T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 16 * columns * 2)
            T.tile.copy_async(
                received[:, :], own[:, first:64], dispatch="dsmem", mbar=bar.ptr_to([0]) if mbar else None,
                remote_cta_id=1 - rank,
            )  # fmt: skip
        T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
        T.cta.copy(B[bx, :, :], received[:, :])
        T.cuda.cluster_sync()

    return kernel


@pytest.mark.parametrize("columns", [64, 32, 8])
def test_copies_between_ctas(columns: int) -> None:
    kernel = exchange(columns)
    a = np.random.default_rng(1).standard_normal((2, 16, 64)).astype(np.float16)
    b = np.zeros((2, 16, columns), np.float16)
    report = tirx_mini.simulate(kernel, a, b)
    assert report.verdict == "ok", report
    assert (b == a[::-1, :, 64 - columns :]).all()


def test_copies_between_ctas_that_the_hardware_does_not_have() -> None:
    with pytest.raises(TirxError, match="only 8 bytes are contiguous on both sides"):
        lower(exchange(4))
    with pytest.raises(TirxError, match="needs the mbarrier that counts its bytes"):
        lower(exchange(64, mbar=False))


def test_a_tma_store_that_adds() -> None:
    @T.prim_func
    def kernel(A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32")):
        T.device_entry()
        T.cta_id([2])
        thread = T.thread_id([128])
        tile = T.alloc_shared((32, 32), "float32", align=128)
        T.cta.copy(tile, A)
        T.cuda.cta_sync()
        if thread == 0:
            T.tile.copy_async(B[:, :], tile[:, :], dispatch="tma_auto", use_tma_reduce="add", oob="zero")
            T.ptx.cp_async.bulk.commit_group()
            T.ptx.cp_async.bulk.wait_group(0)

    a = np.arange(1024, dtype=np.float32).reshape(32, 32)
    b = np.ones((32, 32), np.float32)
    assert tirx_mini.simulate(kernel, a, b).verdict == "ok"
    assert (b == 2 * a + 1).all()


@pytest.mark.parametrize(("mode", "expected"), [("rz", 1.0), ("rp", 1.0 + 2**-23), ("rn", 1.0), (None, 1.0)])
def test_rounding_modes(mode: str | None, expected: float) -> None:
    @T.prim_func
    def kernel(A: T.Buffer((32, 2), "float32")):
        T.device_entry()
        T.cta_id([1])
        thread = T.thread_id([32])
        a = T.alloc_local((2,), "float32")
        T.tile.copy(a[:], A[thread, :], vec_len=2, cache="nc", l1_evict="L1::no_allocate")
        T.tile.fma(a[:], a[:], T.float32(1), T.float32(2**-30), rounding_mode=mode)
        T.tile.add(a[:], a[:], T.float32(0), rounding_mode=mode)
        T.tile.mul(a[:], a[:], T.float32(1), rounding_mode=mode)
        T.tile.copy(A[thread, :], a[:])

    a = np.ones((32, 2), np.float32)
    assert tirx_mini.simulate(kernel, a).verdict == "ok"
    assert (a == np.float32(expected)).all()


def test_rounding_of_other_dtypes_is_refused() -> None:
    @T.prim_func
    def kernel(A: T.Buffer((32, 2), "float16")):
        T.device_entry()
        T.cta_id([1])
        thread = T.thread_id([32])
        a = T.alloc_local((2,), "float16")
        T.tile.copy(a[:], A[thread, :])
        T.tile.add(a[:], a[:], a[:], rounding_mode="rz")

    with pytest.raises(TirxError, match="rounding_mode is rn, rz, rm or rp, of float32"):
        lower(kernel)
