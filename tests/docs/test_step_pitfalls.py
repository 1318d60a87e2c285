"""docs/steps/step01.md to step05.md: each mistake in the table of pitfalls leads to the codes that stand beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.docs.pitfalls import Mistake, Mistakes, assert_leads_to_its_codes, each, lines, mistake, rows
from tirx_mini.course import Shape

ALLOC = "Tx.ptx.tcgen05.alloc(Tx.address_of(tmem_addr), n_cols=512, cta_group=1)"
FREE = "Tx.ptx.tcgen05.dealloc(tmem_addr[0], n_cols=512, cta_group=1)"
COMMIT = "Tx.ptx.tcgen05.commit(mma_bar.ptr_to([0]), cta_group=1)"
WAIT = "Tx.ptx.mbarrier.try_wait(mma_bar.ptr_to([0]), phase_mma)"
FLIP = "phase_mma = phase_mma ^ 1"
WAIT_TMA, FLIP_TMA = "Tx.ptx.mbarrier.try_wait(tma_bar.ptr_to([0]), phase_tma)", "phase_tma = phase_tma ^ 1"
AFTER = "Tx.ptx.tcgen05.fence.after_thread_sync()"
SYNC = "Tx.cuda.cta_sync()"
GRID = "[M // BLK_M, N // BLK_N]"
SHARED = 'Tx.ptx.fence.proxy_async("shared::cta")'
EXPECT = "Tx.ptx.mbarrier.arrive.expect_tx(tma_bar.ptr_to([0]), TMA_BYTES)"
BYTES = "(BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE"
A_TILE = "A[:, k * BLK_K : (k + 1) * BLK_K]"
WRAP = lines(24, "if stage == 0:") + lines(28, FLIP_TMA)
ADVANCE = lines(24, "stage = (stage + 1) % PIPE_DEPTH")
STAGE_WAIT = "Tx.ptx.mbarrier.try_wait(tma_bar.ptr_to([stage]), phase_tma)"
STAGE_EXPECT = "Tx.ptx.mbarrier.arrive.expect_tx(tma_bar.ptr_to([stage]), TMA_BYTES)"
REFILL = "tma_load(stage, k + PIPE_DEPTH)"

STEP1 = {
    "`alloc` under `if lane_id == 0:`": mistake(
        (lines(16, ALLOC, "if lane_id == 0:"), lines(16, "if lane_id == 0:") + lines(20, ALLOC)),
    ),
    "`alloc` in all four warps": mistake(
        (lines(12, "if warp_id == 0:") + lines(16, ALLOC), lines(12, ALLOC, "if warp_id == 0:")),
    ),
    '`mbarrier.init(…, 128)`, "as 128 threads wait"': mistake(("ptr_to([0]), 1)", "ptr_to([0]), 128)")),
    "no `commit`": mistake((lines(20, COMMIT), "")),
    "no `cta_sync` after the loads": mistake((lines(12, SYNC, AFTER), lines(12, AFTER))),
    "the wait under `if warp_id == 0:`": mistake((lines(12, WAIT), lines(16, WAIT))),
    "a wait for parity 1": mistake(("phase_mma = 0", "phase_mma = 1")),
    "`cta_sync` inside the elected branch": mistake((lines(20, COMMIT), lines(20, COMMIT, SYNC))),
    "`Tx.thread()` instead of `Tx.cta()` around the loads": mistake(("with Tx.cta():", "with Tx.thread():")),
    "no `cta_sync` before `dealloc`": mistake(
        (lines(12, SYNC, "if warp_id == 0:") + "                Tx.ptx.tcgen05.rel",
         lines(12, "if warp_id == 0:") + "                Tx.ptx.tcgen05.rel"),
    ),
    "no `dealloc`": mistake((lines(16, FREE), "")),
}  # fmt: skip

STEP2 = {
    "no flip of `phase_mma`": mistake((lines(16, FLIP), "")),
    "the flip under `if warp_id == 0:`": mistake(
        (lines(16, FLIP), lines(16, "if warp_id == 0:") + lines(20, FLIP)),
    ),
    "`phase_mma = 0` inside the loop": mistake(
        (lines(12, "for k in range(K_TILES):"), lines(12, "for k in range(K_TILES):") + lines(16, "phase_mma = 0")),
    ),
    "the wait after the loop, or only in warp 0": (
        *mistake((lines(16, WAIT, FLIP), lines(12, WAIT))),
        *mistake((lines(16, WAIT, FLIP), lines(16, "if warp_id == 0:") + lines(20, WAIT, FLIP))),
    ),
    "`init` inside the loop": mistake(
        (lines(12, "for k in range(K_TILES):"),
         lines(12, "for k in range(K_TILES):")
         + lines(16, "if warp_id == 0 and lane_id == 0:") + lines(20, "Tx.ptx.mbarrier.init(mma_bar.ptr_to([0]), 1)")),
    ),
    "`accum=True` always": mistake(("accum=(k != 0)", "accum=True")),
    "`accum=False` always": mistake(("accum=(k != 0)", "accum=False")),
    "no `cta_sync` after the copies": mistake((lines(16, SYNC, AFTER), lines(16, AFTER))),
    "columns of `k + 1`": mistake((A_TILE, "A[:, (k + 1) * BLK_K : (k + 2) * BLK_K]")),
    "always the first 64 columns of A": mistake((A_TILE, "A[:, 0:BLK_K]")),
}  # fmt: skip

WIDE, TALL, SQUARE = (128, 384, 128), (384, 128, 128), (256, 256, 128)
B_ROWS, K_COLUMNS = "n_st : n_st + BLK_N", "k * BLK_K : (k + 1) * BLK_K"
STEP3 = {
    "rows from `m_st` in B": mistake(("B[n_st : n_st + BLK_N", "B[m_st : m_st + BLK_N"), shape=SQUARE),
    "rows from `n_st` in A": tuple(
        Mistake((("A[m_st : m_st + BLK_M", "A[n_st : n_st + BLK_M"),), shape) for shape in (WIDE, TALL)
    ),
    "D without `m_st` or without `n_st`": (
        *mistake(("m_st + warp_id * 32", "warp_id * 32"), shape=SQUARE),
        *mistake(("D[row, n_st : n_st + BLK_N]", "D[row, 0:BLK_N]"), shape=SQUARE),
    ),
    "extents of the grid exchanged": mistake((GRID, "[N // BLK_N, M // BLK_M]"), shape=WIDE),
    "one CTA too many": mistake((GRID, "[M // BLK_M + 1, N // BLK_N]"), shape=SQUARE),
    "the grid of step 2, `[1, 1]`": mistake((GRID, "[1, 1]"), shape=SQUARE),
    "`B[k_st : …, n_st : …]`": mistake((f"B[{B_ROWS}, {K_COLUMNS}]", f"B[{K_COLUMNS}, {B_ROWS}]"), shape=SQUARE),
    "no `dealloc`": mistake((lines(16, FREE), ""), shape=SQUARE),
}

LOOP = lines(20, "for k in range(K_TILES):")
STEP4 = {
    "elements instead of bytes in `expect_tx`": mistake((BYTES, "BLK_M * BLK_K + BLK_N * BLK_K")),
    "the bytes of one tile only": mistake((BYTES, "BLK_M * BLK_K * DTYPE_SIZE")),
    "`expect_tx` once for each load": mistake(
        (lines(16, EXPECT), 2 * lines(16, EXPECT.replace("TMA_BYTES", "TMA_BYTES // 2"))),
    ),
    '`init(2)`, "as there are two loads"': mistake(("tma_bar.ptr_to([0]), 1)", "tma_bar.ptr_to([0]), 2)")),
    "no `expect_tx`": mistake((lines(16, EXPECT), "")),
    "no `init` of `tma_bar`": mistake((lines(20, "Tx.ptx.mbarrier.init(tma_bar.ptr_to([0]), 1)"), "")),
    "no fence after the `init`": mistake((lines(12, SHARED, "Tx.ptx.fence.mbarrier_init()"), "")),
    "no `fence.proxy_async` before the store": mistake((lines(20, SHARED), "")),
    "no `cta_sync` between that fence and the store": mistake((lines(20, SHARED) + lines(16, SYNC), lines(20, SHARED))),
    "no `commit_group`, or no `wait_group`": (
        *mistake((lines(24, "Tx.ptx.cp_async.bulk.commit_group()"), "")),
        *mistake((lines(24, "Tx.ptx.cp_async.bulk.wait_group(0)"), "")),
    ),
    "no wait for `mma_bar`": mistake((lines(24, WAIT, FLIP), "")),
    "one of the phases is not flipped": (
        *mistake((lines(24, FLIP), "")),
        *mistake((lines(24, FLIP_TMA), "")),
    ),
    "no `cta_sync` at the start of the write-back": mistake((lines(16, SYNC, AFTER), lines(16, AFTER))),
    "`cta_sync` in the loop": mistake((lines(24, "mma(k)"), lines(24, "mma(k)", SYNC))),
    "the loop without `elect_sync`": mistake(("[Tx.ptx.elect_sync()]:\n" + LOOP, ":\n" + LOOP)),
}  # fmt: skip

STEP5 = {
    "`phase_tma` flips for each tile, or never": (
        *mistake((WRAP, lines(24, FLIP_TMA))),
        *mistake((WRAP, "")),
    ),
    "the flip where `stage` is the last one, or before `stage` advances": (
        *mistake(("if stage == 0:", "if stage == PIPE_DEPTH - 1:")),
        *mistake((ADVANCE + WRAP, WRAP + ADVANCE)),
    ),
    "`stage` does not advance": mistake((ADVANCE, "")),
    "the wait is always for `tma_bar[0]`": mistake((STAGE_WAIT, WAIT_TMA)),
    "only `tma_bar[0]` is initialised": mistake(("for i in Tx.unroll(PIPE_DEPTH):", "for i in Tx.unroll(1):")),
    "the load signals `tma_bar[0]` from each stage": mistake(
        ('"mbar": tma_bar.ptr_to([stage])', '"mbar": tma_bar.ptr_to([0])'),
    ),
    "`expect_tx` with the bytes of all stages": mistake((BYTES, f"PIPE_DEPTH * {BYTES}")),
    "the load before the wait for `mma_bar`": mistake(
        (lines(24, WAIT, FLIP), ""), (ADVANCE, lines(24, WAIT, FLIP) + ADVANCE),
    ),
    "the load into the other stage": mistake((REFILL, "tma_load((stage + 1) % PIPE_DEPTH, k + PIPE_DEPTH)")),
    "a prefetch of one tile": mistake(("for k in range(PRE_NUM)", "for k in range(1)")),
    "loads of tiles that do not exist": mistake(("if k + PIPE_DEPTH < K_TILES:", "if k < K_TILES:")),
    "PRE_NUM = PIPE_DEPTH for K = 64": mistake(
        ("PRE_NUM = min(PIPE_DEPTH, K_TILES)", "PRE_NUM = PIPE_DEPTH"), shape=(128, 128, 64),
    ),
    "tile k + 1 instead of k + 2": mistake((REFILL, "tma_load(stage, k + 1)")),
    "`PIPE_DEPTH = 8`": mistake(("PIPE_DEPTH = 2", "PIPE_DEPTH = 8")),
}  # fmt: skip

MISTAKES: Mistakes = {1: STEP1, 2: STEP2, 3: STEP3, 4: STEP4, 5: STEP5}
SHAPES: Mapping[int, Shape] = {1: (128, 128, 64), 2: (128, 128, 384), 3: SQUARE, 4: (128, 128, 384), 5: (128, 128, 512)}


@pytest.mark.parametrize("step", MISTAKES)
def test_each_row_of_the_table_is_a_mistake_that_is_tried_here(step: int) -> None:
    assert list(rows(step)) == list(MISTAKES[step])


@pytest.mark.parametrize(("step", "row"), each(MISTAKES))
def test_a_mistake_leads_to_the_codes_beside_it(step: int, row: str, tmp_path: Path) -> None:
    assert_leads_to_its_codes(step, row, MISTAKES[step][row], SHAPES[step], tmp_path)
