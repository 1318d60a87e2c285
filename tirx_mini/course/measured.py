"""The measured times of the steps, from the tables in `docs/`, one for each GPU."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from pathlib import Path

from tirx_mini.hardware import gpu_called
from tirx_mini.records import dataclass
from tirx_mini.resources import resource

from .steps import Shape

_STEP = re.compile(r"step (\d+)")


@dataclass(frozen=True)
class StepTimes:
    """The measured times of the steps on one GPU.

    source: the table's name for users, as in "docs/b200.csv".
    entries: milliseconds of a launch by step, shape and dtype.
    """

    source: str
    entries: Mapping[tuple[int, Shape, str], float]

    def ms(self, step: int, shape: Shape, dtype: str) -> float | None:
        """Return the milliseconds of a launch, or None if the table has no such row."""
        return self.entries.get((step, shape, dtype))

    @staticmethod
    def read(path: Path) -> StepTimes:
        """Read a CSV file with the columns M, N, K, dtype, kernel ("step 7", or a peer) and ms, ignoring others."""
        with path.open(newline="", encoding="utf-8") as file:
            entries = {
                (int(match.group(1)), (int(row["M"]), int(row["N"]), int(row["K"])), row["dtype"]): float(row["ms"])
                for row in csv.DictReader(file)
                if (match := _STEP.fullmatch(row["kernel"]))
            }
        return StepTimes(f"docs/{path.name}", entries)


def measured_times(gpu: str, folder: Path | None = None) -> StepTimes | None:
    """Return the table of a GPU by its CUDA name, or None if there is none. folder: the folder to read.

    Variants of a measured part (H100 PCIe, GB200) have other clocks, and no table.
    """
    spec = gpu_called(gpu)
    if spec is None:
        return None
    path = (folder or resource("docs")) / f"{spec.name.lower()}.csv"
    return StepTimes.read(path) if path.is_file() else None
