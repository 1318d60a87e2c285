"""The result of grading one hand-in: parts, steps and the score, also as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from tirx_mini.course import STEPS, TASKS
from tirx_mini.records import dataclass

FORMAT, VERSION = "tirx_mini grade", 2
"""The format and version of the JSON of `Graded.as_dict`."""


@dataclass(frozen=True)
class Part:
    """One of the three parts of a step.

    name: "correctness", "performance" or "implementation".
    passed: None if the part could not be judged.
    score: the share of the part's points that is earned, from 0 to 1, before `strict`.
    said: what was found, in a sentence.
    pages: texts of several lines: pages of findings, mistakes in the file.
    lost: whether the grader itself failed at the part, independently of the kernel.
    """

    name: str
    passed: bool | None
    score: float
    said: str
    pages: tuple[str, ...] = ()
    lost: bool = False


@dataclass(frozen=True)
class StepResult:
    """One step, or one task.

    step: its number, 0 of a task. task: its letter, "" of a step.
    points: what the step can earn. score: what it earned; None if it is not graded: the grader failed, and the
        score depends on it.
    parts: in the order of `rules.PARTS`.
    said: why the score is what it is, where the parts do not say it: "" where they do.
    reproduce: the command that shows the student the same; "" where nothing failed.
    printed: the beginning of what its kernels printed.
    """

    step: int
    points: float
    score: float | None
    parts: tuple[Part, ...]
    said: str = ""
    reproduce: str = ""
    printed: str = ""
    task: str = ""

    @property
    def number(self) -> str:
        """The number of a step, or the letter of a task."""
        return self.task or str(self.step)

    @property
    def name(self) -> str:
        """As in "step 7" and "task a"."""
        return f"{'task' if self.task else 'step'} {self.number}"

    @property
    def title(self) -> str:
        return TASKS[self.task].title if self.task else STEPS[self.step].title

    def part(self, name: str) -> Part:
        """Return the part of a name."""
        return next(part for part in self.parts if part.name == name)


@dataclass(frozen=True)
class Late:
    """A hand-in after the due date, or at an unknown time.

    days: begun; None if the time is not known. lost: the share of the score. said: both, in a sentence.
    """

    days: int | None
    lost: float
    said: str


@dataclass(frozen=True)
class Graded:
    """One graded hand-in.

    name: of the file that was handed in. digest: of the source.
    target: "sim", or "cuda" where kernels ran on a GPU. gpu: which one, modelled or real.
    steps: in their order.
    score, total: points earned, lateness deducted, and the points that there are. score is None if a step is not
        graded: there is none yet.
    notes: what a reader of the scores should know: what the sandbox does not enforce on this machine, for example.
    problem: why nothing could be graded: no file, a file that Python cannot load. "" where steps were graded.
    log: what the student's file printed, bounded.
    seconds: how long the grading took.
    """

    name: str
    digest: str
    target: str
    gpu: str
    steps: tuple[StepResult, ...]
    score: float | None
    total: float
    late: Late | None = None
    notes: tuple[str, ...] = ()
    problem: str = ""
    log: str = ""
    seconds: float = 0.0

    def step(self, number: int) -> StepResult:
        """Return the result of one step."""
        return next(step for step in self.steps if step.step == number)

    @property
    def not_graded(self) -> tuple[StepResult, ...]:
        """Return the steps at which the grader failed."""
        return tuple(step for step in self.steps if step.score is None)

    @property
    def why_not(self) -> str:
        """Return why the score is missing, as a sentence, or ""."""
        found = [f"{step.name}: {_why_not(step)}" for step in self.not_graded]
        return "; ".join(found)

    def as_dict(self) -> dict[str, Any]:
        """Return the object that `from_dict` reads; docs/grading.md describes it."""
        return {"format": FORMAT, "version": VERSION, **asdict(self)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Graded:
        """Return the grade from an object of `as_dict`. Raises `ValueError` for anything else."""
        if data.get("format") != FORMAT or data.get("version") != VERSION:
            raise ValueError(f'this is not a grade: "format" must be "{FORMAT}" and "version" {VERSION}')
        try:
            values = {field.name: data[field.name] for field in fields(cls)}
            steps = tuple(_step(step) for step in values.pop("steps"))
            late = Late(**values.pop("late")) if values["late"] is not None else values.pop("late")
            return cls(steps=steps, late=late, **{**values, "notes": tuple(values["notes"])})
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"this grade lacks or misnames a field: {error}") from None


def _step(data: Mapping[str, Any]) -> StepResult:
    parts = tuple(Part(**{**part, "pages": tuple(part["pages"])}) for part in data["parts"])
    return StepResult(**{**data, "parts": parts})


def _why_not(step: StepResult) -> str:
    return next(part.said.removeprefix("not graded: ") for part in step.parts if part.lost)


def points_text(points: float | None) -> str:
    """Return points without trailing zeros, as in "15" and "3.75", or "not graded" for None."""
    if points is None:
        return "not graded"
    return f"{points:.2f}".rstrip("0").rstrip(".")


def points_short(points: float | None) -> str:
    """Return points for a table, or "?" for None."""
    return "?" if points is None else points_text(points)
