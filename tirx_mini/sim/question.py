"""The question that a simulation answers, and the circumstances of one of its runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tirx_mini.hardware import GpuSpec
from tirx_mini.records import dataclass

from .budget import BUDGET
from .doubts import Ends, Late
from .outcome import Watch
from .timing import Clock

DEFAULT_LIMIT = 2000
"""The maximum number of schedules in an exploration."""


@dataclass(frozen=True)
class Question:
    """The options of a simulation.

    The keywords of `tirx_mini.simulate` and `tirx_mini.explore` have these names.

    gpu: a name in `hardware.GPUS`, such as "h100", or a `GpuSpec`.
    schedules: the number of event orders to run; the first one with an error ends the simulation.
    seed: the first of these orders; 0 is the deterministic one, any other is random.
    trace: whether to record a timeline.
    log_barriers: whether to record the events of every barrier, in `Report.stats["barriers"]`.
    checks: whether to detect hazards. Without it, a run is up to twice as fast but only detects faults and deadlocks.
    data: whether to compute values. Without it, a run is several times as fast and predicts the same time. It detects
        faults and deadlocks but no hazards, reads and writes no argument (each may be None, or all may be omitted), and
        its verdict is "clock" if it finds nothing. A kernel with data-dependent control flow is refused.
    sampled: whether a run without data may leave out most waves of CTAs and most iterations of the longest loops, and
        extrapolate the total time from runs of parts (seconds at 8192³). The launch is run in full if it is small, if
        its time does not grow evenly, or if CTAs or iterations may differ. The report says so (`Report.sampled`).
        Requires data=False.
    jobs: the number of processes that execute these parts or, with data and checks, the clusters of a large launch; by
        default the number of cores, up to four. Clusters that synchronise or exchange data are executed in one process.
    pedantic: whether to note violations of the ISA that production kernels commonly commit.
    budget: the maximum number of loop iterations of a run, over all warps; a CTA counts as 200. A run that would exceed
        it ends there, with the verdict "incomplete".
    single: whether to predict the time of a single launch (`Report.single_us`) in addition to the time in a row of
        launches. It costs another run without data if the arguments fit in the L2.
    watch: called at the start of each run, with an object whose `share()` returns the progress; another thread may call
        it, at no cost to the run.
    functions: the semantics of the CUDA C++ functions that the kernel calls with `T.cuda.func_call`, by name: NumPy
        functions of the values in 32 threads, without effects on memory. A call of any other function makes the verdict
        "incomplete".
    limit: the maximum number of runs of an exploration.
    """

    gpu: GpuSpec
    schedules: int = 1
    seed: int = 0
    trace: bool = False
    log_barriers: bool = False
    checks: bool = True
    data: bool = True
    sampled: bool = False
    jobs: int = 1
    pedantic: bool = False
    budget: int = BUDGET
    single: bool = False
    watch: Watch | None = None
    functions: Mapping[str, Callable[..., Any]] | None = None
    limit: int = DEFAULT_LIMIT


@dataclass(frozen=True)
class Circumstances:
    """The order of events in one run of a launch, and the initial state of the L2.

    seed: of a random order; None for the deterministic one.
    clock: orders the events, if their times alone do not.
    mixed: phases that another order may complete with other signals: `Outcome.mixed` of an earlier run of the same
        launch.
    late: the warps whose mbarrier tests precede completions, wherever another order allows it.
    cold: whether the L2 is empty initially; otherwise it holds the arguments, if they fit.
    """

    seed: int | None = None
    clock: Clock | None = None
    mixed: Ends | None = None
    late: Late | None = None
    cold: bool = False


DETERMINISTIC = Circumstances()
"""The circumstances of the deterministic run."""
