"""Run flash attention once and compare it with PyTorch.

    python run.py                                         # in the simulator, on a B200: 1 head, 512 × 64
    python run.py --causal --length 1024 --head-dim 128   # with a causal mask, larger
    python run.py --target cuda                           # on the B200 of this machine
    python run.py --show cuda                             # the CUDA C++; also script, ptx, sass
"""

from __future__ import annotations

import argparse
import sys

import torch
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
    """Run the kernel on random inputs of `shape`, and print how far it is from PyTorch's attention."""
    torch.manual_seed(0)
    q, k, v = (torch.randn(shape, dtype=torch.float16) for _ in range(3))
    expected = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=causal)
    out = torch.zeros_like(q)
    if target == "cuda":
        exe = tvm.compile(tvm.IRModule({"main": kernel}), target="cuda")
        arrays = [tensor.to("cuda") for tensor in (q, k, v, out)]
        exe(*arrays)
        out = arrays[-1].cpu()
    else:
        report = tvm.simulate(kernel, q, k, v, out)
        if not report.ok or report.findings:
            print(report)
            return 1
        assert report.time_us is not None  # a run with findings has returned
        multiplied = 4.0 * shape[0] * shape[1] ** 2 * shape[2] * (0.5 if causal else 1.0)
        tflops = multiplied / (report.time_us * 1e6)
        print(f"no finding; predicted for a B200: {report.time_us:.1f} us, {tflops:.1f} TFLOPS of attention")
    error = (out.float() - expected).abs().max().item()
    print(f"largest error {error:.1e}")
    return 0 if error < TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
