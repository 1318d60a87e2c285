"""The assignment: ten GEMM kernels for Blackwell, each of which extends the previous one.

All of them compute D = A @ B.T for A (M, K), B (N, K) and D (M, N), in float16 or bfloat16, and accumulate in float32.

Each TODO says what to write, and why. Replace the `...` below it. Then run the test of the step:

    python -m pytest tests/test_step01.py -xvs

Without a Blackwell GPU, the test runs in the simulator, which reports what is wrong and at which line.
"""

from tirx_mini.lang import ClusterPersistentScheduler2D, MBarrier, PipelineState, TCGen05Bar, TMABar
from tirx_mini.layout import S, SwizzleMode, TCol, TileLayout, TLane, tid_in_wg, tma_shared_layout
from tirx_mini.script import tirx as Tx
from utils import check_shape

SM_COUNT = 148  # streaming multiprocessors of a B200
BLK_M, BLK_N, BLK_K = 128, 128, 64  # a tile: BLK_M × BLK_N elements of D, computed from BLK_K columns at a time
DTYPE_SIZE = 2  # bytes per float16 or bfloat16


# ---------------------------------------------------------------------------------------------------------------------
# Step 1: a single tile, M = N = 128, K = 64
#
#   A, B in global memory -> shared memory    Tx.copy by all threads of the CTA
#   shared memory -> tensor memory            Tx.gemm_async by one thread; the tensor core runs asynchronously
#   tensor memory -> registers                Tx.copy by the warpgroup
#   registers -> D in global memory           Tx.cast and Tx.copy by each thread
# ---------------------------------------------------------------------------------------------------------------------
def hgemm_v1(M, N, K, dtype="float16"):
    check_shape("hgemm_v1", exact={"M": (M, BLK_M), "N": (N, BLK_N), "K": (K, BLK_K)})
    # The place of each element (row, column) of a tile in shared memory, with the swizzle that TMA and MMA expect.
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_N, BLK_K))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx, by = Tx.cta_id([1, 1], parent="kernel")
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")

            # Shared memory. tmem_addr receives the tensor-memory address from tcgen05.alloc. The tensor core arrives
            # on the mbarrier mma_bar.
            pool = Tx.PoolAllocator()
            tmem_addr = pool.alloc((1,), "uint32")
            mma_bar = pool.alloc((1,), "uint64")
            Asmem = pool.alloc((BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((BLK_N, BLK_K), dtype, layout=B_layout)
            pool.commit()

            # TODO: allocate all 512 columns of tensor memory in warp 0, and initialise mma_bar in its lane 0.
            #   Tx.ptx.tcgen05.alloc(Tx.address_of(tmem_addr), n_cols=512, cta_group=1)
            #   Tx.ptx.mbarrier.init(mma_bar.ptr_to([0]), count)
            # alloc is a warp-wide instruction that all 32 lanes execute, so only init goes under a test of lane_id. One
            # commit per MMA arrives on mma_bar, so the count is 1.
            ...

            # TODO: make the barrier and tmem_addr visible to all threads before their first use.
            #   Tx.ptx.fence.proxy_async("shared::cta"), Tx.ptx.fence.mbarrier_init(), Tx.cuda.cta_sync()
            # The fences make this thread's writes visible to the asynchronous engines. At cta_sync, all threads wait
            # for one another.
            ...

            # Tensor memory: 128 lanes × 512 columns of 32 bits. Element (r, c) of the tile is in lane r, column c.
            tmem = Tx.decl_buffer(
                (128, 512), "float32", scope="tmem", allocated_addr=tmem_addr[0],
                layout=TileLayout(S[(128, 512) : (1 @ TLane, 1 @ TCol)]),
            )  # fmt: skip
            # Registers: BLK_N per thread. Dreg_wg is the tile that all 128 threads hold together; thread r holds row r.
            Dreg = Tx.alloc_local((BLK_N,), "float32")
            Dreg_wg = Dreg.view(128, BLK_N, layout=TileLayout(S[(128, BLK_N) : (1 @ tid_in_wg, 1)]))
            Dreg_16b = Tx.alloc_local((BLK_N,), dtype)
            phase_mma: Tx.int32
            phase_mma = 0

            # TODO: copy A and B to Asmem and Bsmem with all threads.
            #   with Tx.cta(): Tx.copy(destination, source)
            # Then call cta_sync: the thread that issues the MMA must wait for the stores of the other 127 threads. Then
            # call Tx.ptx.tcgen05.fence.after_thread_sync(), which orders the MMA after that barrier.
            ...

            # TODO: issue the MMA into tmem[:, :BLK_N] from one thread of warp 0, and commit it to mma_bar.
            #   if warp_id == 0:
            #       with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
            #           Tx.gemm_async(C, A, B, accum=False, dispatch="tcgen05", cta_group=1)
            #           Tx.ptx.tcgen05.commit(mma_bar.ptr_to([0]), cta_group=1)
            # accum=False overwrites tensor memory. The call returns at once while the MMA is still running; after the
            # commit, the tensor core arrives on mma_bar when the MMA has completed.
            ...

            # TODO: wait for the MMA in every thread, because every thread reads tensor memory next.
            #   Tx.ptx.mbarrier.try_wait(mma_bar.ptr_to([0]), phase_mma)
            # The single arrival completes phase 0 of the barrier, and the wait blocks until then. After it,
            # fence.after_thread_sync orders the reads of tensor memory after the wait.
            ...

            # TODO: write back. with Tx.warpgroup(): copy tmem[:, :BLK_N] to Dreg_wg. with Tx.thread(): Tx.cast Dreg to
            # Dreg_16b, and Tx.copy it to this thread's row of D. Each warp reads its own 32 lanes of tensor memory, so
            # thread (warp_id, lane_id) holds row warp_id * 32 + lane_id.
            ...

            # TODO: deallocate tensor memory after the last read: cta_sync, and then in all lanes of warp 0
            #   Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
            #   Tx.ptx.tcgen05.dealloc(tmem_addr[0], n_cols=512, cta_group=1)
            # Without it, the next CTA on this SM waits for tensor memory forever.
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 2: a loop over K, M = N = 128
#
# Each iteration loads the next BLK_K columns of A and B and adds their product to the accumulator in tensor memory. All
# iterations use the same mbarrier. Each completion flips its phase, so the phase to wait for flips as well.
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

            # TODO: allocate tensor memory, initialise mma_bar, fence and synchronise as in step 1.
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
                # TODO: load K tile k, columns k * BLK_K … (k + 1) * BLK_K - 1 of A and B, with the cta_sync and the
                # fence of step 1.
                ...

                # TODO: issue the MMA and the commit from one thread of warp 0. The first product must overwrite tensor
                # memory, whose initial contents are undefined; the others are added to it: accum=(k != 0).
                ...

                # TODO: wait for the MMA in every thread, because the next iteration overwrites the tiles that it reads.
                # Then flip the phase for the next iteration:
                #   phase_mma = phase_mma ^ 1
                # Without the flip, the next wait tests a phase that has already completed and does not block.
                ...

            # TODO: call fence.after_thread_sync, write back and deallocate tensor memory as in step 1.
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 3: a grid of CTAs, one per 128 × 128 tile of D
# ---------------------------------------------------------------------------------------------------------------------
def hgemm_v3(M, N, K, dtype="float16"):
    check_shape("hgemm_v3", multiple={"M": (M, BLK_M), "N": (N, BLK_N), "K": (K, BLK_K)})
    K_TILES = K // BLK_K
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_N, BLK_K))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            # TODO: launch one CTA per tile of D; bx counts tiles along M, by along N.
            #   bx, by = Tx.cta_id([tiles along M, tiles along N], parent="kernel")
            # Then define the first row of this CTA's part of A and of B. Tx.meta_var is an alias for an expression, not
            # a run-time variable, so it may be used in slices.
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

            # TODO: allocate tensor memory, initialise mma_bar, fence and synchronise as in step 1.
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

            # TODO: write the K loop of step 2 for this CTA's rows: from m_st on in A, and from n_st on in B. B is
            # (N, K), so a column of D corresponds to a row of B.
            ...

            # TODO: write back as in step 1, to the rows from m_st and the columns from n_st of D, and deallocate tensor
            # memory.
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 4: TMA
#
# One thread issues the loads, the MMAs and the store; hardware moves the tiles. A TMA load signals an mbarrier with the
# number of bytes that have landed. A TMA store has no barrier: its thread commits it to a bulk group and waits for it.
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
            # TODO: declare the CTA, warpgroup, warp and lane ids, m_st and n_st as in step 3.
            ...

            # TODO: allocate shared memory as in step 3, plus a second barrier, tma_bar, and Dsmem, of shape
            # (BLK_M, BLK_N) with D_layout, from which TMA stores D.
            ...

            # TODO: allocate tensor memory, initialise both barriers for one arrival each, fence and synchronise.
            # The one arrival of tma_bar is that of expect_tx; bytes are counted separately.
            ...

            # TODO: declare tmem, Dreg, Dreg_wg and Dreg_16b as in step 3, and two phases, phase_tma = phase_mma = 0.
            ...

            @Tx.inline
            def tma_load(k):
                # TODO: issue TMA loads of K tile k into Asmem and Bsmem, then expect their bytes.
                #   Tx.copy_async(destination, source, dispatch="tma", cta_group=1, mbar=tma_bar.ptr_to([0]))
                #   Tx.ptx.mbarrier.arrive.expect_tx(tma_bar.ptr_to([0]), TMA_BYTES)
                # The phase of tma_bar completes after this arrival and after all the bytes have landed.
                ...

            @Tx.inline
            def mma(k):
                # TODO: issue the MMA of K tile k, and commit it to mma_bar.
                ...

            # TODO: run the whole K loop in one thread (warp 0, elect_sync): load, wait for tma_bar and flip phase_tma,
            # fence.after_thread_sync, multiply, wait for mma_bar and flip phase_mma.
            # The second wait is necessary because the next load overwrites the operands of the MMA.
            ...

            # TODO: call cta_sync and fence.after_thread_sync, because only the elected thread has waited for the last
            # MMA. Then read tensor memory and cast as before, but copy each thread's row to Dsmem instead of D. Each
            # thread then executes Tx.ptx.fence.proxy_async("shared::cta"): TMA accesses shared memory through the async
            # proxy, and ordinary stores are invisible to it until the storing thread executes this fence. End with
            # cta_sync.
            ...

            # TODO: store Dsmem by TMA. One thread issues the store, commits it and waits for it:
            #   Tx.copy_async(D[…], Dsmem[:, :], dispatch="tma")
            #   Tx.ptx.cp_async.bulk.commit_group()
            #   Tx.ptx.cp_async.bulk.wait_group(0)
            # Without the wait, the CTA may exit while TMA still reads its shared memory.
            ...

            # TODO: call cta_sync and deallocate tensor memory.
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 5: a software pipeline
#
# While the MMA reads one stage of shared memory, TMA fills the other. The first PIPE_DEPTH tiles are prefetched. After
# that, each iteration waits for the tile in its stage, multiplies, and refills the stage.
# ---------------------------------------------------------------------------------------------------------------------
def hgemm_v5(M, N, K, dtype="float16"):
    check_shape("hgemm_v5", multiple={"M": (M, BLK_M), "N": (N, BLK_N), "K": (K, BLK_K)})
    PIPE_DEPTH = 2
    K_TILES = K // BLK_K
    PRE_NUM = min(PIPE_DEPTH, K_TILES)
    TMA_BYTES = (BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE
    # Each stage holds one tile: Asmem[stage, :, :].
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_N, BLK_K))
    D_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_N))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            # TODO: set up as in step 4, with PIPE_DEPTH stages of Asmem, Bsmem and tma_bar. Initialise every tma_bar.
            # Besides the two phases, declare `stage`, initially 0: the stage that the next MMA reads.
            ...

            @Tx.inline
            def tma_load(stage, k):
                # TODO: load as in step 4, into this stage and with the barrier of this stage.
                ...

            @Tx.inline
            def mma(stage, k):
                # TODO: multiply as in step 4, from this stage.
                ...

            # TODO: prefetch tile k into stage k for all k < PRE_NUM, in one thread. For each K tile, that thread waits
            # for tma_bar[stage], multiplies, waits for mma_bar, and loads tile k + PIPE_DEPTH, if it exists, into the
            # stage that is now free. Then stage = (stage + 1) % PIPE_DEPTH. Flip phase_tma when stage wraps to 0: each
            # barrier completes once per pass through the stages, not once per K tile.
            ...

            # TODO: write back and deallocate tensor memory as in step 4.
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 6: a persistent kernel
#
# SM_COUNT CTAs compute one tile after another. Tiles that are computed at the same time are neighbours in D, so their
# parts of A and B are likely to hit in the L2 cache.
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
            # TODO: launch SM_COUNT CTAs in one dimension, and create the scheduler that assigns tiles to them:
            #   tile_scheduler = ClusterPersistentScheduler2D(
            #       "ts", num_m_tiles=…, num_n_tiles=…, l2_group_size=8, num_clusters=SM_COUNT)
            #   tile_scheduler.init(bx)
            # Compute m_st and n_st from tile_scheduler.m_idx and tile_scheduler.n_idx.
            ...

            # TODO: complete the set-up as in step 5.
            ...

            @Tx.inline
            def tma_load(stage, k):
                # TODO: the same as in step 5.
                ...

            @Tx.inline
            def mma(stage, k):
                # TODO: the same as in step 5.
                ...

            # TODO: loop while tile_scheduler.valid(), with the K loop and the write-back of step 5 followed by
            # tile_scheduler.next_tile(). The barriers keep their phases from tile to tile, so keep stage and phases as
            # well: prefetch from `stage` on, not from stage 0. The next tile reuses tensor memory and Dsmem. Before it
            # starts, all threads must have read tensor memory (call Tx.ptx.tcgen05.fence.before_thread_sync() after the
            # read), and the store must have read Dsmem: add a cta_sync after the store.
            ...

            # TODO: call cta_sync and deallocate tensor memory.
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
    TMEM_LD_N = 64  # columns of tensor memory per read
    EPI_N = 64  # columns of D per store
    K_TILES = K // BLK_K
    TMA_BYTES = (BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_N, BLK_K))
    D_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, EPI_N))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            # TODO: declare the ids (with WG_NUMBER warpgroups), the scheduler, m_st and n_st as in step 6.
            ...

            # TODO: allocate shared memory: tmem_addr, four barriers, the tiles, and Dsmem of shape (BLK_M, EPI_N).
            #   tma2mma = TMABar(pool, PIPE_DEPTH, "tma2mma")      mma2tma = TCGen05Bar(pool, PIPE_DEPTH, "mma2tma")
            #   mma2ld = TCGen05Bar(pool, 1, "mma2ld")             ld2mma = MBarrier(pool, 1, "ld2mma")
            ...

            # TODO: initialise the barriers with bar.init(number of arrivals per phase). The number is 1 for all but
            # ld2mma, at which all 128 threads of the write-back arrive. Thread 0 of the CTA executes init, so it must
            # not be inside `if wg_id == 1:`, which thread 0 does not enter. Then allocate tensor memory in warp 0 of
            # warpgroup 0, fence and synchronise.
            ...

            # TODO: declare tmem, Dreg of TMEM_LD_N registers with its warpgroup view, and Dreg_16b of BLK_N. Declare a
            # PipelineState for each side of a barrier pair: "tma" and "mma" with PIPE_DEPTH stages, "ld" and "wb" with
            # one.
            #   state.init(is_producer=…)
            # "tma" and "ld" (the MMA warp's wait for free tensor memory) are producers: all buffers are initially
            # empty, so their first waits must not block.
            ...

            # TODO: write the TMA and MMA roles, each with its own `while tile_scheduler.valid():` loop over the same
            # tiles.
            #   TMA: for each K tile, wait for mma2tma at tma_phase.stage and .phase, load, arrive at tma2mma with
            #     TMA_BYTES, and call tma_phase.move_to_next_stage(). After the last tile, wait once more for each of
            #     the PIPE_DEPTH stages: the CTA must not exit while the tensor core still arrives at its barriers.
            #     (A kernel without these waits passes too: write-back waits for the last mma2ld, which the same thread
            #     commits after the last mma2tma. With them, the kernel does not rest on the order of two commits.)
            #   MMA: wait for ld2mma. For each K tile, wait for tma2mma, fence.after_thread_sync, multiply,
            #     mma2tma.arrive(stage, cta_group=1, cta_mask=1), and move to the next stage. After the last K tile,
            #     mma2ld.arrive(0, cta_group=1, cta_mask=1).
            # Each role runs in one elected thread. Both must process the same number of K tiles.
            ...

            # TODO: write the write-back role. Wait for mma2ld; fence.after_thread_sync; read tensor memory, TMEM_LD_N
            # columns at a time, and cast each chunk into Dreg_16b; fence.before_thread_sync; ld2mma.arrive(0) in all
            # 128 threads. Then, for each EPI_N columns: copy to Dsmem, fence.proxy_async, Tx.cuda.warpgroup_sync(1),
            # store from one thread (commit_group, wait_group(0)), and warpgroup_sync(1) again before Dsmem is
            # overwritten. Do not use cta_sync: it would wait for the other warpgroup, which runs its own loop.
            ...

            # TODO: call cta_sync in all threads and deallocate tensor memory.
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 8: a deeper pipeline: step 7 with PIPE_DEPTH = 4
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
            # TODO: write the kernel of step 7. With four stages, TMA may be four tiles ahead, which hides the latency
            # of a load.
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 9: clusters of two CTAs
#
# The tensor cores of the two CTAs cooperate: the pair computes 256 × 256 elements of D. Each CTA loads its own 128 rows
# of A and half of the 256 rows of B. One thread of CTA 0 issues the MMA for both.
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
    TMA_BYTES = CTA_GROUP * (BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE  # for both CTAs
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_N, BLK_K))
    D_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, EPI_N))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            # TODO: declare the ids as in step 8, and the position of this CTA in its cluster:
            #   cbx, cby = Tx.cta_id([CTA_GROUP, 1], parent="cluster")
            # The scheduler assigns tiles of 256 × MMA_N to SM_COUNT // CTA_GROUP clusters; init(bx // CTA_GROUP). The
            # rows of A, B and D that this CTA handles depend on cbx. It writes all MMA_N columns of its rows of D.
            ...

            # TODO: allocate shared memory and barriers as in step 8. The MMA waits for tma2mma of CTA 0, which counts
            # the bytes of both CTAs:
            #   tma2mma_cta0 = tma2mma.remote_view(0)
            # The write-back threads of both CTAs arrive at ld2mma. Allocate tensor memory with cta_group=2, in both
            # CTAs. Then call Tx.cuda.cluster_sync(): the barriers of both CTAs must be initialised before any arrival.
            ...

            # TODO: write the roles of step 8, with these changes.
            # TMA (in both CTAs): mbar=tma2mma_cta0.ptr_to([stage]), cta_group=2. Only CTA 0 expects the bytes:
            #   if cbx == 0: tma2mma_cta0.arrive(stage, TMA_BYTES).
            # MMA (if cbx == 0): MMA_N columns, cta_group=2. Arrive with cta_group=2, cta_mask=3 to signal both CTAs.
            # Write-back (in both CTAs): MMA_N columns; ld2mma.arrive(0, cta_id=0, pred=True), at the barrier of CTA 0.
            ...

            # TODO: call cluster_sync instead of cta_sync, and deallocate tensor memory with cta_group=2.
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 10: two consumers
#
#   warpgroup 2, warp 3       TMA          two blocks of A and one of B per stage
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
    TMEM_LD_N = 32  # three warpgroups leave fewer registers per thread
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
            # per consumer. mma2tma expects NUM_CONSUMER arrivals: a stage is free when both MMA warps have finished
            # with it. One MMA warp arrives at each slot of mma2ld, and 128 * CTA_GROUP threads at each slot of ld2mma.
            ...

            # TODO: write the roles of step 9. TMA loads Asmem[stage, c] for each consumer c. MMA warp c reads A block
            # c, writes the columns from c * MMA_N on, and uses slot c of mma2ld and ld2mma (indexed by warp_id, not by
            # the stage of the PipelineState). Warpgroup c writes back block c (indexed by wg_id), with its own Dsmem[c]
            # and its own warpgroup_sync id. Read, cast and store EPI_N columns at a time: with three warpgroups, a
            # thread has 168 registers, too few for 256 columns at once.
            ...

            # TODO: call cluster_sync and deallocate tensor memory.
            ...

    return kernel
