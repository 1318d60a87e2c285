"""Whole kernels: one readable file, with only the definitions that the kernel uses."""

from __future__ import annotations

import re

import pytest

from tests.tirx_mini.codegen.samples import TID, at, func, put, scale, shared_reverse, vector
from tirx_mini.codegen import cuda_source
from tirx_mini.ir import (
    INT32,
    AllocBuffer,
    Bind,
    Buffer,
    DataType,
    For,
    Hint,
    If,
    TirxError,
    Var,
    While,
    const,
    scalar,
    seq,
)


def test_a_kernel_reads_as_its_source() -> None:
    assert (
        cuda_source(scale()).text
        == """\
#include <cuda_fp16.h>

extern "C" __global__ void __launch_bounds__(128) scale_kernel(const half* __restrict__ A, half* __restrict__ B) {
  __align__(16) float wide[8];
  __align__(16) half narrow[8];
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    wide[i] = __half2float(A[((int)threadIdx.x) * 8 + i]) * 2.0f;
  }
  #pragma unroll
  for (int j = 0; j < 4; ++j) {
    *(half2*)(narrow + j * 2) = __float22half2_rn(*(float2*)(wide + j * 2));
  }
  *(uint4*)(B + ((int)threadIdx.x) * 8) = *(uint4*)narrow;
}
"""
    )


def test_the_text_is_deterministic() -> None:
    assert cuda_source(shared_reverse()).text == cuda_source(shared_reverse()).text


def test_shared_memory_is_one_aligned_allocation_with_named_views() -> None:
    text = cuda_source(shared_reverse()).text
    assert "extern __shared__ __align__(1024) uchar smem[];" in text
    assert "float* const tile = (float*)(smem + 1024);" in text
    assert "typedef unsigned char uchar;" in text
    assert "int warp_id_in_cta = __shfl_sync(0xffffffff, (((int)threadIdx.x) >> 5), 0, 32);" in text
    assert "if ((warp_id_in_cta >> 2) == 0) {" in text
    assert "int steps = 0;" in text


def test_the_signature_has_cluster_dimensions_and_launch_bounds() -> None:
    A = vector("A", 4)
    kernel = func(put(A, 0, const(1.0, "float32")), params=(A,), cluster=(2, 1, 1), grid=(4, 1, 1))
    head = "__launch_bounds__(128) __cluster_dims__(2, 1, 1) kernel_kernel(float* __restrict__ A)"
    assert head in cuda_source(kernel).text


def test_sibling_blocks_reuse_names_and_nested_blocks_never_shadow() -> None:
    A = vector("A", 64)
    k1, k2, inner = Var(INT32, "k"), Var(INT32, "k"), Var(INT32, "k")
    kernel = func(
        For(k1, const(0), const(4), For(inner, const(0), const(2), put(A, k1 * 2 + inner, const(0.0, "float32")))),
        For(k2, const(0), const(8), put(A, k2, const(1.0, "float32"))),
        params=(A,),
    )
    text = cuda_source(kernel).text
    assert re.findall(r"for \(int (\w+) = 0; \1 < (\d+); \+\+\1\)", text) == [("k", "4"), ("k_1", "2"), ("k", "8")]
    assert "A[k * 2 + k_1] = 0.0f;" in text


@pytest.mark.parametrize("name", ["int", "threadIdx", "__x", "a-b", "7th", "warp_id_in_cta"])
def test_names_that_cpp_does_not_allow_are_changed(name: str) -> None:
    A = vector("A", 4)
    var = Var(INT32, name)
    text = cuda_source(func(Bind(var, TID + 1), put(A, var, const(0.0, "float32")), params=(A,))).text
    chosen = re.search(r"const int (\w+) = \(\(int\)threadIdx.x\) \+ 1;", text)
    assert chosen and chosen.group(1) != name and f"A[{chosen.group(1)}]" in text


