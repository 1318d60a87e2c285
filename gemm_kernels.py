"""The assignment: ten GEMM kernels for Blackwell, each one step from the one before.

All compute D = A @ B.T for A (M, K), B (N, K) and D (M, N), in float16 or bfloat16, adding up in float32.

Each TODO says what to write and why it is needed; write it in place of the `...` below it. Then run the step's test:

    python -m pytest tests/test_step01.py -xvs

Without a Blackwell GPU the test runs in the simulator, which says what is wrong and at which line.
"""

from tirx_mini.lang import ClusterPersistentScheduler2D, MBarrier, PipelineState, TCGen05Bar, TMABar
from tirx_mini.layout import S, SwizzleMode, TCol, TileLayout, TLane, tid_in_wg, tma_shared_layout
from tirx_mini.script import tirx as Tx
from utils import check_shape

SM_COUNT = 148  # streaming multiprocessors of a B200
BLK_M, BLK_N, BLK_K = 128, 128, 64  # one tile: BLK_M × BLK_N of D, from BLK_K columns of A and B at a time
DTYPE_SIZE = 2  # bytes of a float16 or bfloat16


# ---------------------------------------------------------------------------------------------------------------------
# Step 1: a single tile, M = N = 128, K = 64
#
#   A, B in global memory -> shared memory    Tx.copy by all threads of the CTA
#   shared memory -> tensor memory            Tx.gemm_async by one thread; the tensor core works on its own
#   tensor memory -> registers                Tx.copy by the warpgroup
#   registers -> D in global memory           Tx.cast and Tx.copy by each thread
# ---------------------------------------------------------------------------------------------------------------------
def hgemm_v1(M, N, K, dtype="float16"):
    check_shape("hgemm_v1", exact={"M": (M, BLK_M), "N": (N, BLK_N), "K": (K, BLK_K)})
    # Where element (row, column) of a tile lies in shared memory, swizzled as the tensor core and TMA expect it.
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_N, BLK_K))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx, by = Tx.cta_id([1, 1], parent="kernel")
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")

            # Shared memory. tmem_addr: tcgen05.alloc writes here where in tensor memory the columns are. mma_bar: the
            # mbarrier that the tensor core arrives on.
            pool = Tx.PoolAllocator()
            tmem_addr = pool.alloc((1,), "uint32")
            mma_bar = pool.alloc((1,), "uint64")
            Asmem = pool.alloc((BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((BLK_N, BLK_K), dtype, layout=B_layout)
            pool.commit()

            # TODO: let warp 0 allocate all 512 columns of tensor memory, and its lane 0 initialise mma_bar.
            #   Tx.ptx.tcgen05.alloc(Tx.address_of(tmem_addr), n_cols=512, cta_group=1)
            #   Tx.ptx.mbarrier.init(mma_bar.ptr_to([0]), count)
            # alloc is a warp's instruction: all 32 lanes execute it, so only init stands under a test of lane_id. One
            # commit arrives on mma_bar for each MMA, so the count is 1.
            ...

            # TODO: make the barrier and tmem_addr known to all threads before anyone uses them.
            #   Tx.ptx.fence.proxy_async("shared::cta"), Tx.ptx.fence.mbarrier_init(), Tx.cuda.cta_sync()
            # The fences publish what this thread wrote to the asynchronous engines; cta_sync makes all threads wait
            # until everyone has come here.
            ...

            # Tensor memory: 128 lanes × 512 columns of 32 bits. Row r of the tile lies in lane r, column c in column c.
            tmem = Tx.decl_buffer(
                (128, 512), "float32", scope="tmem", allocated_addr=tmem_addr[0],
                layout=TileLayout(S[(128, 512) : (1 @ TLane, 1 @ TCol)]),
            )  # fmt: skip
            # Registers: each thread has BLK_N of them. Dreg_wg is what all 128 threads hold together: thread r has row
            # r.
            Dreg = Tx.alloc_local((BLK_N,), "float32")
            Dreg_wg = Dreg.view(128, BLK_N, layout=TileLayout(S[(128, BLK_N) : (1 @ tid_in_wg, 1)]))
            Dreg_16b = Tx.alloc_local((BLK_N,), dtype)
            phase_mma: Tx.int32
            phase_mma = 0

            # TODO: copy A and B into Asmem and Bsmem, by all threads together.
            #   with Tx.cta(): Tx.copy(destination, source)
            # Then cta_sync, because the one thread that issues the MMA has to know that the other 127 have written;
            # then Tx.ptx.tcgen05.fence.after_thread_sync(), which orders the MMA after that barrier.
            ...

            # TODO: let one thread of warp 0 issue the MMA into tmem[:, :BLK_N], and commit it to mma_bar.
            #   if warp_id == 0:
            #       with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
            #           Tx.gemm_async(C, A, B, accum=False, dispatch="tcgen05", cta_group=1)
            #           Tx.ptx.tcgen05.commit(mma_bar.ptr_to([0]), cta_group=1)
            # accum=False overwrites what is in tensor memory. The MMA returns at once and works on; commit makes the
            # tensor core arrive on mma_bar when it is done.
            ...

            # TODO: wait for the MMA, in every thread: every thread is about to read tensor memory.
            #   Tx.ptx.mbarrier.try_wait(mma_bar.ptr_to([0]), phase_mma)
            # The barrier is in phase 0 until its one arrival; waiting for phase 0 waits for that. Then
            # fence.after_thread_sync orders the reads of tensor memory after the wait.
            ...

            # TODO: write back. with Tx.warpgroup(): copy tmem[:, :BLK_N] to Dreg_wg. with Tx.thread(): Tx.cast Dreg to
            # Dreg_16b, and Tx.copy that to this thread's row of D. Each warp reads its own 32 lanes of tensor memory,
            # so thread (warp_id, lane_id) has row warp_id * 32 + lane_id.
            ...

            # TODO: give tensor memory back, when no warp reads it any more: cta_sync, and then in warp 0 (all its
            # lanes)
            #   Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
            #   Tx.ptx.tcgen05.dealloc(tmem_addr[0], n_cols=512, cta_group=1)
            # A CTA that ends without it leaves the next CTA on this SM waiting for ever.
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 2: a loop over K, M = N = 128
#
# Each turn loads the next BLK_K columns of A and B and adds their product to what tensor memory holds. All turns use
# the same mbarrier: its phase flips each time it completes, so the phase to wait for flips too.
# ---------------------------------------------------------------------------------------------------------------------
def hgemm_v2(M, N, K, dtype="float16"):
    check_shape("hgemm_v2", exact={"M": (M, BLK_M), "N": (N, BLK_N)}, multiple={"K": (K, BLK_K)})
    K_TILES = K // BLK_K
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_N, BLK_K))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx, by = Tx.cta_id([1, 1], parent="kernel")
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")

            pool = Tx.PoolAllocator()
            tmem_addr = pool.alloc((1,), "uint32")
            mma_bar = pool.alloc((1,), "uint64")
            Asmem = pool.alloc((BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((BLK_N, BLK_K), dtype, layout=B_layout)
            pool.commit()

            # TODO: allocate tensor memory, initialise mma_bar, fence and synchronise, as in step 1.
            ...

            tmem = Tx.decl_buffer(
                (128, 512), "float32", scope="tmem", allocated_addr=tmem_addr[0],
                layout=TileLayout(S[(128, 512) : (1 @ TLane, 1 @ TCol)]),
            )  # fmt: skip
            Dreg = Tx.alloc_local((BLK_N,), "float32")
            Dreg_wg = Dreg.view(128, BLK_N, layout=TileLayout(S[(128, BLK_N) : (1 @ tid_in_wg, 1)]))
            Dreg_16b = Tx.alloc_local((BLK_N,), dtype)
            phase_mma: Tx.int32
            phase_mma = 0

            for k in range(K_TILES):
                # TODO: load K tile k: columns k * BLK_K … (k + 1) * BLK_K of A and B, as in step 1 with its cta_sync
                # and fence.
                ...

                # TODO: issue the MMA and the commit from one thread of warp 0. The first tile overwrites tensor memory,
                # which holds anything at all; the others add to it: accum=(k != 0).
                ...

                # TODO: wait for the MMA in every thread, for the next turn overwrites the tiles that it reads. Then
                # flip the phase for the next turn:
                #   phase_mma = phase_mma ^ 1
                # Without the flip the next wait sees the phase that is already complete, and does not wait at all.
                ...

            # TODO: fence.after_thread_sync, write back and give tensor memory back, as in step 1.
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 3: a grid of CTAs, one for each 128 × 128 tile of D
# ---------------------------------------------------------------------------------------------------------------------
def hgemm_v3(M, N, K, dtype="float16"):
    check_shape("hgemm_v3", multiple={"M": (M, BLK_M), "N": (N, BLK_N), "K": (K, BLK_K)})
    K_TILES = K // BLK_K
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_N, BLK_K))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            # TODO: launch one CTA for each tile of D: bx counts tiles along M, by along N.
            #   bx, by = Tx.cta_id([tiles along M, tiles along N], parent="kernel")
            # Then name the first row of this CTA's part of A, and of B. Tx.meta_var gives an expression a name without
            # making a variable of it, so that it can be used in slices.
            #   m_st = Tx.meta_var(…)
            #   n_st = Tx.meta_var(…)
            ...
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")

            pool = Tx.PoolAllocator()
            tmem_addr = pool.alloc((1,), "uint32")
            mma_bar = pool.alloc((1,), "uint64")
            Asmem = pool.alloc((BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((BLK_N, BLK_K), dtype, layout=B_layout)
            pool.commit()

            # TODO: allocate tensor memory, initialise mma_bar, fence and synchronise, as in step 1.
            ...

            tmem = Tx.decl_buffer(
                (128, 512), "float32", scope="tmem", allocated_addr=tmem_addr[0],
                layout=TileLayout(S[(128, 512) : (1 @ TLane, 1 @ TCol)]),
            )  # fmt: skip
            Dreg = Tx.alloc_local((BLK_N,), "float32")
            Dreg_wg = Dreg.view(128, BLK_N, layout=TileLayout(S[(128, BLK_N) : (1 @ tid_in_wg, 1)]))
            Dreg_16b = Tx.alloc_local((BLK_N,), dtype)
            phase_mma: Tx.int32
            phase_mma = 0

            # TODO: the K loop of step 2, over this CTA's rows: m_st … of A, and n_st … of B. B is (N, K): a column of D
            # is a row of B.
            ...

            # TODO: write back as in step 1, to rows m_st … and columns n_st … of D; give tensor memory back.
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 4: TMA
#
# One thread issues the loads, the MMAs and the store; hardware moves the tiles. A TMA load arrives on an mbarrier by
# counting bytes. A TMA store has no consumer to tell: its thread commits it to a bulk group and waits for the group.
# ---------------------------------------------------------------------------------------------------------------------
def hgemm_v4(M, N, K, dtype="float16"):
    check_shape("hgemm_v4", multiple={"M": (M, BLK_M), "N": (N, BLK_N), "K": (K, BLK_K)})
    K_TILES = K // BLK_K
    TMA_BYTES = (BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_N, BLK_K))
    D_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_N))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            # TODO: CTA, warpgroup, warp and lane numbers, m_st and n_st, as in step 3.
            ...

            # TODO: shared memory as in step 3, and tma_bar, a second barrier like mma_bar, and Dsmem, (BLK_M, BLK_N)
            # with D_layout: TMA stores from shared memory.
            ...

            # TODO: allocate tensor memory; initialise both barriers, each for one arrival; fence and synchronise.
            # tma_bar's one arrival is that of expect_tx; the bytes are counted besides.
            ...

            # TODO: declare tmem, Dreg, Dreg_wg, Dreg_16b as in step 3, and two phases, phase_tma and phase_mma, both 0.
            ...

            @Tx.inline
            def tma_load(k):
                # TODO: issue TMA loads of K tile k into Asmem and Bsmem, then say how many bytes are to come.
                #   Tx.copy_async(destination, source, dispatch="tma", cta_group=1, mbar=tma_bar.ptr_to([0]))
                #   Tx.ptx.mbarrier.arrive.expect_tx(tma_bar.ptr_to([0]), TMA_BYTES)
                # The phase of tma_bar completes when that arrival is there and all the bytes have landed.
                ...

            @Tx.inline
            def mma(k):
                # TODO: the MMA of K tile k, and its commit to mma_bar.
                ...

            # TODO: let one thread (warp 0, elect_sync) run the whole K loop: load, wait for tma_bar and flip phase_tma,
            # fence.after_thread_sync, multiply, wait for mma_bar and flip phase_mma.
            # The next load overwrites what the MMA reads, hence the second wait.
            ...

            # TODO: cta_sync and fence.after_thread_sync: only the elected thread has seen the last MMA done. Then read
            # tensor memory and cast as before, and copy each thread's row to Dsmem instead of D. Each thread then
            # executes Tx.ptx.fence.proxy_async("shared::cta"): TMA looks at shared memory through another proxy, to
            # which plain stores are invisible until their own thread says so. Then cta_sync.
            ...

            # TODO: store. One thread issues the TMA store of Dsmem, commits it and waits for it:
            #   Tx.copy_async(D[…], Dsmem[:, :], dispatch="tma")
            #   Tx.ptx.cp_async.bulk.commit_group()
            #   Tx.ptx.cp_async.bulk.wait_group(0)
            # Without the wait the CTA may end, and its shared memory go to another CTA, while TMA still reads it.
            ...

            # TODO: cta_sync and give tensor memory back.
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 5: a software pipeline
#
# While the MMA reads one stage of shared memory, TMA fills the other. The first PIPE_DEPTH tiles are loaded ahead; from
# then on each turn waits for the tile of its stage, multiplies, and refills the stage.
# ---------------------------------------------------------------------------------------------------------------------
def hgemm_v5(M, N, K, dtype="float16"):
    check_shape("hgemm_v5", multiple={"M": (M, BLK_M), "N": (N, BLK_N), "K": (K, BLK_K)})
    PIPE_DEPTH = 2
    K_TILES = K // BLK_K
    PRE_NUM = min(PIPE_DEPTH, K_TILES)
    TMA_BYTES = (BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE
    # A stage is a whole tile: Asmem[stage, :, :].
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_N, BLK_K))
    D_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_N))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            # TODO: set up as in step 4, with PIPE_DEPTH stages of Asmem, Bsmem and tma_bar. Initialise each tma_bar.
            # Besides the two phases declare `stage`, 0 at first: the stage that the next MMA reads.
            ...

            @Tx.inline
            def tma_load(stage, k):
                # TODO: as in step 4, into this stage and on this stage's barrier.
                ...

            @Tx.inline
            def mma(stage, k):
                # TODO: as in step 4, from this stage.
                ...

            # TODO: one thread fetches ahead, tile k into stage k for k < PRE_NUM; then for each K tile it waits for
            # tma_bar[stage], multiplies, waits for mma_bar, and loads tile k + PIPE_DEPTH, if there is one, into the
            # stage that is now free. Then stage = (stage + 1) % PIPE_DEPTH, and phase_tma flips when stage comes back
            # to 0: each barrier flips once a round, not once a turn.
            ...

            # TODO: write back and give tensor memory back, as in step 4.
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 6: a persistent kernel
#
# SM_COUNT CTAs, each computing tile after tile in an order in which neighbours in time are neighbours in D, so that A
# and B are found in the L2 cache.
# ---------------------------------------------------------------------------------------------------------------------
def hgemm_v6(M, N, K, dtype="float16"):
    check_shape("hgemm_v6", multiple={"M": (M, BLK_M), "N": (N, BLK_N), "K": (K, BLK_K)})
    PIPE_DEPTH = 2
    K_TILES = K // BLK_K
    PRE_NUM = min(PIPE_DEPTH, K_TILES)
    TMA_BYTES = (BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_N, BLK_K))
    D_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_N))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            # TODO: launch SM_COUNT CTAs in one dimension, and let a scheduler say which tile each computes:
            #   tile_scheduler = ClusterPersistentScheduler2D(
            #       "ts", num_m_tiles=…, num_n_tiles=…, l2_group_size=8, num_clusters=SM_COUNT)
            #   tile_scheduler.init(bx)
            # m_st and n_st follow from tile_scheduler.m_idx and tile_scheduler.n_idx.
            ...

            # TODO: the rest of the set-up, as in step 5.
            ...

            @Tx.inline
            def tma_load(stage, k):
                # TODO: as in step 5.
                ...

            @Tx.inline
            def mma(stage, k):
                # TODO: as in step 5.
                ...

            # TODO: while tile_scheduler.valid(): the K loop and the write-back of step 5, then
            # tile_scheduler.next_tile(). The barriers do not begin anew with the next tile, so stage and phases go on
            # too: fetch ahead from `stage` on, not from stage 0. The next tile uses tensor memory and Dsmem again.
            # Before it begins all threads must have read tensor memory (Tx.ptx.tcgen05.fence.before_thread_sync() after
            # the read), and the store must have read Dsmem: one more cta_sync after the store.
            ...

            # TODO: cta_sync and give tensor memory back.
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 7: warp specialisation
#
#   warpgroup 1, warp 3   TMA          tma2mma: data is in shared memory    mma2tma: shared memory is free
#   warpgroup 1, warp 0   MMA          mma2ld: the result is in TMEM        ld2mma: TMEM is free
#   warpgroup 0           write-back
# ---------------------------------------------------------------------------------------------------------------------
def hgemm_v7(M, N, K, dtype="float16"):
    check_shape("hgemm_v7", multiple={"M": (M, BLK_M), "N": (N, BLK_N), "K": (K, BLK_K)})
    WG_NUMBER = 2
    PIPE_DEPTH = 2
    TMEM_LD_N = 64  # columns of tensor memory that are read at once
    EPI_N = 64  # columns of D that are stored at once
    K_TILES = K // BLK_K
    TMA_BYTES = (BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_N, BLK_K))
    D_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, EPI_N))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            # TODO: numbers of CTA, warpgroup (WG_NUMBER of them), warp and lane; the scheduler; m_st, n_st. As in step
            # 6.
            ...

            # TODO: shared memory: tmem_addr, four barriers, the tiles, Dsmem of (BLK_M, EPI_N).
            #   tma2mma = TMABar(pool, PIPE_DEPTH, "tma2mma")      mma2tma = TCGen05Bar(pool, PIPE_DEPTH, "mma2tma")
            #   mma2ld = TCGen05Bar(pool, 1, "mma2ld")             ld2mma = MBarrier(pool, 1, "ld2mma")
            ...

            # TODO: initialise the barriers: bar.init(number of arrivals that complete a phase). All but ld2mma get one;
            # on ld2mma all 128 threads of the write-back arrive. init is executed by thread 0 of the CTA, so it must
            # not stand inside `if wg_id == 1:`, where thread 0 is not. Then let warp 0 of warpgroup 0 allocate tensor
            # memory; fence and synchronise.
            ...

            # TODO: tmem; Dreg of TMEM_LD_N registers with its warpgroup view; Dreg_16b of BLK_N. A PipelineState for
            # each end of a barrier pair: "tma" and "mma" of PIPE_DEPTH stages, "ld" and "wb" of one.
            #   state.init(is_producer=…)
            # TMA and "ld" (the MMA warp's wait for free tensor memory) are producers: all begins empty, so their first
            # waits must pass.
            ...

            # TODO: the three roles, each with its own `while tile_scheduler.valid():` loop over the same tiles.
            #   TMA: for each K tile wait for mma2tma at tma_phase.stage and .phase, load, arrive on tma2mma with
            #     TMA_BYTES, tma_phase.move_to_next_stage(). After the last tile wait for all PIPE_DEPTH stages once
            #     more: the tensor core still arrives on them, and the CTA must not be gone.
            #   MMA: wait for ld2mma; for each K tile wait for tma2mma, fence.after_thread_sync, multiply,
            #     mma2tma.arrive(stage, cta_group=1, cta_mask=1), next stage; after the last,
            #     mma2ld.arrive(0, cta_group=1, cta_mask=1).
            # Both run in one elected thread. Both must go through the same number of K tiles.
            ...

            # TODO: write-back: wait for mma2ld; fence.after_thread_sync; read tensor memory, TMEM_LD_N columns at a
            # time, casting each chunk into Dreg_16b; fence.before_thread_sync; ld2mma.arrive(0) in all 128 threads.
            # Then, EPI_N columns at a time: copy to Dsmem, fence.proxy_async, Tx.cuda.warpgroup_sync(1), store by one
            # thread (commit_group, wait_group(0)), warpgroup_sync(1) again before Dsmem is overwritten. cta_sync would
            # wait for the other warpgroup, which is in its own loop.
            ...

            # TODO: cta_sync by everyone, and give tensor memory back.
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 8: a deeper pipeline. Step 7 with PIPE_DEPTH = 4
# ---------------------------------------------------------------------------------------------------------------------
def hgemm_v8(M, N, K, dtype="float16"):
    check_shape("hgemm_v8", multiple={"M": (M, BLK_M), "N": (N, BLK_N), "K": (K, BLK_K)})
    WG_NUMBER = 2
    PIPE_DEPTH = 4
    TMEM_LD_N = 64
    EPI_N = 64
    K_TILES = K // BLK_K
    TMA_BYTES = (BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_N, BLK_K))
    D_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, EPI_N))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            # TODO: the kernel of step 7. With four stages TMA may be four tiles ahead, which hides the latency of a
            # load.
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 9: clusters of two CTAs
#
# The tensor cores of the pair work as one: the pair computes 256 × 256 of D. Each CTA loads its own 128 rows of A and
# half of the 256 rows of B; one thread of CTA 0 issues the MMA for both.
# ---------------------------------------------------------------------------------------------------------------------
def hgemm_v9(M, N, K, dtype="float16"):
    CTA_GROUP = 2
    MMA_N = BLK_N * CTA_GROUP
    check_shape("hgemm_v9", multiple={"M": (M, BLK_M * CTA_GROUP), "N": (N, MMA_N), "K": (K, BLK_K)})
    WG_NUMBER = 2
    PIPE_DEPTH = 4
    TMEM_LD_N = 64
    EPI_N = 64
    K_TILES = K // BLK_K
    TMA_BYTES = CTA_GROUP * (BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE  # of both CTAs
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_N, BLK_K))
    D_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, EPI_N))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            # TODO: numbers as in step 8, and this CTA's place in its cluster:
            #   cbx, cby = Tx.cta_id([CTA_GROUP, 1], parent="cluster")
            # The scheduler deals out tiles of 256 × MMA_N to SM_COUNT // CTA_GROUP clusters; init(bx // CTA_GROUP).
            # This CTA's rows of A and D depend on cbx, and so do the rows of B that it loads; its columns of D are all
            # MMA_N of the pair.
            ...

            # TODO: shared memory and barriers as in step 8. The bytes of both CTAs are counted by CTA 0's tma2mma, the
            # barrier that the MMA waits for:
            #   tma2mma_cta0 = tma2mma.remote_view(0)
            # ld2mma gets arrivals from the write-back of both CTAs. Allocate with cta_group=2, in both CTAs. Then
            # Tx.cuda.cluster_sync(): the other CTA's barriers must be initialised before anyone arrives on them.
            ...

            # TODO: the roles of step 8, with these changes.
            # TMA (in both CTAs): mbar=tma2mma_cta0.ptr_to([stage]), cta_group=2; only CTA 0 says how many bytes are to
            #   come: if cbx == 0: tma2mma_cta0.arrive(stage, TMA_BYTES).
            # MMA (if cbx == 0): MMA_N columns, cta_group=2; arrive with cta_group=2, cta_mask=3, which tells both CTAs.
            # Write-back (in both): MMA_N columns; ld2mma.arrive(0, cta_id=0, pred=True), on CTA 0's barrier.
            ...

            # TODO: cluster_sync instead of cta_sync, and give tensor memory back with cta_group=2.
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 10: two consumers
#
#   warpgroup 2, warp 3       TMA          two blocks of A and one of B a stage
#   warpgroup 2, warps 0, 1   MMA          warp c: A block c × B -> tensor memory columns c * MMA_N …
#   warpgroups 0, 1           write-back   warpgroup c: the result of MMA warp c
# ---------------------------------------------------------------------------------------------------------------------
def hgemm_v10(M, N, K, dtype="float16"):
    CTA_GROUP = 2
    NUM_CONSUMER = 2
    MMA_N = BLK_N * CTA_GROUP
    check_shape("hgemm_v10", multiple={"M": (M, BLK_M * NUM_CONSUMER * CTA_GROUP), "N": (N, MMA_N), "K": (K, BLK_K)})
    WG_NUMBER = 3
    PIPE_DEPTH = 4
    TMEM_LD_N = 32  # three warpgroups leave fewer registers a thread
    EPI_N = 64
    K_TILES = K // BLK_K
    TMA_BYTES = CTA_GROUP * (NUM_CONSUMER * BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, NUM_CONSUMER, BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_N, BLK_K))
    D_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (NUM_CONSUMER, BLK_M, EPI_N))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            # TODO: set up as in step 9, for a cluster tile of 512 × 256. mma2ld and ld2mma have NUM_CONSUMER slots, one
            # a consumer, and mma2tma counts NUM_CONSUMER arrivals: a stage is free when both MMA warps have done with
            # it. A slot of mma2ld is arrived on by one MMA warp, a slot of ld2mma by 128 * CTA_GROUP threads.
            ...

            # TODO: the roles of step 9. TMA loads Asmem[stage, c] for each consumer c. MMA warp c reads A block c,
            # writes columns c * MMA_N …, and uses slot c of mma2ld and ld2mma (warp_id as the index, not the
            # PipelineState's stage). Warpgroup c writes back block c (wg_id as the index), with its own Dsmem[c] and
            # its own warpgroup_sync id; read, round and store EPI_N columns at a time: a thread of three warpgroups
            # has 168 registers, too few for 256 columns at once.
            ...

            # TODO: cluster_sync and give tensor memory back.
            ...

    return kernel
