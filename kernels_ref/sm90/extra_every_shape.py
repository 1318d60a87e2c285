"""Beyond the ten: a GEMM for every shape, which is also fast in a launch by itself.

Step 10 is at its best where a GPU computes many waves of tiles, launch after launch. This file adds a kernel for the
other cases, and `hgemm` chooses between the two, and among tiles (`extra_plans.py`).

    warpgroup 0, one thread    TMA                  loads the tiles of A and B
    warpgroup 1                MMA and write-back   rows 0 to 63 of a tile of D
    warpgroups 2, 3            MMA and write-back   rows 64 to 127, 128 to 191, where a tile has them

**Large tiles.** The consumers share a tile of 128 × 256, or of 192 × 192. It loads a quarter less for each
multiplication than two tiles of 128 × 128, which matters most where the GPU's clock is high: in a launch by itself.
The write-back, in return, does not overlap the multiplication.

**Small tiles.** A wgmma takes at least 32 cycles, however few columns it has, since it reads 64 rows of A. So a tile of
64 × 64 takes half as long as one of 128 × 32, and loads less.

**Long steps.** After each stage of the pipeline, a consumer waits for the next barrier and issues wgmmas again. That
takes longer than the multiplications of a small tile. So a stage of small tiles holds 128 columns of A and B, and not
64: there are half as many barriers.

**Any width.** BLK_N is a multiple of 16, chosen so that the last wave is nearly full: 1536 × 1536 is one wave of
12 × 11 tiles with 144 columns, and two waves with 128.

**The edge.** A tile that would extend beyond D is moved inside, and stores what no other tile has. If its CTA loaded
less than the others, it would run ahead of those that read the same rows of A. With a long K, the L2 cache would not
hold these rows any more when the others need them. Tiles move by whole parts of the write-back along N, and by eight
rows along M: TMA stores eight rows at a time where a part has rows of another tile. M and N may be any numbers. Where
N is not a multiple of 8, TMA cannot store rows of D, and threads store single elements.

**Waves.** The 132 tiles of a wave need the fewest rows of A and B if they are about as many rows of D as columns: 12
rows of tiles and 11 columns of them, or 16 and 8. The less comes from memory, the more power is left for the tensor
cores.

**A shared K.** Few tiles with a long K leave most SMs idle. Then up to eight CTAs of a cluster share a tile: each
multiplies a part of K, sends its sums of the others' columns to them, and adds up and stores its own. Each element is
the sum of the same numbers in the same order in every run. The CTAs take the steps of K in turn, so that all read
neighbouring pieces of a row at the same time. The sums travel by `st.async`, whose bytes complete on a barrier of the
CTA that receives them: nobody waits for a barrier of the whole cluster.

**Multicast.** Rows begin within a line of the L2 cache unless K is a multiple of 64. The cache delivers about half as
much then. So two or four CTAs of a cluster compute tiles below one another, and each loads a part of their columns for
all. Elsewhere, the cluster costs more than the loads that it saves.

**Swapped operands.** 70 rows of A fill two tiles of 64 rows, or the 72 columns of a tile whose rows are rows of B. Such
a tile is one of D transposed: stmatrix transposes it on its way to shared memory. Up to 32 rows of A leave registers
and time for float32 totals: the tensor core, whose sums have fewer bits, adds up 1024 columns of A and B at a time.

**First out.** The L2 cache is full of what was written before. A line that is loaded takes the place of one that has to
be written to memory first, unless there are others to replace: with `evict_first`, the tiles replace one another. That
is right where no later wave needs the same tiles.

**An early start.** The thread that initialises the barriers issues the first loads itself, before the other warps know
of the barriers: they wait for nothing but data.
"""
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
# `sums` and `others_sums` are None where CTAs share nothing.

from math import ceil

