"""A run without data takes the same time as one with data, touches no argument, and says what it does not know."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.arguments import ArgumentError
from tirx_mini.course import STEPS, default_kernels, load_kernels
from tirx_mini.hardware import gpu_spec
from tirx_mini.layout import S, TCol, TileLayout, TLane
from tirx_mini.script import from_source
from tirx_mini.script import tirx as T

COLUMNS = TileLayout(S[(128, 32) : (1 @ TLane, 1 @ TCol)])

FOLDERS = {"b200": "sm100", "h100": "sm90"}


def arguments(shape: tuple[int, int, int]) -> list[np.ndarray]:
    m, n, k = shape
    return [np.ones((m, k), np.float16), np.ones((n, k), np.float16), np.zeros((m, n), np.float16)]


def written(body: str, *, threads: int = 32, declared: str = "") -> Any:
    head = f"""
    @T.prim_func
    def kernel(A: T.Buffer((256,), "float32"), I: T.Buffer((256,), "int32"), B: T.Buffer((256,), "float32")):
        T.device_entry()
        bx = T.cta_id([1])
        tx = T.thread_id([{threads}])
    """
    return from_source(textwrap.dedent(head) + textwrap.indent(declared + body, "    "))


def both(kernel: Any, *args: Any, **options: Any) -> tuple[tvm.Report, tvm.Report]:
    """The reports of a run without data and of one with."""
    return tvm.simulate(kernel, data=False, **options), tvm.simulate(kernel, *args, checks=False, **options)


@pytest.mark.parametrize("gpu", FOLDERS)
@pytest.mark.parametrize("step", STEPS)
def test_every_reference_takes_the_same_time_and_has_the_same_figures(step: int, gpu: str) -> None:
    shape = STEPS[step].oblong or STEPS[step].shape(256)
    kernel = load_kernels(default_kernels(), FOLDERS[gpu])[step](*shape)
    clock, full = both(kernel, *arguments(shape), gpu=gpu)
    assert (clock.verdict, full.verdict) == ("clock", "ok")
    assert clock.cycles == full.cycles and clock.stats == full.stats and clock.time_us == full.time_us


@pytest.mark.parametrize("step", [3, 7])
def test_the_time_is_the_same_where_the_arguments_do_not_fit_the_l2(step: int) -> None:
    spec = replace(gpu_spec("b200"), l2_bytes=100_000)
    kernel = load_kernels(default_kernels(), "sm100")[step](512, 512, 512)
    clock, full = both(kernel, *arguments((512, 512, 512)), gpu=spec)
    assert clock.stats["hbm_bytes"] and clock.cycles == full.cycles and clock.stats == full.stats


MOVES = {
    "registers": "x = A[tx] * 2.0\nB[tx] = x + 1.0",
    "shared memory": "S[tx] = A[tx]\nT.cuda.cta_sync()\nB[tx] = S[255 - tx]",
    "vectors": "for i in range(2):\n    B[tx + i * 128] = A[(tx + i * 128) // 2 * 2]",
    "scattered": "B[tx * 37 % 256] = A[tx * 91 % 256]",
    "some lanes": "if tx % 3 == 0:\n    B[tx] = A[tx + 5]",
    "a choice of values": "x = A[tx]\nB[tx] = T.Select(x > 0.0, x, 0.0)",
    "a shuffle": "x = T.tvm_warp_shuffle_xor(0xFFFFFFFF, A[tx], 3, 32, 32)\nB[tx] = x",
    "a loop whose length is computed": "n = tx // 32 + 3\nfor i in range(n):\n    B[tx] = A[i]",
    "an index through shared memory": "U[tx] = 255 - tx\nT.cuda.cta_sync()\nB[U[tx]] = A[tx]",
}


@pytest.mark.parametrize("name", MOVES)
def test_moved_values_take_the_same_time(name: str) -> None:
    shared = 'S = T.alloc_shared((256,), "float32")\nU = T.alloc_shared((256,), "int32")\n'
    kernel = written(MOVES[name], threads=128, declared=shared)
    arrays = np.ones(256, np.float32), np.zeros(256, np.int32), np.zeros(256, np.float32)
    clock, full = both(kernel, *arrays)
    assert clock.verdict == "clock", str(clock)
    assert clock.cycles == full.cycles and clock.stats == full.stats


DEPENDS = {
    "a branch": "if A[0] > 0.0:\n    B[tx] = 1.0",
    "a length": "for i in range(I[0]):\n    B[tx] = 1.0",
    "an index": "B[I[tx]] = 1.0",
    "a branch, through shared memory and registers": (
        "S[tx] = A[tx]\nT.cuda.cta_sync()\nx = S[0] + 1.0\nif x > 0.0:\n    B[tx] = 1.0"
    ),
}


@pytest.mark.parametrize("name", DEPENDS)
def test_a_kernel_whose_course_depends_on_data_is_refused(name: str) -> None:
    kernel = written(DEPENDS[name], declared='S = T.alloc_shared((256,), "float32")\n')
    report = tvm.simulate(kernel, data=False)
    (finding,) = report.findings
    assert (report.verdict, finding.code, report.time_us) == ("incomplete", "TX601", None)
    assert f"depends on data in {'I' if 'I[' in DEPENDS[name] else 'A'}" in finding.message
    assert finding.span is not None and "data=False" in finding.details["hint"]


def test_arguments_are_not_touched_and_may_be_missing() -> None:
    kernel = written("B[tx] = A[tx]")
    a, i, b = np.ones(256, np.float32), np.zeros(256, np.int32), np.zeros(256, np.float32)
    b.flags.writeable = False
    times = {tvm.simulate(kernel, *args, data=False).time_us for args in ((a, i, b), (None, i, None), ())}
    assert len(times) == 1 and not b.any()
    with pytest.raises(ArgumentError, match="dtype"):
        tvm.simulate(kernel, i, i, b, data=False)
    with pytest.raises(ArgumentError, match="takes 3 arguments"):
        tvm.simulate(kernel, a, data=False)


def test_a_run_without_data_is_not_ok_and_says_so() -> None:
    report = tvm.simulate(written("B[tx] = A[tx]"), data=False)
    assert report.verdict == "clock" and not report.ok and not report.comparable and report.proof is None
    assert "values were not computed" in str(report)


def test_faults_are_found() -> None:
    report = tvm.simulate(written("B[tx + 250] = A[tx]"), data=False)
    assert (report.verdict, report.findings[0].kind) == ("fault", "out-of-bounds")


def test_deadlocks_are_found() -> None:
    body = "bar = T.alloc_shared((1,), \"uint64\")\nif tx == 0:\n    T.ptx.mbarrier.init(bar.ptr_to([0]), 1)\n"
    kernel = written(body + "T.cuda.cta_sync()\nT.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)\nB[tx] = A[tx]")
    assert tvm.simulate(kernel, data=False).verdict == "deadlock"


@pytest.mark.parametrize(("freeing", "sync"), [(2, True), (1, False), (2, False)])
def test_what_only_some_orders_forbid_in_tensor_memory_is_no_fault_without_data(
    freeing: int, sync: bool
) -> None:
    @T.prim_func
    def kernel(D: T.Buffer((128, 8), "float32")):
        T.device_entry()
        T.cta_id([1])
        T.warpgroup_id([1])
        warp = T.warp_id([4])
        pool = T.SMEMPool()
        slot = pool.alloc((1,), "uint32")
        pool.commit()
        if warp == 0:
            T.ptx.tcgen05.alloc(slot.ptr_to([0]), n_cols=32, cta_group=1)
        T.cuda.cta_sync()
        held = T.decl_buffer((128, 32), "float32", scope="tmem", allocated_addr=0, layout=COLUMNS)
        values = T.wg_reg_tile(8, "float32")
        T.wg.copy(values[:, :], held[:, 0:8])
        T.wg.copy(D[:, :], values[:, :])
        if sync:
            T.cuda.cta_sync()
        if warp < freeing:
            T.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
            T.ptx.tcgen05.dealloc(slot[0], n_cols=32, cta_group=1)

    report = tvm.simulate(kernel, data=False)
    assert report.verdict == "clock", report
    assert all(finding.severity == "warning" for finding in report.findings)
