"""Times from CUDA graphs are those of one launch, without the host."""

from __future__ import annotations

import time

import pytest
import torch

import tirx_mini as tvm
from tests.gpu.kernels import N, scale, works_once
from tirx_mini.course import load_kernels
from tirx_mini.runtime import Executable, KernelTimeout, LaunchGraph
from utils import benchmark

SLEEP_CYCLES = 1_000_000


def test_the_time_excludes_the_host() -> None:
    exe = tvm.compile(tvm.IRModule({"main": scale}), target="cuda")
    a, b = torch.randn(N, device="cuda"), torch.zeros(N, device="cuda")

    def launch() -> None:
        time.sleep(0.01)
        exe(a, b, 3.0)

    graph = LaunchGraph(launch, 10)
    torch.testing.assert_close(b, a * 3)
    b.zero_()
    assert 0 < graph.ms() < 1
    torch.testing.assert_close(b, a * 3)


def test_the_time_is_that_of_one_launch() -> None:
    once, often = (LaunchGraph(lambda: torch.cuda._sleep(SLEEP_CYCLES), repeat).ms() for repeat in (1, 20))
    assert 0.3 < once < 2  # at 0.5 to 3 GHz
    assert often == pytest.approx(once, rel=0.3)


def test_a_kernel_that_works_only_once_is_ended() -> None:
    exe = tvm.compile(tvm.IRModule({"main": works_once}), target="cuda")
    assert isinstance(exe, Executable)
    launches, b = torch.zeros(1, device="cuda", dtype=torch.int32), torch.zeros(N, device="cuda")
    exe.run_guarded(launches, b)
    assert launches.item() == 1 and bool((b[:32] == 1).all())
    launches.zero_()
    with pytest.raises(KernelTimeout, match="when it was launched 3 times in a row"):
        exe.time_guarded(launches, b, repeat=3, limit_s=2)
    again, c = torch.randn(N, device="cuda"), torch.zeros(N, device="cuda")
    scaled = tvm.compile(tvm.IRModule({"main": scale}), target="cuda")
    assert isinstance(scaled, Executable) and 0 < scaled.time_guarded(again, c, 2.0) < 1 and not c.any()


def test_a_small_step_takes_the_time_of_its_kernel() -> None:
    size = 1024
    ms, tflops = benchmark(load_kernels("kernels_ref", "sm90")[5](size, size, size), size, size, size, target="cuda")
    assert tflops == pytest.approx(2 * size**3 / ms / 1e9)
    assert 0.002 < ms < 0.02  # a launch from Python alone takes longer than what it launches
