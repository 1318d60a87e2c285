"""Flash attention, forward, for Blackwell: O = softmax(Q Kᵀ / √d) V, without the matrix of scores in memory.

A CTA computes 256 rows of one head: two tiles of 128 queries, so that the tensor core multiplies for one tile while the
softmax of the other runs. Its 16 warps have five roles:

    warpgroup 0, 1   softmax      of query tile 0, 1: a thread has a row of scores; P = exp2(S - maximum)
    warpgroup 2      correction   scales O where the maximum of a row has grown; writes O back at the end
    warpgroup 3, warp 0   load    TMA: both tiles of Q, then tiles of K and V
                 warp 1   MMA     S = Q Kᵀ and O += P V

Tensor memory is full with head_dim = 128. P takes the place of S: a softmax thread has read its row before it writes.

    columns   0 … 127    128 … 255    256 … 256 + d - 1    … 256 + 2 d - 1
              S0 or P0   S1 or P1     O0                   O1

The barriers, by what their completion says (t is the query tile):

    q_full[t], k_full, v_full   a tile is in shared memory                               TMA
    k_empty, v_empty            a stage of K or V may be overwritten                     commit
    s_full[t]                   S is in tensor memory                                    commit
    p_full[t]                   P is in tensor memory, and O is scaled                   128 + 128 threads
    o_full[t]                   P V is added to O, and P may be overwritten by S         commit
    stat_full[t]                shared memory has a factor for each row of O             128 threads
    stat_empty[t]               the factors have been read                               128 threads
"""

# pyright: basic, reportInvalidTypeForm=false

import math

from tirx_mini.ir import PrimFunc
from tirx_mini.lang import MBarrier, PipelineState, TCGen05Bar, TMABar
from tirx_mini.layout import S, SwizzleMode, TCol, TileLayout, TLane, tid_in_wg, tma_shared_layout
from tirx_mini.script import tirx as Tx

TILE = 128
"""Queries of a tile, and keys of a tile."""
QUERY_TILES = 2
STAGES = 2
"""Tiles of K, and of V, in shared memory."""
O_COLUMNS = 256
"""Where O begins in tensor memory."""
CHUNK = 32
"""Columns of O that a thread of the correction holds at a time."""
MASKED = -1.0e30
"""The score of a key that a query does not see; exp2 of it is 0, and unlike -inf it can be subtracted from itself."""
SOFTMAX_REGS, CORRECTION_REGS, OTHER_REGS = 184, 80, 64


