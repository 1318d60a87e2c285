"""Beyond the ten: a GEMM of 8-bit floats, float8_e4m3fn, with a bfloat16 result.

    warpgroup 0, one thread    TMA                             loads the tiles of A and B, 128 columns at a time
    warpgroup 1 (and 2)        MMA, promotion and write-back   64 rows of a tile of D

A and B have one factor each, a float32 number in memory; D is their product times both factors.

**Promotion.** The tensor core of Hopper adds products of 8-bit floats in fewer bits than float32 has: about 14 of the
mantissa. Over a long K the error grows with every wgmma. So each sum over 128 columns begins at zero, and its end is
added to a float32 total by the ordinary adders. With `promoted=False`, the tensor core adds up all of K.

**Two sets of sums.** A thread cannot add up registers that a wgmma still writes. With one set of partial sums, a
consumer leaves the tensor core to the other one in the meantime. With two sets, the next wgmmas write one while the
other one is added up.

**Parts.** Totals and partial sums of 64 × 256 do not fit in the 240 registers of a thread. So a step of 128 columns
consists of parts, a half or a quarter of the columns each, whose sums are promoted before a later part needs their
registers.

**Pairs.** TMA reads rows that begin at any multiple of 16 bytes. Where K is not a multiple of 32, every second row
begins within a sector of the L2 cache, and the cache delivers about half as much. There, clusters of two CTAs compute
tiles below one another, and each loads half of their tile of B for both.

**The edge.** A tile may extend beyond D: there, TMA loads zeros and stores nothing. So does the last step along K.
"""

from dataclasses import dataclass
from math import ceil

from kernels_ref.sm90.extra_every_shape import NEIGHBOUR_ROWS, SWIZZLES, WAVE_ROWS, first_out
from kernels_ref.sm90.extra_plans import CONSUMER_M, NEAR_ROWS, RESIDENT, SM_COUNT, SMEM_BYTES, part_width
from kernels_ref.sm90.extra_shared_k import release_stage
from tirx_mini.lang import ClusterPersistentScheduler2D, MBarrier, PipelineState, TMABar
from tirx_mini.layout import SwizzleMode, tma_shared_layout, wgmma_accumulator_layout
from tirx_mini.script import tirx as Tx
from utils import check_shape

DTYPE, RESULT = "float8_e4m3fn", "bfloat16"
RESULT_SIZE = 2
BLK_K = 128
"""Bytes and columns of a step: the width of a swizzled row, and the columns between two promotions."""
MULTIPLE = 16
SECTOR = 32
EPI_DEPTH = 2
WG_WARPS = 4
WG_THREADS = 128
PRODUCER_REGS, CONSUMER_REGS = 40, 232


@dataclass(frozen=True)
class Tiling:
    """How a kernel computes D.

    blk_m, blk_n: the rows and columns of a tile; 64 rows for each consumer.
    parts: into which the columns are divided for the promotion.
    sets: of partial sums, 1 or 2; 0 without promotion.
    chain: the steps after which all wgmmas are waited for. (ptxas serialises wgmmas whose sums are read in the next
        iteration of a loop while others are pending.)
    ctas: of a cluster, 1, 2 or 4, whose tiles are below one another and share the tile of B.
    """

    blk_m: int
    blk_n: int
    parts: int = 1
    sets: int = 0
    chain: int = 1
    ctas: int = 1

    @property
    def part_n(self):
        """The columns of a part."""
        return self.blk_n // self.parts

    @property
    def registers(self):
        """The float32 sums of a thread."""
        return (self.blk_n * (self.sets > 0) + self.part_n * max(1, self.sets)) // 2


WIDTHS = {128: range(64, 257, 16), 64: (64, 128, 256)}
PROMOTIONS = {(1, 1, 1): 1.06, (2, 1, 1): 1.12, (1, 2, 2): 1.05, (2, 2, 2): 1.06, (4, 2, 2): 1.07}
"""The divisions of promoted sums: parts, sets and chain, and the time of a step relative to one without promotion."""
MOST_REGISTERS = 208
LEAST_PART = 56
LAUNCH = 1500
"""Cycles of a launch without its tiles."""


def tilings(M, N, K, promoted=True):
    """The tilings to choose from. Rows that do not begin at multiples of 32 bytes lie in five sectors of the L2 cache
    for each four that are needed: pairs load fewer of them."""
    for blk_m, widths in WIDTHS.items():
        for blk_n in widths:
            for promotion in PROMOTIONS if promoted else ((1, 0, 1),):
                each = Tiling(blk_m, blk_n, *promotion, ctas=1 if blk_m == 64 or K % SECTOR == 0 else 2)
                if each.registers <= MOST_REGISTERS and each.part_n % 8 == 0 and each.part_n >= min(LEAST_PART, blk_n):
                    yield each


