"""The plan of time alone: execution without values that affect neither control flow nor addresses."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from ..classes import Unequal
from ..gpu import Gpu
from ..machine import NO_VALUES
from ..outcome import Outcome
from ..question import Circumstances
from .kernel import BoundKernel
from .plan import Plan, is_plain
from .process import running


def without_details(kernel: BoundKernel, circumstances: Circumstances) -> Outcome:
    """Execute a launch for its time, on a machine that keeps no details for a report. Raises `Unequal` at the first
    fact.
    """
    setup = replace(kernel.limits, values=NO_VALUES, equal=True, cold=circumstances.cold)
    with running(), Gpu(kernel.image, kernel.arrays, kernel.spec, setup) as machine:
        kernel.begin(machine)
        return machine.run()


class TimeAlone(Plan):
    """Executes the launch without data."""

    name = "time alone"
    assumes = "that neither control flow nor time depends on the values in memory"

    def refusal(self, kernel: BoundKernel, circumstances: Circumstances) -> str:
        """See `Plan.refusal`. A kernel with data-dependent control flow was rejected during translation."""
        return "values are asked for" if kernel.question.data else ""

    def run(self, kernel: BoundKernel, circumstances: Circumstances) -> Outcome:
        """See `Plan.run`. Details are kept only where there is something to report."""
        plain = circumstances.seed is None and is_plain(kernel, replace(circumstances, cold=False))
        if plain and not kernel.image.represented:  # else another plan has tried
            with suppress(Unequal):
                outcome = without_details(kernel, circumstances)
                if super().holds(outcome):
                    return outcome
        return kernel.execute(circumstances)

    def holds(self, outcome: Outcome) -> bool:
        """Return True: the run keeps everything that a report needs."""
        return True

    def saves(self, kernel: BoundKernel, outcome: Outcome) -> str:
        """See `Plan.saves`."""
        return "the data of all accesses"
