"""The outcome of a kernel as a GPU shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels_ref.edits import Edit
from tirx_mini.course import KernelRef, OnChip, Outcome, chip_file
from tirx_mini.report import barrier_states, plain


def shown(edit: Edit, folder: Path) -> OnChip:
    path = folder / "wrong.py"
    path.write_text(edit.source(), encoding="utf-8")
    return chip_file(KernelRef(path, f"hgemm_v{edit.step}"), shape=edit.shape, gpu="b200", sms=4)


@pytest.mark.parametrize(
    ("edit", "outcome"),
    [
        (Edit(1), Outcome.RIGHT),
        (Edit(1, "ptr_to([0]), 1)", "ptr_to([0]), 2)"), Outcome.HANGS),
        (Edit(2, "accum=(k != 0)", "accum=(k > 1)"), Outcome.WRONG),
        (Edit(1, "                Tx.copy(D[row, :], Dreg_16b[:])\n", ""), Outcome.WRONG),
        (Edit(1, "n_cols=512, cta_group=1)\n                if", "n_cols=500, cta_group=1)\n                if"),
         Outcome.FAILS),
        (Edit(1, "dispatch=\"tcgen05\"", "dispatch=\"wgmma\""), Outcome.REFUSED),
    ],
)  # fmt: skip
def test_each_outcome(edit: Edit, outcome: Outcome, tmp_path: Path) -> None:
    found = shown(edit, tmp_path)
    assert found.outcome is outcome
    assert bool(found.picture) is (found.wrong > 0) is (outcome is Outcome.WRONG)
    assert bool(found.error) is (outcome is Outcome.FAILS)


def test_a_mistake_that_only_another_order_shows_is_right_here(tmp_path: Path) -> None:
    found = shown(Edit(6, "                        Tx.ptx.cp_async.bulk.wait_group(0)\n", ""), tmp_path)
    assert found.outcome is Outcome.RIGHT and found.checked.report.only_possible


def test_the_time_is_compared_with_that_of_the_reference(tmp_path: Path) -> None:
    found = shown(Edit(7, "PIPE_DEPTH = 2", "PIPE_DEPTH = 1"), tmp_path)
    assert found.outcome is Outcome.RIGHT and found.factor is not None and found.factor > 1.2
    assert shown(Edit(7), tmp_path).factor == pytest.approx(1, abs=0.01)


def test_a_table_says_which_mbarriers_wait_for_what(tmp_path: Path) -> None:
    edit = Edit(7, "ld2mma.init(128)", "ld2mma.init(129)")
    trace = shown(edit, tmp_path).checked.report.trace
    assert trace is not None
    lines = plain(barrier_states(trace, (0,))).splitlines()
    row = next(line.split() for line in lines if line.startswith("ld2mma"))
    assert row[:4] == ["ld2mma", "0", "1", "0"]
    assert row[4:] == ["MMA,", "0,", "line", str(edit.line_of("ld2mma.wait("))]
    assert len(lines) == 1 + 6 and "CTA 1" in plain(barrier_states(trace, (0, 1)))
