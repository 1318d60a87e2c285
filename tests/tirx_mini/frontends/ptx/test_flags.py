"""Flags and locks in global memory, as CUDA C++ has them: fences that are there, and fences that are missing."""

from __future__ import annotations

import numpy as np
import pytest

from tirx_mini import Report, read_cuda

LOCK = """
__global__ void k(int* lock, int* sum) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) {}
  FENCE
  *sum += blockIdx.x;
  FENCE
  atomicExch(lock, 0);
}
"""
MESSAGE = """
__global__ void k(volatile int* flag, volatile int* data, int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    *data = 42;
    BEFORE
    *flag = 1;
  } else {
    while (*flag == 0) {}
    BEHIND
    out[0] = *data;
  }
}
"""
WINDOW = """
__global__ void k(volatile int* sent, volatile int* taken, int* ring, int* out, int n) {
  if (threadIdx.x != 0) return;
  for (int i = 0; i < n; ++i)
    if (blockIdx.x == 0) {
      while (i - *taken LIMIT) {}
      __threadfence();
      ring[i % 4] = i;
      __threadfence();
      *sent = i + 1;
    } else {
      while (*sent <= i) {}
      __threadfence();
      out[i] = ring[i % 4];
      __threadfence();
      *taken = i + 1;
    }
}
"""


def simulated(text: str, *sizes: int) -> Report:
    args = [np.zeros(each, np.int32) if i < 4 else each for i, each in enumerate(sizes)]
    return read_cuda(text).entry("k").simulate(args, grid=2, block=32)


@pytest.mark.parametrize(("fence", "ok"), [("__threadfence();", True), ("__threadfence_block();", False), ("", False)])
def test_a_lock_needs_fences_of_the_gpu(fence: str, ok: bool) -> None:
    report = simulated(LOCK.replace("FENCE", fence), 1, 1)
    assert report.ok is ok, report


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("behind", [True, False])
def test_volatile_data_behind_a_flag_needs_both_fences(before: bool, behind: bool) -> None:
    text = MESSAGE.replace("BEFORE", "__threadfence();" * before).replace("BEHIND", "__threadfence();" * behind)
    report = simulated(text, 1, 1, 1)
    assert report.ok is (before and behind), report
    assert not report.errors or report.errors[0].code == "TX201"


def test_volatile_data_that_is_tested_may_be_old() -> None:
    """A thread that looks at a flag again, and goes another way, needs no order."""
    text = MESSAGE.replace("BEFORE", "").replace("BEHIND", "").replace("out[0] = *data;", "while (*data == 0) {}")
    assert simulated(text, 1, 1, 1).ok


@pytest.mark.parametrize(("limit", "ok"), [(">= 4", True), ("> 4", False)])
def test_a_ring_is_not_written_before_its_place_is_read(limit: str, ok: bool) -> None:
    report = simulated(WINDOW.replace("LIMIT", limit), 1, 1, 4, 40, 40)
    assert report.ok is ok, report
