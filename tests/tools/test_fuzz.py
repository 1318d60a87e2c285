"""Kernels that are damaged at random are refused or judged; nothing inside the package breaks, hangs or stays behind.

A quick run takes a few, ``--full`` two thousand; ``make fuzz`` prints what became of them.
"""

from __future__ import annotations

import gc
from collections import Counter

import pytest
from rich.console import Console

from tirx_mini.ir import PrimFunc
from tirx_mini.layout import LayoutError
from tirx_mini.sim import Gpu
from tirx_mini.sim.machine import ResidentCta
from tools.fuzz import Outcome, campaign, fuzz, is_explained, kernel_text

QUICK, FULL = 60, 2000


def test_damaged_kernels_break_nothing(pytestconfig: pytest.Config) -> None:
    console = Console(record=True, quiet=True)
    seeds = range(FULL if pytestconfig.getoption("--full") else QUICK)
    assert campaign(seeds, 2, console), console.export_text()


def test_a_run_leaves_no_machine_behind() -> None:
    """Errors and findings hold on to places of the source, not to the GPU, its memories or the kernel."""
    seeds = range(100, 112)
    before = _alive()
    for seed in seeds:
        fuzz(seed)
    stayed = _alive() - before
    assert stayed[Gpu] == stayed[ResidentCta] == 0
    assert stayed[PrimFunc] < len(seeds)


def _alive() -> Counter[type]:
    """How many objects of each type the process holds: tests that ran before this one keep kernels of their own."""
    gc.collect()
    return Counter(type(thing) for thing in gc.get_objects())


def test_a_slow_kernel_says_how_much_it_simulates() -> None:
    """Damage that turns 5 tiles into 1024 (seed 916) is work, and no fault of the simulator."""
    outcome = next(outcome for outcome in map(fuzz, range(100, 120)) if outcome.how == "ok")
    assert outcome.time_us is not None and outcome.time_us > 1
    assert str(outcome) == f"{outcome.seconds:.1f} s for {outcome.time_us:,.0f} us of the GPU's, seed {outcome.seed}"
    assert str(Outcome(7, "refused", 1.25, 0.0, 1)) == "1.2 s, seed 7"


def test_a_seed_always_gives_the_same_kernel() -> None:
    assert kernel_text(7) == kernel_text(7) != kernel_text(8)


def test_a_broken_package_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tirx_mini.sim.timing.clock.heapq", None)
    outcomes = [fuzz(seed) for seed in range(10)]
    crashes = [outcome for outcome in outcomes if outcome.how == "crash"]
    assert crashes and all("clock.py" in crash.where for crash in crashes)


def test_errors_of_our_own_are_no_crashes() -> None:
    assert is_explained(LayoutError("not a layout")) and not is_explained(KeyError("layout"))
