"""The first kernel of the course, which has one wrong line: that line, its report, and the timeline of the hang."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tirx_mini import simulate
from tirx_mini.course import KernelRef, Traced, View, load_kernel, make_arguments, timeline_form
from tirx_mini.hardware import B200
from tools.figures import ROOT
from tools.figures._runs import extents
from tools.figures.debugging import captured, excerpt

FILE, NAME, SHAPE = "first_kernel.py", "hgemm_v1", (128, 128, 64)
WRONG = "mbarrier.init(mma_bar.ptr_to([0]), 128)"
"""How the wrong line ends."""
REPORT = (("error[TX107]", 8), ("help", 1))
"""The first lines of the report, and what to do."""


def pictures() -> Iterator[tuple[str, str]]:
    """The path under `docs/` and the text of the picture."""
    kernel = load_kernel(KernelRef(ROOT / FILE, NAME))
    report = simulate(kernel, *make_arguments(kernel), gpu=B200, trace=True)
    traced = Traced(replace(report, kernel=NAME), B200, extents(SHAPE))
    whole = View(cta="first", start=0, end=traced.timeline.cycles)
    yield "figures/first-hang.svg", timeline_form(traced, ".svg", whole)


def passages() -> Iterator[tuple[str, str]]:
    """The wrong line, and the excerpt of the report."""
    lines = (ROOT / FILE).read_text(encoding="utf-8").splitlines()
    (wrong,) = (line.strip() for line in lines if line.endswith(WRONG))
    printed = captured(["check", f"{ROOT / FILE}:{NAME}"]).replace(f"{ROOT / FILE}", FILE)
    shown = excerpt(printed, REPORT).strip("…\n")
    yield "first-report", f"<!-- not run: a line of {FILE} -->\n```python\n{wrong}\n```\n\n```text\n{shown}\n```"
