"""What a kernel does not write of its arguments is said: nothing at all is an error, a part is a sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tirx_mini as tvm
from tests.kernels_ref.edits import Edit
from tirx_mini.course import check_kernel
from tirx_mini.ir import PrimFunc
from tirx_mini.script import tirx as T
from tirx_mini.sim import boxes_of


def kernel_that_stores_under(guard: int) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32"), B: T.Buffer((4, 64), "float32")):
        T.device_entry()
        tx = T.thread_id([32])
        if A[tx] < guard:
            B[1, tx] = A[tx]

    return kernel


def kernel_that_stores_for(places: str) -> PrimFunc:
    @T.prim_func
    def by_thread(A: T.Buffer((32,), "float32"), n: T.int32, B: T.Buffer((32,), "float32")):
        T.device_entry()
        tx = T.thread_id([32])
        if (tx ^ 40) < 5:
            B[tx] = A[tx]

    @T.prim_func
    def by_number(A: T.Buffer((32,), "float32"), n: T.int32, B: T.Buffer((32,), "float32")):
        T.device_entry()
        tx = T.thread_id([32])
        for _i in T.serial(n):
            B[tx] = A[tx]

    @T.prim_func
    def by_element(A: T.Buffer((32,), "float32"), n: T.int32, B: T.Buffer((32,), "float32")):
        T.device_entry()
        tx = T.thread_id([32])
        kept = T.alloc_local((1,), "float32")
        kept[0] = A[tx]
        if kept[0] > 0:
            B[tx] = A[tx]

    @T.prim_func
    def by_break(A: T.Buffer((32,), "float32"), n: T.int32, B: T.Buffer((32,), "float32")):
        T.device_entry()
        tx = T.thread_id([32])
        for _i in T.serial(4):
            if n < 1:
                break
            B[tx] = A[tx]

    @T.prim_func
    def elsewhere(A: T.Buffer((32,), "float32"), n: T.int32, B: T.Buffer((32,), "float32")):
        T.device_entry()
        tx = T.thread_id([32])
        kept = T.alloc_local((1,), "float32")
        if n > 0:
            kept[0] = A[tx]
        if (tx ^ 40) < 5:
            B[tx] = 1.0

    kernels = (by_thread, by_number, by_element, by_break, elsewhere)
    return next(kernel for kernel in kernels if kernel.name == places)


@pytest.mark.parametrize(("places", "codes"), [
    ("by_thread", ["TX502"]), ("by_number", []), ("by_element", []), ("by_break", []), ("elsewhere", ["TX502"]),
])  # fmt: skip
def test_a_launch_whose_data_is_empty_writes_nothing(places: str, codes: list[str]) -> None:
    report = tvm.simulate(kernel_that_stores_for(places), zeros(32), 0, zeros(32))
    assert [finding.code for finding in report.findings] == codes
    assert report.unwritten == ("no thread writes B",)


@T.prim_func
def without_a_store(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    T.device_entry()
    tx = T.thread_id([32])
    tile = T.alloc_shared((32,), "float32")
    tile[tx] = A[tx]


@T.prim_func
def of_inputs_only(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    T.device_entry()
    tx = T.thread_id([32])
    tile = T.alloc_shared((32,), "float32")
    tile[tx] = A[tx] + B[tx]


@T.prim_func
def that_prints(A: T.Buffer((32,), "float32")):
    T.device_entry()
    tx = T.thread_id([32])
    if tx == 0:
        T.cuda.printf("%f\n", A[tx])


def zeros(*shape: int) -> npt.NDArray[np.float32]:
    return np.zeros(shape, np.float32)


@given(hnp.arrays(bool, st.tuples(st.integers(1, 6), st.integers(1, 6))))
def test_the_boxes_are_the_marked_elements_once_each(marks: npt.NDArray[np.bool_]) -> None:
    covered = np.zeros(marks.shape, int)
    for rows, columns in boxes_of(marks):
        covered[slice(*rows), slice(*columns)] += 1
    assert (covered == marks).all()


def test_boxes_have_as_many_dimensions_as_their_argument() -> None:
    marks = np.zeros((2, 3, 4), bool)
    marks[1, 1:, 2:] = True
    assert list(boxes_of(marks)) == [((1, 2), (1, 2), (2, 4)), ((1, 2), (2, 3), (2, 4))]
    assert list(boxes_of(np.array([True, False, True]))) == [((0, 1),), ((2, 3),)]


def test_an_argument_that_is_written_in_part_is_said() -> None:
    report = tvm.simulate(kernel_that_stores_under(1), zeros(64), zeros(4, 64))
    assert (report.verdict, report.findings) == ("ok", ())
    assert report.unwritten == ("no thread writes B[0:1, 0:64], B[1:2, 32:64], B[2:4, 0:64]",)
    assert report.unwritten[0] in str(report)


def test_a_kernel_that_writes_nothing_is_wrong() -> None:
    report = tvm.simulate(without_a_store, zeros(32), zeros(32))
    (finding,) = report.findings
    assert (report.verdict, finding.code, finding.severity) == ("fault", "TX502", "error")
    assert "no thread writes B, nor any other argument" in finding.message
    assert "write the result to B" in finding.details["hint"]


def test_a_kernel_without_an_argument_for_a_result_is_right() -> None:
    assert tvm.simulate(of_inputs_only, zeros(32), zeros(32)).findings == ()


def test_a_kernel_that_prints_has_an_effect(capsys: pytest.CaptureFixture[str]) -> None:
    assert tvm.simulate(that_prints, zeros(32)).findings == ()
    assert capsys.readouterr().out == "0.000000\n"


@pytest.mark.parametrize("step", [1, 4, 7])
def test_the_references_write_all_of_d(step: int, tmp_path: Path) -> None:
    assert check_kernel(Edit(step=step).kernel(tmp_path)).report.unwritten == ()


STORE = 'Tx.copy_async(D[m_st : m_st + BLK_M, n_epi : n_epi + EPI_N], Dsmem[:, :], dispatch="tma")'


def test_a_missing_write_back_is_named(tmp_path: Path) -> None:
    checked = check_kernel(Edit(step=7, old=STORE, new="pass").kernel(tmp_path))
    assert [finding.code for finding in checked.report.findings] == ["TX502"]


def test_the_missing_tiles_of_a_wrong_product_are_named(tmp_path: Path) -> None:
    copies = "for i in {}:\n" + 20 * " " + "with Tx.thread():\n" + 24 * " " + "Tx.copy(Dsmem"
    old, new = (copies.format(chunks) for chunks in ("Tx.unroll(BLK_N // EPI_N)", "Tx.unroll(1)"))
    only_the_first = Edit(step=7, old=old, new=new)
    checked = check_kernel(only_the_first.kernel(tmp_path))
    assert checked.wrong is not None
    expected = "no thread writes D[0:384, 64:128], D[0:384, 192:256], D[0:384, 320:384]"
    assert checked.wrong.details["notes"][0][0] == expected


@pytest.mark.filterwarnings("error")
def test_an_output_full_of_garbage_needs_no_warning() -> None:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "bfloat16")):
        T.device_entry()
        tx = T.thread_id([32])
        A[tx] = T.bfloat16(1)

    garbage = np.full(32, 0x7F81, np.uint16).view("bfloat16")  # signalling NaNs, as memory may have
    report = tvm.simulate(kernel, garbage)
    assert report.ok and (garbage == 1).all()
