"""Timelines of the reference kernels on the modelled B200, and the measured times of the Hopper ladder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from benchmarks.chart import chart_of_table
from tirx_mini.course import View, timeline_form
from tirx_mini.report.timeline import timeline_svg
from tools.figures import DOCS
from tools.figures._runs import traced


@dataclass(frozen=True)
class Figure:
    """A step of the ladder as a picture. shape: (M, N, K). ctas: those that are shown. note: what there is to see."""

    step: int
    shape: tuple[int, int, int]
    ctas: tuple[int, ...]
    note: str

    @property
    def path(self) -> str:
        return f"figures/step{self.step:02}.svg"

    def draw(self) -> str:
        run = traced(self.step, self.shape)
        return timeline_svg(run.timeline, replace(run.heading, note=self.note), self.ctas)


FIGURES = (
    Figure(
        4, (1024, 1024, 1024), (0,),
        "One buffer: warp 0 waits for the loads, then for the MMA; the tensor core waits for both. Nothing overlaps.",
    ),
    Figure(
        5, (1024, 1024, 1024), (0,),
        "Two stages: TMA fills one while the tensor core reads the other. But one warp issues everything: it waits for "
        "each MMA (mma_bar) before it starts the next load.",
    ),
    Figure(
        7, (2048, 2048, 2048), (0,),
        "A warp for each role: the producer runs ahead, and a tile is written back while the next one is multiplied. "
        "Now the MMA warp waits for data (tma2mma): two stages do not hide the latency of a load.",
    ),
    Figure(
        10, (2048, 2048, 2048), (0, 1),
        "A pair of CTAs and two consumers: four stages are in flight, each tile of B serves two MMAs, and the tensor "
        "cores of both SMs seldom stand still.",
    ),
)  # fmt: skip


def pictures() -> Iterator[tuple[str, str]]:
    """The path under `docs/` and the text of each picture."""
    yield "h100.svg", chart_of_table(DOCS / "h100.csv", "The Hopper ladder on an H100, float16")
    for figure in FIGURES:
        yield figure.path, figure.draw()
    shape = (1024, 1024, 1024)
    yield "figures/step05-step07.svg", timeline_form(traced(7, shape), ".svg", against=traced(5, shape))
    yield "figures/wave05.svg", timeline_form(traced(5, (2048, 2048, 2048)), ".svg", View(wave=True))
