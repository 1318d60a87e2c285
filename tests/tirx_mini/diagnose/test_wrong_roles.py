"""The mistakes with roles of steps 4 to 8: instructions that the wrong threads execute, and too many stages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels_ref.edits import Edit
from tests.tirx_mini.diagnose.wrong_kernels import Wrong, assert_found, simulate

ROLES = (
    Wrong(
        name="cta_sync by the elected thread",
        edit=Edit(
            step=4,
            old="                        mma(k)\n",
            new="                        mma(k)\n                        Tx.cuda.cta_sync()  # by one\n",
        ),
        verdict="deadlock",
        kind="deadlock",
        code="TX102",
        line="Tx.cuda.cta_sync()  # by one",
        page_says=("the elected thread of warp 0 only",),
    ),
    Wrong(
        name="cta_sync by one role",
        edit=Edit(
            step=7,
            old="                    store()\n                    tile",
            new="                    store()\n"
            "                    Tx.cuda.cta_sync()  # by one role\n"
            "                    tile",
        ),
        verdict="deadlock",
        kind="deadlock",
        code="TX111",
        line="Tx.cuda.cta_sync()  # by one role",
        page_says=("256 threads", "only 192"),
    ),
    Wrong(
        name="init by every lane",
        edit=Edit(
            step=4,
            old="                if lane_id == 0:\n                    Tx.ptx.mbarrier.init(tma_bar",
            new="                if True:\n                    Tx.ptx.mbarrier.init(tma_bar",
        ),
        verdict="fault",
        kind="barrier-reinitialised",
        code="TX122",
        line="Tx.ptx.mbarrier.init(tma_bar",
        page_says=("a second time",),
    ),
    Wrong(
        name="too many stages",
        edit=Edit(step=8, old="PIPE_DEPTH = 4", new="PIPE_DEPTH = 8"),
        verdict="fault",
        kind="shared-memory-limit",
        code="TX303",
        line="Bsmem = pool.alloc",
        page_says=("232448", "fewer stages"),
    ),
)


@pytest.mark.parametrize("wrong", ROLES, ids=lambda wrong: f"step {wrong.edit.step}: {wrong.name}")
def test_the_mistake_is_found_and_named(wrong: Wrong, tmp_path: Path) -> None:
    assert_found(wrong, simulate(wrong.edit.kernel(tmp_path), wrong.edit.step))
