"""Clusters in several processes: the same report and the same results as in one, whatever the kernel does."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tirx_mini as tvm
from tirx_mini.course import STEPS, default_kernels, load_kernels, make_arguments
from tirx_mini.hardware import gpu_spec
from tirx_mini.ir import PrimFunc
from tirx_mini.passes import lower
from tirx_mini.script import tirx as T
from tirx_mini.sim import Question, Simulation, Standing
from tirx_mini.sim.plans import BoundKernel, Timing, sharded
from tirx_mini.sim.plans import kernel as bound
from tirx_mini.worker import Twin


@pytest.fixture(params=["twins", "fresh processes"])
def many(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Divide small launches, too, among copies of this process or others; holds whether each was put together."""
    twins = request.param == "twins"
    if twins and sys.platform != "linux":
        pytest.skip("the system does not copy processes safely")
    monkeypatch.setattr(Twin, "possible", lambda: twins)
    together: list[bool] = []

    run = sharded.run_sharded

    def observed(kernel: BoundKernel) -> Any:
        outcome = run(kernel)
        together.append(outcome is not None)
        return outcome

    for worth in ("WORTH_PROCESSES", "WORTH_TWINS"):
        monkeypatch.setattr(sharded, worth, 0)
    monkeypatch.setattr(bound, "WORTH_BYTES", 0)
    monkeypatch.setattr(sharded, "run_sharded", observed)
    return together


def both(kernel: PrimFunc, *args: np.ndarray) -> tuple[tvm.Report, tvm.Report, bool]:
    """The reports of one process and of two, and whether the arguments agree."""
    copies = [arg.copy() for arg in args]
    one, two = tvm.simulate(kernel, *args, jobs=1), tvm.simulate(kernel, *copies, jobs=2)
    same = all(a.tobytes() == b.tobytes() for a, b in zip(args, copies, strict=True))
    return one, two, same


@pytest.mark.parametrize(("step", "folder"), [(3, "sm100"), (9, "sm100"), (7, "sm90"), (10, "sm90")])
def test_a_reference_computes_the_same(step: int, folder: str, many: list[bool]) -> None:
    kernel = load_kernels(default_kernels(), folder)[step](*STEPS[step].shape(512))
    gpu = "b200" if folder == "sm100" else "h100"
    a, b, d = make_arguments(kernel)
    other = d.copy()
    one = tvm.simulate(kernel, a, b, d, gpu=gpu, jobs=1)
    two = tvm.simulate(kernel, a, b, other, gpu=gpu, jobs=2)
    assert many == [True]
    assert one == two and one.verdict == "ok"
    assert d.tobytes() == other.tobytes()


@T.prim_func
def in_place(A: T.Buffer((64, 32), "float32")):
    T.device_entry()
    bx = T.cta_id([64])
    tx = T.thread_id([32])
    A[bx, tx] = A[bx, tx] + T.float32(1)


@T.prim_func
def that_leaves_a_row_out(A: T.Buffer((64, 32), "float32"), B: T.Buffer((64, 32), "float32")):
    T.device_entry()
    bx = T.cta_id([64])
    tx = T.thread_id([32])
    if bx != 60:
        B[bx, tx] = A[bx, tx]


@T.prim_func
def of_the_neighbours_result(A: T.Buffer((64, 32), "float32"), B: T.Buffer((64, 32), "float32")):
    T.device_entry()
    bx = T.cta_id([64])
    tx = T.thread_id([32])
    B[bx, tx] = A[bx, tx]
    A[bx, tx] = B[(bx + 32) % 64, tx]


@T.prim_func
def of_one_place(A: T.Buffer((64, 32), "float32"), B: T.Buffer((32,), "float32")):
    T.device_entry()
    bx = T.cta_id([64])
    tx = T.thread_id([32])
    B[tx] = A[bx, tx]


