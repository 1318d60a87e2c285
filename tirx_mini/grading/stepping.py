"""Judging of one step of a hand-in: its kernels are built, opened, run on data, timed, and inspected."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Protocol

from tirx_mini.course import STEPS, Case, Shape, shape_text
from tirx_mini.hardware import DEFAULT_GPU, gpu_spec
from tirx_mini.records import dataclass, replace

from .bench import Bench
from .building import Built, Refused
from .drawn import WHOLE
from .features import JUDGED_BY_GRID, LARGE, Seen, ahead, missing
from .handin import HandIn
from .judges import Judges
from .judging import Grid, Inquiry, Judged, Opened
from .lost import Exceeded, Lost
from .results import Part
from .rules import PARTS, Rules
from .similar import Prints

OBSERVED_K = 512
"""The K of the run that shows a kernel's features: at least four K tiles, for tiles of up to 128."""


def observed_case(step: int, folder: str) -> Case:
    """Return a small problem that shows a step's features: some K tiles, and several tiles per CTA.

    folder: of the architecture's references, as in "sm100".
    """
    course = STEPS[step]
    few = course.rounds.get(folder)
    if few is not None:
        return Case((few.shape[0], few.shape[1], OBSERVED_K), few.sms)
    return Case(course.oblong or course.shape(OBSERVED_K))


class Kernels(Protocol):
    """The interface to build a hand-in's kernels."""

    file: Path
    """The source, at the path that kernels' lines name."""

    @property
    def log(self) -> str: ...

    @property
    def problem(self) -> str: ...

    def build(self, step: int, shape: Shape, dtype: str = ..., sms: int | None = ...) -> Built | Refused: ...


@dataclass(frozen=True)
class Kernel:
    """A built kernel that can be lowered."""

    question: Inquiry
    opened: Opened


@dataclass(frozen=True)
class NoKernel:
    """Why the kernel is missing, as a sentence and as a page. shape: whether the shape is the reason."""

    said: str
    page: str = ""
    shape: bool = False


@dataclass(frozen=True)
class Endless:
    """A case in which a kernel exceeded the limits, and which is therefore not repeated."""

    case: Case


@dataclass(frozen=True)
class StepJudge:
    """Judges the steps of one hand-in, for use in threads.

    bench: where kernels are run and timed; what they do is seen in the simulator in any case.
    gpu: the modelled one. full: all sizes of the assignment. on_gpu: all of them, on a GPU.
    building: held while a kernel is built.
    until: when no further step is begun, by `time.monotonic`.
    """

    handin: HandIn
    kernels: Kernels
    judges: Judges
    bench: Bench
    rules: Rules
    gpu: str
    full: bool
    on_gpu: bool
    prints: Callable[[int, Prints], None] | None = None
    building: threading.Lock = field(default_factory=threading.Lock)
    until: float = math.inf
    dtype: str = "float16"

    def parts(self, step: int) -> tuple[tuple[Part, ...], str]:
        """Return the three parts of a step, and the command that reproduces the first failure, or ""."""
        if time.monotonic() > self.until:
            late = Lost("the judge's time for one hand-in was over before this step")
            return tuple(_lost(name, late) for name in PARTS), ""
        return _OneStep(self, step).parts()

    @property
    def tolerance(self) -> tuple[float, float]:
        return self.rules.rtol, self.rules.atol

    @property
    def folder(self) -> str:
        """The folder of the architecture's references."""
        return gpu_spec(self.gpu).architecture.kernels

    def command(self, step: int, case: Case | None) -> str:
        """Return the command that reproduces a result for the student."""
        words = ["python -m tirx_mini check", f"{self.handin.file}:hgemm_v{step}"]
        if case is not None:
            words += ["--shape", ",".join(map(str, case.shape))]
        if self.gpu != DEFAULT_GPU:
            words += ["--gpu", self.gpu]
        if case is not None and case.sms is not None:
            words += ["--sms", str(case.sms)]
        return " ".join(words)