def tiling(M, N, K, promoted=True):
    """The tiling with the least estimate."""
    return min(tilings(M, N, K, promoted), key=lambda each: estimate(each, M, N, K))


def estimate(chosen, M, N, K):
    """The cycles of a launch. Its constants are fitted to the times of many tilings for 13 shapes on an H200."""
    m, n, consumers = chosen.blk_m, chosen.blk_n, chosen.blk_m // CONSUMER_M
    waves = ceil(ceil(ceil(M / m) / chosen.ctas) * ceil(N / n) / at_a_time(chosen.ctas))
    mma = 2 * n * consumers
    if chosen.sets:
        mma *= PROMOTIONS[chosen.parts, chosen.sets, chosen.chain]
        if consumers == chosen.sets == 1:
            mma *= 1.4  # nothing is multiplied while sums are added up
    l2 = (m + n / chosen.ctas) * BLK_K / 66 * uneven(K)
    step = max(mma, l2) + 0.15 * min(mma, l2)
    write_back = 2.7 * n + 88 * (n // part_width(n))
    return LAUNCH + waves * (ceil(K / BLK_K) * step + write_back)


def at_a_time(ctas):
    """The clusters that run at a time."""
    return min(SM_COUNT // ctas, RESIDENT[ctas])


def uneven(K):
    """The work of the L2 cache for a row of a step, relative to a row that begins at a multiple of 128 bytes."""
    return 1.0 if K % BLK_K == 0 else 1.15 if K % SECTOR == 0 else 1.9


def fp8_gemm(M, N, K, promoted=True):
    """A kernel for A (M, K) and B (N, K) of float8_e4m3fn, their factors, and D (M, N) of bfloat16."""
    check_shape("fp8_gemm", multiple={"M": (M, MULTIPLE), "N": (N, MULTIPLE), "K": (K, MULTIPLE)})
    return tiled(M, N, K, tiling(M, N, K, promoted))


def tiled(M, N, K, chosen):
    """The kernel that a tiling means."""
    BLK_M, BLK_N, PARTS, SETS = chosen.blk_m, chosen.blk_n, chosen.parts, chosen.sets
    NUM_CONSUMER = BLK_M // CONSUMER_M
    M_TILES, N_TILES, K_TILES = ceil(M / BLK_M), ceil(N / BLK_N), ceil(K / BLK_K)
    CTAS = chosen.ctas
    M_CLUSTERS = ceil(M_TILES / CTAS)
    CLUSTERS = min(at_a_time(CTAS), M_CLUSTERS * N_TILES)
    B_PART = BLK_N // CTAS
    PART_M, PART_N = max(1, SETS) * CONSUMER_M, chosen.part_n
    PART_REGS, SUM_REGS = CONSUMER_M * PART_N // WG_THREADS, CONSUMER_M * BLK_N // WG_THREADS
    CHAIN = chosen.chain * PARTS
    CHAINS, REST = divmod(K_TILES * PARTS, CHAIN)
    EPI_N = part_width(BLK_N)
    STORES = BLK_N // EPI_N
    EPI_REGS = CONSUMER_M * EPI_N // WG_THREADS
    EPI_BYTES = NUM_CONSUMER * EPI_DEPTH * CONSUMER_M * EPI_N * RESULT_SIZE
    TMA_BYTES = (BLK_M + BLK_N) * BLK_K
    PIPE_DEPTH = (SMEM_BYTES - EPI_BYTES) // TMA_BYTES
    # CTAs of a cluster load nothing before all of them have initialised their barriers.
    FIRST = min(PIPE_DEPTH, K_TILES) if CTAS == 1 else 0
    GROUP = next((rows for rows in WAVE_ROWS if M_TILES % rows == 0), NEAR_ROWS) // CTAS
    PARTS_OF_GROUP = max(1, GROUP * CTAS // NEIGHBOUR_ROWS) if M_TILES >= NEAR_ROWS else 1
    PARTS_OF_GROUP = PARTS_OF_GROUP if CLUSTERS % PARTS_OF_GROUP == 0 else 1
    TO_ALL = (1 << CTAS) - 1 if CTAS > 1 else None
    HINT = {"cache_hint": "evict_first"} if first_out(M, N, K // 2, M_TILES * N_TILES) else {}
    MOVES_REGS = NUM_CONSUMER > 1
    A_layout = tma_shared_layout(DTYPE, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_M, BLK_K))
    B_layout = tma_shared_layout(DTYPE, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_N, BLK_K))
    D_layout = tma_shared_layout(RESULT, SWIZZLES[EPI_N], (NUM_CONSUMER, EPI_DEPTH, CONSUMER_M, EPI_N))

    @Tx.prim_func(tirx=True)
    def kernel(
        A: Tx.Buffer((M, K), DTYPE), B: Tx.Buffer((N, K), DTYPE), a_factor: Tx.Buffer((1,), "float32"),
        b_factor: Tx.Buffer((1,), "float32"), D: Tx.Buffer((M, N), RESULT),
    ):  # fmt: skip
        with Tx.kernel():
            bx = Tx.cta_id([CLUSTERS * CTAS], parent="kernel")
            rank, _ = Tx.cta_id([CTAS, 1], parent="cluster")
            wg_id = Tx.warpgroup_id([1 + NUM_CONSUMER], parent="cta")
            warp_id = Tx.warp_id([WG_WARPS], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")

            cluster = Tx.meta_var(bx // CTAS)
            tile_scheduler = ClusterPersistentScheduler2D(
                "ts", num_m_tiles=M_CLUSTERS, num_n_tiles=N_TILES, l2_group_size=GROUP, num_clusters=CLUSTERS
            )
            part_size = Tx.meta_var(CLUSTERS // PARTS_OF_GROUP)
            tile_scheduler.init(cluster % part_size * PARTS_OF_GROUP + cluster // part_size)
            m_st = Tx.meta_var((tile_scheduler.m_idx * CTAS + rank) * BLK_M)
            n_st = Tx.meta_var(tile_scheduler.n_idx * BLK_N)

            pool = Tx.PoolAllocator()
            tma2mma = TMABar(pool, PIPE_DEPTH, "tma2mma")
            mma2tma = MBarrier(pool, PIPE_DEPTH, "mma2tma")
            Asmem = pool.alloc((PIPE_DEPTH, BLK_M, BLK_K), DTYPE, layout=A_layout)
            Bsmem = pool.alloc((PIPE_DEPTH, BLK_N, BLK_K), DTYPE, layout=B_layout)
            Dsmem = pool.alloc((NUM_CONSUMER, EPI_DEPTH, CONSUMER_M, EPI_N), RESULT, layout=D_layout)
            pool.commit()
            tma2mma.init(1)
            mma2tma.init(NUM_CONSUMER * CTAS)
            # The thread that initialises the barriers issues the first loads: it needs the proxy fence for itself.
            Tx.ptx.fence.mbarrier_init()
            Tx.ptx.fence.proxy_async("shared::cta")
            tma_phase = PipelineState("tma", PIPE_DEPTH)
            mma_phase = PipelineState("mma", PIPE_DEPTH)
            tma_phase.init(is_producer=True)
            mma_phase.init(is_producer=False)

            @Tx.inline
            def tma_load(stage, k):
                k_st = Tx.meta_var(k * BLK_K)
                tma = Tx.meta_var({"dispatch": "tma", "mbar": tma2mma.ptr_to([stage]), **HINT})
                tma2mma.arrive(stage, TMA_BYTES)
                Tx.copy_async(Asmem[stage, :, :], A[m_st : m_st + BLK_M, k_st : k_st + BLK_K], **tma)
                b_st = Tx.meta_var(rank * B_PART)
                Tx.copy_async(
                    Bsmem[stage, b_st : b_st + B_PART, :],
                    B[n_st + b_st : n_st + b_st + B_PART, k_st : k_st + BLK_K], cta_mask=TO_ALL, **tma,
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
                if MOVES_REGS:
                    Tx.ptx.setmaxnreg.dec(PRODUCER_REGS)
                if warp_id == 0:
                    if lane_id == 0:
                        tma_phase.skip(FIRST)
                        if FIRST:
                            load_tile(FIRST)
                        while tile_scheduler.valid():
                            load_tile(0)
            else:
                if MOVES_REGS:
                    Tx.ptx.setmaxnreg.inc(CONSUMER_REGS)
                # The sums that wgmmas write, a set below the other one, and their totals.
                Preg = Tx.alloc_local((PART_M * PART_N // WG_THREADS,), "float32")
                Pacc = Preg.view(PART_M, PART_N, layout=wgmma_accumulator_layout(PART_N, PART_M))
                Dreg = Tx.alloc_local((SUM_REGS,), "float32") if SETS else Preg
                Dreg_16b = Tx.alloc_local((EPI_REGS,), RESULT)
                D_16b = Dreg_16b.view(CONSUMER_M, EPI_N, layout=wgmma_accumulator_layout(EPI_N))
                consumer = Tx.meta_var(wg_id - 1)
                row = Tx.meta_var(consumer * CONSUMER_M)
                # The stages of this step and of the previous one.
                stages = Tx.alloc_local((2,), "int32")
                current, previous = Tx.meta_var((stages[0], stages[1]))
                for i in Tx.unroll(2):
                    stages[i] = 0
                # The previous kernel may have computed the factors.
                Tx.ptx.griddepcontrol.wait()
                factor = a_factor[0] * b_factor[0]

                @Tx.inline
                def release(stage):
                    release_stage(mma2tma, stage, CTAS, warp_id, lane_id)

                @Tx.inline
                def mma(stage, part, sums, accum):
                    with Tx.warpgroup():
                        Tx.ptx.wgmma.fence()
                        Tx.gemm_async(
                            Pacc[sums * CONSUMER_M : (sums + 1) * CONSUMER_M, :],
                            Asmem[stage, row : row + CONSUMER_M, :],
                            Bsmem[stage, part * PART_N : (part + 1) * PART_N, :], accum=accum, dispatch="wgmma",
                        )
                        Tx.ptx.wgmma.commit_group()

                @Tx.inline
                def wait_group(n):
                    with Tx.warpgroup():
                        Tx.ptx.wgmma.wait_group(n)

                @Tx.inline
                def promote(part, sums):
                    total = Tx.meta_var(Dreg[part * PART_REGS : (part + 1) * PART_REGS])
                    with Tx.thread():
                        Tx.add(total, total, Preg[sums * PART_REGS : (sums + 1) * PART_REGS])

                @Tx.inline
                def begin_step():
                    tma2mma.wait(mma_phase.stage, mma_phase.phase)
                    stages[1] = stages[0]
                    stages[0] = mma_phase.stage
                    mma_phase.move_to_next_stage()

                @Tx.inline
                def add_up():
                    # The tensor core adds up all of K.
                    for k in range(K_TILES):
                        begin_step()
                        mma(current, 0, 0, k != 0)
                        wait_group(1)
                        if k > 0:
                            release(previous)
                    wait_group(0)
                    release(current)

                @Tx.inline
                def promoted_chain(units):
                    # Issue each unit, a part of a step, and promote the one that has its end SETS - 1 units later.
                    for unit in tuple(range(units + SETS - 1)):
                        newest = Tx.meta_var(min(unit, units - 1))
                        done = Tx.meta_var(unit - SETS + 1)
                        if unit < units:
                            if unit % PARTS == 0:
                                begin_step()
                            mma(current, unit % PARTS, unit % SETS, False)
                        if done >= 0:
                            wait_group(newest - done)
                            if done % PARTS == PARTS - 1:
                                release(current if done // PARTS == newest // PARTS else previous)
                            promote(done % PARTS, done % SETS)

                @Tx.inline
                def add_up_promoted():
                    with Tx.thread():
                        Tx.zero(Dreg[:])
                    for _ in range(CHAINS):
                        promoted_chain(CHAIN)
                    if REST:
                        promoted_chain(REST)

                @Tx.inline
                def write_back():
                    if STORES % EPI_DEPTH:
                        # The first part takes the buffer that the last part of the previous tile is stored from.
                        if warp_id == 0:
                            if lane_id == 0:
                                Tx.ptx.cp_async.bulk.wait_group(0, read=True)
                    with Tx.thread():
                        Tx.mul(Dreg[:], Dreg[:], factor)
                    for i in Tx.unroll(STORES):
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
                                n_epi = Tx.meta_var(n_st + i * EPI_N)
                                Tx.copy_async(
                                    D[m_epi : m_epi + CONSUMER_M, n_epi : n_epi + EPI_N],
                                    Dsmem[consumer, i % EPI_DEPTH, :, :], dispatch="tma",
                                )
                                Tx.ptx.cp_async.bulk.commit_group()

                while tile_scheduler.valid():
                    if SETS:
                        add_up_promoted()
                    else:
                        add_up()
                    write_back()
                    tile_scheduler.next_tile()
                # The CTA must not exit before the last store has read shared memory.
                if warp_id == 0:
                    if lane_id == 0:
                        Tx.ptx.cp_async.bulk.wait_group(0)
            # No CTA may exit while another one still loads into it or arrives at its barriers.
            if CTAS > 1:
                Tx.cuda.cluster_sync()

    return kernel