def flash_attention(heads: int, length: int, head_dim: int, causal: bool = False, dtype: str = "float16") -> PrimFunc:
    """A kernel for Q, K, V and O of shape (heads, length, head_dim).

    length: a multiple of 256.
    head_dim: 64 or 128.
    causal: whether query i sees the keys 0 … i only.
    dtype: float16 or bfloat16.

    Raises ValueError for other sizes and types.
    """
    if length % (QUERY_TILES * TILE) or length < 1:
        raise ValueError(f"length is {length}, but must be a multiple of {QUERY_TILES * TILE}")
    if head_dim not in (64, 128):
        raise ValueError(f"head_dim is {head_dim}, but must be 64 or 128")
    if dtype not in ("float16", "bfloat16"):
        raise ValueError(f"dtype is {dtype}, but must be float16 or bfloat16")
    key_tiles = length // TILE
    tile_bytes = TILE * head_dim * 2
    scale = math.log2(math.e) / math.sqrt(head_dim)
    q_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (QUERY_TILES, TILE, head_dim))
    kv_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (STAGES, TILE, head_dim))
    shape = (heads, length, head_dim)

    @Tx.prim_func(tirx=True)
    def kernel(
        Q: Tx.Buffer(shape, dtype), K: Tx.Buffer(shape, dtype), V: Tx.Buffer(shape, dtype), O: Tx.Buffer(shape, dtype)
    ):
        with Tx.kernel():
            block, head = Tx.cta_id([length // (QUERY_TILES * TILE), heads], parent="kernel")
            wg_id = Tx.warpgroup_id([4], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")
            row = Tx.meta_var(warp_id * 32 + lane_id)
            first_query = Tx.meta_var(block * QUERY_TILES * TILE)

            pool = Tx.PoolAllocator()
            tmem_addr = pool.alloc((1,), "uint32")
            q_full = TMABar(pool, QUERY_TILES, "q_full")
            k_full = TMABar(pool, STAGES, "k_full")
            v_full = TMABar(pool, STAGES, "v_full")
            k_empty = TCGen05Bar(pool, STAGES, "k_empty")
            v_empty = TCGen05Bar(pool, STAGES, "v_empty")
            s_full = TCGen05Bar(pool, QUERY_TILES, "s_full")
            o_full = TCGen05Bar(pool, QUERY_TILES, "o_full")
            p_full = MBarrier(pool, QUERY_TILES, "p_full")
            stat_full = MBarrier(pool, QUERY_TILES, "stat_full")
            stat_empty = MBarrier(pool, QUERY_TILES, "stat_empty")
            stat = pool.alloc((QUERY_TILES, TILE), "float32")
            Qsmem = pool.alloc((QUERY_TILES, TILE, head_dim), dtype, layout=q_layout)
            Ksmem = pool.alloc((STAGES, TILE, head_dim), dtype, layout=kv_layout)
            Vsmem = pool.alloc((STAGES, TILE, head_dim), dtype, layout=kv_layout)
            pool.commit()

            q_full.init(1)
            k_full.init(1)
            v_full.init(1)
            k_empty.init(1)
            v_empty.init(1)
            s_full.init(1)
            o_full.init(1)
            p_full.init(2 * TILE)
            stat_full.init(TILE)
            stat_empty.init(TILE)
            if wg_id == 3:
                if warp_id == 2:
                    Tx.ptx.tcgen05.alloc(Tx.address_of(tmem_addr), n_cols=512, cta_group=1)
            Tx.ptx.fence.mbarrier_init()
            Tx.cuda.cta_sync()
            Tx.ptx.tcgen05.fence.after_thread_sync()

            # Tensor memory as 32-bit scores and outputs, and the same columns as 16-bit probabilities.
            tmem = Tx.decl_buffer(
                (TILE, 512), "float32", scope="tmem", allocated_addr=tmem_addr[0],
                layout=TileLayout(S[(TILE, 512) : (1 @ TLane, 1 @ TCol)]),
            )
            tmem_16b = Tx.decl_buffer(
                (TILE, 1024), dtype, scope="tmem", allocated_addr=tmem_addr[0],
                layout=TileLayout(S[(TILE, 1024) : (1 @ TLane, 1 @ TCol)]),
            )

            @Tx.inline
            def needed(t):
                """How many tiles of keys query tile t needs: with a causal mask, those up to its diagonal."""
                return QUERY_TILES * block + t + 1 if causal else key_tiles

            # -- load ----------------------------------------------------------------------------------------------

            @Tx.inline
            def load():
                for t in Tx.unroll(QUERY_TILES):
                    m_st = Tx.meta_var(first_query + t * TILE)
                    Tx.copy_async(
                        Qsmem[t, :, :], Q[head, m_st : m_st + TILE, :], dispatch="tma", mbar=q_full.ptr_to([t])
                    )
                    q_full.arrive(t, tile_bytes)
                kv = PipelineState("load", STAGES)
                kv.init(is_producer=True)
                for j in range(needed(1)):
                    k_st = Tx.meta_var(j * TILE)
                    k_empty.wait(kv.stage, kv.phase)
                    Tx.copy_async(
                        Ksmem[kv.stage, :, :], K[head, k_st : k_st + TILE, :],
                        dispatch="tma", mbar=k_full.ptr_to([kv.stage]),
                    )
                    k_full.arrive(kv.stage, tile_bytes)
                    v_empty.wait(kv.stage, kv.phase)
                    Tx.copy_async(
                        Vsmem[kv.stage, :, :], V[head, k_st : k_st + TILE, :],
                        dispatch="tma", mbar=v_full.ptr_to([kv.stage]),
                    )
                    v_full.arrive(kv.stage, tile_bytes)
                    kv.move_to_next_stage()
                # The last arrivals at the empty barriers may follow those that say that the outputs are complete.
                for _ in range(STAGES):
                    k_empty.wait(kv.stage, kv.phase)
                    v_empty.wait(kv.stage, kv.phase)
                    kv.move_to_next_stage()

            # -- MMA -----------------------------------------------------------------------------------------------

            @Tx.inline
            def scores(t, stage):
                """S = Q Kᵀ."""
                col = Tx.meta_var(t * TILE)
                Tx.gemm_async(
                    tmem[:, col : col + TILE], Qsmem[t, :, :], Ksmem[stage, :, :], accum=False, dispatch="tcgen05"
                )
                s_full.arrive(t)

            @Tx.inline
            def weighted_values(t, stage, j):
                """O += P V. V is keys × head_dim, and head_dim is contiguous: transB."""
                p_col, o_col = Tx.meta_var(2 * t * TILE), Tx.meta_var(O_COLUMNS + t * head_dim)
                Tx.gemm_async(
                    tmem[:, o_col : o_col + head_dim], tmem_16b[:, p_col : p_col + TILE], Vsmem[stage, :, :],
                    accum=(j != 0), transB=True, dispatch="tcgen05",
                )
                o_full.arrive(t)

            @Tx.inline
            def multiply():
                k = PipelineState("k", STAGES)
                v = PipelineState("v", STAGES)
                k.init(is_producer=False)
                v.init(is_producer=False)
                k_full.wait(k.stage, k.phase)
                for t in Tx.unroll(QUERY_TILES):
                    q_full.wait(t, 0)
                    Tx.ptx.tcgen05.fence.after_thread_sync()
                    scores(t, k.stage)
                k_empty.arrive(k.stage)
                k.move_to_next_stage()
                for j in range(needed(1)):
                    v_full.wait(v.stage, v.phase)
                    for t in Tx.unroll(QUERY_TILES):
                        if j < needed(t):
                            p_full.wait(t, j % 2)
                            Tx.ptx.tcgen05.fence.after_thread_sync()
                            weighted_values(t, v.stage, j)
                    v_empty.arrive(v.stage)
                    v.move_to_next_stage()
                    if j + 1 < needed(1):
                        k_full.wait(k.stage, k.phase)
                        for t in Tx.unroll(QUERY_TILES):
                            if j + 1 < needed(t):
                                # S takes the columns of P: the product that reads P must be complete.
                                o_full.wait(t, j % 2)
                                Tx.ptx.tcgen05.fence.after_thread_sync()
                                scores(t, k.stage)
                        k_empty.arrive(k.stage)
                        k.move_to_next_stage()

            # -- softmax -------------------------------------------------------------------------------------------

            @Tx.inline
            def hand_over(t, message, value):
                """Give the correction a number for the thread's row, once it has read the last one."""
                stat_empty.wait(t, (message + 1) % 2)
                stat[t, row] = value
                stat_full.arrive(t)

            @Tx.inline
            def softmax(t):
                score = Tx.alloc_local((TILE,), "float32")
                score_wg = score.view(TILE, TILE, layout=TileLayout(S[(TILE, TILE) : (1 @ tid_in_wg, 1)]))
                weight = Tx.alloc_local((TILE,), dtype)
                weight_wg = weight.view(TILE, TILE, layout=TileLayout(S[(TILE, TILE) : (1 @ tid_in_wg, 1)]))
                top = Tx.alloc_local((1,), "float32")
                part = Tx.alloc_local((1,), "float32")
                maximum: Tx.float32 = MASKED
                total: Tx.float32 = 0.0
                for j in range(needed(t)):
                    s_full.wait(t, j % 2)
                    Tx.ptx.tcgen05.fence.after_thread_sync()
                    with Tx.warpgroup():
                        for c in Tx.unroll(TILE // CHUNK):
                            Tx.copy_async(
                                score_wg[:, c * CHUNK : (c + 1) * CHUNK],
                                tmem[:, t * TILE + c * CHUNK : t * TILE + (c + 1) * CHUNK],
                            )
                    Tx.ptx.tcgen05.wait.ld()
                    if causal:
                        if j == needed(t) - 1:
                            for i in Tx.unroll(TILE):
                                score[i] = MASKED if i > row else score[i]
                    Tx.max(top, score)
                    before: Tx.float32 = maximum
                    maximum = Tx.max(maximum, top[0])
                    factor: Tx.float32 = Tx.ptx.exp2((before - maximum) * scale)
                    if j > 0:
                        hand_over(t, j - 1, factor)
                    with Tx.thread():
                        Tx.fma(score, score, scale, -maximum * scale)
                        Tx.exp2(score)
                        Tx.cast(weight, score)
                        Tx.sum(part, score)
                    total = total * factor + part[0]
                    with Tx.warpgroup():
                        Tx.copy(tmem_16b[:, 2 * t * TILE : (2 * t + 1) * TILE], weight_wg[:, :])
                    Tx.ptx.tcgen05.fence.before_thread_sync()
                    p_full.arrive(t)
                hand_over(t, needed(t) - 1, total)

            # -- correction ----------------------------------------------------------------------------------------

            @Tx.inline
            def correct():
                out = Tx.alloc_local((CHUNK,), "float32")
                out_wg = out.view(TILE, CHUNK, layout=TileLayout(S[(TILE, CHUNK) : (1 @ tid_in_wg, 1)]))
                out_16b = Tx.alloc_local((CHUNK,), dtype)
                for t in Tx.unroll(QUERY_TILES):
                    p_full.arrive(t)  # the first product overwrites O
                for j in range(1, needed(1)):
                    for t in Tx.unroll(QUERY_TILES):
                        if j < needed(t):
                            stat_full.wait(t, (j - 1) % 2)
                            factor: Tx.float32 = stat[t, row]
                            stat_empty.arrive(t)
                            o_full.wait(t, (j - 1) % 2)
                            Tx.ptx.tcgen05.fence.after_thread_sync()
                            for c in Tx.unroll(head_dim // CHUNK):
                                col = Tx.meta_var(O_COLUMNS + t * head_dim + c * CHUNK)
                                with Tx.warpgroup():
                                    Tx.copy(out_wg[:, :], tmem[:, col : col + CHUNK])
                                with Tx.thread():
                                    Tx.mul(out, out, factor)
                                with Tx.warpgroup():
                                    Tx.copy(tmem[:, col : col + CHUNK], out_wg[:, :])
                            Tx.ptx.tcgen05.fence.before_thread_sync()
                            p_full.arrive(t)
                for t in Tx.unroll(QUERY_TILES):
                    last = Tx.meta_var((needed(t) - 1) % 2)
                    stat_full.wait(t, last)
                    inverse: Tx.float32 = 1.0 / stat[t, row]
                    o_full.wait(t, last)
                    Tx.ptx.tcgen05.fence.after_thread_sync()
                    # All products of this tile are complete, those that read Q too: O takes its place.
                    for c in Tx.unroll(head_dim // CHUNK):
                        col = Tx.meta_var(O_COLUMNS + t * head_dim + c * CHUNK)
                        with Tx.warpgroup():
                            Tx.copy(out_wg[:, :], tmem[:, col : col + CHUNK])
                        with Tx.thread():
                            Tx.mul(out, out, inverse)
                            Tx.cast(out_16b, out)
                            Tx.copy(Qsmem[t, row, c * CHUNK : (c + 1) * CHUNK], out_16b[:])
                    Tx.ptx.fence.proxy_async("shared::cta")
                    Tx.cuda.warpgroup_sync(1)
                    if warp_id == 0:
                        with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                            m_st = Tx.meta_var(first_query + t * TILE)
                            Tx.copy_async(O[head, m_st : m_st + TILE, :], Qsmem[t, :, :], dispatch="tma")
                            Tx.ptx.cp_async.bulk.commit_group()
                if warp_id == 0:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        Tx.ptx.cp_async.bulk.wait_group(0)

            # -- roles ---------------------------------------------------------------------------------------------

            if wg_id < 2:
                Tx.ptx.setmaxnreg.inc(SOFTMAX_REGS)
                softmax(wg_id)
            elif wg_id == 2:
                Tx.ptx.setmaxnreg.dec(CORRECTION_REGS)
                correct()
            else:
                Tx.ptx.setmaxnreg.dec(OTHER_REGS)
                if warp_id == 0:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        load()
                elif warp_id == 1:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        multiply()

            Tx.cuda.cta_sync()
            if wg_id == 3:
                if warp_id == 2:
                    Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
                    Tx.ptx.tcgen05.dealloc(tmem_addr[0], n_cols=512, cta_group=1)

    return kernel
