"""The CPU time of reading PTX and translating it to IR, for 5,000 instructions.

    python benchmarks/ptx_reading.py [--repeat 7]

The texts are what NVRTC makes of the ten references of both ladders, of a product whose loops are unrolled, and of a
kernel of calls and branches: as `read_cuda` compiles by default ("min"), optimised, and with ``-G``. Instructions are
counted after calls are inlined. Seconds are the processor's, and medians; 5,000 instructions are bound to 1.0 s on an
idle machine.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

import tirx_mini
from tirx_mini.arguments import TensorMap
from tirx_mini.course import STEPS, default_kernels, load_kernels
from tirx_mini.ending import command
from tirx_mini.frontends.ptx.headers import HEADERS
from tirx_mini.frontends.ptx.programs import read_ptx
from tirx_mini.frontends.ptx.registers import instructions
from tirx_mini.frontends.ptx.texts import Role
from tirx_mini.ir import TensorMap as Encoded
from tirx_mini.passes import lower
from tirx_mini.runtime import compile_ptx, emit

BOUND_S = 1.0
COUNT = 5_000
SIZE = 512
LADDERS = {"sm90": "sm_90a", "sm100": "sm_100a"}
FLAGS = {"min": Role.ASYNCHRONOUS.flags, "O3": Role.TIME.flags, "-G": Role.ORDINARY.flags}
UNROLLED = """
__global__ void unrolled(const float* A, const float* B, float* C, int n) {
  __shared__ float a[16][64], b[16][64];
  float sum[4][4] = {};
  int row = threadIdx.y * 4, column = threadIdx.x * 4;
  for (int k = 0; k < n; k += 16) {
    for (int i = threadIdx.y * 16 + threadIdx.x; i < 16 * 64; i += 256) {
      a[i / 64][i % 64] = A[(blockIdx.y * 64 + i % 64) * n + k + i / 64];
      b[i / 64][i % 64] = B[(k + i / 64) * n + blockIdx.x * 64 + i % 64];
    }
    __syncthreads();
    #pragma unroll
    for (int j = 0; j < 16; ++j)
      #pragma unroll
      for (int y = 0; y < 4; ++y)
        #pragma unroll
        for (int x = 0; x < 4; ++x) sum[y][x] += a[j][row + y] * b[j][column + x];
    __syncthreads();
  }
  #pragma unroll
  for (int y = 0; y < 4; ++y)
    #pragma unroll
    for (int x = 0; x < 4; ++x) C[(blockIdx.y * 64 + row + y) * n + blockIdx.x * 64 + column + x] = sum[y][x];
}
"""
BRANCHES = """
__device__ __noinline__ float steps(float x, int n) {
  for (int i = 0; i < n; ++i) x = x > 3.f ? x * 0.5f - i : x < -2.f ? x + 0.25f * i : x * x;
  return x;
}
template <int N> __device__ __forceinline__ float chosen(float x, int n) {
  if ((n >> N % 30) & 1 && x > N) {
    x = steps(x, N);
    switch ((int)x & 7) {
      case 0: x += 1; break;
      case 1: x *= 2; break;
      case 2: x -= 3;
      case 3: x = sqrtf(fabsf(x)); break;
      case 4:
        for (int k = 0; k < n; ++k) { if (x < k) continue; if (x == 7 * k) break; x -= k; }
        break;
      default: x = __sinf(x);
    }
  }
  if constexpr (N > 0) return chosen<N - 1>(x, n);
  return x;
}
__global__ void branches(const float* A, float* C, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  C[i] = chosen<30>(A[i], n);
}
"""


@dataclass(frozen=True)
class Case:
    """A text and its launch."""

    name: str
    text: str
    args: Sequence[Any]
    launch: dict[str, Any]

    @property
    def instructions(self) -> int:
        return sum(1 for _ in instructions(read_ptx(self.text).entry().kernel.body))

    def seconds(self) -> tuple[float, float, float]:
        """Seconds of reading the text, of its control flow, and of the translation for the launch."""
        ticks = [time.process_time()]
        entry = read_ptx(self.text).entry()
        ticks.append(time.process_time())
        assert entry.kernel
        ticks.append(time.process_time())
        entry.lowered(self.args, **self.launch)
        ticks.append(time.process_time())
        return ticks[1] - ticks[0], ticks[2] - ticks[1], ticks[3] - ticks[2]


def references(ladder: str) -> Iterator[Case]:
    arch = LADDERS[ladder]
    for step, factory in load_kernels(default_kernels() / ladder).items():
        m, n, k = STEPS[step].shape(SIZE)
        func = factory(m, n, k)
        lowered = lower(func)
        shapes = {"A": (m, k), "B": (n, k), "D": (m, n)}
        arrays = {name: np.zeros(shape, np.float16) for name, shape in shapes.items()}
        args = [
            TensorMap(arrays[each.buffer.name], each.box, each.swizzle, each.dims, each.strides, each.l2_promotion)
            if isinstance(each, Encoded) else arrays[each.name] for each in emit(lowered, arch).params
        ]  # fmt: skip
        of = lowered.launch
        assert of is not None
        launch = {"grid": of.grid, "block": of.threads, "cluster": of.cluster, "smem": of.smem_bytes}
        yield Case(f"{ladder}, step {step}", tirx_mini.compile(func, target=f"cuda:{arch}").source("ptx"), args, launch)


def compiled(flags: str) -> Iterator[Case]:
    square, row = np.zeros((128, 128), np.float32), np.zeros(128, np.float32)
    for source, name, args, launch in (
        (UNROLLED, "unrolled", (square, square, square, 128), {"grid": (2, 2), "block": (16, 16)}),
        (BRANCHES, "branches", (row, row, 5), {"grid": 1, "block": 128}),
    ):
        text, _ = compile_ptx(source, f"{name}.cu", LADDERS["sm90"], FLAGS[flags], (), HEADERS)
        yield Case(f"{name}, {flags}", text, args, launch)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    table = Table(title=f"Seconds of the processor for {COUNT:,} instructions", box=None, pad_edge=False)
    for name in ("text", "instructions", "read", "control flow", "translate", "together", "bound"):
        table.add_column(name, justify="right")
    groups = [(ladder, list(references(ladder))) for ladder in LADDERS] + [("", list(compiled(each))) for each in FLAGS]
    slow = False
    for group, cases in groups:
        rows = [(group, cases)] if group else [(case.name, [case]) for case in cases]
        for name, part in rows:
            count = sum(case.instructions for case in part)
            parts = [0.0, 0.0, 0.0]
            for case in part:
                runs = [case.seconds() for _ in range(options.repeat + 1)][1:]
                parts = [a + statistics.median(b) for a, b in zip(parts, zip(*runs, strict=True), strict=True)]
            figures = [each * COUNT / count for each in (*parts, sum(parts))]
            slow |= figures[-1] > BOUND_S
            table.add_row(name, f"{count:,}", *(f"{each:.2f}" for each in figures), f"{BOUND_S:.1f}")
    Console().print(table)
    return int(slow)


if __name__ == "__main__":
    sys.exit(command(main))
