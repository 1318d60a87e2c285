"""The tiles in which the kernel for every shape computes D: `plan` estimates the time of each choice.

A tile is BLK_M × BLK_N, of D or of D transposed. Several CTAs of a cluster may share it, each with a part of K, or its
columns; or all CTAs share the steps of all tiles along K, whatever their number (`extra_shared_k.py`). The estimate is
that of one launch by itself on an H100. Its constants are fitted to the measured times of the plans of 434 shapes
(docs/h100_plans.csv), and to fewer ones on an H200 (docs/h200_plans.csv, docs/h200_pairs.csv). There, the plans that it
prefers are 1.3 %, 2.6 % and 3.2 % slower than the fastest ones on average (benchmarks/h100_plans.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import ceil, sqrt

from kernels_ref.sm90.step10_multi_consumer import tile_shape

SM_COUNT = 132
BLK_K = 64
CONSUMER_M = 64
SMALL = 64
SECTOR = 16
SMEM_BYTES = 225 * 1024
DTYPE_SIZE = 2
FLOP_A_CYCLE = 4096
WIDTHS = {64: range(32, 129, 16), 128: range(48, 257, 16), 192: range(96, 193, 16)}
"""The columns of a tile, by its rows. A consumer of a CTA of four warpgroups has registers for 192 columns."""
SHARED_WIDTHS = (32, 64, 96, 128)
RESIDENT = {1: SM_COUNT, 2: 66, 4: 30, 8: 15}
"""Clusters that run at a time, by their CTAs: the SMs of a cluster belong to one GPC."""
NEAR_ROWS = 8
NEIGHBOURS = 16
START, CLUSTER_START, SHARED_START = 8100, 3000, 10540
"""Cycles of a launch without any work, those that clusters add, and of one where CTAs share the steps of all tiles."""
L2_RATE, CLUSTER_L2_RATE, SHARED_L2_RATE = 10720, 18700, 5330
"""Bytes a cycle of the L2 cache, where the CTAs of a cluster share a tile, and where all CTAs share all steps."""
FROM_L2, SHARED_FROM_L2 = 0.85, 0.2
"""The share of a tile that the L2 cache delivers to each CTA by itself, though its neighbours load it too."""
UNEVEN, MULTICAST_UNEVEN = (1.0, 1.73, 3.07), (1.0, 2.27, 2.67)
SHARED_UNEVEN, SHARED_MULTICAST_UNEVEN = (1.0, 2.76, 2.77), (1.0, 2.26, 1.3)
"""The work of the L2 cache by `unaligned`, relative to aligned rows; and where CTAs share the columns."""
HBM_RATE, FEW_RATE, SHARED_RATE, HBM_PEAK = 1850, 1500, 1320, 1440
"""Bytes a cycle by which HBM traffic adds to what waits for the L2 cache: in general, where most of a tile's rows are
zeros, and where CTAs share all steps. And the most that the HBM delivers."""
BARRIER, MULTICAST_BARRIER, CLUSTER_BARRIER, SHARED_BARRIER = 79, {2: 100, 4: 39}, 409, 333
"""Cycles from a barrier of the pipeline to the next MMAs: of a CTA by itself, where CTAs that share columns release a
stage, where the CTAs of a cluster load different steps, and where all CTAs share all steps."""
CLOCK_GHZ, SUSTAINED, POWER_EXPONENT, HBM_POWER = 1.98, 0.535, 0.368, 0.15
"""The clock at rest. It falls with the share of the time in which the tensor cores are busy, above the sustained one; a
TB/s of HBM traffic draws as much power as 0.15 of that time (docs/h100_counters.csv)."""
GHZ = 1.755
"""The clock by which the HBM traffic is estimated."""
MOST_SUMS = 16 << 20
"""Float32 numbers in the largest workspace."""
MOST_PARTS, MOST_WIDTH = 16, 256
MOST_SWAPPED = 512
"""Rows of A that may be columns of a tile."""
CHAIN_K, FEW_COLUMNS = 1024, 32
"""Columns of A and B in a chain of sums, where D transposed has no more columns than that."""
"""Columns of tiles where CTAs share the steps of all tiles, and the columns of each."""


@dataclass(frozen=True)
class Plan:
    """The method by which D is computed.

    own: by the kernels for every shape, else by step 10.
    blk_m, blk_n: the rows and columns of a tile.
    ctas: the CTAs of a cluster that share a tile, and its K.
    workers: the CTAs that share the steps of all tiles; 0 if they do not.
    swapped: whether the rows of a tile are rows of B.
    multicast: the CTAs of a cluster that share the columns of their tiles.
    """

    own: bool
    blk_m: int
    blk_n: int
    ctas: int
    workers: int = 0
    swapped: bool = False
    multicast: int = 1


def plan(M: int, N: int, K: int) -> Plan:
    """The plan with the least estimate."""
    return min(plans(M, N, K), key=lambda each: estimate(each, M, N, K))


def k_step(blk_m: int, blk_n: int, ctas: int, K: int) -> int:
    """The columns of A and B that a stage of the pipeline holds: twice as many for small tiles, where K allows it."""
    twice = max(blk_m, blk_n) <= SMALL and ceil(K / BLK_K / ctas) % 2 == 0
    return 2 * BLK_K if twice else BLK_K


def shared_k_step(blk_rows: int, blk_cols: int) -> int:
    """The columns of A and B that a stage of the pipeline holds where CTAs share the steps of all tiles."""
    return 2 * BLK_K if blk_rows + blk_cols <= 2 * SMALL + 16 else BLK_K


def chain_steps(steps: int, blk_k: int, columns: int) -> int:
    """The steps along K whose sums the tensor core adds up, before threads add them to float32 totals."""
    return CHAIN_K // blk_k if columns <= FEW_COLUMNS else steps


def plans(M: int, N: int, K: int) -> Iterator[Plan]:
    """Every plan that the kernels allow: as many clusters as run at a time, the same number of K tiles for each CTA."""
    yield from single_plans(M, N, K, swapped=False)
    if M <= MOST_SWAPPED:
        yield from single_plans(M, N, K, swapped=True)
    for ctas in (2, 4, 8):
        if ctas * BLK_K <= K:
            for blk_m in (64, 128):
                for blk_n in SHARED_WIDTHS:
                    if blk_n % (8 * ctas) == 0 and ceil(M / blk_m) * ceil(N / blk_n) <= RESIDENT[ctas]:
                        yield Plan(True, blk_m, blk_n, ctas)
    for swapped in {M < CONSUMER_M, M <= MOST_SWAPPED}:
        yield from shared_plans(M, N, K, swapped)
    blk_m, blk_n = tile_shape(M, N)
    # Step 10 arranges neighbours for eight rows of tiles.
    if ceil(M / blk_m) >= NEAR_ROWS and M % CONSUMER_M == N % CONSUMER_M == K % BLK_K == 0:
        yield Plan(False, blk_m, blk_n, 1)


def single_plans(M: int, N: int, K: int, swapped: bool) -> Iterator[Plan]:
    """The plans in which each CTA has the whole K of its tiles, by itself or in clusters that share columns."""
    rows, cols = (N, M) if swapped else (M, N)
    for blk_m, widths in WIDTHS.items():
        for multicast in (1, 2, 4) if swapped or K % BLK_K else (1,):
            step = 8 * multicast
            fitting = {ceil(cols / parts / step) * step for parts in range(1, MOST_PARTS)} if swapped else set(widths)
            if ceil(rows / blk_m) >= multicast:
                for blk_n in sorted(width for width in fitting if width <= widths[-1] and width % step == 0):
                    yield Plan(True, blk_m, blk_n, 1, swapped=swapped, multicast=multicast)


def shared_plans(M: int, N: int, K: int, swapped: bool) -> Iterator[Plan]:
    """The plans in which CTAs share the steps of all tiles: as many for each tile, or all SMs."""
    rows, cols = (N, M) if swapped else (M, N)
    for blk_m, multicast in product((64, 128), (1, 2, 4) if K % BLK_K else (1,)):
        row_tiles, step = ceil(rows / blk_m), 8 * multicast
        widths = {ceil(cols / parts / step) * step for parts in range(1, 2 if swapped else MOST_PARTS + 1)}
        for blk_n in sorted(width for width in widths if width <= MOST_WIDTH and row_tiles % multicast == 0):
            tiles = row_tiles * ceil(cols / blk_n)
            units, most = tiles * ceil(K / shared_k_step(blk_m, blk_n)), multicast * RESIDENT[multicast]
            even = min(most // tiles * tiles, units // tiles * tiles)
            for workers in sorted({even, min(SM_COUNT, units) if multicast == 1 else even} - {0}):
                if slots(tiles, workers) * blk_m * blk_n <= MOST_SUMS:
                    yield Plan(True, blk_m, blk_n, 1, workers, swapped, multicast)


def slots(tiles: int, workers: int) -> int:
    """The parts of tiles in the workspace: a worker adds one for each tile that it begins, and a tile for each worker
    that goes on with it."""
    return workers + tiles - 1


def estimate(chosen: Plan, M: int, N: int, K: int) -> float:
    """Estimate the microseconds of one launch by itself.

    The power limit lowers the clock of a launch that keeps the tensor cores busy, so that of two plans the one
    with fewer cycles gains less than these.
    """
    taken = cycles(chosen, M, N, K)
    busy = 2 * M * N * K / FLOP_A_CYCLE / SM_COUNT / taken
    hbm = moved(M, N, K) / taken * GHZ / 1e3  # TB/s
    return taken / CLOCK_GHZ / 1e3 * max(1.0, (busy + HBM_POWER * hbm) / SUSTAINED) ** POWER_EXPONENT


def moved(M: int, N: int, K: int) -> int:
    """The bytes of A, B and D."""
    return DTYPE_SIZE * (M * K + N * K + M * N)


def cycles(chosen: Plan, M: int, N: int, K: int) -> float:
    """Estimate the cycles of a plan."""
    if chosen.workers:
        return shared_cycles(chosen, M, N, K)
    m, n, ctas = chosen.blk_m, chosen.blk_n, chosen.ctas
    rows, cols = (N, M) if chosen.swapped else (M, N)
    waves = ceil(ceil(ceil(rows / m) / chosen.multicast) * ceil(cols / n) / RESIDENT[ctas * chosen.multicast])
    compute = waves * max(1, K / BLK_K / ctas) * step_cycles(chosen, M, N, K)
    # With few rows, a half of each stage and more are zeros, so that fewer loads are in flight.
    memory = moved(M, N, K) / (HBM_RATE if min(M, N) >= CONSUMER_M or chosen.swapped else FEW_RATE)
    cluster = 1000 * ctas - 1200 if ctas > 1 else CLUSTER_START if chosen.multicast > 1 else 0
    part_store = 73 if chosen.swapped else 264  # a part of a transposed tile has fewer columns
    own_store = (7.2 * n / ctas + part_store * parts(n // ctas, chosen.swapped)) * max(1, m / 128)
    store = own_store if chosen.own else 28.4 * n / waves
    both = max(compute, memory) + 0.72 * min(compute, memory)
    return START + max(both, moved(M, N, K) / HBM_PEAK) + cluster + waves * store


def shared_cycles(chosen: Plan, M: int, N: int, K: int) -> float:
    """The cycles where all CTAs share the steps of all tiles."""
    m, n, workers = chosen.blk_m, chosen.blk_n, chosen.workers
    rows, cols = (N, M) if chosen.swapped else (M, N)
    row_tiles, col_tiles, consumers = ceil(rows / m), ceil(cols / n), m // CONSUMER_M
    tiles = row_tiles * col_tiles
    steps = shared_k_step(m, n) // BLK_K
    mma = 4 * max(32, n / 2)
    shared = consumers * (CONSUMER_M + n) + 0.39 * (m + n)
    # CTAs with the same steps of different tiles are neighbours, if each tile has as many CTAs.
    near = 1 if workers % tiles else min(NEIGHBOURS, tiles)
    near_rows = min(row_tiles, near)
    near_cols = min(col_tiles, near // near_rows)
    loaded = min(m, rows) + min(n, cols) / chosen.multicast
    alone = near == 1 or chosen.multicast > 1
    distinct = loaded if alone else (near_rows * m + near_cols * n) / (near_rows * near_cols)
    delivered = SHARED_FROM_L2 * loaded + (1 - SHARED_FROM_L2) * distinct
    uneven = (SHARED_MULTICAST_UNEVEN if chosen.multicast > 1 else SHARED_UNEVEN)[unaligned(K)]
    l2 = workers * delivered * 128 / SHARED_L2_RATE * uneven
    longest = (max(steps * max(consumers * mma, shared, l2), steps * mma + 17) + SHARED_BARRIER) / steps
    compute = tiles * ceil(K / BLK_K) / workers * longest
    sums = 4 * slots(tiles, workers) * m * n / 1070 + 30 * workers / tiles  # to be written, read and added up
    cluster = CLUSTER_START if chosen.multicast > 1 else 0
    return SHARED_START + cluster + max(compute, moved(M, N, K) / SHARED_RATE) + sums


def unaligned(K: int) -> int:
    """0 if all rows of A and B begin with a line of 128 bytes; 1 if they begin with a sector of 32 bytes; else 2.

    The 128 bytes that a stage has of a row lie in two lines then, and in five sectors.
    """
    return 0 if K % BLK_K == 0 else 1 if K % SECTOR == 0 else 2


def step_cycles(chosen: Plan, M: int, N: int, K: int) -> float:
    """Of 64 columns of A and B, for one tile in each SM: a step, of which a stage may hold two."""
    m, n, ctas = chosen.blk_m, chosen.blk_n, chosen.ctas
    steps = k_step(m, n, ctas, K) // BLK_K
    height, width = (N, M) if chosen.swapped else (M, N)
    m_tiles, n_tiles, consumers = ceil(height / m), ceil(width / n), m // CONSUMER_M
    cluster = ctas * chosen.multicast
    busy = cluster * min(ceil(m_tiles / chosen.multicast) * n_tiles, RESIDENT[cluster])
    # Rows beyond the edge are not loaded.
    loaded = min(m, height) + min(n, width) / chosen.multicast
    mma = 4 * max(32, n / 2)  # of a consumer: four wgmmas; to read 64 rows of A takes 32 cycles
    shared = consumers * (CONSUMER_M + n) + 0.39 * (m + n)  # rows of 128 bytes, one a cycle
    # Of what CTAs near one another load at the same time, a part comes from the L2 cache once. CTAs that share a tile
    # load different steps of K: an SM and the one beside it have nothing in common. What a cluster shares is loaded
    # once anyway.
    near = NEIGHBOURS if m_tiles * n_tiles > 1 and ctas == 1 else 1
    rows = min(m_tiles, sqrt(near) if m_tiles >= NEAR_ROWS else near)
    columns = min(n_tiles, near // rows)
    distinct = loaded if chosen.multicast > 1 else (rows * m + columns * n) / (rows * columns)
    delivered = FROM_L2 * loaded + (1 - FROM_L2) * min(loaded, distinct)
    uneven = (MULTICAST_UNEVEN if chosen.multicast > 1 else UNEVEN)[unaligned(K)]
    l2 = busy * delivered * 128 / (L2_RATE if ctas == 1 else CLUSTER_L2_RATE) * uneven
    # A barrier takes a consumer some time before the next MMAs. Another consumer multiplies in the meantime.
    barrier = MULTICAST_BARRIER.get(chosen.multicast, BARRIER) if ctas == 1 else CLUSTER_BARRIER
    return (max(steps * max(consumers * mma, shared, l2), steps * mma + 17) + barrier) / steps


def part_width(columns: int, swapped: bool = False) -> int:
    """Of the parts in which a tile of so many columns is written back.

    They are the columns of a swizzle span, or rows of one where the tile is transposed.
    """
    return next(width for width in (range(64, 0, -8) if swapped else (64, 32, 16, 8)) if columns % width == 0)


def parts(columns: int, swapped: bool = False) -> int:
    """How many such parts there are."""
    return columns // part_width(columns, swapped)
