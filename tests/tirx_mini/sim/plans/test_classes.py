"""Clusters that are equal: checking a few gives the report of a run that checks all of them."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.course import STEPS, default_kernels, load_kernels, make_arguments
from tirx_mini.ir import PrimFunc
from tirx_mini.layout import SwizzleMode, tma_shared_layout
from tirx_mini.script import tirx as T
from tirx_mini.sim import classes


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each cluster that ends in a run of clusters that may be equal, whether it was checked."""
    found: list[bool] = []
    really = classes.Classes.ended

    def observed(self: classes.Classes, cluster: classes.Ended) -> None:
        found.append(self.checks(cluster.index))
        really(self, cluster)

    monkeypatch.setattr(classes.Classes, "ended", observed)
    return found


def all_checked(kernel: PrimFunc, *args: np.ndarray, gpu: str = "b200") -> tuple[tvm.Report, list[bytes]]:
    """The report with every cluster checked, and the results."""
    copies = [arg.copy() for arg in args]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(classes, "FEWEST", 1 << 30)
        report = tvm.simulate(kernel, *copies, gpu=gpu, jobs=1)
    return report, [copy.tobytes() for copy in copies]


@pytest.mark.parametrize(("step", "folder"), [(3, "sm100"), (8, "sm100"), (10, "sm90")])
def test_a_reference_has_the_same_report_and_results(step: int, folder: str, ended: list[bool]) -> None:
    kernel = load_kernels(default_kernels(), folder)[step](*STEPS[step].shape(512))
    gpu = "b200" if folder == "sm100" else "h100"
    args = make_arguments(kernel)
    expected = all_checked(kernel, *args, gpu=gpu)
    ended.clear()
    report = tvm.simulate(kernel, *args, gpu=gpu, jobs=1)
    assert (report, [arg.tobytes() for arg in args]) == expected and report.verdict == "ok"
    assert 0 < sum(ended) < len(ended)


def through_shared_memory(first: int, stop: int) -> PrimFunc:
    """Reverses the lanes' elements through shared memory; the clusters in the range do so without a barrier."""

    @T.prim_func
    def reversed_rows(A: T.Buffer((16, 64), "float32"), B: T.Buffer((16, 64), "float32")):
        T.device_entry()
        bx = T.cta_id([16])
        tx = T.thread_id([64])
        row = T.alloc_shared((64,), "float32")
        row[tx] = A[bx, tx]
        if bx < first or bx >= stop:
            T.cuda.cta_sync()
        B[bx, tx] = row[63 - tx]

    return reversed_rows


def rows(count: int = 16) -> np.ndarray:
    return np.arange(64 * count, dtype=np.float32).reshape(count, 64)


def test_one_cluster_of_another_kind_is_checked_as_well(ended: list[bool]) -> None:
    right, wrong = through_shared_memory(0, 0), through_shared_memory(7, 8)
    result = np.zeros_like(rows())
    assert tvm.simulate(right, rows(), result).verdict == "ok"
    assert sum(ended) == 2 and len(ended) == 16
    assert np.array_equal(result, rows()[:, ::-1])
    report = tvm.simulate(wrong, rows(), result)
    assert report.verdict == "hazard"
    assert report == all_checked(wrong, rows(), result)[0]


def test_a_cluster_that_takes_another_way_and_is_right_is_no_finding(ended: list[bool]) -> None:
    @T.prim_func
    def with_a_pause(A: T.Buffer((16, 64), "float32"), B: T.Buffer((16, 64), "float32")):
        T.device_entry()
        bx = T.cta_id([16])
        tx = T.thread_id([64])
        if bx == 5:
            T.cuda.cta_sync()
        B[bx, tx] = A[bx, tx]

    assert tvm.simulate(with_a_pause, rows(), np.zeros_like(rows())).verdict == "ok"
    assert len(ended) == 17 and sum(ended) == 3  # the one with the pause, after the run


def test_two_clusters_that_write_one_place_are_found(ended: list[bool]) -> None:
    @T.prim_func
    def of_one_row(A: T.Buffer((16, 64), "float32"), B: T.Buffer((15, 64), "float32")):
        T.device_entry()
        bx = T.cta_id([16])
        tx = T.thread_id([64])
        B[T.min(bx, 7) + T.max(bx - 8, 0), tx] = A[bx, tx]

    report = tvm.simulate(of_one_row, rows(), np.zeros((15, 64), np.float32))
    assert report.verdict == "hazard"
    assert report == all_checked(of_one_row, rows(), np.zeros((15, 64), np.float32))[0]


def test_a_cluster_that_writes_where_another_one_reads_is_found() -> None:
    @T.prim_func
    def shifted(A: T.Buffer((16, 64), "float32"), B: T.Buffer((16, 64), "float32")):
        T.device_entry()
        bx = T.cta_id([16])
        tx = T.thread_id([64])
        B[bx, tx] = A[bx, tx]

    storage = rows(17)
    report = tvm.simulate(shifted, storage[:16], storage[1:])
    assert report.verdict == "hazard"


def test_a_fault_in_the_middle_is_reported_as_before() -> None:
    @T.prim_func
    def too_far(A: T.Buffer((16, 64), "float32"), B: T.Buffer((16, 64), "float32")):
        T.device_entry()
        bx = T.cta_id([16])
        tx = T.thread_id([64])
        B[bx + T.Select(bx == 9, 16, 0), tx] = A[bx, tx]

    args = rows(), np.zeros_like(rows())
    expected = all_checked(too_far, *args)
    report = tvm.simulate(too_far, *args)
    assert report.verdict == "fault"
    assert (report, [arg.tobytes() for arg in args]) == expected


@pytest.mark.parametrize("change", [False, True])
def test_what_copies_bring_is_there_for_threads_and_stores(change: bool) -> None:
    """Boxes are read as bytes, in part overwritten, and stored, in clusters that are checked and in others."""
    swizzled = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (8, 64))

    @T.prim_func
    def through_a_box(A: T.Buffer((128, 64), "float16"), B: T.Buffer((128, 64), "float16")):
        T.device_entry()
        bx = T.cta_id([16])
        tx = T.thread_id([64])
        box = T.alloc_shared((8, 64), "float16", layout=swizzled)
        full = T.alloc_shared((1,), "uint64")
        if tx == 0:
            T.ptx.mbarrier.init(full.ptr_to([0]), 1)
            T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        if tx == 0:
            T.copy_async(box[:, :], A[bx * 8 : bx * 8 + 8, 0:64], dispatch="tma", mbar=full.ptr_to([0]))
            T.ptx.mbarrier.arrive.expect_tx(full.ptr_to([0]), 1024)
        T.ptx.mbarrier.try_wait(full.ptr_to([0]), 0)
        if change:
            box[tx % 8, tx] = box[tx % 8, tx] + T.float16(1)
            T.ptx.fence.proxy_async("shared::cta")
        T.cuda.cta_sync()
        if tx == 0:
            T.copy_async(B[bx * 8 : bx * 8 + 8, 0:64], box[:, :], dispatch="tma")
            T.ptx.cp_async.bulk.commit_group()
            T.ptx.cp_async.bulk.wait_group(0)

    a = np.arange(128 * 64, dtype=np.float32).reshape(128, 64).astype(np.float16) / 64
    b = np.zeros_like(a)
    report = tvm.simulate(through_a_box, a, b)
    assert report.verdict == "ok", report
    columns = np.arange(64)
    expected = a.copy()
    if change:
        for row in range(128):
            expected[row, columns[columns % 8 == row % 8]] += np.float16(1)
    assert np.array_equal(b, expected)
