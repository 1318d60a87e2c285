"""What one launch takes by itself, beside one of many in a row, on the GPU of this machine.

    PYTHONPATH=. python3 benchmarks/single_launch.py                      # steps 3 to 10 and cuBLAS at 1024, 2048, 4096
    PYTHONPATH=. python3 benchmarks/single_launch.py --steps 9,10 --sizes 2048 --csv single.csv

Single: before each launch, a buffer larger than the L2 is written and the GPU is kept busy until the launch is queued:
host time does not count. Two events enclose the launch; what two events with nothing between them take is
subtracted. In a row: the launches of a CUDA graph (`contest.py`). Each number is the median of the rounds.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

from contest import Contest

from tirx_mini.commands import step_list
from tirx_mini.course import steps_from
from tirx_mini.ending import command
from tirx_mini.runtime import FLUSH_BYTES, cold_us

ROOT = Path(__file__).parents[1]

def single_us(launch: Callable[[], Any], flush: torch.Tensor, rounds: int) -> float:
    """The median of `cold_us`, after three launches to warm up."""
    return statistics.median([cold_us(launch, flush) for _ in range(rounds + 3)][3:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=step_list, default=tuple(steps_from(3)), metavar="LIST", help="as in 3-5,10")
    parser.add_argument("--sizes", default="1024,2048,4096")
    parser.add_argument("--dtype", choices=["float16", "bfloat16"], default="float16")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--csv", type=Path, metavar="FILE", help="also write the table as CSV")
    options = parser.parse_args()
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    nothing = single_us(lambda: None, flush, options.rounds)
    lines = ["size,kernel,single_us,row_us"]
    for size in map(int, options.sizes.split(",")):
        contest = Contest((size, size, size), options.dtype)
        for step in options.steps:
            contest.enter_step(step, ROOT / "kernels_ref")
        single = {name: single_us(launch, flush, options.rounds) - nothing for name, launch in contest.entries.items()}
        row = {name: statistics.median(ms) * 1e3 for name, ms in contest.run(max(4, options.rounds // 4)).items()}
        lines += [f"{size},{name},{single[name]:.2f},{row[name]:.2f}" for name in contest.entries]
    print(f"{torch.cuda.get_device_name()}; two events by themselves: {nothing:.2f} µs, subtracted")
    print("\n".join(lines))
    if options.csv:
        options.csv.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(command(main))
