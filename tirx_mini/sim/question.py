"""The question that a simulation answers, and the circumstances of one of its runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tirx_mini.hardware import GpuSpec

from .budget import BUDGET
from .doubts import Ends, Late
from .outcome import Watch
from .timing import Clock

DEFAULT_LIMIT = 2000
"""The maximum number of schedules in an exploration."""


@dataclass(frozen=True)
class Question:
    """The options of a simulation. The keywords of `tirx_mini.simulate` and `tirx_mini.explore` have these names.

    gpu: a name in `hardware.GPUS`, such as "h100", or a `GpuSpec`.
    schedules: the number of event orders to run; the first one with an error ends the simulation.
    seed: the first of these orders; 0 is the deterministic one, any other is random.
    trace: whether to record a timeline.
    log_barriers: whether to record the events of every barrier, in `Report.stats["barriers"]`.
    checks: whether to detect hazards. Without it, a run is up to twice as fast but only detects faults and deadlocks.
    data: whether to compute values. Without, a run is several times as fast and predicts the same time. It finds faults
        and deadlocks but no hazards, reads and writes no argument (each may be None, or all of them left out), and its
        verdict is "clock" where it finds nothing. A kernel whose control flow depends on data is refused.
    sampled: whether a run without data may leave out most waves of CTAs and most iterations of the longest loops, and
        work the time of the whole out of runs of parts (seconds at 8192³). It is run in full where it is small, where
        its time does not grow evenly, and where CTAs or iterations may differ. The report says so (`Report.sampled`).
        Needs data=False.
    jobs: how many processes execute these parts, or, with data and checks, the clusters of a large launch; by default
        as many as the machine has cores, up to four. Clusters that synchronise or exchange data are executed in one.
    pedantic: whether to note what only the letter of the ISA demands, and what kernels in production omit.
    budget: the iterations of loops that a run may make, all warps together; a CTA counts as 200. A run that would make
        more ends there, and its verdict is "incomplete".
    single: whether to predict, besides the time in a row of launches, that of one by itself (`Report.single_us`). It
        costs another run without data where the arguments fit in the L2.
    watch: called at the beginning of each run, with an object whose `share()` says how far that is; another thread may
        ask it. It costs the run nothing.
    functions: what functions of CUDA C++ compute that the kernel calls with `T.cuda.func_call`, by their names: NumPy
        functions of the values in 32 threads, without an effect on memory. A call of any other makes the verdict
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
