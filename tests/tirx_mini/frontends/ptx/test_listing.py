"""The kernels of a text are found without a compiler."""

from __future__ import annotations

import pytest

from tirx_mini.course import LaunchedKernel
from tirx_mini.frontends.ptx.listing import kernels_in

CUDA = """#include <cuda_fp16.h>
// __global__ void in_a_comment(int);
const char *text = "__global__ void in_a_string()";
template <typename T, int N = 4>
__global__ void __launch_bounds__(128, (2)) scale(T *x,
    float factor) {}
extern "C" __global__ __cluster_dims__(2, 1, 1) void reduce(const float *in, void (*f)(int)) {}
namespace inner {
static __global__ void
later();
}
__global__ void inner::later() {}
template <int N> __device__ int helper(int x) { return x * N; }
__global__ void after(int x) { helper<3>(x); }
"""


def test_kernels_of_cuda_have_their_lines_parameters_and_templates() -> None:
    assert kernels_in(CUDA, ".cu") == [
        LaunchedKernel("scale", 5, "T *x, float factor", True),
        LaunchedKernel("reduce", 7, "const float *in, void (*f)(int)"),
        LaunchedKernel("later", 12),
        LaunchedKernel("after", 14, "int x"),
    ]


@pytest.mark.parametrize("text", ["", "__global__", "__global__ void", "__global__ void k(int", "/* __global__ k("])
def test_half_a_text_is_no_error(text: str) -> None:
    assert [each.name for each in kernels_in(text, ".cu")] in ([], ["k"])


def test_kernels_of_ptx() -> None:
    text = "// .entry no\n.visible .entry _Z1kPf(\n)\n{ ret; }\n.func f() { ret; }\n.entry $plain() { ret; }\n"
    assert kernels_in(text, ".ptx") == [LaunchedKernel("_Z1kPf", 2), LaunchedKernel("$plain", 6)]
