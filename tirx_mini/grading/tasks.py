"""Grading of a task: its public problems, hidden ones, and its budget."""

from __future__ import annotations

import time
from contextlib import ExitStack

from tirx_mini.course import TASKS, Shape, shape_text
from tirx_mini.records import replace
from tirx_mini.sandbox import Sandbox

from .building import Builder, Refused
from .cache import Cache
from .grader import builder_of
from .handin import HandIn
from .judges import Judges
from .judging import Inquiry, Judged
from .lost import Exceeded, Lost
from .results import Graded, Part, StepResult
from .rules import PARTS, Rules
from .scoring import lateness
from .submitted import own_time
from .text import MOST_TEXT, plain_line, plain_text

_NO_PART = "a task leaves the construction to its author"


def grade_task(
    handin: HandIn,
    letter: str,
    rules: Rules,
    *,
    cache: Cache | None = None,
    handed_in: float | None = None,
    sandbox: Sandbox | None = None,
    own: bool = False,
    judges: Judges | None = None,
) -> Graded:
    """Grade the kernel of a task in a hand-in, in the simulator.

    The hidden problems are drawn from the secret of the cache, so they are the same for all hand-ins that share it.
    A kernel that is right earns the shares of correctness and implementation, and one within the budget all points.
    cache, handed_in, sandbox, own, judges: as in `grade`. Raises `NotClosed` and `SandboxError`.
    """
    begun, task = time.monotonic(), TASKS[letter]
    handin = replace(handin, file=task.file)
    with ExitStack() as stack:
        builder, notes = builder_of(handin, rules, stack, sandbox, own)
        judges = judges or stack.enter_context(Judges(1, rules.judge, cache))
        found = _Judge(handin, builder, judges, letter, rules).result()
        log, problem = builder.log, builder.problem
    late = lateness(rules.lateness, handed_in if handed_in is not None else own_time(handin))
    score = None if found.score is None else round(found.score * (1 - late.lost if late is not None else 1), 2)
    return Graded(
        handin.name, handin.digest, "sim", task.spec.name, (found,), score, task.points, late, notes, problem, log,
        round(time.monotonic() - begun, 1),
    )  # fmt: skip


class _Judge:
    """Judges the kernel of one task."""

    def __init__(self, handin: HandIn, builder: Builder, judges: Judges, letter: str, rules: Rules) -> None:
        self._handin, self._builder, self._judges, self._rules = handin, builder, judges, rules
        self._task = TASKS[letter]
        self._known: dict[Shape, Judged] = {}

    def result(self) -> StepResult:
        """Return the parts and the score."""
        task, weights = self._task, self._rules.weights
        hidden = task.hidden(self._judges.drawn(f"task {task.letter}"))
        right, failed = self._correctness((*task.shapes, *hidden, task.timed))
        fast = Part("performance", None, 0.0, "the time of a wrong kernel does not count")
        if right.passed:
            fast, failed = self._performance()
        parts = (right, fast, Part("implementation", None, 0.0, _NO_PART))
        score: float | None = None
        if not any(part.lost for part in parts):
            whole = (1 - weights["performance"]) * right.score + weights["performance"] * fast.score
            score = round(task.points * whole, 2)
        reproduce = ""
        if failed is not None:
            reproduce = f"python -m tirx_mini task {task.letter} {task.file} --shape {','.join(map(str, failed))}"
        return StepResult(0, task.points, score, parts, reproduce=reproduce, task=task.letter)

    def _correctness(self, problems: tuple[Shape, ...]) -> tuple[Part, Shape | None]:
        """Return the part, and the problem at which the kernel fails."""
        for problem in problems:
            try:
                judged = self._judged(problem)
            except Lost as error:
                return Part(PARTS[0], None, 0.0, f"not graded: {error}", lost=True), None
            if not judged.ok:
                said = plain_line(f"at {shape_text(problem)}: {judged.said}", MOST_TEXT)
                return Part(PARTS[0], False, 0.0, said, (plain_text(judged.page),) if judged.page else ()), problem
        return Part(PARTS[0], True, 1.0, f"{self._task.parameters[-1].name} is right at {len(problems)} sizes"), None

    def _performance(self) -> tuple[Part, Shape | None]:
        """Return the part of a right kernel, and the problem at which it is too slow."""
        task = self._task
        us = self._judged(task.timed).us
        assert us is not None, "a right kernel has a time"
        said = f"predicted on {task.spec.name}: {us:.1f} µs at {shape_text(task.timed)}"
        passed = us <= task.budget_us
        part = Part("performance", passed, float(passed), f"{said}, with a budget of {task.budget_us:g} µs")
        return part, None if passed else task.timed

    def _judged(self, problem: Shape) -> Judged:
        """Return the judgement for a problem, made once. Raises `Lost`."""
        if problem not in self._known:
            self._known[problem] = self._judge(problem)
        return self._known[problem]

    def _judge(self, problem: Shape) -> Judged:
        """Build the kernel for a problem and judge it. Raises `Lost`."""
        task, builder = self._task, self._builder
        built = builder.build(0, problem, task=task.letter)
        if isinstance(built, Refused):
            first, _, rest = built.text.partition("\n")
            return Judged(False, first, built.text if rest else "")
        question = Inquiry(
            built.text, self._handin.source, self._handin.file, str(builder.file), 0, problem, "float16", task.gpu,
            task=task.letter,
        )  # fmt: skip
        try:
            opened = self._judges.opened(question)
            if opened.problem:
                return Judged(False, opened.problem, opened.page)
            return self._judges.judged(question, opened, (self._rules.rtol, self._rules.atol))
        except Exceeded as error:
            return Judged(False, str(error))
