"""Kernels that today's chips execute rightly although the PTX ISA asks for more: they are ok, with a warning."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels_ref.edits import Edit
from tests.tirx_mini.diagnose.reference_texts import ELECTED, LOAD_A, MMA, READ_TMEM, STORE_D
from tests.tirx_mini.diagnose.wrong_kernels import Wrong, assert_found, simulate

WARNINGS = (
    Wrong(
        name="no fence before the MMA",
        edit=Edit(step=7, old="                                Tx.ptx.tcgen05.fence.after_thread_sync()\n", new=""),
        verdict="ok",
        kind="missing-tcgen05-fence",
        code="TX203",
        line=MMA,
        page_says=("after_thread_sync",),
        also_shows=LOAD_A,
    ),
    Wrong(
        name="no fence before tensor memory is read",
        edit=Edit(
            step=7,
            old="                    Tx.ptx.tcgen05.fence.after_thread_sync()\n                    read",
            new="                    read",
        ),
        verdict="ok",
        kind="missing-tcgen05-fence",
        code="TX203",
        line=READ_TMEM,
        page_says=("after_thread_sync",),
        also_shows=MMA,
    ),
    Wrong(
        name="warp 0 of each warpgroup deallocates",
        edit=Edit(
            step=7,
            old="            if wg_id == 0:\n                if warp_id == 0:\n                    Tx.ptx.tcgen05.rel",
            new="            if True:\n                if warp_id == 0:\n                    Tx.ptx.tcgen05.rel",
        ),
        verdict="ok",
        kind="tmem-freed-twice",
        code="TX314",
        line="Tx.ptx.tcgen05.dealloc(",
        page_says=("one warp of the CTA", "not seen in this run"),
    ),
    Wrong(
        name="four elected lanes store one tile",
        edit=Edit(
            step=7,
            old=f"                    if warp_id == 0:\n        {ELECTED}                            n_epi",
            new=f"                    if True:\n        {ELECTED}                            n_epi",
        ),
        verdict="ok",
        kind="identical-writes",
        code="TX206",
        line=STORE_D,
        page_says=("both write the same bytes",),
    ),
)


@pytest.mark.parametrize("wrong", WARNINGS, ids=lambda wrong: f"step {wrong.edit.step}: {wrong.name}")
def test_the_warning_names_its_line(wrong: Wrong, tmp_path: Path) -> None:
    assert_found(wrong, simulate(wrong.edit.kernel(tmp_path), wrong.edit.step))