class _OneStep:
    """One step of a hand-in, whose kernel is built once per problem, for D, time and facts."""

    def __init__(self, judge: StepJudge, step: int) -> None:
        self._judge, self._step = judge, step
        self._kernels: dict[Case, Kernel | NoKernel] = {}
        self._judged: dict[Case, Judged] = {}
        self._grid: Grid | None = None
        self._given = judge.rules.cases(step, judge.folder, full=judge.full, gpu=judge.on_gpu)
        """The problems of the rules."""
        self._shown = replace(observed_case(step, judge.folder), timed=False)
        """The problem that shows what the step teaches."""

    def parts(self) -> tuple[tuple[Part, ...], str]:
        """Return the parts and the command, as `StepJudge.parts` does."""
        judge, step = self._judge, self._step
        try:
            correctness, failed = self._correctness()
        except Lost as error:
            return tuple(_lost(name, error) for name in PARTS), ""
        if isinstance(failed, NoKernel):
            return (correctness, *_unjudged("there is no kernel")), judge.command(step, None)
        if isinstance(failed, Endless):
            others = _unjudged("not judged, as the kernel does not come to an end within the limits")
            return (correctness, *others), judge.command(step, failed.case)
        try:
            performance, slow = self._performance(bool(correctness.passed))
        except Lost as error:
            performance, slow = _lost("performance", error), None
        try:
            implementation = self._implementation(bool(correctness.passed))
        except Lost as error:
            implementation = _lost("implementation", error)
        case = failed or (Case(slow) if slow else None)
        reproduce = judge.command(step, case) if case else ""
        if not reproduce and implementation.passed is False:
            reproduce = f"python grade.py {judge.handin.file} --steps {step}"
        return (correctness, performance, implementation), reproduce

    # -- the parts -----------------------------------------------------------------------------------------------------

    def _compared(self) -> tuple[Case, ...]:
        """Return the problems at which D is compared: those of the rules, and others on which points depend.

        The cheapest problem is first.
        """
        if self._judge.on_gpu:
            return self._given
        timed = (Case(shape, timed=False) for shape in self._judge.rules.timed(self._step, full=self._judge.full))
        return tuple(sorted({*self._given, self._shown, *timed}, key=lambda case: (math.prod(case.shape), str(case))))

    def _correctness(self) -> tuple[Part, Case | Endless | NoKernel | None]:
        """Return the part and its failure: a failed case, or why the step's kernel is missing."""
        judge, number, said = self._judge, 0, ""
        for case in self._compared():
            kernel = self._kernel(case)
            if isinstance(kernel, NoKernel):
                if kernel.shape and case not in self._given and case == self._shown:
                    continue  # another problem shows what it does
                none = number == 0 and not kernel.shape
                said = kernel.said if none else f"at {_at(case)}: {kernel.said}"
                return Part("correctness", False, 0.0, said, _pages(kernel.page)), kernel if none else case
            if number == 0 and judge.prints is not None:
                judge.prints(self._step, kernel.opened.prints)
            judged = self._run(case, kernel)
            if not judged.ok:
                judged = self._explained(judged)
                right = f"; {number} smaller size{'s are' if number > 1 else ' is'} right" if number else ""
                part = Part("correctness", False, 0.0, f"at {_at(case)}: {judged.said}{right}", _pages(judged.page))
                return part, case if judged.ended else Endless(case)
            said = said or judged.said
            number += 1
        try:
            wrong = self._look_at_large(judge.tolerance)
        except Exceeded as error:
            return Part("correctness", False, 0.0, f"at {shape_text(LARGE)}: {error}"), Endless(Case(LARGE))
        if wrong:
            return Part("correctness", False, 0.0, f"at {shape_text(LARGE)}: {wrong}"), Case(LARGE)
        sizes = f"{number} sizes" if number != 1 else _at(self._given[0])
        warned = f", {said}" if said else ""
        return Part("correctness", True, 1.0, f"D is right at {sizes}{warned}"), None

    def _run(self, case: Case, kernel: Kernel) -> Judged:
        """Run a kernel on data, once for each case."""
        if case not in self._judged:
            bench = self._judge.bench
            run = bench.judged if case in self._given else bench.timed
            try:
                self._judged[case] = run(kernel.question, kernel.opened, self._judge.tolerance)
            except Exceeded as error:
                self._judged[case] = Judged(False, str(error), ended=False)
        return self._judged[case]

    def _explained(self, judged: Judged) -> Judged:
        """Return a mistake seen on a GPU with the page of the simulator's finding at a small size, if any."""
        judge = self._judge
        if not judge.on_gpu or judged.page:
            return judged
        kernel = self._kernel(judge.rules.cases(self._step, judge.folder)[0])
        if isinstance(kernel, NoKernel):
            return judged
        try:
            found = judge.judges.judged(kernel.question, kernel.opened, judge.tolerance)
        except (Exceeded, Lost):
            return judged
        if found.ok:
            return judged
        return replace(judged, said=f"{judged.said}; the simulator finds: {found.said}", page=found.page)

    def _look_at_large(self, tolerance: tuple[float, float] | None) -> str:
        """Request the grid of a large problem if the step has one; return the error in its D as a sentence."""
        if STEPS[self._step].free != "MNK" or self._step not in JUDGED_BY_GRID:
            return ""
        large = self._kernel(Case(LARGE))
        if isinstance(large, Kernel):
            self._grid = self._judge.judges.grid(large.question, large.opened, tolerance)
        return self._grid.wrong if self._grid is not None else ""

    def _performance(self, right: bool) -> tuple[Part, Shape | None]:
        """Return the part, and the shape at which the kernel is too slow or has no time."""
        judge, slower = self._judge, self._judge.rules.steps[self._step].slower
        sentences: list[str] = []
        slow = None
        for shape in judge.rules.timed(self._step, full=judge.full, gpu=judge.on_gpu):
            found = self._timed(shape)
            if isinstance(found, NoKernel):
                said = f"at {shape_text(shape)}: {found.said}"
                return Part("performance", False, 0.0, said, _pages(found.page)), shape
            kernel, us, good = found
            sentences.append(f"{_against(us, good)} at {shape_text(shape)}")
            if us > max(good.values()) * (1 + slower):
                slow = shape
                sentences.append(f"at most {slower:.0%} more is allowed")
                sentences += filter(None, [judge.judges.bound(kernel.question) if right and not judge.on_gpu else ""])
                break
        said = f"{judge.bench.how}: {'; '.join(sentences)}"
        if not right:
            return Part("performance", None, 0.0, f"{said}; the time of a wrong kernel does not count"), None
        return Part("performance", slow is None, 0.0 if slow else 1.0, said), slow

    def _timed(self, shape: Shape) -> tuple[Kernel, float, Mapping[str, float]] | NoKernel:
        """Return the kernel for a shape, its time and the times of good kernels, in microseconds."""
        judge, case = self._judge, Case(shape, timed=False)
        kernel = self._kernel(case)
        if isinstance(kernel, NoKernel):
            return kernel
        try:
            known = None if judge.on_gpu else self._run(case, kernel)
            timed = known or judge.bench.timed(kernel.question, kernel.opened, judge.tolerance)
            if timed.us is None:
                return NoKernel(timed.said, timed.page)
            return kernel, timed.us, judge.bench.good(self._step, shape, judge.dtype, judge.gpu, judge.tolerance)
        except Exceeded as error:
            return NoKernel(str(error))

    def _implementation(self, right: bool) -> Part:
        shown = self._shown
        kernel = self._kernel(shown)
        if isinstance(kernel, NoKernel) and kernel.shape and STEPS[self._step].free == "MNK":
            # a kernel of a later step may take larger tiles only
            shown = replace(observed_case(max(STEPS), self._judge.folder), timed=False)
            kernel = self._kernel(shown)
        if isinstance(kernel, NoKernel):
            return Part("implementation", False, 0.0, f"at {_at(shown)}: {kernel.said}", _pages(kernel.page))
        for case in (shown, *(self._looked_at() if right else ())):
            try:
                if self._grid is None:
                    self._look_at_large(None)
                problems, ended = self._problems(case, None if case == shown else case.shape, right)
            except Exceeded as error:
                return Part("implementation", False, 0.0, f"at {_at(case)}: {error}")
            if problems:
                stopped = "" if ended else " (as far as it ran: it did not come to its end)"
                where = "" if case == shown else f"at {_at(case)}: "
                return Part("implementation", False, 0.0, f"{where}{'; '.join(problems)}{stopped}")
        return Part("implementation", True, 1.0, f"uses what step {self._step} teaches")

    def _looked_at(self) -> Iterator[Case]:
        """Yield the further problems for the step's features, of a size that the rules name."""
        judge, step = self._judge, self._step
        timed = () if judge.on_gpu else judge.rules.timed(step, full=judge.full)
        sizes = STEPS[step].all_shapes(full=True) if judge.on_gpu or judge.full else judge.rules.steps[step].data
        for case in self._compared():
            named = case.shape in timed or (case.shape in sizes and math.prod(case.shape) <= WHOLE)
            if case.sms is None and case != self._shown and named:
                yield case

    def _problems(self, case: Case, shape: Shape | None, right: bool) -> tuple[list[str], bool]:
        """Return in sentences the features that a case's kernel lacks or has early, and whether the run ended."""
        judge, kernel = self._judge, self._kernel(case)
        assert isinstance(kernel, Kernel)
        if right and case not in self._judged:  # the problems of a GPU are others
            judged = judge.judges.judged(kernel.question, kernel.opened, judge.tolerance)
            if not judged.ok:
                return [judged.said], True
        facts = judge.judges.facts(kernel.question, kernel.opened, right)
        ctas, held = (self._grid.ctas, self._grid.held) if self._grid is not None else (None, 0)
        seen = Seen(facts, ctas, held, gpu_spec(judge.gpu), shape)
        return [*missing(self._step, seen), *ahead(self._step, seen)], facts.ended

    # -- kernels -------------------------------------------------------------------------------------------------------

    def _kernel(self, case: Case) -> Kernel | NoKernel:
        """Return the kernel for a case, or the reason that there is none."""
        case = replace(case, timed=False)
        if case not in self._kernels:
            self._kernels[case] = self._built(case)
        return self._kernels[case]

    def _built(self, case: Case) -> Kernel | NoKernel:
        judge = self._judge
        with judge.building:
            built = judge.kernels.build(self._step, case.shape, judge.dtype, case.sms)
        if isinstance(built, Refused):
            return _refused(self._step, built)
        path = str(judge.kernels.file)
        question = Inquiry(
            built.text, judge.handin.source, judge.handin.file, path, self._step, case.shape, judge.dtype, judge.gpu,
            case.sms,
        )  # fmt: skip
        try:
            opened = judge.judges.opened(question)
        except Exceeded as error:
            return NoKernel(str(error))
        return NoKernel(opened.problem, opened.page) if opened.problem else Kernel(question, opened)


