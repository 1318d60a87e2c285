"""Judging one step of a hand-in: its kernels are built and opened, run on data, timed, and looked at."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from ..course import STEPS, Case, Shape, shape_text
from ..hardware import DEFAULT_GPU, gpu_spec
from .bench import Bench
from .building import Built, Refused
from .features import LARGE, Seen, ahead, missing
from .handin import HandIn
from .judges import Judges
from .judging import Judged, Opened, Question
from .lost import Exceeded, Lost
from .results import Part
from .rules import PARTS, Rules
from .similar import Prints

OBSERVED_K = 512
"""The K of the run that shows what a kernel does: at least four K tiles, for tiles of up to 128."""


def observed_case(step: int, folder: str) -> Case:
    """A small problem that shows what the kernel of a step does: some K tiles, and several tiles a CTA.

    folder: of the architecture's references, as in "sm100".
    """
    course = STEPS[step]
    few = course.rounds.get(folder)
    if few is not None:
        return Case((few.shape[0], few.shape[1], OBSERVED_K), few.sms)
    return Case(course.oblong or course.shape(OBSERVED_K))


class Kernels(Protocol):
    """What builds the kernels of a hand-in."""

    file: Path
    """The source, at the path that kernels' lines name."""

    @property
    def log(self) -> str: ...

    @property
    def problem(self) -> str: ...

    def build(self, step: int, shape: Shape, dtype: str = ..., sms: int | None = ...) -> Built | Refused: ...


@dataclass(frozen=True)
class Kernel:
    """A kernel that was built and can be lowered."""

    question: Question
    opened: Opened


@dataclass(frozen=True)
class NoKernel:
    """Why there is none, in a sentence, and on a page. shape: whether it is because of the shape."""

    said: str
    page: str = ""
    shape: bool = False


@dataclass(frozen=True)
class Endless:
    """A case in which a kernel came to no end within the limits. Further runs of it would cost as much again."""

    case: Case


