"""Beyond the ten: a GEMM for few tiles with a long K, and for few rows, in which CTAs share K unevenly.

128 × 256 has 8 tiles of 64 × 64, and an H100 has 132 SMs. So the steps of all tiles along K are numbered, tile after
tile, and each CTA takes an equal share of the numbers. A share may begin and end within a tile.

    warpgroup 0, one thread    TMA    loads the tiles of A and B
    warpgroup 1 (and 2)        MMA    multiplies 64 rows of a tile; writes its sums to the workspace
    all threads of all CTAs           add up the sums of each element, and store it

**The workspace** is in global memory. Where a CTA ends its part of a tile, it writes float32 sums there, in the order
in which its registers hold them: each thread 16 bytes beside those of its neighbour. Once all CTAs have, all threads of
the grid add up four elements at a time. Where many CTAs share a tile, several threads share their sums, and add theirs
by shuffles. The order does not depend on time: each element is the same sum in every run.

**Neighbours.** Where each tile has as many CTAs, CTAs with the same steps of different tiles are neighbours. They load
the same rows at the same time, so that the L2 cache has them. On an H200, 320 × 320 × 16384 takes 12 µs so, and 18 µs
with shares that do not begin with a tile.

**Multicast.** Where rows begin within a line of the L2 cache, it delivers about half as much. There, two or four CTAs
of a cluster have tiles below one another and the same steps, and each loads a part of their columns for all.

**Swapped operands.** A wgmma has 64 rows, and with M = 1 it would multiply 63 rows of zeros. So the rows of a tile are
rows of B then, and its columns, of which there are 8 or more, are rows of A: the tile is one of D transposed. The
multiplications are few, and the CTAs do nothing but load B, all at the same speed.

**Any shape.** TMA loads zeros beyond the edge of A and B, in the last step of K too. Elements beyond the edge of D are
not stored. N may be odd: each element is stored by itself.
"""

from math import ceil

from kernels_ref.sm90.extra_plans import CONSUMER_M, DTYPE_SIZE, SMEM_BYTES, chain_steps, shared_k_step, slots
from tirx_mini.lang import MBarrier, PipelineState, TMABar
from tirx_mini.layout import SwizzleMode, tma_shared_layout, wgmma_accumulator_layout
from tirx_mini.script import tirx as Tx

WARPGROUP = 128
WG_WARPS = 4
VECTOR = 4
MOST_AT_ONCE = 16
"""The parts of a sum that a thread loads before it adds them up: each takes four registers."""
KEPT_BYTES = 40e6
"""Of A and B: as much may stay in the L2 cache for the next launch."""


class Shares:
    """The part of each worker in the steps of all tiles: `steps` steps of `tile` from `first`, then the next tile."""

    def __init__(self, tiles, steps, workers):
        self.tile_steps, self.units, self.workers = steps, tiles * steps, workers
        self.unit, self.stop = Tx.alloc_scalar("int32", "unit"), Tx.alloc_scalar("int32", "unit_stop")
        self.tile, self.first = Tx.alloc_scalar("int32", "tile"), Tx.alloc_scalar("int32", "first_step")
        self.steps = Tx.alloc_scalar("int32", "steps")

    @Tx.inline
    def init(self, worker):
        self.unit = worker * self.units // self.workers
        self.stop = (worker + 1) * self.units // self.workers
        self.locate()

    @Tx.inline
    def locate(self):
        self.tile = self.unit // self.tile_steps
        self.first = self.unit % self.tile_steps
        self.steps = Tx.min(self.tile_steps - self.first, self.stop - self.unit)

    @Tx.inline
    def next_tile(self):
        self.unit = self.unit + self.steps
        self.locate()

    @Tx.inline
    def valid(self):
        return self.unit < self.stop

    def worker_of(self, unit):
        """The worker whose share has a unit."""
        return ((unit + 1) * self.workers - 1) // self.units


