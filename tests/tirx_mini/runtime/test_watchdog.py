"""Guarded runs: hangs and faults have messages, and results reach the arguments."""

from __future__ import annotations

import pickle
import subprocess
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tests.tirx_mini.codegen.samples import scale
from tirx_mini.arguments import ArgumentError
from tirx_mini.ir import Buffer
from tirx_mini.runtime import DriverError, KernelFault, KernelTimeout, build, watchdog
from tirx_mini.runtime.launch import Kernel
from tirx_mini.worker import Worker


@pytest.mark.compiler
def test_an_executable_can_be_pickled() -> None:
    exe = build(scale(), "sm_90a")
    again = pickle.loads(pickle.dumps(exe))
    assert again.cuda.text == exe.cuda.text and again.written == {1}
    assert again.func.params[0] is again.cuda.params[0]


@pytest.mark.compiler
def test_wrong_arguments_are_rejected_before_a_process_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a process was made"))
    with pytest.raises(ArgumentError, match="scale takes 2 arguments"):
        build(scale(), "sm_90a").run_guarded(1)


class Fails(Worker):
    """A child in which every task raises `error`."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def call(self, task: Any, payload: Any, limit_s: float) -> Any:
        raise self.error


LATE = {
    "run_guarded": "scale did not finish within 10 s and was ended: .* run it with target",
    "time_guarded": "scale did not finish within 20 s when it was launched 30 times in a row",
}


@pytest.mark.compiler
@pytest.mark.parametrize("method", LATE)
def test_a_hang_and_a_fault_have_messages_of_their_own(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    exe = build(scale(), "sm_90a")
    args = [np.zeros(p.shape, str(p.dtype)) for p in exe.func.params if isinstance(p, Buffer)]
    monkeypatch.setattr(watchdog, "_runner", lambda: Fails(TimeoutError()))
    with pytest.raises(KernelTimeout, match=LATE[method]):
        getattr(exe, method)(*args)
    monkeypatch.setattr(watchdog, "_runner", lambda: Fails(DriverError("CUDA_ERROR_LAUNCH_FAILED", "it failed")))
    with pytest.raises(KernelFault, match=r"the GPU ended scale: it failed \(CUDA_ERROR_LAUNCH_FAILED\)") as raised:
        getattr(exe, method)(*args)
    assert raised.value.name == "CUDA_ERROR_LAUNCH_FAILED"


@pytest.mark.compiler
def test_timing_returns_milliseconds_and_writes_no_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    exe = build(scale(), "sm_90a")
    args = [np.zeros(p.shape, str(p.dtype)) for p in exe.func.params if isinstance(p, Buffer)]
    calls: list[tuple[Any, float]] = []

    class Answers(Worker):
        def call(self, task: Any, payload: Any, limit_s: float) -> Any:
            calls.append((payload[2:], limit_s))
            return 0.25

    monkeypatch.setattr(watchdog, "_runner", Answers)
    assert exe.time_guarded(*args, repeat=7, limit_s=3) == 0.25
    assert calls == [((7,), 3)] and not any(arg.any() for arg in args)


class Here(Worker):
    """A child whose tasks are executed in this process; payloads and results go through a pickle."""

    def call(self, task: Any, payload: Any, limit_s: float) -> Any:
        sent, received = pickle.loads(pickle.dumps((task, payload)))
        work = sent(received)
        next(work)
        with pytest.raises(StopIteration) as ended:
            next(work)
        return pickle.loads(pickle.dumps(ended.value.value))


@pytest.fixture
def without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tasks of the child with NumPy arrays for tensors, and a copy for the launch of a kernel."""

    class Copies:
        def __init__(self, kernel: Kernel) -> None:
            (self.written,) = kernel.written

        def __call__(self, args: list[Any]) -> None:
            args[self.written][...] = args[0]

    class Graph:
        def __init__(self, launch: Callable[[], None], repeat: int) -> None:
            launch()
            self.repeat = repeat

        def ms(self) -> float:
            return self.repeat / 8

    monkeypatch.setattr(watchdog, "Launcher", Copies)
    monkeypatch.setattr(watchdog, "LaunchGraph", Graph)
    monkeypatch.setattr(watchdog, "_on_device", lambda packed: [p.data.view(p.dtype).reshape(p.shape) for p in packed])
    monkeypatch.setattr(watchdog, "_runner", Here)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)


@pytest.mark.compiler
@pytest.mark.usefixtures("without_a_gpu")
def test_the_results_of_a_guarded_run_are_copied_into_the_arguments() -> None:
    a, b = np.arange(1024, dtype=np.float16), np.zeros(1024, np.float16)
    build(scale(), "sm_90a").run_guarded(a, b)
    assert np.array_equal(b, a)


@pytest.mark.compiler
@pytest.mark.usefixtures("without_a_gpu")
def test_the_time_of_a_guarded_run_is_that_of_a_graph_of_launches() -> None:
    a, b = np.arange(1024, dtype=np.float16), np.zeros(1024, np.float16)
    assert build(scale(), "sm_90a").time_guarded(a, b, repeat=4) == 0.5
    assert not b.any()


def test_the_advice_follows_the_message() -> None:
    fault = KernelFault("CUDA_ERROR_LAUNCH_FAILED", "it failed")
    assert str(fault) == "it failed"
    fault.advice = "Try a smaller one"
    assert str(fault) == "it failed. Try a smaller one"