@T.prim_func
def with_a_late_fault(A: T.Buffer((64, 32), "float32"), B: T.Buffer((64, 32), "float32")):
    T.device_entry()
    bx = T.cta_id([64])
    tx = T.thread_id([32])
    B[bx + (bx // 63) * 64, tx] = A[bx, tx]


def numbers(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize("kernel", [in_place, that_leaves_a_row_out])
def test_what_a_cluster_reads_and_writes_alone_may_be_the_same(kernel: PrimFunc, many: list[bool]) -> None:
    args = [numbers(64, 32) for _ in kernel.params]
    one, two, same = both(kernel, *args)
    assert many == [True]
    assert one == two and same
    assert bool(one.unwritten) == (kernel is that_leaves_a_row_out)


def test_a_launch_of_which_no_part_can_do_without_data_is_divided_all_the_same(
    many: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BoundKernel, "divisible", False)
    one, two, same = both(that_leaves_a_row_out, numbers(64, 32), numbers(64, 32))
    assert many == [True]
    assert one == two and same and one.unwritten


@pytest.mark.parametrize("kernel", [of_the_neighbours_result, of_one_place, with_a_late_fault])
def test_a_launch_whose_clusters_depend_on_one_another_or_fail_is_run_as_a_whole(
    kernel: PrimFunc, many: list[bool]
) -> None:
    args = [numbers(*param.shape) for param in kernel.params]
    one, two, same = both(kernel, *args)
    assert many == [False]
    assert one == two and same
    assert not one.ok or one.findings


@T.prim_func
def by_the_clock(A: T.Buffer((64, 32), "uint64")):
    T.device_entry()
    bx = T.cta_id([64])
    tx = T.thread_id([32])
    A[bx, tx] = T.cuda.clock64()


@T.prim_func
def counting(A: T.Buffer((64, 32), "int32"), B: T.Buffer((1,), "int32")):
    T.device_entry()
    bx = T.cta_id([64])
    tx = T.thread_id([32])
    A[bx, tx] = T.cuda.atomic_add(T.address_of(B[0]), T.int32(1))


def test_a_kernel_that_looks_at_the_time_is_not_divided(many: list[bool]) -> None:
    one, two, same = both(by_the_clock, np.zeros((64, 32), np.uint64))
    assert many == [] and one == two and same


def test_clusters_that_count_together_are_run_as_a_whole(many: list[bool]) -> None:
    one, two, same = both(counting, np.zeros((64, 32), np.int32), np.zeros(1, np.int32))
    assert many == [] and one == two and same


def test_arguments_that_overlap_keep_clusters_together(many: list[bool]) -> None:
    storage = numbers(64, 32)
    report = tvm.simulate(that_leaves_a_row_out, storage, storage, jobs=2)
    assert many == [] and report.comparable


def test_what_finds_the_time_ends_when_that_is_not_needed() -> None:
    kernel = lower(load_kernels(default_kernels(), "sm100")[4](512, 512, 512))
    args = make_arguments(kernel)
    stopped: list[float] = []

    def stop(standing: Standing) -> None:
        timing.stop()
        stopped.append(standing.share())

    simulation = Simulation(kernel, args, Question(gpu_spec("b200"), watch=stop))
    timing = Timing(simulation)
    assert timing.run(range(0)) is None
    assert stopped == [0.0]
    patient = Timing(Simulation(kernel, args, Question(gpu_spec("b200"))))
    assert patient.run(range(0)) is not None
    patient.stop()  # which has come to its end


@T.prim_func
def with_a_race(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    T.device_entry()
    bx = T.cta_id([64])
    tx = T.thread_id([64])
    row = T.alloc_shared((64,), "float32")
    row[tx] = A[bx, tx]
    B[bx, tx] = row[63 - tx]


def test_a_portion_with_a_finding_ends_the_run_for_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    stops: list[None] = []
    stop = Timing.stop

    def observed(timing: Timing) -> None:
        stops.append(None)
        stop(timing)

    for worth in ("WORTH_PROCESSES", "WORTH_TWINS"):
        monkeypatch.setattr(sharded, worth, 0)
    monkeypatch.setattr(bound, "WORTH_BYTES", 0)
    monkeypatch.setattr(Timing, "stop", observed)
    monkeypatch.setattr(BoundKernel, "divisible", False)  # so that the time is found without data
    report = tvm.simulate(with_a_race, numbers(64, 64), numbers(64, 64), jobs=2)
    assert report.verdict == "hazard" and stops


@given(st.integers(0, 5000), st.integers(2, 16))
def test_portions_are_all_clusters_once_and_get_smaller(count: int, jobs: int) -> None:
    portions = list(sharded._divided(range(3, 3 + count), jobs))
    assert [number for portion in portions for number in portion] == list(range(3, 3 + count))
    sizes = [len(portion) for portion in portions]
    assert sizes == sorted(sizes, reverse=True) and all(sizes)
    assert len(sizes) <= 1.5 / sharded.LEAST_PORTION + jobs
