"""The timeline of a run that does not end well, and of lanes that go ways of their own."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import tirx_mini as tvm
from tests.kernels_ref.edits import Edit
from tirx_mini.course import KernelRef, load_kernel, make_arguments
from tirx_mini.diagnose import Report
from tirx_mini.script import tirx as T
from tirx_mini.sim import Activity, Timeline


def traced(report: Report) -> Timeline:
    assert report.trace is not None
    return report.trace


@pytest.fixture
def hang(tmp_path: Path) -> Report:
    path = tmp_path / "mine.py"
    path.write_text(Edit(7, "tma2mma.init(1)", "tma2mma.init(2)").source(), encoding="utf-8")
    kernel = load_kernel(KernelRef(path, "hgemm_v7"), shape=(256, 256, 256), sms=4)
    return tvm.simulate(kernel, *make_arguments(kernel), trace=True)


def test_what_waits_for_ever_waits_until_the_end(hang: Report) -> None:
    found = traced(hang)
    assert hang.verdict == "deadlock" and found.stuck is not None and found.stuck == found.cycles
    waits = {i.name: i for i in found.intervals if i.activity is Activity.WAIT and i.end == found.stuck}
    stuck = waits["tma2mma[0]"]
    assert stuck.barrier is not None and stuck.phase == 0 and stuck.stage == 0
    assert found.ended_by(stuck) is None
    assert {"mma2ld", "bar.sync 0"} <= set(waits)
    assert all(cta.end == found.stuck for cta in found.ctas if any(i.track.cta == cta.cta for i in waits.values()))


def test_the_strip_of_the_barrier_says_what_is_missing(hang: Report) -> None:
    last = [change for change in traced(hang).changes if change.barrier.name == "tma2mma[0]"][-1]
    assert (last.phase, last.pending, last.tx) == (0, 1, 0)


@T.prim_func
def faulty(A: T.Buffer((64,), "float32")):
    T.device_entry()
    tx = T.thread_id([64])
    A[tx] = 1.0
    T.cuda.cta_sync()
    A[tx + 64] = 2.0


def test_a_fault_leaves_what_was_done_before_it() -> None:
    report = tvm.simulate(faulty, np.zeros(64, np.float32), trace=True)
    assert report.verdict == "fault"
    found = traced(report)
    assert found.stuck is None
    assert [i.name for i in found.intervals if i.track.warp == 0][:2] == ["store", "bar.sync"]


@T.prim_func
def parted(A: T.Buffer((32,), "float32")):
    T.device_entry()
    tx = T.thread_id([32])
    bar = T.alloc_shared((1,), "uint64")
    if tx == 0:
        T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
    T.ptx.fence.mbarrier_init()
    T.cuda.cta_sync()
    if tx == 1:
        T.ptx.mbarrier.wait(bar.ptr_to([0]), 0)
    if tx == 0:
        T.ptx.mbarrier.arrive(bar.ptr_to([0]))
    A[tx] = 1.0


def test_lanes_that_part_share_the_track_of_their_warp() -> None:
    report = tvm.simulate(parted, np.zeros(32, np.float32), trace=True)
    assert report.ok, report
    found = traced(report)
    intervals = [i for i in found.intervals if i.track.warp == 0]
    assert all(a.end <= b.start for a, b in pairwise(intervals))
    (wait,) = (i for i in intervals if i.name == "bar")
    change = found.ended_by(wait)
    assert change is not None and change.source == wait.track


@T.prim_func
def polling(A: T.Buffer((64,), "float32"), flag: T.Buffer((1,), "int32")):
    T.device_entry()
    tx = T.thread_id([64])
    if tx == 0:
        while flag[0] == 0:
            pass
    if tx == 32:
        for _ in range(200):
            A[32] = A[32] + 1.0
        flag[0] = 1


def test_a_loop_that_reads_memory_until_it_changes_is_a_wait() -> None:
    report = tvm.simulate(polling, np.zeros(64, np.float32), np.zeros(1, np.int32), trace=True, checks=False)
    waits = [i for i in traced(report).intervals if i.name == "memory"]
    assert waits and all(i.activity is Activity.WAIT and i.track.warp == 0 for i in waits)
