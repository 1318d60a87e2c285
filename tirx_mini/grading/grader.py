"""Grading of one hand-in: kernels are built in a sandbox, judged in other processes, and scored."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from tirx_mini.course import STEPS
from tirx_mini.hardware import BLACKWELL, GPUS, HOPPER, GpuSpec, gpu_spec, nearest_gpu, same_generation
from tirx_mini.sandbox import Limits, Sandbox, SandboxError, find_sandbox

from .bench import OnGpu, Simulated
from .building import Builder
from .cache import Cache
from .handin import HandIn
from .heard import MOST_HEARD
from .judges import Judges
from .results import Graded, Part, StepResult
from .rules import PARTS, Rules
from .scoring import lateness, scored, total
from .similar import Prints
from .stepping import Kernels, StepJudge
from .submitted import own_time
from .text import MOST_TEXT, plain_line, plain_text

Watch = Callable[[int, StepResult | None], None]
"""The function called with a step number: with None at the start, with the result at the end."""


def default_gpu(handin: HandIn) -> GpuSpec:
    """Return the modelled GPU for the kernels of a hand-in."""
    arch = next(each for each in (BLACKWELL, HOPPER) if each.student_file == handin.file)
    return nearest_gpu(arch.name)


def grade(
    handin: HandIn,
    rules: Rules,
    *,
    target: str = "sim",
    gpu: str | None = None,
    jobs: int = 2,
    cache: Cache | None = None,
    full: bool = False,
    steps: Sequence[int] = tuple(STEPS),
    watch: Watch | None = None,
    prints: Callable[[int, Prints], None] | None = None,
    judges: Judges | None = None,
    bench: OnGpu | None = None,
    handed_in: float | None = None,
    sandbox: Sandbox | None = None,
    kernels: Kernels | None = None,
    own: bool = False,
) -> Graded:
    """Grade a hand-in.

    target: "sim", or "cuda" for the GPU of this machine. gpu: which one is modelled; by default one that the file is
        for. full: all sizes of the assignment, with their data.
    jobs: how many steps are judged at a time. judges: processes that are shared with other hand-ins; else `jobs` are
        started, with `cache`. bench: for "cuda", the process that launches, shared like them.
    steps: which are graded; the others count as not written.
    watch: called in threads. prints: called with each step's prints (`similar.prints`).
    handed_in: when, in seconds since 1970; by default the time of the file.
    sandbox, kernels: where the hand-in's Python is executed, or what builds its kernels instead.
    own: whether it is the caller's own file, which needs no sandbox that closes it off.

    Raises `ValueError` for a GPU of another architecture than the file is for, `NoGpu` where there is none,
    `SandboxError` where no process can be started for the hand-in, and `NotClosed` where this machine cannot keep it
    from the files of others.
    """
    begun = time.monotonic()
    spec = gpu_spec(gpu) if gpu is not None else default_gpu(handin)
    if not same_generation(spec.arch, default_gpu(handin).arch):
        fitting = ", ".join(name for name, each in GPUS.items() if same_generation(each.arch, default_gpu(handin).arch))
        raise ValueError(f"the kernels in {handin.file} are not for {spec.name}: use {fitting}")
    with ExitStack() as stack:
        notes: tuple[str, ...] = ()
        if kernels is None:
            kernels, notes = builder_of(handin, rules, stack, sandbox, own)
        if judges is None:
            judges = stack.enter_context(Judges(jobs, rules.judge, cache, full))
        if target == "cuda":
            bench = bench or stack.enter_context(OnGpu(judges))
            if not same_generation(bench.arch, spec.arch):
                raise ValueError(f"the kernels in {handin.file} are for {spec.arch}, and this GPU is a {bench.name}")
            spec, name = nearest_gpu(bench.arch, bench.name), bench.name
        else:
            bench, name = None, spec.name
        judge = StepJudge(
            handin, kernels, judges, bench or Simulated(judges, name), rules, spec.name.lower(), full=full,
            on_gpu=target == "cuda", prints=prints, building=threading.Lock(),
            until=begun + (rules.judge.full_total_s if full else rules.judge.total_s),
        )  # fmt: skip
        with ThreadPoolExecutor(jobs) as pool:
            try:
                results = list(pool.map(lambda step: _one(judge, step, watch), steps))
            except KeyboardInterrupt:
                judges.close()  # the pool waits for its threads, and they for answers
                raise
        log, problem = kernels.log, kernels.problem
    results, problem = _said_once(results, problem)
    late = lateness(rules.lateness, handed_in if handed_in is not None else own_time(handin))
    return Graded(
        handin.name, handin.digest, target, name, tuple(results), total(results, late), rules.total, late, notes,
        problem, log, round(time.monotonic() - begun, 1),
    )  # fmt: skip


def builder_of(
    handin: HandIn, rules: Rules, stack: ExitStack, sandbox: Sandbox | None = None, own: bool = False
) -> tuple[Builder, tuple[str, ...]]:
    """Return a process for a hand-in's Python, which `stack` ends, and the notes on its sandbox.

    sandbox, own: as in `grade`. Raises `NotClosed`.
    """
    sandbox = sandbox or find_sandbox()
    if not (sandbox.closed or own):
        raise NotClosed
    scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="grade-")))
    return stack.enter_context(Builder(handin, Limits(**rules.student), sandbox, scratch)), sandbox.missing


def unreadable(name: str, problem: str, rules: Rules, target: str = "sim") -> Graded:
    """Return the grade of an unreadable hand-in. problem: the reason, as a sentence."""
    name, problem = plain_line(name), plain_text(problem)
    parts = tuple(Part(part, None, 0.0, "there is no kernel") for part in PARTS)
    steps = tuple(StepResult(number, rule.points, 0.0, parts) for number, rule in rules.steps.items())
    return Graded(name, "", target, "", steps, 0.0, rules.total, problem=problem)


class NotClosed(SandboxError):
    """The error if this machine cannot isolate a hand-in from other files."""

    def __init__(self) -> None:
        super().__init__(
            "this machine has neither bubblewrap nor seccomp, so a hand-in could read the references or change your "
            "files: grade it on Linux, or say with --own that it is your own file"
        )


def _one(judge: StepJudge, step: int, watch: Watch | None) -> StepResult:
    if watch is not None:
        watch(step, None)
    printed: list[str] = []
    judges = judge.judges.heard_by(printed.append)
    own = replace(judge, judges=judges, bench=judge.bench.heard_by(judges, printed.append))
    parts, reproduce = own.parts(step)
    result = scored(step, tuple(map(_plain, parts)), judge.rules, reproduce)
    result = replace(result, printed=plain_text("".join(printed), MOST_HEARD))
    if watch is not None:
        watch(step, result)
    return result


def _plain(part: Part) -> Part:
    """Return the part with terminal control characters escaped, since its texts quote the hand-in."""
    return replace(part, said=plain_line(part.said, MOST_TEXT), pages=tuple(map(plain_text, part.pages)))


def _said_once(results: list[StepResult], problem: str) -> tuple[list[StepResult], str]:
    """Return the steps, and the problem shared by the whole file, or a page of every step, without repetition."""
    pages = {step.part("correctness").pages for step in results}
    if not problem and len(results) > 1 and len(pages) == 1:
        problem = next(iter(next(iter(pages))), "")
    if not problem:
        return results, ""
    return [replace(step, parts=tuple(map(_without_pages, step.parts))) for step in results], problem


def _without_pages(part: Part) -> Part:
    return replace(part, pages=())
