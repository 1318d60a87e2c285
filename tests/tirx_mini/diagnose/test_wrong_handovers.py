"""Roles that do not hand over what they should: the mistake is named before the races and waits that follow from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels_ref.edits import HOPPER_SHAPES, SHAPES, Edit, HopperEdit
from tests.tirx_mini.diagnose.reference_texts import DONE, EMPTY, FREE, FULL
from tests.tirx_mini.diagnose.wrong_kernels import Wrong, assert_found, simulate, simulate_on_hopper
from tirx_mini.diagnose.deadlock import handover_suspect
from tirx_mini.passes import lower

COMMIT_FREE = "mma2tma.arrive(stage, cta_group=1, cta_mask=1)"
COMMIT_DONE = "mma2ld.arrive(0, cta_group=1, cta_mask=1)"
PRODUCT = "                Tx.gemm_async(\n                    tmem"
LAST = f"                                mma_phase.move_to_next_stage()\n                            {COMMIT_DONE}"
K_LOOP = "                            for k in range(K_TILES):\n                                tma2mma"
USE = "                                mma(mma_phase.stage, k)\n"
ADVANCE = "                                mma_phase.move_to_next_stage()\n"
PAIR_FREE = "mma2tma.arrive(stage, cta_group=2, cta_mask=3)"

KERNELS = (
    Wrong(
        name="a stage committed before its MMA",
        edit=Edit(step=7, old=COMMIT_FREE, new="pass", then=((PRODUCT, f"                {COMMIT_FREE}\n{PRODUCT}"),)),
        verdict="hazard",
        kind="early-commit",
        code="TX216",
        line=COMMIT_FREE,
        page_says=("comes before the MMA whose completion mma2tma should signal", "the MMA is issued here"),
        also_shows=PRODUCT.lstrip(),
    ),
    Wrong(
        name="a result committed before its loop",
        edit=Edit(
            step=7,
            old=COMMIT_DONE,
            new="pass",
            then=((K_LOOP, f"                            {COMMIT_DONE}\n{K_LOOP}"),),
        ),
        verdict="hazard",
        kind="early-commit",
        line=COMMIT_DONE,
        page_says=("comes before the MMA whose completion mma2ld should signal",),
    ),
    Wrong(
        name="a result committed in each iteration",
        edit=Edit(step=7, old=LAST, new=LAST.replace("    mma2ld", "        mma2ld")),
        verdict="hazard",
        kind="other-rounds",
        code="TX110",
        line=COMMIT_DONE,
        page_says=("mma2ld completes 5 phases in each round of the outer loop, and its wait is executed once",),
    ),
    Wrong(
        name="the next stage committed",
        edit=Edit(step=7, old=COMMIT_FREE, new=COMMIT_FREE.replace("stage", "(stage + 1) % PIPE_DEPTH")),
        verdict="deadlock",
        kind="deadlock",
        code="TX120",
        line="mma2tma.arrive(",
        page_says=("signals mma2tma 1 stage after the stage that its role waited for in tma2mma",),
    ),
    Wrong(
        name="a state that advances before its stage is used",
        edit=Edit(step=7, old=USE + ADVANCE, new=ADVANCE + USE),
        verdict="deadlock",
        kind="deadlock",
        code="TX120",
        line="mma_phase.move_to_next_stage()",
        page_says=("the stage advances between the wait for tma2mma and the commit at mma2tma",),
    ),
    Wrong(
        name="stage and phase in the wrong order",
        edit=Edit(
            step=7, old=EMPTY, new=EMPTY.replace("tma_phase.stage, tma_phase.phase", "tma_phase.phase, tma_phase.stage")
        ),
        verdict="deadlock",
        kind="deadlock",
        code="TX126",
        line="mma2tma.wait(tma_phase.phase",
        page_says=("the two are swapped",),
    ),
    Wrong(
        name="two commits for an init of one",
        edit=Edit(step=10, old="mma2tma.init(NUM_CONSUMER)", new="mma2tma.init(1)"),
        verdict="fault",
        kind="other-count",
        code="TX116",
        line=EMPTY,
        page_says=("mma2tma was initialised for 1 arrival a phase, and 2 arrive in each round",),
    ),
    Wrong(
        name="all results committed to one slot",
        edit=Edit(step=10, old="mma2ld.arrive(warp_id, ", new="mma2ld.arrive(0, "),
        verdict="deadlock",
        kind="deadlock",
        code="TX103",
        line="mma2ld.wait(wg_id, wb_phase.phase)",
        page_says=("nothing ever arrives at mma2ld[1]",),
    ),
    Wrong(
        name="tensor memory given back by one CTA of the pair",
        edit=Edit(step=9, old="cta_id=0, pred=True", new="cta_id=0, pred=(cbx == 0)"),
        verdict="deadlock",
        kind="deadlock",
        code="TX107",
        line=FREE,
        page_says=("initialised for 256 arrivals a phase, but only 128 arrive",),
    ),
    Wrong(
        name="a stage freed in the first iteration only",
        edit=Edit(step=9, old=PAIR_FREE, new=f"if k == 0:\n                    {PAIR_FREE}"),
        verdict="deadlock",
        kind="deadlock",
        code="TX110",
        line=EMPTY,
        page_says=("mma2tma is signalled only under `k == 0`",),
    ),
    Wrong(
        name="too few arrivals counted, where each CTA announces its own bytes",
        edit=Edit(
            step=9,
            old="                if cbx == 0:\n                    tma2mma_cta0.arrive(stage, TMA_BYTES)",
            new="                tma2mma_cta0.arrive(stage, TMA_BYTES)",
            then=(
                ("tma2mma.init(1)", "tma2mma.init(2)"),
                ("TMA_BYTES = CTA_GROUP * ", "TMA_BYTES = "),
                ("ld2mma.init(128 * CTA_GROUP)", "ld2mma.init(128)"),
            ),
        ),
        verdict="deadlock",
        kind="deadlock",
        code="TX116",
        line=DONE,
        page_says=("ld2mma was initialised for 128 arrivals a phase, and 256 arrive in each round",),
    ),
    Wrong(
        name="a wait for the barrier of the other direction",
        edit=Edit(step=7, old=FULL, new=FULL.replace("tma2mma", "mma2tma")),
        verdict="deadlock",
        kind="deadlock",
        code="TX103",
        line=FULL.replace("tma2mma", "mma2tma"),
        page_says=("wait for tma2mma instead",),
    ),
    Wrong(
        name="a prologue that loads one stage twice",
        edit=Edit(step=5, old="tma_load(k, k)", new="tma_load(0, k)"),
        verdict="fault",
        kind="deadlock",
        code="TX109",
        line="Tx.ptx.mbarrier.try_wait(tma_bar",
        page_says=("the role that signals tma_bar does not advance to the next stage",),
    ),
)


WAIT_AND_RELEASE = (
    "                        with Tx.warpgroup():\n                            Tx.ptx.wgmma.wait_group(0)\n",
    "                        release(mma_phase.stage)\n",
)

HOPPER = (
    Wrong(
        name="MMAs that are never committed",
        edit=HopperEdit(step=7, old="                        Tx.ptx.wgmma.commit_group()\n", new=""),
        verdict="hazard",
        kind="missing-wgmma-wait",
        code="TX212",
        line="Tx.cast(Dreg_16b[:], Dreg[:])",
        page_says=("call commit_group(), then wait_group(0)",),
    ),
    Wrong(
        name="a stage released before the wait for its MMA",
        edit=HopperEdit(step=7, old="".join(WAIT_AND_RELEASE), new="".join(WAIT_AND_RELEASE[::-1])),
        verdict="hazard",
        kind="race",
        line="Tx.copy_async(Asmem",
        page_says=("at which the warpgroup arrives after commit_group() and wait_group()",),
    ),
)


@pytest.mark.parametrize("wrong", HOPPER, ids=lambda wrong: wrong.name)
def test_a_warpgroup_waits_for_its_mmas(wrong: Wrong, tmp_path: Path) -> None:
    assert_found(wrong, simulate_on_hopper(wrong.edit, tmp_path))


@pytest.mark.parametrize("wrong", KERNELS, ids=lambda wrong: f"step {wrong.edit.step}: {wrong.name}")
def test_the_mistake_is_named_first(wrong: Wrong, tmp_path: Path) -> None:
    assert_found(wrong, simulate(wrong.edit.kernel(tmp_path), wrong.edit.step))


@pytest.mark.parametrize(
    "edit", [*map(Edit, SHAPES), *map(HopperEdit, HOPPER_SHAPES)], ids=lambda edit: f"{type(edit).__name__}{edit.step}"
)
def test_nothing_is_suspected_of_the_references(edit: Edit, tmp_path: Path) -> None:
    assert handover_suspect(lower(edit.kernel(tmp_path)), ()) is None
