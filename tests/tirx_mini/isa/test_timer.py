"""The time that a kernel reads: as the work before and after it takes, in the simulator and in the machine code."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.hardware import gpu_spec
from tirx_mini.ir import PrimFunc
from tirx_mini.passes import lower
from tirx_mini.runtime import build
from tirx_mini.script import tirx as T


def timed(work: str) -> PrimFunc:
    """times = when each CTA began some work, and when it had done it."""

    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32"), times: T.Buffer((2, 2), "int64"), n: T.int32):
        T.device_entry()
        cta = T.cta_id([2])
        tx = T.thread_id([32])
        began = T.ptx.globaltimer()
        x: T.float32
        x = 0.0
        if work == "statements":
            x = x * 0.5 + 1.0
            x = x * 0.5 + 1.0
        if work == "a loop":
            for _i in T.serial(n):
                x = x * 0.5 + 1.0
        if work == "the timer itself":
            while T.ptx.globaltimer() - began < 2000:
                x = x * 0.5 + 1.0
        if work != "nothing":
            A[cta * 32 + tx] = x
            T.cuda.cta_sync()
        if tx == 0:
            times[0, cta] = T.Cast("int64", began)
            times[1, cta] = T.Cast("int64", T.ptx.globaltimer())

    return kernel


def took(work: str, gpu: str = "h100") -> tuple[int, float]:
    """(ns by the kernel's own clock, ns of the whole launch less what comes before the kernel)."""
    times = np.zeros((2, 2), np.int64)
    report = tvm.simulate(timed(work), np.zeros(64, np.float32), times, 100, gpu=gpu)
    empty = tvm.simulate(timed("nothing"), np.zeros(64, np.float32), np.zeros((2, 2), np.int64), 0, gpu=gpu)
    assert report.verdict == "ok" and not report.findings
    assert report.time_us is not None and empty.time_us is not None
    (ns,) = set((times[1] - times[0]).tolist())
    return ns, 1000 * (report.time_us - empty.time_us)


@pytest.mark.parametrize("work", ["statements", "a loop", "the timer itself"])
def test_it_goes_on_as_the_predicted_time_does(work: str) -> None:
    ns, predicted = took(work)
    assert ns > 0 and abs(ns - predicted) <= 20
    assert (work == "the timer itself") == (2000 <= ns < 2100)


def test_it_is_in_nanoseconds() -> None:
    cycles = [took("a loop", gpu)[0] * gpu_spec(gpu).clock_ghz for gpu in ("h100", "b200")]
    assert cycles[0] == pytest.approx(cycles[1], rel=0.01)


@pytest.mark.compiler
@pytest.mark.parametrize("arch", ["sm_90a", "sm_100a"])
def test_the_compiler_leaves_the_work_where_it_is(arch: str) -> None:
    sass = build(lower(timed("a loop")), arch).source("sass")
    order = re.findall(r"\b(SR_GLOBALTIMERLO|FFMA|BAR)\b", sass)
    assert order[0] == order[-1] == "SR_GLOBALTIMERLO" and order.count("SR_GLOBALTIMERLO") == 2
    assert order[1] == "FFMA" and order[-2] == "BAR"
