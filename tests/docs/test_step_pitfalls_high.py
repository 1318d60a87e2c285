"""docs/steps/step06.md to step10.md: each mistake in the table of pitfalls leads to the codes that stand beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pitfalls import Mistake, Mistakes, assert_leads_to_its_codes, each, lines, mistake, rows
from tests.kernels_ref.edits import SHAPES

SYNC, WARPGROUP_SYNC = "Tx.cuda.cta_sync()", "Tx.cuda.warpgroup_sync(1)"
AFTER, BEFORE = "Tx.ptx.tcgen05.fence.after_thread_sync()", "Tx.ptx.tcgen05.fence.before_thread_sync()"
NEXT = "tile_scheduler.next_tile()"
TILE_LOOP = "while tile_scheduler.valid():"
BYTES = "(BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE"
LAST_WAITS = lines(24, "for _ in range(PIPE_DEPTH):") + lines(
    28, "mma2tma.wait(tma_phase.stage, tma_phase.phase)", "tma_phase.move_to_next_stage()"
)
ARRIVE, READ = "ld2mma.arrive(0)", "read_tmem()"
GRID = 'bx = Tx.cta_id([SM_COUNT], parent="kernel")'

STEP6 = {
    "`stage` and the phases are set to 0 in each tile": mistake(
        (lines(12, TILE_LOOP), lines(12, TILE_LOOP) + lines(16, "stage = 0", "phase_tma = 0", "phase_mma = 0")),
    ),
    "the prefetch begins at stage 0": mistake(
        ("tma_load((stage + k) % PIPE_DEPTH, k)", "tma_load(k, k)"), shape=(384, 384, 64)
    ),
    "no `before_thread_sync` after the read": mistake((lines(16, BEFORE), "")),
    "no `cta_sync` before the read": mistake((lines(16, SYNC, AFTER), lines(16, AFTER))),
    "no `wait_group(0)`": mistake((lines(24, "Tx.ptx.cp_async.bulk.wait_group(0)"), "")),
    "`next_tile()` is missing, or only warp 0 calls it": (
        *mistake((lines(16, NEXT), "")),
        *mistake((lines(16, NEXT), lines(16, "if warp_id == 0:") + lines(20, NEXT))),
    ),
    "`init(0)` instead of `init(bx)`": mistake(("tile_scheduler.init(bx)", "tile_scheduler.init(0)")),
    "fewer CTAs than `num_clusters`": mistake((GRID, GRID.replace("SM_COUNT", "SM_COUNT - 1"))),
}

MMA_WAIT = "tma2mma.wait(mma_phase.stage, mma_phase.phase)"
MMA_LOOP = lines(28, "for k in range(K_TILES):") + lines(32, MMA_WAIT)
STEP7 = {
    "`tma2mma.init(1)` inside `if wg_id == 1:`": mistake(
        (lines(12, "tma2mma.init(1)"), lines(12, "if wg_id == 1:") + lines(16, "tma2mma.init(1)")),
    ),
    "`tma_phase.init(is_producer=False)`": mistake(
        ("tma_phase.init(is_producer=True)", "tma_phase.init(is_producer=False)")
    ),
    "`mma_phase.init(is_producer=True)`": mistake(
        ("mma_phase.init(is_producer=False)", "mma_phase.init(is_producer=True)")
    ),
    "only one warp, or one lane, arrives at `ld2mma`": (
        *mistake((lines(20, ARRIVE), lines(20, "if warp_id == 0:") + lines(24, ARRIVE))),
        *mistake((lines(20, ARRIVE), lines(20, "if warp_id == 0 and lane_id == 0:") + lines(24, ARRIVE))),
    ),
    "`ld2mma.init(1)`": mistake(("ld2mma.init(128)", "ld2mma.init(1)")),
    "`cta_sync` in the loop of the write-back": mistake((lines(20, "store()"), lines(20, "store()", SYNC))),
    "the K loops of TMA and MMA differ in length": mistake((MMA_LOOP, MMA_LOOP.replace("K_TILES", "K_TILES - 1"))),
    "one `move_to_next_stage` is missing": (
        *mistake((lines(32, "mma_phase.move_to_next_stage()"), "")),
        *mistake((lines(28, "ld_phase.move_to_next_stage()"), "")),
    ),
    "`ld2mma.arrive` before the reads": mistake(
        (lines(20, ARRIVE), ""), (lines(20, READ), lines(20, BEFORE, ARRIVE, READ))
    ),
    "no waits after the last load": mistake((LAST_WAITS, "")),
    "one role without `next_tile()`": mistake(
        (lines(28, "mma2ld.arrive(0, cta_group=1, cta_mask=1)", NEXT),
         lines(28, "mma2ld.arrive(0, cta_group=1, cta_mask=1)")),
    ),
}  # fmt: skip

A_LAYOUT = "A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH,"
STEP8 = {
    "one `PipelineState` still has depth 2": tuple(
        Mistake(((f'PipelineState("{name}", PIPE_DEPTH)', f'PipelineState("{name}", 2)'),)) for name in ("tma", "mma")
    ),
    "a barrier array still has 2 elements": (
        *mistake(("tma2mma = TMABar(pool, PIPE_DEPTH", "tma2mma = TMABar(pool, 2")),
        *mistake(("mma2tma = TCGen05Bar(pool, PIPE_DEPTH", "mma2tma = TCGen05Bar(pool, 2")),
    ),
    "`Asmem` still has 2 stages": mistake(
        ("Asmem = pool.alloc((PIPE_DEPTH,", "Asmem = pool.alloc((2,"), (A_LAYOUT, A_LAYOUT.replace("PIPE_DEPTH", "2"))
    ),
    "`tma2mma.init(PIPE_DEPTH)`": mistake(("tma2mma.init(1)", "tma2mma.init(PIPE_DEPTH)")),
    "`TMA_BYTES` times the number of stages": mistake((BYTES, f"PIPE_DEPTH * {BYTES}")),
    "no waits after the last load": mistake((LAST_WAITS, "")),
    "`PIPE_DEPTH = 7`": mistake(("PIPE_DEPTH = 4", "PIPE_DEPTH = 7")),
}

EXPECT = "if cbx == 0:\n                    tma2mma_cta0.arrive(stage, TMA_BYTES)"
STEP9 = {
    "`cta_mask=1` in a commit": (
        *mistake(("mma2ld.arrive(0, cta_group=2, cta_mask=3)", "mma2ld.arrive(0, cta_group=2, cta_mask=1)")),
        *mistake(("mma2tma.arrive(stage, cta_group=2, cta_mask=3)", "mma2tma.arrive(stage, cta_group=2, cta_mask=1)")),
    ),
    "the MMA warp runs in CTA 1, too": mistake((lines(20, "if cbx == 0:"), lines(20, "if cbx >= 0:"))),
    "`TMA_BYTES` of one CTA": mistake((f"CTA_GROUP * {BYTES}", BYTES)),
    "`mbar=tma2mma.ptr_to(…)` instead of the remote view": mistake(
        ('"mbar": tma2mma_cta0.ptr_to', '"mbar": tma2mma.ptr_to')
    ),
    "both CTAs announce": mistake((EXPECT, "tma2mma_cta0.arrive(stage, TMA_BYTES)")),
    "`ld2mma.init(128)`": mistake(("ld2mma.init(128 * CTA_GROUP)", "ld2mma.init(128)")),
    "`ld2mma.arrive(0)` without `cta_id=0`": mistake(("ld2mma.arrive(0, cta_id=0, pred=True)", ARRIVE)),
    "`cta_sync` before the roles": mistake(
        (lines(12, "# After this, the barriers of both CTAs are initialised.", "Tx.cuda.cluster_sync()"),
         lines(12, SYNC)),
    ),
    "`cta_sync` after the roles": mistake(
        (lines(12, "Tx.cuda.cluster_sync()", "if wg_id == 0:"), lines(12, SYNC, "if wg_id == 0:"))
    ),
    "`alloc` with `cta_group=1`": mistake(
        ("Tx.address_of(tmem_addr), n_cols=512, cta_group=2", "Tx.address_of(tmem_addr), n_cols=512, cta_group=1")
    ),
    "the write-back reads 128 columns": mistake(
        ("MMA_N // TMEM_LD_N", "BLK_N // TMEM_LD_N"), ("MMA_N // EPI_N", "BLK_N // EPI_N")
    ),
    "B is loaded from `n_st` in both CTAs": mistake(("b_st = Tx.meta_var(n_st + cbx * BLK_N)", "b_st = n_st")),
}  # fmt: skip

D_LAYOUT = "D_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (NUM_CONSUMER,"
COLUMNS = "tmem[:, warp_id * MMA_N : warp_id * MMA_N + MMA_N]"
STEP10 = {
    "`mma2tma.init(1)`": mistake(("mma2tma.init(NUM_CONSUMER)", "mma2tma.init(1)")),
    "`mma2ld.init(NUM_CONSUMER)`": mistake(("mma2ld.init(1)", "mma2ld.init(NUM_CONSUMER)")),
    "`ld2mma.init(128)`": mistake(("ld2mma.init(128 * CTA_GROUP)", "ld2mma.init(128)")),
    "both consumers commit to `mma2ld` slot 0": mistake(("mma2ld.arrive(warp_id,", "mma2ld.arrive(0,")),
    "`mma2ld.wait(wb_phase.stage, …)`": mistake(("mma2ld.wait(wg_id,", "mma2ld.wait(wb_phase.stage,")),
    "both consumers write columns 0–255": mistake((COLUMNS, "tmem[:, 0:MMA_N]")),
    "both consumers read A block 0": mistake(("Asmem[stage, warp_id, :, :], Bsmem", "Asmem[stage, 0, :, :], Bsmem")),
    "the bytes of one block of A": mistake(("(NUM_CONSUMER * BLK_M * BLK_K +", "(BLK_M * BLK_K +")),
    "one `warpgroup_sync` id for both": mistake(
        (lines(20, "Tx.cuda.warpgroup_sync(wg_id + 1)", "if warp_id == 0:"),
         lines(20, WARPGROUP_SYNC, "if warp_id == 0:")),
        ("overwrites Dsmem.\n" + lines(20, "Tx.cuda.warpgroup_sync(wg_id + 1)"),
         "overwrites Dsmem.\n" + lines(20, WARPGROUP_SYNC)),
    ),
    "one `Dsmem` for both": mistake(
        ("Dsmem = pool.alloc((NUM_CONSUMER,", "Dsmem = pool.alloc((1,"),
        (D_LAYOUT, D_LAYOUT.replace("NUM_CONSUMER", "1")),
        ("Dsmem[wg_id, warp_id", "Dsmem[0, warp_id"),
        ("Dsmem[wg_id, :, :]", "Dsmem[0, :, :]"),
    ),
    "`ld2mma.arrive` after the first chunk": mistake(("if i == MMA_N // EPI_N - 1:", "if i == 0:")),
    "no waits after the last load": mistake((LAST_WAITS, "")),
    "`PIPE_DEPTH = 5`, or `EPI_N = 128`": (
        *mistake(("PIPE_DEPTH = 4", "PIPE_DEPTH = 5")),
        *mistake(("EPI_N = 64", "EPI_N = 128")),
    ),
}  # fmt: skip

MISTAKES: Mistakes = {6: STEP6, 7: STEP7, 8: STEP8, 9: STEP9, 10: STEP10}


@pytest.mark.parametrize("step", MISTAKES)
def test_each_row_of_the_table_is_a_mistake_that_is_tried_here(step: int) -> None:
    assert list(rows(step)) == list(MISTAKES[step])


@pytest.mark.parametrize(("step", "row"), each(MISTAKES))
def test_a_mistake_leads_to_the_codes_beside_it(step: int, row: str, tmp_path: Path) -> None:
    assert_leads_to_its_codes(step, row, MISTAKES[step][row], SHAPES[step], tmp_path)
