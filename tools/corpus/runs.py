"""Runs of the ladder in every way that the simulator executes a launch: what each reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from tirx_mini import Report, explore, simulate
from tirx_mini.course import STEPS, arch_folder, default_kernels, load_kernels
from tirx_mini.hardware import GPUS
from tirx_mini.ir import PrimFunc

GPU_NAMES = ("b200", "h100")
Said = list[Any]
"""A verdict, the codes of the findings, and what else this kind of run says, as JSON has it."""


def checked(kernel: PrimFunc, args: list[np.ndarray], gpu: str) -> Said:
    """Of a run with data and checks."""
    report = simulate(kernel, *args, gpu=gpu)
    return [*_told(report), str(report.proof)]


def scheduled(kernel: PrimFunc, args: list[np.ndarray], gpu: str) -> Said:
    """Of a run in a random order of events, with random latencies."""
    return _told(simulate(kernel, *args, gpu=gpu, seed=1))


def explored(kernel: PrimFunc, args: list[np.ndarray], gpu: str) -> Said:
    """Of every order of events, as far as so many runs come."""
    found = explore(kernel, *args, gpu=gpu, limit=12)
    return [*_told(found.report), found.schedules, found.classes, found.complete]


def timed(kernel: PrimFunc, args: list[np.ndarray], gpu: str) -> Said:
    """Of a run without data."""
    return _told(simulate(kernel, gpu=gpu, data=False))


def sampled(kernel: PrimFunc, args: list[np.ndarray], gpu: str) -> Said:
    """Of runs of parts without data."""
    return _told(simulate(kernel, gpu=gpu, data=False, sampled=True, jobs=1))


def _told(report: Report) -> Said:
    """What every kind of run says."""
    return [report.verdict, [finding.code for finding in report.findings], report.cycles]


@dataclass(frozen=True)
class Kind:
    """A kind of run, at a size, of some steps. data: whether it takes arguments."""

    say: Callable[[PrimFunc, list[np.ndarray], str], Said]
    size: int
    steps: tuple[int, ...]
    data: bool = True


ALL = tuple(STEPS)
KINDS: Mapping[str, Kind] = MappingProxyType({
    "checked": Kind(checked, 512, ALL),
    "scheduled": Kind(scheduled, 512, (3, 4, 6, 7, 8, 9, 10)),
    "explored": Kind(explored, 128, (1, 2, 4, 5)),
    "clock": Kind(timed, 1024, ALL[2:], data=False),
    "sampled": Kind(sampled, 4096, (7, 9, 10), data=False),
})  # fmt: skip


@dataclass(frozen=True)
class Run:
    """A run. name: under which what it says is stored."""

    kind: str
    gpu: str
    step: int

    @property
    def shape(self) -> tuple[int, int, int]:
        return STEPS[self.step].shape(KINDS[self.kind].size)

    @property
    def name(self) -> str:
        return f"{self.kind}: step {self.step} on {self.gpu}, {' × '.join(map(str, self.shape))}"

    def said(self) -> Said:
        """What the simulator says now."""
        kind, (m, n, k) = KINDS[self.kind], self.shape
        kernel = load_kernels(default_kernels(), arch_folder(GPUS[self.gpu].arch))[self.step](m, n, k)
        shapes = ((m, k), (n, k), (m, n)) if kind.data else ()
        rng = np.random.default_rng(0)
        return kind.say(kernel, [rng.standard_normal(shape).astype(np.float16) for shape in shapes], self.gpu)


def runs() -> Iterator[Run]:
    """All of them."""
    for name, kind in KINDS.items():
        yield from (Run(name, gpu, step) for gpu in GPU_NAMES for step in kind.steps)
