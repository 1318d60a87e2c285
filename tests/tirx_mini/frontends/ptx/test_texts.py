"""Kernels of CUDA C++ in three texts: accesses that the optimiser drops or moves, and values that it changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tirx_mini
from tirx_mini.__main__ import main
from tirx_mini.codegen import cuda_source
from tirx_mini.course import default_kernels, load_kernels
from tirx_mini.diagnose import Finding, Report
from tirx_mini.frontends.ptx.merging import lines_of
from tirx_mini.frontends.ptx.programs import Entry
from tirx_mini.frontends.ptx.texts import Role, Source
from tirx_mini.ir import TirxError
from tirx_mini.passes import lower
from tirx_mini.runtime import compile_cuda
from tirx_mini.worker import Twin

pytestmark = pytest.mark.compiler


def run(source: str, *args: Any, block: int = 64, grid: int = 1, optimize: bool = False, **options: Any) -> Report:
    entry = tirx_mini.read_cuda(source, optimize=optimize).entry("k")
    return entry.simulate(args, grid=grid, block=block, **options)


def places(findings: tuple[Finding, ...]) -> list[tuple[str, tuple[int, ...]]]:
    """The codes of findings, with the lines of both sides."""
    return sorted((each.code, tuple(sorted(line for _, line in lines_of(each)))) for each in findings)


DEAD_STORES = """\
__global__ void k(int* out) {
  __shared__ int s[1];
  if (threadIdx.x % 32 == 0) {
    s[0] = threadIdx.x;
    s[0] = 5;
  }
  __syncthreads();
  out[threadIdx.x] = s[0];
}
"""
KEPT_VALUE = """\
__global__ void k(int* out) {
  __shared__ int s[1];
  int t = threadIdx.x;
  if (t == 0) s[0] = 1;
  __syncthreads();
  int before = s[0];
  if (t == 32) s[0] = 2;
  int after = s[0];
  out[t] = after - before;
}
"""
FLAG = """\
__global__ void k(int* out) {
  __shared__ int ready, value;
  int t = threadIdx.x;
  if (t == 0) ready = 0;
  __syncthreads();
  if (t == 32) {
    value = 7;

    ready = 1;
  }
  if (t == 0) {
    while (ready == 0);

    out[0] = value;
  }
}
"""
VOLATILE = {
    "__shared__ int ready": "__shared__ volatile int ready", "value = 7;\n": "value = 7;\n__threadfence_block();",
    "ready == 0);\n": "ready == 0);\n__threadfence_block();", "ready, value": "ready; __shared__ int value",
}  # fmt: skip
BARRIERS = {"s[0];\n  if": "s[0];\n__syncthreads();\n  if", "s[0] = 2;\n": "s[0] = 2;\n__syncthreads();"}
ONE_STORE = {"    s[0] = threadIdx.x;\n": "", "threadIdx.x % 32 == 0": "threadIdx.x == 0"}


@pytest.mark.parametrize(
    ("source", "fix", "found", "in_optimised"),
    [
        (DEAD_STORES, ONE_STORE, [("TX201", (4, 5))], []),
        (KEPT_VALUE, BARRIERS, [("TX201", (6, 7)), ("TX504", (9,))], [("TX201", (6, 7))]),
        (FLAG, VOLATILE, [("TX201", (7, 14)), ("TX201", (9, 12))], []),
    ],
    ids=["a dead store", "a value kept in a register", "a flag without volatile"],
)
def test_an_access_that_the_optimiser_drops_is_found_once_and_the_right_kernel_is_clean(
    source: str, fix: dict[str, str], found: list[tuple[str, tuple[int, ...]]], in_optimised: list[tuple[str, Any]]
) -> None:
    report = run(source, np.zeros(64, np.int32))
    assert places(report.findings) == found, report
    assert places(run(source, np.zeros(64, np.int32), optimize=True).findings) == in_optimised
    for old, new in fix.items():
        assert old in source
        source = source.replace(old, new)
    right = run(source, np.zeros(64, np.int32))
    assert right.ok and not right.findings and right.proof is not None and right.proof.holds, right


REDUCE = """\
__global__ void k(const float* x, float* sums, int n) {
  __shared__ float part[128];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  part[t] = i < n ? x[i] : 0.0f;
  for (int width = blockDim.x / 2; width > 0; width /= 2) {
    if (t < width) part[t] += part[t + width];
  }
  if (t == 0) sums[blockIdx.x] = part[0];
}
"""


def test_what_all_texts_show_is_reported_once_with_the_time_of_the_optimised_one() -> None:
    report = run(REDUCE, np.ones(256, np.float32), np.zeros(2, np.float32), 256, grid=2, block=128, trace=True)
    alone = run(REDUCE, np.ones(256, np.float32), np.zeros(2, np.float32), 256, grid=2, block=128, optimize=True)
    assert [each.code for each in report.findings] == ["TX201", "TX201"], report
    assert (report.timing, report.schedules, report.stats) == (alone.timing, alone.schedules, alone.stats)
    assert report.trace is not None and report.trace.label.startswith("k on B200")


OVERFLOW = """\
__global__ void k(int* x) {
  int i = x[threadIdx.x];
  x[threadIdx.x] = i + 1 > i;
}
"""


def test_values_that_the_optimiser_changes_are_at_the_store_of_the_element() -> None:
    x = np.full(64, 2**31 - 1, np.int32)
    report = run(OVERFLOW, x)
    (finding,) = report.findings
    assert (report.verdict, finding.code, finding.happened) == ("fault", "TX504", True)
    assert finding.message == "x[0] is 0 without optimisation, and 1 with optimisation"
    assert finding.span is not None and finding.span.line == 3 and "lets the compiler choose" in str(report)
    assert (x == 1).all()  # what a GPU computes
    right = OVERFLOW.replace("i + 1 > i", "i != 2147483647")
    assert run(right, np.full(64, 2**31 - 1, np.int32)).ok


FUSED = """\
#include <math.h>
__global__ void k(const float* x, const float* y, float* z, double* w) {
  int i = threadIdx.x;
  z[i] = x[i] * y[i] + z[i];
  w[i] = expf(x[i]) * sinf(y[i]) + powf(fabsf(x[i]), 0.3f) / y[i];
}
"""
ATOMIC_SUM = "__global__ void k(const float* x, float* y) { atomicAdd(y, x[blockIdx.x * 64 + threadIdx.x] * 0.1f); }"
CLOCK = "__global__ void k(long long* x) { long long t = clock64(); x[threadIdx.x] = clock64() - t; }"


def test_rounding_order_and_clocks_are_no_difference() -> None:
    x, y, z = np.random.default_rng(0).standard_normal((3, 64)).astype(np.float32)
    entry = tirx_mini.read_cuda(FUSED).entry()
    assert "fma.rn.f32" in tirx_mini.read_cuda(FUSED).text
    assert entry.simulate([x, y, z, np.zeros(64)], grid=1, block=64).ok
    exact = np.random.default_rng(0).standard_normal((3, 64)).astype(np.float32)
    assert np.allclose(z, exact[0] * exact[1] + exact[2], rtol=1e-6)
    assert run(ATOMIC_SUM, np.random.default_rng(0).random(256, np.float32), np.zeros(1, np.float32), grid=4).ok
    assert run(CLOCK, np.zeros(64, np.int64)).ok


RECURSIVE = """\
__device__ int sum(int n, int before) { return n == 0 ? before : sum(n - 1, before + n); }
__global__ void k(int* x) { x[threadIdx.x] = sum(x[threadIdx.x], 0); }
"""


def test_a_text_that_cannot_be_read_leaves_a_note(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = np.full(64, 5, np.int32)
    report = run(RECURSIVE, x)
    assert report.ok and not report.findings and (x == 15).all()
    (note,) = report.unchecked
    assert note.startswith("ordinary accesses were checked in optimised text only") and "is recursive" in note
    file = tmp_path / "sum.cu"
    file.write_text(RECURSIVE)
    assert main(["check", f"{file}:k", "--args", "zeros(int32[64])", "--grid", "1", "--block", "64"]) == 0
    assert "note: ordinary accesses were checked in optimised text only" in " ".join(capsys.readouterr().out.split())
    assert "ordinary accesses were checked" in str(report)


def test_what_is_not_modelled_in_all_texts_is_one_finding() -> None:
    report = run('__global__ void k(int* x) { asm volatile("vadd.u32.u32.u32 %0, %0, %0;" : "+r"(x[0])); }',
                 np.zeros(1, np.int32))  # fmt: skip
    assert (report.verdict, [each.code for each in report.findings]) == ("incomplete", ["TX601"]), report
    assert not report.unchecked


def test_a_kernel_prints_once(capfd: pytest.CaptureFixture[str]) -> None:
    source = '#include <stdio.h>\n__global__ void k(int* x) { printf("%d\\n", x[threadIdx.x]); }'
    assert run(source, np.array([5], np.int32), block=1).ok
    assert capfd.readouterr().out == "5\n"


@pytest.mark.parametrize("options", [{"data": False}, {"checks": False}, {"optimize": True}])
def test_a_run_for_the_time_has_one_text(options: dict[str, bool], monkeypatch: pytest.MonkeyPatch) -> None:
    entry = tirx_mini.read_cuda(DEAD_STORES, optimize=options.pop("optimize", False)).entry()
    texts: list[str] = []
    simulate = Entry.simulate
    monkeypatch.setattr(Entry, "simulate", lambda self, *a, **o: (texts.append(self.name), simulate(self, *a, **o))[1])
    report = entry.simulate([np.zeros(64, np.int32)], grid=1, block=64, **options)
    assert not report.findings and texts == ["k"]


def test_texts_run_in_turn_where_processes_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    reports = [run(KEPT_VALUE, np.zeros(64, np.int32))]
    monkeypatch.setattr(Twin, "possible", staticmethod(lambda: False))
    reports.append(run(KEPT_VALUE, np.zeros(64, np.int32)))
    assert reports[0] == reports[1] and len(reports[0].findings) == 2


def test_a_text_that_does_not_compile_for_one_role_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    from tirx_mini.frontends.ptx import texts

    compiled = texts.compile_ptx

    def fails(text: str, file: str, arch: str, flags: tuple[str, ...], *more: Any) -> Any:
        if "-G" in flags:
            raise RuntimeError("NVRTC failed: NVRTC_ERROR_INTERNAL_ERROR")
        return compiled(text, file, arch, flags, *more)

    monkeypatch.setattr(texts, "compile_ptx", fails)
    report = run(DEAD_STORES, np.zeros(64, np.int32))
    assert report.ok and "INTERNAL_ERROR" in report.unchecked[0]
    found = texts.texts_of(texts.Source(DEAD_STORES, "k.cu", "sm_90a"), tuple(Role))
    assert isinstance(found[Role.ORDINARY], TirxError) and Role.VALUES not in found  # there is nothing to fuse


WGMMA = """\
__device__ unsigned long long desc(const void* p) {
  return ((unsigned long long)(__cvta_generic_to_shared(p) >> 4) & 0x3fff) | (8ull << 16) | (16ull << 32);
}
__device__ void product(float (&d)[4], const void* a, const void* b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(desc(a)), "l"(desc(b)) : "memory");
}
__global__ void k(const unsigned* A, const unsigned* B, float* out, int times) {
  __shared__ alignas(128) unsigned a[512], b[64];
  float d[4] = {};
  int t = threadIdx.x;
  for (int i = t; i < 512; i += 128) a[i] = A[i];
  if (t < 64) b[t] = B[t];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  for (int i = 0; i < 4; ++i) asm volatile("" : "+f"(d[i]) :: "memory");
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  for (int i = 0; i < times; ++i) product(d, a, b);
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  WAIT
  for (int i = 0; i < 4; ++i) out[4 * t + i] = d[i];
  LATE
}
"""
WAIT = 'asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");'


@pytest.mark.parametrize("early", [False, True])
def test_accumulators_that_are_read_too_early_are_found_in_the_text_that_keeps_them_in_place(early: bool) -> None:
    """Text without optimisation stores accumulators in local memory after each wgmma; the source has no such access."""
    source = WGMMA.replace("LATE" if early else "WAIT", WAIT).replace("WAIT" if early else "LATE", "")
    a, b = (np.random.default_rng(0).standard_normal(n).astype(np.float16).view(np.uint32) for n in (1024, 128))
    out = np.zeros(512, np.float32)
    entry = tirx_mini.read_cuda(source, arch="sm_90a").entry("k")
    report = entry.simulate([a, b, out, 3], grid=1, block=128, gpu="h100")
    if early:
        assert {each.code for each in report.causes} == {"TX212"} and places(report.causes) == [("TX212", (6, 21))]
        return
    assert report.ok and not report.findings and not report.unchecked, report
    assert np.abs(out).max() > 1


def test_a_text_with_wgmma_changes_no_later_compilation() -> None:
    """NVRTC 13.0 compiles other kernels otherwise after a text without optimisation that has one."""
    kernel = cuda_source(lower(load_kernels(default_kernels(), "sm90")[4](256, 256, 128)))
    before = compile_cuda(kernel, "sm_90a").ptx
    Source(WGMMA.replace("WAIT", WAIT).replace("LATE", ""), "k.cu", "sm_90a").compiled(Role.ORDINARY)
    assert compile_cuda(kernel, "sm_90a").ptx == before
