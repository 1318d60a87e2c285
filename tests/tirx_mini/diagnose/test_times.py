"""The two times of a kernel: of one of many launches in a row, and of a launch by itself."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.course import default_kernels, load_kernels
from tirx_mini.diagnose import single_launch_time
from tirx_mini.hardware import B200, B300, H100, GpuSpec
from tirx_mini.passes import lower
from tirx_mini.script import tirx as T

FEW = replace(B200, sms=4)
COUNTED = list(csv.DictReader((Path(__file__).parents[3] / "docs" / "h100_counters.csv").open(encoding="utf-8")))
"""Counters of single cold launches."""


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


def test_the_power_limit_lowers_the_clock_of_both_launches_by_one_law() -> None:
    limited = replace(H100, sms=4, sustained_utilisation=0.1, l2_bytes=1 << 20)
    out = report(8, limited, k=4096)
    assert out.timing is not None and out.timing.single is not None
    row, single = out.timing.row, out.timing.single
    assert row.cycles == single.cycles and single.clock_ghz < limited.clock_ghz
    assert single.clock_ghz == pytest.approx(row.clock_ghz, rel=0.01), "the pause between launches is short"


@pytest.mark.parametrize("row", COUNTED, ids=lambda row: f"{row['m']}x{row['n']}x{row['k']} {row['kernel']}")
def test_the_clock_of_an_h100_follows_from_its_counters(row: dict[str, str]) -> None:
    tbps = float(row["HBM GB"]) / float(row["us"]) * 1e3
    assert H100.clock_under(float(row["tensor %"]) / 100, tbps) == pytest.approx(float(row["GHz"]), rel=0.03)


def test_the_clock_of_a_launch_solves_the_law_for_its_own_traffic() -> None:
    """HBM moves so many bytes a second as follow from the clock that they leave."""
    kernel = lower(load_kernels(default_kernels(), "sm90")[8](512, 512, 1024))
    cycles, stats = 1e5, {"tensor_cycles": 0.4 * 1e5 * H100.sms, "hbm_bytes": 150e6}
    time = single_launch_time(kernel, H100, cycles, stats)
    tbps = stats["hbm_bytes"] / time.kernel_us(cycles) / 1e6
    assert H100.clock_under(0.4, tbps) == pytest.approx(time.clock_ghz, rel=1e-3) and time.clock_ghz < H100.clock_ghz


def test_a_launch_from_samples_moves_each_argument_once() -> None:
    small, large = (lower(load_kernels(default_kernels(), "sm90")[8](n, n, n)) for n in (1024, 8192))
    stats = {"tensor_cycles": 0.8 * 1e6 * H100.sms}
    clocks = [single_launch_time(kernel, H100, 1e6, stats).clock_ghz for kernel in (small, large)]
    assert clocks[0] == pytest.approx(H100.clock_under(0.8)) and clocks[1] < clocks[0]


def test_a_clock_that_is_not_known_makes_a_range() -> None:
    kernel = load_kernels(default_kernels(), "sm100")[7](512, 512, 512)
    out = tvm.simulate(kernel, gpu=replace(B300, sms=4), data=False)
    assert out.timing is not None and out.timing.row.least_us is not None
    least, rate = out.timing.row.least_us, out.timing.rate
    assert out.timing.row.launch_us < least < out.timing.row.us
    assert f"{least:.1f} to {out.timing.row.us:.1f} µs predicted on B300" in str(out) and f", {rate}" in str(out)
    assert "1.09 to 1.97 GHz; its clock is known only under full load" in str(out)


def test_at_full_load_the_range_is_the_known_clock() -> None:
    assert B300.fastest_clock(1.0) == pytest.approx(B300.clock_ghz)
    assert B300.fastest_clock(0.0) == B200.clock_ghz and B200.fastest_clock(0.9) == B200.clock_under(0.9)


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
