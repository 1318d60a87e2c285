"""Waits that this run lets through, and that another order lets through earlier, or never."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import tirx_mini as tvm
from tests.tirx_mini.driver.test_exploring import kernel
from tirx_mini.course import load_kernels

WRITES_BOTH = "if warp == 3:\n    A[0] = 1\n    A[1] = 1\n"
LAST_WRITE = "if warp == 0:\n    bar.arrive(0)\n    bar.arrive(0)\n    A[0] = 1\n    bar.arrive(0)\n"


@dataclass(frozen=True)
class Case:
    """body: what lane 0 of each of four warps executes. code: of the worst finding, None where there is none."""

    name: str
    body: str
    code: str | None


CASES = (
    Case("a late wait for the parity of the first phase",
         LAST_WRITE + "if warp == 1:\n    bar.wait(0, 0)\n    A[1] = A[0]", "TX201"),
    Case("a late test of the parity of the first phase",
         LAST_WRITE + "if warp == 1:\n    while not Tx.ptx.mbarrier.test_wait(bar.ptr_to([0]), 0):\n        pass\n"
         "    A[1] = A[0]", "TX201"),
    Case("a wait for every phase",
         "if warp == 0:\n    bar.arrive(0)\n    bar.wait(1, 0)\n    A[0] = 1\n    bar.arrive(0)\n"
         "if warp == 1:\n    bar.wait(0, 0)\n    bar.arrive(1)\n    bar.wait(0, 1)\n    A[1] = A[0]", None),
    Case("the wrong parity passes on a fresh barrier",
         "if warp == 0:\n    A[0] = 1\n    bar.arrive(0)\n    bar.arrive(0)\nif warp == 1:\n    bar.wait(0, 1)\n"
         "    A[1] = A[0]", "TX201"),
    Case("two roles wait for each other first",
         "if warp == 0:\n    bar.wait(0, 0)\n    bar.arrive(1)\nif warp == 1:\n    bar.wait(1, 0)\n    bar.arrive(0)\n"
         + WRITES_BOTH, "TX108"),
    Case("a test in a loop until it passes",
         "if warp == 0:\n    A[0] = 1\n    bar.arrive(0)\nif warp == 1:\n"
         "    while not Tx.ptx.mbarrier.test_wait(bar.ptr_to([0]), 0):\n        pass\n    A[1] = A[0]", None),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_wait_is_judged_for_every_order(case: Case, tmp_path: Path) -> None:
    report = tvm.simulate(kernel(tmp_path, case.body), np.zeros(2, np.int32))
    codes = [finding.code for finding in report.errors]
    if case.code is None:
        assert codes == [] and report.proof is not None and report.proof.holds, str(report)
    else:
        assert codes and case.code in codes[:2] and report.proof is None, str(report)


@pytest.mark.parametrize(("parity", "codes"), [("0", []), ("1", ["TX108"])])
def test_a_wait_that_passes_before_the_only_phase_is_the_cause(parity: str, codes: list[str], tmp_path: Path) -> None:
    (reference,) = (Path(__file__).parents[3] / "kernels_ref" / "sm100").glob("step01_*.py")
    text = reference.read_text(encoding="utf-8")
    wait = "try_wait(mma_bar.ptr_to([0]), phase_mma)"
    assert text.count(wait) == 1
    edited = text.replace(wait, f"try_wait(mma_bar.ptr_to([0]), {parity})")
    (tmp_path / reference.name).write_text(edited, encoding="utf-8")
    a, b, d = np.ones((128, 64), np.float16), np.ones((128, 64), np.float16), np.zeros((128, 128), np.float16)
    report = tvm.simulate(load_kernels(tmp_path / reference.name)[1](128, 128, 64), a, b, d)
    assert [finding.code for finding in report.findings[: len(codes)]] == codes and report.ok is not bool(codes)
    if codes:
        assert "passes at once" in report.findings[0].message
        assert report.findings[0].details["hint"] == "wait for parity 0: mma_bar begins in phase 0"
