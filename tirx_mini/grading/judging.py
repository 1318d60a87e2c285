"""The judge's tasks on untrusted IR of a hand-in's process, in a process that can be terminated.

Each function with a `yield` is a task of `worker.Worker`. A task checks the text, lowers it, and simulates it on data
of its own. What it returns is plain data.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Generator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tirx_mini.course import TASKS, Shape, compared, matches, shape_text, wrong_finding
from tirx_mini.diagnose import Finding, Report, failed
from tirx_mini.driver import simulate
from tirx_mini.foreign import language_of
from tirx_mini.hardware import GpuSpec, gpu_spec
from tirx_mini.ir import Buffer, Launch, PrimFunc, TirxError
from tirx_mini.passes import lower
from tirx_mini.records import dataclass
from tirx_mini.report import WIDTH, finding_page, plain
from tirx_mini.saved import SavedKernelError, load_json

from .canonical import canonical, kernel_key
from .drawn import Matrices, matrices, right_in_clusters, wrong_tile
from .facts import contract_broken, facts_of, observed, resident_ctas
from .similar import Prints, prints

PAGE_WIDTH = WIDTH - 4
"""The width of pages, which are indented on the page of a grade."""
CLUSTERS = 3
"""The number of clusters whose D is compared while a large launch is timed."""
KEPT = 12
"""The number of lowered kernels that a process caches: those of one step's problems."""
_DEEP = 20_000
"""The recursion limit for deeply nested kernels, which `load_json` bounds."""


@dataclass(frozen=True)
class Inquiry:
    """One kernel as text, with its judging parameters.

    source, label, path: of the file that its lines are of: its text, its name in pages, and the name in the IR.
    gpu: to model. sms: how many of its SMs; None for all. task: the letter of a task, whose step is 0.
    """

    text: str
    source: str
    label: str
    path: str
    step: int
    shape: Shape
    dtype: str
    gpu: str
    sms: int | None = None
    task: str = ""

    @property
    def factory(self) -> str:
        """The name of the function that built the kernel."""
        return f"task_{self.task}" if self.task else f"hgemm_v{self.step}"

    @property
    def parameters(self) -> list[tuple[str, tuple[int, ...], str]]:
        """The name, shape and dtype of each parameter that the kernel must have."""
        if self.task:
            return [(each.name, each.shape(self.shape), each.dtype) for each in TASKS[self.task].parameters]
        m, n, k = self.shape
        return [(name, shape, self.dtype) for name, shape in (("A", (m, k)), ("B", (n, k)), ("D", (m, n)))]

    @property
    def spec(self) -> GpuSpec:
        return gpu_spec(self.gpu).with_sms(self.sms)


@dataclass(frozen=True)
class Opened:
    """A lowerable kernel, or the reason that it is none. key: as `kernel_key`. prints: for comparing hand-ins."""

    key: str = ""
    prints: Prints = frozenset()
    problem: str = ""
    page: str = ""


@dataclass(frozen=True)
class Judged:
    """A run on data. ok: whether D is right, without an error. said: the error, in a sentence. page: the finding.

    us: the predicted time, in microseconds; None if the run did not finish.
    clean: whether nothing at all was found, so that the result has no lines of this file.
    ended: whether the run came to an end within the limits.
    """

    ok: bool
    said: str = ""
    page: str = ""
    us: float | None = None
    clean: bool = False
    ended: bool = True


@dataclass(frozen=True)
class Timed:
    """A time. us: microseconds, or None for an incomplete run. said: the reason, as a sentence."""

    us: float | None
    said: str = ""
    page: str = ""


@dataclass(frozen=True)
class Grid:
    """ctas: of the grid. held: how many of them the GPU holds at a time. wrong: what is wrong with D, in a sentence."""

    ctas: int
    held: int
    wrong: str = ""


Task = Generator[None, None, Any]
Tolerance = tuple[float, float]
"""The tolerance (rtol, atol)."""


def opening(question: Inquiry) -> Task:
    """Return `Opened`."""
    yield
    try:
        _, lowered = loaded(question)
    except Unusable as error:
        return Opened(problem=error.said, page=error.page)
    return Opened(kernel_key(lowered), prints(lowered))


def judging(asked: tuple[Inquiry, int, Tolerance]) -> Task:
    """Return `Judged`. asked: also the seed of the data, and the tolerance."""
    question, seed, tolerance = asked
    form = _form(question)
    data = matrices(question.shape, question.dtype, seed)
    yield
    broken = contract_broken(form)
    if broken:
        return Judged(False, broken)
    report, right = _run(form, data, question.spec, tolerance)
    if report.errors or not right:
        return _explained(question, report, data, tolerance)
    clean = not report.findings and report.verdict == "ok"
    return Judged(True, _warned(report), us=report.time_us, clean=clean)


