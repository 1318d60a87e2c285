"""Statements as functions, and indices of a launch one by one: what they build, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirx_mini
from tirx_mini.ir import PrimFunc, TirxError, structural_equal
from tirx_mini.script import from_source
from tirx_mini.script import tirx as T


def native(body: str, params: str = 'A: T.Buffer((128,), "int32")', **names: Any) -> PrimFunc:
    """A kernel of one warp. Its text parses back to an equal one."""
    lines = "\n    ".join(["T.device_entry()", "T.cta_id([1])", "tx = T.thread_id([32])", *body.splitlines()])
    return checked(f"@T.prim_func\ndef kernel({params}):\n    {lines}\n", **names)


def checked(text: str, **names: Any) -> PrimFunc:
    made = from_source(text, names)
    assert structural_equal(made, from_source(made.script())), made.script()
    return made


def result(kernel: PrimFunc) -> np.ndarray:
    a = np.zeros(128, np.int32)
    report = tirx_mini.simulate(kernel, a)
    assert report.verdict == "ok", report
    return a


class Plain:
    """Code that Python executes, not the front end."""

    @staticmethod
    def branch(A: Any, tx: Any) -> None:
        with T.If(tx < 4):
            with T.Then():
                T.buffer_store(A, 5, [tx])
            with T.Else():
                T.buffer_store(A, T.Let(tx + 1, {tx: tx * 2}), [tx])

    @staticmethod
    def known(A: Any, tx: Any, on: bool) -> None:
        with T.If(on):
            with T.Then():
                T.buffer_store(A, 1, [tx])
            with T.Else():
                T.buffer_store(A, 2, [tx])

    @staticmethod
    def loop(A: Any, tx: Any) -> None:
        with T.While(A[tx] < 100):
            T.buffer_store(A, A[tx] + 7, tx)
            with T.If(A[tx] > 20), T.Then():
                T.break_loop()


def test_a_branch_has_two_sides() -> None:
    lane = np.arange(32)
    expected = np.where(lane < 4, 5, 2 * lane + 1)
    np.testing.assert_array_equal(result(native("plain.branch(A, tx)", plain=Plain))[:32], expected)


@pytest.mark.parametrize(("on", "value"), [(True, 1), (False, 2)])
def test_a_condition_that_is_known_chooses_a_side(on: bool, value: int) -> None:
    kernel = native(f"plain.known(A, tx, {on})", plain=Plain)
    assert "if" not in kernel.script() and (result(kernel)[:32] == value).all()


def test_a_loop_is_left() -> None:
    assert (result(native("plain.loop(A, tx)", plain=Plain))[:32] == 21).all()


def test_lanes_that_have_all_left_read_nothing_more() -> None:
    """The condition of the loop is evaluated with no lane left."""
    kernel = native("while A[tx] < 100:\n    A[tx] = A[tx] + 7\n    if A[tx] > 20:\n        break")
    assert (result(kernel)[:32] == 21).all()


def test_a_side_needs_a_branch() -> None:
    def side() -> None:
        with T.Then():
            pass

    with pytest.raises(TirxError, match=r"is a side of `with T\.If"):
        native("side()", side=side)


def test_a_name_bound_to_a_value() -> None:
    text = native("y = T.Bind(tx * 3)\nA[y % 32] = y\nT.tvm_storage_sync('warp')").script()
    assert "y = tx * 3" in text and "T.cuda.warp_sync()" in text


def test_a_loop_with_bounds_of_run_time_is_unrolled_by_the_compiler() -> None:
    kernel = native("for i in T.unroll(tx, tx + 4):\n    A[i] = 1")
    assert "for i in T.serial(tx, tx + 4, unroll=True):" in kernel.script()


LAUNCHES = {
    "values": """
        bx = T.launch_thread("blockIdx.x", 4)
        tx = T.launch_thread("threadIdx.x", 32)
        A[bx * 32 + tx] = bx""",
    "blocks": """
        with T.launch_thread("blockIdx.x", 4) as bx:
            with T.launch_thread("threadIdx.x", 32) as tx:
                A[bx * 32 + tx] = bx""",
    "variables": """
        tx = T.env_thread("threadIdx.x")
        bx = T.env_thread("blockIdx.x")
        T.launch_thread(bx, 4)
        with T.launch_thread(tx, 32):
            A[bx * 32 + tx] = bx""",
}


@pytest.mark.parametrize("form", LAUNCHES)
def test_indices_of_a_launch(form: str) -> None:
    kernel = checked(f'@T.prim_func\ndef kernel(A: T.Buffer((128,), "int32")):{LAUNCHES[form]}\n')
    np.testing.assert_array_equal(result(kernel), np.arange(128) // 32)
    assert "= T.cta_id([4])" in kernel.script() and "= T.thread_id([32])" in kernel.script()


def test_further_dimensions_come_after_x() -> None:
    kernel = checked(
        """
        @T.prim_func
        def kernel(A: T.Buffer((128,), "int32")):
            by = T.launch_thread("blockIdx.y", 2)
            ty = T.launch_thread("threadIdx.y", 4)
            tx = T.launch_thread("threadIdx.x", 16)
            A[by * 64 + ty * 16 + tx] = by * 100 + ty
        """
    )
    index = np.arange(128)
    np.testing.assert_array_equal(result(kernel), index // 64 * 100 + index // 16 % 4)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('T.launch_thread("vthread", 2)', "'vthread' is not an index of the launch"),
        (
            'T.launch_thread("blockIdx.x", 2)\n    T.launch_thread("blockIdx.x", 3)',
            "has the extent 2 before, and 3 here",
        ),
        ('tx = T.env_thread("threadIdx.x")\n    A[tx] = 1', "threadIdx.x has no extent"),
        ('T.launch_thread("blockIdx.x", A[0])', "must be known when the kernel is called"),
    ],
)
def test_a_launch_without_sense_is_refused(body: str, message: str) -> None:
    with pytest.raises(TirxError) as raised:
        from_source(f'@T.prim_func\ndef kernel(A: T.Buffer((128,), "int32")):\n    {body}\n')
    assert message in str(raised.value)
