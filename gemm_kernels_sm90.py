"""The assignment for Hopper: the same ten GEMM kernels with wgmma, each of which extends the previous one.

All of them compute D = A @ B.T for A (M, K), B (N, K) and D (M, N), in float16 or bfloat16, and accumulate in float32.

Replace the `...` below each TODO. In steps 1 to 3, a TODO names the calls. From step 4 on, it says what must be true:
which data a thread or an engine must see first, which role may run ahead, how many arrivals complete a phase. The
calls are on one sheet, docs/calls.md. The pages describe Blackwell; docs/guide/hopper.md says where Hopper differs.

    docs/steps/step01.md                                                the page of step 1
    docs/glossary.md                                                    every term
    docs/calls.md                                                       all calls on one sheet
    docs/reference/index.md                                             every call, with all options
    python -m tirx_mini hint 1 --kernels gemm_kernels_sm90.py           a hint for the first open TODO of step 1
    python -m tirx_mini check gemm_kernels_sm90.py:hgemm_v1             what is wrong, also of an unfinished step
    python -m pytest tests/test_step01.py -xvs --target sim:h100        the test of step 1, in the simulator
    python -m pytest tests/test_step01.py -xvs --target cuda            the same on an H100
    python -m tirx_mini progress gemm_kernels_sm90.py                   where you are, and what is next
"""

# For editors: check this file, in which the annotations of kernels are values.
# pyright: basic, reportInvalidTypeForm=false

from math import ceil

from tirx_mini.lang import ClusterPersistentScheduler2D, MBarrier, PipelineState, TMABar
from tirx_mini.layout import SwizzleMode, tma_shared_layout, wgmma_accumulator_layout
from tirx_mini.script import tirx as Tx
from utils import check_shape

SM_COUNT = 132  # streaming multiprocessors of an H100 SXM
BLK_M, BLK_N, BLK_K = 128, 128, 64  # a tile: BLK_M × BLK_N elements of D, computed from BLK_K columns at a time
DTYPE_SIZE = 2  # bytes per float16 or bfloat16


