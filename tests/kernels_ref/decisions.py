"""Right kernels that decide otherwise than the references: one for each step from 4 on, as a student may write it.

The protocol differs: who waits, how many barriers there are, how many arrivals complete a phase, which thread
issues. `tests/kernels_ref/test_variations.py` has other depths, tiles and orders.
"""

from __future__ import annotations

from dataclasses import dataclass

from .edits import Edit


@dataclass(frozen=True)
class Decision:
    """A reference with another decision. made: what it does. instead: what the reference does."""

    made: str
    instead: str
    edit: Edit


_TWO_BARRIERS = (
    ("tma_bar = pool.alloc((1,)", "tma_bar = pool.alloc((2,)"),
    (
        "                    Tx.ptx.mbarrier.init(tma_bar.ptr_to([0]), 1)\n",
        """\
                    for i in Tx.unroll(2):
                        Tx.ptx.mbarrier.init(tma_bar.ptr_to([i]), 1)
""",
    ),
    (
        """\
                tma = Tx.meta_var({"dispatch": "tma", "cta_group": 1, "mbar": tma_bar.ptr_to([0])})
                Tx.copy_async(Asmem[:, :], A[m_st : m_st + BLK_M, k_st : k_st + BLK_K], **tma)
                Tx.copy_async(Bsmem[:, :], B[n_st : n_st + BLK_N, k_st : k_st + BLK_K], **tma)
                Tx.ptx.mbarrier.arrive.expect_tx(tma_bar.ptr_to([0]), TMA_BYTES)
""",
        """\
                tma = Tx.meta_var({"dispatch": "tma", "cta_group": 1})
                Tx.ptx.mbarrier.arrive.expect_tx(tma_bar.ptr_to([0]), BLK_M * BLK_K * DTYPE_SIZE)
                Tx.copy_async(
                    Asmem[:, :], A[m_st : m_st + BLK_M, k_st : k_st + BLK_K], mbar=tma_bar.ptr_to([0]), **tma
                )
                Tx.ptx.mbarrier.arrive.expect_tx(tma_bar.ptr_to([1]), BLK_N * BLK_K * DTYPE_SIZE)
                Tx.copy_async(
                    Bsmem[:, :], B[n_st : n_st + BLK_N, k_st : k_st + BLK_K], mbar=tma_bar.ptr_to([1]), **tma
                )
""",
    ),
    (
        """\
                with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                    for k in range(K_TILES):
                        tma_load(k)
                        Tx.ptx.mbarrier.try_wait(tma_bar.ptr_to([0]), phase_tma)
                        phase_tma = phase_tma ^ 1
                        Tx.ptx.tcgen05""",
        """\
                if lane_id == 0:
                    for k in range(K_TILES):
                        tma_load(k)
                        for i in Tx.unroll(2):
                            Tx.ptx.mbarrier.try_wait(tma_bar.ptr_to([i]), phase_tma)
                        phase_tma = phase_tma ^ 1
                        Tx.ptx.tcgen05""",
    ),
)

_STAGES_OF_MMA = (
    ("mma_bar = pool.alloc((1,)", "mma_bar = pool.alloc((PIPE_DEPTH,)"),
    (
        "                    Tx.ptx.mbarrier.init(mma_bar.ptr_to([0]), 1)\n",
        """\
                    for i in Tx.unroll(PIPE_DEPTH):
                        Tx.ptx.mbarrier.init(mma_bar.ptr_to([i]), 1)
""",
    ),
    ("commit(mma_bar.ptr_to([0]), cta_group=1)", "commit(mma_bar.ptr_to([stage]), cta_group=1)"),
    (
        """\
                        # The next load of this stage overwrites the operands; the other stage is still loading.
                        Tx.ptx.mbarrier.try_wait(mma_bar.ptr_to([0]), phase_mma)
                        phase_mma = phase_mma ^ 1
                        if k + PIPE_DEPTH < K_TILES:
                            tma_load(stage, k + PIPE_DEPTH)
                        stage""",
        """\
                        if k > 0:
                            if k - 1 + PIPE_DEPTH < K_TILES:
                                free = Tx.meta_var((k - 1) % PIPE_DEPTH)
                                Tx.ptx.mbarrier.try_wait(mma_bar.ptr_to([free]), (k - 1) // PIPE_DEPTH % 2)
                                tma_load(free, k - 1 + PIPE_DEPTH)
                        stage""",
    ),
    (
        "                            phase_tma = phase_tma ^ 1\n            write_back()",
        """\
                            phase_tma = phase_tma ^ 1
                    for k in range(max(K_TILES - PIPE_DEPTH, 0), K_TILES):
                        Tx.ptx.mbarrier.try_wait(mma_bar.ptr_to([k % PIPE_DEPTH]), k // PIPE_DEPTH % 2)
            write_back()""",
    ),
)

