"""The command line of every example: run its kernel and check the result, or print the kernel at a stage.

    python 01_saxpy.py                        # in the simulator, on a B200
    python 01_saxpy.py --target sim:h100      # in the simulator, on an H100
    python 01_saxpy.py --target cuda          # on the GPU of this machine
    python 01_saxpy.py --show cuda            # the CUDA C++; also script, lowered, ptx, sass

With --target cuda, which needs PyTorch, a kernel that does not finish is stopped; the simulator then explains why.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np

import tirx_mini as tvm
from tirx_mini.ir import PrimFunc

STAGES = ("script", "lowered", "cuda", "ptx", "sass")


def main(
    kernel: PrimFunc, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], expected: Sequence[np.ndarray]
) -> int:
    """Execute the command line for `kernel` and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="sim", help="sim, sim:GPU, cuda or cuda:ARCH")
    parser.add_argument("--show", choices=STAGES, help="print the kernel at a stage instead of running it")
    options = parser.parse_args()
    try:
        if options.show:
            show(kernel, options.show, options.target)
            return 0
        return run(kernel, options.target, inputs, outputs, expected)
    except (tvm.TirxError, tvm.SimulationError, ValueError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1


def show(kernel: PrimFunc, stage: str, target: str) -> None:
    """Print `kernel` at a stage of its compilation for `target`."""
    if stage == "script":
        kernel.show()
        return
    exe = tvm.compile(tvm.IRModule({"main": kernel}), target=target)
    print(exe.source(stage))


def run(
    kernel: PrimFunc,
    target: str,
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
    expected: Sequence[np.ndarray],
) -> int:
    """Run `kernel` once on `target`. Returns 0 if all outputs match `expected`, else 1."""
    results = [array.copy() for array in outputs]
    report = tvm.run(kernel, *inputs, *results, target=target)
    wrong = 0
    for result, want in zip(results, expected, strict=True):
        wrong += int((~np.isclose(result, want, rtol=1e-5, atol=1e-5)).sum())
    time = f", {report.time_us:.1f} us predicted" if report is not None and report.time_us else ""
    print(f"{kernel.name} on {target}: {f'{wrong} elements are wrong' if wrong else 'right'}{time}")
    return int(wrong > 0)
