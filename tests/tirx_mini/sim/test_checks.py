"""Runs without checks: the same numbers, the same clock, no hazards; faults and deadlocks all the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.course import Shape, load_kernels
from tirx_mini.hardware import B200
from tirx_mini.ir import PrimFunc
from utils import prepare_data

REFERENCES = Path(__file__).parents[3] / "kernels_ref" / "sm100"
SHAPES: dict[int, Shape] = {2: (128, 128, 192), 5: (128, 256, 320), 7: (256, 256, 320), 10: (512, 512, 192)}


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("step", SHAPES)
def test_values_and_time_do_not_depend_on_the_checks(step: int, seed: int) -> None:
    kernel = load_kernels(REFERENCES)[step](*SHAPES[step])
    outcomes = []
    for checks in (True, False):
        A, B, D = prepare_data(*SHAPES[step], target="sim", arrays=True)
        report = tvm.simulate(kernel, A, B, D, seed=seed, checks=checks)
        assert (report.verdict, report.findings) == ("ok", ()), str(report)
        outcomes.append((D.tobytes(), report.cycles, dict(report.stats)))
    assert outcomes[0] == outcomes[1]


def edited(step: int, old: str, new: str, folder: Path) -> PrimFunc:
    (source,) = REFERENCES.glob(f"step{step:02}*.py")
    text = source.read_text(encoding="utf-8")
    assert old in text
    path = folder / source.name
    path.write_text(text.replace(old, new), encoding="utf-8")
    return load_kernels(path)[step](*SHAPES[step])


@pytest.mark.parametrize(
    ("step", "old", "new", "checked", "unchecked"),
    [
        (5, "Tx.ptx.mbarrier.try_wait(mma_bar.ptr_to([0]), phase_mma)", "pass", "hazard", "ok"),
        (7, "accum=(k != 0)", "accum=True", "hazard", "ok"),
        (7, "tma2mma.init(1)", "tma2mma.init(2)", "deadlock", "deadlock"),
        (7, "n_cols=512", "n_cols=500", "fault", "fault"),
    ],
)
def test_without_checks_hazards_are_not_found_but_faults_and_deadlocks_are(
    step: int, old: str, new: str, checked: str, unchecked: str, tmp_path: Path
) -> None:
    kernel = edited(step, old, new, tmp_path)
    for checks, verdict in ((True, checked), (False, unchecked)):
        data = prepare_data(*SHAPES[step], target="sim", arrays=True)
        report = tvm.simulate(kernel, *data, checks=checks)
        assert report.verdict == verdict, str(report)


def test_a_missing_wait_shows_in_the_numbers_too(tmp_path: Path) -> None:
    """Effects come as late as they may, so what is not waited for is wrong also where nobody checks: here, from HBM."""
    kernel = edited(5, "Tx.ptx.mbarrier.try_wait(tma_bar.ptr_to([stage]), phase_tma)", "pass", tmp_path)
    A, B, D = prepare_data(*SHAPES[5], target="sim", arrays=True)
    tvm.simulate(kernel, A, B, D, gpu=replace(B200, l2_bytes=0), checks=False)
    right = A.astype(np.float32) @ B.astype(np.float32).T
    assert not np.allclose(D.astype(np.float32), right, rtol=1e-2, atol=1e-1, equal_nan=False)
