"""Time alone: the program without the values that neither its control flow nor its addresses need."""

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
        """As `Plan.refusal`. A kernel whose control flow depends on data was not translated."""
        return "values are asked for" if kernel.question.data else ""

    def run(self, kernel: BoundKernel, circumstances: Circumstances) -> Outcome:
        """As `Plan.run`."""
        return kernel.execute(circumstances)

    def holds(self, outcome: Outcome) -> bool:
        """As `Plan.holds`: the run keeps all that a report needs."""
        return True

    def saves(self, kernel: BoundKernel, outcome: Outcome) -> str:
        """As `Plan.saves`."""
        return "the data of all accesses"
