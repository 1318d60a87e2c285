"""The judge's side of a kernel: what is done with IR that a stranger's process wrote, in a process that can be ended.

Each function with a `yield` is a task of `worker.Worker`. A task checks the text, lowers it, and simulates it on data
of its own. What it returns is plain data.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Generator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..course import DTYPES, Shape, matches, shape_text, wrong_finding
from ..diagnose import Finding, Report, failed
from ..driver import simulate
from ..hardware import GpuSpec, gpu_spec
from ..ir import Buffer, PrimFunc, TirxError
from ..passes import lower
from ..report import WIDTH, finding_page, plain
from ..saved import SavedKernelError, load_json
from .canonical import kernel_key
from .facts import contract_broken, facts_of, resident_ctas
from .similar import Prints, prints

PAGE_WIDTH = WIDTH - 4
"""Columns of pages, which stand indented on the page of a grade."""
_DEEP = 20_000
"""Python frames: a kernel may be nested deeply, and is bounded by `load_json`."""


@dataclass(frozen=True)
class Question:
    """One kernel, as its text, and what it is to be judged as.

    source, label, path: of the file that its lines are of: its text, its name in pages, and the name in the IR.
    gpu: to model. sms: how many of its SMs; None for all.
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

    @property
    def spec(self) -> GpuSpec:
        return gpu_spec(self.gpu).with_sms(self.sms)


@dataclass(frozen=True)
class Opened:
    """A kernel that can be lowered, or why it cannot. key: as `kernel_key`. prints: for the comparison of hand-ins."""

    key: str = ""
    prints: Prints = frozenset()
    problem: str = ""
    page: str = ""


@dataclass(frozen=True)
class Judged:
    """A run on data. ok: whether D is right, without an error. said: what is wrong, in a sentence. page: the finding.

    clean: whether nothing at all was found, so that the result has no lines of this file.
    ended: whether the run came to an end within the limits.
    """

    ok: bool
    said: str = ""
    page: str = ""
    clean: bool = False
    ended: bool = True


@dataclass(frozen=True)
class Timed:
    """A predicted time. us: in microseconds; None where the run came to no end. said: why, in a sentence."""

    us: float | None
    said: str = ""
    page: str = ""


@dataclass(frozen=True)
class Grid:
    """ctas: of the grid. held: how many of them the GPU holds at a time."""

    ctas: int
    held: int


Task = Generator[None, None, Any]


def opening(question: Question) -> Task:
    """`Opened`."""
    yield
    try:
        _, lowered = loaded(question)
    except Unusable as error:
        return Opened(problem=error.said, page=error.page)
    return Opened(kernel_key(lowered), prints(lowered))


def judging(asked: tuple[Question, int, tuple[float, float]]) -> Task:
    """`Judged`. asked: also the seed of the data, and the tolerance."""
    question, seed, tolerance = asked
    func, lowered = loaded(question)
    m, n, k = question.shape
    kind, rng = DTYPES[question.dtype], np.random.default_rng(seed)
    a, b = (rng.standard_normal(shape, dtype=np.float32).astype(kind) for shape in ((m, k), (n, k)))
    d = np.full((m, n), np.nan, kind)
    yield
    broken = contract_broken(lowered)
    if broken:
        return Judged(False, broken)
    # The kernel gets copies: one that overwrites its inputs is compared with what they were.
    report = simulate(lowered, a.copy(), b.copy(), d, gpu=question.spec)
    right = report.comparable and matches(a, b, d, tolerance)
    if report.errors:
        return Judged(False, _said(report), _pages(report))
    if not right and report.verdict == "incomplete":  # what did not run, or was not modelled, may be what is missing
        return Judged(False, _said(report), _pages(report), ended=False)
    if not right:
        if not report.comparable:
            return Judged(False, f"the run ended as {report.verdict}", _pages(report))
        wrong = wrong_finding(a, b, d, func, report, tolerance)
        return Judged(False, wrong.message, plain(finding_page(wrong), PAGE_WIDTH))
    return Judged(True, _warned(report), clean=not report.findings and report.verdict == "ok")


