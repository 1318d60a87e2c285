"""The drills of steps 1 to 5 of the ladder for Blackwell."""

from __future__ import annotations

from tirx_mini.hardware import BLACKWELL

from .drill import Drill, Symptom

_ARCH = BLACKWELL.kernels
_WAIT = "Tx.ptx.mbarrier.try_wait(mma_bar.ptr_to([0]), phase_mma)"
_AFTER = "Tx.ptx.tcgen05.fence.after_thread_sync()"
_GEMM = "tmem[:, :BLK_N], Asmem[:, :], Bsmem[:, :], accum=({}), dispatch=\"tcgen05\", cta_group=1"
_DEPTHS = {"PIPE_DEPTH": (2, 3)}

FIRST_STEPS = (
    Drill(
        1, _ARCH, "rows", (("row = Tx.meta_var(warp_id * 32 + lane_id)",
                            "row = Tx.meta_var(lane_id * 4 + warp_id)  #<"),),
        Symptom.WRONG, "TX501",
        ("A thread stores the row of another one.",
         "The operands of the MMA are exchanged.",
         "The tile of A is read before all threads have stored it.",
         "Tensor memory is read before the MMA has completed."),
        "Thread r of the warpgroup holds row r of the tile. Lane 1 of warp 0 holds row 1, and stores it as row 4.",
        (128, 128, 64), 1,
    ),
    Drill(
        1, _ARCH, "two arrivals", (("Tx.ptx.mbarrier.init(mma_bar.ptr_to([0]), 1)",
                                    "Tx.ptx.mbarrier.init(mma_bar.ptr_to([0]), 2)  #<"),),
        Symptom.HANGS, "TX107",
        ("The barrier is initialised for more arrivals than are made.",
         "No thread issues the commit.",
         "The wait names the parity of the phase after the first.",
         "One warp calls a barrier that all warps have to call."),
        "One commit covers all MMAs before it, and is one arrival; the second one never comes.",
        (128, 128, 64), 1,
    ),
    Drill(
        1, _ARCH, "no wait", ((f"{_WAIT}\n{_AFTER}", f"{_AFTER}  #<"),),
        Symptom.WRONG, "TX207",
        ("Tensor memory is read before the MMA has completed.",
         "The tile of B is read before all threads have stored it.",
         "The MMA adds to what tensor memory held before.",
         "Tensor memory is deallocated before all warps have read it."),
        "The MMA is asynchronous. `mma_bar` says when it has completed, and no thread waits for it.",
        (128, 128, 64), 1,
    ),
    Drill(
        2, _ARCH, "second product", ((_GEMM.format("k != 0"), f"{_GEMM.format('k > 1')}  #<"),),
        Symptom.WRONG, "TX210",
        ("The second product overwrites the first.",
         "The first product is added to what tensor memory held before.",
         "The last K tile is never multiplied.",
         "The phase of `mma_bar` is not flipped, so an MMA reads tiles that are being overwritten."),
        "`accum` is false for k = 0 and k = 1, so K tile 0 is missing from each sum.",
        (128, 128, 256), 1,
    ),
    Drill(
        2, _ARCH, "one warp waits",
        ((f"{_WAIT}\nphase_mma = phase_mma ^ 1",
          f"if warp_id == 0:  #<\n    {_WAIT}  #<\nphase_mma = phase_mma ^ 1"),),
        Symptom.WRONG, "TX201",
        ("Three warps overwrite the operands of an MMA that still runs.",
         "The phase flips in one warp only.",
         "The MMA is issued before all threads have stored their part of the tiles.",
         "The columns of A and B do not belong to the same K tile."),
        "All four warps copy the next tiles, so all four have to wait until the MMA has read these.",
        (128, 128, 256), 1,
    ),
    Drill(
        2, _ARCH, "one warp copies",
        (("""
          with Tx.cta():
              Tx.copy(Asmem[:, :], A[:, k * BLK_K : (k + 1) * BLK_K])
              Tx.copy(Bsmem[:, :], B[:, k * BLK_K : (k + 1) * BLK_K])
          """, """
          if warp_id == 0:  #<
              with Tx.warp():  #<
                  Tx.copy(Asmem[:, :], A[:, k * BLK_K : (k + 1) * BLK_K])  #<
                  Tx.copy(Bsmem[:, :], B[:, k * BLK_K : (k + 1) * BLK_K])  #<
          """),),
        Symptom.SLOW, "copies-by-threads",
        ("One warp copies the tiles, and three wait for it.",
         "Each warp copies all of A and B for itself.",
         "Each K tile is read from global memory twice.",
         "The write-back stores one element at a time."),
        "A quarter of the threads make four times as many copies each, one after the other.",
        (128, 128, 512), 1,
    ),
    Drill(
        3, _ARCH, "rows of B",
        (("Tx.copy(Bsmem[:, :], B[n_st : n_st + BLK_N, k * BLK_K : (k + 1) * BLK_K])",
          "Tx.copy(Bsmem[:, :], B[m_st : m_st + BLK_N, k * BLK_K : (k + 1) * BLK_K])  #<"),),
        Symptom.WRONG, "TX501",
        ("The rows of B are those of the tile's row in D, not of its column.",
         "The extents of the grid are exchanged.",
         "A CTA stores its tile at the place of another one.",
         "The K loop begins at the same column in each CTA."),
        "Tile (i, j) of D takes rows 128 i of A and rows 128 j of B; only the tiles with i = j are right.",
        (256, 256, 128), 4,
    ),
    Drill(
        3, _ARCH, "narrow tiles",
        (("BLK_M, BLK_N, BLK_K = 128, 128, 64", "BLK_M, BLK_N, BLK_K = 128, 128, 16  #<"),
         ("A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_K))",
          "A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_32B_ATOM, (BLK_M, BLK_K))"),
         ("B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_N, BLK_K))",
          "B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_32B_ATOM, (BLK_N, BLK_K))")),
        Symptom.SLOW, "copies-by-threads",
        ("A K tile is too narrow, so there are four times as many iterations.",
         "The grid has too few CTAs for the SMs.",
         "Each warp issues the MMA of a K tile once more.",
         "The tiles of A and B are copied by one warp."),
        "Each iteration waits for its copies and its MMA, whether it multiplies 16 columns or 64.",
        (256, 256, 512), 4,
    ),
    Drill(
        3, _ARCH, "single elements",
        (("Tx.copy(D[row, n_st : n_st + BLK_N], Dreg_16b[:])",
          "for j in range(BLK_N):  #<\n    Tx.copy(D[row, n_st + j : n_st + j + 1], Dreg_16b[j : j + 1])  #<"),),
        Symptom.SLOW, "copies-by-threads",
        ("A thread stores each element of its row by itself.",
         "Each thread stores the rows of the whole warp.",
         "The warps store one after the other.",
         "The copies into shared memory are not vectorised."),
        "A store of 16 bytes takes eight elements; a loop over elements makes 128 stores of 2 bytes a thread.",
        (256, 256, 256), 4,
    ),
    Drill(
        4, _ARCH, "bytes",
        (("TMA_BYTES = (BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE",
          "TMA_BYTES = (BLK_M * BLK_N + BLK_N * BLK_K) * DTYPE_SIZE  #<"),),
        Symptom.HANGS, "TX106",
        ("More bytes are announced than the loads bring.",
         "The thread that loads waits for the phase of the MMA first.",
         "The load of B signals another barrier.",
         "The barrier is initialised after the loads are issued."),
        "A has a tile of BLK_M × BLK_K; the phase waits for bytes that no load brings.",
        (128, 128, 384), 1,
    ),
    Drill(
        4, _ARCH, "early read",
        ((f"def write_back():\n    Tx.cuda.cta_sync()\n    {_AFTER}", f"def write_back():\n    {_AFTER}  #<"),),
        Symptom.WRONG, "TX207",
        ("Three warps read tensor memory before the MMAs have completed.",
         "The threads' rows in shared memory are not visible to TMA.",
         "The store reads shared memory before all threads have written their rows.",
         "The last K tile is loaded over its predecessor too early."),
        "Only the elected thread has waited for `mma_bar`; the others learn of it at the barrier of the CTA.",
        (128, 128, 384), 1,
    ),
    Drill(
        4, _ARCH, "columns", (("k_st = Tx.meta_var(k * BLK_K)", "k_st = Tx.meta_var(k * BLK_M)  #<"),),
        Symptom.WRONG, "TX501",
        ("The loads advance by too many columns, so K tiles are left out.",
         "The loads of A and of B take different K tiles.",
         "The load of the next K tile overwrites the operands of an MMA.",
         "Fewer bytes are announced than the loads bring."),
        "A K tile has 64 columns. Beyond the last column TMA loads zeros, so nothing faults.",
        (128, 128, 384), 1,
    ),
    Drill(
        5, _ARCH, "one more",
        (("for k in range(K_TILES):", "for k in range(K_TILES + 1):  #<"),),
        Symptom.HANGS, "TX110",
        ("The loop waits for a K tile that nothing loads.",
         "The flip of `phase_tma` comes one iteration too late.",
         "A stage is loaded again before its MMA has read it.",
         "The barriers of the stages are initialised for too many arrivals."),
        "There are K_TILES loads; the wait of one more iteration has no load to wait for.",
        (128, 128, 448), 1, _DEPTHS,
    ),
    Drill(
        5, _ARCH, "next tile",
        (("tma_load(stage, k + PIPE_DEPTH)", "tma_load(stage, k + 1)  #<"),),
        Symptom.WRONG, "TX501",
        ("The stage gets a K tile that another stage has already.",
         "The stage is loaded again while the MMA reads it.",
         "The first loads fill the stages in the wrong order.",
         "The MMA reads another stage than the one it waited for."),
        "The stage that is free after K tile k is next used for tile k + depth, as the others hold those between.",
        (128, 128, 448), 1, _DEPTHS,
    ),
    Drill(
        5, _ARCH, "late loads",
        (("PRE_NUM = min(PIPE_DEPTH, K_TILES)", "PRE_NUM = 1  #<"),
         ("if k + PIPE_DEPTH < K_TILES:\n    tma_load(stage, k + PIPE_DEPTH)",
          "if k + 1 < K_TILES:  #<\n    tma_load((stage + 1) % PIPE_DEPTH, k + 1)  #<")),
        Symptom.SLOW, "one-role",
        ("The load of a K tile is issued only when the MMA before it has completed.",
         "Shared memory has room for one stage only.",
         "The write-back waits for loads that nothing uses.",
         "The MMAs of a K tile are issued by several threads."),
        "With one tile loaded ahead, and the next one after the MMA, the loads and the MMAs take turns.",
        (128, 128, 1024), 1, _DEPTHS,
    ),
)  # fmt: skip
"""Three or more drills for each step, in dealing order."""