@dataclass(frozen=True)
class StepJudge:
    """Judges the steps of one hand-in, for threads.

    bench: where kernels are run and timed; what they do is seen in the simulator in any case.
    gpu: the modelled one. full: all sizes of the assignment. on_gpu: all of them, on a GPU.
    seed: of the data. building: held while a kernel is built.
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
    seed: int
    prints: Callable[[int, Prints], None] | None = None
    building: threading.Lock = field(default_factory=threading.Lock)
    until: float = math.inf
    dtype: str = "float16"

    def parts(self, step: int) -> tuple[tuple[Part, ...], str]:
        """The three parts of a step, and the command that shows the first failure again; "" where there is none."""
        if time.monotonic() > self.until:
            late = Lost("the judge's time for one hand-in was over before this step")
            return tuple(_lost(name, late) for name in PARTS), ""
        try:
            correctness, failed = self._correctness(step)
        except Lost as error:
            return tuple(_lost(name, error) for name in PARTS), ""
        if isinstance(failed, NoKernel):
            return (correctness, *_unjudged("there is no kernel")), self._command(step, None)
        if isinstance(failed, Endless):
            others = _unjudged("not judged, as the kernel does not come to an end within the limits")
            return (correctness, *others), self._command(step, failed.case)
        try:
            performance, slow = self._performance(step, bool(correctness.passed))
        except Lost as error:
            performance, slow = _lost("performance", error), None
        try:
            implementation = self._implementation(step)
        except Lost as error:
            implementation = _lost("implementation", error)
        case = failed or (Case(slow) if slow else None)
        reproduce = self._command(step, case) if case else ""
        if not reproduce and implementation.passed is False:
            reproduce = f"python grade.py {self.handin.file} --steps {step}"
        return (correctness, performance, implementation), reproduce

    # -- the parts -----------------------------------------------------------------------------------------------------

    def _correctness(self, step: int) -> tuple[Part, Case | Endless | NoKernel | None]:
        """The part, and what failed: a case; the reason where there is no kernel of the step at all."""
        cases = self.rules.cases(step, self._folder, full=self.full, gpu=self.on_gpu)
        said = ""
        for number, case in enumerate(cases):
            kernel = self._kernel(step, case)
            if isinstance(kernel, NoKernel):
                none = number == 0 and not kernel.shape
                said = kernel.said if none else f"at {_at(case)}: {kernel.said}"
                return Part("correctness", False, 0.0, said, _pages(kernel.page)), kernel if none else case
            if number == 0 and self.prints is not None:
                self.prints(step, kernel.opened.prints)
            try:
                judged = self.bench.judged(kernel.question, kernel.opened, self.seed, self._tolerance)
            except Exceeded as error:
                judged = Judged(False, str(error), ended=False)
            if not judged.ok:
                judged = self._explained(step, judged)
                right = f"; {number} smaller size{'s are' if number > 1 else ' is'} right" if number else ""
                part = Part("correctness", False, 0.0, f"at {_at(case)}: {judged.said}{right}", _pages(judged.page))
                return part, case if judged.ended else Endless(case)
            said = said or judged.said
        sizes = f"{len(cases)} sizes" if len(cases) != 1 else _at(cases[0])
        warned = f", {said}" if said else ""
        return Part("correctness", True, 1.0, f"D is right at {sizes}{warned}"), None

    def _explained(self, step: int, judged: Judged) -> Judged:
        """What went wrong on a GPU, with the page of what the simulator finds at a small size, if it finds anything."""
        if not self.on_gpu or judged.page:
            return judged
        kernel = self._kernel(step, self.rules.cases(step, self._folder)[0])
        if isinstance(kernel, NoKernel):
            return judged
        try:
            found = self.judges.judged(kernel.question, kernel.opened, self.seed, self._tolerance)
        except (Exceeded, Lost):
            return judged
        if found.ok:
            return judged
        return replace(judged, said=f"{judged.said}; the simulator finds: {found.said}", page=found.page)

    def _performance(self, step: int, right: bool) -> tuple[Part, Shape | None]:
        """The part, and the shape at which the kernel is too slow or has no time."""
        sentences: list[str] = []
        slow = None
        for shape in self.rules.timed(step, full=self.full, gpu=self.on_gpu):
            found = self._compared(step, shape)
            if isinstance(found, NoKernel):
                said = f"at {shape_text(shape)}: {found.said}"
                return Part("performance", False, 0.0, said, _pages(found.page)), shape
            kernel, us, good = found
            sentences.append(f"{_against(us, good)} at {shape_text(shape)}")
            if us > max(good.values()) * (1 + self.rules.steps[step].slower):
                slow = shape
                sentences.append(f"at most {self.rules.steps[step].slower:.0%} more is allowed")
                sentences += filter(None, [self.judges.bound(kernel.question) if right and not self.on_gpu else ""])
                break
        said = f"{self.bench.how}: {'; '.join(sentences)}"
        if not right:
            return Part("performance", None, 0.0, f"{said}; the time of a wrong kernel does not count"), None
        return Part("performance", slow is None, 0.0 if slow else 1.0, said), slow

    def _compared(self, step: int, shape: Shape) -> tuple[Kernel, float, Mapping[str, float]] | NoKernel:
        """The kernel of a step for a shape, its time and those of good kernels, in microseconds."""
        kernel = self._kernel(step, Case(shape))
        if isinstance(kernel, NoKernel):
            return kernel
        try:
            timed = self.bench.timed(kernel.question, kernel.opened, self.seed, self._tolerance)
            if timed.us is None:
                return NoKernel(timed.said, timed.page)
            return kernel, timed.us, self.bench.good(step, shape, self.dtype, self.gpu)
        except Exceeded as error:
            return NoKernel(str(error))

    def _implementation(self, step: int) -> Part:
        case = observed_case(step, self._folder)
        kernel = self._kernel(step, case)
        if isinstance(kernel, NoKernel) and kernel.shape and STEPS[step].free == "MNK":
            case = observed_case(max(STEPS), self._folder)  # a kernel of a later step may take larger tiles only
            kernel = self._kernel(step, case)
        if isinstance(kernel, NoKernel):
            return Part("implementation", False, 0.0, f"at {_at(case)}: {kernel.said}", _pages(kernel.page))
        try:
            facts = self.judges.facts(kernel.question, kernel.opened)
            large = self._kernel(step, Case(LARGE)) if STEPS[step].free == "MNK" else None
            grid = self.judges.grid(large.question) if isinstance(large, Kernel) else None
        except Exceeded as error:
            return Part("implementation", False, 0.0, f"at {_at(case)}: {error}")
        seen = Seen(facts, grid.ctas if grid else None, grid.held if grid else 0, gpu_spec(self.gpu))
        problems = [*missing(step, seen), *ahead(step, seen)]
        if not problems:
            return Part("implementation", True, 1.0, f"uses what step {step} teaches")
        stopped = "" if facts.ended else " (as far as it ran: it did not come to its end)"
        return Part("implementation", False, 0.0, f"{'; '.join(problems)}{stopped}")

    # -- kernels -------------------------------------------------------------------------------------------------------

    @property
    def _tolerance(self) -> tuple[float, float]:
        return self.rules.rtol, self.rules.atol

    @property
    def _folder(self) -> str:
        return gpu_spec(self.gpu).architecture.kernels

    def _kernel(self, step: int, case: Case) -> Kernel | NoKernel:
        """The kernel of a step for a case, or why there is none."""
        with self.building:
            built = self.kernels.build(step, case.shape, self.dtype, case.sms)
        if isinstance(built, Refused):
            return _refused(step, built)
        path = str(self.kernels.file)
        question = Question(
            built.text, self.handin.source, self.handin.file, path, step, case.shape, self.dtype, self.gpu, case.sms
        )
        try:
            opened = self.judges.opened(question)
        except Exceeded as error:
            return NoKernel(str(error))
        return NoKernel(opened.problem, opened.page) if opened.problem else Kernel(question, opened)

    def _command(self, step: int, case: Case | None) -> str:
        """What shows the student the same."""
        words = ["python -m tirx_mini check", f"{self.handin.file}:hgemm_v{step}"]
        if case is not None:
            words += ["--shape", ",".join(map(str, case.shape))]
        if self.gpu != DEFAULT_GPU:
            words += ["--gpu", self.gpu]
        if case is not None and case.sms is not None:
            words += ["--sms", str(case.sms)]
        return " ".join(words)


def _refused(step: int, refused: Refused) -> NoKernel:
    first, _, rest = refused.text.partition("\n")
    if refused.kind == "todo":
        return NoKernel(f"step {step} is not written yet")
    return NoKernel(first, refused.text if rest else "", refused.kind == "refused")


def _unjudged(why: str) -> tuple[Part, ...]:
    """The parts that were not looked at."""
    return tuple(Part(name, None, 0.0, why) for name in PARTS[1:])


def _lost(name: str, error: Lost) -> Part:
    """A part that the judge failed at."""
    return Part(name, None, 0.0, f"not graded: {error}", lost=True)


def _pages(page: str) -> tuple[str, ...]:
    return (page,) if page else ()


def _at(case: Case) -> str:
    """A case as a reader sees it."""
    return f"{shape_text(case.shape)} on {case.sms} SMs" if case.sms else shape_text(case.shape)


def _against(us: float, good: Mapping[str, float]) -> str:
    """A time, and how it compares with the longest of the good ones."""
    source, best = max(good.items(), key=lambda item: item[1])
    more = us / best - 1
    compared = f"{abs(more):.0%} {'more' if more > 0 else 'less'} than" if round(abs(more), 2) else "as long as"
    return f"{us:.1f} µs, {compared} {source} ({best:.1f} µs)"
