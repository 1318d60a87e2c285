"""The mistakes with pipelines of steps 4 to 10: phases and stages that drift apart, and waits that are missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels_ref.edits import Edit
from tests.tirx_mini.diagnose.reference_texts import DONE, EMPTY, FREE, FULL, LOAD_A, MMA, READ_TMEM
from tests.tirx_mini.diagnose.wrong_kernels import Wrong, assert_found, simulate

K_LOOP = "for k in range(K_TILES):\n"
LOADS = ("Tx.copy_async(Asmem", "Tx.copy_async(Bsmem")

PHASES = (
    Wrong(
        name="TMA begins as a consumer",
        edit=Edit(step=7, old="tma_phase.init(is_producer=True)", new="tma_phase.init(is_producer=False)"),
        verdict="deadlock",
        kind="deadlock",
        code="TX108",
        line=EMPTY,
        page_says=("phase 0 of mma2tma[0]", "is_producer=True"),
    ),
    Wrong(
        name="MMA waits for tensor memory as a consumer",
        edit=Edit(step=8, old="ld_phase.init(is_producer=True)", new="ld_phase.init(is_producer=False)"),
        verdict="deadlock",
        kind="deadlock",
        code="TX108",
        line=FREE,
        page_says=("phase 0 of ld2mma", "is_producer=True"),
    ),
    Wrong(
        name="MMA begins as a producer",
        edit=Edit(step=7, old="mma_phase.init(is_producer=False)", new="mma_phase.init(is_producer=True)"),
        verdict="fault",
        kind="passes-at-once",
        code="TX108",
        line=FULL,
        page_says=("for tma2mma[0] passes at once", "its phase begins here"),
    ),
    Wrong(
        name="write-back begins as a producer",
        edit=Edit(step=8, old="wb_phase.init(is_producer=False)", new="wb_phase.init(is_producer=True)"),
        verdict="deadlock",
        kind="passes-at-once",
        code="TX108",
        line=DONE,
        page_says=("for mma2ld passes at once", "its phase begins here", "begin with phase 0"),
    ),
    Wrong(
        name="one state for two barriers",
        edit=Edit(
            step=7,
            old="ld2mma.wait(ld_phase.stage, ld_phase.phase)\n                            ld_phase.move",
            new="ld2mma.wait(0, mma_phase.phase)\n                            mma_phase.move",
        ),
        verdict="deadlock",
        kind="deadlock",
        code="TX108",
        line="ld2mma.wait(0, mma_phase.phase)",
        page_says=("ld2mma", "phase 1"),
    ),
    Wrong(
        name="MMA makes one turn less",
        edit=Edit(
            step=7,
            old=K_LOOP + "                                tma2mma",
            new=K_LOOP.replace("TILES", "TILES - 1") + "                                tma2mma",
        ),
        verdict="deadlock",
        kind="deadlock",
        code="TX110",
        line=EMPTY,
        page_says=("mma2tma", "make different numbers of iterations"),
    ),
    Wrong(
        name="TMA makes one turn less",
        edit=Edit(
            step=8,
            old=K_LOOP + "                                mma2tma",
            new=K_LOOP.replace("TILES", "TILES - 1") + "                                mma2tma",
        ),
        verdict="deadlock",
        kind="deadlock",
        code="TX110",
        line=FULL,
        page_says=("tma2mma", "make different numbers of iterations"),
    ),
    Wrong(
        name="MMA stays in its stage",
        edit=Edit(step=7, old="                                mma_phase.move_to_next_stage()\n", new=""),
        verdict="deadlock",
        kind="deadlock",
        code="TX109",
        line=FULL,
        page_says=("waits again for round 1 of tma2mma[0]", "move_to_next_stage"),
    ),
    Wrong(
        name="MMA has another depth",
        edit=Edit(step=8, old='PipelineState("mma", PIPE_DEPTH)', new='PipelineState("mma", 2)'),
        verdict="deadlock",
        kind="deadlock",
        code="TX109",
        line=EMPTY,
        page_says=("mma2tma[2]", "next stage"),
    ),
    Wrong(
        name="TMA stays in its stage",
        edit=Edit(
            step=8,
            old="                                tma_phase.move_to_next_stage()\n                            tile",
            new="                            tile",
        ),
        verdict="fault",
        kind="deadlock",
        code="TX109",
        line=EMPTY,
        page_says=("the first round of mma2tma[0], which is free", "nothing in its loop", "move_to_next_stage"),
    ),
    Wrong(
        name="the phase of the MMA's barrier is not flipped",
        edit=Edit(step=4, old="                        phase_mma = phase_mma ^ 1\n", new=""),
        verdict="hazard",
        kind="state-stands-still",
        code="TX109",
        line="Tx.ptx.mbarrier.try_wait(mma_bar",
        page_says=("waits again for round 1 of mma_bar", "phase = phase ^ 1"),
    ),
    Wrong(
        name="the phase flips in each turn",
        edit=Edit(
            step=5,
            old="                        if stage == 0:\n                            phase_tma",
            new="                        if True:\n                            phase_tma",
        ),
        verdict="deadlock",
        kind="deadlock",
        code="TX126",
        line="phase_tma = phase_tma ^ 1",
        page_says=("each of the 2 stages of tma_bar", "once a lap"),
    ),
    Wrong(
        name="write-back does not flip its phase",
        edit=Edit(step=7, old="                    wb_phase.move_to_next_stage()\n", new=""),
        verdict="deadlock",
        kind="deadlock",
        code="TX109",
        line=DONE,
        page_says=("waits again for round 1 of mma2ld", "move_to_next_stage"),
    ),
    Wrong(
        name="a role that never takes the next tile",
        edit=Edit(
            step=7,
            old="                    store()\n                    tile_scheduler.next_tile()\n",
            new="                    store()\n",
        ),
        verdict="deadlock",
        kind="runaway-loop",
        code="TX114",
        line="while tile_scheduler.valid():\n                    mma2ld",
        page_says=("next_tile()",),
    ),
)

WAITS = (
    Wrong(
        name="no wait for an empty stage",
        edit=Edit(
            step=7,
            old="                                mma2tma.wait(tma_phase.stage, tma_phase.phase)\n"
            "                                tma_load",
            new="                                tma_load",
        ),
        verdict="fault",
        kind="race",
        code="TX201",
        line=LOAD_A,
        page_says=("Asmem",),
    ),
    Wrong(
        name="no wait for a full stage",
        edit=Edit(step=7, old=f"                                {FULL}\n", new=""),
        verdict="fault",
        kind="uninitialised-read",
        code="TX207",
        line=MMA,
        page_says=("smem", "no thread waits for tma2mma[0]", "wait for the mbarrier of the TMA load"),
        also_shows="tma2mma.arrive(",
    ),
    Wrong(
        name="no wait for free tensor memory",
        edit=Edit(step=7, old=f"                            {FREE}\n", new=""),
        verdict="hazard",
        kind="race",
        code="TX201",
        line=MMA,
        page_says=("tmem", "tcgen05.ld"),
        also_shows=READ_TMEM,
    ),
    Wrong(
        name="no wait for the result",
        edit=Edit(step=7, old=f"                    {DONE}\n", new=""),
        verdict="deadlock",
        kind="uninitialised-read",
        code="TX207",
        line=READ_TMEM,
        page_says=("nothing has written",),
    ),
    Wrong(
        name="both warpgroups wait for the first consumer",
        edit=Edit(step=10, old="mma2ld.wait(wg_id, wb_phase.phase)", new="mma2ld.wait(0, wb_phase.phase)"),
        verdict="hazard",
        kind="race",
        code="TX201",
        line=READ_TMEM,
        page_says=("columns 256 to 319", "MMA of warp 1"),
        also_shows=MMA,
    ),
    Wrong(
        name="both consumers wait for the first warpgroup",
        edit=Edit(step=10, old="ld2mma.wait(warp_id, ld_phase.phase)", new="ld2mma.wait(0, ld_phase.phase)"),
        verdict="hazard",
        kind="race",
        code="TX201",
        line=MMA,
        page_says=("columns 256", "tcgen05.ld of write-back (warp 0 of warpgroup 1)"),
        also_shows=READ_TMEM,
    ),
    Wrong(
        name="the stage of a state as the consumer's slot",
        edit=Edit(step=10, old="mma2ld.wait(wg_id, wb_phase.phase)", new="mma2ld.wait(wb_phase.stage, wb_phase.phase)"),
        verdict="hazard",
        kind="race",
        code="TX201",
        line=READ_TMEM,
        page_says=("columns 256 to 319",),
        also_shows=MMA,
    ),
    Wrong(
        name="tensor memory is declared free before it is read",
        edit=Edit(
            step=7,
            old="                    read_tmem()\n",
            new="",
            then=(("ld2mma.arrive(0)\n", "ld2mma.arrive(0)\n                    read_tmem()\n"),),
        ),
        verdict="hazard",
        kind="race",
        code="TX201",
        line=MMA,
        page_says=("tcgen05.ld",),
        also_shows=READ_TMEM,
    ),
    Wrong(
        name="no cta_sync before tensor memory is read",
        edit=Edit(
            step=4,
            old="                Tx.cuda.cta_sync()\n                Tx.ptx.tcgen05.fence",
            new="                Tx.ptx.tcgen05.fence",
        ),
        verdict="hazard",
        kind="uninitialised-read",
        code="TX207",
        line=READ_TMEM,
        page_says=("tcgen05.ld", "nothing has written"),
    ),
    Wrong(
        name="the same in a persistent kernel",
        edit=Edit(
            step=6,
            old="                Tx.cuda.cta_sync()\n                Tx.ptx.tcgen05.fence",
            new="                Tx.ptx.tcgen05.fence",
        ),
        verdict="hazard",
        kind="uninitialised-read",
        code="TX207",
        line=READ_TMEM,
        page_says=("tcgen05.ld", "nothing has written"),
    ),
    Wrong(
        name="no synchronisation after the barriers' init",
        edit=Edit(step=7, old="            Tx.cuda.cta_sync()\n\n            tmem", new="\n            tmem"),
        verdict="hazard",
        kind="race",
        code="TX201",
        line=FREE,
        page_says=("with no synchronisation after its initialisation",),
        also_shows="ld2mma.init(128)",
    ),
)


@pytest.mark.parametrize("wrong", (*PHASES, *WAITS), ids=lambda wrong: f"step {wrong.edit.step}: {wrong.name}")
def test_the_mistake_is_found_and_named(wrong: Wrong, tmp_path: Path) -> None:
    assert_found(wrong, simulate(wrong.edit.kernel(tmp_path), wrong.edit.step))
