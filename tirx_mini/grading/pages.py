"""A grade as a page for a terminal, which fits 80 columns and does not need colour."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from .results import Graded, Part, StepResult, points_short, points_text
from .rules import PARTS

_COLUMNS = {"correctness": "right", "performance": "fast", "implementation": "uses it"}
"""The table headings of a step's parts."""
_LOG_LINES = 20


def grade_page(graded: Graded) -> RenderableType:
    """Return the score, a table of the steps, and the findings of each step that lost points, with commands."""
    parts: list[RenderableType] = [headline(graded)]
    if graded.problem:
        parts += ["", Text("The file cannot be graded:"), _indented(graded.problem)]
    if graded.steps:
        parts += ["", grade_table(graded)]
    if graded.not_graded:
        parts += ["", Text(f"The grader failed, so there is no score yet; {graded.why_not}.")]
    if graded.late is not None:
        parts += ["", Text(graded.late.said)]
    for step in graded.steps:
        if not graded.problem and not _unwritten(step) and (_lost(step) or step.printed):
            parts += ["", *_step(step)]
    if graded.log:
        said = Text("the file printed, each time that it was executed:", style="dim")
        parts += ["", said, _indented(_beginning(graded.log))]
    parts += [line for note in graded.notes for line in ("", Text(f"note: {note}", style="dim"))]
    return Group(*parts)


def _beginning(text: str) -> str:
    """Return the first lines of the output."""
    lines = text.splitlines()
    return "\n".join([*lines[:_LOG_LINES], *(["…"] if len(lines) > _LOG_LINES else [])])


def headline(graded: Graded) -> Text:
    """Return the score as a line."""
    where = f", on a modelled {graded.gpu}" if graded.target == "sim" else f", on {graded.gpu}"
    if graded.score is None:
        numbers = " and ".join(step.number for step in graded.not_graded)
        kind = graded.not_graded[0].name.split()[0]
        score = f"not graded in {kind}{'s' * (len(graded.not_graded) > 1)} {numbers}"
    else:
        score = f"{points_text(graded.score)} of {points_text(graded.total)} points"
    return Text(f"{graded.name}{where if graded.gpu else ''}: ").append(score, style="bold")


def grade_table(graded: Graded) -> Table:
    """Return a table with a line for each step, at most 80 columns wide."""
    table = Table(box=None, pad_edge=False)
    kind = graded.steps[0].name.split()[0]
    for name in (kind, "", *_COLUMNS.values(), "points", "of"):
        table.add_column(name, justify="right" if name in (kind, "points", "of") else "left", no_wrap=True)
    for step in graded.steps:
        marks = [_mark(step, name) for name in PARTS]
        state = [Text("not written", style="dim"), "", ""] if _unwritten(step) else marks
        earned = Text(points_short(step.score), "green" if step.score == step.points else "")
        table.add_row(step.number, step.title, *state, earned, points_text(step.points))
    return table


def _mark(step: StepResult, name: str) -> Text:
    passed = step.part(name).passed
    return Text("–", style="dim") if passed is None else Text("yes", "green") if passed else Text("no", "red")


def _unwritten(step: StepResult) -> bool:
    """Return whether nothing is there to be inspected."""
    first = step.part(PARTS[0])
    return not first.passed and not first.pages and first.said.endswith("is not written yet")


def _lost(step: StepResult) -> bool:
    return step.score is None or step.score < step.points


def _step(step: StepResult) -> Iterator[RenderableType]:
    earned = "not graded" if step.score is None else f"{points_text(step.score)} of {points_text(step.points)}"
    yield Text(f"{step.name}, {step.title}: {earned}", style="bold")
    for part in step.parts:
        yield from _part(part)
    if step.said:
        yield _indented(step.said)
    if step.printed:
        yield _indented("the kernel printed:")
        yield Padding(Text(_beginning(step.printed)), (0, 0, 0, 6), expand=False)
    if step.reproduce:
        yield _indented("to see it again:")
        yield Padding(Text(step.reproduce), (0, 0, 0, 6), expand=False)


def _part(part: Part) -> Iterator[RenderableType]:
    """Yield the findings of the part; beside a page, the sentence is reduced to the size."""
    style = "dim" if part.passed is None else "green" if part.passed else "red"
    where, _, _ = part.said.partition(": ")
    said = f"fails {where}" if part.pages and where.startswith("at ") else part.said
    yield Padding(Text(f"{part.name}: ", style=style).append(said, style="not bold"), (0, 0, 0, 2), expand=False)
    yield from (_indented(page) for page in part.pages)


def _indented(text: str) -> Padding:
    return Padding(Text(text.rstrip()), (0, 0, 0, 4), expand=False)
