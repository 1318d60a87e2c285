"""The progress of a student: for each step, whether it is written, right and fast, and the next task."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from tirx_mini.hardware import BLACKWELL, DEFAULT_GPU, gpu_spec, nearest_gpu, same_generation
from tirx_mini.ir import TirxError
from tirx_mini.records import dataclass

from .hints import hints_of, matched
from .kernels import Factory, KernelFileError, arch_folder, default_kernels, load_kernels, read_kernels
from .ladder import Row, Task
from .steps import STEPS, TIME_TOLERANCE, Case, Shape, Step
from .todos import Todo, architecture_in, hint_command, todos_in

LARGEST = 1024
"""The size of the largest square product that is run by default."""
_SOLUTIONS = "docs/steps/solutions.md"
"""The page with what each step after the first changes, for Blackwell."""


class State(enum.Enum):
    """The state of a step; the value is the word in a table."""

    ABSENT = "not in the file"
    NOT_BEGUN = "not begun"
    TODO = "TODO left"
    NOT_LOADED = "not loaded"
    NOT_BUILT = "does not build"
    BUILDS = "builds"
    FINDINGS = "findings"
    WRONG = "wrong result"
    RIGHT = "right, but slow"
    FAST = "right and fast"


@dataclass(frozen=True)
class Standing:
    """One step of a student's file.

    line: of the first TODO that is left.
    tests, passed: how many problems were run, and how many results are right, without an error.
    codes: of the findings, each once.
    shape: the problem whose time is compared.
    tflops, reference_tflops: the predicted rates of the student's kernel, if it is right, and of the reference there.
    failing: the first problem that did not pass.
    detail: the page about what is wrong; "" if nothing is.
    """

    step: int
    state: State
    line: int | None = None
    tests: int = 0
    passed: int = 0
    codes: tuple[str, ...] = ()
    shape: Shape | None = None
    tflops: float | None = None
    reference_tflops: float | None = None
    failing: Case | None = None
    detail: str = ""

    @property
    def share(self) -> float | None:
        """The student's rate as a share of the reference's."""
        if self.tflops is None or self.reference_tflops is None:
            return None
        return self.tflops / self.reference_tflops

    @property
    def done(self) -> bool:
        return self.state is State.FAST


@dataclass(frozen=True)
class Advice:
    """The advice to a student on the next task. step: its step, None for all. command: "" if there is none."""

    step: int | None
    sentence: str
    command: str


@dataclass(frozen=True)
class Plan:
    """The planned runs, listed before the first one starts.

    path: the student's file.
    gpu: the modelled GPU.
    known: the steps that are not run, with their known standing.
    cases: the problems of each step that is.
    references: for each step that is run, the task that predicts the time of its reference.
    problem: why the file could not be loaded; "" if it could.
    """

    path: Path
    gpu: str
    known: Mapping[int, Standing]
    cases: Mapping[int, tuple[Case, ...]]
    references: Mapping[int, Task]
    problem: str = ""

    def tasks(self) -> list[Task]:
        """Return the tasks to run, step by step: the problems, and the reference's time."""
        found: list[Task] = []
        for step, cases in self.cases.items():
            found += [Task(self.path, step, case.shape, self.gpu, sms=case.sms) for case in cases]
            found.append(self.references[step])
        return found

    def standings(self, rows: Sequence[Row]) -> list[Standing]:
        """Return the steps in order. rows: the rows of `tasks()`, in that order."""
        found, first = dict(self.known), 0
        for step, cases in self.cases.items():
            last = first + len(cases)
            found[step] = _standing(step, cases, rows[first:last], rows[last])
            first = last + 1
        return [found[step] for step in sorted(found)]


def plan(path: Path, gpu: str | None = None, largest: int | None = LARGEST) -> Plan:
    """Read a student's file, and determine the runs.

    gpu: to model; by default one of the architecture that the file is for. largest: the size of the largest square
    product to run; None for all that the step tests run.
    Raises `KernelFileError` if there is no file, `ValueError` for an unknown GPU, or one of another architecture.
    """
    text = read_kernels(path)
    arch = architecture_in(path, text)
    spec = gpu_spec(gpu) if gpu is not None else nearest_gpu(arch)
    if not same_generation(spec.arch, arch):
        raise ValueError(f"the kernels in {path} are for {arch}, and {spec.name} is a GPU of {spec.arch}")
    folder, todos = arch_folder(arch), todos_in(text)
    known: dict[int, Standing] = {}
    for number in STEPS:
        if number in todos and (standing := _unwritten(number, todos[number], folder)) is not None:
            known[number] = standing
    kernels, problem = _load(path, folder) if len(known) < len(STEPS) else ({}, "")
    cases: dict[int, tuple[Case, ...]] = {}
    for number in sorted(STEPS.keys() - known.keys()):
        chosen = _cases(STEPS[number], folder, largest)
        if problem:
            known[number] = Standing(number, State.NOT_LOADED)
        elif number not in kernels:
            known[number] = Standing(number, State.ABSENT)
        elif (standing := _not_built(number, kernels[number], chosen[0])) is not None:
            known[number] = standing
        else:
            cases[number] = chosen
    references = {number: _reference(number, cases[number], spec.name.lower()) for number in cases}
    return Plan(path, spec.name.lower(), known, cases, references, problem)


