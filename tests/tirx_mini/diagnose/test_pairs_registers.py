"""Registers, launches and wgmma, judged by the PTX ISA: each kernel once right, once wrong in one detail."""

from __future__ import annotations

import pytest

from tests.tirx_mini.diagnose.pairs import Pair, pair, pairs_of
from tirx_mini.ir import PrimFunc
from tirx_mini.layout import SwizzleMode, tma_shared_layout, wgmma_accumulator_layout
from tirx_mini.script import tirx as T


@pair(("TX107", "TX110", "TX112"), "deadlock", isa="mbarrier: as many rounds on both sides", result=lambda A: A[:2])
def answers_that_stop_after_the_first(wrong: bool) -> PrimFunc:
    """A role that signals several times for each wait for another ring does nothing wrong."""

    @T.prim_func
    def kernel(A: T.Buffer((64,), "int32"), D: T.Buffer((2,), "int32")):
        T.device_entry()
        tx = T.thread_id([64])
        tile = T.alloc_shared((1,), "uint64")
        part = T.alloc_shared((1,), "uint64")
        answer = T.alloc_shared((1,), "uint64")
        if tx == 0:
            for bar in (tile, part, answer):
                T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        if tx == 0:
            for t in T.serial(2):
                T.ptx.mbarrier.try_wait(tile.ptr_to([0]), t & 1)
                T.ptx.mbarrier.arrive(part.ptr_to([0]))
                T.ptx.mbarrier.try_wait(answer.ptr_to([0]), t & 1)  # wrong
                for j in T.serial(2):
                    T.ptx.mbarrier.arrive(part.ptr_to([0]))
                    T.ptx.mbarrier.try_wait(answer.ptr_to([0]), (t + j + 1) & 1)  # wrong
                D[t] = A[t]
        elif tx == 32:
            for t in T.serial(2):
                T.ptx.mbarrier.arrive(tile.ptr_to([0]))
                for j in T.serial(3):
                    T.ptx.mbarrier.try_wait(part.ptr_to([0]), (t + j) & 1)
                    if not wrong or j == 0:
                        T.ptx.mbarrier.arrive(answer.ptr_to([0]))

    return kernel


