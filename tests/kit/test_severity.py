"""The step tests and findings that do not fail a kernel: possible errors, warnings, and what is not modelled."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tirx_mini as tvm
import utils
from tests.kernels_ref.edits import ROOT, Edit
from tirx_mini.diagnose import Finding
from utils import KernelWarning, compile_and_run, prepare_data

EARLY_DEALLOC = Edit(
    step=2,
    old="            Tx.cuda.cta_sync()\n            if warp_id == 0:\n                Tx.ptx.tcgen05.rel",
    new="            if warp_id == 0:\n                Tx.ptx.tcgen05.rel",
)
"""A race that the chip, and the simulator's schedule, win: dealloc erases nothing."""

NO_FENCE = Edit(step=7, old="                                Tx.ptx.tcgen05.fence.after_thread_sync()\n", new="")
"""What today's chips forgive."""


def step_test(tmp_path: Path, edit: Edit, size: int, *options: str) -> tuple[int, str]:
    """(exit status, output with folded white space) of the step's test on an edited reference."""
    path = tmp_path / "mine.py"
    path.write_text(edit.source(), encoding="utf-8")
    test = f"tests/test_step{edit.step:02}.py"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", test]
    command += ["--kernels", str(path), "--target", "sim", "--sizes", str(size), *options]
    result = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "COLUMNS": "300"}, check=False
    )
    return result.returncode, " ".join(result.stdout.split())


def test_a_possible_error_fails_a_step_test_and_the_headline_says_that_the_result_is_right(tmp_path: Path) -> None:
    status, out = step_test(tmp_path, EARLY_DEALLOC, 128)
    assert status == 1
    assert "hgemm_v2: hazard (1 possible error)" in out and "right here; wrong if the " in out
    assert "FAILED tests/test_step02.py::test_step02[128x128x128] - possible, and right here: the " in out


def test_a_possible_error_is_a_warning_on_demand(tmp_path: Path) -> None:
    status, out = step_test(tmp_path, EARLY_DEALLOC, 128, "--possible=warn")
    line = EARLY_DEALLOC.line_of("Tx.ptx.tcgen05.dealloc(")
    assert status == 0 and "1 passed, 1 warning" in out
    assert f"mine.py:{line}: KernelWarning: possible error[TX201]: the dealloc of " in out and "it goes wrong if" in out


def test_the_warnings_of_a_kernel_that_passes_are_shown(tmp_path: Path) -> None:
    status, out = step_test(tmp_path, NO_FENCE, 128)
    assert status == 0 and "1 passed, 1 warning" in out
    assert re.search(r" step 7 128x128x128: \d\.\d µs predicted on B200, \d\.\d\d TFLOPS, 1 warning ", out), out
    assert f"mine.py:{NO_FENCE.line_of('Tx.gemm_async(')}: KernelWarning: warning[TX203]: the MMA of " in out


def test_an_error_that_happened_is_never_a_warning(tmp_path: Path) -> None:
    kernel = Edit(step=2, old="accum=(k != 0)", new="accum=True").kernel(tmp_path)
    with pytest.raises(tvm.SimulationError):
        compile_and_run(kernel, *prepare_data(128, 128, 256, target="sim", arrays=True), target="sim", possible="warn")


def test_a_wrong_result_beside_a_possible_error_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(utils, "matches", lambda A, B, D: False)
    kernel = EARLY_DEALLOC.kernel(tmp_path)
    with pytest.raises(tvm.SimulationError) as caught:
        compile_and_run(kernel, *prepare_data(128, 128, 256, target="sim", arrays=True), target="sim")
    assert caught.value.report.right is False and "the result is wrong" in str(caught.value)


def test_a_finding_without_a_place_is_a_warning_too() -> None:
    with pytest.warns(KernelWarning, match=r"^warning\[TX201\]: two accesses$"):
        utils._warn(Finding("race", "warning", "two accesses"))


def test_verify_compares_as_before() -> None:
    a, b, d = prepare_data(128, 128, 64, target="sim", arrays=True)
    d[:] = a.astype(np.float32) @ b.astype(np.float32).T
    assert utils.matches(a, b, d) and not utils.matches(a, b, np.full_like(d, np.nan))
