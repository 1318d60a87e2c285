"""The assignment: ten GEMM kernels for Blackwell, each of which extends the previous one.

All of them compute D = A @ B.T for A (M, K), B (N, K) and D (M, N), in float16 or bfloat16, and accumulate in float32.

Replace the `...` below each TODO. In steps 1 to 3, a TODO names the calls. From step 4 on, it says what must be true:
which data a thread or an engine must see first, which role may run ahead, how many arrivals complete a phase. The
calls are those of earlier steps, or on the page of the step. Set-up that does not change is yours to copy.

    docs/steps/step01.md                              the page of step 1: the idea, the structure, the pitfalls
    docs/glossary.md                                  every term, with a link to the page that explains it
    docs/reference/index.md                           every call, with its arguments
    python -m tirx_mini hint 1                        the TODOs of step 1, and a hint for the first one that is open
    python -m pytest tests/test_step01.py -xvs        the test of step 1
    python -m tirx_mini progress                      where you are, and what is next

Without a Blackwell GPU, the tests run in the simulator, which reports what is wrong and at which line.
"""

# For editors: check this file, in which the annotations of kernels are values.
# pyright: basic, reportInvalidTypeForm=false

from tirx_mini.lang import ClusterPersistentScheduler2D, MBarrier, PipelineState, TCGen05Bar, TMABar
from tirx_mini.layout import S, SwizzleMode, TCol, TileLayout, TLane, tid_in_wg, tma_shared_layout
from tirx_mini.script import tirx as Tx
from utils import check_shape

SM_COUNT = 148  # streaming multiprocessors of a B200
BLK_M, BLK_N, BLK_K = 128, 128, 64  # a tile: BLK_M × BLK_N elements of D, computed from BLK_K columns at a time
DTYPE_SIZE = 2  # bytes per float16 or bfloat16


