"""Run flash attention once and compare it with NumPy.

    python run.py                                         # in the simulator, on a B200: 1 head, 512 × 64
    python run.py --causal --length 1024 --head-dim 128   # with a causal mask, larger
    python run.py --target cuda                           # on the B200 of this machine, which needs PyTorch
    python run.py --show cuda                             # the CUDA C++; also script, ptx, sass
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from flash_attention import flash_attention

import tirx_mini as tvm
from tirx_mini.ir import PrimFunc

TOLERANCE = 5e-3
"""Largest error of an element: P is rounded to 16 bits before it is multiplied by V."""


def main() -> int:
    """Execute the command line and return the exit status: 0 if the result is right."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heads", type=int, default=1)
    parser.add_argument("--length", type=int, default=512, help="queries and keys, a multiple of 256")
    parser.add_argument("--head-dim", type=int, default=64, choices=(64, 128))
    parser.add_argument("--causal", action="store_true", help="query i sees the keys 0 … i only")
    parser.add_argument("--target", choices=("sim", "cuda"), default="sim")
    parser.add_argument("--show", choices=("script", "cuda", "ptx", "sass"), help="print the kernel and do not run it")
    options = parser.parse_args()
    try:
        kernel = flash_attention(options.heads, options.length, options.head_dim, options.causal)
        if options.show == "script":
            kernel.show()
            return 0
        if options.show:
            print(tvm.compile(tvm.IRModule({"main": kernel}), target="cuda:sm_100a").source(options.show))
            return 0
        return run(kernel, (options.heads, options.length, options.head_dim), options.causal, options.target)
    except (tvm.TirxError, tvm.SimulationError, ValueError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1


def run(kernel: PrimFunc, shape: tuple[int, int, int], causal: bool, target: str) -> int:
    """Run the kernel on random inputs of `shape`, and print how far it is from the same attention in float32."""
    random = np.random.default_rng(0)
    q, k, v = (random.standard_normal(shape, np.float32).astype(np.float16) for _ in range(3))
    out = np.zeros_like(q)
    if target == "cuda":
        tvm.compile(tvm.IRModule({"main": kernel}), target="cuda")(q, k, v, out)
    else:
        report = tvm.simulate(kernel, q, k, v, out)
        if not report.ok or report.findings:
            print(report)
            return 1
        assert report.time_us is not None  # a run with findings has returned
        multiplied = 4.0 * shape[0] * shape[1] ** 2 * shape[2] * (0.5 if causal else 1.0)
        tflops = multiplied / (report.time_us * 1e6)
        print(f"no finding; predicted for a B200: {report.time_us:.1f} us, {tflops:.1f} TFLOPS of attention")
    error = np.abs(out - attention(q, k, v, causal)).max()
    print(f"largest error {error:.1e}")
    return 0 if error < TOLERANCE else 1


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool) -> np.ndarray:
    """Return softmax(Q Kᵀ / √d) V in float32."""
    q, k, v = (array.astype(np.float32) for array in (q, k, v))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tri(q.shape[1], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


if __name__ == "__main__":
    sys.exit(main())