@pair("TX213", "hazard", isa="griddepcontrol.wait", result=lambda A: A)
def an_access_before_the_grid_before_is_complete(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        tx = T.thread_id([32])
        value = T.alloc_local((1,), "float32")
        if not wrong:
            T.ptx.griddepcontrol.wait()
        value[0] = A[tx]  # wrong
        if wrong:
            T.ptx.griddepcontrol.wait()
        D[tx] = value[0]

    return kernel


@pair(("TX117", "TX304", "TX307"), ("deadlock", "fault"), isa="setmaxnreg: per-CTA register pool", result=lambda A: A)
def registers_taken_that_nobody_gives(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((384,), "float32"), D: T.Buffer((384,), "float32")):
        T.device_entry()
        wg = T.warpgroup_id([3])
        tid = T.thread_id_in_wg([128])
        if wg == 0:
            if not wrong:
                T.ptx.setmaxnreg.dec(40)
        else:
            T.ptx.setmaxnreg.inc(232)  # wrong
        D[wg * 128 + tid] = A[wg * 128 + tid]

    return kernel


@pair("TX117", "deadlock", isa="setmaxnreg: per-CTA register pool", result=lambda A: A)
def roles_that_have_more_registers_than_there_are(wrong: bool) -> PrimFunc:
    """The warps that get theirs wait for the last one, at an mbarrier: that is a consequence."""

    @T.prim_func
    def kernel(A: T.Buffer((512,), "float32"), D: T.Buffer((512,), "float32")):
        T.device_entry()
        wg = T.warpgroup_id([4])
        tid = T.thread_id_in_wg([128])
        bars = T.alloc_shared((2,), "uint64")
        if wg == 0:
            if tid == 0:
                T.ptx.mbarrier.init(bars.ptr_to([0]), 256)
                T.ptx.mbarrier.init(bars.ptr_to([1]), 128)
                T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        if wg < 2:
            T.ptx.setmaxnreg.inc(192 if wrong else 184)  # wrong
            T.ptx.mbarrier.arrive(bars.ptr_to([0]))
            T.ptx.mbarrier.try_wait(bars.ptr_to([1]), 0)
        elif wg == 2:
            T.ptx.setmaxnreg.dec(80)
            T.ptx.mbarrier.try_wait(bars.ptr_to([0]), 0)
            T.ptx.mbarrier.arrive(bars.ptr_to([1]))
        else:
            T.ptx.setmaxnreg.dec(56)
        D[wg * 128 + tid] = A[wg * 128 + tid]

    return kernel


@pair("TX306", ("fault", "hazard"), isa="setmaxnreg: the warpgroup synchronises before the next", result=lambda A: A)
def setmaxnreg_twice(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((128,), "float32"), D: T.Buffer((128,), "float32")):
        T.device_entry()
        tx = T.thread_id([128])
        T.ptx.setmaxnreg.dec(64)
        if not wrong:
            T.cuda.warpgroup_sync(1)
        T.ptx.setmaxnreg.dec(40)  # wrong
        D[tx] = A[tx]

    return kernel


@pair("TX208", "hazard", isa="an undefined register", result=lambda A: A + 1)
def a_variable_with_a_value_on_one_path_only(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        tx = T.thread_id([32])
        bonus: T.float32
        if tx < (16 if wrong else 32):
            bonus = 1.0
        D[tx] = A[tx] + bonus  # wrong

    return kernel


@pair("TX301", "fault", isa="an access outside the array", result=lambda A: A[[0, *range(31)]])
def a_guard_that_evaluates_both_sides(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        tx = T.thread_id([32])
        value = T.alloc_local((1,), "float32")
        if wrong:
            value[0] = A[tx - 1]  # wrong
            if tx == 0:
                value[0] = A[0]
        else:
            value[0] = T.if_then_else(tx > 0, A[tx - 1], A[0])
        D[tx] = value[0]

    return kernel


SAME = "__device__ float same(float x) { return x; }"


@pair("TX601", "incomplete", isa="a function of CUDA C++", result=lambda A: A)
def a_function_that_is_not_modelled(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        tx = T.thread_id([32])
        if wrong:
            D[tx] = T.cuda.func_call("same", A[tx], source_code=SAME, return_type="float32")  # wrong
        else:
            D[tx] = A[tx]

    return kernel


@pair("TX502", ("hazard", "fault", "incomplete"), isa="an argument that nothing writes", result=lambda A: A)
def a_result_that_nobody_writes_back(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        tx = T.thread_id([32])
        value = T.alloc_local((1,), "float32")
        value[0] = A[tx]
        if not wrong:
            D[tx] = value[0]

    return kernel


def hopper(
    *, fence: bool = True, wait: int | None = 0, commit: bool = True, touch: str = "", proxy: bool = True
) -> PrimFunc:
    """Two wgmmas into one accumulator; `touch` is when a register of it is used: "before" the fence, in "flight"."""
    layout = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (64, 64))
    fragment = wgmma_accumulator_layout(64, 64)

    @T.prim_func
    def kernel(A: T.Buffer((64, 64), "float16"), D: T.Buffer((64, 64), "float32")):
        T.device_entry()
        tx = T.thread_id([128])
        tile = T.alloc_shared((64, 64), "float16", layout=layout, align=1024)
        acc = T.alloc_local((32,), "float32")
        tiled = acc.view(64, 64, layout=fragment)
        if proxy:
            T.cta.copy(tile[:, :], A[:, :])
        else:
            for i in T.serial(32):
                tile[i * 2 + tx // 64, tx % 64] = A[i * 2 + tx // 64, tx % 64]
        T.cuda.cta_sync()
        if touch == "before":
            for i in T.serial(32):
                acc[i] = 0.0
        if fence:
            T.ptx.wgmma.fence()
        if touch == "after":
            for i in T.serial(32):
                acc[i] = 0.0
        T.wg.gemm_async(
            tiled[:, :], tile[:, :], tile[:, :], accum=touch in ("before", "after"), dispatch="wgmma"
        )  # wrong
        if commit:
            T.ptx.wgmma.commit_group()
        if touch == "flight":
            acc[3] = acc[3] * 2.0  # wrong
        if wait is not None:
            T.ptx.wgmma.wait_group(wait)
        if touch != "flight":
            acc[3] = acc[3] * 1.0  # wrong
        T.wg.copy(D[:, :], tiled[:, :])  # wrong

    return kernel


@pair("TX211", "hazard", isa="wgmma.fence: before the first wgmma", gpu="h100")
def wgmma_without_its_fence(wrong: bool) -> PrimFunc:
    return hopper(fence=not wrong)


@pair("TX211", "hazard", isa="wgmma.fence: registers changed after it", gpu="h100")
def accumulators_changed_after_the_fence(wrong: bool) -> PrimFunc:
    return hopper(touch="after" if wrong else "before")


@pair("TX212", "hazard", isa="wgmma.wait_group", gpu="h100")
def accumulators_used_before_the_wait(wrong: bool) -> PrimFunc:
    return hopper(touch="flight" if wrong else "")


@pair("TX212", "hazard", isa="wgmma.wait_group", gpu="h100")
def accumulators_used_without_any_wait(wrong: bool) -> PrimFunc:
    return hopper(wait=None if wrong else 0)


@pair("TX212", "hazard", isa="wgmma.wait_group N", gpu="h100")
def a_wait_that_leaves_one_wgmma_group(wrong: bool) -> PrimFunc:
    return hopper(wait=1 if wrong else 0)


@pair("TX212", "hazard", isa="wgmma.commit_group", gpu="h100")
def a_wgmma_in_no_group(wrong: bool) -> PrimFunc:
    return hopper(commit=not wrong)


@pair("TX202", "hazard", isa="wgmma: async proxy", gpu="h100")
def operands_written_without_the_proxy_fence(wrong: bool) -> PrimFunc:
    return hopper(proxy=not wrong)


PAIRS = pairs_of(globals())


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
@pytest.mark.parametrize("kernel", PAIRS, ids=[p.name for p in PAIRS])
def test_the_verdict_is_the_isas(kernel: Pair, wrong: bool) -> None:
    assert not (said := kernel.disagreement(wrong)), said
