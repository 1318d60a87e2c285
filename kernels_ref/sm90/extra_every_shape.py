"""Beyond the ten: a GEMM for every shape, which is also fast in a launch by itself.

Step 10 is at its best where a GPU computes many waves of tiles, launch after launch. This file adds a kernel for the
other cases, and `hgemm` chooses between the two.

    warpgroup 0, one thread    TMA                  loads the tiles of A and B
    warpgroup 1                MMA and write-back   rows 0 to 63 of a tile of D
    warpgroup 2                MMA and write-back   rows 64 to 127

**Wide tiles.** Both consumers share a tile of 128 × BLK_N, with up to 256 columns. It loads a quarter less for each
multiplication than two tiles of 128 × 128, which matters most where the GPU's clock is high: in a launch by itself.
The write-back, in return, does not overlap the multiplication.

**Any width.** BLK_N is a multiple of 16, chosen so that the last wave is nearly full: 1536 × 1536 is one wave of
12 × 11 tiles with 144 columns, and two waves with 128.

**Waves.** The 132 tiles of a wave need the fewest rows of A and B if they are about as many rows of D as columns: 12
rows of tiles and 11 columns of them, or 16 and 8. The less comes from memory, the more power is left for the tensor
cores.

**Pairs.** Few tiles with a long K leave most SMs idle. Then the two CTAs of a cluster share a tile: each multiplies one
half of K, sends one half of its sums to the other, and stores the other half. Each element is the sum of the same two
numbers in every run. One CTA takes the even steps of K, the other the odd ones, so that both read neighbouring pieces
of a row at the same time.

**First out.** The L2 cache is full of what was written before. A line that is loaded takes the place of one that has to
be written to memory first, unless there are others to replace: with `evict_first`, the tiles replace one another. That
is right for few rows, where no later wave needs a tile of B again.

**An early start.** The thread that initialises the barriers issues the first loads itself, before the other warps know
of the barriers: they wait for nothing but data.
"""
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
# `sums` is None without pairs, and only pairs use it.

from dataclasses import dataclass
from math import ceil

from kernels_ref.sm90.step10_multi_consumer import TILES, hgemm_v10
from tirx_mini.lang import ClusterPersistentScheduler2D, MBarrier, PipelineState, TMABar
from tirx_mini.layout import SwizzleMode, tma_shared_layout, wgmma_accumulator_layout
from tirx_mini.script import tirx as Tx
from utils import check_shape

SM_COUNT = 132
BLK_M, BLK_K = 128, 64
WIDTHS = range(32, 257, 16)
PAIR = 2
ROWS = 8
WAVE_ROWS = (12, 16)
NEIGHBOURS = 4
NUM_CONSUMER = 2
CONSUMER_M = BLK_M // NUM_CONSUMER
EPI_DEPTH = 2
WG_WARPS = 4
SMEM_BYTES = 225 * 1024
DTYPE_SIZE = 2
PRODUCER_REGS, CONSUMER_REGS = 40, 232
SWIZZLES = {64: SwizzleMode.SWIZZLE_128B_ATOM, 32: SwizzleMode.SWIZZLE_64B_ATOM, 16: SwizzleMode.SWIZZLE_32B_ATOM}


@dataclass(frozen=True)
class Plan:
    """How D is computed. shared: by this file's kernel, else by step 10. ctas: of a tile. cycles: an estimate."""

    shared: bool
    blk_n: int
    ctas: int
    cycles: float


def plan(M, N, K):
    """The plan with the least time. Its constants fit sweeps of forty shapes on an H100 and an H200."""
    found = []
    for blk_n in WIDTHS:
        tiles = ceil(M / BLK_M) * ceil(N / blk_n)
        mma = mma_cycles(BLK_M, blk_n, K)
        # The write-back overlaps nothing. 12 rows × 11 columns of tiles are a wave without a rest.
        whole = 0.985 if ceil(M / BLK_M) % WAVE_ROWS[0] == 0 else 1
        found.append(Plan(True, blk_n, 1, ceil(tiles / SM_COUNT) * (mma + store_cycles(blk_n)) * whole))
        if tiles * PAIR <= SM_COUNT and blk_n % 32 == 0 and K % (PAIR * BLK_K) == 0:
            found.append(Plan(True, blk_n, PAIR, mma / PAIR * 1.12 + 20 * blk_n + 4300))
    for blk_m, blk_n in TILES:
        if ceil(M / blk_m) < ROWS:
            continue  # step 10 arranges neighbours for eight rows of tiles
        rounds = ceil(ceil(M / blk_m) * ceil(N / blk_n) / SM_COUNT)
        found.append(Plan(False, blk_n, 1, rounds * mma_cycles(blk_m, blk_n, K) + 5 * blk_n))
    return min(found, key=lambda each: each.cycles)


