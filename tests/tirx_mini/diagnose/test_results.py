"""Results that are NaN though no argument is, and operands of MMAs that lie in their own accumulator."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.ir import PrimFunc
from tirx_mini.lang import TCGen05Bar, TMEMPool
from tirx_mini.script import tirx as T


@T.prim_func
def root(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
    T.device_entry()
    lane = T.thread_id([32])
    D[lane] = T.sqrt(A[lane])


@pytest.mark.parametrize(("first", "codes"), [(1.0, []), (-1.0, ["TX503:note"]), (np.nan, []), (np.inf, [])])
def test_nan_is_noted_where_no_argument_has_any(first: float, codes: list[str]) -> None:
    a = np.ones(32, np.float32)
    a[0] = first
    report = tvm.simulate(root, a, np.zeros(32, np.float32), gpu="h100")
    assert [f"{f.code}:{f.severity}" for f in report.findings] == codes
    assert report.verdict == "ok"


@T.prim_func
def all_ones(D: T.Buffer((32,), "float32")):
    T.device_entry()
    lane = T.thread_id([32])
    D[lane] = T.reinterpret("float32", T.uint32(0xFFFFFFFF))


def test_the_bits_of_unwritten_memory_in_a_result_are_an_error() -> None:
    report = tvm.simulate(all_ones, np.zeros(32, np.float32), gpu="h100")
    assert [f"{f.code}:{f.severity}" for f in report.findings] == ["TX503:error"]
    assert report.verdict == "fault"


def product(first: int) -> PrimFunc:
    """D = A Bᵀ with A in tensor memory from the column `first` on, and D in its columns 0 to 63."""

    @T.prim_func
    def kernel(A: T.Buffer((128, 16), "float16"), B: T.Buffer((64, 64), "float16"), D: T.Buffer((128, 64), "float32")):
        T.device_entry()
        T.cta_id([1])
        T.warpgroup_id([1])
        warp = T.warp_id_in_wg([4])
        lane = T.lane_id([32])
        pool = T.SMEMPool()
        tmem = TMEMPool(pool, 128)
        b = pool.alloc_tcgen05_mma_AB((64, 64), "float16")
        done = TCGen05Bar(pool, 1)
        pool.commit()
        tmem.commit()
        done.init(1)
        T.ptx.fence.mbarrier_init()
        T.cta.copy(b[:, :], B[:, :])
        T.cuda.cta_sync()
        T.ptx.tcgen05.fence.after_thread_sync()
        acc = tmem.alloc((128, 64), "float32")
        words = T.alloc_local((16,), "float16")
        for i in range(16):
            words[i] = A[warp * 32 + lane, i]
        T.ptx.tcgen05.st(tmem.addr + first + (warp * 32 << 16), words.ptr_to([0]), shape="32x32b", num=8)
        T.ptx.tcgen05.wait.st()
        T.ptx.tcgen05.fence.before_thread_sync()
        T.cuda.cta_sync()
        T.ptx.tcgen05.fence.after_thread_sync()
        shape = T.alloc_local((1,), "uint32")
        word = T.alloc_local((1,), "uint64")
        T.ptx.tcgen05.encode_instr_descriptor(
            T.address_of(shape[0]), d_dtype="float32", a_dtype="float16", b_dtype="float16", M=128, N=64, K=16,
            trans_a=False, trans_b=False,
        )  # fmt: skip
        T.ptx.tcgen05.encode_matrix_descriptor(T.address_of(word[0]), b.ptr_to([0, 0]), 1, 64, 3)
        if warp == 0:
            if T.ptx.elect_sync():
                T.ptx.tcgen05.mma.a_in_tmem(tmem.addr, tmem.addr + first, word[0], shape[0], False)
                done.arrive(0)
        done.wait(0, 0)
        T.ptx.tcgen05.fence.after_thread_sync()
        registers = T.wg_reg_tile(64, "float32")
        T.wg.copy(registers[:, :], acc[:, :])
        T.wg.copy(D[:, :], registers[:, :])
        T.cuda.cta_sync()
        tmem.dealloc()

    return kernel


@pytest.mark.parametrize(("first", "code"), [(64, None), (56, "TX201"), (0, "TX201")])
def test_an_operand_in_its_own_accumulator_is_an_error(first: int, code: str | None) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((128, 16), (64, 64)))
    d = np.zeros((128, 64), np.float32)
    report = tvm.simulate(product(first), a, b, d, gpu="b200")
    assert [f.code for f in report.findings] == ([code] if code else []), report
    assert (report.verdict == "ok") is (code is None)
    if code is None:
        assert (d == a.astype(np.float32) @ b[:, :16].T.astype(np.float32)).all()
