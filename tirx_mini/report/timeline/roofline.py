"""The roofline of a run: the tensor cores' peak, and the bandwidths of the memories."""

from __future__ import annotations

from tirx_mini.diagnose import Report, rate_figure, rate_text
from tirx_mini.hardware import GpuSpec
from tirx_mini.records import dataclass


@dataclass(frozen=True)
class Roof:
    """A performance limit of the GPU. source: its derivation from the GPU's figures. unit: "TFLOPS", or "TB/s" of a
    memory."""

    name: str
    value: float
    unit: str
    source: str


@dataclass(frozen=True)
class Point:
    """The position of a run on the roofline of one memory. intensity: FLOP per byte; tflops: achieved."""

    name: str
    intensity: float
    tflops: float


@dataclass(frozen=True)
class Roofline:
    """The roofline of a run. flops: of the run. memories and points correspond."""

    flops: float
    peak: Roof
    memories: tuple[Roof, ...]
    points: tuple[Point, ...]

    def bound(self, number: int) -> float:
        """Return the TFLOPS that the peak and one memory allow at that memory's point."""
        return min(self.peak.value, self.points[number].intensity * self.memories[number].value)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The figures in sentences."""
        peak, reached = self.peak.value, self.points[0].tflops
        share = f"{100 * reached / peak:.0f} % of the peak"
        out = [f"The kernel reaches {rate_figure(reached)} of {rate_text(peak)}, {share}."]
        for number, point in enumerate(self.points):
            bound, memory = self.bound(number), self.memories[number]
            ridge = peak / memory.value
            side = "above" if point.intensity >= ridge else "below"
            what = "the peak bounds it" if side == "above" else f"the {memory.name} bounds it to {rate_text(bound)}"
            where = f"{point.intensity:.0f} FLOP/byte, {side} the ridge at {ridge:.0f}"
            out.append(f"By the traffic of the {memory.name} it has {where}: {what}.")
        return tuple(out)


def roofline(report: Report, spec: GpuSpec) -> Roofline | None:
    """Return the roofline of a run; None if it did not complete or executed no MMA."""
    flops, l2_bytes = report.stats.get("flops"), report.stats.get("l2_bytes")
    if report.tflops is None or not flops or not l2_bytes:
        return None
    l2 = spec.l2_bytes_per_cycle * spec.sms * spec.clock_ghz / 1e3
    peak = Roof(
        "tensor cores", spec.peak_tflops, "TFLOPS",
        f"{spec.sms} SMs × {spec.tensor_flops_per_cycle} FLOP a cycle × {spec.rated_ghz} GHz",
    )  # fmt: skip
    memories = [
        Roof("L2", l2, "TB/s", f"{spec.sms} SMs × {spec.l2_bytes_per_cycle:g} bytes a cycle × {spec.clock_ghz} GHz"),
        Roof("HBM", spec.hbm_tbps, "TB/s", "as measured on the GPU"),
    ]
    points = [Point("L2", flops / l2_bytes, report.tflops)]
    if hbm_bytes := report.stats.get("hbm_bytes"):
        points.append(Point("HBM", flops / hbm_bytes, report.tflops))
    return Roofline(flops, peak, tuple(memories), tuple(points))
