"""Checking one kernel: the data it gets, and a mistake that keeps it from being built."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tirx_mini.arguments import ArgumentError
from tirx_mini.course import (
    Checked,
    KernelRef,
    check_file,
    check_kernel,
    load_kernel,
    make_arguments,
    product_text,
    reference_file,
)
from tirx_mini.diagnose import Proof, Report
from tirx_mini.driver import Exploration

NATIVE = """
from tirx_mini.script import tirx as Tx


@Tx.prim_func(tirx=True)
def double(A: Tx.Buffer((64,), "float32"), B: Tx.Buffer((64,), "int32")):
    with Tx.kernel():
        bx = Tx.cta_id([1], parent="kernel")
        tid = Tx.thread_id([64], parent="cta")
        with Tx.thread():
            A[tid] = A[B[tid]] * 2.0
"""


def test_integer_arguments_are_small_enough_to_be_indices(tmp_path: Path) -> None:
    path = tmp_path / "native.py"
    path.write_text(NATIVE)
    a, b = make_arguments(load_kernel(KernelRef(path)))
    assert np.isfinite(a).all() and b.min() >= 0 and b.max() < 8
    assert check_kernel(load_kernel(KernelRef(path))).product is None


def test_a_scalar_parameter_has_no_random_data(tmp_path: Path) -> None:
    path = tmp_path / "native.py"
    path.write_text(NATIVE.replace('B: Tx.Buffer((64,), "int32")', "n: Tx.int32").replace("A[B[tid]] * 2.0", "n * 2.0"))
    with pytest.raises(ArgumentError, match="double takes the scalar n; random data are made for buffers only"):
        check_kernel(load_kernel(KernelRef(path)))


def test_a_kernel_that_cannot_be_built_is_a_finding_of_the_report(tmp_path: Path) -> None:
    path = tmp_path / "native.py"
    path.write_text(NATIVE.replace("Tx.thread_id", "Tx.thread_idd"))
    checked = check_file(KernelRef(path), gpu="h100")
    assert not checked.ok and checked.as_dict()["verdict"] == "fault"
    assert "thread_idd" in checked.report.findings[0].message and checked.report.gpu == "H100"


@pytest.mark.parametrize(("proof", "words"), [(Proof(True), "(complete)"), (Proof(False), "no hold of a further")])
def test_an_exploration_is_called_complete_where_the_run_proves_all_orders(proof: Proof, words: str) -> None:
    report = Report("ok", proof=proof)
    assert words in product_text(Checked(report, exploration=Exploration(report, 24, 1, True)))


def test_the_bound_of_a_readers_step_leaves_the_remedy_to_the_reader(tmp_path: Path) -> None:
    reference = reference_file(4, "sm100")
    mine = tmp_path / "mine.py"
    mine.write_text(reference.read_text(encoding="utf-8"), encoding="utf-8")
    paths, shape = (reference, mine), (256, 256, 1024)
    ours, theirs = (str(check_file(KernelRef(path, "hgemm_v4"), shape=shape).report.bound) for path in paths)
    assert ours == f"{theirs}; with two stages the next tile is loaded while this one is multiplied"
    assert not KernelRef(mine, "kernel").of_course and not KernelRef(reference, "hgemm_v4").of_course
