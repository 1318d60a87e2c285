"""How much a simulation executes before it gives up: iterations of loops, and CTAs."""

from __future__ import annotations

from dataclasses import dataclass

from tirx_mini.hardware import GpuSpec

from .facts import Fact, Fault, Origin
from .machine import KernelImage, RunningWarp

BUDGET = 20_000_000
"""Iterations that the warps of a run make at most, all together: minutes. The references at 8192 make less than 3
million."""
CTA_ITERATIONS = 200
"""The iterations that a CTA counts as: its start takes as long."""
MEMORY = 8 << 30
"""Bytes that the registers and local memory of all resident threads take at most in the simulator."""


@dataclass(frozen=True)
class BudgetExceeded(Fact):
    """A loop makes more iterations than the run has left of its budget.

    asked: the iterations that the warp is about to make; None for a loop whose length is not known. used: by all warps
    before. ctas, of: ended, and in the grid.
    """

    asked: int | None
    used: int
    budget: int
    ctas: int
    of: int


@dataclass(frozen=True)
class GridOverBudget(Fact):
    """A grid has more CTAs than the budget of a run allows, each of which counts as `each` iterations."""

    ctas: int
    each: int
    budget: int


@dataclass(frozen=True)
class MemoryOverBudget(Fact):
    """The resident threads have more local memory than the simulator takes. nbytes: of a thread. most: of all."""

    threads: int
    nbytes: int
    most: int


class Budget:
    """The iterations that one run has left."""

    def __init__(self, iterations: int, ctas: int) -> None:
        self.iterations = iterations
        self.left = iterations - ctas * CTA_ITERATIONS
        self.ctas = ctas
        self.ended = 0

    def spend(self, warp: RunningWarp, iterations: int, known: bool = True) -> int:
        """Count iterations that a warp is about to make; 0. Raises `Fault` where fewer are left.

        known: whether these are all that the loop makes.
        """
        if iterations > 0:
            if iterations > self.left:
                used = self.iterations - self.left
                asked = iterations if known else None
                raise Fault(BudgetExceeded(warp.origin, asked, used, self.iterations, self.ended, self.ctas))
            self.left -= iterations
        return 0


def check_budget(image: KernelImage, spec: GpuSpec, budget: Budget) -> None:
    """Raise a fault for a launch that is too large to be simulated."""
    launch, origin = image.launch, Origin("", "", "", image.span)
    if budget.left < 0:
        raise Fault(GridOverBudget(origin, launch.num_ctas, CTA_ITERATIONS, budget.iterations))
    threads = launch.warps * 32
    resident = min(launch.num_ctas, spec.sms * max(1, spec.architecture.threads_per_sm // threads)) * threads
    if resident * image.local_bytes > MEMORY:
        raise Fault(MemoryOverBudget(origin, resident, image.local_bytes, MEMORY))
