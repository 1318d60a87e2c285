"""Kernels that only look wrong: there is nothing to find in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels_ref.edits import HOPPER_SHAPES, Edit, HopperEdit
from tests.tirx_mini.diagnose.wrong_kernels import simulate, simulate_on_hopper

RIGHT = {
    "accum=0": Edit(step=1, old="accum=False", new="accum=0"),
    "no cta_sync before dealloc, where the stores have one": Edit(
        step=5,
        old="            Tx.cuda.cta_sync()\n            if warp_id == 0:\n                Tx.ptx.tcgen05.rel",
        new="            if warp_id == 0:\n                Tx.ptx.tcgen05.rel",
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_kernel_that_only_looks_wrong_has_no_findings(name: str, tmp_path: Path) -> None:
    edit = RIGHT[name]
    kernel = edit.kernel(tmp_path)
    report = simulate(kernel, edit.step)
    assert (report.verdict, report.findings) == ("ok", ()), str(report)


@pytest.mark.parametrize("step", HOPPER_SHAPES)
def test_the_hopper_references_that_are_edited_are_clean(step: int, tmp_path: Path) -> None:
    report = simulate_on_hopper(HopperEdit(step), tmp_path)
    assert (report.verdict, report.findings) == ("ok", ()), str(report)
