"""Launches on a real GPU: results, streams, graphs, wrong arguments, kernels that hang or fault."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tirx_mini as tvm
from tests.gpu.kernels import N, copy_by_tma, scale, vector_by_tma, waits_for_ever, writes_far_away
from tirx_mini.arguments import ArgumentError
from tirx_mini.ir import PrimFunc
from tirx_mini.runtime import Executable, KernelFault, KernelTimeout

NATIVE = Path(__file__).parents[2] / "examples" / "native"


def compiled(kernel: PrimFunc) -> Executable:
    exe = tvm.compile(tvm.IRModule({"main": kernel}), target="cuda")
    assert isinstance(exe, Executable) and exe.arch == "sm_90a"
    return exe


def data() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(N, device="cuda"), torch.zeros(N, device="cuda")


def still_launches() -> None:
    """Launch a kernel in this process and check its result."""
    a, b = data()
    compiled(scale)(a, b, 3.0)
    torch.testing.assert_close(b, a * 3)


# -- results -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(path.name for path in NATIVE.glob("0*.py")))
@pytest.mark.parametrize("guarded", [False, True])
def test_a_native_example_computes_its_result(name: str, guarded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(NATIVE))
    rung = runpy.run_path(str(NATIVE / name))
    inputs, outputs = ([torch.from_numpy(array).cuda() for array in rung[name]] for name in ("inputs", "outputs"))
    if guarded:
        assert tvm.run(rung["kernel"], *inputs, *outputs, target="cuda") is None
    else:
        compiled(rung["kernel"])(*inputs, *outputs)
    for got, want in zip(outputs, rung["expected"], strict=True):
        torch.testing.assert_close(got.cpu(), torch.from_numpy(want), rtol=1e-5, atol=1e-5)


def test_a_native_example_prints_on_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(NATIVE))
    _, (expected, *_) = runpy.run_path(str(NATIVE / "03_reduce.py"))["expected"]
    command = [sys.executable, str(NATIVE / "03_reduce.py"), "--target", "cuda"]
    environment = {"PYTHONPATH": str(NATIVE.parents[1]), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "reduce_rows on cuda: right" in done.stdout
    printed = re.search(r"thread 0: mine\[0:1\] = (\S+)", done.stdout + done.stderr)
    assert printed is not None
    assert float(printed[1]) == pytest.approx(float(expected), rel=1e-4)


def test_numpy_arrays_are_copied_to_the_gpu_and_back() -> None:
    a, b = np.arange(N, dtype=np.float32), np.zeros(N, np.float32)
    compiled(scale)(a, b, 0.5)
    np.testing.assert_array_equal(b, a / 2)


def test_tma_loads_and_stores() -> None:
    a = torch.randn((256, 512), device="cuda").half()
    b = torch.zeros_like(a)
    compiled(copy_by_tma(256, 512))(a, b)
    assert torch.equal(a, b)


def test_a_scalar_argument_may_be_a_tensor_that_changes() -> None:
    exe, (a, b) = compiled(scale), data()
    factor = torch.tensor(2.0)
    for value in (2.0, 5.0, np.float32(0.5)):
        factor.fill_(float(value))
        exe(a, b, factor)
        torch.testing.assert_close(b, a * float(value))
        exe(a, b, np.float32(value))
        torch.testing.assert_close(b, a * float(value))


def test_tma_copies_a_vector() -> None:
    a, b = torch.randn(N, device="cuda"), torch.zeros(N, device="cuda")
    compiled(vector_by_tma)(a, b)
    assert torch.equal(a[256:512], b[:256]) and not b[256:].any()


def test_other_tensors_get_another_binding() -> None:
    exe = compiled(copy_by_tma(128, 128))
    for seed in range(3):
        a = torch.randn((128, 128), device="cuda", generator=torch.Generator("cuda").manual_seed(seed)).half()
        b = torch.zeros_like(a)
        exe(a, b)
        assert torch.equal(a, b)


# -- streams and graphs ------------------------------------------------------------------------------------------------


def test_a_kernel_runs_on_the_current_stream() -> None:
    exe, stream = compiled(scale), torch.cuda.Stream()
    a, b = data()
    exe(a, b, 4.0)
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(400_000_000)  # cycles: a fifth of a second
        a.fill_(2.0)
        exe(a, b, 4.0)
    assert not stream.query()
    stream.synchronize()
    assert bool((b == 8).all())


def test_a_thread_that_has_not_used_the_gpu_launches() -> None:
    exe, (a, b) = compiled(scale), data()
    exe(a, b, 1.0)
    torch.cuda.synchronize()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(exe, a, b, 6.0).result()
    torch.cuda.synchronize()
    torch.testing.assert_close(b, a * 6)


def test_a_tensor_that_changes_in_place_is_checked_again() -> None:
    exe, (a, b) = compiled(scale), data()
    exe(a, b, 2.0)
    a.resize_(N // 2)
    with pytest.raises(ArgumentError, match="has shape"):
        exe(a, b, 2.0)


def test_a_cuda_graph_replays_a_kernel() -> None:
    exe = compiled(copy_by_tma(128, 128))
    a, b = (torch.zeros((128, 128), device="cuda", dtype=torch.float16) for _ in range(2))
    exe(a, b)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        exe(a, b)
    for value in (1.0, 2.0):
        a.fill_(value)
        graph.replay()
        torch.cuda.synchronize()
        assert bool((b == value).all())


# -- wrong arguments ---------------------------------------------------------------------------------------------------


def with_first(value: Callable[[torch.Tensor], Any]) -> tuple[Any, ...]:
    a, b = data()
    return value(a), b, 1.0


WRONG: dict[str, tuple[Callable[[torch.Tensor], Any], str]] = {
    "on the CPU": (lambda a: a.cpu(), "is on the CPU, but the kernel runs on the GPU: pass A.cuda()"),
    "of another dtype": (
        lambda a: a.half(), "has dtype float16, but the kernel was written for float32: pass A.to(torch.float32)"
    ),
    "of another shape": (lambda a: a[:512].clone(), "has shape (512,), but the kernel is for (1024,)"),
    "not contiguous": (lambda a: torch.zeros(2 * N, device="cuda")[::2], "is not contiguous (its strides are (2,))"),
    "misaligned": (
        lambda a: torch.zeros(N + 1, device="cuda")[1:], "starts at an address that is not a multiple of 16 bytes"
    ),
    "a list": (lambda a: [1.0], "must be a tensor or a NumPy array, but it is a list"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_argument_gets_one_sentence(name: str) -> None:
    value, sentence = WRONG[name]
    with pytest.raises(ArgumentError) as raised:
        compiled(scale)(*with_first(value))
    assert str(raised.value).startswith("argument 1 (A) of scale ") and sentence in str(raised.value)
    assert "\n" not in str(raised.value)
    still_launches()


def test_an_output_may_not_overlap_another_argument() -> None:
    a, _ = data()
    with pytest.raises(ArgumentError, match="writes B, which shares memory with A"):
        compiled(scale)(a, a, 1.0)


# -- kernels that do not end well --------------------------------------------------------------------------------------


def test_after_a_hang_the_process_can_launch_again() -> None:
    still_launches()
    a, b = data()
    start = time.monotonic()
    with pytest.raises(KernelTimeout, match="waits_for_ever did not finish within 2 s"):
        compiled(waits_for_ever).run_guarded(a, b, limit_s=2)
    assert time.monotonic() - start < 60  # two seconds, and what a process takes to begin
    still_launches()
    compiled(scale).run_guarded(a, b, 2.0)
    torch.testing.assert_close(b, a * 2)


def test_a_hang_is_explained_by_the_simulator() -> None:
    a, b = data()
    with pytest.raises(tvm.GpuRunError) as raised:
        tvm.run(waits_for_ever, a, b, target="cuda", limit_s=2)
    assert raised.value.report.verdict == "deadlock" and raised.value.report.gpu in ("H100", "H200")
    assert "did not finish within 2 s" in str(raised.value) and "ready" in str(raised.value)
    still_launches()


def test_after_a_fault_the_process_can_launch_again() -> None:
    at, b = torch.full((4,), 2**28, device="cuda", dtype=torch.int32), data()[1]
    with pytest.raises(KernelFault) as raised:
        compiled(writes_far_away).run_guarded(at, b)
    # Drivers name a store to an address that nothing is at in one of these ways.
    assert raised.value.name in ("CUDA_ERROR_ILLEGAL_ADDRESS", "CUDA_ERROR_LAUNCH_FAILED")
    still_launches()
    with pytest.raises(tvm.GpuRunError) as explained:
        tvm.run(writes_far_away, at, b, target="cuda")
    assert explained.value.report.findings[0].kind == "out-of-bounds"


def test_a_kernel_for_another_gpu_is_not_loaded() -> None:
    exe = tvm.compile(tvm.IRModule({"main": scale}), target="cuda:sm_100a")
    with pytest.raises(RuntimeError, match="compiled for sm_100a, but this GPU is sm_90a: compile it for target"):
        exe(*data(), 1.0)
    still_launches()
