"""Hopper against Blackwell: step 7 on both, and TFLOPS of the steps, measured on an H100 and predicted for a B200."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tirx_mini import simulate
from tirx_mini.course import KernelRef, default_kernels, load_kernel
from tirx_mini.diagnose import Activity, Interval, Timeline, TrackKind
from tirx_mini.hardware import B200, H100, GpuSpec
from tirx_mini.report import Picture
from tools.figures import DOCS
from tools.figures._runs import extents
from tools.figures._sheet import MARGIN, rule, sheet
from tools.figures.roofline import SIZE, measures

SHAPE = (512, 512, 512)
SMS = 4
LEFT, RIGHT = 232.0, 944.0
ROW, APART = 24.0, 30.0
JOINED = 60.0
"""Cycles between two blocks of a row that are drawn as one."""


Span = tuple[float, float]


@dataclass(frozen=True)
class Row:
    """A row of the picture. detail: the small words below its name. fill: of its blocks."""

    name: str
    detail: str
    fill: str
    spans: tuple[Span, ...]
    waits: tuple[Span, ...] = ()


@dataclass(frozen=True)
class Run:
    """A run of step 7: the rows of one SM, and the part of it that is shown, in cycles."""

    title: str
    rows: tuple[Row, ...]
    start: float
    end: float
    note: str

    @property
    def busy(self) -> float:
        """The share of the window for which the SM's tensor core works."""
        spans = joined([span for row in self.rows if row.name == "tensor core" for span in row.spans], 0)
        inside = sum(min(b, self.end) - max(a, self.start) for a, b in spans if a < self.end and b > self.start)
        return inside / (self.end - self.start)


def step7(gpu: GpuSpec) -> Timeline:
    folder = default_kernels() / gpu.architecture.kernels
    ref = KernelRef(next(folder.glob("step07_*.py")), "hgemm_v7")
    spec = gpu.with_sms(SMS)
    kernel = load_kernel(ref, shape=SHAPE, sms=SMS)
    trace = simulate(kernel, gpu=spec, data=False, trace=True).trace
    assert trace is not None
    return trace


def joined(spans: Iterable[Span], apart: float = JOINED) -> tuple[Span, ...]:
    """Spans in order; those that overlap, or are at most `apart` from each other, as one."""
    out: list[Span] = []
    for start, end in sorted(spans):
        if out and start - out[-1][1] <= apart:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((start, end))
    return tuple(out)


def _of(timeline: Timeline, cta: int, kind: TrackKind, warp: int | None = None) -> list[Interval]:
    own = [item for item in timeline.intervals if item.track.cta == cta and item.track.kind is kind]
    return [item for item in own if warp is None or item.track.warp == warp]


def _engine(timeline: Timeline, cta: int, kind: TrackKind) -> tuple[Span, ...]:
    return joined(((i.start, i.end) for i in _of(timeline, cta, kind) if i.activity is Activity.BUSY), 0)


def _between(spans: Sequence[Span], shortest: float) -> tuple[Span, ...]:
    return tuple((a[1], b[0]) for a, b in pairwise(spans) if b[0] - a[1] > shortest)


def hopper() -> Run:
    timeline = step7(H100)
    sm = next(item.sm for item in timeline.ctas if item.cta == 0)
    other = next(item.cta for item in timeline.ctas if item.sm == sm and item.cta != 0)
    rows = []
    for cta in (0, other):
        warp = _of(timeline, cta, TrackKind.WARP, 0)
        multiplies = joined((i.start, i.end) for i in warp if "wgmma" in i.name or i.name.startswith("tma2mma"))
        loops = joined(multiplies, 400)
        rows.append(Row("warpgroup multiplies", f"CTA {cta}, 4 warps", "c0", loops))
        rows.append(Row("same warpgroup stores", f"CTA {cta}", "c1", _between(loops, 400)))
        rows.append(Row("tensor core", f"for CTA {cta}", "c2", _engine(timeline, cta, TrackKind.TENSOR)))
    store = rows[1].spans[0]
    return Run(
        "H100: the accumulator is in registers", tuple(rows), store[0] - 2600, store[1] + 2600,
        "While a CTA stores its tile, it multiplies nothing. A second CTA on the SM can fill in.",
    )  # fmt: skip


def blackwell() -> Run:
    timeline = step7(B200)
    mma = _of(timeline, 0, TrackKind.WARP, 4)
    write = _of(timeline, 0, TrackKind.WARP, 0)
    waits = joined((i.start, i.end) for i in write if i.activity is Activity.WAIT and i.name.startswith("mma2ld"))
    stores = _between(waits, 100)
    loops = joined(((i.start, i.end) for i in mma if "tcgen05" in i.name or i.name.startswith("tma2mma")), 200)
    rows = (
        Row("MMA warp issues", "CTA 0, one thread", "c0", loops),
        Row("write-back stores", "CTA 0, 4 other warps", "c1", stores),
        Row("tensor core", "for CTA 0", "c2", _engine(timeline, 0, TrackKind.TENSOR)),
    )
    first = stores[0]
    return Run(
        "B200: the accumulator is in tensor memory", rows, first[0] - 2600, first[1] + 2600,
        "As soon as the tile is in registers, the next one is multiplied, while other warps store.",
    )  # fmt: skip


