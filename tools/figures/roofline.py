"""The roofline of the modelled B200 with the ten steps: by the traffic of the L2, and by that of shared memory."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import atan2, degrees, log10

from tirx_mini.course import STEPS
from tirx_mini.hardware import B200
from tirx_mini.report import Picture
from tools.figures._runs import FULL, timed
from tools.figures._sheet import MARGIN, arrow, rule, sheet

SIZE = FULL
LOWEST, HIGHEST = 200.0, 3000.0
"""TFLOPS of the axis. Slower steps are drawn at its lower end."""
PANEL_TOP, PANEL_BOTTOM = 92.0, 440.0
EXPLAINED = (5, 7, 8, 9)
"""The steps of which the page says what bounds them."""


@dataclass(frozen=True)
class Measure:
    """A step in the simulator. flops, l2, shared: of the whole run, in FLOP and bytes. bound: in words."""

    step: int
    shape: tuple[int, int, int]
    flops: float
    l2: float
    shared: float
    tflops: float
    time_us: float
    bound: str


@dataclass(frozen=True)
class Memory:
    """A memory with a bandwidth. tbps: of the whole GPU."""

    name: str
    tbps: float
    source: str

    @property
    def ridge(self) -> float:
        """FLOP/byte from which on the tensor cores are the lower roof."""
        return B200.peak_tflops / self.tbps

    def roof(self, intensity: float) -> float:
        """TFLOPS that this memory and the peak allow."""
        return min(B200.peak_tflops, intensity * self.tbps)


@dataclass(frozen=True)
class LogAxis:
    """Values from `first` to `last` on a logarithmic axis from `start` to `end`, in user units."""

    first: float
    last: float
    start: float
    end: float

    def at(self, value: float) -> float:
        share = log10(value / self.first) / log10(self.last / self.first)
        return self.start + (self.end - self.start) * min(1.0, max(0.0, share))


def _memory(name: str, bytes_per_cycle: float) -> Memory:
    source = f"{B200.sms} SMs × {bytes_per_cycle:g} bytes a cycle × {B200.clock_ghz} GHz"
    return Memory(name, B200.sms * bytes_per_cycle * B200.clock_ghz / 1e3, source)


L2 = _memory("L2", B200.l2_bytes_per_cycle)
SHARED = _memory("shared memory", B200.smem_bytes_per_cycle)
HBM = Memory("HBM", B200.hbm_tbps, "as micro-benchmarks reach it")


@cache
def measures() -> tuple[Measure, ...]:
    """The ten steps at 2048; steps 1 and 2 at their largest shapes."""
    found = []
    for number, step in STEPS.items():
        shape = step.shape(SIZE) if number > 2 else step.shapes[-1]
        report = timed(number, shape)
        assert report.tflops is not None and report.time_us is not None
        stats = report.stats
        found.append(
            Measure(
                number, shape, stats["flops"], stats["l2_bytes"], stats["shared_bytes"], report.tflops, report.time_us,
                str(report.bound or "") if number in EXPLAINED else "",
            )
        )  # fmt: skip
    return tuple(found)


def roofline_picture() -> str:
    known = measures()
    described = " ".join(f"Step {m.step}: {m.tflops:.1f} TFLOPS, {m.flops / m.l2:.0f} FLOP/byte." for m in known)
    picture = sheet(560, f"The ten steps below the roofs of a B200, at {SIZE}", described)
    picture.text(MARGIN, 48, "Numbers are steps. Orange ones use pairs of CTAs. None can be above a roof.", "soft")
    _panel(picture, L2, [(m, m.flops / m.l2) for m in known], 72, 452)
    _panel(picture, SHARED, [(m, m.flops / m.shared) for m in known], 552, 932)
    last = known[-1]
    slow = " and ".join(f"{m.tflops:.1f}" for m in known[:2])
    picture.text(MARGIN, 522, f"Steps 1 and 2 have one CTA: {slow} TFLOPS, far below this axis.", "soft")
    work = working_sms(last)
    words = (
        f"At this size step 10 has {work // 2} tiles of 512 × 256, one for each pair: {work} of {B200.sms} SMs work."
    )
    picture.text(MARGIN, 542, words, "soft")
    return str(picture)


def _panel(
    picture: Picture, memory: Memory, points: Sequence[tuple[Measure, float]], left: float, right: float
) -> None:
    x = LogAxis(10, 400, left, right)
    y = LogAxis(LOWEST, HIGHEST, PANEL_BOTTOM, PANEL_TOP)
    picture.text(left, PANEL_TOP - 14, f"by the traffic of {_the(memory.name)}", "ink bold")
    picture.rect(left, PANEL_TOP, right - left, PANEL_BOTTOM - PANEL_TOP, "lane")
    for value in (10, 20, 50, 100, 200, 400):
        at = x.at(value)
        rule(picture, at, PANEL_TOP, at, PANEL_BOTTOM, "grid")
        picture.text(at, PANEL_BOTTOM + 18, f"{value}", "soft small", text_anchor="middle")
    for value in (200, 300, 500, 1000, 2000, 3000):
        at = y.at(value)
        rule(picture, left, at, right, at, "grid")
        picture.text(left - 6, at + 4, f"{value:,}", "soft small", text_anchor="end")
    middle = (left + right) / 2
    picture.text(middle, PANEL_BOTTOM + 38, "operations for each byte (FLOP/byte)", "soft", text_anchor="middle")
    words = "TFLOPS"
    turn = f"rotate(-90 {left - 48:g} {(PANEL_TOP + PANEL_BOTTOM) / 2:g})"
    picture.text(left - 48, (PANEL_TOP + PANEL_BOTTOM) / 2, words, "soft", text_anchor="middle", transform=turn)
    start = LOWEST / memory.tbps
    start = max(start, 10.0)
    corners = [(x.at(start), y.at(memory.roof(start))), (x.at(memory.ridge), y.at(B200.peak_tflops))]
    corners.append((right, y.at(B200.peak_tflops)))
    roof = " ".join(f"{a:g},{b:g}" for a, b in ((round(a, 2), round(b, 2)) for a, b in corners))
    picture.add("polyline", points=roof, class_="arrow thick")
    peak = f"tensor cores: {B200.peak_tflops:,.0f} TFLOPS"
    picture.text(right - 6, y.at(B200.peak_tflops) - 8, peak, "ink small", text_anchor="end")
    middle_of_slope = (start * memory.ridge) ** 0.5
    _slope(picture, memory, x.at(middle_of_slope), y.at(memory.roof(middle_of_slope)), corners)
    _steps(picture, [(m, x.at(intensity), y.at(m.tflops)) for m, intensity in points])


def _slope(picture: Picture, memory: Memory, x: float, y: float, corners: Sequence[tuple[float, float]]) -> None:
    """The bandwidth, written along the slope of its roof."""
    (x1, y1), (x2, y2) = corners[:2]
    place, turn = (x - 10, y - 6), degrees(atan2(y2 - y1, x2 - x1))
    turned = f"rotate({turn:.1f} {place[0]:.1f} {place[1]:.1f})"
    words = f"{memory.name}: {memory.tbps:.1f} TB/s"
    picture.text(round(place[0], 1), round(place[1], 1), words, "ink small", text_anchor="middle", transform=turned)


def _the(name: str) -> str:
    return f"the {name}" if name.isupper() else name


def _steps(picture: Picture, points: Sequence[tuple[Measure, float, float]]) -> None:
    """The steps as dots with their numbers; those that lie on one another share a dot."""
    groups: list[list[tuple[Measure, float, float]]] = []
    for point in points:
        near = [g for g in groups if abs(g[0][1] - point[1]) < 5 and abs(g[0][2] - point[2]) < 5]
        if near:
            near[0].append(point)
        else:
            groups.append([point])
    for group in groups:
        measure, x, y = group[0]
        low = measure.tflops < LOWEST
        y = min(y, PANEL_BOTTOM - 20)
        fill = "plain" if low else "c1" if measure.step >= 9 else "c0"
        picture.add("circle", cx=x, cy=y, r=5.5, class_=f"{fill} edge")
        numbers = ", ".join(str(m.step) for m, _, _ in group)
        picture.text(x + 10, y + 4.5, numbers, "ink bold")
        if measure.step == 10:
            picture.text(x - 6, y + 22, f"on {working_sms(measure)} SMs", "ink small")
        if low:
            arrow(picture, x, y + 5, x, PANEL_BOTTOM - 1)


def working_sms(measure: Measure) -> int:
    """SMs that have a tile in step 10, whose pairs compute 512 × 256 each."""
    return min(B200.sms, 2 * (measure.shape[0] // 512) * (measure.shape[1] // 256))


def table() -> str:
    rows = [
        "| step | TFLOPS | FLOP/byte of the L2 | roof | FLOP/byte of shared memory | roof |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for m in measures()[2:]:
        l2, shared = m.flops / m.l2, m.flops / m.shared
        roofs_of = f"{l2:.0f} | {L2.roof(l2):,.0f} | {shared:.0f} | {SHARED.roof(shared):,.0f}"
        rows.append(f"| {m.step} | {m.tflops:.0f} | {roofs_of} |")
    return "\n".join(rows)


def roofs() -> str:
    peak = f"{B200.sms} SMs × {B200.tensor_flops_per_cycle:,} FLOP a cycle × {B200.rated_ghz} GHz"
    rows = [
        "| roof | value | from | ridge |", "| --- | ---: | --- | ---: |",
        f"| tensor cores, float16 | {B200.peak_tflops:,.0f} TFLOPS | {peak} | |",
    ]  # fmt: skip
    rows += [f"| {m.name} | {m.tbps:.1f} TB/s | {m.source} | {m.ridge:.0f} FLOP/byte |" for m in (SHARED, L2, HBM)]
    return "\n".join(rows)


def bounds() -> str:
    said = (f"- **Step {m.step}**: {m.bound}." for m in measures() if m.step in EXPLAINED)
    return "\n".join(textwrap.fill(line, 120, subsequent_indent="  ", break_on_hyphens=False) for line in said)


def tiles() -> str:
    """What the code of the page prints."""
    out = []
    for m, n in ((128, 128), (128, 256), (256, 256), (512, 256)):
        intensity = 2 * m * n / ((m + n) * 2)
        out.append(f"{m} × {n}: {intensity:5.1f} FLOP/byte, roof {L2.roof(intensity):6.0f} TFLOPS")
    return "\n".join(["```text", *out, "```"])


def passages() -> Iterator[tuple[str, str]]:
    """The name and the Markdown of each passage."""
    yield "roofline-roofs", roofs()
    yield "roofline-tiles", tiles()
    yield "roofline-steps", table()
    yield "roofline-bounds", bounds()


def pictures() -> Iterator[tuple[str, str]]:
    """The path under `docs/` and the text of each picture."""
    yield "figures/roofline.svg", roofline_picture()