from kernels_ref.sm90.extra_plans import (
    CONSUMER_M,
    DTYPE_SIZE,
    NEAR_ROWS,
    RESIDENT,
    SECTOR,
    SM_COUNT,
    SMEM_BYTES,
    chain_steps,
    k_step,
    part_width,
    plan,
)  # fmt: skip
from kernels_ref.sm90.extra_shared_k import release_stage, shared_k
from kernels_ref.sm90.step10_multi_consumer import hgemm_v10
from tirx_mini.lang import ClusterPersistentScheduler2D, MBarrier, PipelineState, TMABar
from tirx_mini.layout import SwizzleMode, tma_shared_layout, wgmma_accumulator_layout
from tirx_mini.script import tirx as Tx

WAVE_ROWS = (12, 16)
NEIGHBOUR_ROWS = 4
FEW = 1024
MANY_BYTES = 350e6
EPI_DEPTH = 2
ROW_BOX = 8
K_MULTIPLE = 8
WG_WARPS = 4
PRODUCER_REGS, CONSUMER_REGS = 40, 232
SWIZZLES = {
    64: SwizzleMode.SWIZZLE_128B_ATOM, 32: SwizzleMode.SWIZZLE_64B_ATOM, 16: SwizzleMode.SWIZZLE_32B_ATOM,
    8: SwizzleMode.SWIZZLE_NONE,
}  # fmt: skip


def hgemm(M, N, K, dtype="float16"):
    """A kernel for A (M, K), B (N, K) and D (M, N) of `dtype`; float32 accumulation."""
    if min(M, N, K) < 1:
        raise ValueError(f"hgemm needs M, N and K of at least 1, but they are {M}, {N} and {K}")
    if K % K_MULTIPLE:
        raise ValueError(
            f"hgemm needs K to be a multiple of {K_MULTIPLE}, but K is {K}: pad A and B with columns of zeros, since "
            "TMA reads rows that begin at multiples of 16 bytes"
        )
    return planned(M, N, K, dtype, plan(M, N, K))


def planned(M, N, K, dtype, chosen):
    """The kernel that a plan means."""
    if not chosen.own:
        return hgemm_v10(M, N, K, dtype)
    if chosen.workers:
        tile = chosen.blk_m, chosen.blk_n
        return shared_k(M, N, K, dtype, *tile, chosen.workers, chosen.swapped, chosen.multicast)
    return shared_tiles(M, N, K, dtype, chosen.blk_m, chosen.blk_n, chosen.ctas, chosen.multicast, chosen.swapped)


def first_out(M, N, K, tiles):
    """Return whether the L2 cache should give up the tiles of A and B first.

    It should if no later wave needs those of the larger matrix, and no two steps of K share a sector of the cache.
    """
    few = tiles <= SM_COUNT or min(M, N) <= FEW
    return few and K % SECTOR == 0 and (M + N) * K * DTYPE_SIZE <= MANY_BYTES


def moved_inside(size, tile, step):
    """Where the last of the tiles begins that cover `size`: moved by a multiple of `step`, so that it has the end."""
    return size - tile + (tile - size) % step if size > tile else 0


