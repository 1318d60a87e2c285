"""The assignment for Hopper: the same ten GEMM kernels, each one step from the one before, with wgmma.

All compute D = A @ B.T for A (M, K), B (N, K) and D (M, N), in float16 or bfloat16, adding up in float32.

Each TODO says what to write and why it is needed; write it in place of the `...` below it. Then run the step's test:

    python -m pytest tests/test_step01.py -xvs --target sim:h100       # anywhere, in the simulator
    python -m pytest tests/test_step01.py -xvs --target cuda           # on an H100
"""

from math import ceil

from tirx_mini.lang import ClusterPersistentScheduler2D, MBarrier, PipelineState, TMABar
from tirx_mini.layout import SwizzleMode, tma_shared_layout, wgmma_accumulator_layout
from tirx_mini.script import tirx as Tx
from utils import check_shape

SM_COUNT = 132  # streaming multiprocessors of an H100 SXM
BLK_M, BLK_N, BLK_K = 128, 128, 64  # one tile: BLK_M × BLK_N of D, from BLK_K columns of A and B at a time
DTYPE_SIZE = 2  # bytes of a float16 or bfloat16


# ---------------------------------------------------------------------------------------------------------------------
# Step 1: a single tile, M = N = 128, K = 64
#
#   A, B in global memory -> shared memory    Tx.copy by all threads of the CTA
#   shared memory -> registers                Tx.gemm_async by the warpgroup; the tensor core works on its own
#   registers -> D in global memory           Tx.cast and Tx.copy by each thread
#
# The tensor core leaves its result scattered over the registers of 128 threads. D_fragment says which thread holds
# which element in which register; views with that layout are used like any other tile.
# ---------------------------------------------------------------------------------------------------------------------
def hgemm_v1(M, N, K, dtype="float16"):
    DREG_N = BLK_M * BLK_N // 128
    check_shape("hgemm_v1", exact={"M": (M, BLK_M), "N": (N, BLK_N), "K": (K, BLK_K)})
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_N, BLK_K))
    D_fragment = wgmma_accumulator_layout(BLK_N, BLK_M)

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx, by = Tx.cta_id([1, 1], parent="kernel")
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")

            # Shared memory: the operand tiles. Registers: the accumulator, as float32, and what is stored of it.
            pool = Tx.PoolAllocator()
            Asmem = pool.alloc((BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((BLK_N, BLK_K), dtype, layout=B_layout)
            pool.commit()
            Dreg = Tx.alloc_local((DREG_N,), "float32")
            Dacc = Dreg.view(BLK_M, BLK_N, layout=D_fragment)
            Dreg_16b = Tx.alloc_local((DREG_N,), dtype)
            D_16b = Dreg_16b.view(BLK_M, BLK_N, layout=D_fragment)

            # TODO: copy A and B into Asmem and Bsmem, by all threads together.
            #   with Tx.cta(): Tx.copy(destination, source)
            # Then Tx.cuda.cta_sync(), because a warp that issues the MMAs has to know that the other three have
            # written.
            ...

            # TODO: multiply, in the whole warpgroup: with Tx.warpgroup(): the four calls
            #   Tx.ptx.wgmma.fence()
            #   Tx.gemm_async(Dacc[:, :], Asmem[:, :], Bsmem[:, :], accum=False, dispatch="wgmma")
            #   Tx.ptx.wgmma.commit_group()
            #   Tx.ptx.wgmma.wait_group(0)
            # The fence hands the accumulators to the tensor core. gemm_async returns at once; commit_group closes the
            # group of what was issued, and wait_group(0) waits until no group is left. Until then nobody may touch
            # Dreg.
            ...

            # TODO: write back. with Tx.thread(): Tx.cast all of Dreg to Dreg_16b. with Tx.warpgroup(): Tx.copy the view
            # D_16b to D. A cast is each thread's own business; the copy knows from the view's layout where each
            # thread's elements go.
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 2: a loop over K, M = N = 128
#
# Each turn loads the next BLK_K columns of A and B and adds their product to what the accumulators hold.
# ---------------------------------------------------------------------------------------------------------------------
def hgemm_v2(M, N, K, dtype="float16"):
    DREG_N = BLK_M * BLK_N // 128
    check_shape("hgemm_v2", exact={"M": (M, BLK_M), "N": (N, BLK_N)}, multiple={"K": (K, BLK_K)})
    K_TILES = K // BLK_K
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_N, BLK_K))
    D_fragment = wgmma_accumulator_layout(BLK_N, BLK_M)

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx, by = Tx.cta_id([1, 1], parent="kernel")
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")

            # Shared memory: the operand tiles. Registers: the accumulator, as float32, and what is stored of it.
            pool = Tx.PoolAllocator()
            Asmem = pool.alloc((BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((BLK_N, BLK_K), dtype, layout=B_layout)
            pool.commit()
            Dreg = Tx.alloc_local((DREG_N,), "float32")
            Dacc = Dreg.view(BLK_M, BLK_N, layout=D_fragment)
            Dreg_16b = Tx.alloc_local((DREG_N,), dtype)
            D_16b = Dreg_16b.view(BLK_M, BLK_N, layout=D_fragment)

            for k in range(K_TILES):
                # TODO: one turn. Copy columns k * BLK_K … of A and B to shared memory, and cta_sync. Multiply as in
                # step 1, but with accum=(k != 0): the first turn overwrites what is in the registers, which is nothing
                # yet; the others add to it. Then cta_sync again, before the next turn's copies overwrite the tiles.
                ...

            # Write back, each thread the elements that it holds.
            with Tx.thread():
                Tx.cast(Dreg_16b[:], Dreg[:])
            with Tx.warpgroup():
                Tx.copy(D[:, :], D_16b[:, :])

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 3: a grid of CTAs, one for each 128 × 128 tile of D
#
# Nothing changes but where the tile is: CTA (bx, by) computes rows m_st … and columns n_st … of D.
# ---------------------------------------------------------------------------------------------------------------------
def hgemm_v3(M, N, K, dtype="float16"):
    DREG_N = BLK_M * BLK_N // 128
    check_shape("hgemm_v3", multiple={"M": (M, BLK_M), "N": (N, BLK_N), "K": (K, BLK_K)})
    K_TILES = K // BLK_K
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_N, BLK_K))
    D_fragment = wgmma_accumulator_layout(BLK_N, BLK_M)

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx, by = Tx.cta_id([M // BLK_M, N // BLK_N], parent="kernel")
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")
            # TODO: say where the CTA's tile begins: m_st, its first row, and n_st, its first column, from bx and by.
            #   m_st = Tx.meta_var(…)
            ...

            # Shared memory: the operand tiles. Registers: the accumulator, as float32, and what is stored of it.
            pool = Tx.PoolAllocator()
            Asmem = pool.alloc((BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((BLK_N, BLK_K), dtype, layout=B_layout)
            pool.commit()
            Dreg = Tx.alloc_local((DREG_N,), "float32")
            Dacc = Dreg.view(BLK_M, BLK_N, layout=D_fragment)
            Dreg_16b = Tx.alloc_local((DREG_N,), dtype)
            D_16b = Dreg_16b.view(BLK_M, BLK_N, layout=D_fragment)

            for k in range(K_TILES):
                # Load. The barrier makes all threads' copies done before any warp issues the MMAs below.
                # TODO: copy the tile's rows of A (from m_st on) and of B (from n_st on: the rows of B are the columns
                # of D).
                ...
                Tx.cuda.cta_sync()

                # Multiply. The registers belong to the tensor core from the fence until the wait.
                with Tx.warpgroup():
                    Tx.ptx.wgmma.fence()
                    Tx.gemm_async(Dacc[:, :], Asmem[:, :], Bsmem[:, :], accum=(k != 0), dispatch="wgmma")
                    Tx.ptx.wgmma.commit_group()
                    Tx.ptx.wgmma.wait_group(0)
                # The next copies overwrite what these MMAs have read.
                Tx.cuda.cta_sync()

            # Write back, each thread the elements that it holds.
            with Tx.thread():
                Tx.cast(Dreg_16b[:], Dreg[:])
            # TODO: copy D_16b to the tile's place in D.
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 4: TMA
#
# One thread asks for whole tiles, and an engine moves them, both ways. A load completes on an mbarrier that counts its
# bytes; a store is handed over in a bulk group.
# ---------------------------------------------------------------------------------------------------------------------
def hgemm_v4(M, N, K, dtype="float16"):
    DREG_N = BLK_M * BLK_N // 128
    TMA_BYTES = (BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE
    check_shape("hgemm_v4", multiple={"M": (M, BLK_M), "N": (N, BLK_N), "K": (K, BLK_K)})
    K_TILES = K // BLK_K
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_N, BLK_K))
    D_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_N))
    D_fragment = wgmma_accumulator_layout(BLK_N, BLK_M)

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx, by = Tx.cta_id([M // BLK_M, N // BLK_N], parent="kernel")
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")
            m_st = Tx.meta_var(bx * BLK_M)
            n_st = Tx.meta_var(by * BLK_N)

            # Shared memory: the tiles, and the barrier that TMA arrives on. Registers: accumulator and result.
            pool = Tx.PoolAllocator()
            tma_bar = pool.alloc((1,), "uint64")
            Asmem = pool.alloc((BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((BLK_N, BLK_K), dtype, layout=B_layout)
            Dsmem = pool.alloc((BLK_M, BLK_N), dtype, layout=D_layout)
            pool.commit()
            Dreg = Tx.alloc_local((DREG_N,), "float32")
            Dacc = Dreg.view(BLK_M, BLK_N, layout=D_fragment)
            Dreg_16b = Tx.alloc_local((DREG_N,), dtype)
            D_16b = Dreg_16b.view(BLK_M, BLK_N, layout=D_fragment)
            phase_tma: Tx.int32
            phase_tma = 0

            # The barrier is initialised by one thread, for one arrival.
            if warp_id == 0:
                if lane_id == 0:
                    Tx.ptx.mbarrier.init(tma_bar.ptr_to([0]), 1)
            Tx.ptx.fence.mbarrier_init()
            Tx.cuda.cta_sync()

            @Tx.inline
            def tma_load(k):
                k_st = Tx.meta_var(k * BLK_K)
                tma = Tx.meta_var({"dispatch": "tma", "mbar": tma_bar.ptr_to([0])})
                # TODO: load both tiles, Tx.copy_async(destination, source, **tma), and tell the barrier how many bytes
                # are to come:
                #   Tx.ptx.mbarrier.arrive.expect_tx(tma_bar.ptr_to([0]), TMA_BYTES)
                ...

            @Tx.inline
            def mma(k):
                with Tx.warpgroup():
                    Tx.ptx.wgmma.fence()
                    Tx.gemm_async(Dacc[:, :], Asmem[:, :], Bsmem[:, :], accum=(k != 0), dispatch="wgmma")
                    Tx.ptx.wgmma.commit_group()
                    Tx.ptx.wgmma.wait_group(0)

            @Tx.inline
            def write_back():
                with Tx.thread():
                    Tx.cast(Dreg_16b[:], Dreg[:])
                # TODO: store by TMA. with Tx.warpgroup(): Tx.copy D_16b to Dsmem (stmatrix; it ends with the fence that
                # makes what was written visible to TMA). cta_sync. Then one elected thread of warp 0:
                # Tx.copy_async(tile of D, Dsmem, dispatch="tma"), Tx.ptx.cp_async.bulk.commit_group() and
                # wait_group(0), because shared memory must be there until it has been read.
                ...

            for k in range(K_TILES):
                # The MMAs of all four warps that read the last tiles are done: wait_group waits for the warpgroup's.
                if warp_id == 0:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        tma_load(k)
                # TODO: wait for the loads, in every thread, and flip phase_tma: the barrier's next phase is the other
                # one.
                ...
                mma(k)
            write_back()

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 5: a software pipeline
#
# Two stages of shared memory: while the tensor core multiplies one stage's tiles, TMA loads the other's.
# ---------------------------------------------------------------------------------------------------------------------
def hgemm_v5(M, N, K, dtype="float16"):
    PIPE_DEPTH = 2
    DREG_N = BLK_M * BLK_N // 128
    TMA_BYTES = (BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE
    check_shape("hgemm_v5", multiple={"M": (M, BLK_M), "N": (N, BLK_N), "K": (K, BLK_K)})
    K_TILES = K // BLK_K
    PRE_NUM = min(PIPE_DEPTH, K_TILES)
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_N, BLK_K))
    D_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_N))
    D_fragment = wgmma_accumulator_layout(BLK_N, BLK_M)

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx, by = Tx.cta_id([M // BLK_M, N // BLK_N], parent="kernel")
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")
            m_st = Tx.meta_var(bx * BLK_M)
            n_st = Tx.meta_var(by * BLK_N)

            # Shared memory: the tiles, and the barriers that TMA arrives on. Registers: accumulator and result.
            pool = Tx.PoolAllocator()
            tma_bar = pool.alloc((PIPE_DEPTH,), "uint64")
            Asmem = pool.alloc((PIPE_DEPTH, BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((PIPE_DEPTH, BLK_N, BLK_K), dtype, layout=B_layout)
            Dsmem = pool.alloc((BLK_M, BLK_N), dtype, layout=D_layout)
            pool.commit()
            Dreg = Tx.alloc_local((DREG_N,), "float32")
            Dacc = Dreg.view(BLK_M, BLK_N, layout=D_fragment)
            Dreg_16b = Tx.alloc_local((DREG_N,), dtype)
            D_16b = Dreg_16b.view(BLK_M, BLK_N, layout=D_fragment)
            stage: Tx.int32
            phase_tma: Tx.int32
            stage = 0
            phase_tma = 0

            # Each barrier is initialised by one thread, for one arrival.
            if warp_id == 0:
                if lane_id == 0:
                    for i in Tx.unroll(PIPE_DEPTH):
                        Tx.ptx.mbarrier.init(tma_bar.ptr_to([i]), 1)
            Tx.ptx.fence.mbarrier_init()
            Tx.cuda.cta_sync()

            @Tx.inline
            def tma_load(stage, k):
                k_st = Tx.meta_var(k * BLK_K)
                tma = Tx.meta_var({"dispatch": "tma", "mbar": tma_bar.ptr_to([stage])})
                Tx.copy_async(Asmem[stage, :, :], A[m_st : m_st + BLK_M, k_st : k_st + BLK_K], **tma)
                Tx.copy_async(Bsmem[stage, :, :], B[n_st : n_st + BLK_N, k_st : k_st + BLK_K], **tma)
                Tx.ptx.mbarrier.arrive.expect_tx(tma_bar.ptr_to([stage]), TMA_BYTES)

            @Tx.inline
            def mma(stage, k):
                with Tx.warpgroup():
                    Tx.ptx.wgmma.fence()
                    Tx.gemm_async(Dacc[:, :], Asmem[stage, :, :], Bsmem[stage, :, :], accum=(k != 0), dispatch="wgmma")
                    Tx.ptx.wgmma.commit_group()
                    Tx.ptx.wgmma.wait_group(0)

            @Tx.inline
            def write_back():
                with Tx.thread():
                    Tx.cast(Dreg_16b[:], Dreg[:])
                # The copy ends with each thread's fence to the proxy through which TMA reads shared memory.
                with Tx.warpgroup():
                    Tx.copy(Dsmem[:, :], D_16b[:, :])
                Tx.cuda.cta_sync()
                if warp_id == 0:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        Tx.copy_async(D[m_st : m_st + BLK_M, n_st : n_st + BLK_N], Dsmem[:, :], dispatch="tma")
                        Tx.ptx.cp_async.bulk.commit_group()
                        Tx.ptx.cp_async.bulk.wait_group(0)

            # TODO: let one elected thread of warp 0 load the first PRE_NUM tiles, tile k into stage k.
            ...
            for k in range(K_TILES):
                Tx.ptx.mbarrier.try_wait(tma_bar.ptr_to([stage]), phase_tma)
                mma(stage, k)
                # TODO: load tile k + PIPE_DEPTH, where there is one, into the stage that is free now. Then go on to the
                # next stage, and flip the phase when stage comes back to 0.
                ...
            write_back()

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 6: a persistent kernel
#
# Two CTAs an SM compute tile after tile, in an order that is kind to the L2 cache. Stage and phase go on from tile to
# tile.
# ---------------------------------------------------------------------------------------------------------------------
def hgemm_v6(M, N, K, dtype="float16"):
    CTAS_PER_SM = 2
    PIPE_DEPTH = 2
    DREG_N = BLK_M * BLK_N // 128
    TMA_BYTES = (BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE
    check_shape("hgemm_v6", multiple={"M": (M, BLK_M), "N": (N, BLK_N), "K": (K, BLK_K)})
    K_TILES = K // BLK_K
    PRE_NUM = min(PIPE_DEPTH, K_TILES)
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_N, BLK_K))
    D_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_N))
    D_fragment = wgmma_accumulator_layout(BLK_N, BLK_M)

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx = Tx.cta_id([SM_COUNT * CTAS_PER_SM], parent="kernel")
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")

            # Clusters of one CTA here: CTA bx computes the tiles bx, bx + 264, … of the scheduler's order.
            tile_scheduler = ClusterPersistentScheduler2D(
                "ts",
                num_m_tiles=M // BLK_M,
                num_n_tiles=N // BLK_N,
                l2_group_size=8,
                num_clusters=SM_COUNT * CTAS_PER_SM,
            )
            tile_scheduler.init(bx)
            m_st = Tx.meta_var(tile_scheduler.m_idx * BLK_M)
            n_st = Tx.meta_var(tile_scheduler.n_idx * BLK_N)

            # Shared memory: the tiles, and the barriers that TMA arrives on. Registers: accumulator and result.
            pool = Tx.PoolAllocator()
            tma_bar = pool.alloc((PIPE_DEPTH,), "uint64")
            Asmem = pool.alloc((PIPE_DEPTH, BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((PIPE_DEPTH, BLK_N, BLK_K), dtype, layout=B_layout)
            Dsmem = pool.alloc((BLK_M, BLK_N), dtype, layout=D_layout)
            pool.commit()
            Dreg = Tx.alloc_local((DREG_N,), "float32")
            Dacc = Dreg.view(BLK_M, BLK_N, layout=D_fragment)
            Dreg_16b = Tx.alloc_local((DREG_N,), dtype)
            D_16b = Dreg_16b.view(BLK_M, BLK_N, layout=D_fragment)
            stage: Tx.int32
            phase_tma: Tx.int32
            stage = 0
            phase_tma = 0

            # Each barrier is initialised by one thread, for one arrival.
            if warp_id == 0:
                if lane_id == 0:
                    for i in Tx.unroll(PIPE_DEPTH):
                        Tx.ptx.mbarrier.init(tma_bar.ptr_to([i]), 1)
            Tx.ptx.fence.mbarrier_init()
            Tx.cuda.cta_sync()

            @Tx.inline
            def tma_load(stage, k):
                k_st = Tx.meta_var(k * BLK_K)
                tma = Tx.meta_var({"dispatch": "tma", "mbar": tma_bar.ptr_to([stage])})
                Tx.copy_async(Asmem[stage, :, :], A[m_st : m_st + BLK_M, k_st : k_st + BLK_K], **tma)
                Tx.copy_async(Bsmem[stage, :, :], B[n_st : n_st + BLK_N, k_st : k_st + BLK_K], **tma)
                Tx.ptx.mbarrier.arrive.expect_tx(tma_bar.ptr_to([stage]), TMA_BYTES)

            @Tx.inline
            def mma(stage, k):
                with Tx.warpgroup():
                    Tx.ptx.wgmma.fence()
                    Tx.gemm_async(Dacc[:, :], Asmem[stage, :, :], Bsmem[stage, :, :], accum=(k != 0), dispatch="wgmma")
                    Tx.ptx.wgmma.commit_group()
                    Tx.ptx.wgmma.wait_group(0)

            @Tx.inline
            def write_back():
                with Tx.thread():
                    Tx.cast(Dreg_16b[:], Dreg[:])
                # The copy ends with each thread's fence to the proxy through which TMA reads shared memory.
                with Tx.warpgroup():
                    Tx.copy(Dsmem[:, :], D_16b[:, :])
                Tx.cuda.cta_sync()
                if warp_id == 0:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        Tx.copy_async(D[m_st : m_st + BLK_M, n_st : n_st + BLK_N], Dsmem[:, :], dispatch="tma")
                        Tx.ptx.cp_async.bulk.commit_group()
                        Tx.ptx.cp_async.bulk.wait_group(0)
                # TODO: let nobody overwrite Dsmem with the next tile before the store has read it: only one thread has
                # waited for that.
                ...

            while tile_scheduler.valid():
                if warp_id == 0:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        for k in range(PRE_NUM):
                            # TODO: load tile k. The first stage is not 0 any more, but where the last tile of D ended.
                            ...
                for k in range(K_TILES):
                    Tx.ptx.mbarrier.try_wait(tma_bar.ptr_to([stage]), phase_tma)
                    mma(stage, k)
                    # The MMAs that read this stage are done, of all four warps; the other stage's load is under way.
                    if k + PIPE_DEPTH < K_TILES:
                        if warp_id == 0:
                            with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                                tma_load(stage, k + PIPE_DEPTH)
                    stage = (stage + 1) % PIPE_DEPTH
                    if stage == 0:
                        phase_tma = phase_tma ^ 1
                # TODO: write back, and go on to the scheduler's next tile.
                ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 7: warp specialisation
#
#   warp 4, one thread   TMA                  tma2mma: data is in shared memory
#   warps 0 to 3         MMA and write-back   mma2tma: shared memory is free
#
# Two loops over the same tiles. Each side waits for what the other signals, and counts its own stages and phases.
# ---------------------------------------------------------------------------------------------------------------------
def hgemm_v7(M, N, K, dtype="float16"):
    CTAS_PER_SM = 2
    CONSUMER_WARPS = 4
    PIPE_DEPTH = 2
    DREG_N = BLK_M * BLK_N // 128
    TMA_BYTES = (BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE
    check_shape("hgemm_v7", multiple={"M": (M, BLK_M), "N": (N, BLK_N), "K": (K, BLK_K)})
    K_TILES = K // BLK_K
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_N, BLK_K))
    D_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_N))
    D_fragment = wgmma_accumulator_layout(BLK_N, BLK_M)

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx = Tx.cta_id([SM_COUNT * CTAS_PER_SM], parent="kernel")
            warp_id = Tx.warp_id([CONSUMER_WARPS + 1], parent="cta")
            lane_id = Tx.thread_id([32], parent="warp")

            # Clusters of one CTA here: CTA bx computes the tiles bx, bx + 264, … of the scheduler's order.
            tile_scheduler = ClusterPersistentScheduler2D(
                "ts",
                num_m_tiles=M // BLK_M,
                num_n_tiles=N // BLK_N,
                l2_group_size=8,
                num_clusters=SM_COUNT * CTAS_PER_SM,
            )
            tile_scheduler.init(bx)
            m_st = Tx.meta_var(tile_scheduler.m_idx * BLK_M)
            n_st = Tx.meta_var(tile_scheduler.n_idx * BLK_N)

            # Shared memory: the barriers between the actors, and the tiles.
            pool = Tx.PoolAllocator()
            tma2mma = TMABar(pool, PIPE_DEPTH, "tma2mma")
            mma2tma = MBarrier(pool, PIPE_DEPTH, "mma2tma")
            Asmem = pool.alloc((PIPE_DEPTH, BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((PIPE_DEPTH, BLK_N, BLK_K), dtype, layout=B_layout)
            Dsmem = pool.alloc((BLK_M, BLK_N), dtype, layout=D_layout)
            pool.commit()

            # init(n): n arrivals complete a phase. Thread 0 of the CTA executes it, so no guard may stand around it.
            # TODO: initialise both barriers: bar.init(number of arrivals in a phase). No guard may stand around it.
            ...
            Tx.ptx.fence.mbarrier_init()
            Tx.cuda.cta_sync()

            # One state for each end: TMA and MMA step through the stages.
            tma_phase = PipelineState("tma", PIPE_DEPTH)
            mma_phase = PipelineState("mma", PIPE_DEPTH)
            tma_phase.init(is_producer=True)
            mma_phase.init(is_producer=False)

            @Tx.inline
            def tma_load(stage, k):
                k_st = Tx.meta_var(k * BLK_K)
                tma = Tx.meta_var({"dispatch": "tma", "mbar": tma2mma.ptr_to([stage])})
                tma2mma.arrive(stage, TMA_BYTES)
                Tx.copy_async(Asmem[stage, :, :], A[m_st : m_st + BLK_M, k_st : k_st + BLK_K], **tma)
                Tx.copy_async(Bsmem[stage, :, :], B[n_st : n_st + BLK_N, k_st : k_st + BLK_K], **tma)

            @Tx.inline
            def release(stage):
                if warp_id == 0:
                    if lane_id == 0:
                        mma2tma.arrive(stage)

            if warp_id == CONSUMER_WARPS:
                with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                    while tile_scheduler.valid():
                        for k in range(K_TILES):
                            # TODO: wait until the stage is free (mma2tma), load into it, and go on to the next stage.
                            ...
                        tile_scheduler.next_tile()
            else:
                Dreg = Tx.alloc_local((DREG_N,), "float32")
                Dacc = Dreg.view(BLK_M, BLK_N, layout=D_fragment)
                Dreg_16b = Tx.alloc_local((DREG_N,), dtype)
                D_16b = Dreg_16b.view(BLK_M, BLK_N, layout=D_fragment)

                @Tx.inline
                def mma(stage, k):
                    with Tx.warpgroup():
                        Tx.ptx.wgmma.fence()
                        Tx.gemm_async(
                            Dacc[:, :], Asmem[stage, :, :], Bsmem[stage, :, :], accum=(k != 0), dispatch="wgmma"
                        )
                        Tx.ptx.wgmma.commit_group()

                @Tx.inline
                def write_back():
                    with Tx.thread():
                        Tx.cast(Dreg_16b[:], Dreg[:])
                    # The copy ends with each thread's fence to the proxy through which TMA reads shared memory.
                    with Tx.warpgroup():
                        Tx.copy(Dsmem[:, :], D_16b[:, :])
                    Tx.cuda.warpgroup_sync(1)
                    if warp_id == 0:
                        with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                            Tx.copy_async(D[m_st : m_st + BLK_M, n_st : n_st + BLK_N], Dsmem[:, :], dispatch="tma")
                            Tx.ptx.cp_async.bulk.commit_group()
                            Tx.ptx.cp_async.bulk.wait_group(0)
                    # The next tile overwrites Dsmem.
                    Tx.cuda.warpgroup_sync(1)

                while tile_scheduler.valid():
                    for k in range(K_TILES):
                        # TODO: wait until the stage is loaded (tma2mma), multiply, wait for the MMAs (in warpgroup
                        # scope), release the stage, and go on to the next one.
                        ...
                    write_back()
                    tile_scheduler.next_tile()

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 8: nothing waits before it must
#
# Four stages, one CTA an SM. One group of MMAs stays in flight, and so does the store.
# ---------------------------------------------------------------------------------------------------------------------
def hgemm_v8(M, N, K, dtype="float16"):
    CONSUMER_WARPS = 4
    PIPE_DEPTH = 4
    DREG_N = BLK_M * BLK_N // 128
    TMA_BYTES = (BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE
    check_shape("hgemm_v8", multiple={"M": (M, BLK_M), "N": (N, BLK_N), "K": (K, BLK_K)})
    K_TILES = K // BLK_K
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_N, BLK_K))
    D_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_N))
    D_fragment = wgmma_accumulator_layout(BLK_N, BLK_M)

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx = Tx.cta_id([SM_COUNT], parent="kernel")
            warp_id = Tx.warp_id([CONSUMER_WARPS + 1], parent="cta")
            lane_id = Tx.thread_id([32], parent="warp")

            # Clusters of one CTA here: CTA bx computes the tiles bx, bx + SM_COUNT, … of the scheduler's order.
            tile_scheduler = ClusterPersistentScheduler2D(
                "ts", num_m_tiles=M // BLK_M, num_n_tiles=N // BLK_N, l2_group_size=8, num_clusters=SM_COUNT
            )
            tile_scheduler.init(bx)
            m_st = Tx.meta_var(tile_scheduler.m_idx * BLK_M)
            n_st = Tx.meta_var(tile_scheduler.n_idx * BLK_N)

            # Shared memory: the barriers between the actors, and the tiles.
            pool = Tx.PoolAllocator()
            tma2mma = TMABar(pool, PIPE_DEPTH, "tma2mma")
            mma2tma = MBarrier(pool, PIPE_DEPTH, "mma2tma")
            Asmem = pool.alloc((PIPE_DEPTH, BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((PIPE_DEPTH, BLK_N, BLK_K), dtype, layout=B_layout)
            Dsmem = pool.alloc((BLK_M, BLK_N), dtype, layout=D_layout)
            pool.commit()

            # init(n): n arrivals complete a phase. Thread 0 of the CTA executes it, so no guard may stand around it.
            tma2mma.init(1)
            mma2tma.init(1)
            Tx.ptx.fence.mbarrier_init()
            Tx.cuda.cta_sync()

            # One state for each end: TMA and MMA step through the stages.
            tma_phase = PipelineState("tma", PIPE_DEPTH)
            mma_phase = PipelineState("mma", PIPE_DEPTH)
            tma_phase.init(is_producer=True)
            mma_phase.init(is_producer=False)

            @Tx.inline
            def tma_load(stage, k):
                k_st = Tx.meta_var(k * BLK_K)
                tma = Tx.meta_var({"dispatch": "tma", "mbar": tma2mma.ptr_to([stage])})
                tma2mma.arrive(stage, TMA_BYTES)
                Tx.copy_async(Asmem[stage, :, :], A[m_st : m_st + BLK_M, k_st : k_st + BLK_K], **tma)
                Tx.copy_async(Bsmem[stage, :, :], B[n_st : n_st + BLK_N, k_st : k_st + BLK_K], **tma)

            @Tx.inline
            def release(stage):
                if warp_id == 0:
                    if lane_id == 0:
                        mma2tma.arrive(stage)

            if warp_id == CONSUMER_WARPS:
                with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                    while tile_scheduler.valid():
                        for k in range(K_TILES):
                            mma2tma.wait(tma_phase.stage, tma_phase.phase)
                            tma_load(tma_phase.stage, k)
                            tma_phase.move_to_next_stage()
                        tile_scheduler.next_tile()
            else:
                Dreg = Tx.alloc_local((DREG_N,), "float32")
                Dacc = Dreg.view(BLK_M, BLK_N, layout=D_fragment)
                Dreg_16b = Tx.alloc_local((DREG_N,), dtype)
                D_16b = Dreg_16b.view(BLK_M, BLK_N, layout=D_fragment)
                last: Tx.int32
                last = 0

                @Tx.inline
                def mma(stage, k):
                    with Tx.warpgroup():
                        Tx.ptx.wgmma.fence()
                        Tx.gemm_async(
                            Dacc[:, :], Asmem[stage, :, :], Bsmem[stage, :, :], accum=(k != 0), dispatch="wgmma"
                        )
                        Tx.ptx.wgmma.commit_group()

                @Tx.inline
                def write_back():
                    # TODO: before Dsmem is overwritten, the thread that stored the last tile waits until it has been
                    # read:
                    #   Tx.ptx.cp_async.bulk.wait_group(0, read=True)
                    # Bulk groups are a thread's own: it has to be the one that committed them.
                    ...
                    with Tx.thread():
                        Tx.cast(Dreg_16b[:], Dreg[:])
                    Tx.cuda.warpgroup_sync(1)
                    # The copy ends with each thread's fence to the proxy through which TMA reads shared memory.
                    with Tx.warpgroup():
                        Tx.copy(Dsmem[:, :], D_16b[:, :])
                    Tx.cuda.warpgroup_sync(1)
                    if warp_id == 0:
                        if lane_id == 0:
                            Tx.copy_async(D[m_st : m_st + BLK_M, n_st : n_st + BLK_N], Dsmem[:, :], dispatch="tma")
                            Tx.ptx.cp_async.bulk.commit_group()

                while tile_scheduler.valid():
                    for k in range(K_TILES):
                        tma2mma.wait(mma_phase.stage, mma_phase.phase)
                        mma(mma_phase.stage, k)
                        # TODO: keep one group in flight: wait_group(1), and release the stage of the turn before
                        # (`last`), if there was one; then remember this stage in `last` and go on.
                        ...
                    # TODO: wait for the rest, and release the last stage.
                    ...
                    write_back()
                    tile_scheduler.next_tile()
                # TODO: after the last tile, wait for the last store.
                ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 9: clusters of two CTAs
#
# The pair computes 256 × 128 of D, and shares B: each CTA loads half of B's tile for both, by multicast. A stage is
# free when both consumers have done with it, so each arrives at both CTAs' mma2tma.
# ---------------------------------------------------------------------------------------------------------------------
def hgemm_v9(M, N, K, dtype="float16"):
    CLUSTER = 2
    NUM_CLUSTERS = SM_COUNT // CLUSTER
    B_PART = BLK_N // CLUSTER
    CONSUMER_WARPS = 4
    PIPE_DEPTH = 6
    DREG_N = BLK_M * BLK_N // 128
    TMA_BYTES = (BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE
    check_shape("hgemm_v9", multiple={"M": (M, BLK_M * CLUSTER), "N": (N, BLK_N), "K": (K, BLK_K)})
    K_TILES = K // BLK_K
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_N, BLK_K))
    D_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_N))
    D_fragment = wgmma_accumulator_layout(BLK_N, BLK_M)

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx = Tx.cta_id([SM_COUNT], parent="kernel")
            cbx, cby = Tx.cta_id([CLUSTER, 1], parent="cluster")
            warp_id = Tx.warp_id([CONSUMER_WARPS + 1], parent="cta")
            lane_id = Tx.thread_id([32], parent="warp")

            # A cluster computes every NUM_CLUSTERS-th tile of the scheduler's order. The lower half of them begins with
            # the tiles of even number: of a group's 4 rows, a cluster and its neighbours stay with 2. m_st: this CTA's
            # rows of A and D. n_st: the columns of D, which are the rows of B, of both.
            cluster = Tx.meta_var(bx // CLUSTER)
            tile_scheduler = ClusterPersistentScheduler2D(
                "ts",
                num_m_tiles=M // (BLK_M * CLUSTER),
                num_n_tiles=N // BLK_N,
                l2_group_size=4,
                num_clusters=NUM_CLUSTERS,
            )
            tile_scheduler.init(cluster % (NUM_CLUSTERS // 2) * 2 + cluster // (NUM_CLUSTERS // 2))
            m_st = Tx.meta_var((tile_scheduler.m_idx * CLUSTER + cbx) * BLK_M)
            n_st = Tx.meta_var(tile_scheduler.n_idx * BLK_N)

            # Shared memory: the barriers between the actors, and the tiles.
            pool = Tx.PoolAllocator()
            tma2mma = TMABar(pool, PIPE_DEPTH, "tma2mma")
            mma2tma = MBarrier(pool, PIPE_DEPTH, "mma2tma")
            Asmem = pool.alloc((PIPE_DEPTH, BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((PIPE_DEPTH, BLK_N, BLK_K), dtype, layout=B_layout)
            Dsmem = pool.alloc((BLK_M, BLK_N), dtype, layout=D_layout)
            pool.commit()

            # init(n): n arrivals complete a phase. Thread 0 of the CTA executes it, so no guard may stand around it.
            tma2mma.init(1)
            # TODO: initialise mma2tma. How many consumers arrive in each phase?
            ...
            Tx.ptx.fence.mbarrier_init()
            # The other CTA's barriers are there once all threads of the cluster have come here.
            Tx.cuda.cluster_sync()

            # One state for each end: TMA and MMA step through the stages.
            tma_phase = PipelineState("tma", PIPE_DEPTH)
            mma_phase = PipelineState("mma", PIPE_DEPTH)
            tma_phase.init(is_producer=True)
            mma_phase.init(is_producer=False)

            @Tx.inline
            def tma_load(stage, k):
                k_st = Tx.meta_var(k * BLK_K)
                tma = Tx.meta_var({"dispatch": "tma", "mbar": tma2mma.ptr_to([stage])})
                tma2mma.arrive(stage, TMA_BYTES)
                Tx.copy_async(Asmem[stage, :, :], A[m_st : m_st + BLK_M, k_st : k_st + BLK_K], **tma)
                b_st = Tx.meta_var(cbx * B_PART)
                # TODO: load B_PART rows of B, from row n_st + b_st on, to the same rows of the tile in both CTAs:
                # cta_mask=0b11.
                ...

            @Tx.inline
            def release(stage):
                # Lane r tells CTA r.
                # TODO: arrive at the stage's mma2tma in both CTAs: lanes 0 and 1 of warp 0, each with its own cta_id.
                ...

            if warp_id == CONSUMER_WARPS:
                with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                    while tile_scheduler.valid():
                        for k in range(K_TILES):
                            mma2tma.wait(tma_phase.stage, tma_phase.phase)
                            tma_load(tma_phase.stage, k)
                            tma_phase.move_to_next_stage()
                        tile_scheduler.next_tile()
            else:
                Dreg = Tx.alloc_local((DREG_N,), "float32")
                Dacc = Dreg.view(BLK_M, BLK_N, layout=D_fragment)
                Dreg_16b = Tx.alloc_local((DREG_N,), dtype)
                D_16b = Dreg_16b.view(BLK_M, BLK_N, layout=D_fragment)
                last: Tx.int32
                last = 0

                @Tx.inline
                def mma(stage, k):
                    with Tx.warpgroup():
                        Tx.ptx.wgmma.fence()
                        Tx.gemm_async(
                            Dacc[:, :], Asmem[stage, :, :], Bsmem[stage, :, :], accum=(k != 0), dispatch="wgmma"
                        )
                        Tx.ptx.wgmma.commit_group()

                @Tx.inline
                def write_back():
                    # The last store has read Dsmem; then all threads may overwrite it.
                    if warp_id == 0:
                        if lane_id == 0:
                            Tx.ptx.cp_async.bulk.wait_group(0, read=True)
                    with Tx.thread():
                        Tx.cast(Dreg_16b[:], Dreg[:])
                    Tx.cuda.warpgroup_sync(1)
                    # The copy ends with each thread's fence to the proxy through which TMA reads shared memory.
                    with Tx.warpgroup():
                        Tx.copy(Dsmem[:, :], D_16b[:, :])
                    Tx.cuda.warpgroup_sync(1)
                    if warp_id == 0:
                        if lane_id == 0:
                            Tx.copy_async(D[m_st : m_st + BLK_M, n_st : n_st + BLK_N], Dsmem[:, :], dispatch="tma")
                            Tx.ptx.cp_async.bulk.commit_group()

                while tile_scheduler.valid():
                    for k in range(K_TILES):
                        tma2mma.wait(mma_phase.stage, mma_phase.phase)
                        mma(mma_phase.stage, k)
                        with Tx.warpgroup():
                            Tx.ptx.wgmma.wait_group(1)
                        if k > 0:
                            release(last)
                        last = mma_phase.stage
                        mma_phase.move_to_next_stage()
                    with Tx.warpgroup():
                        Tx.ptx.wgmma.wait_group(0)
                    release(last)
                    write_back()
                    tile_scheduler.next_tile()
                # Shared memory must be there until the last store has read it.
                if warp_id == 0:
                    if lane_id == 0:
                        Tx.ptx.cp_async.bulk.wait_group(0)

            # TODO: let no CTA end while the other still loads into it or arrives at its barriers.
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 10: two consumers that take turns
#
#   warpgroup 0, one thread    TMA                  loads the tiles of A and B for both, in the order of tiles
#   warpgroup 1                MMA and write-back   the tiles of even number among the CTA's
#   warpgroup 2                MMA and write-back   the tiles of odd number
#
# While one consumer multiplies, the other rounds and stores: the tensor core never waits for a write-back. Both take
# their stages from one pipeline, so a consumer steps over the stages that are the other's, and waits for its turn.
#
# The rest is for what lies between the SMs: the tile with which they are done first, an order of tiles in which
# neighbours share rows of A and B, and a launch that begins while the kernel before still runs.
# ---------------------------------------------------------------------------------------------------------------------
TILES = ((128, 128), (128, 160), (128, 192), (64, 128))


def tile_shape(M, N):
    """BLK_M, BLK_N: of all `TILES`, those with which the SMs have done M × N first."""

    def time(tile):
        rounds = ceil(ceil(M / tile[0]) * ceil(N / tile[1]) / SM_COUNT)
        # A tile takes as long as it is large. Large ones use what they load more often, which is worth a little.
        return rounds * (tile[0] * tile[1] + 512)

    return min(TILES, key=time)


def hgemm_v10(M, N, K, dtype="float16"):
    NUM_CONSUMER = 2
    EPI_DEPTH = 2
    WG_NUMBER = 1 + NUM_CONSUMER
    WG_WARPS = 4
    SMEM_BYTES = 226 * 1024
    PRODUCER_REGS, CONSUMER_REGS = 24, 240
    check_shape("hgemm_v10", multiple={"M": (M, 64), "N": (N, 64), "K": (K, BLK_K)})
    BLK_M, BLK_N = tile_shape(M, N)
    # A tile may hang over the edge of D: TMA loads zeros there, and stores nothing.
    M_TILES, N_TILES, K_TILES = ceil(M / BLK_M), ceil(N / BLK_N), K // BLK_K
    EPI_M, EPI_N = 64, 64 if BLK_N == 128 else 32
    EPI_COLS = BLK_N // EPI_N
    EPI_REGS = EPI_M * EPI_N // 128
    DREG_N = BLK_M * BLK_N // 128
    TMA_BYTES = (BLK_M + BLK_N) * BLK_K * DTYPE_SIZE
    PIPE_DEPTH = (SMEM_BYTES - NUM_CONSUMER * EPI_DEPTH * EPI_M * EPI_N * DTYPE_SIZE) // TMA_BYTES
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_N, BLK_K))
    D_swizzle = SwizzleMode.SWIZZLE_64B_ATOM if EPI_N == 32 else SwizzleMode.SWIZZLE_128B_ATOM
    D_layout = tma_shared_layout(dtype, D_swizzle, (NUM_CONSUMER, EPI_DEPTH, EPI_M, EPI_N))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx = Tx.cta_id([SM_COUNT], parent="kernel")
            wg_id = Tx.warpgroup_id([WG_NUMBER], parent="cta")
            warp_id = Tx.warp_id([WG_WARPS], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")

            # A CTA computes every SM_COUNT-th tile of the scheduler's order, its consumers every other one of those.
            # CTAs of neighbouring numbers run close together: the lower half of them begins with the tiles of even
            # number, so 16 neighbours have 4 rows × 4 columns of tiles, which need fewer rows of A and B than 8 × 2.
            tile_scheduler = ClusterPersistentScheduler2D(
                "ts", num_m_tiles=M_TILES, num_n_tiles=N_TILES, l2_group_size=8, num_clusters=SM_COUNT
            )
            tile_scheduler.init(bx % (SM_COUNT // 2) * 2 + bx // (SM_COUNT // 2))
            m_st = Tx.meta_var(tile_scheduler.m_idx * BLK_M)
            n_st = Tx.meta_var(tile_scheduler.n_idx * BLK_N)

            # Shared memory: the barriers between the actors, and the tiles.
            pool = Tx.PoolAllocator()
            tma2mma = TMABar(pool, PIPE_DEPTH, "tma2mma")
            mma2tma = MBarrier(pool, PIPE_DEPTH, "mma2tma")
            turn = MBarrier(pool, NUM_CONSUMER, "turn")
            Asmem = pool.alloc((PIPE_DEPTH, BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((PIPE_DEPTH, BLK_N, BLK_K), dtype, layout=B_layout)
            Dsmem = pool.alloc((NUM_CONSUMER, EPI_DEPTH, EPI_M, EPI_N), dtype, layout=D_layout)
            pool.commit()

            # init(n): n arrivals complete a phase. Thread 0 of the CTA executes it, so no guard may stand around it.
            tma2mma.init(1)
            # TODO: initialise mma2tma and turn. A stage is loaded for one of the consumers: how many release it? At a
            # turn, each of the WG_WARPS warps of the consumer that hands over arrives once.
            ...
            Tx.ptx.fence.mbarrier_init()
            Tx.cuda.cta_sync()

            # One state for each end: TMA and MMA step through the stages.
            tma_phase = PipelineState("tma", PIPE_DEPTH)
            mma_phase = PipelineState("mma", PIPE_DEPTH)
            tma_phase.init(is_producer=True)
            mma_phase.init(is_producer=False)

            @Tx.inline
            def tma_load(stage, k):
                k_st = Tx.meta_var(k * BLK_K)
                tma = Tx.meta_var({"dispatch": "tma", "mbar": tma2mma.ptr_to([stage])})
                tma2mma.arrive(stage, TMA_BYTES)
                Tx.copy_async(Asmem[stage, :, :], A[m_st : m_st + BLK_M, k_st : k_st + BLK_K], **tma)
                Tx.copy_async(Bsmem[stage, :, :], B[n_st : n_st + BLK_N, k_st : k_st + BLK_K], **tma)

            @Tx.inline
            def release(stage):
                if warp_id == 0:
                    if lane_id == 0:
                        mma2tma.arrive(stage)

            if wg_id == 0:
                # TODO: give up registers: Tx.ptx.setmaxnreg.dec(PRODUCER_REGS). Three warpgroups leave each thread 168,
                # and a consumer needs more. All four warps of the warpgroup execute it.
                ...
                if warp_id == 0:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        # The kernel before this one may still run. All that is done here with A, B and D follows from
                        # the loads, so it is enough that they wait for it.
                        # TODO: wait for it, ahead of the first load: Tx.ptx.griddepcontrol.wait(). A kernel that has
                        # this is launched early, and sets up its barriers in the meantime.
                        ...
                        while tile_scheduler.valid():
                            for k in range(K_TILES):
                                mma2tma.wait(tma_phase.stage, tma_phase.phase)
                                tma_load(tma_phase.stage, k)
                                tma_phase.move_to_next_stage()
                            tile_scheduler.next_tile()
            else:
                # TODO: take registers: Tx.ptx.setmaxnreg.inc(CONSUMER_REGS). It waits until there are enough.
                ...
                Dreg = Tx.alloc_local((DREG_N,), "float32")
                Dacc = Dreg.view(BLK_M, BLK_N, layout=wgmma_accumulator_layout(BLK_N, BLK_M))
                Dreg_16b = Tx.alloc_local((EPI_REGS,), dtype)
                D_16b = Dreg_16b.view(EPI_M, EPI_N, layout=wgmma_accumulator_layout(EPI_N))
                consumer = Tx.meta_var(wg_id - 1)
                last: Tx.int32
                last = 0

                @Tx.inline
                def mma(stage, k):
                    with Tx.warpgroup():
                        # TODO: fence, multiply and commit, as in step 9: each consumer has a whole tile to itself. How
                        # large it is, gemm_async sees from its operands.
                        ...

                @Tx.inline
                def write_back():
                    for i in Tx.unroll(BLK_M // EPI_M * EPI_COLS):
                        # The last store but one has read its part of Dsmem; then all threads may overwrite that.
                        # TODO: the wait, by the thread that stores: wait_group(EPI_DEPTH - 1, read=True) leaves the
                        # last store in flight, which reads the other buffer. Then tell the warpgroup:
                        # Tx.cuda.warpgroup_sync(wg_id). Each consumer has a named barrier of its own: they are at
                        # different places of their work, and neither may wait for the other here.
                        ...
                        # TODO: round the EPI_REGS registers from i * EPI_REGS on, which are the i-th part of the tile
                        # (EPI_M × EPI_N), and copy them to this consumer's buffer i % EPI_DEPTH, as in step 9; then
                        # warpgroup_sync(wg_id) again.
                        ...
                        if warp_id == 0:
                            if lane_id == 0:
                                m_epi = Tx.meta_var(m_st + i // EPI_COLS * EPI_M)
                                n_epi = Tx.meta_var(n_st + i % EPI_COLS * EPI_N)
                                # Nothing reads D again: the L2 cache need not keep it.
                                Tx.copy_async(
                                    D[m_epi : m_epi + EPI_M, n_epi : n_epi + EPI_N],
                                    Dsmem[consumer, i % EPI_DEPTH, :, :],
                                    dispatch="tma",
                                    cache_hint="evict_first",
                                )
                                Tx.ptx.cp_async.bulk.commit_group()

                turn_phase = PipelineState("turn", 1)
                turn_phase.init(is_producer=(consumer == 0))
                # TODO: the CTA's first tile is consumer 0's. Let consumer 1 step over it, in the order of tiles
                # (next_tile) and in the pipeline: mma_phase.skip(n) goes on by n stages at once; a tile has K_TILES.
                ...
                while tile_scheduler.valid():
                    # TODO: wait for this consumer's turn, turn.wait(consumer, turn_phase.phase), and let turn_phase
                    # move on. The waits below are not enough: a wait for phase n of a stage knows n by its parity only,
                    # so it lets through while phase n - 1 is not complete, and that one can be the other consumer's.
                    ...
                    for k in range(K_TILES):
                        tma2mma.wait(mma_phase.stage, mma_phase.phase)
                        mma(mma_phase.stage, k)
                        with Tx.warpgroup():
                            Tx.ptx.wgmma.wait_group(1)
                        if k > 0:
                            release(last)
                        last = mma_phase.stage
                        mma_phase.move_to_next_stage()
                    # One thread a warp: all four have come past their waits when the other consumer begins.
                    # TODO: hand over: lane 0 of each warp arrives at the turn of the other, 1 - consumer. It is here,
                    # before the wait for the last MMAs, that the other's can follow them without a gap.
                    ...
                    with Tx.warpgroup():
                        Tx.ptx.wgmma.wait_group(0)
                    release(last)
                    # TODO: step over the stages of the other's next tile (mma_phase.skip), write back, and go on by two
                    # tiles: the one between is the other's. write_back still needs this tile's m_st and n_st.
                    ...
                # Shared memory must be there until the last store has read it.
                if warp_id == 0:
                    if lane_id == 0:
                        Tx.ptx.cp_async.bulk.wait_group(0)

    return kernel
