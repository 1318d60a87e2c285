"""Conversion of cycles to microseconds, for one of many consecutive launches and for a single launch.

Consecutive launches follow one another directly, the L2 still holds the arguments if they fit, and the power limit may
lower the clock. A single launch finds a cold L2 and a full clock, and pays its own launch latency.
"""

from __future__ import annotations

from tirx_mini.hardware import GpuSpec
from tirx_mini.ir import PrimFunc
from tirx_mini.sim import Outcome


def predicted_time(func: PrimFunc, spec: GpuSpec, outcome: Outcome) -> tuple[float, float]:
    """Return (microseconds, GHz) of one of many consecutive launches, at the clock that the power limit allows."""
    launch, launch_us = func.launch, spec.launch_latency_us
    assert launch is not None
    if launch.cluster_size > 1:
        launch_us += spec.cluster_launch_latency_us
    if launch.programmatic:
        launch_us -= spec.hidden_latency_us
    busy = outcome.stats.get("tensor_cycles", 0.0) / spec.sms
    clock_ghz = spec.clock_under(busy / (outcome.cycles + launch_us * spec.clock_ghz * 1e3))
    return launch_us + outcome.cycles / (clock_ghz * 1e3), clock_ghz


def single_launch_time(func: PrimFunc, spec: GpuSpec, cycles: float) -> float:
    """Return the microseconds of a single launch of `cycles` cycles on an idle GPU."""
    assert func.launch is not None
    launch_us = spec.single_launch_latency_us
    if func.launch.cluster_size > 1:
        launch_us += spec.single_cluster_latency_us
    return launch_us + cycles / (spec.clock_ghz * 1e3)
