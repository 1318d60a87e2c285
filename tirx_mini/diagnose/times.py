"""From cycles to microseconds: one of many launches in a row, and one launch by itself.

In a row, launches follow each other, the L2 still holds the arguments if they fit, and the power limit may lower the
clock. One by itself finds other data in the L2 and a clock that has had no time to fall, and pays for its launch alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

from tirx_mini.hardware import GpuSpec
from tirx_mini.ir import PrimFunc, TirxError
from tirx_mini.sim import Outcome, Simulation, Watch


def predicted_time(func: PrimFunc, spec: GpuSpec, outcome: Outcome) -> tuple[float, float]:
    """(microseconds, GHz) of one of many launches in a row, at the clock that the GPU's power limit leaves it."""
    launch, launch_us = func.launch, spec.launch_latency_us
    assert launch is not None
    if launch.cluster_size > 1:
        launch_us += spec.cluster_launch_latency_us
    if launch.programmatic:
        launch_us -= spec.hidden_latency_us
    busy = outcome.stats.get("tensor_cycles", 0.0) / spec.sms
    clock_ghz = spec.clock_under(busy / (outcome.cycles + launch_us * spec.clock_ghz * 1e3))
    return launch_us + outcome.cycles / (clock_ghz * 1e3), clock_ghz


def single_time(
    func: PrimFunc, args: Sequence[Any], spec: GpuSpec, budget: int, cycles: float, watch: Watch | None = None
) -> float | None:
    """Microseconds of a launch by itself, on a GPU that is idle and whose L2 holds none of the arguments.

    cycles: of a launch in a row; they are the same where the arguments do not fit in the L2. Otherwise the kernel runs
    once more, without data. watch: as in `Simulation`. None where its control flow depends on data, or the run has no
    end.
    """
    try:
        simulation = Simulation(func, args, spec, data=False, watch=watch)
    except TirxError:
        return None
    if simulation.fits_l2:
        with closing(simulation):
            outcome = simulation.run(checks=False, budget=budget, cold=True)
        if outcome.blocked or outcome.fault is not None:
            return None
        cycles = outcome.cycles
    assert func.launch is not None
    launch_us = spec.single_launch_latency_us
    if func.launch.cluster_size > 1:
        launch_us += spec.single_cluster_latency_us
    return launch_us + cycles / (spec.clock_ghz * 1e3)
