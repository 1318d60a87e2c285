"""Task c: the kernel that was wrong and slow.

Wrong: the factors of the columns were indexed by row, TMA stored a tile that no fence had shown to it, and the
accumulator was given back before it was read, which only a CTA with a second tile notices. Slow: the loads of A and B
took turns, the MMA warp waited for each product before it gave the stage back, the stages were two, and the write-back
had eight round trips for one tile.
"""

from tirx_mini.lang import ClusterPersistentScheduler2D, MBarrier, PipelineState, TCGen05Bar, TMABar
from tirx_mini.layout import S, SwizzleMode, TCol, TileLayout, TLane, tid_in_wg, tma_shared_layout
from tirx_mini.script import tirx as Tx

SM_COUNT = 148
BLK_M, BLK_N, BLK_K = 128, 128, 64
PIPE_DEPTH = 5
TMEM_LD_N = 64
EPI_N = 64
TILE_BYTES = BLK_M * BLK_K * 2


def task_c(M, N, K, dtype="float16"):
    """A kernel for A (M, K), B (N, K), scale (N,) and D (M, N): D = (A @ B.T) * scale, a factor for each column."""
    if M % BLK_M or N % BLK_N or K % BLK_K:
        raise ValueError(f"M, N and K must be multiples of {BLK_M}, {BLK_N} and {BLK_K}")
    M_TILES, N_TILES, K_TILES = M // BLK_M, N // BLK_N, K // BLK_K
    operand = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_M, BLK_K))
    result = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, EPI_N))

    @Tx.prim_func(tirx=True)
    def kernel(
        A: Tx.Buffer((M, K), dtype),
        B: Tx.Buffer((N, K), dtype),
        scale: Tx.Buffer((N,), "float32"),
        D: Tx.Buffer((M, N), dtype),
    ):
        with Tx.kernel():
            bx = Tx.cta_id([SM_COUNT], parent="kernel")
            wg_id = Tx.warpgroup_id([2], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")

            tiles = ClusterPersistentScheduler2D(
                "tiles", num_m_tiles=M_TILES, num_n_tiles=N_TILES, l2_group_size=8, num_clusters=SM_COUNT
            )
            tiles.init(bx)
            row0 = Tx.meta_var(tiles.m_idx * BLK_M)
            col0 = Tx.meta_var(tiles.n_idx * BLK_N)

            # -- memory ------------------------------------------------------------------------------------------------

            pool = Tx.PoolAllocator()
            tmem_addr = pool.alloc((1,), "uint32")
            a_full = TMABar(pool, PIPE_DEPTH, "a_full")
            b_full = TMABar(pool, PIPE_DEPTH, "b_full")
            empty = TCGen05Bar(pool, PIPE_DEPTH, "empty")
            acc_full = TCGen05Bar(pool, 1, "acc_full")
            acc_empty = MBarrier(pool, 1, "acc_empty")
            a_smem = pool.alloc((PIPE_DEPTH, BLK_M, BLK_K), dtype, layout=operand)
            b_smem = pool.alloc((PIPE_DEPTH, BLK_N, BLK_K), dtype, layout=operand)
            d_smem = pool.alloc((BLK_M, EPI_N), dtype, layout=result)
            factors = pool.alloc((BLK_N,), "float32")
            pool.commit()

            a_full.init(1)
            b_full.init(1)
            empty.init(1)
            acc_full.init(1)
            acc_empty.init(128)
            if wg_id == 0:
                if warp_id == 0:
                    Tx.ptx.tcgen05.alloc(Tx.address_of(tmem_addr), n_cols=512, cta_group=1)
            Tx.ptx.fence.proxy_async("shared::cta")
            Tx.ptx.fence.mbarrier_init()
            Tx.cuda.cta_sync()

            tmem = Tx.decl_buffer(
                (128, 512), "float32", scope="tmem", allocated_addr=tmem_addr[0],
                layout=TileLayout(S[(128, 512) : (1 @ TLane, 1 @ TCol)]),
            )
            sums = Tx.alloc_local((TMEM_LD_N,), "float32")
            sums_wg = sums.view(128, TMEM_LD_N, layout=TileLayout(S[(128, TMEM_LD_N) : (1 @ tid_in_wg, 1)]))
            halves = Tx.alloc_local((BLK_N,), dtype)

            # -- the states of the roles -------------------------------------------------------------------------------

            load_state = PipelineState("load", PIPE_DEPTH)
            mma_state = PipelineState("mma", PIPE_DEPTH)
            acc_state = PipelineState("acc", 1)
            out_state = PipelineState("out", 1)
            load_state.init(is_producer=True)
            mma_state.init(is_producer=False)
            acc_state.init(is_producer=True)
            out_state.init(is_producer=False)

            # -- loads -------------------------------------------------------------------------------------------------

            @Tx.inline
            def load_a(stage, k):
                k0 = Tx.meta_var(k * BLK_K)
                Tx.copy_async(
                    a_smem[stage, :, :], A[row0 : row0 + BLK_M, k0 : k0 + BLK_K],
                    dispatch="tma", cta_group=1, mbar=a_full.ptr_to([stage]),
                )
                a_full.arrive(stage, TILE_BYTES)

            @Tx.inline
            def load_b(stage, k):
                k0 = Tx.meta_var(k * BLK_K)
                Tx.copy_async(
                    b_smem[stage, :, :], B[col0 : col0 + BLK_N, k0 : k0 + BLK_K],
                    dispatch="tma", cta_group=1, mbar=b_full.ptr_to([stage]),
                )
                b_full.arrive(stage, TILE_BYTES)

            # -- write-back --------------------------------------------------------------------------------------------

            @Tx.inline
            def read_factors():
                row = Tx.meta_var(warp_id * 32 + lane_id)
                factors[row] = scale[col0 + row]
                Tx.cuda.warpgroup_sync(1)

            @Tx.inline
            def read_sums():
                for i in Tx.unroll(BLK_N // TMEM_LD_N):
                    with Tx.warpgroup():
                        Tx.copy(sums_wg[:, :], tmem[:, i * TMEM_LD_N : (i + 1) * TMEM_LD_N])
                    for j in Tx.unroll(TMEM_LD_N):
                        sums[j] = sums[j] * factors[i * TMEM_LD_N + j]
                    with Tx.thread():
                        Tx.cast(halves[i * TMEM_LD_N : (i + 1) * TMEM_LD_N], sums[:])

            @Tx.inline
            def store():
                for i in Tx.unroll(BLK_N // EPI_N):
                    with Tx.thread():
                        Tx.copy(d_smem[warp_id * 32 + lane_id, :], halves[i * EPI_N : (i + 1) * EPI_N])
                        Tx.ptx.fence.proxy_async("shared::cta")
                    Tx.cuda.warpgroup_sync(1)
                    if warp_id == 0:
                        with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                            col = Tx.meta_var(col0 + i * EPI_N)
                            Tx.copy_async(D[row0 : row0 + BLK_M, col : col + EPI_N], d_smem[:, :], dispatch="tma")
                            Tx.ptx.cp_async.bulk.commit_group()
                            Tx.ptx.cp_async.bulk.wait_group(0)
                    Tx.cuda.warpgroup_sync(1)

            # -- roles -------------------------------------------------------------------------------------------------

            if wg_id == 1:
                if warp_id == 3:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        while tiles.valid():
                            for k in range(K_TILES):
                                empty.wait(load_state.stage, load_state.phase)
                                load_a(load_state.stage, k)
                                load_b(load_state.stage, k)
                                load_state.move_to_next_stage()
                            tiles.next_tile()
                        for _ in range(PIPE_DEPTH):
                            empty.wait(load_state.stage, load_state.phase)
                            load_state.move_to_next_stage()
                elif warp_id == 0:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        while tiles.valid():
                            acc_empty.wait(acc_state.stage, acc_state.phase)
                            acc_state.move_to_next_stage()
                            for k in range(K_TILES):
                                a_full.wait(mma_state.stage, mma_state.phase)
                                b_full.wait(mma_state.stage, mma_state.phase)
                                Tx.ptx.tcgen05.fence.after_thread_sync()
                                Tx.gemm_async(
                                    tmem[:, :BLK_N], a_smem[mma_state.stage, :, :], b_smem[mma_state.stage, :, :],
                                    accum=(k != 0), dispatch="tcgen05", cta_group=1,
                                )
                                empty.arrive(mma_state.stage, cta_group=1, cta_mask=1)
                                mma_state.move_to_next_stage()
                            acc_full.arrive(0, cta_group=1, cta_mask=1)
                            tiles.next_tile()
            elif wg_id == 0:
                while tiles.valid():
                    read_factors()
                    acc_full.wait(out_state.stage, out_state.phase)
                    out_state.move_to_next_stage()
                    Tx.ptx.tcgen05.fence.after_thread_sync()
                    read_sums()
                    Tx.ptx.tcgen05.fence.before_thread_sync()
                    acc_empty.arrive(0)
                    store()
                    tiles.next_tile()

            Tx.cuda.cta_sync()
            if wg_id == 0:
                if warp_id == 0:
                    Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
                    Tx.ptx.tcgen05.dealloc(tmem_addr[0], n_cols=512, cta_group=1)

    return kernel
