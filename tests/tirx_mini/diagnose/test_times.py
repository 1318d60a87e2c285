"""The two times of a kernel: of one of many launches in a row, and of a launch by itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.course import default_kernels, load_kernels
from tirx_mini.hardware import B200, H100, GpuSpec
from tirx_mini.script import tirx as T

FEW = replace(B200, sms=4)


def report(step: int, spec: GpuSpec, k: int = 1024) -> tvm.Report:
    kernel = load_kernels(default_kernels(), spec.architecture.kernels, sms=spec.sms)[step](512, 512, k)
    out = tvm.simulate(kernel, gpu=spec, data=False, single=True)
    assert out.single_us is not None and out.time_us is not None and out.cycles is not None
    return out


def by_itself(spec: GpuSpec, out: tvm.Report) -> float:
    """Microseconds of a launch by itself that takes as many cycles as in a row."""
    assert out.cycles is not None
    return spec.single_launch_latency_us + out.cycles / (spec.clock_ghz * 1e3)


def test_a_launch_by_itself_loads_from_hbm_and_waits_longer_the_fewer_stages_it_has() -> None:
    two, four = report(7, FEW), report(8, FEW)
    extra_two, extra_four = ((out.single_us or 0.0) - by_itself(FEW, out) for out in (two, four))
    assert extra_two > extra_four > 0


def test_a_launch_whose_arguments_do_not_fit_in_the_l2_loads_from_hbm_in_a_row_too() -> None:
    small = replace(FEW, l2_bytes=1 << 20)
    out = report(7, small)
    assert out.single_us == pytest.approx(by_itself(small, out))


def test_a_launch_by_itself_is_too_short_for_the_power_limit() -> None:
    limited = replace(H100, sms=4, sustained_utilisation=0.1, l2_bytes=1 << 20)
    out = report(8, limited, k=4096)
    assert out.stats["clock_ghz"] < limited.clock_ghz
    assert out.single_us is not None and out.time_us is not None and out.single_us < out.time_us


def test_it_is_said_with_the_time_in_a_row_and_only_where_it_was_asked_for() -> None:
    out = report(7, FEW)
    assert out.timing is not None and out.timing.single is not None
    assert f"{out.time_us:.1f} µs predicted on B200 in a row of launches ({out.single_us:.1f} µs by itself)" in str(out)
    assert f"in a row {out.timing.row.parts}; by itself {out.timing.single.parts}" in str(out)
    assert "by itself" not in str(replace(out, timing=replace(out.timing, single=None)))


def test_the_results_of_a_kernel_stay_where_its_time_is_simulated_again() -> None:
    @T.prim_func
    def double(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
        T.device_entry()
        tx = T.thread_id([128])
        B[tx] = A[tx] * 2.0

    a, b = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    out = tvm.simulate(double, a, b, single=True)
    assert out.ok and (b == 2 * a).all()
    assert out.single_us is not None and tvm.simulate(double, a, b).single_us is None