def timing(question: Question) -> Task:
    """`Timed`."""
    _, lowered = loaded(question)
    yield
    report = simulate(lowered, gpu=question.spec, data=False, sampled=True, jobs=1)
    if report.time_us is None or report.errors:
        return Timed(None, _said(report), _pages(report))
    return Timed(report.time_us)


def bounding(question: Question) -> Task:
    """What bounds the kernel, in a sentence; "" where that is not known."""
    _, lowered = loaded(question)
    yield
    report = simulate(lowered, gpu=question.spec, data=False, trace=True)
    return str(report.bound) if report.bound is not None else ""


def observing(question: Question) -> Task:
    """`Facts`."""
    _, lowered = loaded(question)
    yield
    report = simulate(lowered, gpu=question.spec, data=False, trace=True)
    return facts_of(lowered, report.trace)


def gridding(question: Question) -> Task:
    """`Grid`."""
    _, lowered = loaded(question)
    yield
    assert lowered.launch is not None
    return Grid(lowered.launch.num_ctas, resident_ctas(lowered.launch, question.spec))


# -- the kernel --------------------------------------------------------------------------------------------------------


class Unusable(Exception):
    """A text that is no kernel of the step. said: why, in a sentence. page: with the lines of the file."""

    def __init__(self, said: str, page: str = "") -> None:
        super().__init__(said)
        self.said, self.page = said, page


def loaded(question: Question) -> tuple[PrimFunc, PrimFunc]:
    """The kernel as it was written, and lowered. Raises `Unusable`."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _DEEP))
    lines = question.source.splitlines(keepends=True)
    linecache.cache[question.label] = len(question.source), None, lines, question.label
    return _parsed(question)


@lru_cache(maxsize=2)
def _parsed(question: Question) -> tuple[PrimFunc, PrimFunc]:
    try:
        func = load_json(question.text, {question.path: question.label})
    except SavedKernelError as error:
        raise Unusable(f"what the hand-in built is not a kernel: {error}") from None
    _check_parameters(func, question)
    try:
        return func, lower(func)
    except TirxError as error:
        report = failed(f"hgemm_v{question.step}", error, question.spec.name)
        raise Unusable(_said(report), _pages(report)) from None


def _check_parameters(func: PrimFunc, question: Question) -> None:
    """Whether the kernel takes A (M, K), B (N, K) and D (M, N)."""
    m, n, k = question.shape
    wanted = [((m, k), question.dtype), ((n, k), question.dtype), ((m, n), question.dtype)]
    found = [(param.shape, str(param.dtype)) for param in func.params if isinstance(param, Buffer)]
    if len(func.params) != 3 or found != wanted or any(param.layout is not None for param in _buffers(func)):
        had = ", ".join(f"{param.name} {param.shape} {param.dtype}" for param in _buffers(func)) or "none"
        raise Unusable(
            f"the parameters must be A {(m, k)}, B {(n, k)} and D {(m, n)} of {question.dtype} for "
            f"{shape_text(question.shape)}; they are {had[:200]}"
        )


def _buffers(func: PrimFunc) -> list[Buffer]:
    return [param for param in func.params if isinstance(param, Buffer)]


# -- pages -------------------------------------------------------------------------------------------------------------


def _said(report: Report) -> str:
    """The first finding in a sentence."""
    if not report.findings:
        return f"the run ended as {report.verdict}"
    first, others = _ordered(report)[0], len(report.findings) - 1
    more = f", and {others} more finding{'s' * (others > 1)}" if others else ""
    return f"{first.severity}[{first.code}]: {first.message}{more}"


def _pages(report: Report) -> str:
    """The page of the first finding, as `check` prints it."""
    return plain(finding_page(_ordered(report)[0]), PAGE_WIDTH) if report.findings else ""


def _ordered(report: Report) -> list[Finding]:
    return [*report.causes, *report.consequences]


def _warned(report: Report) -> str:
    """What was found that is no error."""
    if not report.findings:
        return ""
    codes = ", ".join(dict.fromkeys(finding.code for finding in report.findings))
    return f"with {len(report.findings)} warning{'s' * (len(report.findings) > 1)} ({codes})"
