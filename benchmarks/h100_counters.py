"""What one cold launch does to the clock: step 10, the kernel for every shape and cuBLAS under NVIDIA's profiler.

    PYTHONPATH=. python3 benchmarks/h100_counters.py --csv counters.csv

For each kernel: the time, the clock that the SMs ran at while it lasted, the share of cycles in which their tensor
cores were busy, and the bytes that came to the SMs from the L2 and to the L2 from memory. The profiler empties the
caches before each launch and leaves the clock alone. Needs `ncu`, which belongs to the CUDA toolkit, and the right to
read the GPU's counters.
"""

from __future__ import annotations

import argparse
import csv
import io
import subprocess
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

from contest import Contest
from ladder import parse_shapes

from kernels_ref.sm90.extra_every_shape import hgemm
from tirx_mini.course import Shape, shape_text
from tirx_mini.ending import command

ROOT = Path(__file__).parents[1]
SHAPES: tuple[Shape, ...] = ((2048, 2048, 2048), (4096, 4096, 4096), (6144, 6144, 6144), (8192, 8192, 8192))
METRICS = {
    "us": ("gpu__time_duration.sum", 1e-3),
    "GHz": ("sm__cycles_elapsed.avg.per_second", 1e-9),
    "tensor %": ("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", 1.0),
    "L2 to SM GB": ("l1tex__m_xbar2l1tex_read_bytes.sum", 1e-9),
    "HBM GB": ("dram__bytes_read.sum", 1e-9),
}
"""Our name of each figure, the profiler's, and what its number in basic units is multiplied by."""
MARK = "measured"


def launch(shape: Shape, dtype: str) -> None:
    """Build and check the contestants, then launch each once where the profiler looks."""
    contest = Contest(shape, dtype)
    contest.enter_step(10, ROOT / "kernels_ref")
    contest.enter_factory("every shape", hgemm)
    torch.cuda.synchronize()
    for name, entry in contest.entries.items():
        with torch.cuda.nvtx.range(f"{MARK} {name}"):
            entry()
            torch.cuda.synchronize()


def profiled(shape: Shape, dtype: str) -> dict[str, dict[str, float]]:
    """The figures of each kernel, by its name and by ours."""
    metrics = ",".join(metric for metric, _ in METRICS.values())
    child = [sys.executable, __file__, "--child", shape_text(shape), "--dtype", dtype]
    options = ["--nvtx", "--nvtx-include", f"regex:{MARK}.*/", "--clock-control", "none", "--cache-control", "all"]
    command = ["ncu", *options, "--csv", "--page", "raw", "--print-units", "base", "--metrics", metrics, *child]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = csv.DictReader(io.StringIO(out[out.index('"ID"') :]))
    names = iter(("cuBLAS", "step 10", "every shape"))
    return {
        next(names): {ours: float(row[theirs].replace(",", "")) * unit for ours, (theirs, unit) in METRICS.items()}
        for row in rows
        if row["ID"]  # the first row has the units
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", type=parse_shapes, default=SHAPES, help="as in 4096,128x8192x8192")
    parser.add_argument("--dtype", default="float16", choices=["float16", "bfloat16"])
    parser.add_argument("--csv", type=Path, metavar="FILE")
    parser.add_argument("--child", type=parse_shapes, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        launch(options.child[0], options.dtype)
        return 0
    lines = [",".join(["m", "n", "k", "kernel", *METRICS])]
    for shape in options.shapes:
        for name, figures in profiled(shape, options.dtype).items():
            lines.append(",".join([*map(str, shape), name, *(f"{figures[each]:.3f}" for each in METRICS)]))
            print(lines[-1], flush=True)
    if options.csv:
        options.csv.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(command(main))