def judging_task(asked: tuple[Inquiry, int, Tolerance]) -> Task:
    """Return `Judged` of the kernel of a task. asked: as for `judging`."""
    question, seed, tolerance = asked
    task, form = TASKS[question.task], _form(question)
    arrays = task.arrays(question.shape, seed)
    yield
    broken = contract_broken(form, [each.name for each in task.parameters], task.zeroed)
    if broken:
        return Judged(False, broken)
    report, wrong = _run_task(question, form, arrays, tolerance)
    if report.errors or not report.comparable or report.verdict == "incomplete":
        again, _ = _run_task(question, loaded(question)[1], arrays, tolerance)  # with the names and lines of the file
        ended = bool(again.errors) or again.verdict != "incomplete"
        return Judged(False, _said(again), _pages(again), again.time_us, ended=ended)
    clean = not report.findings and report.verdict == "ok" and not wrong
    return Judged(not wrong, wrong or _warned(report), us=report.time_us, clean=clean)


def _run_task(
    question: Inquiry, kernel: PrimFunc, arrays: Sequence[np.ndarray], tolerance: Tolerance
) -> tuple[Report, str]:
    """Return the report of a run on copies of the data, and what is wrong with the result, as a sentence."""
    given = [array.copy() for array in arrays]
    report = simulate(kernel, *given, gpu=question.spec, jobs=1)
    return report, compared(TASKS[question.task], arrays, given[-1], tolerance) if report.comparable else ""


def timing(asked: tuple[Inquiry, int, Tolerance]) -> Task:
    """Return `Judged` of a large problem, with D compared for random clusters, and a sampled time.

    If that shows a mistake, or if clusters work together, the whole launch is run.
    """
    question, seed, tolerance = asked
    form, spec = _form(question), question.spec
    data = matrices(question.shape, question.dtype, seed)
    yield
    broken = contract_broken(form)
    if broken:
        return Judged(False, broken)
    if right_in_clusters(form, data, spec, seed, tolerance, CLUSTERS):
        report = simulate(form, gpu=spec, data=False, sampled=True, jobs=1)
        if report.time_us is not None and report.verdict == "clock" and not report.findings:
            return Judged(True, us=report.time_us, clean=True)
    report, wrong = _run_large(form, data, spec, seed, tolerance)
    if not wrong:
        clean = not report.findings and report.verdict == "ok"
        return Judged(True, _warned(report), us=report.time_us, clean=clean)
    if not report.comparable or report.errors:  # the names and lines are those of the file
        report, wrong = _run_large(loaded(question)[1], data, spec, seed, tolerance)
    return Judged(False, wrong, _pages(report), report.time_us)


def bounding(question: Inquiry) -> Task:
    """Return the bound of the kernel as a sentence, or "" if it is unknown."""
    _, lowered = loaded(question)
    yield
    report = simulate(lowered, gpu=question.spec, data=False, trace=True)
    return str(report.bound) if report.bound is not None else ""


def observing(asked: tuple[Inquiry, int, bool]) -> Task:
    """Return `Facts`. asked: also the seed of the data, and whether D is known to be right.

    For a wrong D, dependence is undefined, and all work counts.
    """
    question, seed, right = asked
    form, spec = _form(question), question.spec
    yield
    facts = observed(form, spec, question.shape, question.dtype, seed) if right else None
    if facts is not None:
        return facts
    report = simulate(form, gpu=spec, data=False, trace=True)
    return facts_of(form, report.trace)


def gridding(asked: tuple[Inquiry, int, Tolerance | None]) -> Task:
    """Return `Grid`. asked: also the seed of the data, and the tolerance, or None to skip the comparison of D."""
    question, seed, tolerance = asked
    form, spec = _form(question), question.spec
    yield
    wrong = contract_broken(form)
    if tolerance is not None and not wrong:
        data = matrices(question.shape, question.dtype, seed)
        if not right_in_clusters(form, data, spec, seed, tolerance):
            _, wrong = _run_large(loaded(question)[1], data, spec, seed, tolerance)
    return Grid(_launch(form).num_ctas, resident_ctas(_launch(form), spec), wrong)


# -- runs --------------------------------------------------------------------------------------------------------------


def _run(kernel: PrimFunc, data: Matrices, spec: GpuSpec, tolerance: Tolerance) -> tuple[Report, bool]:
    """Return the report of a run on data, and whether D is right.

    The kernel receives copies, so that the comparison uses the original inputs.
    """
    a, b, d = data
    d.fill(np.nan)
    report = simulate(kernel, a.copy(), b.copy(), d, gpu=spec, jobs=1)
    return report, report.comparable and matches(a, b, d, tolerance)


def _run_large(
    kernel: PrimFunc, data: Matrices, spec: GpuSpec, seed: int, tolerance: Tolerance
) -> tuple[Report, str]:
    """Return the report of a run of a large problem, and the error in random tiles of D, as a sentence."""
    a, b, d = data
    d.fill(np.nan)
    report = simulate(kernel, a.copy(), b.copy(), d, gpu=spec, jobs=1)
    if report.errors or not report.comparable:
        return report, _said(report)
    return report, wrong_tile(data, seed, tolerance)


