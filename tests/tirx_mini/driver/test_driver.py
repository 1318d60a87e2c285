"""`run`: it returns the simulator's report, and the simulator explains a failed run on a GPU."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import torch

import tirx_mini as tvm
from tirx_mini.hardware import nearest_gpu
from tirx_mini.runtime import Executable, KernelFault, KernelTimeout
from tirx_mini.script import tirx as T


@T.prim_func
def waits(A_ptr: T.handle):
    """The barrier expects 33 arrivals but gets only 32."""
    A = T.match_buffer(A_ptr, (32,), "float32")
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([32])
    ready = T.alloc_shared((1,), "uint64")
    if tx == 0:
        T.ptx.mbarrier.init(ready.ptr_to([0]), 33)
    T.ptx.fence.mbarrier_init()
    T.cuda.cta_sync()
    T.ptx.mbarrier.arrive(ready.ptr_to([0]))
    T.ptx.mbarrier.try_wait(ready.ptr_to([0]), 0)
    A[tx] = 1.0


@T.prim_func
def ones(A_ptr: T.handle):
    A = T.match_buffer(A_ptr, (32,), "float32")
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([32])
    A[tx] = 1.0


@T.prim_func
def takes_long(A_ptr: T.handle):
    A = T.match_buffer(A_ptr, (32,), "float32")
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([32])
    for _ in T.serial(1_000_000_000):
        A[tx] = A[tx] + 1.0


def hangs(self: Executable, *args: Any, limit_s: float) -> None:
    raise KernelTimeout(f"{self.func.name} did not finish within {limit_s:g} s")


def test_run_returns_the_report_of_the_simulator() -> None:
    a = np.zeros(32, np.float32)
    report = tvm.run(ones, a, target="sim:h100")
    assert report is not None and report.ok and report.gpu == "H100" and (a == 1).all()
    with pytest.raises(tvm.SimulationError, match="ready"):
        tvm.run(waits, a, target="sim")


@pytest.mark.compiler
def test_a_hang_on_the_gpu_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Executable, "run_guarded", hangs)
    a = torch.zeros(32)
    with pytest.raises(tvm.GpuRunError) as raised:
        tvm.run(waits, a, target="cuda:sm_90a", limit_s=3)
    assert "waits did not finish within 3 s" in str(raised.value)
    assert raised.value.report.verdict == "deadlock"
    here = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    assert raised.value.report.gpu == nearest_gpu("sm_90a", here).name
    assert "ready" in str(raised.value) and (a == 0).all()


def faults(self: Executable, *args: Any, limit_s: float) -> None:
    raise KernelFault("CUDA_ERROR_ILLEGAL_ADDRESS", f"the GPU ended {self.func.name}")


@pytest.mark.compiler
@pytest.mark.parametrize(("on_the_gpu", "error"), [(hangs, KernelTimeout), (faults, KernelFault)])
def test_an_explanation_is_limited_in_time(
    monkeypatch: pytest.MonkeyPatch, on_the_gpu: Any, error: type[Exception]
) -> None:
    monkeypatch.setattr(Executable, "run_guarded", on_the_gpu)
    with pytest.raises(error) as raised:
        tvm.run(takes_long, np.zeros(32, np.float32), target="cuda:sm_90a", explain_s=0.5)
    said = str(raised.value)
    assert "takes_long" in said and "found no cause within 0.5 s" in said
    assert f"python -m tirx_mini check {__file__}:KERNEL --size 1024" in said


@pytest.mark.compiler
def test_a_hang_without_a_finding_is_reported_as_a_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Executable, "run_guarded", hangs)
    with pytest.raises(tvm.GpuRunError, match="finds nothing wrong"):
        tvm.run(ones, np.zeros(32, np.float32), target="cuda:sm_90a")


# -- what is not a kernel, and options out of range ------------------------------------------------------------------


def timed(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any) -> Any:
        return function(*args)

    return wrapper


def undecorated(A: Any) -> None:
    """A function that is not a kernel."""


def factory() -> Any:
    return ones


NO_KERNELS = {
    "a string": ("ones", ("'ones' is a string, not a kernel", "without quotes")),
    "a plain function": (
        undecorated, ("`undecorated` is a plain function", "decorate it with @Tx.prim_func", "test_driver.py"),
    ),
    "a factory": (factory, ("`factory` is a plain function", "call it and pass the result", "factory(…)")),
    "a wrapped kernel": (timed(ones), ("around the kernel `ones`", "pass the kernel itself", "test_driver.py, line 3")),
    "a partial function": (functools.partial(timed(ones), 1), ("around the kernel `ones`", "functools.partial")),
    "a lambda": (lambda A: None, ("a lambda is not a kernel", "with `def`")),
    "a number": (3, ("expects a kernel", "an int was given")),
}  # fmt: skip


@pytest.mark.parametrize("name", NO_KERNELS)
@pytest.mark.parametrize("entry", [tvm.simulate, tvm.compile, tvm.run, tvm.explore])
def test_what_is_not_a_kernel_is_refused_in_one_sentence(name: str, entry: Any) -> None:
    given, words = NO_KERNELS[name]
    with pytest.raises(TypeError) as raised:
        entry(given)
    assert "\n" not in str(raised.value)
    for word in words:
        assert word in str(raised.value), str(raised.value)


@pytest.mark.parametrize(
    ("option", "value"),
    [("schedules", "x"), ("schedules", 0), ("schedules", -1), ("schedules", True), ("schedules", 1.0), ("seed", -1),
     ("seed", "a"), ("budget", 0), ("budget", 1e6)],
)  # fmt: skip
def test_an_option_out_of_range_is_refused_in_one_sentence(option: str, value: Any) -> None:
    options: dict[str, Any] = {option: value}
    with pytest.raises(ValueError, match=f"{option} must be a whole number of at least") as raised:
        tvm.simulate(ones, np.zeros(32, np.float32), **options)
    assert repr(value) in str(raised.value)


def test_numpy_numbers_are_options() -> None:
    assert tvm.simulate(ones, np.zeros(32, np.float32), schedules=np.int64(2), seed=np.int32(0)).ok


def test_a_run_has_the_budget_that_it_is_given() -> None:
    report = tvm.simulate(takes_long, np.zeros(32, np.float32), budget=1000)
    assert report.verdict == "incomplete" and "budget of 1,000 iterations" in str(report)
