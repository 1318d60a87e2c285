"""The assignment: ten GEMM kernels for Blackwell, each of which extends the previous one.

All of them compute D = A @ B.T for A (M, K), B (N, K) and D (M, N), in float16 or bfloat16, and accumulate in float32.

Replace the `...` below each TODO. A TODO gives the goal and the constraints. The calls with their arguments are on one
sheet, docs/calls.md, and each TODO names its sections. Set-up that does not change is yours to copy.

    docs/steps/step01.md                                 the page of step 1
    python -m tirx_mini check gemm_kernels.py:hgemm_v1   step 1 so far: the reference's code stands for open TODOs
    python -m tirx_mini hint 1                           the TODOs of step 1, and a hint for the first open one
    python -m pytest tests/test_step01.py -xvs           the test of step 1
    python -m tirx_mini progress                         where you are, and what is next
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
#   A, B in global memory -> shared memory    all threads copy
#   shared memory -> tensor memory            one thread starts the MMA; the tensor core runs asynchronously
#   tensor memory -> registers                the warpgroup reads: four warps
#   registers -> D in global memory           each thread casts and stores its row
# ---------------------------------------------------------------------------------------------------------------------
def hgemm_v1(M, N, K, dtype="float16"):
    check_shape("hgemm_v1", exact={"M": (M, BLK_M), "N": (N, BLK_N), "K": (K, BLK_K)})
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

            # TODO: allocate all 512 columns of tensor memory in warp 0, and initialise mma_bar in its lane 0. All 32
            # lanes of the warp allocate; one lane initialises. How many arrivals complete a phase?
            # (docs/calls.md#tensor-memory, #barriers)
            ...

            # TODO: make the barrier and tmem_addr visible to all threads, and the barrier to the asynchronous engines,
            # before their first use. (docs/calls.md#fences, #barriers)
            ...

            tmem = Tx.decl_buffer(
                (128, 512), "float32", scope="tmem", allocated_addr=tmem_addr[0],
                layout=TileLayout(S[(128, 512) : (1 @ TLane, 1 @ TCol)]),
            )  # fmt: skip
            # Dreg_wg is the tile that all 128 threads hold together; thread r holds row r.
            Dreg = Tx.alloc_local((BLK_N,), "float32")
            Dreg_wg = Dreg.view(128, BLK_N, layout=TileLayout(S[(128, BLK_N) : (1 @ tid_in_wg, 1)]))
            Dreg_16b = Tx.alloc_local((BLK_N,), dtype)
            phase_mma: Tx.int32
            phase_mma = 0

            # TODO: copy A and B to Asmem and Bsmem with all threads. The thread that issues the MMA must wait for the
            # stores of the other 127, and the MMA must be ordered after that barrier. (docs/calls.md#copies, #fences)
            ...

            # TODO: issue the MMA into tmem[:, :BLK_N] from one thread of warp 0. Tensor memory holds no partial result
            # yet. The call returns while the MMA runs: the tensor core must arrive at mma_bar when it has completed.
            # (docs/calls.md#threads, #multiplication)
            ...

            # TODO: wait for the MMA in every thread, because every thread reads tensor memory next. The reads must be
            # ordered after the wait. (docs/calls.md#barriers, #fences)
            ...

            # TODO: write back: the warpgroup moves tensor memory to Dreg_wg, and each thread its Dreg to its row of D,
            # which is row warp_id * 32 + lane_id. (docs/calls.md#copies)
            ...

            # TODO: deallocate tensor memory in warp 0, after all warps have read it. Without it, the next CTA on this
            # SM waits for tensor memory forever. (docs/calls.md#tensor-memory)
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
            # (docs/calls.md#tensor-memory)
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
                # TODO: load K tile k, columns k * BLK_K … (k + 1) * BLK_K - 1 of A and B, with the orders of step 1.
                # (docs/calls.md#copies)
                ...

                # TODO: issue the MMA and the commit from one thread of warp 0. The first product must overwrite tensor
                # memory, whose initial contents are undefined; the others are added to it.
                # (docs/calls.md#multiplication)
                ...

                # TODO: wait for the MMA in every thread, because the next iteration overwrites the tiles that it reads.
                # Each wait must be for the phase of its own iteration: a wait for a phase that is complete does not
                # block. (docs/calls.md#barriers)
                ...

            # TODO: call fence.after_thread_sync, write back and deallocate tensor memory as in step 1.
            # (docs/calls.md#fences)
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
            # TODO: launch one CTA per tile of D; bx counts tiles along M, by along N. (docs/calls.md#threads)
            ...
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")
            # TODO: define the first row of this CTA's part of A, m_st, and of B, n_st. Both are aliases of expressions,
            # so that slices may use them. (docs/calls.md#threads)
            ...

            pool = Tx.PoolAllocator()
            tmem_addr = pool.alloc((1,), "uint32")
            mma_bar = pool.alloc((1,), "uint64")
            Asmem = pool.alloc((BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((BLK_N, BLK_K), dtype, layout=B_layout)
            pool.commit()

            # TODO: allocate tensor memory, initialise mma_bar, fence and synchronise as in step 1.
            # (docs/calls.md#tensor-memory)
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

            # TODO: write the K loop of step 2 for this CTA's rows. B is (N, K), so a column of D corresponds to a row
            # of B. (docs/calls.md#copies)
            ...

            # TODO: write back as in step 1, to this CTA's rows and columns of D, and deallocate tensor memory.
            # (docs/calls.md#copies)
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 4: TMA (docs/steps/step04.md)
#
# One thread issues the loads, the MMAs and the store; hardware moves the tiles.
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
            # of shape (BLK_M, BLK_N), with D_layout. (docs/calls.md#memory)
            ...

            # TODO: allocate tensor memory, and initialise the barriers. How many arrivals complete a phase of each?
            # Bytes are counted separately. The initialisation must be visible to all threads and to the asynchronous
            # engines before they use a barrier. (docs/calls.md#tensor-memory, #barriers)
            ...

            # TODO: declare tmem, Dreg, Dreg_wg and Dreg_16b as in step 3. Each barrier counts its own phases, so each
            # of them needs a variable for the parity to wait for next: phase_tma and phase_mma.
            # (docs/calls.md#tensor-memory, #threads)
            ...

            @Tx.inline
            def tma_load(k):
                # TODO: load K tile k into Asmem and Bsmem by TMA. A phase of tma_bar must complete when both tiles are
                # in shared memory, and not before. (docs/calls.md#copies, #barriers)
                ...

            @Tx.inline
            def mma(k):
                # TODO: issue the MMA of K tile k. When it has completed, and not before, a phase of mma_bar must
                # complete. (docs/calls.md#multiplication)
                ...

            @Tx.inline
            def write_back():
                # TODO: move the tile from tensor memory to Dsmem. Which threads know that the last MMA has completed?
                # Before any of them reads tensor memory, all must know. When this part ends, all rows must be in Dsmem,
                # and visible to the async proxy, through which TMA reads. A thread can make only its own stores visible
                # to that proxy. (docs/calls.md#copies, #fences)
                ...

                # TODO: store Dsmem to this CTA's tile of D by TMA. The CTA must not exit before TMA has read Dsmem, and
                # only the thread that commits the store can wait for it. (docs/calls.md#copies)
                ...

            # TODO: run the K loop in one elected thread of warp 0. The MMA must not start before both tiles have
            # landed, and must be ordered after the wait for them. The next load must not start before the MMA has read
            # the tiles that it overwrites. Each wait must be for the phase of this iteration. (docs/calls.md#threads,
            # #barriers, #fences)
            ...
            write_back()

            # TODO: deallocate tensor memory. By then, all warps must have read it. (docs/calls.md#tensor-memory)
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 5: a software pipeline (docs/steps/step05.md)
#
# While the MMA reads one stage of shared memory, TMA fills the other.
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
            # MMA runs at a time: how many does the MMA need? Besides the two phases, declare `stage`: the stage that
            # the next MMA reads. (docs/calls.md#memory, #barriers)
            ...

            @Tx.inline
            def tma_load(stage, k):
                # TODO: load K tile k into this stage. The load must complete a phase of this stage's barrier, and of no
                # other. (docs/calls.md#copies)
                ...

            @Tx.inline
            def mma(stage, k):
                # TODO: multiply K tile k, which is in this stage. (docs/calls.md#multiplication)
                ...

            @Tx.inline
            def write_back():
                # TODO: write back as in step 4. (docs/calls.md#copies, #fences)
                ...

            # TODO: run the pipeline in one elected thread of warp 0. While a stage is multiplied, the load of the other
            # must be in flight. No tile is multiplied before it has landed, and no stage is loaded before it has been
            # read. Every load has one wait, for its own barrier and its own phase, also where K has fewer tiles than
            # there are stages. (docs/calls.md#threads, #barriers)
            ...
            write_back()

            # TODO: deallocate tensor memory as in step 4. (docs/calls.md#tensor-memory)
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
            # (docs/calls.md#threads)
            ...
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")

            # TODO: create tile_scheduler, which assigns the tiles of D to the CTAs so that each tile has exactly one
            # CTA. Here, a cluster is one CTA. Then define m_st and n_st, which are those of the current tile.
            # (docs/calls.md#tiles)
            ...

            # TODO: complete the set-up as in step 5. (docs/calls.md#memory, #barriers)
            ...

            @Tx.inline
            def tma_load(stage, k):
                # TODO: load as in step 5. (docs/calls.md#copies)
                ...

            @Tx.inline
            def mma(stage, k):
                # TODO: multiply as in step 5. (docs/calls.md#multiplication)
                ...

            @Tx.inline
            def write_back():
                # TODO: write back as in step 5. The CTA does not exit afterwards: the next tile reuses tensor memory
                # and Dsmem. When this part ends, nobody may still read either of them, and the reads of tensor memory
                # must be ordered before the next MMAs, which one thread issues. (docs/calls.md#fences, #barriers)
                ...

            # TODO: compute tile after tile, as long as the scheduler has one, with the K loop and the write-back of
            # step 5. The barriers are not initialised again. What do they keep from the tile before, and what follows
            # for stage, phases and the first loads? (docs/calls.md#tiles)
            ...

            # TODO: deallocate tensor memory as in step 5. (docs/calls.md#tensor-memory)
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 7: warp specialisation (docs/steps/step07.md)
#
#   warpgroup 1, warp 3   TMA
#   warpgroup 1, warp 0   MMA
#   warpgroup 0           write-back
#
# Each role has its own loop over the same tiles, and runs ahead of the next role as far as free buffers allow. Four
# barriers connect them: tma2mma, mma2tma, mma2ld and ld2mma. The page has a drawing of them to fill in first.
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

            # TODO: create the scheduler, and define m_st and n_st, as in step 6. (docs/calls.md#tiles)
            ...

            # TODO: allocate shared memory: tmem_addr, the four barriers, the tiles, and Dsmem of shape (BLK_M, EPI_N).
            # A barrier says that a buffer is full, or that it is free, and has one slot per buffer. The buffers are the
            # stages of shared memory, and the accumulator in tensor memory. The class says who arrives.
            # (docs/calls.md#barriers-between-roles, #memory)
            ...

            # TODO: initialise the barriers. Who arrives at each, and how often per phase? Thread 0 of the CTA executes
            # init: which of the roles' branches does it never enter? Then allocate tensor memory, and make all of it
            # visible, as before. (docs/calls.md#barriers-between-roles, #tensor-memory)
            ...

            # TODO: declare tmem; Dreg of TMEM_LD_N registers with its warpgroup view; Dreg_16b of BLK_N; and one state
            # per waiting side: tma_phase and mma_phase step through the stages; ld_phase (the MMA warp's wait for free
            # tensor memory) and wb_phase hand over the accumulator. At the start, all buffers are free, and none is
            # full: which first waits must not block? (docs/calls.md#barriers-between-roles)
            ...

            @Tx.inline
            def tma_load(stage, k):
                # TODO: load K tile k into this stage, and let the bytes complete a phase of the barrier that says so.
                # (docs/calls.md#copies, #barriers-between-roles)
                ...

            @Tx.inline
            def mma(stage, k):
                # TODO: multiply K tile k. The stage is free when the tensor core has read it: who says so, and to whom?
                # (docs/calls.md#multiplication, #barriers-between-roles)
                ...

            @Tx.inline
            def read_tmem():
                # TODO: read the whole result into Dreg_16b, TMEM_LD_N columns at a time: Dreg holds no more.
                # (docs/calls.md#copies)
                ...

            @Tx.inline
            def store():
                # TODO: store Dreg_16b through Dsmem, EPI_N columns at a time. Before each TMA store, all 128 rows must
                # be in Dsmem and visible to TMA; before Dsmem is overwritten, TMA must have read it. The other
                # warpgroup never comes here. (docs/calls.md#copies, #fences, #barriers)
                ...

            if wg_id == 1:
                if warp_id == 3:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        # TODO: write the TMA role, a loop over the tiles and their K tiles. No load may overwrite a
                        # stage that is still read. The CTA must not exit while the tensor core still arrives at its
                        # barriers: this role waits for these arrivals. (docs/calls.md#barriers-between-roles, #tiles)
                        ...
                elif warp_id == 0:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        # TODO: write the MMA role, a loop over the same tiles. No MMA may write an accumulator that is
                        # still read, or read a stage that is not full, and each is ordered after its wait. The
                        # write-back must learn when a tile is complete. (docs/calls.md#barriers-between-roles, #tiles)
                        ...
            elif wg_id == 0:
                # TODO: write the write-back role, a loop over the same tiles. No thread may read an accumulator that is
                # not complete. When is it free again: after the reads, or after the store? Every thread says so for its
                # own reads, and orders them before its arrival. (docs/calls.md#barriers-between-roles, #fences)
                ...

            # TODO: deallocate tensor memory. All roles must have finished. (docs/calls.md#tensor-memory)
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 8: a deeper pipeline: step 7 with another PIPE_DEPTH (docs/steps/step08.md)
# ---------------------------------------------------------------------------------------------------------------------
def hgemm_v8(M, N, K, dtype="float16"):
    check_shape("hgemm_v8", multiple={"M": (M, BLK_M), "N": (N, BLK_N), "K": (K, BLK_K)})
    WG_NUMBER = 2
    PIPE_DEPTH = 2  # yours to choose: predict the time of 2 to 7 first
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
            # TODO: write the kernel of step 7, and choose PIPE_DEPTH. Does anything in it depend on the number of
            # stages, other than through PIPE_DEPTH? Predict the time of each depth before you measure it.
            # (docs/calls.md)
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
            # (docs/calls.md#tiles)
            ...

            # TODO: allocate shared memory and barriers as in step 8. The MMA is issued in CTA 0, and its thread can
            # wait only at barriers of CTA 0, so the loads of both CTAs must signal tma2mma there: name that view
            # tma2mma_cta0. (docs/calls.md#barriers-between-roles)
            ...

            # TODO: initialise the barriers. The bytes of both CTAs are expected by one thread. The accumulator is free
            # when the write-back of both CTAs has read it. Both CTAs allocate, as a pair. No thread may arrive at a
            # barrier of the other CTA before it is initialised. (docs/calls.md#barriers-between-roles, #barriers)
            ...

            # TODO: declare tmem, the registers and the states as in step 8. A thread now holds MMA_N elements of D.
            # (docs/calls.md#memory)
            ...

            @Tx.inline
            def tma_load(stage, k):
                # TODO: load this CTA's part of K tile k, in both CTAs, and signal CTA 0: the load is one of a pair.
                # TMA_BYTES counts both CTAs, so how many threads of the cluster may expect it? (docs/calls.md#copies,
                # #barriers-between-roles)
                ...

            @Tx.inline
            def mma(stage, k):
                # TODO: multiply for the pair: MMA_N columns. It reads the stage of both CTAs, so both must learn that
                # it is free. (docs/calls.md#multiplication, #barriers-between-roles)
                ...

            # TODO: define read_tmem and store as in step 8, for MMA_N columns. (docs/calls.md#copies)
            ...

            if wg_id == 1:
                if warp_id == 3:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        # TODO: write the TMA role of step 8. It runs in both CTAs.
                        # (docs/calls.md#barriers-between-roles)
                        ...
                elif warp_id == 0:
                    # TODO: write the MMA role of step 8. In which CTA does it run? Both CTAs must learn that the
                    # accumulator is full. (docs/calls.md#barriers-between-roles)
                    ...
            elif wg_id == 0:
                # TODO: write the write-back role of step 8, in both CTAs. Which warp waits for the arrivals at ld2mma?
                # (docs/calls.md#barriers-between-roles)
                ...

            # TODO: deallocate tensor memory for the pair. Neither CTA may exit while the other may still signal its
            # barriers or read its shared memory. (docs/calls.md#tensor-memory, #barriers)
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 10: two consumers (docs/steps/step10.md)
#
#   warpgroup 2, warp 3       TMA
#   warpgroup 2, warps 0, 1   MMA
#   warpgroups 0, 1           write-back
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
            # NUM_CONSUMER blocks of BLK_M rows, one after the other, from m_st on. (docs/calls.md#tiles)
            ...

            # TODO: allocate shared memory and the barriers as in step 9. A stage holds NUM_CONSUMER blocks of A and one
            # of B; each consumer has its own Dsmem. How many accumulators do MMA and write-back hand over?
            # (docs/calls.md#memory, #barriers-between-roles)
            ...

            # TODO: initialise as in step 9. A stage is free when all that read it have finished: how many commits say
            # so? How many arrive at one slot of mma2ld, and of ld2mma? (docs/calls.md#barriers-between-roles)
            ...

            # TODO: declare tmem and the states as in step 9, and registers for EPI_N columns: Dreg, Dreg_wg and
            # Dreg_16b. With three warpgroups, a thread has 168 registers, too few for 256 columns at once.
            # (docs/calls.md#memory)
            ...

            @Tx.inline
            def tma_load(stage, k):
                # TODO: load this CTA's part of K tile k: each block of A of the stage, and B once.
                # (docs/calls.md#copies)
                ...

            @Tx.inline
            def mma(stage, k):
                # TODO: multiply A block c by B in MMA warp c, into the MMA_N columns of tensor memory from c * MMA_N
                # on. (docs/calls.md#multiplication)
                ...

            @Tx.inline
            def write_back():
                # TODO: write back the result of consumer wg_id, EPI_N columns at a time. The accumulator is free as
                # soon as its last columns are read. The two warpgroups run independently: each has its own Dsmem, and
                # its own named barrier. (docs/calls.md#copies, #barriers)
                ...

            if wg_id == 2:
                if warp_id == 3:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        # TODO: write the TMA role as in step 9. (docs/calls.md#barriers-between-roles)
                        ...
                elif warp_id < NUM_CONSUMER:
                    # TODO: write the MMA role as in step 9. Each consumer has its own accumulator, so it uses its own
                    # slot of ld2mma and mma2ld. Both read every stage. (docs/calls.md#barriers-between-roles)
                    ...
            elif wg_id < NUM_CONSUMER:
                # TODO: write the write-back role as in step 9, with write_back and this consumer's slots.
                # (docs/calls.md#barriers-between-roles)
                ...

            # TODO: deallocate tensor memory as in step 9. (docs/calls.md#tensor-memory)
            ...

    return kernel