def _explained(question: Inquiry, report: Report, data: Matrices, tolerance: Tolerance) -> Judged:
    """Return the explanation of a wrong run in the file's names and lines, which the canonical form's report lacks."""
    func, lowered = loaded(question)
    again, right = _run(lowered, data, question.spec, tolerance)
    if right and not again.errors:
        return Judged(False, _said(report), us=report.time_us)
    if not again.errors and again.comparable and again.verdict != "incomplete":
        a, b, d = data
        wrong = wrong_finding(a, b, d, func, again, tolerance)
        return Judged(False, wrong.message, plain(finding_page(wrong), PAGE_WIDTH), again.time_us)
    # what did not run, or was not modelled, may be what is missing
    ended = bool(again.errors) or again.verdict != "incomplete"
    return Judged(False, _said(again), _pages(again), again.time_us, ended=ended)


def _launch(form: PrimFunc) -> Launch:
    assert form.launch is not None
    return form.launch


# -- the kernel --------------------------------------------------------------------------------------------------------


class Unusable(Exception):
    """A text that is no kernel of the step. said: why, in a sentence. page: with the lines of the file."""

    def __init__(self, said: str, page: str = "") -> None:
        super().__init__(said)
        self.said, self.page = said, page


def loaded(question: Inquiry) -> tuple[PrimFunc, PrimFunc]:
    """Return the kernel as written, and lowered. Raises `Unusable`."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _DEEP))
    lines = question.source.splitlines(keepends=True)
    linecache.cache[question.label] = len(question.source), None, lines, question.label
    return _parsed(question)


@lru_cache(maxsize=KEPT)
def _form(question: Inquiry) -> PrimFunc:
    """Return the kernel in canonical form, the form that is judged."""
    return canonical(loaded(question)[1])


@lru_cache(maxsize=KEPT)
def _parsed(question: Inquiry) -> tuple[PrimFunc, PrimFunc]:
    try:
        func = load_json(question.text, {question.path: question.label})
    except SavedKernelError as error:
        raise Unusable(f"what the hand-in built is not a kernel: {error}") from None
    if func.launch is not None or func.tensor_maps:
        raise Unusable("what the hand-in built is lowered already: return the kernel as `Tx.prim_func` makes it")
    language = language_of(func.attrs)
    if language is not None:
        raise Unusable(f"what the hand-in built is a kernel of {language.language}: write it with `Tx.prim_func`")
    _check_parameters(func, question)
    try:
        return func, lower(func)
    except TirxError as error:
        report = failed(question.factory, error, question.spec.name)
        raise Unusable(_said(report), _pages(report)) from None


def _check_parameters(func: PrimFunc, question: Inquiry) -> None:
    """Check that the kernel takes A (M, K), B (N, K) and D (M, N), or the parameters of its task."""
    wanted = [(shape, dtype) for _, shape, dtype in question.parameters]
    found = [(param.shape, str(param.dtype)) for param in func.params if isinstance(param, Buffer)]
    plain = len({id(param) for param in func.params}) == len(wanted) and all(map(_is_plain, _buffers(func)))
    if len(func.params) != len(wanted) or found != wanted or not plain:
        had = ", ".join(f"{param.name} {param.shape} {param.dtype}" for param in _buffers(func)) or "none"
        *names, last = (f"{name} {shape} of {dtype}" for name, shape, dtype in question.parameters)
        raise Unusable(
            f"the parameters must be {', '.join(names)} and {last} for {shape_text(question.shape)}; they are "
            f"{had[:200]}"
        )


def _is_plain(param: Buffer) -> bool:
    """Return whether a buffer is contiguous and row-major in its own global memory."""
    viewed = param.source is not None or param.byte_offset or param.elem_offset is not None
    return param.scope == "global" and param.layout is None and not viewed and param.allocated_addr is None


def _buffers(func: PrimFunc) -> list[Buffer]:
    return [param for param in func.params if isinstance(param, Buffer)]


# -- pages -------------------------------------------------------------------------------------------------------------


def _said(report: Report) -> str:
    """Return the first finding as a sentence."""
    if not report.findings:
        return f"the run ended as {report.verdict}"
    first, others = _ordered(report)[0], len(report.findings) - 1
    more = f", and {others} more finding{'s' * (others > 1)}" if others else ""
    return f"{first.severity}[{first.code}]: {first.message}{more}"


def _pages(report: Report) -> str:
    """Return the page of the first finding, as `check` prints it."""
    return plain(finding_page(_ordered(report)[0]), PAGE_WIDTH) if report.findings else ""


def _ordered(report: Report) -> list[Finding]:
    return [*report.causes, *report.consequences]


def _warned(report: Report) -> str:
    """Return the findings that are not errors."""
    if not report.findings:
        return ""
    codes = ", ".join(dict.fromkeys(finding.code for finding in report.findings))
    return f"with {len(report.findings)} warning{'s' * (len(report.findings) > 1)} ({codes})"
