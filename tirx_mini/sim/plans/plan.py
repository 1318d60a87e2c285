"""The interface of a plan: a way to answer a question with less work than executing the whole launch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import replace
from typing import ClassVar, final

from ..classes import Unequal
from ..outcome import Outcome, PlanNote
from ..question import Circumstances
from .kernel import BoundKernel


class WholeLaunch(Exception):
    """The question requires an execution of the whole launch; no other plan can apply."""


class Plan(ABC):
    """A way to map a question about a lowered kernel to executions, and to combine their outcomes.

    name: of the plan. assumes: its assumption, as a clause. Executions whose assumption fails raise `Unequal`, or have
    an outcome that does not hold; then the arguments are restored and the next plan is tried.
    """

    name: ClassVar[str]
    assumes: ClassVar[str]

    @abstractmethod
    def refusal(self, kernel: BoundKernel, circumstances: Circumstances) -> str:
        """Return the reason why the plan does not apply, as a clause; "" if it does.

        The reason depends only on the question and the program.
        """

    @abstractmethod
    def run(self, kernel: BoundKernel, circumstances: Circumstances) -> Outcome | None:
        """Execute the plan and combine the outcomes; return None if they cannot be combined."""

    def holds(self, outcome: Outcome) -> bool:
        """Return whether an outcome confirms the assumption: by default, whether it reports nothing."""
        return not (outcome.facts or outcome.blocked or outcome.mixed or outcome.tested)

    @abstractmethod
    def saves(self, kernel: BoundKernel, outcome: Outcome) -> str:
        """Return the work that the plan saved, as a clause."""

    @final
    def outcome(self, kernel: BoundKernel, circumstances: Circumstances) -> Outcome | None:
        """Run the plan and check its outcome; return None if the assumption does not hold."""
        with suppress(Unequal):
            outcome = self.run(kernel, circumstances)
            if outcome is not None and self.holds(outcome):
                return replace(outcome, plan=PlanNote(self.name, self.assumes, self.saves(kernel, outcome)))
        return None


def is_plain(kernel: BoundKernel, circumstances: Circumstances) -> bool:
    """Return whether a run is asked only for its findings, its results and its time."""
    asked, given = kernel.question, circumstances
    return given.clock is None and not (asked.trace or asked.log_barriers or given.mixed or given.late or given.cold)


def not_for_findings(kernel: BoundKernel, circumstances: Circumstances) -> str:
    """Return the reason why plans for values and findings do not apply; "" if they may."""
    asked = kernel.question
    if not (asked.data and asked.checks):
        return "values and findings are not both asked for"
    if not is_plain(kernel, circumstances):
        return "more is asked for than values, findings and time"
    if asked.functions:
        return "the kernel calls functions of Python"
    return "" if kernel.kept else "the arguments were not kept, for a second run"
