"""The figures of the pages of the steps, `docs/steps/stepNN.md`: times, what bounds them, diffs of code, timelines.

The topics that use it are `steps_low` (steps 1 to 5), `steps_middle` (6 and 7) and `steps_high` (8 to 10).
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cache

from tirx_mini.course import Shape, StepTimes
from tirx_mini.diagnose import rate_figure, us_text
from tirx_mini.report.timeline import timeline_svg, wave_svg
from tools.figures import DOCS
from tools.figures._references import reference
from tools.figures._runs import extents, timed, traced
from tools.pages import as_table

DTYPE = "float16"
CONTEXT = 2
"""Lines around a change in a diff."""
MARGIN = 1.25
"""How much longer than the reference a target may be."""


@dataclass(frozen=True)
class Drawing:
    """A timeline. path: of the picture under `docs/`. shape: (M, N, K). note: what there is to see.

    ctas: those that are shown. start, end: of the window in cycles; None for the steady state of the first CTA.
    """

    path: str
    shape: Shape
    note: str
    ctas: tuple[int, ...] = (0,)
    start: float | None = None
    end: float | None = None


@dataclass(frozen=True)
class StepPage:
    """What the page of a step quotes.

    times: the shapes in its table. bounds: those of which it says what bounds the kernel. target: the shape of its
    target. before: that of the step before, where that one cannot compute the same. drawing: its timeline, unless
    another topic draws it. wave: a picture of all SMs, of which ctas, start and end do not matter.
    """

    step: int
    times: tuple[Shape, ...]
    bounds: tuple[Shape, ...]
    target: Shape | None = None
    before: Shape | None = None
    drawing: Drawing | None = None
    wave: Drawing | None = None

    def pictures(self) -> Iterator[tuple[str, str]]:
        """The path and the text of each of its pictures."""
        if (drawing := self.drawing) is not None:
            run = traced(self.step, drawing.shape)
            heading = replace(run.heading, note=drawing.note)
            yield drawing.path, timeline_svg(run.timeline, heading, drawing.ctas, drawing.start, drawing.end)
        if (drawing := self.wave) is not None:
            run = traced(self.step, drawing.shape)
            yield drawing.path, wave_svg(run.timeline, replace(run.heading, note=drawing.note), run.spec.sms)

    def passages(self) -> Iterator[tuple[str, str]]:
        """`stepNN-times`, `stepNN-bound`, and from step 2 on `stepNN-diff` and `stepNN-target`."""
        name = f"step{self.step:02}"
        yield f"{name}-times", times_table(self.step, self.times)
        yield f"{name}-bound", "\n>\n".join(bound_text(self.step, shape) for shape in self.bounds)
        if self.step > 1:
            yield f"{name}-diff", diff_text(self.step)
        if self.target is not None:
            yield f"{name}-target", target_text(self.step, self.target, self.before or self.target)


def target_text(step: int, shape: Shape, before: Shape) -> str:
    """A time that the reference of a step reaches and the step before misses. before: the shape of the step before."""
    missed = predicted_us(step - 1, before) * math.prod(shape) / math.prod(before)
    us = between(predicted_us(step, shape), missed)
    size = f"--size {shape[2]}"
    return (
        f"> **Target** at {extents(shape)}: at most **{us:g} µs** on the modelled B200, which is "
        f"{tflops_text(shape, us)} TFLOPS.\n"
        f"> `python -m tirx_mini ladder --kernels gemm_kernels.py --steps {step} {size}` predicts yours."
    )


def predicted_us(step: int, shape: Shape) -> float:
    """The predicted time of the reference of a step."""
    us = timed(step, shape).time_us
    assert us is not None
    return us


def between(reached: float, missed: float) -> float:
    """The roundest number from `reached` on and below `missed`, near their geometric mean, at most a quarter longer.

    Raises `ValueError` where there is none.
    """
    if not 0 < reached < missed:
        raise ValueError(f"a target lies between two times, and {reached:.4g} is not below {missed:.4g}")
    wanted = min(math.sqrt(reached * missed), MARGIN * reached)
    rounded = (float(f"{wanted:.{digits}g}") for digits in range(2, 8))
    return next(us for us in rounded if reached <= us < missed)


def bound_text(step: int, shape: Shape) -> str:
    """What bounds the reference of a step, as a quotation; the reader finds the remedy."""
    bound = traced(step, shape).report.bound
    if bound is None:
        raise ValueError(f"step {step} at {shape} did not come to its end")
    bound = bound.without_remedies
    return f"> At {extents(shape)}, step {step} is bound by **{bound.name}**{bound.rest}."


def times_table(step: int, shapes: tuple[Shape, ...]) -> str:
    """Predicted and measured times of a step; a column without any figure is left out."""
    b200, h100 = (StepTimes.read(DOCS / f"{gpu}.csv") for gpu in ("b200", "h100"))
    columns: dict[str, list[str]] = {
        "M × N × K": [extents(shape) for shape in shapes],
        "B200, predicted": [],
        "B200, measured": [],
        "H100, measured": [],
    }
    for shape in shapes:
        columns["B200, predicted"].append(_speed(shape, timed(step, shape).time_us))
        for name, table in (("B200, measured", b200), ("H100, measured", h100)):
            ms = table.ms(step, shape, DTYPE)
            columns[name].append(_speed(shape, None if ms is None else ms * 1000))
    shown = {name: cells for name, cells in columns.items() if any(cells)}
    rows = [list(shown), ["---", *("---:" for _ in list(shown)[1:])], *zip(*shown.values(), strict=True)]
    return as_table([cell or "–" for cell in row] for row in rows)


def _speed(shape: Shape, us: float | None) -> str:
    if us is None:
        return ""
    return f"{us_text(us)}, {tflops_text(shape, us)} TFLOPS"


def tflops_text(shape: Shape, us: float) -> str:
    """TFLOPS of a product of this shape in so many microseconds."""
    m, n, k = shape
    return rate_figure(2 * m * n * k / us / 1e6)


def diff_text(step: int) -> str:
    """The change from the reference of the step before, folded, without documentation and comments on their own."""
    added, removed = changed_lines(step)
    body = "\n@@\n".join("\n".join(hunk) for hunk in _changes(step))
    files = " → ".join(reference(number).name for number in (step - 1, step))
    summary = f"{files}: {added} {'line' if added == 1 else 'lines'} added, {removed} removed"
    return f'<details markdown="1"><summary>{summary}</summary>\n\n```diff\n{body}\n```\n\n</details>'


def changed_lines(step: int) -> tuple[int, int]:
    """How many lines the reference of a step adds to that of the step before, and how many it removes."""
    added, removed = (sum(line[:1] == sign for hunk in _changes(step) for line in hunk) for sign in "+-")
    return added, removed


@cache
def _changes(step: int) -> list[list[str]]:
    return list(_hunks(*(_code(number, step) for number in (step - 1, step))))


def _code(step: int, shown: int) -> list[str]:
    """The lines of a reference below its documentation; its function has the name that it has in step `shown`."""
    text = reference(step).read_text(encoding="utf-8")
    document = ast.parse(text).body[0]
    lines = text.splitlines()[document.end_lineno :]
    return [re.sub(rf"\bhgemm_v{step}\b", f"hgemm_v{shown}", line) for line in lines]


def _hunks(before: list[str], after: list[str]) -> Iterator[list[str]]:
    """Groups of changed lines and their context, as `diff -w` finds them: indentation alone is no change."""
    matcher = SequenceMatcher(None, [_words(line) for line in before], [_words(line) for line in after], autojunk=False)
    for group in matcher.get_grouped_opcodes(CONTEXT):
        hunk: list[str] = []
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                hunk += [f" {line}" for line in after[j1:j2]]
            else:
                hunk += [f"-{line}" for line in before[i1:i2]] + [f"+{line}" for line in after[j1:j2]]
        if any(_matters(line) for line in hunk):
            yield _dedented(hunk)


def _words(line: str) -> str:
    return " ".join(line.split())


def _matters(line: str) -> bool:
    words = line[1:].strip()
    return line[0] in "+-" and bool(words) and not words.startswith("#")


def _dedented(hunk: list[str]) -> list[str]:
    """Without the indentation that all lines have, and without empty lines around it."""
    margin = min(len(line) - 1 - len(line[1:].lstrip()) for line in hunk if line[1:].strip())
    lines = [(line[0] + line[1 + margin :]).rstrip() for line in hunk]
    shown = [number for number, line in enumerate(lines) if line]
    return lines[shown[0] : shown[-1] + 1]


def cube(size: int) -> Shape:
    """M = N = K = `size`."""
    return size, size, size
