"""Conversion of cycles to microseconds, for one of many consecutive launches and for a single launch.

Consecutive launches follow one another directly, the L2 still holds the arguments if they fit, and the power limit may
lower the clock. A single launch finds a cold L2 and a full clock, and pays its own launch latency.
"""

from __future__ import annotations

from dataclasses import dataclass

from tirx_mini.hardware import GpuSpec
from tirx_mini.ir import PrimFunc
from tirx_mini.sim import Outcome


@dataclass(frozen=True)
class LaunchTime:
    """The time of one launch.

    launch_us: its latency, until the first CTA starts. cycles: from there to the last write. clock_ghz: their clock.
    """

    launch_us: float
    cycles: float
    clock_ghz: float

    @property
    def us(self) -> float:
        """Microseconds of the whole launch."""
        return self.launch_us + self.kernel_us(self.cycles)

    def kernel_us(self, cycles: float) -> float:
        """Microseconds of so many cycles."""
        return cycles / (self.clock_ghz * 1e3)

    @property
    def parts(self) -> str:
        """Its terms in words, which add up to `us`."""
        return f"{us_text(self.launch_us)} of launch and {self.cycles:,.0f} cycles at {self.clock_ghz:.2f} GHz"


@dataclass(frozen=True)
class Timing:
    """The predicted times of a kernel, from which all outputs take their figures and their words.

    row: of one of many launches in a row. single: of one launch by itself; None where it was not asked for.
    flops: of its MMAs.
    """

    row: LaunchTime
    flops: float = 0.0
    single: LaunchTime | None = None

    @property
    def tflops(self) -> float | None:
        """TFLOPS in a row of launches; None for a kernel without MMAs."""
        return self.flops / self.row.us / 1e6 if self.flops else None

    def sentence(self, gpu: str) -> str:
        """Both times and the rate, for the headline of a report."""
        said = f"{us_text(self.row.us)} predicted on {gpu} in a row of launches"
        said += f" ({us_text(self.single.us)} by itself)" if self.single is not None else ""
        return said + (f", {rate_text(self.tflops)}" if self.tflops is not None else "")

    @property
    def parts(self) -> str:
        """The terms of both times, and the reason where a launch by itself is the shorter one."""
        if self.single is None:
            return f"the time is {self.row.parts}"
        slower = self.row.us > self.single.us
        reason = f"; a row is slower for {_reasons(self.row, self.single)}" if slower else ""
        return f"in a row {self.row.parts}; by itself {self.single.parts}{reason}"

    @property
    def figures(self) -> tuple[tuple[str, str], ...]:
        """(name, value) of the times, for the head of a page."""
        found = [("in a row of launches", us_text(self.row.us))]
        if self.tflops is not None:
            found.append(("at", rate_text(self.tflops)))
        if self.single is not None:
            found.append(("by itself", us_text(self.single.us)))
        found.append(("launch", us_text(self.row.launch_us)))
        return (*found, ("then cycles", f"{self.row.cycles:,.0f} at {self.row.clock_ghz:.2f} GHz"))


def us_text(us: float) -> str:
    """A predicted time for a reader, the same in every output."""
    return f"{us:.1f} µs"


def rate_text(tflops: float) -> str:
    """A predicted rate for a reader, the same in every output."""
    return f"{rate_figure(tflops)} TFLOPS"


def rate_figure(tflops: float) -> str:
    """The same without its unit, for the column of a table: three digits of what is below 10, else whole numbers."""
    return f"{tflops:.0f}" if tflops >= 10 else f"{tflops:.{1 if tflops >= 1 else 2}f}"


def _reasons(slow: LaunchTime, fast: LaunchTime) -> str:
    """The terms in which one time is worse than the other."""
    terms = (
        ("its longer latency of a launch", slow.launch_us > fast.launch_us),
        ("its lower clock", slow.clock_ghz < fast.clock_ghz),
        ("its cycles", slow.cycles > fast.cycles),
    )
    return " and ".join(name for name, worse in terms if worse)


def predicted_time(func: PrimFunc, spec: GpuSpec, outcome: Outcome) -> LaunchTime:
    """Return the time of one of many launches in a row, at the clock that the GPU's power limit leaves it."""
    launch, launch_us = func.launch, spec.launch_latency_us
    assert launch is not None
    if launch.cluster_size > 1:
        launch_us += spec.cluster_launch_latency_us
    if launch.programmatic:
        launch_us -= spec.hidden_latency_us
    busy = outcome.stats.get("tensor_cycles", 0.0) / spec.sms
    clock_ghz = spec.clock_under(busy / (outcome.cycles + launch_us * spec.clock_ghz * 1e3))
    return LaunchTime(launch_us, outcome.cycles, clock_ghz)


def single_launch_time(func: PrimFunc, spec: GpuSpec, cycles: float) -> LaunchTime:
    """Return the time of a launch by itself that takes so many cycles, on an idle GPU."""
    assert func.launch is not None
    launch_us = spec.single_launch_latency_us
    if func.launch.cluster_size > 1:
        launch_us += spec.single_cluster_latency_us
    return LaunchTime(launch_us, cycles, spec.clock_ghz)