def step7_picture() -> str:
    runs = (hopper(), blackwell())
    described = " ".join(f"{run.title}: the tensor core is busy {100 * run.busy:.0f} % of the window." for run in runs)
    height = 60 + sum(88 + APART * len(run.rows) for run in runs)
    picture = sheet(height, "Step 7 at the end of a tile: who multiplies while a tile is stored?", described)
    words = f"One SM, around the first write-back of CTA 0. {extents(SHAPE)} on {SMS} SMs, as simulated."
    picture.text(MARGIN, 48, words, "soft")
    longest = max(run.end - run.start for run in runs)
    y = 86.0
    for run in runs:
        y = _run(picture, run, y, longest)
    return str(picture)


def _run(picture: Picture, run: Run, top: float, longest: float) -> float:
    picture.text(MARGIN, top, run.title, "ink bold")
    picture.text(MARGIN, top + 20, run.note, "soft")
    top += 22
    scale = (RIGHT - LEFT) / longest
    right = LEFT + (run.end - run.start) * scale
    bottom = top + 12 + APART * len(run.rows)
    for number in range(int((run.end - run.start) // 1000) + 1):
        x = LEFT + number * 1000 * scale
        rule(picture, x, top + 10, x, bottom, "grid")
        picture.text(x, bottom + 14, f"{number * 1000:,}", "soft small", text_anchor="middle")
    picture.text(LEFT - 30, bottom + 14, "cycles", "soft small", text_anchor="end")
    for number, row in enumerate(run.rows):
        y = top + 12 + number * APART
        picture.text(LEFT - 10, y + 11, row.name, "ink", text_anchor="end")
        picture.text(LEFT - 10, y + 24, row.detail, "soft tiny", text_anchor="end")
        picture.rect(LEFT, y, right - LEFT, ROW, "gap")
        for start, end in row.spans:
            a, b = max(start, run.start), min(end, run.end)
            if b > a:
                picture.rect(LEFT + (a - run.start) * scale, y, max((b - a) * scale, 0.8), ROW, f"{row.fill} edge")
    return bottom + 54


def _measured(path: Path) -> dict[int, float]:
    size = str(SIZE)
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["M"] == row["N"] == row["K"] == size]
    steps = [row for row in rows if row["dtype"] == "float16" and row["kernel"].startswith("step ")]
    return {int(row["kernel"].removeprefix("step ")): float(row["tflops"]) for row in steps}


def tflops_table() -> str:
    h100, b200 = _measured(DOCS / "h100.csv"), _measured(DOCS / "b200.csv")
    rows = [
        "| step | H100, measured | of its peak | B200, predicted | B200, measured | predicted, of its peak |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for m in measures()[2:]:
        first = f"{h100[m.step]:.0f} | {100 * h100[m.step] / H100.peak_tflops:.0f} %"
        there = f"{b200[m.step]:.0f}" if m.step in b200 else "–"
        rows.append(f"| {m.step} | {first} | {m.tflops:.0f} | {there} | {100 * m.tflops / B200.peak_tflops:.0f} % |")
    return "\n".join(rows)


def gpus_table() -> str:
    flops = H100.tensor_flops_per_cycle, B200.tensor_flops_per_cycle
    smem = H100.smem_bytes_per_cycle, B200.smem_bytes_per_cycle
    peak = H100.peak_tflops, B200.peak_tflops
    rows = [
        "| what | H100 (SXM) | B200 |", "| --- | ---: | ---: |",
        f"| SMs | {H100.sms} | {B200.sms} |",
        f"| dense float16 operations of an SM in a cycle | {flops[0]:,} | {flops[1]:,} |",
        f"| peak, float16 with float32 accumulation | {peak[0]:,.0f} TFLOPS | {peak[1]:,.0f} TFLOPS |",
        f"| bytes a cycle of an SM's shared memory, as modelled | {smem[0]:g} | {smem[1]:g} |",
        f"| L2 | {H100.l2_bytes >> 20} MiB | {B200.l2_bytes >> 20} MiB, in {B200.l2_partitions} partitions |",
        f"| HBM that kernels reach | {H100.hbm_tbps:g} TB/s | {B200.hbm_tbps:g} TB/s |",
    ]  # fmt: skip
    return "\n".join(rows)


def passages() -> Iterator[tuple[str, str]]:
    """The name and the Markdown of each passage."""
    yield "hopper-gpus", gpus_table()
    yield "hopper-tflops", tflops_table()


def pictures() -> Iterator[tuple[str, str]]:
    """The path under `docs/` and the text of each picture."""
    yield "figures/hopper-step07.svg", step7_picture()
