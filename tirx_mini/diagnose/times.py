"""Conversion of cycles to microseconds, for one of many consecutive launches and for a single launch.

In a row, launches follow each other, and the L2 still holds the arguments if they fit. One by itself finds other data
in the L2, and pays for its launch alone. The clock of both follows from their power, by one law: even a launch of 25 µs
runs at the clock that its own power leaves it (docs/h100_counters.csv).
"""

from __future__ import annotations

from collections.abc import Mapping

from tirx_mini.hardware import GpuSpec
from tirx_mini.ir import Buffer, PrimFunc
from tirx_mini.records import dataclass, replace
from tirx_mini.sim import Outcome

ROUNDS = 8
"""The steps of the fixed-point iteration for the clock."""


@dataclass(frozen=True)
class LaunchTime:
    """The time of one launch.

    launch_us: its latency, until the first CTA starts. cycles: from there to the last write. clock_ghz: their clock.
    fastest_ghz: the highest clock that they may have, of a GPU whose clock is known only under full load; else None.
    """

    launch_us: float
    cycles: float
    clock_ghz: float
    fastest_ghz: float | None = None

    @property
    def us(self) -> float:
        """Microseconds of the whole launch."""
        return self.launch_us + self.kernel_us(self.cycles)

    def kernel_us(self, cycles: float) -> float:
        """Convert cycles to microseconds."""
        return cycles / (self.clock_ghz * 1e3)

    @property
    def least_us(self) -> float | None:
        """The microseconds at the highest possible clock; None where the clock is known."""
        return None if self.fastest_ghz is None else replace(self, clock_ghz=self.fastest_ghz, fastest_ghz=None).us

    @property
    def text(self) -> str:
        """The time in words: a range where the clock is not known."""
        return us_text(self.us) if self.least_us is None else f"{self.least_us:.1f} to {us_text(self.us)}"

    @property
    def clock(self) -> str:
        """The clock in words: a range where it is not known."""
        return f"{self.clock_ghz:.2f}" + ("" if self.fastest_ghz is None else f" to {self.fastest_ghz:.2f}") + " GHz"

    @property
    def parts(self) -> str:
        """The terms of the time in words."""
        return f"{us_text(self.launch_us)} of launch and {self.cycles:,.0f} cycles at {self.clock}"


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

    @property
    def rate(self) -> str:
        """The rate in words: a range where the clock is not known; "" for a kernel without MMAs."""
        if self.tflops is None:
            return ""
        if self.row.least_us is None:
            return rate_text(self.tflops)
        return f"{rate_figure(self.tflops)} to {rate_text(self.flops / self.row.least_us / 1e6)}"

    def sentence(self, gpu: str) -> str:
        """Both times and the rate, for the headline of a report."""
        said = f"{self.row.text} predicted on {gpu} in a row of launches"
        said += f" ({self.single.text} by itself)" if self.single is not None else ""
        return said + (f", {self.rate}" if self.rate else "")

    @property
    def parts(self) -> str:
        """The terms of both times, and the reason where a launch by itself is the shorter one."""
        if self.single is None:
            unknown = "" if self.row.fastest_ghz is None else "; its clock is known only under full load"
            return f"the time is {self.row.parts}{unknown}"
        slower = self.row.us > self.single.us
        reason = f"; a row is slower for {_reasons(self.row, self.single)}" if slower else ""
        return f"in a row {self.row.parts}; by itself {self.single.parts}{reason}"

    @property
    def figures(self) -> tuple[tuple[str, str], ...]:
        """(name, value) of the times, for the head of a page."""
        found = [("in a row of launches", self.row.text)]
        if self.rate:
            found.append(("at", self.rate))
        if self.single is not None:
            found.append(("by itself", self.single.text))
        found.append(("launch", us_text(self.row.launch_us)))
        return (*found, ("then cycles", f"{self.row.cycles:,.0f} at {self.row.clock}"))


def us_text(us: float) -> str:
    """Format a predicted time, the same in every output."""
    return f"{us:.1f} µs"


def rate_text(tflops: float) -> str:
    """Format a predicted rate, the same in every output."""
    return f"{rate_figure(tflops)} TFLOPS"


def rate_figure(tflops: float) -> str:
    """Format a rate without its unit, for the column of a table; rates below 10 have decimals."""
    return f"{tflops:.0f}" if tflops >= 10 else f"{tflops:.{1 if tflops >= 1 else 2}f}"


def _reasons(slow: LaunchTime, fast: LaunchTime) -> str:
    """Name the terms in which one time exceeds the other."""
    terms = (
        ("its longer latency of a launch", slow.launch_us > fast.launch_us),
        ("its lower clock", slow.clock_ghz < fast.clock_ghz),
        ("its cycles", slow.cycles > fast.cycles),
    )
    return " and ".join(name for name, worse in terms if worse)


def predicted_time(func: PrimFunc, spec: GpuSpec, outcome: Outcome) -> LaunchTime:
    """Return the time of one of many launches in a row."""
    launch, launch_us = func.launch, spec.launch_latency_us
    assert launch is not None
    if launch.cluster_size > 1:
        launch_us += spec.cluster_launch_latency_us
    if launch.programmatic:
        launch_us -= spec.hidden_latency_us
    return _launch_time(func, spec, launch_us, outcome.cycles, outcome.stats, launch_us * spec.clock_ghz * 1e3)


def single_launch_time(func: PrimFunc, spec: GpuSpec, cycles: float, stats: Mapping[str, float]) -> LaunchTime:
    """Return the time of a single launch of `cycles` cycles on an idle GPU. stats: of that run."""
    assert func.launch is not None
    launch_us = spec.single_launch_latency_us
    if func.launch.cluster_size > 1:
        launch_us += spec.single_cluster_latency_us
    return _launch_time(func, spec, launch_us, cycles, stats, 0.0)


def _launch_time(
    func: PrimFunc, spec: GpuSpec, launch_us: float, cycles: float, stats: Mapping[str, float], pause: float
) -> LaunchTime:
    """Return the time at the clock that the power limit allows. pause: idle cycles before each launch.

    The traffic of HBM draws power by the second, and it takes fewer seconds at a higher clock.
    """
    whole = max(cycles + pause, 1.0)
    busy = stats.get("tensor_cycles", 0.0) / spec.sms / whole
    moved, ghz = _hbm_bytes(func, spec, stats), spec.clock_ghz
    for _ in range(ROUNDS):
        ghz = spec.clock_under(busy, moved * ghz / whole / 1e3)
    return LaunchTime(launch_us, cycles, ghz, None if spec.spare_ghz is None else spec.fastest_clock(busy))


def _hbm_bytes(func: PrimFunc, spec: GpuSpec, stats: Mapping[str, float]) -> float:
    """Return the bytes of HBM traffic. A sampled run has none: each argument moves once, if the L2 cannot hold all."""
    found = stats.get("hbm_bytes")
    if found is not None or not spec.hbm_utilisation:
        return found or 0.0
    nbytes = sum(param.nbytes for param in func.params if isinstance(param, Buffer))
    return nbytes if nbytes > spec.l2_shared_bytes else 0.0
