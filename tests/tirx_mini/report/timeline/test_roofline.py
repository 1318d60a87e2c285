"""The roofline's bounds are the GPU's, and the run's points are its FLOP by its bytes."""

from __future__ import annotations

import pytest

from tests.tirx_mini.timings import timing
from tirx_mini.diagnose import Report
from tirx_mini.hardware import GPUS
from tirx_mini.report.timeline.roofline import roofline

B200 = GPUS["b200"]


def report(tflops: float | None = 500.0, **stats: float) -> Report:
    time = None if tflops is None else timing(1.0, tflops)
    return Report("ok", timing=time, stats=stats, gpu="B200")


def test_the_bounds_are_the_gpus() -> None:
    roofs = roofline(report(flops=1e12, l2_bytes=1e9, hbm_bytes=1e9), B200)
    assert roofs is not None
    assert roofs.peak.value == B200.peak_tflops
    l2, hbm = roofs.memories
    assert hbm.value == B200.hbm_tbps
    assert l2.value == pytest.approx(148 * B200.l2_bytes_per_cycle * B200.clock_ghz / 1e3)


def test_a_kernel_with_few_flop_for_a_byte_is_bound_by_that_memory() -> None:
    roofs = roofline(report(flops=1e12, l2_bytes=1e12 / 1000, hbm_bytes=1e12 / 100), B200)
    assert roofs is not None
    assert [point.intensity for point in roofs.points] == [1000, 100]
    assert roofs.bound(0) == B200.peak_tflops
    assert roofs.bound(1) == pytest.approx(100 * B200.hbm_tbps)
    said = roofs.sentences
    assert "above" in said[1] and "the peak bounds it" in said[1]
    assert "below" in said[2] and "the HBM bounds it to 720 TFLOPS" in said[2]


def test_a_run_that_reads_nothing_from_hbm_has_no_point_there() -> None:
    roofs = roofline(report(flops=1e12, l2_bytes=1e9, hbm_bytes=0.0), B200)
    assert roofs is not None and [point.name for point in roofs.points] == ["L2"]


@pytest.mark.parametrize("run", [report(None, flops=1e12, l2_bytes=1e9), report(flops=0.0, l2_bytes=1e9), report()])
def test_a_run_without_time_or_mma_has_no_roofline(run: Report) -> None:
    assert roofline(run, B200) is None