# ---------------------------------------------------------------------------------------------------------------------
# Step 1: a single tile, M = N = 128, K = 64 (docs/steps/step01.md)
#
#   A, B in global memory -> shared memory    Tx.copy by all threads of the CTA
#   shared memory -> registers                Tx.gemm_async by the warpgroup; the tensor core runs asynchronously
#   registers -> D in global memory           Tx.cast and Tx.copy by each thread
#
# The tensor core distributes its result over the registers of 128 threads. D_fragment maps each element to a thread and
# a register; a view with this layout is used like any other tile.
#
# The memories: docs/concepts/memory.md. Threads, warps, warpgroups, elect_sync: docs/concepts/warps.md. Layouts and
# swizzles: docs/concepts/shared-memory.md. wgmma: docs/guide/hopper.md.
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

            # Shared memory: the operand tiles. Registers: the accumulator in float32, and the result in 16 bits.
            pool = Tx.PoolAllocator()
            Asmem = pool.alloc((BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((BLK_N, BLK_K), dtype, layout=B_layout)
            pool.commit()
            Dreg = Tx.alloc_local((DREG_N,), "float32")
            Dacc = Dreg.view(BLK_M, BLK_N, layout=D_fragment)
            Dreg_16b = Tx.alloc_local((DREG_N,), dtype)
            D_16b = Dreg_16b.view(BLK_M, BLK_N, layout=D_fragment)

            # TODO: copy A and B to Asmem and Bsmem with all threads.
            #   with Tx.cta(): Tx.copy(destination, source)
            # Then call Tx.cuda.cta_sync(): each warp must wait for the stores of the other three before it issues the
            # MMAs.
            ...

            # TODO: multiply with the whole warpgroup: with Tx.warpgroup(): the four calls
            #   Tx.ptx.wgmma.fence()
            #   Tx.gemm_async(Dacc[:, :], Asmem[:, :], Bsmem[:, :], accum=False, dispatch="wgmma")
            #   Tx.ptx.wgmma.commit_group()
            #   Tx.ptx.wgmma.wait_group(0)
            # The fence hands the accumulators over to the tensor core. gemm_async returns at once. commit_group closes
            # the group of the issued MMAs, and wait_group(0) waits until all groups have completed. Until then, no
            # thread may access Dreg.
            ...

            # TODO: write back. with Tx.thread(): Tx.cast all of Dreg to Dreg_16b. with Tx.warpgroup(): Tx.copy the view
            # D_16b to D. Each thread casts its own registers; for the copy, the layout of the view gives the place of
            # each element.
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 2: a loop over K, M = N = 128 (docs/steps/step02.md)
#
# Each iteration loads the next BLK_K columns of A and B and adds their product to the accumulators.
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

            # Shared memory: the operand tiles. Registers: the accumulator in float32, and the result in 16 bits.
            pool = Tx.PoolAllocator()
            Asmem = pool.alloc((BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((BLK_N, BLK_K), dtype, layout=B_layout)
            pool.commit()
            Dreg = Tx.alloc_local((DREG_N,), "float32")
            Dacc = Dreg.view(BLK_M, BLK_N, layout=D_fragment)
            Dreg_16b = Tx.alloc_local((DREG_N,), dtype)
            D_16b = Dreg_16b.view(BLK_M, BLK_N, layout=D_fragment)

            for k in range(K_TILES):
                # TODO: write one iteration. Copy the BLK_K columns of A and B from k * BLK_K on to shared memory, and
                # call cta_sync. Multiply as in step 1, but with accum=(k != 0): the first product must overwrite the
                # registers, whose initial contents are undefined; the others are added to them. The copies of the next
                # iteration overwrite the tiles: which call above has waited for the MMAs of all four warps?
                ...

            # Write back: each thread stores its own elements.
            with Tx.thread():
                Tx.cast(Dreg_16b[:], Dreg[:])
            with Tx.warpgroup():
                Tx.copy(D[:, :], D_16b[:, :])

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 3: a grid of CTAs, one per 128 × 128 tile of D (docs/steps/step03.md)
#
# Only the position of the tile is new: CTA (bx, by) computes the tile of D that starts at row m_st and column n_st.
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
            # TODO: compute the first row, m_st, and the first column, n_st, of the CTA's tile from bx and by.
            #   m_st = Tx.meta_var(…)
            ...

            # Shared memory: the operand tiles. Registers: the accumulator in float32, and the result in 16 bits.
            pool = Tx.PoolAllocator()
            Asmem = pool.alloc((BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((BLK_N, BLK_K), dtype, layout=B_layout)
            pool.commit()
            Dreg = Tx.alloc_local((DREG_N,), "float32")
            Dacc = Dreg.view(BLK_M, BLK_N, layout=D_fragment)
            Dreg_16b = Tx.alloc_local((DREG_N,), dtype)
            D_16b = Dreg_16b.view(BLK_M, BLK_N, layout=D_fragment)

            for k in range(K_TILES):
                # Load. The barrier ensures that all threads have stored their part before any warp issues the MMAs.
                # TODO: copy the rows of A from m_st on, and the rows of B from n_st on. The rows of B correspond to the
                # columns of D.
                ...
                Tx.cuda.cta_sync()

                # Multiply. The tensor core owns the registers from the fence until the wait.
                with Tx.warpgroup():
                    Tx.ptx.wgmma.fence()
                    Tx.gemm_async(Dacc[:, :], Asmem[:, :], Bsmem[:, :], accum=(k != 0), dispatch="wgmma")
                    Tx.ptx.wgmma.commit_group()
                    Tx.ptx.wgmma.wait_group(0)
                # The next copies overwrite the operands of these MMAs.
                Tx.cuda.cta_sync()

            # Write back: each thread stores its own elements.
            with Tx.thread():
                Tx.cast(Dreg_16b[:], Dreg[:])
            # TODO: copy D_16b to the CTA's tile of D.
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 4: TMA (docs/steps/step04.md)
#
# One thread issues loads and stores of whole tiles, and hardware moves them. A load completes on an mbarrier that
# counts its bytes; a store completes through a bulk group (docs/concepts/completion.md). TMA accesses shared memory
# through the async proxy (docs/concepts/proxies.md).
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

            # Shared memory: the tiles, and the barrier for TMA. Registers: the accumulator and the result.
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

            # One thread initialises the barrier, for one arrival.
            if warp_id == 0:
                if lane_id == 0:
                    Tx.ptx.mbarrier.init(tma_bar.ptr_to([0]), 1)
            Tx.ptx.fence.mbarrier_init()
            Tx.cuda.cta_sync()

            @Tx.inline
            def tma_load(k):
                k_st = Tx.meta_var(k * BLK_K)
                tma = Tx.meta_var({"dispatch": "tma", "mbar": tma_bar.ptr_to([0])})
                # TODO: load both tiles with Tx.copy_async(destination, source, **tma). A phase of tma_bar must complete
                # when both are in shared memory, and not before: its one arrival says how many bytes to expect,
                # TMA_BYTES.
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
                # TODO: move the tile through Dsmem to D. The warpgroup copies D_16b to Dsmem; that copy makes its own
                # stores visible to the async proxy. Before the TMA store, which one elected thread of warp 0 issues,
                # all threads must have copied. The CTA must not exit before TMA has read Dsmem, and only the thread
                # that commits the store can wait for it.
                ...

            for k in range(K_TILES):
                # The MMAs of all four warps have read the last tiles: wait_group waits for the whole warpgroup.
                if warp_id == 0:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        tma_load(k)
                # TODO: wait for the loads. Which threads must know that the tiles are in shared memory? The wait must
                # be for the phase of this iteration: a wait for a phase that is complete does not block.
                ...
                mma(k)
            write_back()

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 5: a software pipeline (docs/steps/step05.md)
#
# Two stages of shared memory: while the tensor core multiplies the tiles of one stage, TMA loads the other stage.
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

            # Shared memory: the tiles, and the barriers for TMA. Registers: the accumulator and the result.
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

            # One thread initialises each barrier, for one arrival.
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
                # The copy ends with a fence in each thread, which makes its stores visible to TMA.
                with Tx.warpgroup():
                    Tx.copy(Dsmem[:, :], D_16b[:, :])
                Tx.cuda.cta_sync()
                if warp_id == 0:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        Tx.copy_async(D[m_st : m_st + BLK_M, n_st : n_st + BLK_N], Dsmem[:, :], dispatch="tma")
                        Tx.ptx.cp_async.bulk.commit_group()
                        Tx.ptx.cp_async.bulk.wait_group(0)

            # TODO: prefetch. Before the loop, tile k must be on its way to stage k, for all k < PRE_NUM. One elected
            # thread of warp 0 issues the loads.
            ...
            for k in range(K_TILES):
                Tx.ptx.mbarrier.try_wait(tma_bar.ptr_to([stage]), phase_tma)
                mma(stage, k)
                # TODO: refill the stage that was multiplied, with tile k + PIPE_DEPTH, if there is one. Then advance:
                # `stage` is the next one, and phase_tma the parity of the next wait there. How often does the barrier
                # of a stage complete a phase?
                ...
            write_back()

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 6: a persistent kernel (docs/steps/step06.md)
#
# Two CTAs per SM compute tile after tile, in an order that reuses the L2 cache. Stage and phase continue from tile to
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

            # Each cluster is one CTA: CTA bx computes the tiles bx, bx + 264, … in the scheduler's order.
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

            # Shared memory: the tiles, and the barriers for TMA. Registers: the accumulator and the result.
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

            # One thread initialises each barrier, for one arrival.
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
                # The copy ends with a fence in each thread, which makes its stores visible to TMA.
                with Tx.warpgroup():
                    Tx.copy(Dsmem[:, :], D_16b[:, :])
                Tx.cuda.cta_sync()
                if warp_id == 0:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        Tx.copy_async(D[m_st : m_st + BLK_M, n_st : n_st + BLK_N], Dsmem[:, :], dispatch="tma")
                        Tx.ptx.cp_async.bulk.commit_group()
                        Tx.ptx.cp_async.bulk.wait_group(0)
                # TODO: end the write-back. The CTA does not exit afterwards; the next tile overwrites Dsmem. Before any
                # thread does so, the store must have read it, which only one thread knows.
                ...

            while tile_scheduler.valid():
                if warp_id == 0:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        for k in range(PRE_NUM):
                            # TODO: prefetch tile k of this tile of D. The barriers do not start afresh with a tile, so
                            # stage and phase go on from the last tile: into which stage does it go?
                            ...
                for k in range(K_TILES):
                    Tx.ptx.mbarrier.try_wait(tma_bar.ptr_to([stage]), phase_tma)
                    mma(stage, k)
                    # The MMAs of all four warps have read this stage; the other stage is still loading.
                    if k + PIPE_DEPTH < K_TILES:
                        if warp_id == 0:
                            with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                                tma_load(stage, k + PIPE_DEPTH)
                    stage = (stage + 1) % PIPE_DEPTH
                    if stage == 0:
                        phase_tma = phase_tma ^ 1
                # TODO: finish the tile: write it back, and go on to the next one, in all threads.
                ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 7: warp specialisation (docs/steps/step07.md)
#
#   warp 4, one thread   TMA                  tma2mma: data is in shared memory
#   warps 0 to 3         MMA and write-back   mma2tma: shared memory is free
#
# Two loops over the same tiles. Each side waits for the signals of the other, and tracks its own stage and phase.
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

            # Each cluster is one CTA: CTA bx computes the tiles bx, bx + 264, … in the scheduler's order.
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

            # Shared memory: the barriers between the roles, and the tiles.
            pool = Tx.PoolAllocator()
            tma2mma = TMABar(pool, PIPE_DEPTH, "tma2mma")
            mma2tma = MBarrier(pool, PIPE_DEPTH, "mma2tma")
            Asmem = pool.alloc((PIPE_DEPTH, BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((PIPE_DEPTH, BLK_N, BLK_K), dtype, layout=B_layout)
            Dsmem = pool.alloc((BLK_M, BLK_N), dtype, layout=D_layout)
            pool.commit()

            # init(n): n arrivals complete a phase. Thread 0 of the CTA executes it, so it must not be guarded.
            # TODO: initialise both barriers, bar.init(arrivals per phase). Look at tma_load and release: how many
            # threads arrive, and how often per phase?
            ...
            Tx.ptx.fence.mbarrier_init()
            Tx.cuda.cta_sync()

            # One state per side: TMA and MMA step through the stages.
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
                            # TODO: write an iteration of the TMA role. Before the load into a stage, the stage must be
                            # free. Then go on to the next stage.
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
                    # The copy ends with a fence in each thread, which makes its stores visible to TMA.
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
                        # TODO: write an iteration of the consumer. Before the MMAs, the stage must be loaded. Before it
                        # is released, the tensor core must have read it, for all four warps. Then go on to the next
                        # stage.
                        ...
                    write_back()
                    tile_scheduler.next_tile()

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 8: waits are delayed until they are necessary (docs/steps/step08.md)
#
# Four stages, and one CTA per SM. One group of MMAs stays in flight, and so does the store.
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

            # Each cluster is one CTA: CTA bx computes the tiles bx, bx + SM_COUNT, … in the scheduler's order.
            tile_scheduler = ClusterPersistentScheduler2D(
                "ts", num_m_tiles=M // BLK_M, num_n_tiles=N // BLK_N, l2_group_size=8, num_clusters=SM_COUNT
            )
            tile_scheduler.init(bx)
            m_st = Tx.meta_var(tile_scheduler.m_idx * BLK_M)
            n_st = Tx.meta_var(tile_scheduler.n_idx * BLK_N)

            # Shared memory: the barriers between the roles, and the tiles.
            pool = Tx.PoolAllocator()
            tma2mma = TMABar(pool, PIPE_DEPTH, "tma2mma")
            mma2tma = MBarrier(pool, PIPE_DEPTH, "mma2tma")
            Asmem = pool.alloc((PIPE_DEPTH, BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((PIPE_DEPTH, BLK_N, BLK_K), dtype, layout=B_layout)
            Dsmem = pool.alloc((BLK_M, BLK_N), dtype, layout=D_layout)
            pool.commit()

            # init(n): n arrivals complete a phase. Thread 0 of the CTA executes it, so it must not be guarded.
            tma2mma.init(1)
            mma2tma.init(1)
            Tx.ptx.fence.mbarrier_init()
            Tx.cuda.cta_sync()

            # One state per side: TMA and MMA step through the stages.
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
                    # TODO: wait until Dsmem may be overwritten: the store of the last tile must have read it. That is
                    # less than its completion, and only the thread that committed the store can wait for it. The
                    # warpgroup_sync below tells the others.
                    ...
                    with Tx.thread():
                        Tx.cast(Dreg_16b[:], Dreg[:])
                    Tx.cuda.warpgroup_sync(1)
                    # The copy ends with a fence in each thread, which makes its stores visible to TMA.
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
                        # TODO: keep one group of MMAs in flight. When the group of this iteration is the only one that
                        # may still be running, which stage is free? Release that one, if there is one; then remember
                        # this stage in `last`, and go on.
                        ...
                    # TODO: release the last stage of the tile, once its group has completed. The accumulators are
                    # complete then, too.
                    ...
                    write_back()
                    tile_scheduler.next_tile()
                # TODO: end the role. The CTA must not exit before the last store has read shared memory.
                ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 9: clusters of two CTAs (docs/steps/step09.md)
#
# The pair computes 256 × 128 elements of D and shares B: each CTA loads half of the tile of B for both, by multicast. A
# stage is free when both consumers have finished with it, so each consumer arrives at mma2tma of both CTAs.
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

            # A cluster computes every NUM_CLUSTERS-th tile in the scheduler's order. The lower half of them starts at
            # even tiles, so a cluster and its neighbours stay within 2 of the 4 rows of a group. m_st: this CTA's
            # rows of A and D. n_st: the columns of D, which are the rows of B, of both CTAs.
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

            # Shared memory: the barriers between the roles, and the tiles.
            pool = Tx.PoolAllocator()
            tma2mma = TMABar(pool, PIPE_DEPTH, "tma2mma")
            mma2tma = MBarrier(pool, PIPE_DEPTH, "mma2tma")
            Asmem = pool.alloc((PIPE_DEPTH, BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((PIPE_DEPTH, BLK_N, BLK_K), dtype, layout=B_layout)
            Dsmem = pool.alloc((BLK_M, BLK_N), dtype, layout=D_layout)
            pool.commit()

            # init(n): n arrivals complete a phase. Thread 0 of the CTA executes it, so it must not be guarded.
            tma2mma.init(1)
            # TODO: initialise mma2tma. A stage is free when all that read it have finished: the half of B that a CTA
            # loads is read in both CTAs. How many consumers arrive in each phase?
            ...
            Tx.ptx.fence.mbarrier_init()
            # After this, the barriers of both CTAs are initialised.
            Tx.cuda.cluster_sync()

            # One state per side: TMA and MMA step through the stages.
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
                # TODO: load this CTA's half of the tile of B for both CTAs: B_PART rows, from n_st + b_st on, to the
                # same rows of the tile in each. cta_mask has one bit per CTA of the cluster. The bytes are counted in
                # each CTA that receives them.
                ...

            @Tx.inline
            def release(stage):
                # Lane r signals CTA r.
                # TODO: tell the producers of both CTAs that this CTA has finished with the stage: warp 0 arrives once
                # at mma2tma of each CTA (arrive with cta_id).
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
                    # Once the last store has read Dsmem, all threads may overwrite it.
                    if warp_id == 0:
                        if lane_id == 0:
                            Tx.ptx.cp_async.bulk.wait_group(0, read=True)
                    with Tx.thread():
                        Tx.cast(Dreg_16b[:], Dreg[:])
                    Tx.cuda.warpgroup_sync(1)
                    # The copy ends with a fence in each thread, which makes its stores visible to TMA.
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
                # The CTA must not exit before the last store has read shared memory.
                if warp_id == 0:
                    if lane_id == 0:
                        Tx.ptx.cp_async.bulk.wait_group(0)

            # TODO: end the kernel. No CTA may exit while the other still loads into it or arrives at its barriers.
            ...

    return kernel


# ---------------------------------------------------------------------------------------------------------------------
# Step 10: two consumers that take turns (docs/steps/step10.md)
#
#   warpgroup 0, one thread    TMA                  loads the tiles of A and B for both, in the order of the tiles
#   warpgroup 1                MMA and write-back   the even tiles of the CTA
#   warpgroup 2                MMA and write-back   the odd tiles of the CTA
#
# While one consumer multiplies, the other casts and stores, so the tensor core never waits for a write-back. Both take
# their stages from one pipeline: a consumer skips the stages of the other one, and waits for its turn.
#
# The rest reduces losses between SMs: the tile shape with which all SMs finish first, an order of tiles in which
# neighbours share rows of A and B, and a launch that starts while the previous kernel is still running.
# ---------------------------------------------------------------------------------------------------------------------
TILES = ((128, 128), (128, 160), (128, 192), (64, 128))


def tile_shape(M, N):
    """BLK_M, BLK_N: the tile of `TILES` with which the SMs finish M × N first."""

    def time(tile):
        rounds = ceil(ceil(M / tile[0]) * ceil(N / tile[1]) / SM_COUNT)
        # A tile takes time in proportion to its size. Large tiles reuse their operands more, which is worth a little.
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
    # A tile may extend beyond the edge of D: there, TMA loads zeros and stores nothing.
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

            # A CTA computes every SM_COUNT-th tile in the scheduler's order; its two consumers alternate between them.
            # CTAs with neighbouring indices run close together. The lower half of them starts at even tiles, so that 16
            # neighbours have 4 rows × 4 columns of tiles, which need fewer rows of A and B than 8 × 2.
            tile_scheduler = ClusterPersistentScheduler2D(
                "ts", num_m_tiles=M_TILES, num_n_tiles=N_TILES, l2_group_size=8, num_clusters=SM_COUNT
            )
            tile_scheduler.init(bx % (SM_COUNT // 2) * 2 + bx // (SM_COUNT // 2))
            m_st = Tx.meta_var(tile_scheduler.m_idx * BLK_M)
            n_st = Tx.meta_var(tile_scheduler.n_idx * BLK_N)

            # Shared memory: the barriers between the roles, and the tiles.
            pool = Tx.PoolAllocator()
            tma2mma = TMABar(pool, PIPE_DEPTH, "tma2mma")
            mma2tma = MBarrier(pool, PIPE_DEPTH, "mma2tma")
            turn = MBarrier(pool, NUM_CONSUMER, "turn")
            Asmem = pool.alloc((PIPE_DEPTH, BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((PIPE_DEPTH, BLK_N, BLK_K), dtype, layout=B_layout)
            Dsmem = pool.alloc((NUM_CONSUMER, EPI_DEPTH, EPI_M, EPI_N), dtype, layout=D_layout)
            pool.commit()

            # init(n): n arrivals complete a phase. Thread 0 of the CTA executes it, so it must not be guarded.
            tma2mma.init(1)
            # TODO: initialise mma2tma and turn. A stage is loaded for one of the consumers: how many release it? At
            # turn, each of the WG_WARPS warps of the consumer that hands over arrives once.
            ...
            Tx.ptx.fence.mbarrier_init()
            Tx.cuda.cta_sync()

            # One state per side: TMA and MMA step through the stages.
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
                # TODO: give up registers. With three warpgroups, each thread has 168, and a consumer needs more.
                # setmaxnreg.dec lowers the number to PRODUCER_REGS; all four warps of the warpgroup execute it.
                ...
                if warp_id == 0:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        # The previous kernel may still be running. All accesses to A, B and D depend on the loads, so
                        # only the loads have to wait for it.
                        # TODO: wait for the previous kernel (griddepcontrol.wait) before the first load. A kernel with
                        # this wait is launched early, and sets up its barriers in the meantime.
                        ...
                        while tile_scheduler.valid():
                            for k in range(K_TILES):
                                mma2tma.wait(tma_phase.stage, tma_phase.phase)
                                tma_load(tma_phase.stage, k)
                                tma_phase.move_to_next_stage()
                            tile_scheduler.next_tile()
            else:
                # TODO: acquire registers, up to CONSUMER_REGS (setmaxnreg.inc). It blocks until enough are free.
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
                        # TODO: multiply as in step 9: each consumer computes a whole tile, whose size gemm_async takes
                        # from its operands.
                        ...

                @Tx.inline
                def write_back():
                    for i in Tx.unroll(BLK_M // EPI_M * EPI_COLS):
                        # Once the second-to-last store has read its buffer, all threads may overwrite it.
                        # TODO: wait until buffer i % EPI_DEPTH may be overwritten. The last store may stay in flight,
                        # because it reads the other buffer. Only the thread that stores can wait; then all threads of
                        # this consumer must know. The consumers run independently, so each has its own named barrier.
                        ...
                        # TODO: cast part i of the tile, EPI_M × EPI_N, which is in the EPI_REGS registers from i *
                        # EPI_REGS on, and copy it to its buffer as in step 9. Before the store below, all threads of
                        # the consumer must have copied.
                        ...
                        if warp_id == 0:
                            if lane_id == 0:
                                m_epi = Tx.meta_var(m_st + i // EPI_COLS * EPI_M)
                                n_epi = Tx.meta_var(n_st + i % EPI_COLS * EPI_N)
                                # Nothing reads D again, so the L2 cache need not keep it.
                                Tx.copy_async(
                                    D[m_epi : m_epi + EPI_M, n_epi : n_epi + EPI_N],
                                    Dsmem[consumer, i % EPI_DEPTH, :, :],
                                    dispatch="tma",
                                    cache_hint="evict_first",
                                )
                                Tx.ptx.cp_async.bulk.commit_group()

                turn_phase = PipelineState("turn", 1)
                turn_phase.init(is_producer=(consumer == 0))
                # TODO: skip the first tile of the CTA in consumer 1, because it belongs to consumer 0: in the order of
                # the tiles, and in the pipeline (mma_phase.skip(n) advances by n stages at once).
                ...
                while tile_scheduler.valid():
                    # TODO: wait for this consumer's turn, at its slot of turn, and go on to the next turn. The waits
                    # below are not enough: they only test the parity of a phase, so they also return while the previous
                    # phase is incomplete, and that phase may belong to the other consumer.
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
                    # One thread per warp: all four are past their waits when the other consumer starts.
                    # TODO: hand over to the other consumer: one lane of each warp arrives at its slot of turn. Doing so
                    # before the wait for the last MMAs lets the MMAs of the other consumer follow without a gap.
                    ...
                    with Tx.warpgroup():
                        Tx.ptx.wgmma.wait_group(0)
                    release(last)
                    # TODO: skip the stages of the other consumer's next tile, write back, and go on to this consumer's
                    # next tile. write_back still needs m_st and n_st of this tile.
                    ...
                # The CTA must not exit before the last store has read shared memory.
                if warp_id == 0:
                    if lane_id == 0:
                        Tx.ptx.cp_async.bulk.wait_group(0)

    return kernel
