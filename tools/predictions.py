"""What the simulator says of the reference kernels: verdicts, codes of findings, cycles, proofs.

All of it is stored, so that a change which is to make the simulator faster is seen to change nothing else.

python -m tools.predictions            # what differs from the stored ones
python -m tools.predictions --write    # store them, after a change that is meant to change them
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from tirx_mini import Report, explore, simulate
from tirx_mini.course import STEPS, arch_folder, default_kernels, load_kernels
from tirx_mini.hardware import GPUS
from tirx_mini.ir import PrimFunc

STORED = Path(__file__).parents[1] / "tests" / "tirx_mini" / "course" / "predictions.json"
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
class Case:
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


def cases() -> Iterator[Case]:
    """All of them."""
    for name, kind in KINDS.items():
        yield from (Case(name, gpu, step) for gpu in GPU_NAMES for step in kind.steps)


def stored() -> dict[str, Said]:
    """What is stored, by the names of cases."""
    return json.loads(STORED.read_text(encoding="utf-8"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    said = {case.name: case.said() for case in cases()}
    before = stored() if STORED.exists() else {}
    for name in sorted(said.keys() | before.keys()):
        if said.get(name) != before.get(name):
            print(f"{name}: {before.get(name, 'nothing')} → {said.get(name, 'nothing')}")
    if options.write:
        lines = (f"{json.dumps(name, ensure_ascii=False)}: {json.dumps(each)}" for name, each in said.items())
        STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return 0 if options.write or said == before else 1


if __name__ == "__main__":
    sys.exit(main())
