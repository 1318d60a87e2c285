"""Operands of gemm_async: either orientation, A in tensor memory, N in parts; products against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirx_mini as tvm
from tests.tirx_mini.tile.kernels import call, gmem, tmem
from tirx_mini.codegen import cuda_source
from tirx_mini.ir import Call, PrimFunc, TirxError, walk
from tirx_mini.isa import InstructionDescriptor
from tirx_mini.layout import S, SwizzleMode, TCol, TileLayout, TLane, tid_in_wg, tma_shared_layout
from tirx_mini.passes import lower
from tirx_mini.script import tirx as Tx

MODES = list(SwizzleMode)


def product(n: int, k: int, *, a_in_tmem: bool = False, dtype: str = "float16", acc: str = "float32",
            mode: SwizzleMode = SwizzleMode.SWIZZLE_128B_ATOM, synchronised: bool = True,
            **options: Any) -> PrimFunc:  # fmt: skip
    """D = A Bᵀ for one tile of 128 × n, with A and B as the options transA and transB say."""
    shape_a = (k, 128) if options.get("transA") else (128, k)
    shape_b = (k, n) if options.get("transB") else (n, k)
    layout_a, layout_b = (tma_shared_layout(dtype, mode, shape) for shape in (shape_a, shape_b))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer(shape_a, dtype), B: Tx.Buffer(shape_b, dtype), D: Tx.Buffer((128, n), acc)):
        with Tx.kernel():
            bx = Tx.cta_id([1], parent="kernel")
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")
            tid = Tx.meta_var(warp_id * 32 + lane_id)
            pool = Tx.PoolAllocator()
            tmem_addr = pool.alloc((1,), "uint32")
            bar = pool.alloc((1,), "uint64", align=8)
            As = pool.alloc(shape_a, dtype, layout=layout_a, align=1024)
            Bs = pool.alloc(shape_b, dtype, layout=layout_b, align=1024)
            pool.commit()
            if warp_id == 0:
                Tx.ptx.tcgen05.alloc(Tx.address_of(tmem_addr), n_cols=512, cta_group=1)
            with Tx.thread()[tid == 0]:
                Tx.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            Tx.ptx.fence.mbarrier_init()
            with Tx.cta():
                Tx.copy(As, A)
                Tx.copy(Bs, B)
            Tx.cuda.cta_sync()
            Tx.ptx.tcgen05.fence.after_thread_sync()
            C = Tx.decl_buffer((128, n), acc, scope="tmem", allocated_addr=tmem_addr[0],
                               layout=TileLayout(S[(128, n) : (1 @ TLane, 1 @ TCol)]))  # fmt: skip
            P = Tx.decl_buffer((128, 2 * k), dtype, scope="tmem", allocated_addr=tmem_addr[0] + 256,
                               layout=TileLayout(S[(128, 2 * k) : (1 @ TLane, 1 @ TCol)]))  # fmt: skip
            if a_in_tmem:
                own = Tx.alloc_local((k,), dtype)
                rows = own.view(128, k, layout=TileLayout(S[(128, k) : (1 @ tid_in_wg, 1)]))
                with Tx.thread():
                    Tx.copy(own, A[tid, :])
                with Tx.warpgroup():
                    Tx.copy(P[:, k:], rows)
                if synchronised:
                    Tx.ptx.tcgen05.fence.before_thread_sync()
                    Tx.cuda.cta_sync()
                    Tx.ptx.tcgen05.fence.after_thread_sync()
            if warp_id == 0:
                with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                    if a_in_tmem:
                        Tx.gemm_async(C[:, :], P[:, k:], Bs[:, :], accum=False, dispatch="tcgen05", **options)
                    else:
                        Tx.gemm_async(C[:, :], As[:, :], Bs[:, :], accum=False, dispatch="tcgen05", **options)
                    Tx.ptx.tcgen05.commit(bar.ptr_to([0]))
            Tx.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            Tx.ptx.tcgen05.fence.after_thread_sync()
            out = Tx.alloc_local((n,), acc)
            tile = out.view(128, n, layout=TileLayout(S[(128, n) : (1 @ tid_in_wg, 1)]))
            with Tx.warpgroup():
                Tx.copy(tile, C)
            with Tx.thread():
                Tx.copy(D[tid, :], out)
            Tx.cuda.cta_sync()
            if warp_id == 0:
                Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
                Tx.ptx.tcgen05.dealloc(tmem_addr[0], n_cols=512, cta_group=1)

    return kernel


def check(n: int, k: int, dtype: str = "float16", **options: Any) -> None:
    """The simulator finds nothing and computes the same product as NumPy."""
    random, numpy = np.random.default_rng(0), tvm.DataType(dtype)
    a, b = (random.integers(-4, 5, shape).astype(np.float32) for shape in ((128, k), (n, k)))
    left, right = (a.T if options.get("transA") else a), (b.T if options.get("transB") else b)
    as_dtype = np.float16 if dtype == "float16" else np.int8 if dtype == "int8" else numpy
    d = np.zeros((128, n), np.int32 if dtype == "int8" else np.float32)
    arrays = [np.ascontiguousarray(each).astype(as_dtype) for each in (left, right)]
    report = tvm.simulate(product(n, k, dtype=dtype, acc="int32" if dtype == "int8" else "float32", **options),
                          *arrays, d)  # fmt: skip
    assert report.verdict == "ok" and not report.findings
    assert (d == a @ b.T).all()


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("turned", [{"transA": True}, {"transB": True}, {"transA": True, "transB": True}], ids=str)
@pytest.mark.parametrize("n, k", [(128, 64), (64, 128)])
def test_operands_that_are_contiguous_along_m_and_n(mode: SwizzleMode, turned: dict[str, bool], n: int, k: int) -> None:
    check(n, k, mode=mode, **turned)


@pytest.mark.parametrize("transB", [False, True])
def test_a_in_tensor_memory(transB: bool) -> None:
    check(128, 64, a_in_tmem=True, transB=transB)


def test_bytes_that_are_contiguous_along_n() -> None:
    check(128, 128, dtype="int8", transB=True)


@pytest.mark.parametrize(
    "options", [{"mma_m": 128, "mma_n": 64}, {"mma_m": 128, "mma_n": 128, "transB": True}], ids=str
)
def test_instructions_of_a_part_of_n(options: dict[str, Any]) -> None:
    check(256, 64, **options)
    words = {
        int(call.args[3].value)  # type: ignore[attr-defined]
        for call in walk(lower(product(256, 64, **options)).body)
        if isinstance(call, Call) and call.op == "tcgen05.mma"
    }
    assert {InstructionDescriptor.decode(word, "f16", 1).n for word in words} == {options["mma_n"]}


@pytest.mark.parametrize("mode", ["hoist", "local_hoist", "recompute", "encode"])
def test_the_place_of_the_descriptors_changes_nothing(mode: str) -> None:
    assert cuda_source(lower(product(64, 64, smem_desc=mode))).text == cuda_source(lower(product(64, 64))).text


def test_reading_a_from_tensor_memory_needs_the_stores_before_it() -> None:
    a, b, d = np.ones((128, 64), np.float16), np.ones((128, 64), np.float16), np.zeros((128, 128), np.float32)
    report = tvm.simulate(product(128, 64, a_in_tmem=True, synchronised=False), a, b, d)
    assert report.verdict == "hazard"
    assert any("tensor memory" in finding.message for finding in report.findings)


@pytest.mark.parametrize("options, reason", [
    ({"mma_n": 64}, "mma_m and mma_n must be given together"),
    ({"mma_m": 64, "mma_n": 64}, "mma_m is 64, but M of the product is 128"),
    ({"mma_m": 128, "mma_n": 48}, "mma_n is 48, but N of the product is 128, which it does not divide"),
    ({"mma_m": 128, "mma_n": 8}, "must be a multiple of 16 up to 256"),
    ({"smem_desc": "twice"}, "smem_desc of gemm_async must be 'hoist'"),
    ({"dtype": "float32", "transB": True}, "need the 128-byte swizzle of 32-byte atoms"),
])  # fmt: skip
def test_what_the_tensor_core_does_not_do_is_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(TirxError) as error:
        lower(product(128, 64, **options))
    assert reason in str(error.value)


def test_a_in_tensor_memory_is_k_major() -> None:
    with pytest.raises(TirxError, match="K runs along the columns"):
        call_of = product(128, 128, a_in_tmem=True, transA=True)
        lower(call_of)


def test_extents_follow_the_orientation() -> None:
    a, b = gmem("A", (64, 128)), gmem("B", (64, 256))
    with pytest.raises(TirxError, match=r"B has K = 256") as error:
        call("gemm_async", tmem()[:, :256], gmem("A", (128, 64)), b)
    assert "pass transB=True for K × N" in str(error.value)
    assert call("gemm_async", tmem()[:, :256], a, b, transA=True, transB=True).option("transB")


@pytest.mark.compiler
@pytest.mark.parametrize("options", [{"transA": True, "transB": True}, {"a_in_tmem": True, "transB": True}], ids=str)
def test_it_compiles(options: dict[str, Any]) -> None:
    ptx = tvm.compile(tvm.IRModule({"main": product(128, 64, **options)}), target="cuda:sm_100a").source("ptx")
    assert ptx.count("tcgen05.mma.cta_group::1.kind::f16") == 4
    assert ("], [%r" in ptx) == bool(options.get("a_in_tmem"))
