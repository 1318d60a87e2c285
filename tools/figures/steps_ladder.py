"""The ladder on one page, `docs/steps/index.md`: what each step changes, how fast it is, and what bounds it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from benchmarks.chart import chart_of_table
from tirx_mini.course import STEPS, Shape, StepTimes
from tirx_mini.hardware import DEFAULT_GPU
from tools.figures import DOCS
from tools.figures._runs import FULL, extents, timed, traced
from tools.figures._steps import DTYPE, StepPage, changed_lines, cube, tflops_text
from tools.figures.steps_high import PAGES as LAST
from tools.figures.steps_low import PAGES as FIRST
from tools.figures.steps_middle import PAGES as NEXT
from tools.pages import as_table

SIZE = FULL
LARGE = cube(4096)
IDEAS: Mapping[int, str] = MappingProxyType({
    1: "one CTA, one tile, one MMA",
    2: "a loop over K that accumulates in tensor memory",
    3: "a CTA for each tile of D",
    4: "TMA loads and stores tiles; bytes complete an mbarrier",
    5: "two stages: one is loaded while the other is multiplied",
    6: "CTAs that stay, and take tile after tile",
    7: "a role for each job: TMA, MMA, write-back, with four barriers",
    8: "four stages instead of two",
    9: "a pair of CTAs computes one MMA",
    10: "two MMA warps share each tile of B",
})  # fmt: skip


def pictures() -> Iterator[tuple[str, str]]:
    """The measured times on a B200."""
    yield "figures/b200.svg", chart_of_table(DOCS / "b200.csv", "The Blackwell ladder on a B200, float16")


def passages() -> Iterator[tuple[str, str]]:
    """`steps-ladder`: the table of all steps."""
    header = ("step", "idea", "lines", f"TFLOPS at {SIZE}", f"at {LARGE[0]}, measured", "bound by", "first to remove")
    rule = ("---:", "---", "---:", "---:", "---:", "---", "---")
    rows = [header, rule, *(_row(page) for page in (*FIRST, *NEXT, *LAST))]
    yield "steps-ladder", as_table(rows)


def _row(page: StepPage) -> tuple[str, ...]:
    step = page.step
    lines = "–" if step == 1 else "+{} −{}".format(*changed_lines(step))
    ms = StepTimes.read(DOCS / f"{DEFAULT_GPU}.csv").ms(step, LARGE, DTYPE)
    bound = traced(step, page.bounds[-1]).report.bound
    if bound is None:
        raise ValueError(f"step {step} did not come to its end")
    return (
        f"[{step}](step{step:02}.md)",
        IDEAS[step],
        lines,
        _predicted(step, STEPS[step].shape(SIZE)),
        _tflops(LARGE, None if ms is None else ms * 1000),
        bound.name,
        bound.cause.name,
    )


def _predicted(step: int, shape: Shape) -> str:
    """TFLOPS at a shape, which is named where it is not that of the other steps."""
    return _tflops(shape, timed(step, shape).time_us) + ("" if shape == cube(SIZE) else f" ({extents(shape)})")


def _tflops(shape: Shape, us: float | None) -> str:
    return "–" if us is None else tflops_text(shape, us)
