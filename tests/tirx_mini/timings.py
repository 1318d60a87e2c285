"""Predicted times for reports that are made by hand."""

from __future__ import annotations

from tirx_mini.diagnose import LaunchTime, Timing


def timing(us: float, tflops: float = 0.0, single_us: float | None = None, cycles: float = 1000.0) -> Timing:
    """The time of a launch in a row and by itself, at 2 GHz; the rest of it is the launch."""
    kernel_us = cycles / 2e3
    single = None if single_us is None else LaunchTime(single_us - kernel_us, cycles, 2.0)
    return Timing(LaunchTime(us - kernel_us, cycles, 2.0), tflops * us * 1e6, single)
