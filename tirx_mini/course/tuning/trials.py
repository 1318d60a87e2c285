"""Candidates by the clock: each is built and its time predicted, in a few processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tirx_mini.arguments import ArgumentError
from tirx_mini.diagnose import Report, Usage, busiest_unit
from tirx_mini.driver import predict
from tirx_mini.ir import TirxError
from tirx_mini.pool import Lost, run_bounded, spread
from tirx_mini.pytorch import PyTorchMissing
from tirx_mini.records import dataclass
from tirx_mini.script import explained

from ..check import make_arguments
from ..kernels import KernelFileError
from ..programs import Launched
from ..what_if import Assignment
from .program import TunedProgram

BEST = 5
"""The number of the fastest candidates that are compiled and measured."""
_ENDED = "the system ended its process, most likely for its memory"


@dataclass(frozen=True)
class Trial:
    """A candidate.

    assignment: its values. problem: why it cannot be run, in a sentence; "" if it can. present: whether these are the
    values of the file.
    time_us: of all launches, one of many in a row. flops: of their MMAs; in the result of `tune`, of the candidate with
    the fewest, since others may multiply more than they need.
    clock_ghz, busiest: of the longest launch, and the unit of the GPU that works for most of it.
    smem_bytes: the most shared memory of a CTA.
    registers, spilled: of a thread, and its bytes of registers that ptxas keeps in memory; None if not compiled.
    row_us, alone_us: measured on a GPU, in a row and by itself.
    wrong: "is wrong" or "may be wrong", and why, in a sentence without its subject.
    checked: what its results were compared with.
    """

    assignment: Assignment
    problem: str = ""
    present: bool = False
    time_us: float | None = None
    flops: float = 0.0
    clock_ghz: float | None = None
    busiest: Usage | None = None
    smem_bytes: int | None = None
    registers: int | None = None
    spilled: int | None = None
    row_us: float | None = None
    alone_us: float | None = None
    wrong: str = ""
    checked: str = ""

    @property
    def tflops(self) -> float | None:
        """TFLOPS at the predicted time; None without MMAs."""
        return self.flops / self.time_us / 1e6 if self.time_us and self.flops else None

    @property
    def rank(self) -> tuple[bool, float, float, bool, int]:
        """The order of candidates: by the measured time, else by the predicted one, to a tenth of a microsecond.

        Of equal ones, the values of the file come first, then less shared memory.
        """
        predicted = round(self.time_us or 0.0, 1)
        return self.row_us is None, self.row_us or 0.0, predicted, not self.present, self.smem_bytes or 0


def trials(
    program: TunedProgram, assignments: Sequence[Assignment], jobs: int = 1, done: Callable[[], object] | None = None
) -> list[Trial]:
    """Return the trial of each candidate in the given order, with `jobs` of them at a time.

    done: called after each one.
    """
    found: dict[int, Trial] = {}
    for index, trial in _tried(program, assignments, jobs):
        found[index] = trial
        if done is not None:
            done()
    return [found[index] for index in range(len(assignments))]


def _tried(program: TunedProgram, assignments: Sequence[Assignment], jobs: int) -> Iterator[tuple[int, Trial]]:
    if jobs <= 1 or len(assignments) == 1:
        yield from ((index, tried(program, each, None)) for index, each in enumerate(assignments))
        return
    for index, outcome in run_bounded(spread(tried), [(program, each, 1) for each in assignments], jobs=jobs):
        yield index, Trial(assignments[index], _ENDED) if isinstance(outcome, Lost) else outcome


def tried(program: TunedProgram, assignment: Assignment, jobs: int | None = 1) -> Trial:
    """Build a candidate and predict its time. jobs: processes for partial runs."""
    launches, problem = built(program, assignment)
    if problem:
        return Trial(assignment, problem)
    try:
        reports = [_predicted(launch, program, jobs) for launch in launches]
    except (TirxError, ArgumentError, ValueError) as error:
        return Trial(assignment, sentence(error))
    problem = next((problem_of(report) for report in reports if problem_of(report)), "")
    smem = max((report.stats.get("smem_bytes", 0) for report in reports), default=0)
    timings = [report.timing for report in reports if report.timing is not None]
    if problem or len(timings) < len(reports):
        return Trial(assignment, problem or "the launch does not end", smem_bytes=smem)
    longest = max(reports, key=lambda report: report.time_us or 0.0)
    assert longest.timing is not None
    return Trial(
        assignment, time_us=sum(timing.row.us for timing in timings), flops=sum(timing.flops for timing in timings),
        clock_ghz=longest.timing.row.clock_ghz, smem_bytes=smem,
        busiest=busiest_unit(program.spec, longest.stats, longest.timing.row),
    )  # fmt: skip


def built(program: TunedProgram, assignment: Assignment, data: bool = False) -> tuple[list[Launched], str]:
    """Return the launches of a candidate, or none and a sentence about what is wrong with it."""
    try:
        return program.launches(assignment, data), ""
    except (KernelFileError, PyTorchMissing):
        raise
    except Exception as error:  # the program's own code runs, and may raise anything for values that it does not take
        return [], sentence(error)


def problem_of(report: Report) -> str:
    """Return the first error of a report, as a sentence; "" if there is none."""
    errors = [finding.message for finding in report.causes if finding.severity == "error"]
    if errors or report.verdict in ("ok", "clock"):
        return errors[0] if errors else ""
    return next((finding.message for finding in report.findings), report.verdict)


def sentence(error: Exception) -> str:
    """Return an error as one line."""
    page = explained(error)
    if page is not None:
        return page.diagnostic.message
    line = next((line for line in str(error).splitlines() if line.strip()), "")
    said = isinstance(error, (ValueError, ArgumentError)) and line
    return line if said else f"{type(error).__name__}: {line}".rstrip(": ")


def _predicted(launch: Launched, program: TunedProgram, jobs: int | None) -> Report:
    report = predict(launch.kernel, *launch.args, gpu=program.spec, jobs=jobs)
    if report.verdict == "incomplete" and not launch.args:
        report = predict(launch.kernel, *make_arguments(launch.kernel), gpu=program.spec, jobs=jobs)
    return report