_OWN_COUNTERS = (
    (
        """\
            tile_scheduler = ClusterPersistentScheduler2D(
                "ts", num_m_tiles=M // BLK_M, num_n_tiles=N // BLK_N, l2_group_size=8, num_clusters=SM_COUNT
            )
            tile_scheduler.init(bx)
            m_st = Tx.meta_var(tile_scheduler.m_idx * BLK_M)
            n_st = Tx.meta_var(tile_scheduler.n_idx * BLK_N)
""",
        """\
            tile: Tx.int32
            tile = bx
            m_st = Tx.meta_var(tile // (N // BLK_N) * BLK_M)
            n_st = Tx.meta_var(tile % (N // BLK_N) * BLK_N)
""",
    ),
    (
        """\
            stage: Tx.int32
            phase_tma: Tx.int32
            phase_mma: Tx.int32
            stage = 0
            phase_tma = 0
            phase_mma = 0
""",
        "            done: Tx.int32\n            done = 0\n",
    ),
    ("            while tile_scheduler.valid():\n", "            while tile < (M // BLK_M) * (N // BLK_N):\n"),
    (
        """\
                            tma_load((stage + k) % PIPE_DEPTH, k)
                        for k in range(K_TILES):
                            Tx.ptx.mbarrier.try_wait(tma_bar.ptr_to([stage]), phase_tma)
                            Tx.ptx.tcgen05.fence.after_thread_sync()
                            mma(stage, k)
                            # The next load of this stage overwrites the operands; the other stage is still loading.
                            Tx.ptx.mbarrier.try_wait(mma_bar.ptr_to([0]), phase_mma)
                            phase_mma = phase_mma ^ 1
                            if k + PIPE_DEPTH < K_TILES:
                                tma_load(stage, k + PIPE_DEPTH)
                            stage = (stage + 1) % PIPE_DEPTH
                            if stage == 0:
                                phase_tma = phase_tma ^ 1
                write_back()
                tile_scheduler.next_tile()
""",
        """\
                            tma_load((done + k) % PIPE_DEPTH, k)
                        for k in range(K_TILES):
                            stage = Tx.meta_var(done % PIPE_DEPTH)
                            Tx.ptx.mbarrier.try_wait(tma_bar.ptr_to([stage]), done // PIPE_DEPTH % 2)
                            Tx.ptx.tcgen05.fence.after_thread_sync()
                            mma(stage, k)
                            Tx.ptx.mbarrier.try_wait(mma_bar.ptr_to([0]), done % 2)
                            if k + PIPE_DEPTH < K_TILES:
                                tma_load(stage, k + PIPE_DEPTH)
                            done = done + 1
                write_back()
                tile = tile + SM_COUNT
""",
    ),
)

_ONE_ARRIVES = (
    ("ld2mma.init(128)", "ld2mma.init(1)"),
    (
        "                    ld2mma.arrive(0)\n",
        """\
                    Tx.cuda.warpgroup_sync(1)
                    if warp_id == 0:
                        if lane_id == 0:
                            ld2mma.arrive(0)
""",
    ),
)