def mma_cycles(blk_m, blk_n, K):
    """Of one tile: 2048 multiplications a cycle; fewer where the L2 cache cannot load tiles as fast, or shared memory
    cannot read 64 rows of A and blk_n of B for each instruction at 120 bytes a cycle."""
    l2 = 0.22 * max(0, (blk_m + blk_n) / (blk_m * blk_n) / 0.013 - 1)
    shared = max(0, (64 + blk_n) * 64 / blk_n / 120 - 1)
    return blk_m * blk_n * K / 2048 * (1 + l2 + shared)


def part_width(columns):
    """Of the parts in which a tile of so many columns is written back."""
    return next(width for width in SWIZZLES if columns % width == 0)


def store_cycles(blk_n):
    """Of the write-back of a tile of 128 rows: two barriers for each part, and the columns."""
    return 3 * blk_n + 150 * (blk_n // part_width(blk_n))


def hgemm(M, N, K, dtype="float16"):
    """A kernel for A (M, K), B (N, K) and D (M, N) of `dtype`; float32 accumulation."""
    check_shape("hgemm", multiple={"M": (M, 64), "N": (N, 64), "K": (K, BLK_K)})
    chosen = plan(M, N, K)
    return shared_tiles(M, N, K, dtype, chosen.blk_n, chosen.ctas) if chosen.shared else hgemm_v10(M, N, K, dtype)


def shared_tiles(M, N, K, dtype, BLK_N, CTAS=1):
    """The kernel whose consumers share tiles of 128 × BLK_N. CTAS: 2 for pairs, which compute one tile each."""
    M_TILES, N_TILES, K_TILES = ceil(M / BLK_M), ceil(N / BLK_N), K // BLK_K // CTAS
    CLUSTERS = min(SM_COUNT // CTAS, M_TILES * N_TILES)
    PART_N = BLK_N // CTAS
    EPI_N = part_width(PART_N)
    PARTS = PART_N // EPI_N
    EPI_REGS = CONSUMER_M * EPI_N // 128
    DREG_N = CONSUMER_M * BLK_N // 128
    PART_REGS = DREG_N // CTAS
    SUMS_BYTES = (CTAS - 1) * NUM_CONSUMER * 128 * PART_REGS * 4
    EPI_BYTES = NUM_CONSUMER * EPI_DEPTH * CONSUMER_M * EPI_N * DTYPE_SIZE
    TMA_BYTES = (BLK_M + BLK_N) * BLK_K * DTYPE_SIZE
    PIPE_DEPTH = (SMEM_BYTES - SUMS_BYTES - EPI_BYTES) // TMA_BYTES
    FIRST = min(PIPE_DEPTH, K_TILES)
    # With eight or more rows of tiles, 16 neighbours have 4 × 4 of them, as in step 10; with fewer, whole columns.
    GROUP = next((rows for rows in WAVE_ROWS if M_TILES % rows == 0), ROWS)
    PARTS_OF_GROUP = GROUP // NEIGHBOURS if M_TILES >= ROWS else 1
    PARTS_OF_GROUP = PARTS_OF_GROUP if CLUSTERS % PARTS_OF_GROUP == 0 else 1
    HINT = {"cache_hint": "evict_first"} if M_TILES <= ROWS else {}
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_N, BLK_K))
    D_layout = tma_shared_layout(dtype, SWIZZLES[EPI_N], (NUM_CONSUMER, EPI_DEPTH, CONSUMER_M, EPI_N))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx = Tx.cta_id([CLUSTERS * CTAS], parent="kernel")
            rank, _ = Tx.cta_id([CTAS, 1], parent="cluster")
            wg_id = Tx.warpgroup_id([1 + NUM_CONSUMER], parent="cta")
            warp_id = Tx.warp_id([WG_WARPS], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")

            cluster = Tx.meta_var(bx // CTAS)
            tile_scheduler = ClusterPersistentScheduler2D(
                "ts", num_m_tiles=M_TILES, num_n_tiles=N_TILES, l2_group_size=GROUP, num_clusters=CLUSTERS
            )
            part_size = Tx.meta_var(CLUSTERS // PARTS_OF_GROUP)
            tile_scheduler.init(cluster % part_size * PARTS_OF_GROUP + cluster // part_size)
            m_st = Tx.meta_var(tile_scheduler.m_idx * BLK_M)
            n_st = Tx.meta_var(tile_scheduler.n_idx * BLK_N)

            pool = Tx.PoolAllocator()
            tma2mma = TMABar(pool, PIPE_DEPTH, "tma2mma")
            mma2tma = MBarrier(pool, PIPE_DEPTH, "mma2tma")
            Asmem = pool.alloc((PIPE_DEPTH, BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((PIPE_DEPTH, BLK_N, BLK_K), dtype, layout=B_layout)
            Dsmem = pool.alloc((NUM_CONSUMER, EPI_DEPTH, CONSUMER_M, EPI_N), dtype, layout=D_layout)
            # Four sums of each thread side by side: a warp stores 512 bytes in a row.
            sums = pool.alloc((NUM_CONSUMER, PART_REGS // 4, 128, 4), "float32") if CTAS > 1 else None
            pool.commit()
            tma2mma.init(1)
            mma2tma.init(NUM_CONSUMER)
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
                Tx.copy_async(Asmem[stage, :, :], A[m_st : m_st + BLK_M, k_st : k_st + BLK_K], **tma)
                Tx.copy_async(Bsmem[stage, :, :], B[n_st : n_st + BLK_N, k_st : k_st + BLK_K], **tma)

            @Tx.inline
            def load_tile(first):
                for k in range(first, K_TILES):
                    mma2tma.wait(tma_phase.stage, tma_phase.phase)
                    tma_load(tma_phase.stage, k)
                    tma_phase.move_to_next_stage()
                tile_scheduler.next_tile()

            @Tx.inline
            def synchronise():
                if CTAS > 1:
                    Tx.cuda.cluster_sync()
                else:
                    Tx.cuda.cta_sync()

            if wg_id == 0:
                if warp_id == 0:
                    if lane_id == 0:
                        Tx.ptx.griddepcontrol.wait()
                        for k in range(FIRST):
                            tma_load(k, k)
            synchronise()

            if wg_id == 0:
                Tx.ptx.setmaxnreg.dec(PRODUCER_REGS)
                if warp_id == 0:
                    if lane_id == 0:
                        tma_phase.skip(FIRST)
                        load_tile(FIRST)
                        while tile_scheduler.valid():
                            load_tile(0)
                if CTAS > 1:
                    Tx.cuda.cluster_sync()
            else:
                Tx.ptx.setmaxnreg.inc(CONSUMER_REGS)
                Dreg = Tx.alloc_local((DREG_N,), "float32")
                Dacc = Dreg.view(CONSUMER_M, BLK_N, layout=wgmma_accumulator_layout(BLK_N, CONSUMER_M))
                Dreg_16b = Tx.alloc_local((EPI_REGS,), dtype)
                D_16b = Dreg_16b.view(CONSUMER_M, EPI_N, layout=wgmma_accumulator_layout(EPI_N))
                consumer = Tx.meta_var(wg_id - 1)
                tid = Tx.meta_var(warp_id * 32 + lane_id)
                row = Tx.meta_var(consumer * CONSUMER_M)
                last: Tx.int32
                last = 0

                @Tx.inline
                def release(stage):
                    if warp_id == 0:
                        if lane_id == 0:
                            mma2tma.arrive(stage)

                @Tx.inline
                def mma(stage, k):
                    with Tx.warpgroup():
                        Tx.ptx.wgmma.fence()
                        Tx.gemm_async(
                            Dacc[:, :], Asmem[stage, row : row + CONSUMER_M, :], Bsmem[stage, :, :],
                            accum=(k != 0), dispatch="wgmma",
                        )
                        Tx.ptx.wgmma.commit_group()

                @Tx.inline
                def add_up():
                    # Send the sums of the other CTA's columns, receive those of the own, and have them in front.
                    for part in Tx.unroll(CTAS):
                        if rank != part:
                            for i in Tx.unroll(0, PART_REGS, 4):
                                Tx.ptx.st(
                                    Tx.ptx.map_shared_rank(sums.ptr_to([consumer, i // 4, tid, 0]), part),
                                    src=Dreg.ptr_to([part * PART_REGS + i]), vec="v4", type="f32",
                                    space="shared::cluster",
                                )
                    Tx.cuda.cluster_sync()
                    for part in Tx.unroll(CTAS):
                        if rank == part:
                            for i in Tx.unroll(PART_REGS):
                                Dreg[i] = Dreg[part * PART_REGS + i] + sums[consumer, i // 4, tid, i % 4]

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
                            Tx.copy(Dsmem[consumer, i % EPI_DEPTH, :, :], D_16b[:, :])
                        Tx.cuda.warpgroup_sync(wg_id)
                        if warp_id == 0:
                            if lane_id == 0:
                                m_epi = Tx.meta_var(m_st + row)
                                n_epi = Tx.meta_var(n_st + rank * PART_N + i * EPI_N)
                                Tx.copy_async(
                                    D[m_epi : m_epi + CONSUMER_M, n_epi : n_epi + EPI_N],
                                    Dsmem[consumer, i % EPI_DEPTH, :, :], dispatch="tma",
                                )
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
                    if CTAS > 1:
                        add_up()
                    write_back()
                    tile_scheduler.next_tile()
                # The CTA must not exit before the last store has read shared memory.
                if warp_id == 0:
                    if lane_id == 0:
                        Tx.ptx.cp_async.bulk.wait_group(0)

    return kernel