@Tx.inline
def release_stage(barrier, stage, ctas, warp_id, lane_id):
    """Arrive for a warpgroup at the barrier of a stage, in each CTA of a cluster that loads a part of the stage."""
    # Lane r signals CTA r.
    if warp_id == 0:
        if lane_id < ctas:
            if ctas > 1:
                barrier.arrive(stage, cta_id=lane_id, pred=True)
            else:
                barrier.arrive(stage)


def division(workers, tiles, vectors, threads):
    """(LANES, AT_ONCE, ROUNDS): the threads that add up a vector, the parts that each loads at a time, and the vectors
    that each has, one after another: so that as few loads as possible wait for others."""
    most = ceil(workers / tiles) + (workers % tiles > 0)

    def plan(lanes):
        own = ceil(most / lanes)
        return lanes, min(own, MOST_AT_ONCE), ceil(vectors * lanes / threads)

    def waits(lanes):
        _, at_once, rounds = plan(lanes)
        return rounds * ceil(ceil(most / lanes) / at_once)

    return plan(min((1, 2, 4, 8, 16, 32), key=waits))


def shared_k(M, N, K, dtype, BLK_ROWS, BLK_COLS, WORKERS, SWAPPED=False, MULTICAST=1):
    """The kernel whose CTAs, WORKERS of them, share the steps of tiles of BLK_ROWS × BLK_COLS.

    SWAPPED: whether the rows of a tile are rows of B. MULTICAST: the CTAs of a cluster, whose tiles are below one
    another and share the columns. It divides the rows of tiles, and each tile has as many CTAs then.
    """
    ROWS, COLS = (N, M) if SWAPPED else (M, N)
    NUM_CONSUMER = BLK_ROWS // CONSUMER_M
    THREADS = (1 + NUM_CONSUMER) * WARPGROUP
    BLK_K = shared_k_step(BLK_ROWS, BLK_COLS)
    ROW_TILES, K_TILES = ceil(ROWS / BLK_ROWS), ceil(K / BLK_K)
    TILES = ROW_TILES * ceil(COLS / BLK_COLS)
    CHAIN = chain_steps(K_TILES, BLK_K, COLS) if SWAPPED else K_TILES
    CHAINS = ceil(K_TILES / CHAIN)
    TMA_BYTES = (BLK_ROWS + BLK_COLS) * BLK_K * DTYPE_SIZE
    PIPE_DEPTH = SMEM_BYTES // TMA_BYTES
    DREG_N = CONSUMER_M * BLK_COLS // WARPGROUP
    VECTORS = DREG_N // VECTOR
    TILE_VECTORS = NUM_CONSUMER * VECTORS * WARPGROUP
    # CTAs at the same steps of different tiles are neighbours where each tile has as many CTAs: they share operands.
    EVEN = WORKERS // TILES if WORKERS % TILES == 0 else 0
    FIRST_OUT = {"cache_hint": "evict_first"} if (M + N) * K * DTYPE_SIZE > KEPT_BYTES else {}
    ROW_HINT, COL_HINT = FIRST_OUT, {} if SWAPPED else FIRST_OUT
    LOAD_COLS = BLK_COLS // MULTICAST
    TO_ALL = (1 << MULTICAST) - 1 if MULTICAST > 1 else None
    LANES, AT_ONCE, ROUNDS = division(WORKERS, TILES, TILES * TILE_VECTORS, WORKERS * THREADS)
    STRIDES = tuple(1 << bit for bit in range(LANES.bit_length() - 1))
    R_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_ROWS, BLK_K))
    C_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_COLS, BLK_K))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx = Tx.cta_id([WORKERS], parent="kernel")
            cta, _ = Tx.cta_id([MULTICAST, 1], parent="cluster")
            wg_id = Tx.warpgroup_id([1 + NUM_CONSUMER], parent="cta")
            warp_id = Tx.warp_id([WG_WARPS], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")
            tid = Tx.meta_var(warp_id * 32 + lane_id)

            rows, cols = Tx.meta_var((B, A) if SWAPPED else (A, B))
            workspace = Tx.alloc_buffer(
                (slots(TILES, WORKERS), NUM_CONSUMER, VECTORS, WARPGROUP, VECTOR), "float32", scope="global"
            )
            pool = Tx.PoolAllocator()
            tma2mma = TMABar(pool, PIPE_DEPTH, "tma2mma")
            mma2tma = MBarrier(pool, PIPE_DEPTH, "mma2tma")
            Rsmem = pool.alloc((PIPE_DEPTH, BLK_ROWS, BLK_K), dtype, layout=R_layout)
            Csmem = pool.alloc((PIPE_DEPTH, BLK_COLS, BLK_K), dtype, layout=C_layout)
            pool.commit()
            tma2mma.init(1)
            mma2tma.init(NUM_CONSUMER * MULTICAST)
            Tx.ptx.fence.mbarrier_init()
            Tx.ptx.fence.proxy_async("shared::cta")
            tma_phase = PipelineState("tma", PIPE_DEPTH)
            mma_phase = PipelineState("mma", PIPE_DEPTH)
            tma_phase.init(is_producer=True)
            mma_phase.init(is_producer=False)
            shares = Shares(TILES, K_TILES, WORKERS)
            worker = Tx.meta_var(bx % TILES * EVEN + bx // TILES if EVEN else bx)
            shares.init(worker)

            @Tx.inline
            def load(k):
                row = Tx.meta_var(shares.tile % ROW_TILES * BLK_ROWS)
                col = Tx.meta_var(shares.tile // ROW_TILES * BLK_COLS)
                stage = Tx.meta_var(tma_phase.stage)
                k_st = Tx.meta_var((shares.first + k) * BLK_K)
                bar = Tx.meta_var({"dispatch": "tma", "mbar": tma2mma.ptr_to([stage])})
                row_tma, col_tma = Tx.meta_var(({**bar, **ROW_HINT}, {**bar, **COL_HINT}))
                tma2mma.arrive(stage, TMA_BYTES)
                Tx.copy_async(Rsmem[stage, :, :], rows[row : row + BLK_ROWS, k_st : k_st + BLK_K], **row_tma)
                part = Tx.meta_var(cta * LOAD_COLS if MULTICAST > 1 else 0)
                Tx.copy_async(
                    Csmem[stage, part : part + LOAD_COLS, :],
                    cols[col + part : col + part + LOAD_COLS, k_st : k_st + BLK_K], cta_mask=TO_ALL, **col_tma,
                )
                tma_phase.move_to_next_stage()

            @Tx.inline
            def load_tile(first):
                for k in range(first, shares.steps):
                    mma2tma.wait(tma_phase.stage, tma_phase.phase)
                    load(k)
                shares.next_tile()

            # A CTA that shares columns loads nothing before the others have initialised their barriers.
            ahead = Tx.meta_var(Tx.min(shares.steps, PIPE_DEPTH) if MULTICAST == 1 else 0)
            if wg_id == 0:
                if warp_id == 0:
                    if lane_id == 0:
                        Tx.ptx.griddepcontrol.wait()
                        for k in range(ahead):
                            load(k)
            if MULTICAST > 1:
                Tx.cuda.cluster_sync()
            else:
                Tx.cuda.cta_sync()

            if wg_id == 0:
                if warp_id == 0:
                    if lane_id == 0:
                        if MULTICAST == 1:
                            load_tile(ahead)
                        while shares.valid():
                            load_tile(0)
            else:
                Dreg = Tx.alloc_local((DREG_N,), "float32")
                Dacc = Dreg.view(CONSUMER_M, BLK_COLS, layout=wgmma_accumulator_layout(BLK_COLS, CONSUMER_M))
                sums = Tx.alloc_local((DREG_N,), "float32") if CHAINS > 1 else Dreg
                consumer = Tx.meta_var(wg_id - 1)
                row = Tx.meta_var(consumer * CONSUMER_M)

                @Tx.inline
                def release(stage):
                    release_stage(mma2tma, stage, MULTICAST, warp_id, lane_id)

                @Tx.inline
                def multiply(steps):
                    last: Tx.int32
                    last = 0
                    for k in range(steps):
                        tma2mma.wait(mma_phase.stage, mma_phase.phase)
                        with Tx.warpgroup():
                            Tx.ptx.wgmma.fence()
                            Tx.gemm_async(
                                Dacc[:, :], Rsmem[mma_phase.stage, row : row + CONSUMER_M, :],
                                Csmem[mma_phase.stage, :, :], accum=(k != 0), dispatch="wgmma",
                            )
                            Tx.ptx.wgmma.commit_group()
                            Tx.ptx.wgmma.wait_group(1)
                        if k > 0:
                            release(last)
                        last = mma_phase.stage
                        mma_phase.move_to_next_stage()
                    with Tx.warpgroup():
                        Tx.ptx.wgmma.wait_group(0)
                    release(last)

                while shares.valid():
                    if CHAINS > 1:
                        for i in Tx.unroll(DREG_N):
                            sums[i] = 0.0
                        for chain in range((shares.steps + CHAIN - 1) // CHAIN):
                            multiply(Tx.min(CHAIN, shares.steps - chain * CHAIN))
                            for i in Tx.unroll(DREG_N):
                                sums[i] = sums[i] + Dreg[i]
                    else:
                        multiply(shares.steps)
                    slot = Tx.meta_var(worker + shares.tile)
                    for i in Tx.unroll(VECTORS):
                        with Tx.thread():
                            Tx.copy(workspace[slot, consumer, i, tid, :], sums[i * VECTOR : (i + 1) * VECTOR])
                    shares.next_tile()

            # From here on, LANES threads have a vector in every round, four elements of a tile, and add up its parts.
            Tx.cuda.grid_sync()
            thread = Tx.meta_var((bx * (1 + NUM_CONSUMER) + wg_id) * WARPGROUP + tid)
            for turn in range(ROUNDS):
                number = (turn * WORKERS * THREADS + thread) // LANES
                lane = Tx.meta_var(lane_id % LANES)
                tile = number // TILE_VECTORS
                within = number % TILE_VECTORS
                holder = within % WARPGROUP
                vector = within // WARPGROUP % VECTORS
                part = within // WARPGROUP // VECTORS
                begin = shares.worker_of(tile * K_TILES)
                count = shares.worker_of(tile * K_TILES + K_TILES - 1) - begin + 1
                total = Tx.alloc_local((VECTOR,), "float32")
                found = Tx.alloc_local((AT_ONCE, VECTOR), "float32")
                for i in Tx.unroll(VECTOR):
                    total[i] = 0.0
                if tile < TILES:
                    for batch in range(lane, count, LANES * AT_ONCE):
                        for j in Tx.unroll(AT_ONCE):
                            slot = Tx.meta_var(batch + j * LANES)
                            if slot < count:
                                with Tx.thread():
                                    Tx.copy(found[j, :], workspace[begin + slot + tile, part, vector, holder, :])
                        for j in Tx.unroll(AT_ONCE):
                            if batch + j * LANES < count:
                                for i in Tx.unroll(VECTOR):
                                    total[i] = total[i] + found[j, i]
                for i in Tx.unroll(VECTOR):
                    for distance in STRIDES:
                        total[i] = total[i] + Tx.tvm_warp_shuffle_xor(0xFFFFFFFF, total[i], distance, 32, 32)
                # A thread of a wgmma has two neighbours of each eight columns, in rows that are eight apart.
                top = tile % ROW_TILES * BLK_ROWS + part * CONSUMER_M + holder // 32 * 16 + holder % 32 // 4
                left = tile // ROW_TILES * BLK_COLS + vector * 8 + holder % 4 * 2
                if tile < TILES and lane == 0:
                    for i in Tx.unroll(VECTOR):
                        r, c = Tx.meta_var((top + i // 2 * 8, left + i % 2))
                        if r < ROWS and c < COLS:
                            if SWAPPED:
                                D[c, r] = Tx.cast(total[i], dtype)
                            else:
                                D[r, c] = Tx.cast(total[i], dtype)

    return kernel
