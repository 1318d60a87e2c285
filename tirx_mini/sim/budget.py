"""Simulation budgets: limits on loop iterations, CTAs and memory."""

from __future__ import annotations

from tirx_mini.hardware import GpuSpec
from tirx_mini.records import dataclass

from .facts import Fact, Fault, Origin
from .machine import KernelImage, RunningWarp

BUDGET = 20_000_000
"""The maximum total number of iterations of a run's warps, equivalent to minutes. The references at 8192 make fewer
than 3 million."""
CTA_ITERATIONS = 200
"""The cost of a CTA's start, in iterations."""
MEMORY = 8 << 30
"""The maximum size, in bytes, of the registers and local memory of all resident threads."""


@dataclass(frozen=True)
class BudgetExceeded(Fact):
    """A loop with more iterations than the remaining budget.

    asked: the iterations that the warp is about to make; None for a loop of unknown length. used: by all warps before.
    ctas, of: the number of ended CTAs, and of all CTAs in the grid.
    """

    asked: int | None
    used: int
    budget: int
    ctas: int
    of: int


@dataclass(frozen=True)
class GridOverBudget(Fact):
    """A grid with more CTAs than the budget allows, each counted as `each` iterations."""

    ctas: int
    each: int
    budget: int


@dataclass(frozen=True)
class MemoryOverBudget(Fact):
    """More local memory of the resident threads than the simulator allows. nbytes: of a thread. most: of all."""

    threads: int
    nbytes: int
    most: int


class Budget:
    """The remaining iterations of one run."""

    def __init__(self, iterations: int, ctas: int) -> None:
        self.iterations = iterations
        self.left = iterations
        self.ctas = ctas
        self.ended = 0

    def begin(self, ctas: int) -> None:
        """Count the start of some CTAs."""
        self.left -= ctas * CTA_ITERATIONS

    def spend(self, warp: RunningWarp, iterations: int, known: bool = True) -> int:
        """Spend iterations that a warp is about to make; return 0.

        Raises `Fault` if fewer are left.

        known: whether these are all iterations of the loop.
        """
        if iterations > 0:
            if iterations > self.left:
                used = self.iterations - self.left
                asked = iterations if known else None
                raise Fault(BudgetExceeded(warp.origin, asked, used, self.iterations, self.ended, self.ctas))
            self.left -= iterations
        return 0


def check_budget(image: KernelImage, spec: GpuSpec, budget: Budget) -> None:
    """Raise a fault for a launch that is too large to simulate."""
    launch, origin = image.launch, Origin("", "", "", image.span)
    if launch.num_ctas * CTA_ITERATIONS > budget.iterations:
        raise Fault(GridOverBudget(origin, launch.num_ctas, CTA_ITERATIONS, budget.iterations))
    threads = launch.warps * 32
    resident = min(launch.num_ctas, spec.sms * max(1, spec.architecture.threads_per_sm // threads)) * threads
    if resident * image.local_bytes > MEMORY:
        raise Fault(MemoryOverBudget(origin, resident, image.local_bytes, MEMORY))
