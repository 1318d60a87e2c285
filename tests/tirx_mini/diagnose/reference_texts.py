"""Texts of the Blackwell references that edits replace, and by which findings' lines are told."""

from __future__ import annotations

ELECTED = '                with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:\n'
PROXY_FENCE = 'Tx.ptx.fence.proxy_async("shared::cta")\n'
LOAD_A = "Tx.copy_async(Asmem"
STORE_D = "Tx.copy_async(D["
MMA = "Tx.gemm_async("
READ_TMEM = "Tx.copy(Dreg_wg["
EMPTY = "mma2tma.wait(tma_phase.stage, tma_phase.phase)\n                                tma_load("
FULL = "tma2mma.wait(mma_phase.stage, mma_phase.phase)"
DONE = "mma2ld.wait(wb_phase.stage, wb_phase.phase)"
FREE = "ld2mma.wait(ld_phase.stage, ld_phase.phase)"

# The consumers of Hopper's step 10.
SKIP = "                    mma_phase.skip(K_TILES)\n"
RELEASE_LAST = "                    release(last)\n                    mma_phase.skip(K_TILES)\n"