def shared_tiles(M, N, K, dtype, BLK_ROWS, BLK_COLS, CTAS=1, MULTICAST=1, SWAPPED=False):
    """The kernel whose consumers, one for each 64 rows, share tiles of BLK_ROWS × BLK_COLS.

    CTAS: of a cluster, which share the K of its only tile. MULTICAST: of a cluster, whose tiles are below one another
    and share the columns. SWAPPED: whether the rows of a tile are rows of B, and its columns those of A.
    """
    ROWS, COLS = (N, M) if SWAPPED else (M, N)
    SIZE = CTAS * MULTICAST
    NUM_CONSUMER = BLK_ROWS // CONSUMER_M
    BLK_K = k_step(BLK_ROWS, BLK_COLS, CTAS, K)
    ROW_TILES, COL_TILES, K_TILES = ceil(ROWS / BLK_ROWS), ceil(COLS / BLK_COLS), ceil(K / BLK_K / CTAS)
    ROW_CLUSTERS = ceil(ROW_TILES / MULTICAST)
    CLUSTERS = ROW_TILES * COL_TILES if CTAS > 1 else min(RESIDENT[MULTICAST], ROW_CLUSTERS * COL_TILES)
    CHAIN = chain_steps(K_TILES, BLK_K, COLS) if SWAPPED else K_TILES
    LOAD_COLS = BLK_COLS // MULTICAST
    TO_ALL = (1 << MULTICAST) - 1 if MULTICAST > 1 else None
    OTHERS = CTAS - 1
    PART_COLS = BLK_COLS // CTAS
    EPI_COLS = part_width(PART_COLS, SWAPPED)
    PARTS = PART_COLS // EPI_COLS
    EPI_REGS = CONSUMER_M * EPI_COLS // 128
    DREG_N = CONSUMER_M * BLK_COLS // 128
    PART_REGS = DREG_N // CTAS
    SUMS_BYTES = OTHERS * NUM_CONSUMER * 128 * PART_REGS * 4
    EPI_BYTES = NUM_CONSUMER * EPI_DEPTH * CONSUMER_M * EPI_COLS * DTYPE_SIZE
    TMA_BYTES = (BLK_ROWS + BLK_COLS) * BLK_K * DTYPE_SIZE
    PIPE_DEPTH = (SMEM_BYTES - SUMS_BYTES - EPI_BYTES) // TMA_BYTES
    # A CTA that shares columns loads nothing before the others have initialised their barriers.
    FIRST = min(PIPE_DEPTH, K_TILES) if MULTICAST == 1 else 0
    # With eight or more rows of tiles, 16 neighbours have 4 × 4 of them, as in step 10; with fewer, whole columns.
    GROUP = next((rows for rows in WAVE_ROWS if ROW_TILES % rows == 0), NEAR_ROWS) // MULTICAST
    PARTS_OF_GROUP = GROUP * MULTICAST // NEIGHBOUR_ROWS if ROW_TILES >= NEAR_ROWS else 1
    PARTS_OF_GROUP = PARTS_OF_GROUP if CLUSTERS % PARTS_OF_GROUP == 0 else 1
    HINT = {"cache_hint": "evict_first"} if first_out(M, N, K, ROW_TILES * COL_TILES * CTAS) else {}
    # Tiles that would extend beyond the edge are moved inside, if D is that large.
    ROW_EDGE, COL_EDGE = ROWS % BLK_ROWS > 0 and ROWS > BLK_ROWS, COLS % BLK_COLS > 0 and COLS > BLK_COLS
    LAST_ROW = moved_inside(ROWS, BLK_ROWS, CONSUMER_M if SWAPPED else ROW_BOX)
    LAST_COL = moved_inside(COLS, BLK_COLS, EPI_COLS)
    # Then a part may have rows of another tile.
    SPLIT_ROWS = ROW_EDGE and LAST_ROW % CONSUMER_M > 0
    # TMA stores rows that begin at multiples of 16 bytes.
    TMA_STORE = N % (16 // DTYPE_SIZE) == 0
    # With one consumer, each thread may have all registers that it needs; with three, no more than 128 from the start.
    MOVES_REGS = NUM_CONSUMER == 2
    R_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_ROWS, BLK_K))
    C_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_COLS, BLK_K))
    D_PART = (EPI_COLS, CONSUMER_M) if SWAPPED else (CONSUMER_M, EPI_COLS)
    D_layout = tma_shared_layout(dtype, SWIZZLES[D_PART[1]], (NUM_CONSUMER, EPI_DEPTH, *D_PART))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx = Tx.cta_id([CLUSTERS * SIZE], parent="kernel")
            cta, _ = Tx.cta_id([SIZE, 1], parent="cluster")
            rank = Tx.meta_var(cta if CTAS > 1 else 0)
            wg_id = Tx.warpgroup_id([1 + NUM_CONSUMER], parent="cta")
            warp_id = Tx.warp_id([WG_WARPS], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")

            rows, cols = Tx.meta_var((B, A) if SWAPPED else (A, B))
            cluster = Tx.meta_var(bx // SIZE)
            tile_scheduler = ClusterPersistentScheduler2D(
                "ts", num_m_tiles=ROW_CLUSTERS, num_n_tiles=COL_TILES, l2_group_size=GROUP, num_clusters=CLUSTERS
            )
            part_size = Tx.meta_var(CLUSTERS // PARTS_OF_GROUP)
            tile_scheduler.init(cluster % part_size * PARTS_OF_GROUP + cluster // part_size)
            row_tile = Tx.meta_var(tile_scheduler.m_idx * MULTICAST + cta if MULTICAST > 1 else tile_scheduler.m_idx)
            # The rows and columns from these on are the tile's own; another one has those before them.
            own_row, own_col = Tx.meta_var((row_tile * BLK_ROWS, tile_scheduler.n_idx * BLK_COLS))
            row_st = Tx.meta_var(Tx.min(own_row, LAST_ROW) if ROW_EDGE else own_row)
            col_st = Tx.meta_var(Tx.min(own_col, LAST_COL) if COL_EDGE else own_col)

            pool = Tx.PoolAllocator()
            tma2mma = TMABar(pool, PIPE_DEPTH, "tma2mma")
            mma2tma = MBarrier(pool, PIPE_DEPTH, "mma2tma")
            Rsmem = pool.alloc((PIPE_DEPTH, BLK_ROWS, BLK_K), dtype, layout=R_layout)
            Csmem = pool.alloc((PIPE_DEPTH, BLK_COLS, BLK_K), dtype, layout=C_layout)
            Dsmem = pool.alloc((NUM_CONSUMER, EPI_DEPTH, *D_PART), dtype, layout=D_layout)
            others_sums = TMABar(pool, 1, "others_sums") if CTAS > 1 else None
            # Four sums of each thread side by side: a warp stores 512 bytes in a row.
            sums = pool.alloc((OTHERS, NUM_CONSUMER, PART_REGS // 4, 128, 4), "float32") if CTAS > 1 else None
            pool.commit()
            tma2mma.init(1)
            mma2tma.init(NUM_CONSUMER * MULTICAST)
            if CTAS > 1:
                others_sums.init(1)
            # The thread that initialises the barriers issues the first loads: it needs the proxy fence for itself.
            Tx.ptx.fence.mbarrier_init()
            Tx.ptx.fence.proxy_async("shared::cta")
            tma_phase = PipelineState("tma", PIPE_DEPTH)
            mma_phase = PipelineState("mma", PIPE_DEPTH)
            tma_phase.init(is_producer=True)
            mma_phase.init(is_producer=False)

            @Tx.inline
            def tma_load(stage, k):
                k_st = Tx.meta_var((k * CTAS + rank) * BLK_K)
                tma = Tx.meta_var({"dispatch": "tma", "mbar": tma2mma.ptr_to([stage]), **HINT})
                tma2mma.arrive(stage, TMA_BYTES)
                Tx.copy_async(Rsmem[stage, :, :], rows[row_st : row_st + BLK_ROWS, k_st : k_st + BLK_K], **tma)
                first = Tx.meta_var(cta * LOAD_COLS if MULTICAST > 1 else 0)
                Tx.copy_async(
                    Csmem[stage, first : first + LOAD_COLS, :],
                    cols[col_st + first : col_st + first + LOAD_COLS, k_st : k_st + BLK_K], cta_mask=TO_ALL, **tma,
                )

            @Tx.inline
            def load_tile(first):
                for k in range(first, K_TILES):
                    mma2tma.wait(tma_phase.stage, tma_phase.phase)
                    tma_load(tma_phase.stage, k)
                    tma_phase.move_to_next_stage()
                tile_scheduler.next_tile()

            @Tx.inline
            def synchronise():
                if MULTICAST > 1:
                    Tx.cuda.cluster_sync()
                else:
                    if CTAS > 1:
                        Tx.cuda.cluster_arrive()
                    Tx.cuda.cta_sync()

            if wg_id == 0:
                if warp_id == 0:
                    if lane_id == 0:
                        if CTAS > 1:
                            others_sums.arrive(0, SUMS_BYTES)
                        Tx.ptx.griddepcontrol.wait()
                        for k in range(FIRST):
                            tma_load(k, k)
            synchronise()

            if wg_id == 0:
                if MOVES_REGS:
                    Tx.ptx.setmaxnreg.dec(PRODUCER_REGS)
                if warp_id == 0:
                    if lane_id == 0:
                        tma_phase.skip(FIRST)
                        if FIRST:
                            load_tile(FIRST)
                        while tile_scheduler.valid():
                            load_tile(0)
                if CTAS > 1:
                    Tx.cuda.cluster_wait()
            else:
                if MOVES_REGS:
                    Tx.ptx.setmaxnreg.inc(CONSUMER_REGS)
                Dreg = Tx.alloc_local((DREG_N,), "float32")
                Dacc = Dreg.view(CONSUMER_M, BLK_COLS, layout=wgmma_accumulator_layout(BLK_COLS, CONSUMER_M))
                Dreg_16b = Tx.alloc_local((EPI_REGS,), dtype)
                D_16b = Dreg_16b.view(CONSUMER_M, EPI_COLS, layout=wgmma_accumulator_layout(EPI_COLS))
                parts = Tx.meta_var(Dsmem.permute(0, 1, 3, 2) if SWAPPED else Dsmem)
                consumer = Tx.meta_var(wg_id - 1)
                tid = Tx.meta_var(warp_id * 32 + lane_id)
                row = Tx.meta_var(consumer * CONSUMER_M)

                @Tx.inline
                def release(stage):
                    release_stage(mma2tma, stage, MULTICAST, warp_id, lane_id)

                @Tx.inline
                def mma(stage, k):
                    with Tx.warpgroup():
                        Tx.ptx.wgmma.fence()
                        Tx.gemm_async(
                            Dacc[:, :], Rsmem[stage, row : row + CONSUMER_M, :], Csmem[stage, :, :],
                            accum=(k != 0), dispatch="wgmma",
                        )
                        Tx.ptx.wgmma.commit_group()

                @Tx.inline
                def add_up():
                    # Send the sums of the others' columns, receive those of the own, and have them in front.
                    Tx.cuda.cluster_wait()
                    for part in Tx.unroll(CTAS):
                        if rank != part:
                            sender = Tx.meta_var((rank + OTHERS - part) % CTAS)
                            for i in Tx.unroll(0, PART_REGS, 4):
                                Tx.ptx.st_async(
                                    Tx.ptx.map_shared_rank(sums.ptr_to([sender, consumer, i // 4, tid, 0]), part),
                                    Dreg.ptr_to([part * PART_REGS + i]),
                                    Tx.ptx.map_shared_rank(others_sums.ptr_to([0]), part), vec="v4", type="f32",
                                )
                    Tx.ptx.mbarrier.try_wait_acquire_cluster(others_sums.ptr_to([0]), 0)
                    for part in Tx.unroll(CTAS):
                        if rank == part:
                            for i in Tx.unroll(PART_REGS):
                                Dreg[i] = Dreg[part * PART_REGS + i] + sums[0, consumer, i // 4, tid, i % 4]
                    for other in Tx.unroll(1, OTHERS):
                        for i in Tx.unroll(PART_REGS):
                            Dreg[i] = Dreg[i] + sums[other, consumer, i // 4, tid, i % 4]

                @Tx.inline
                def store_rows(first, col, buffer, start, count):
                    # Of the part that begins at row `first` and column `col`, `count` rows from `start` on.
                    r = Tx.meta_var(first + start)
                    if SWAPPED:
                        Tx.copy_async(
                            D[col : col + EPI_COLS, r : r + count], Dsmem[consumer, buffer, :, :], dispatch="tma"
                        )
                    else:
                        Tx.copy_async(
                            D[r : r + count, col : col + EPI_COLS],
                            Dsmem[consumer, buffer, start : start + count, :], dispatch="tma",
                        )

                @Tx.inline
                def write_back():
                    if PARTS % EPI_DEPTH:
                        # The first part takes the buffer that the last part of the previous tile is stored from.
                        if warp_id == 0:
                            if lane_id == 0:
                                Tx.ptx.cp_async.bulk.wait_group(0, read=True)
                    for i in Tx.unroll(PARTS):
                        # Once the second-to-last store has read its buffer, all threads may overwrite it.
                        if warp_id == 0:
                            if lane_id == 0:
                                Tx.ptx.cp_async.bulk.wait_group(EPI_DEPTH - 1, read=True)
                        Tx.cuda.warpgroup_sync(wg_id)
                        with Tx.thread():
                            Tx.cast(Dreg_16b[:], Dreg[i * EPI_REGS : (i + 1) * EPI_REGS])
                        with Tx.warpgroup():
                            Tx.copy(parts[consumer, i % EPI_DEPTH, :, :], D_16b[:, :])
                        Tx.cuda.warpgroup_sync(wg_id)
                        if warp_id == 0:
                            if lane_id == 0:
                                first, col = Tx.meta_var((row_st + row, col_st + rank * PART_COLS + i * EPI_COLS))
                                if col >= own_col:
                                    if first >= own_row:
                                        store_rows(first, col, i % EPI_DEPTH, 0, CONSUMER_M)
                                    elif SPLIT_ROWS:
                                        for box in range(CONSUMER_M // ROW_BOX):
                                            if first + box * ROW_BOX >= own_row:
                                                store_rows(first, col, i % EPI_DEPTH, box * ROW_BOX, ROW_BOX)
                                Tx.ptx.cp_async.bulk.commit_group()

                @Tx.inline
                def store():
                    # Each element by itself: of each eight columns, a thread has two neighbours in rows eight apart.
                    for i in Tx.unroll(PART_REGS):
                        r = Tx.meta_var(row_st + row + tid // 32 * 16 + tid % 32 // 4 + i // 2 % 2 * 8)
                        c = Tx.meta_var(col_st + rank * PART_COLS + i // 4 * 8 + tid % 4 * 2 + i % 2)
                        if r >= own_row and r < ROWS and c >= own_col and c < COLS:
                            if SWAPPED:
                                D[c, r] = Tx.cast(Dreg[i], dtype)
                            else:
                                D[r, c] = Tx.cast(Dreg[i], dtype)

                @Tx.inline
                def multiply(steps):
                    last: Tx.int32
                    last = 0
                    for k in range(steps):
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

                while tile_scheduler.valid():
                    if CHAIN < K_TILES:
                        total = Tx.alloc_local((DREG_N,), "float32")
                        for i in Tx.unroll(DREG_N):
                            total[i] = 0.0
                        for chain in range(ceil(K_TILES / CHAIN)):
                            multiply(Tx.min(CHAIN, K_TILES - chain * CHAIN))
                            for i in Tx.unroll(DREG_N):
                                total[i] = total[i] + Dreg[i]
                        for i in Tx.unroll(DREG_N):
                            Dreg[i] = total[i]
                    else:
                        multiply(K_TILES)
                    if CTAS > 1:
                        add_up()
                    if TMA_STORE:
                        write_back()
                    else:
                        store()
                    tile_scheduler.next_tile()
                # The CTA must not exit before the last store has read shared memory.
                if warp_id == 0:
                    if lane_id == 0:
                        Tx.ptx.cp_async.bulk.wait_group(0)
            # No CTA may exit while the other one still loads into it or arrives at its barriers.
            if MULTICAST > 1:
                Tx.cuda.cluster_sync()

    return kernel
