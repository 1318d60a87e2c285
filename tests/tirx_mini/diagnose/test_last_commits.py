"""The last commits of a kernel: what no wait of a CTA covers may arrive after the CTA's end."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.course import Shape, load_kernels
from tirx_mini.diagnose import Report
from tirx_mini.hardware import gpu_spec

ROOT = Path(__file__).parents[3]
CASES: dict[int, tuple[Shape, int]] = {7: ((256, 256, 128), 2), 9: ((256, 512, 128), 2), 10: ((512, 256, 128), 2)}
LAST_WAITS = re.compile(r"\n *for _ in range\(PIPE_DEPTH\):\n *mma2tma\.wait\(.*\n.*move_to_next_stage\(\)\n")


def run(folder: Path, step: int, waits: str | None = None) -> Report:
    """Return the report of a step's reference. waits: the code in the place of the waits after its last load."""
    (path,) = (ROOT / "kernels_ref" / "sm100").glob(f"step{step:02}_*.py")
    text = path.read_text(encoding="utf-8")
    if waits is not None:
        text, count = LAST_WAITS.subn("\n" + waits, text)
        assert count == 1
    (folder / path.name).write_text(text, encoding="utf-8")
    shape, sms = CASES[step]
    m, n, k = shape
    a, b, d = (np.zeros(extents, np.float16) for extents in ((m, k), (n, k), (m, n)))
    return tvm.simulate(
        load_kernels(folder / path.name, sms=sms)[step](*shape), a, b, d, gpu=gpu_spec("b200").with_sms(sms)
    )


@pytest.mark.parametrize("step", CASES)
def test_with_the_waits_there_is_no_finding(step: int, tmp_path: Path) -> None:
    report = run(tmp_path, step)
    assert report.ok and not report.findings, report
    assert report.proof is not None and report.proof.holds


def test_without_them_an_arrival_of_the_own_thread_is_a_warning(tmp_path: Path) -> None:
    report = run(tmp_path, 7, "")
    assert report.ok
    (finding,) = report.findings
    assert (finding.code, finding.severity, finding.happened) == ("TX209", "warning", False)
    assert "CTA 0 may end before a commit of MMA (warp 0 of warpgroup 1)" in finding.message
    assert "the arrivals of two commits are in no order" in finding.message


@pytest.mark.parametrize("step", [9, 10])
def test_in_a_cluster_an_arrival_at_the_other_cta_is_an_error(step: int, tmp_path: Path) -> None:
    report = run(tmp_path, step, "")
    assert report.verdict == "hazard"
    first = report.findings[0]
    assert (first.code, first.severity, first.happened) == ("TX209", "error", False)
    assert first.message.startswith("CTA 1 may end before a commit of MMA (warp")
    assert first.details["hint"] == "wait for the last phase of mma2tma[0] before CTA 1 ends"
    assert {finding.code for finding in report.findings} == {"TX209"}


def test_a_wait_for_a_later_commit_at_another_barrier_is_no_wait_for_this_one(tmp_path: Path) -> None:
    """The wait for mma2ld, whose commit is the last one, covers the MMAs and not the arrivals of other commits."""
    waits = " " * 24 + "mma2ld.wait(0, ((num_tiles - bx + SM_COUNT - 1) // SM_COUNT - 1) & 1)\n"
    waits = waits.replace("num_tiles", "(M // BLK_M * (N // BLK_N))")
    report = run(tmp_path, 7, waits)
    assert [finding.code for finding in report.findings] == ["TX209"], report
