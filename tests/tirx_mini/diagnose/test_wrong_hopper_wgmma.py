"""The mistakes with wgmma of Hopper's steps 1 to 8: fences, groups, accumulators, and the operands in shared memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels_ref.edits import HopperEdit
from tests.tirx_mini.diagnose.reference_texts import MMA
from tests.tirx_mini.diagnose.wrong_kernels import Wrong, assert_named, simulate_on_hopper
from tirx_mini.ir import TirxError
from tirx_mini.passes import lower

FENCE = "Tx.ptx.wgmma.fence()\n"
COMMIT = "Tx.ptx.wgmma.commit_group()\n"
WAIT_0 = "Tx.ptx.wgmma.wait_group(0)\n"
WAIT_1 = "Tx.ptx.wgmma.wait_group(1)\n"
CAST = "Tx.cast(Dreg_16b[:], "

WGMMA = (
    Wrong(
        name="no fence before the first MMA",
        edit=HopperEdit(step=1, old=FENCE, new="pass\n"),
        verdict="hazard",
        kind="missing-wgmma-fence",
        line=MMA,
        page_says=("is not preceded by a wgmma.fence",),
    ),
    Wrong(
        name="accumulators set to zero after the fence",
        edit=HopperEdit(
            step=1,
            old=FENCE,
            new="Tx.ptx.wgmma.fence()\n                Tx.fill(Dreg[:], 0.0)\n",
            then=(("accum=False", "accum=True"),),
        ),
        verdict="hazard",
        kind="missing-wgmma-fence",
        line=MMA,
        page_says=("used by ordinary instructions and then by a wgmma",),
    ),
    Wrong(
        name="accumulators read before the wait",
        edit=HopperEdit(step=1, old=WAIT_0, new="pass\n"),
        verdict="hazard",
        kind="missing-wgmma-wait",
        line=CAST,
        page_says=(
            "is read while a wgmma that accumulates in it may be in flight",
            "the wgmma is issued here",
            "wait_group(0)",
        ),
    ),
    Wrong(
        name="no commit before the wait",
        edit=HopperEdit(step=1, old=COMMIT, new="pass\n"),
        verdict="hazard",
        kind="missing-wgmma-wait",
        line=CAST,
        page_says=("commit_group()",),
    ),
    Wrong(
        name="one group too many left in flight",
        edit=HopperEdit(step=8, old=WAIT_0, new=WAIT_1),
        verdict="hazard",
        kind="missing-wgmma-wait",
        line=CAST,
    ),
    Wrong(
        name="the first MMA accumulates",
        edit=HopperEdit(step=1, old="accum=False", new="accum=True"),
        verdict="hazard",
        kind="uninitialised-register",
        line=MMA,
        page_says=("Dreg",),
    ),
    Wrong(
        name="no barrier between the copies and the MMA",
        edit=HopperEdit(step=1, old="            Tx.cuda.cta_sync()\n", new=""),
        verdict="hazard",
        kind="race",
        line=MMA,
        page_says=("Asmem", "the wgmma of"),
    ),
    Wrong(
        name="one warp does not issue",
        edit=HopperEdit(
            step=1,
            old="                Tx.ptx.wgmma.fence()\n",
            new="                Tx.ptx.wgmma.fence()\n                if warp_id > 0:\n"
            "                    Tx.ptx.wgmma.commit_group()\n",
        ),
        verdict="fault",
        kind="illegal-convergence",
        line=COMMIT.strip(),
        page_says=("all four must issue the same ones",),
    ),
)


@pytest.mark.parametrize("wrong", WGMMA, ids=lambda wrong: f"{wrong.edit.step}: {wrong.name}")
def test_the_mistake_is_found_and_named(wrong: Wrong, tmp_path: Path) -> None:
    assert_named(wrong, simulate_on_hopper(wrong.edit, tmp_path))


@pytest.mark.parametrize(
    ("edit", "message", "hint"),
    [
        (
            (
                "            with Tx.warpgroup():\n                Tx.ptx.wgmma.fence()",
                "            with Tx.cta():\n                Tx.ptx.wgmma.fence()",
            ),
            "must issue it, but the call is in cta scope",
            "with Tx.warpgroup():",
        ),
        (
            (
                "D_fragment = wgmma_accumulator_layout(BLK_N, BLK_M)",
                "from tirx_mini.layout import tcgen05_ld_layout\n    D_fragment = tcgen05_ld_layout(BLK_N)",
            ),
            "does not have the layout of wgmma's accumulators",
            "wgmma_accumulator_layout(128, 128)",
        ),
        (
            ('Dreg = Tx.alloc_local((DREG_N,), "float32")', "Dreg = Tx.alloc_local((DREG_N,), \"bfloat16\")"),
            "into float32",
            "",
        ),
    ],
)
def test_a_wgmma_that_no_rule_fits_is_refused(edit: tuple[str, str], message: str, hint: str, tmp_path: Path) -> None:
    with pytest.raises(TirxError) as caught:
        lower(HopperEdit(1, *edit).kernel(tmp_path))
    assert message in str(caught.value) and hint in str(caught.value)
