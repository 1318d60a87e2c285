"""One kernel on this machine's GPU: whether it is right, and its time. It cannot hang.

    PYTHONPATH=. python3 benchmarks/run_once.py gemm_kernels.py:hgemm_v7 --size 2048

A matrix product is compared with cuBLAS, and timed; what any other kernel writes is compared with the simulator. The
exit status is 0 if it is right, 1 if not, 2 for bad input.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import tirx_mini as tvm
from tirx_mini.course import TOLERANCES, KernelFileError, KernelRef, load_kernel, make_arguments
from tirx_mini.ending import command
from tirx_mini.ir import PrimFunc, TirxError
from tirx_mini.report import product_shape
from tirx_mini.runtime import KernelFailure, device_arch
from utils import WrongResult, benchmark, prepare_data, verify


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel", metavar="FILE.py:KERNEL")
    parser.add_argument("--size", type=int, metavar="N", help="of each dimension that the step leaves free")
    parser.add_argument(
        "--explain", type=float, default=60, metavar="S", help="seconds to explain a hang (default: 60)"
    )
    options = parser.parse_args(argv)
    try:
        kernel = load_kernel(KernelRef.parse(options.kernel), size=options.size)
    except (KernelFileError, TirxError, ValueError) as error:
        print(error if isinstance(error, TirxError) else f"error: {error}")
        return 2
    if device_arch() is None:
        print("error: this machine has no GPU that PyTorch can use")
        return 2
    judge = product if product_shape(kernel) is not None else others
    try:
        print(judge(kernel, lambda *data: tvm.run(kernel, *data, target="cuda", explain_s=options.explain)))
    except (tvm.GpuRunError, KernelFailure, WrongResult, Differs) as error:
        print(error)
        return 1
    return 0


def product(kernel: PrimFunc, launch: Callable[..., Any]) -> str:
    """What is to be said of a kernel that computes D = A @ B.T. Raises `WrongResult` if it does not."""
    shape = product_shape(kernel)
    assert shape is not None
    dtype = str(kernel.params[0].dtype)
    A, B, D = prepare_data(*shape, dtype, "cuda")
    launch(A, B, D)
    verify(A, B, D)
    ms, tflops = benchmark(kernel, *shape, dtype, "cuda")
    return f"right on the GPU: {ms * 1000:.1f} µs, {tflops:.0f} TFLOPS"


def others(kernel: PrimFunc, launch: Callable[..., Any]) -> str:
    """The same for a kernel that must write what it writes in the simulator."""
    arrays = make_arguments(kernel)
    expected = [array.copy() for array in arrays]
    launch(*arrays)
    tvm.simulate(kernel, *expected)
    for parameter, got, want in zip(kernel.params, arrays, expected, strict=True):
        rtol, atol = TOLERANCES.get(str(got.dtype), (1e-3, 1e-2))
        if not np.allclose(got.astype(np.float64), want.astype(np.float64), rtol=rtol, atol=atol, equal_nan=True):
            raise Differs(f"{parameter.name} is not what the simulator has: `compute-sanitizer` looks at the real run")
    return "right on the GPU: it writes what it writes in the simulator"


class Differs(AssertionError):
    """A result that is not that of the simulator."""


if __name__ == "__main__":
    sys.exit(command(main))
