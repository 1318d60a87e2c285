"""CUDA C++ programs with a mistake that can be put into each: files, launches, and the findings that name the mistake.

In a file, `//- CODE` at the end of a line is the mistake: CODE in the place of the line's own code (nothing removes
it). `//@` marks the other lines at which a finding names the mistake, such as the two accesses that then race.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tirx_mini import read_cuda
from tirx_mini.diagnose import Report
from tirx_mini.frontends.ptx.programs import PtxModule
from tirx_mini.ir import TirxError

FOLDER = Path(__file__).parent
_MISTAKE = re.compile(r"^( *)(.*?) *//- ?(.*)$")

RACE = ("TX201", "TX206", "TX214")
BOUNDS = ("TX301", "TX207")
HANG = ("TX102", "TX103", "TX107", "TX110", "TX111", "TX112", "TX113", "TX114", "TX115")
BARRIER = ("TX116", "TX119", "TX123", "TX124")
WARP = ("TX306", "TX307", "TX102", "TX208")


@cache
def has_headers(names: tuple[str, ...]) -> bool:
    """Return whether the compiler finds these headers, and those that they include."""
    try:
        read_cuda("".join(f"#include <{name}>\n" for name in names) + "__global__ void k() {}")
    except TirxError:
        return False
    return True


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel of the file, by its C++ name."""

    kernel: str
    args: Sequence[Any]
    grid: Sequence[int] = (1,)
    block: Sequence[int] = (32,)
    smem: int = 0
    cluster: int | None = None

    def of(self, module: PtxModule, **options: Any) -> Report:
        sizes = {"grid": self.grid, "block": self.block, "cluster": self.cluster, "smem": self.smem}
        return module.entry(self.kernel).simulate(self.args, **sizes, **options)


@dataclass(frozen=True)
class Work:
    """Launches in order, and the arrays that they fill with the values that these then hold."""

    launches: Sequence[Launch]
    results: Sequence[tuple[np.ndarray, np.ndarray]]

    def right(self, tolerance: float = 1e-3) -> bool:
        return all(np.allclose(got, want, tolerance, tolerance) for got, want in self.results)


@dataclass(frozen=True)
class Program:
    """A file, fresh arguments for it, and the codes of the findings that name its mistake."""

    name: str
    work: Callable[[np.random.Generator], Work]
    codes: tuple[str, ...]
    arch: str = "sm_100a"

    @property
    def text(self) -> str:
        return (FOLDER / f"{self.name}.cu").read_text()

    @property
    def headers(self) -> tuple[str, ...]:
        """The headers of NVIDIA's libraries that the file includes."""
        return tuple(re.findall(r"^#include <((?:cuda/|mma|cooperative_groups).*)>$", self.text, re.MULTILINE))

    @property
    def wrong(self) -> str:
        """The text with the mistake; lines keep their numbers."""
        return "\n".join(_MISTAKE.sub(r"\1\3", line) for line in self.text.split("\n"))

    @property
    def lines(self) -> frozenset[int]:
        """The lines at which a finding names the mistake."""
        marks = enumerate(self.text.split("\n"), 1)
        return frozenset(number for number, line in marks if "//-" in line or "//@" in line)

    def run(self, text: str, **options: Any) -> tuple[Work, list[Report]]:
        """Launch what a text holds, which is compiled as the file of this program."""
        work = self.work(np.random.default_rng(7))
        names = [each.kernel for each in work.launches if "<" in each.kernel]
        module = read_cuda(text, arch=self.arch, names=names)
        return work, [each.of(module, **options) for each in work.launches]