# ---------------------------------------------------------------------------------------------------------------------
# Step 1: a single tile, M = N = 128, K = 64 (docs/steps/step01.md)
#
#   A, B in global memory -> shared memory    Tx.copy by all threads of the CTA
#   shared memory -> tensor memory            Tx.gemm_async by one thread; the tensor core runs asynchronously
#   tensor memory -> registers                Tx.copy by the warpgroup, which is four warps
#   registers -> D in global memory           Tx.cast and Tx.copy by each thread
#
# The memories: docs/concepts/memory.md. Threads, warps, warpgroups, elect_sync: docs/concepts/warps.md. The tensor
# core: docs/concepts/mma.md. An mbarrier is a barrier in shared memory that counts arrivals:
# docs/concepts/mbarriers.md.
# ---------------------------------------------------------------------------------------------------------------------
def hgemm_v1(M, N, K, dtype="float16"):
    check_shape("hgemm_v1", exact={"M": (M, BLK_M), "N": (N, BLK_N), "K": (K, BLK_K)})
    # The place of each element (row, column) of a tile in shared memory, with the swizzle that TMA and the tensor core
    # expect (docs/concepts/shared-memory.md).
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
            # commit per MMA arrives on mma_bar, so the count is 1. (docs/concepts/tensor-memory.md)
            ...

            # TODO: make the barrier and tmem_addr visible to all threads before their first use.
            #   Tx.ptx.fence.proxy_async("shared::cta"), Tx.ptx.fence.mbarrier_init(), Tx.cuda.cta_sync()
            # The fences make this thread's writes visible to the asynchronous engines. At cta_sync, all threads wait
            # for one another. (docs/concepts/proxies.md)
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
# Step 2: a loop over K, M = N = 128 (docs/steps/step02.md)
#
# Each iteration loads the next BLK_K columns of A and B and adds their product to the accumulator in tensor memory. All
# iterations use the same mbarrier. Each completion flips its phase, so the phase to wait for flips as well
# (docs/concepts/mbarriers.md).
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
# Step 3: a grid of CTAs, one per 128 × 128 tile of D (docs/steps/step03.md)
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
            ...
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")
            # TODO: define the first row of this CTA's part of A and of B. Tx.meta_var is an alias for an expression,
            # not a run-time variable, so it may be used in slices.
            #   m_st = Tx.meta_var(…)
            #   n_st = Tx.meta_var(…)
            ...

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
# Step 4: TMA (docs/steps/step04.md)
#
# One thread issues the loads, the MMAs and the store; hardware moves the tiles. A TMA load signals an mbarrier with the
# number of bytes that have landed. A TMA store has no barrier: its thread commits it to a bulk group and waits for it
# (docs/concepts/completion.md). TMA accesses shared memory through the async proxy (docs/concepts/proxies.md).
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
            bx, by = Tx.cta_id([M // BLK_M, N // BLK_N], parent="kernel")
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")
            m_st = Tx.meta_var(bx * BLK_M)
            n_st = Tx.meta_var(by * BLK_N)

            # TODO: allocate shared memory. The loads and the MMA complete at different times, and a thread waits for
            # each: besides mma_bar there is tma_bar. TMA stores D from shared memory, so D needs a tile there: Dsmem,
            # of shape (BLK_M, BLK_N), with D_layout.
            ...

            # TODO: allocate tensor memory, and initialise the barriers. How many arrivals complete a phase of each?
            # Bytes are counted separately: the only arrival at tma_bar is made by the thread that says how many bytes
            # to expect. The initialisation must be visible to all threads and to the asynchronous engines before they
            # use a barrier.
            ...

            # TODO: declare tmem, Dreg, Dreg_wg and Dreg_16b as in step 3. Each barrier counts its own phases, so each
            # of them needs a variable for the parity to wait for next: phase_tma and phase_mma.
            ...

            @Tx.inline
            def tma_load(k):
                # TODO: load K tile k into Asmem and Bsmem by TMA. A phase of tma_bar must complete when both tiles are
                # in shared memory, and not before: both loads signal it, mbar=tma_bar.ptr_to([0]), and its phase
                # expects TMA_BYTES bytes.
                ...

            @Tx.inline
            def mma(k):
                # TODO: issue the MMA of K tile k. When it has completed, and not before, a phase of mma_bar must
                # complete.
                ...

            @Tx.inline
            def write_back():
                # TODO: move the tile from tensor memory to Dsmem. Which threads know that the last MMA has completed?
                # Before any of them reads tensor memory, all must know. Each thread then stores its row to Dsmem.
                # Before the store below, all rows must be there, and visible to the async proxy, through which TMA
                # reads. A thread can make only its own stores visible to that proxy.
                ...

                # TODO: store Dsmem to this CTA's tile of D by TMA. The CTA must not exit before TMA has read Dsmem, and
                # only the thread that commits the store can wait for it.
                ...

            # TODO: run the K loop in one elected thread of warp 0. In each iteration,
            #   - the MMA must not start before both tiles have landed, and must be ordered after the wait for them;
            #   - the next load must not start before the MMA has read the tiles that it overwrites;
            #   - each wait must be for the phase of this iteration: a wait for a phase that is complete does not block.
            ...
            write_back()

            # TODO: deallocate tensor memory. By then, all warps must have read it.
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 5: a software pipeline (docs/steps/step05.md)
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
            bx, by = Tx.cta_id([M // BLK_M, N // BLK_N], parent="kernel")
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")
            m_st = Tx.meta_var(bx * BLK_M)
            n_st = Tx.meta_var(by * BLK_N)

            # TODO: set up as in step 4, with PIPE_DEPTH stages of Asmem and Bsmem. The loads of two stages are in
            # flight at the same time, and the MMA waits for one of them: how many barriers does TMA need? At most one
            # MMA runs at a time: how many does the MMA need? Besides the two phases, declare `stage`, initially 0: the
            # stage that the next MMA reads.
            ...

            @Tx.inline
            def tma_load(stage, k):
                # TODO: load K tile k into this stage. The load must complete a phase of this stage's barrier,
                # mbar=tma_bar.ptr_to([stage]), and of no other.
                ...

            @Tx.inline
            def mma(stage, k):
                # TODO: multiply K tile k, which is in this stage.
                ...

            @Tx.inline
            def write_back():
                # TODO: write back as in step 4.
                ...

            # TODO: run the pipeline in one elected thread of warp 0.
            #   - Before the loop, tile k is on its way to stage k, for all k < PRE_NUM.
            #   - Iteration k multiplies the tile in `stage` after it has landed.
            #   - Tile k + PIPE_DEPTH, if it exists, goes into the same stage. Which operation must complete before its
            #     load is issued? The load of the other stage is in flight meanwhile.
            #   - Then `stage` is the next one, and the parities are those of the next waits: how often does a barrier
            #     of TMA complete a phase, and how often does mma_bar?
            ...
            write_back()

            # TODO: deallocate tensor memory as in step 4.
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 6: a persistent kernel (docs/steps/step06.md, docs/concepts/persistence.md)
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
            # TODO: launch one CTA per SM, in one dimension; bx is its index. How many there are does not depend on D.
            ...
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")

            # TODO: create tile_scheduler, which assigns the tiles of D to the CTAs so that each tile has exactly one
            # CTA. It is a ClusterPersistentScheduler2D("ts", …) with the keyword arguments num_m_tiles, num_n_tiles,
            # num_clusters (here, a cluster is one CTA) and l2_group_size=8. Its init takes the index of this cluster.
            # m_st and n_st are those of the current tile, of which the scheduler has the indices m_idx and n_idx.
            ...

            # TODO: complete the set-up as in step 5.
            ...

            @Tx.inline
            def tma_load(stage, k):
                # TODO: load as in step 5.
                ...

            @Tx.inline
            def mma(stage, k):
                # TODO: multiply as in step 5.
                ...

            @Tx.inline
            def write_back():
                # TODO: write back as in step 5. The CTA does not exit afterwards: the next tile reuses tensor memory
                # and Dsmem. Before it starts, all threads must have read tensor memory, and their reads must be ordered
                # before the next MMAs, which one thread issues. And TMA must have read Dsmem: which thread knows that
                # it has?
                ...

            # TODO: compute tile after tile, as long as the scheduler has one (valid, next_tile), with the K loop and
            # the write-back of step 5. The barriers are not initialised again for a tile, so stage and phases go on
            # from the last tile. Into which stages do the first PRE_NUM loads go?
            ...

            # TODO: deallocate tensor memory as in step 5.
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 7: warp specialisation (docs/steps/step07.md)
#
#   warpgroup 1, warp 3   TMA          tma2mma: data is in shared memory    mma2tma: shared memory is free
#   warpgroup 1, warp 0   MMA          mma2ld: the result is in TMEM        ld2mma: TMEM is free
#   warpgroup 0           write-back
#
# Each role has its own loop over the same tiles, and runs ahead of the next role as far as free buffers allow: TMA
# fills up to PIPE_DEPTH stages while the MMA is behind, and the MMA of the next tile starts during the store of this
# one. help(TMABar), help(TCGen05Bar), help(MBarrier) and help(PipelineState) describe the classes
# (docs/reference/lang.md).
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
            bx = Tx.cta_id([SM_COUNT], parent="kernel")
            wg_id = Tx.warpgroup_id([WG_NUMBER], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")

            # TODO: create the scheduler, and define m_st and n_st, as in step 6.
            ...

            # TODO: allocate shared memory: tmem_addr, the four barriers, the tiles, and Dsmem of shape (BLK_M, EPI_N).
            # A barrier says that a buffer is full, or that it is free, and has one slot per buffer. The buffers are the
            # stages of shared memory, and the accumulator in tensor memory. The class says who arrives: TMABar (TMA, by
            # bytes), TCGen05Bar (the tensor core, by a commit), MBarrier (threads); its arguments are pool, the number
            # of slots, and a name.
            ...

            # TODO: initialise the barriers, bar.init(arrivals per phase). All threads of the write-back arrive at
            # ld2mma; who arrives at the others, and how often per phase? Thread 0 of the CTA executes init: which of
            # the roles' branches does it never enter? Then allocate tensor memory, fence and synchronise as before.
            ...

            # TODO: declare tmem; Dreg of TMEM_LD_N registers with its warpgroup view; Dreg_16b of BLK_N. Then declare
            # one PipelineState("name", slots) per waiting side: tma_phase ("tma") and mma_phase ("mma") step through
            # the stages; ld_phase ("ld", the MMA warp's wait at ld2mma) and wb_phase ("wb") hand over the accumulator.
            # At the start, all buffers are free, and none is full: which sides are producers, whose first waits must
            # not block (init(is_producer=…))?
            ...

            @Tx.inline
            def tma_load(stage, k):
                # TODO: load K tile k into this stage, and let the bytes complete a phase of its tma2mma: the loads
                # name it, mbar=tma2mma.ptr_to([stage]).
                ...

            @Tx.inline
            def mma(stage, k):
                # TODO: multiply K tile k. The stage is free when the tensor core has read it: who says so, and to whom?
                ...

            @Tx.inline
            def read_tmem():
                # TODO: read the whole result into Dreg_16b, TMEM_LD_N columns at a time: Dreg holds no more.
                ...

            @Tx.inline
            def store():
                # TODO: store Dreg_16b through Dsmem, EPI_N columns at a time. Before each TMA store, all 128 rows must
                # be in Dsmem and visible to TMA; before Dsmem is overwritten, TMA must have read it. cta_sync would
                # wait for the other warpgroup, which never comes here: synchronise the 128 threads of this one.
                ...

            if wg_id == 1:
                if warp_id == 3:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        # TODO: write the TMA role, a loop over the tiles and their K tiles. Before a load into a stage,
                        # the stage must be free. The role also waits for the stages after the last load: the CTA must
                        # not exit while the tensor core still arrives at its barriers.
                        ...
                elif warp_id == 0:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        # TODO: write the MMA role, a loop over the same tiles. Before the first MMA of a tile, the
                        # accumulator must be free; before each MMA, its stage must be full, and the MMA ordered after
                        # the wait. When all MMAs of a tile have completed, the accumulator is full.
                        ...
            elif wg_id == 0:
                # TODO: write the write-back role, a loop over the same tiles. Before tensor memory is read, the
                # accumulator must be full, and the reads ordered after the wait. When is it free again: after the
                # reads, or after the store? Every thread says so for its own reads, and orders them before its arrival.
                ...

            # TODO: deallocate tensor memory. All roles must have finished.
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 8: a deeper pipeline: step 7 with PIPE_DEPTH = 4 (docs/steps/step08.md)
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
            # TODO: write the kernel of step 7. TMA may now be four tiles ahead of the MMA, which hides the latency of a
            # load. Does anything in your kernel depend on the number of stages, other than through PIPE_DEPTH?
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 9: clusters of two CTAs (docs/steps/step09.md, docs/concepts/clusters.md)
#
# The tensor cores of the two CTAs cooperate: the pair computes 256 × 256 elements of D. Each CTA loads its own 128 rows
# of A and half of the 256 rows of B. One thread of CTA 0 issues the MMA for both. Each CTA has its own barriers and its
# own tensor memory, and writes back its own rows of D.
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
            bx = Tx.cta_id([SM_COUNT], parent="kernel")
            cbx, cby = Tx.cta_id([CTA_GROUP, 1], parent="cluster")
            wg_id = Tx.warpgroup_id([WG_NUMBER], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")

            # TODO: create the scheduler. It assigns tiles of 256 × MMA_N to clusters, and both CTAs of a cluster must
            # get the same tile. Then define the places of this CTA: m_st, the first of its rows of A and D; n_st, the
            # first column of D that it writes; b_st, the first of the rows of B that it loads. Which depend on cbx?
            ...

            # TODO: allocate shared memory and barriers as in step 8. The MMA is issued in CTA 0, and its thread can
            # wait only at barriers of CTA 0, so the loads of both CTAs must signal tma2mma there: name it tma2mma_cta0,
            # which is the remote_view of tma2mma in CTA 0.
            ...

            # TODO: initialise the barriers. The bytes of both CTAs are expected by one thread. The accumulator is free
            # when the write-back of both CTAs has read it. Allocate tensor memory for a pair, in each of its CTAs
            # (cta_group=2). Then, no thread may arrive at a barrier of the other CTA before it is initialised.
            ...

            # TODO: declare tmem, the registers and the states as in step 8. A thread now holds MMA_N elements of D.
            ...

            @Tx.inline
            def tma_load(stage, k):
                # TODO: load this CTA's part of K tile k, in both CTAs, and signal CTA 0: the load is one of a pair
                # (cta_group=2). TMA_BYTES counts both CTAs, so how many threads of the cluster may expect it?
                ...

            @Tx.inline
            def mma(stage, k):
                # TODO: multiply for the pair: MMA_N columns. It reads the stage of both CTAs, so both must learn that
                # it is free: cta_mask has one bit per CTA of the cluster.
                ...

            # TODO: define read_tmem and store as in step 8, for MMA_N columns.
            ...

            if wg_id == 1:
                if warp_id == 3:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        # TODO: write the TMA role of step 8. It runs in both CTAs.
                        ...
                elif warp_id == 0:
                    # TODO: write the MMA role of step 8. In which CTA does it run? Both CTAs must learn that the
                    # accumulator is full.
                    ...
            elif wg_id == 0:
                # TODO: write the write-back role of step 8, in both CTAs. Which warp waits for the arrivals at ld2mma?
                ...

            # TODO: deallocate tensor memory for the pair. Neither CTA may exit while the other may still signal its
            # barriers or read its shared memory.
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 10: two consumers (docs/steps/step10.md)
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
    EPI_N = 64  # columns of tensor memory per read, and of D per store
    K_TILES = K // BLK_K
    TMA_BYTES = CTA_GROUP * (NUM_CONSUMER * BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, NUM_CONSUMER, BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_N, BLK_K))
    D_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (NUM_CONSUMER, BLK_M, EPI_N))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx = Tx.cta_id([SM_COUNT], parent="kernel")
            cbx, cby = Tx.cta_id([CTA_GROUP, 1], parent="cluster")
            wg_id = Tx.warpgroup_id([WG_NUMBER], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")

            # TODO: create the scheduler for cluster tiles of 512 × 256, and define m_st, n_st and b_st. A CTA has
            # NUM_CONSUMER blocks of BLK_M rows, one after the other, from m_st on.
            ...

            # TODO: allocate shared memory and the barriers as in step 9. A stage holds NUM_CONSUMER blocks of A and one
            # of B; each consumer has its own Dsmem. How many accumulators do MMA and write-back hand over?
            ...

            # TODO: initialise as in step 9. A stage is free when all that read it have finished: how many commits say
            # so? How many arrive at one slot of mma2ld, and of ld2mma?
            ...

            # TODO: declare tmem and the states as in step 9, and registers for EPI_N columns: Dreg, Dreg_wg and
            # Dreg_16b. With three warpgroups, a thread has 168 registers, too few for 256 columns at once.
            ...

            @Tx.inline
            def tma_load(stage, k):
                # TODO: load this CTA's part of K tile k: Asmem[stage, c] for each consumer c, and Bsmem once.
                ...

            @Tx.inline
            def mma(stage, k):
                # TODO: multiply A block c by B in MMA warp c, into the MMA_N columns of tensor memory from c * MMA_N
                # on.
                ...

            @Tx.inline
            def write_back():
                # TODO: write back the result of consumer wg_id, EPI_N columns at a time: read, cast, store. The
                # accumulator is free as soon as its last columns are read. The two warpgroups run independently: each
                # has its own Dsmem, and its own named barrier.
                ...

            if wg_id == 2:
                if warp_id == 3:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        # TODO: write the TMA role as in step 9.
                        ...
                elif warp_id < NUM_CONSUMER:
                    # TODO: write the MMA role as in step 9. Each consumer has its own accumulator, so it uses its own
                    # slot of ld2mma and mma2ld. Both read every stage.
                    ...
            elif wg_id < NUM_CONSUMER:
                # TODO: write the write-back role as in step 9, with write_back and this consumer's slots.
                ...

            # TODO: deallocate tensor memory as in step 9.
            ...

    return kernel