def advice(plan: Plan, standings: Sequence[Standing]) -> Advice:
    """Return the next task, about the first step that is not right and fast."""
    left = next((standing for standing in standings if not standing.done), None)
    if left is None:
        command = f"python -m tirx_mini ladder --kernels {plan.path} --gpu {plan.gpu}"
        return Advice(
            None, "all steps are right and fast; see docs/guide/hardware.md for a GPU, and large sizes:", command
        )
    kernel = f"{plan.path}:hgemm_v{left.step}"
    if left.failing is not None:
        kernel += f" --shape {','.join(map(str, left.failing.shape))}"
        kernel += f" --sms {left.failing.sms}" if left.failing.sms else ""
    kernel += f" --gpu {plan.gpu}" if plan.gpu != DEFAULT_GPU else ""
    check = f"python -m tirx_mini check {kernel}"
    hint = hint_command(plan.path, left.step)
    said: Mapping[State, tuple[str, str]] = {
        State.ABSENT: (f"define hgemm_v{left.step}, which is missing, as in the file that you were given.", ""),
        State.NOT_LOADED: ("correct the mistake that keeps the file from being loaded, and run this again.", ""),
        State.NOT_BEGUN: (f"read docs/steps/step{left.step:02}.md, and begin step {left.step}. For a hint:", hint),
        State.TODO: (f"fill in the TODO at line {left.line}, in step {left.step}. For a hint:", hint),
        State.NOT_BUILT: (f"see why step {left.step} does not build:", check),
        State.BUILDS: (f"see why the run of step {left.step} is incomplete:", check),
        State.FINDINGS: (f"see what is wrong with step {left.step}:", check),
        State.WRONG: (f"see why the result of step {left.step} is wrong:", check),
        State.RIGHT: (
            f"step {left.step} takes over {TIME_TOLERANCE:.0%} longer than the reference; see where its time goes:",
            f"python -m tirx_mini trace {kernel} -o step{left.step:02}.html",
        ),
    }
    return Advice(left.step, *said[left.state])


def solutions(plan: Plan, standings: Sequence[Standing]) -> str:
    """Return a sentence about the solutions of the steps whose tests pass; "" if there is none."""
    passed = [standing.step for standing in standings if standing.done and standing.step > min(STEPS)]
    if not passed or architecture_in(plan.path, read_kernels(plan.path)) != BLACKWELL.name:
        return ""
    steps = f"step {passed[0]} passes" if len(passed) == 1 else f"steps {', '.join(map(str, passed))} pass"
    return f"{steps}; compare with {_SOLUTIONS}#step-{passed[-1]}"


# -- one step ----------------------------------------------------------------------------------------------------------


def _unwritten(step: int, todos: Sequence[Todo], folder: str) -> Standing | None:
    """Return the standing of a step with open TODOs, or None if there are none."""
    left = [todo for todo in todos if todo.open]
    if not left:
        return None
    hints = hints_of(step, folder)
    begun = len(left) < len(todos) or sum(todo.open for todo in matched(hints, todos).values()) < len(hints)
    return Standing(step, State.TODO if begun else State.NOT_BEGUN, line=left[0].line)


def _load(path: Path, folder: str) -> tuple[Mapping[int, Factory], str]:
    """Return the kernels of a file, and the reason that it cannot be loaded, or ""."""
    try:
        return load_kernels(path, folder), ""
    except (KernelFileError, TirxError, ValueError) as error:
        return {}, str(error)


def _not_built(step: int, factory: Factory, case: Case) -> Standing | None:
    """Return the standing of a step whose kernel cannot be built, or None if it can."""
    try:
        factory(*case.shape)
    except TirxError as error:
        if error.kind == "todo":
            return Standing(step, State.TODO, line=error.span.user.line if error.span is not None else None)
        codes = (error.diagnostic.code,)
        return Standing(step, State.NOT_BUILT, codes=codes, failing=case, detail=str(error))
    except (KernelFileError, ValueError) as error:
        return Standing(step, State.NOT_BUILT, failing=case, detail=str(error))
    return None


def _cases(step: Step, folder: str, largest: int | None) -> tuple[Case, ...]:
    """Return the problems to run: all up to a square product of a size, and at least the smallest."""
    limit = math.inf if largest is None else max(largest, min(map(max, step.shapes))) ** 3
    return tuple(case for case in step.cases(folder) if math.prod(case.shape) <= limit)


def _timed(cases: Sequence[Case]) -> Case:
    """Return the largest of the problems whose time is judged."""
    return max((case for case in cases if case.timed), key=lambda case: math.prod(case.shape))


def _reference(step: int, cases: Sequence[Case], gpu: str) -> Task:
    """Return the reference's task, with the whole launch timed as the student's, since a sampled time may differ."""
    return Task(default_kernels(), step, _timed(cases).shape, gpu, data=False, sampled=False)


def _standing(step: int, cases: Sequence[Case], rows: Sequence[Row], reference: Row) -> Standing:
    """Return the standing of a step after its runs. rows: the rows of the cases, in order."""
    mine = rows[cases.index(_timed(cases))]
    failed = [(case, row) for case, row in zip(cases, rows, strict=True) if not row.ok]
    failed.sort(key=lambda pair: pair[1].verdict == "incomplete")  # what is wrong before what is not known
    codes = tuple(dict.fromkeys(code for row in rows for code in row.codes))
    failing, detail = (failed[0][0], failed[0][1].detail) if failed else (None, "")
    if failed:
        state = _FAILED.get(failed[0][1].verdict, State.FINDINGS)
    elif mine.time_us and reference.time_us and mine.time_us > reference.time_us * (1 + TIME_TOLERANCE):
        state, failing = State.RIGHT, _timed(cases)
    else:
        state = State.FAST
    return Standing(
        step, state, tests=len(cases), passed=len(cases) - len(failed), codes=codes, shape=mine.shape,
        tflops=None if failed else mine.tflops, reference_tflops=reference.tflops, failing=failing, detail=detail,
    )  # fmt: skip


_FAILED: Mapping[str, State] = {
    "wrong": State.WRONG,
    "incomplete": State.BUILDS,
    "refused": State.NOT_BUILT,
    "error": State.NOT_BUILT,
}