def test_a_loop_over_registers_is_unrolled_even_through_a_binding() -> None:
    A, regs = vector("A", 128), vector("regs", 8, "float32", "local")
    k, i, place = Var(INT32, "k"), Var(INT32, "i"), Var(INT32, "place")
    kernel = func(
        AllocBuffer(regs),
        For(
            k,
            const(0),
            const(16),
            For(i, const(0), const(4), seq(Bind(place, i * 2), put(regs, place, at(A, k)))),
        ),
        put(A, 0, at(regs, 0)),
        params=(A,),
    )
    lines = [line.strip() for line in cuda_source(kernel).text.splitlines()]
    assert lines[lines.index("for (int i = 0; i < 4; ++i) {") - 1] == "#pragma unroll"
    assert lines[lines.index("for (int k = 0; k < 16; ++k) {") - 1] != "#pragma unroll"


def test_loops_branches_and_hints_print_as_cpp() -> None:
    A, valid = vector("A", 4, "int32"), scalar("valid", "int32")
    one = const(1)
    kernel = func(
        AllocBuffer(valid),
        put(valid, 0, one),
        While(at(valid, 0) != 0, If(TID < 1, put(A, 0, one), If(TID < 2, put(A, 1, one), put(valid, 0, const(0))))),
        Hint("the end", (("level", 2),)),
        Hint("C:\\"),
        params=(A,),
    )
    body = cuda_source(kernel).text.split("{", 1)[1]
    assert [line.strip() for line in body.strip().splitlines()] == [
        "int valid = 1;",
        "while (valid != 0) {",
        "if (((int)threadIdx.x) < 1) {",
        "A[0] = 1;",
        "} else if (((int)threadIdx.x) < 2) {",
        "A[1] = 1;",
        "} else {",
        "valid = 0;",
        "}",
        "}",
        "// hint: the end, level = 2",
        "// hint: C:",
        "}",
    ]


def test_only_what_is_used_is_passed_and_defined() -> None:
    A, B, n = vector("A", 4), vector("B", 4, "bfloat16"), Var(INT32, "n")
    kernel = func(put(A, 0, const(1.0, "float32")), params=(B, n, A))
    source = cuda_source(kernel)
    assert source.params == (A,)
    assert "__device__" not in source.text and "typedef" not in source.text


def test_each_line_has_its_source_span(tmp_path) -> None:
    A = vector("A", 4)
    kernel = func(put(A, 0, const(1.0, "float32"), line=12), put(A, 1, const(2.0, "float32"), line=13), params=(A,))
    source = cuda_source(kernel)
    line = source.text.splitlines().index("  A[1] = 2.0f;") + 1
    span = source.span_at(line)
    assert span is not None and (span.file, span.line) == ("kernel.py", 13)
    directed = cuda_source(kernel, line_directives=True).text.splitlines()
    assert directed[directed.index("  A[1] = 2.0f;") - 1] == '#line 13 "kernel.py"'


@pytest.mark.parametrize(
    ("stmt", "message"),
    [
        (lambda A: put(A, 0, at(A, 0, 3)), "no values of type float32x3"),
        (lambda A: AllocBuffer(Buffer("tile", (4,), DataType("float32"), "tmem")), "allocated in tmem"),
    ],
)
def test_types_and_memories_without_a_cuda_form_are_errors(stmt, message: str) -> None:
    A = vector("A", 4)
    with pytest.raises(TirxError, match=message):
        cuda_source(func(stmt(A), params=(A,)))


def test_a_kernel_that_was_not_lowered_is_an_error() -> None:
    from dataclasses import replace

    with pytest.raises(TirxError, match="no launch configuration"):
        cuda_source(replace(scale(), launch=None))


def test_a_workspace_belongs_to_the_module() -> None:
    sums = Buffer("sums", (64,), DataType("float32"))
    text = cuda_source(func(AllocBuffer(sums), put(sums, 3, const(1.0, "float32")))).text
    assert "\n__device__ __align__(16) float sums[64];\n" in text
    assert "_kernel() {\n  sums[3] = 1.0f;\n}" in text
