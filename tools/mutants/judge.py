"""Running a mutant in the simulator, and what became of it."""

from __future__ import annotations

import re
import tempfile
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import tirx_mini as tvm
from tirx_mini.course import STEPS, Shape, load_kernels
from tirx_mini.ir import Span, TirxError
from utils import Run, WrongResult, prepare_data, verify

SMS: Mapping[int, int] = {**dict.fromkeys(STEPS, 4), 6: 2, 7: 2, 8: 2}
"""The persistent kernels are for a GPU of so few SMs: each CTA then computes several tiles of a small matrix."""

Runs = tuple[tuple[Shape, tuple[int, ...]], ...]
"""Shapes, each with the seeds of the schedules to try."""

RUNS: Mapping[int, Runs] = {
    **{number: ((step.in_tiles(1, 5, 5), (0, 1, 2)),) for number, step in STEPS.items()},
    1: (((128, 128, 64), (0, 1)),),
    2: (((128, 128, 192), (0, 1)), ((128, 128, 64), (0,))),
    3: (((256, 384, 192), (0, 1)),),
    4: (((256, 384, 192), (0, 1)),),
    5: (((256, 384, 320), (0, 1, 2)), ((256, 128, 64), (0,))),
    6: (((384, 256, 320), (0, 1, 2)), ((384, 256, 256), (0,)), ((128, 384, 64), (0,))),
    7: (((384, 256, 320), (0, 1, 2)), ((384, 256, 256), (0,)), ((128, 384, 64), (0,))),
    8: (((384, 256, 320), (0, 1, 2)), ((384, 256, 192), (0,)), ((128, 384, 64), (0,))),
    9: (((512, 768, 320), (0, 1, 2)), ((512, 768, 192), (0,)), ((256, 1280, 64), (0,))),
    10: (((512, 1280, 320), (0, 1, 2)), ((512, 1280, 192), (0,)), ((512, 1280, 64), (0,))),
}
"""What each step's mutants compute: more tiles than clusters, and numbers of K tiles that the depth does not divide."""


@dataclass(frozen=True)
class Task:
    """A mutant to run: the text of a kernel file."""

    step: int
    text: str


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant.

    how: "refused" by the front end, the kind of the first finding, "wrong result", "survived", "timeout", "died" or
    "crash" (a Python error that is none of ours). warning: whether the finding is one. message: its sentence.
    lines: the line of the finding, then those of its notes; each with the lines that it was inlined at.
    """

    how: str
    message: str = ""
    lines: tuple[tuple[int, ...], ...] = ()
    shape: Shape | None = None
    seed: int = 0
    warning: bool = False

    @property
    def caught(self) -> bool:
        return self.how not in ("survived", "timeout", "died", "crash")


def on_small_gpu(step: int, text: str) -> str:
    """A kernel file whose persistent kernels are for a GPU of few multiprocessors."""
    return re.sub(r"(?m)^SM_COUNT = \d+$", f"SM_COUNT = {SMS[step]}", text)


def judge(task: Task) -> Outcome:
    """Run a mutant on each shape and schedule until something is found."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"step{task.step:02}.py"
        path.write_text(task.text, encoding="utf-8")
        try:
            return _judge(path, task.step)
        except TirxError as error:
            return Outcome("refused", error.diagnostic.message, _lines(error.span, error.diagnostic.notes))
        except Exception:
            return Outcome("crash", traceback.format_exc(limit=-3))


def _judge(path: Path, step: int) -> Outcome:
    factory = load_kernels(path)[step]
    warning: Outcome | None = None
    for shape, seeds in RUNS[step]:
        kernel = factory(*shape)
        for seed in seeds:
            A, B, D = prepare_data(*shape, target="sim", arrays=True)
            report = tvm.simulate(kernel, A, B, D, seed=seed)
            if report.findings:
                first = report.findings[0]
                lines = _lines(first.span, first.details.get("notes", ()))
                lines += tuple(_chain(role.span) for role in first.details.get("stuck", ()))
                outcome = Outcome(first.kind, first.message, lines, shape, seed, first.severity == "warning")
                if not report.ok:
                    return outcome
                warning = warning or outcome
                continue
            try:
                verify(A, B, D, Run(kernel, "sim", None, report))
            except WrongResult as error:
                page = str(error)
                lines = tuple((int(n),) for n in re.findall(rf"{re.escape(path.name)}:(\d+)", page))
                return Outcome("wrong result", error.finding.message, lines, shape, seed)
    return warning or Outcome("survived")


def _lines(span: Span | None, notes: tuple[tuple[str, Span | None], ...]) -> tuple[tuple[int, ...], ...]:
    return tuple(_chain(s) for s in (span, *(s for _, s in notes)))


def _chain(span: Span | None) -> tuple[int, ...]:
    """The lines of the user's file that a span is about, the innermost first."""
    if span is None:
        return ()
    found: list[int] = []
    for part in span.chain():
        if not part.library:
            found += range(part.line, max(part.line, part.end_line or part.line) + 1) if not found else [part.line]
    return tuple(found)
