"""The plan of sampled parts: the time of a large launch, extrapolated from runs of parts of it (`sampling`)."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from tirx_mini.ir import PrimFunc
from tirx_mini.records import dataclass, replace
from tirx_mini.worker import Team, Twin

from ..gpu import Gpu
from ..machine import NO_VALUES, MbarrierFact
from ..outcome import Outcome, Size
from ..question import Circumstances, Question
from ..translate import Cut
from .kernel import BoundKernel
from .plan import Plan
from .process import running

WORTH_A_PROCESS = 5_000
"""The number of CTA iterations that take about as long as starting two processes."""
WORTH_A_TWIN = 1_000
"""The number of CTA iterations that justifies a process forked from this one."""


class SampledParts(Plan):
    """Executes some waves of CTAs and some iterations of the longest loops, in several processes."""

    name = "sampled parts"
    assumes = "that CTAs and iterations are equal, and that the time grows evenly with their number"

    def refusal(self, kernel: BoundKernel, circumstances: Circumstances) -> str:
        """See `Plan.refusal`."""
        asked = kernel.question
        if asked.data or not asked.sampled:
            return "a sampled time is not asked for"
        return "" if kernel.equal else "CTAs may differ"

    def run(self, kernel: BoundKernel, circumstances: Circumstances) -> Outcome | None:
        """See `Plan.run`."""
        args, seed = kernel.without_data, circumstances.seed

        def payload(size: Size) -> _Part:
            return _Part(kernel.func, args, kernel.alone, size, seed)

        def here(size: Size) -> Outcome | None:
            return run_part(kernel, size, seed)

        worth = WORTH_A_TWIN if Twin.possible() else WORTH_A_PROCESS
        with Team(_in_child, payload, here, kernel.question.jobs, twin=here) as team:

            def run(sizes: Sequence[Size]) -> Mapping[Size, Outcome | None]:
                if kernel.sampling.effort(sizes) >= worth:
                    return team.results(sizes)
                return {size: here(size) for size in sizes}

            found = kernel.sampling.outcome(run)
        return None if found is None else replace(found[0], sampled=found[1])

    def holds(self, outcome: Outcome) -> bool:
        """Return True: `Sampling.outcome` has already compared the runs with one another."""
        return True

    def saves(self, kernel: BoundKernel, outcome: Outcome) -> str:
        """See `Plan.saves`."""
        assert outcome.sampled is not None
        whole, sizes = outcome.sampled.whole, outcome.sampled.sizes
        done = sum(size.waves * size.trips for size in sizes) / max(1, whole.waves * whole.trips)
        return f"all but {done:.0%} of {whole.waves} waves of {whole.trips} iterations"


def run_part(kernel: BoundKernel, size: Size, seed: int | None) -> Outcome | None:
    """Execute a part of the launch without data.

    Returns None if the run does not complete, or misuses an mbarrier, since it keeps no details to explain that.
    """
    cut, part = kernel.sampling.part(size)
    whole = cut == Cut()
    image = kernel.image if whole else kernel.translated(data=False, cut=cut)
    setup = replace(kernel.limits, pedantic=False, seed=seed, values=NO_VALUES, part=part)
    with running(), Gpu(image, kernel.arrays, kernel.spec, setup) as machine:
        outcome = machine.run()
    wrong = any(isinstance(entry.fact, MbarrierFact) for entry in outcome.facts)
    return None if wrong or outcome.fault is not None or outcome.blocked else outcome


@dataclass(frozen=True)
class _Part:
    """A part of a launch, as the payload for another process."""

    func: PrimFunc
    args: tuple[Any, ...]
    question: Question
    size: Size
    seed: int | None


def _in_child(part: _Part) -> Generator[None, None, Outcome | None]:
    yield
    return run_part(BoundKernel(part.func, part.args, part.question), part.size, part.seed)
