"""Pointers to functions and to variables, and the atomic operations of the CUDA guide, in CUDA C++."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini

POINTERS = """\
#include <cstring>
using function = float (*)(float);
struct Op { __device__ virtual float operator()(float x) const = 0; };
struct Twice : Op { __device__ float operator()(float x) const override { return 2 * x; } };
struct Half : Op { __device__ float operator()(float x) const override { return 0.5f * x; } };
__device__ float negative(float x) { return -x; }
__device__ float square(float x) { return x * x; }
__constant__ float small[2] = {1, 2}, large[2] = {10, 20};
__device__ function functions[2] = {negative, square};
__device__ const float* const tables[2] = {small, large};
__device__ float atomic_max(float* address, float value) {
  int old = *(int*)address, seen;
  do {
    seen = old;
    old = atomicCAS((int*)address, seen, __float_as_int(fmaxf(value, __int_as_float(seen))));
  } while (seen != old);
  return __int_as_float(old);
}
__global__ void k(const float* x, float* y, float* most, int n) {
  int t = threadIdx.x, odd = t % 2;
  float bits;
  cudaGridDependencySynchronize();
  memcpy(&bits, x + t, sizeof(float));
  Twice twice;
  Half half;
  const Op* op = odd ? static_cast<const Op*>(&twice) : &half;
  y[t] = functions[odd]((*op)(bits)) + tables[odd][n];
  atomic_max(most, y[t]);
}
"""


@pytest.mark.compiler
def test_pointers_to_functions_and_to_variables_and_an_atomic_operation_of_the_guide() -> None:
    x, y, most = np.arange(64, dtype=np.float32), np.zeros(64, np.float32), np.zeros(1, np.float32)
    kernel = tirx_mini.read_cuda(POINTERS).entry("k")
    report = kernel.simulate([x, y, most, 1], grid=1, block=64)
    assert (report.verdict, report.unchecked) == ("ok", ())
    np.testing.assert_array_equal(y, np.where(np.arange(64) % 2, 4 * x * x + 20, 2 - x / 2))
    assert most[0] == y.max()
    (finding, *_) = kernel.simulate([x, y, most, 2], grid=1, block=64).findings
    line = 1 + POINTERS.split("\n").index("  y[t] = functions[odd]((*op)(bits)) + tables[odd][n];")
    assert finding.code == "TX301" and finding.span is not None and finding.span.user.line == line