def _refused(step: int, refused: Refused) -> NoKernel:
    first, _, rest = refused.text.partition("\n")
    if refused.kind == "todo":
        return NoKernel(f"step {step} is not written yet")
    return NoKernel(first, refused.text if rest else "", refused.kind == "refused")


def _unjudged(why: str) -> tuple[Part, ...]:
    """Return the parts that were not inspected."""
    return tuple(Part(name, None, 0.0, why) for name in PARTS[1:])


def _lost(name: str, error: Lost) -> Part:
    """Return a part at which the judge failed."""
    return Part(name, None, 0.0, f"not graded: {error}", lost=True)


def _pages(page: str) -> tuple[str, ...]:
    return (page,) if page else ()


def _at(case: Case) -> str:
    """Return a case as text for a reader."""
    return f"{shape_text(case.shape)} on {case.sms} SMs" if case.sms else shape_text(case.shape)


def _against(us: float, good: Mapping[str, float]) -> str:
    """Return a time, and its ratio to the longest of the good times."""
    source, best = max(good.items(), key=lambda item: item[1])
    more = us / best - 1
    compared = f"{abs(more):.0%} {'more' if more > 0 else 'less'} than" if round(abs(more), 2) else "as long as"
    return f"{us:.1f} µs, {compared} {source} ({best:.1f} µs)"