_TWO_LOAD = (
    ("tma2mma.init(1)", "tma2mma.init(2)"),
    (
        """\
                Tx.copy_async(Asmem[stage, :, :], A[m_st : m_st + BLK_M, k_st : k_st + BLK_K], **tma)
                Tx.copy_async(Bsmem[stage, :, :], B[n_st : n_st + BLK_N, k_st : k_st + BLK_K], **tma)
                tma2mma.arrive(stage, TMA_BYTES)
""",
        """\
                if warp_id == 3:
                    Tx.copy_async(Asmem[stage, :, :], A[m_st : m_st + BLK_M, k_st : k_st + BLK_K], **tma)
                    tma2mma.arrive(stage, BLK_M * BLK_K * DTYPE_SIZE)
                else:
                    Tx.copy_async(Bsmem[stage, :, :], B[n_st : n_st + BLK_N, k_st : k_st + BLK_K], **tma)
                    tma2mma.arrive(stage, BLK_N * BLK_K * DTYPE_SIZE)
""",
    ),
    (
        "                if warp_id == 3:\n                    with",
        "                if warp_id >= 2:\n                    with",
    ),
)

_BOTH_ANNOUNCE = (
    ("tma2mma.init(1)", "tma2mma.init(CTA_GROUP)"),
    (
        """\
                if cbx == 0:
                    tma2mma_cta0.arrive(stage, TMA_BYTES)
""",
        "                tma2mma_cta0.arrive(stage, TMA_BYTES // CTA_GROUP)\n",
    ),
)

_ONE_ISSUES = (
    ("mma2tma.init(NUM_CONSUMER)", "mma2tma.init(1)"),
    (
        """\
                Tx.gemm_async(
                    tmem[:, warp_id * MMA_N : warp_id * MMA_N + MMA_N], Asmem[stage, warp_id, :, :], Bsmem[stage, :, :],
                    accum=(k != 0), dispatch="tcgen05", cta_group=2,
                )
""",
        """\
                for c in Tx.unroll(NUM_CONSUMER):
                    Tx.gemm_async(
                        tmem[:, c * MMA_N : c * MMA_N + MMA_N], Asmem[stage, c, :, :], Bsmem[stage, :, :],
                        accum=(k != 0), dispatch="tcgen05", cta_group=2,
                    )
""",
    ),
    ("                elif warp_id < NUM_CONSUMER:\n", "                elif warp_id == 0:\n"),
    (
        "                                ld2mma.wait(warp_id, ld_phase.phase)\n",
        """\
                                for c in Tx.unroll(NUM_CONSUMER):
                                    ld2mma.wait(c, ld_phase.phase)
""",
    ),
    (
        "                                mma2ld.arrive(warp_id, cta_group=2, cta_mask=3)\n",
        """\
                                for c in Tx.unroll(NUM_CONSUMER):
                                    mma2ld.arrive(c, cta_group=2, cta_mask=3)
""",
    ),
)


def _edit(step: int, changes: tuple[tuple[str, str], ...]) -> Edit:
    (old, new), *then = changes
    return Edit(step, old, new, tuple(then))


DECISIONS = (
    Decision("a barrier for A and one for B, both waited for by lane 0", "one barrier counts the bytes of both",
             _edit(4, _TWO_BARRIERS)),
    Decision(
        "a barrier for the MMA of each stage, waited for before the stage is loaded again",
        "one barrier, waited for in each iteration", _edit(5, _STAGES_OF_MMA),
    ),
    Decision(
        "stages and parities follow from a count of K tiles, and tiles from another",
        "variables of stage and phase, and a scheduler", _edit(6, _OWN_COUNTERS),
    ),
    Decision("one thread frees tensor memory, after a named barrier", "all 128 threads arrive", _edit(7, _ONE_ARRIVES)),
    Decision("one warp loads A, another one B", "one warp loads both", _edit(8, _TWO_LOAD)),
    Decision("each CTA of a pair announces its own bytes", "CTA 0 announces those of both", _edit(9, _BOTH_ANNOUNCE)),
    Decision("one thread issues the MMAs of both consumers", "each consumer has an MMA warp", _edit(10, _ONE_ISSUES)),
)  # fmt: skip
