"""The plan of time alone: execution without values that affect neither control flow nor addresses."""

from __future__ import annotations

from ..outcome import Outcome
from ..question import Circumstances
from .kernel import BoundKernel
from .plan import Plan


class TimeAlone(Plan):
    """Executes the launch without data."""

    name = "time alone"
    assumes = "that neither control flow nor time depends on the values in memory"

    def refusal(self, kernel: BoundKernel, circumstances: Circumstances) -> str:
        """See `Plan.refusal`. A kernel with data-dependent control flow was rejected during translation."""
        return "values are asked for" if kernel.question.data else ""

    def run(self, kernel: BoundKernel, circumstances: Circumstances) -> Outcome:
        """See `Plan.run`."""
        return kernel.execute(circumstances)

    def holds(self, outcome: Outcome) -> bool:
        """Return True: the run keeps everything that a report needs."""
        return True

    def saves(self, kernel: BoundKernel, outcome: Outcome) -> str:
        """See `Plan.saves`."""
        return "the data of all accesses"
