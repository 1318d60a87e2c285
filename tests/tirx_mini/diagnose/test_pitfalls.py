"""The assignment's pitfalls, and the mistakes its debugging chapters tell of, in the kernels of steps 4 to 10.

Each is a reference with one edit. What is asserted is the verdict, the code of the first finding and the line it names:
that of the mistake, or the other end of the same barrier.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tirx_mini.diagnose.wrong_kernels import Edit, Wrong, assert_found, simulate
from tirx_mini.ir import TirxError
from tirx_mini.passes import lower

ELECTED = '                with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:\n'
ALLOC = "                Tx.ptx.tcgen05.alloc(Tx.address_of(tmem_addr), n_cols=512, cta_group=1)\n"
PROXY_FENCE = 'Tx.ptx.fence.proxy_async("shared::cta")\n'
WRITES = "Tx.copy(Dsmem[warp_id * 32 + lane_id, :], Dreg_16b[:])\n"
COMMIT_GROUP = "                            Tx.ptx.cp_async.bulk.commit_group()\n"
WAIT_GROUP = "                            Tx.ptx.cp_async.bulk.wait_group(0)\n"
INITS = ("tma2mma.init(1)", "mma2tma.init(1)", "mma2ld.init(1)", "ld2mma.init(128)")
WG_SYNC = "                    Tx.cuda.warpgroup_sync(1)\n"
K_LOOP = "for k in range(K_TILES):\n"

LOAD_A = "Tx.copy_async(Asmem"
LOADS = ("Tx.copy_async(Asmem", "Tx.copy_async(Bsmem")
STORE_D = "Tx.copy_async(D["
WRITE_D = "Tx.copy(Dsmem["
MMA = "Tx.gemm_async("
READ_TMEM = "Tx.copy(Dreg_wg["
EMPTY = "mma2tma.wait(tma_phase.stage, tma_phase.phase)\n                                tma_load("
FULL = "tma2mma.wait(mma_phase.stage, mma_phase.phase)"
DONE = "mma2ld.wait(wb_phase.stage, wb_phase.phase)"
FREE = "ld2mma.wait(ld_phase.stage, ld_phase.phase)"


def arrive(count: int, indent: int = 20) -> str:
    """`ld2mma.arrive(0)` under guards that leave `count` threads of the warpgroup."""
    guards = ["if warp_id == 0:"] + ["if lane_id == 0:"] * (count == 1)
    lines = [*guards, "ld2mma.arrive(0)"]
    return "".join(" " * (indent + 4 * depth) + text + "\n" for depth, text in enumerate(lines))


COUNTS = (
    Wrong(
        "tma2mma counts two arrivals",
        Edit(7, INITS[0], "tma2mma.init(2)"),
        "deadlock",
        "deadlock",
        FULL,
        ("2 arrivals a phase, but only 1 arrives",),
        "tma2mma.init(2)",
        "TX107",
    ),
    Wrong(
        "mma2tma counts two arrivals",
        Edit(8, INITS[1], "mma2tma.init(2)"),
        "deadlock",
        "deadlock",
        EMPTY,
        ("mma2tma[0]", "initialise mma2tma with 1"),
        "mma2tma.init(2)",
        "TX107",
    ),
    Wrong(
        "ld2mma counts two warpgroups",
        Edit(7, INITS[3], "ld2mma.init(256)"),
        "deadlock",
        "deadlock",
        FREE,
        ("ld2mma was initialised for 256", "only 128"),
        "ld2mma.init(256)",
        "TX107",
    ),
    Wrong(
        "ld2mma counts one thread",
        Edit(7, INITS[3], "ld2mma.init(1)"),
        "fault",
        "barrier-overflow",
        "ld2mma.arrive(0)",
        ("more arrivals",),
        "ld2mma.init(1)",
        "TX123",
    ),
    Wrong(
        "ld2mma counts the threads of one CTA only",
        Edit(9, "ld2mma.init(128 * CTA_GROUP)", "ld2mma.init(128)"),
        "deadlock",
        "deadlock",
        DONE,
        ("initialised for 128", "256 arrive"),
        "ld2mma.init(128)",
        "TX116",
    ),
    Wrong(
        "mma2ld counts consumers",
        Edit(10, INITS[2], "mma2ld.init(NUM_CONSUMER)"),
        "deadlock",
        "deadlock",
        "mma2ld.wait(wg_id, wb_phase.phase)",
        ("mma2ld[0]", "2 arrivals", "only 1"),
        "mma2ld.init(NUM_CONSUMER)",
        "TX107",
    ),
    Wrong(
        "ld2mma.arrive under a guard for one thread",
        Edit(7, "                    ld2mma.arrive(0)\n", arrive(1)),
        "deadlock",
        "deadlock",
        FREE,
        ("only 1 arrives", "`lane_id == 0`"),
        "ld2mma.arrive(0)",
        "TX107",
    ),
    Wrong(
        "ld2mma.arrive by one warp",
        Edit(
            9,
            "                    ld2mma.arrive(0, cta_id=0, pred=True)\n",
            arrive(32).replace("arrive(0)", "arrive(0, cta_id=0, pred=True)"),
        ),
        "deadlock",
        "deadlock",
        FREE,
        ("initialised for 256", "only 64"),
        "ld2mma.arrive(0",
        "TX107",
    ),
    Wrong(
        "ld2mma.arrive at the CTA's own barrier",
        Edit(9, "ld2mma.arrive(0, cta_id=0, pred=True)", "ld2mma.arrive(0)"),
        "deadlock",
        "deadlock",
        FREE,
        ("only 128", "without cta_id"),
        "ld2mma.arrive(0)",
        "TX107",
    ),
    Wrong(
        "inits nested under a warpgroup that thread 0 is not in",
        Edit(
            7,
            "".join(f"            {init}\n" for init in INITS),
            "            if wg_id == 1:\n" + "".join(f"                {init}\n" for init in INITS),
        ),
        "deadlock",
        "deadlock",
        DONE,
        ("never initialised", "no thread satisfies both `wg_id == 1`"),
        None,
        "TX101",
    ),
    Wrong(
        "one init nested",
        Edit(8, f"            {INITS[3]}\n", f"            if wg_id == 1:\n                {INITS[3]}\n"),
        "deadlock",
        "deadlock",
        FREE,
        ("ld2mma is never initialised", "top level"),
        INITS[3],
        "TX101",
    ),
    Wrong(
        "tma2mma without expect_tx",
        Edit(4, "                Tx.ptx.mbarrier.arrive.expect_tx(tma_bar.ptr_to([0]), TMA_BYTES)\n", ""),
        "deadlock",
        "deadlock",
        "Tx.ptx.mbarrier.try_wait(tma_bar",
        ("nothing announces them", "expect_tx"),
        None,
        "TX103",
    ),
    Wrong(
        "no commit for the write-back",
        Edit(7, "                            mma2ld.arrive(0, cta_group=1, cta_mask=1)\n", ""),
        "deadlock",
        "deadlock",
        DONE,
        ("nothing ever arrives at mma2ld", "tcgen05.commit"),
        None,
        "TX103",
    ),
    Wrong(
        "the write-back never arrives",
        Edit(7, "                    ld2mma.arrive(0)\n", ""),
        "deadlock",
        "deadlock",
        FREE,
        ("nothing ever arrives at ld2mma", "mbarrier.arrive"),
        None,
        "TX103",
    ),
)

BYTES = (
    Wrong(
        "bytes without the size of an element",
        Edit(7, "(BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE", "(BLK_M * BLK_K + BLK_N * BLK_K)"),
        "deadlock",
        "deadlock",
        FULL,
        ("announces 16384 bytes", "deliver 32768"),
        "tma2mma.arrive(",
        "TX106",
    ),
    Wrong(
        "bytes of A only",
        Edit(4, "(BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE", "BLK_M * BLK_K * DTYPE_SIZE"),
        "deadlock",
        "deadlock",
        "Tx.ptx.mbarrier.try_wait(tma_bar",
        ("announces 16384", "deliver 32768"),
        LOAD_A,
        "TX106",
    ),
    Wrong(
        "bytes of one CTA of the pair",
        Edit(9, "TMA_BYTES = CTA_GROUP * (", "TMA_BYTES = ("),
        "deadlock",
        "deadlock",
        FULL,
        ("announces 32768", "deliver 65536", "all CTAs"),
        "tma2mma_cta0.arrive(",
        "TX106",
    ),
    Wrong(
        "bytes of one consumer",
        Edit(10, "NUM_CONSUMER * BLK_M * BLK_K + BLK_N", "BLK_M * BLK_K + BLK_N"),
        "deadlock",
        "deadlock",
        FULL,
        ("announces 65536", "deliver 98304"),
        "tma2mma_cta0.arrive(",
        "TX106",
    ),
    Wrong(
        "twice the bytes",
        Edit(5, "TMA_BYTES = (BLK_M", "TMA_BYTES = 2 * (BLK_M"),
        "deadlock",
        "deadlock",
        "Tx.ptx.mbarrier.try_wait(tma_bar",
        ("bytes",),
        None,
        "TX106",
    ),
)

PHASES = (
    Wrong(
        "TMA begins as a consumer",
        Edit(7, "tma_phase.init(is_producer=True)", "tma_phase.init(is_producer=False)"),
        "deadlock",
        "deadlock",
        EMPTY,
        ("phase 0 of mma2tma[0]", "is_producer=True"),
        None,
        "TX108",
    ),
    Wrong(
        "MMA waits for tensor memory as a consumer",
        Edit(8, "ld_phase.init(is_producer=True)", "ld_phase.init(is_producer=False)"),
        "deadlock",
        "deadlock",
        FREE,
        ("phase 0 of ld2mma", "is_producer=True"),
        None,
        "TX108",
    ),
    Wrong(
        "MMA begins as a producer",
        Edit(7, "mma_phase.init(is_producer=False)", "mma_phase.init(is_producer=True)"),
        "fault",
        "race",
        FULL,
        ("waits for the phase of parity 1 of tma2mma[0]",),
        None,
        "TX201",
    ),
    Wrong(
        "write-back begins as a producer",
        Edit(8, "wb_phase.init(is_producer=False)", "wb_phase.init(is_producer=True)"),
        "deadlock",
        "uninitialised-read",
        READ_TMEM,
        ("nothing has written", "in its right phase"),
        None,
        "TX207",
    ),
    Wrong(
        "one state for two barriers",
        Edit(
            7,
            "ld2mma.wait(ld_phase.stage, ld_phase.phase)\n                            ld_phase.move",
            "ld2mma.wait(0, mma_phase.phase)\n                            mma_phase.move",
        ),
        "deadlock",
        "deadlock",
        "ld2mma.wait(0, mma_phase.phase)",
        ("ld2mma", "phase 1"),
        None,
        "TX108",
    ),
    Wrong(
        "MMA makes one turn less",
        Edit(
            7,
            K_LOOP + "                                tma2mma",
            K_LOOP.replace("TILES", "TILES - 1") + "                                tma2mma",
        ),
        "deadlock",
        "deadlock",
        EMPTY,
        ("mma2tma", "do not go round equally often"),
        None,
        "TX110",
    ),
    Wrong(
        "TMA makes one turn less",
        Edit(
            8,
            K_LOOP + "                                mma2tma",
            K_LOOP.replace("TILES", "TILES - 1") + "                                mma2tma",
        ),
        "deadlock",
        "deadlock",
        FULL,
        ("tma2mma", "do not go round equally often"),
        None,
        "TX110",
    ),
    Wrong(
        "MMA stays in its stage",
        Edit(7, "                                mma_phase.move_to_next_stage()\n", ""),
        "deadlock",
        "deadlock",
        EMPTY,
        ("mma2tma[1]", "move_to_next_stage"),
        None,
        "TX109",
    ),
    Wrong(
        "MMA has another depth",
        Edit(8, 'PipelineState("mma", PIPE_DEPTH)', 'PipelineState("mma", 2)'),
        "deadlock",
        "deadlock",
        EMPTY,
        ("mma2tma[2]", "next stage"),
        None,
        "TX109",
    ),
    Wrong(
        "TMA stays in its stage",
        Edit(
            8,
            "                                tma_phase.move_to_next_stage()\n                            tile",
            "                            tile",
        ),
        "fault",
        "race",
        LOADS,
        ("TMA load", "smem"),
        None,
        "TX201",
    ),
    Wrong(
        "the phase of the MMA's barrier is not flipped",
        Edit(4, "                        phase_mma = phase_mma ^ 1\n", ""),
        "hazard",
        "race",
        LOADS,
        ("smem", "MMA"),
        MMA,
        "TX201",
    ),
    Wrong(
        "the phase flips in each turn",
        Edit(
            5,
            "                        if stage == 0:\n                            phase_tma",
            "                        if True:\n                            phase_tma",
        ),
        "deadlock",
        "deadlock",
        "Tx.ptx.mbarrier.try_wait(tma_bar",
        ("tma_bar",),
        None,
        None,
    ),
    Wrong(
        "write-back does not flip its phase",
        Edit(7, "                    wb_phase.move_to_next_stage()\n", ""),
        "hazard",
        "race",
        READ_TMEM,
        ("may be written by the MMA",),
        MMA,
        "TX201",
    ),
    Wrong(
        "a role that never takes the next tile",
        Edit(
            7,
            "                    store()\n                    tile_scheduler.next_tile()\n",
            "                    store()\n",
        ),
        "deadlock",
        "runaway-loop",
        "while tile_scheduler.valid():\n                    mma2ld",
        ("next_tile()",),
        None,
        "TX114",
    ),
)

WAITS = (
    Wrong(
        "no wait for an empty stage",
        Edit(
            7,
            "                                mma2tma.wait(tma_phase.stage, tma_phase.phase)\n"
            "                                tma_load",
            "                                tma_load",
        ),
        "fault",
        "race",
        LOAD_A,
        ("Asmem",),
        None,
        "TX201",
    ),
    Wrong(
        "no wait for a full stage",
        Edit(7, f"                                {FULL}\n", ""),
        "fault",
        "race",
        MMA,
        ("smem", "TMA load"),
        None,
        "TX201",
    ),
    Wrong(
        "no wait for free tensor memory",
        Edit(7, f"                            {FREE}\n", ""),
        "hazard",
        "race",
        MMA,
        ("tmem", "tcgen05.ld"),
        READ_TMEM,
        "TX201",
    ),
    Wrong(
        "no wait for the result",
        Edit(7, f"                    {DONE}\n", ""),
        "deadlock",
        "uninitialised-read",
        READ_TMEM,
        ("nothing has written",),
        None,
        "TX207",
    ),
    Wrong(
        "both warpgroups wait for the first consumer",
        Edit(10, "mma2ld.wait(wg_id, wb_phase.phase)", "mma2ld.wait(0, wb_phase.phase)"),
        "hazard",
        "race",
        READ_TMEM,
        ("columns 256 to 319", "MMA of warp 1"),
        MMA,
        "TX201",
    ),
    Wrong(
        "both consumers wait for the first warpgroup",
        Edit(10, "ld2mma.wait(warp_id, ld_phase.phase)", "ld2mma.wait(0, ld_phase.phase)"),
        "hazard",
        "race",
        MMA,
        ("columns 256", "tcgen05.ld of warp 0 of warpgroup 1"),
        READ_TMEM,
        "TX201",
    ),
    Wrong(
        "the stage of a state as the consumer's slot",
        Edit(10, "mma2ld.wait(wg_id, wb_phase.phase)", "mma2ld.wait(wb_phase.stage, wb_phase.phase)"),
        "hazard",
        "race",
        READ_TMEM,
        ("columns 256 to 319",),
        MMA,
        "TX201",
    ),
    Wrong(
        "tensor memory is declared free before it is read",
        Edit(
            7,
            "                    read_tmem()\n",
            "",
            (("ld2mma.arrive(0)\n", "ld2mma.arrive(0)\n                    read_tmem()\n"),),
        ),
        "hazard",
        "race",
        MMA,
        ("tcgen05.ld",),
        READ_TMEM,
        "TX201",
    ),
    Wrong(
        "no cta_sync before tensor memory is read",
        Edit(
            4,
            "                Tx.cuda.cta_sync()\n                Tx.ptx.tcgen05.fence",
            "                Tx.ptx.tcgen05.fence",
        ),
        "hazard",
        "uninitialised-read",
        READ_TMEM,
        ("tcgen05.ld", "nothing has written"),
        None,
        "TX207",
    ),
    Wrong(
        "the same in a persistent kernel",
        Edit(
            6,
            "                Tx.cuda.cta_sync()\n                Tx.ptx.tcgen05.fence",
            "                Tx.ptx.tcgen05.fence",
        ),
        "hazard",
        "uninitialised-read",
        READ_TMEM,
        ("tcgen05.ld", "nothing has written"),
        None,
        "TX207",
    ),
    Wrong(
        "no synchronisation after the barriers' init",
        Edit(7, "            Tx.cuda.cta_sync()\n\n            tmem", "\n            tmem"),
        "hazard",
        "race",
        FREE,
        ("with no synchronisation after its initialisation",),
        "ld2mma.init(128)",
        "TX201",
    ),
)

STORES = (
    Wrong(
        "no proxy fence before the TMA store",
        Edit(7, f"                        {PROXY_FENCE}{WG_SYNC}", WG_SYNC),
        "hazard",
        "missing-proxy-fence",
        STORE_D,
        ("fence.proxy.async", "Dsmem[0, 0]"),
        WRITE_D,
        "TX202",
    ),
    Wrong(
        "the same in step 4",
        Edit(4, f"                    {PROXY_FENCE}                Tx.cuda", "                Tx.cuda"),
        "hazard",
        "missing-proxy-fence",
        STORE_D,
        ("fence.proxy.async",),
        WRITE_D,
        "TX202",
    ),
    Wrong(
        "the proxy fence before the writes",
        Edit(
            4,
            f"                    {WRITES}",
            "",
            (
                (
                    f"                    {PROXY_FENCE}                Tx.cuda",
                    f"                    {PROXY_FENCE}                    {WRITES}                Tx.cuda",
                ),
            ),
        ),
        "hazard",
        "missing-proxy-fence",
        STORE_D,
        ("fence.proxy.async",),
        WRITE_D,
        "TX202",
    ),
    Wrong(
        "no synchronisation before the TMA store",
        Edit(7, f'"shared::cta")\n{WG_SYNC}', '"shared::cta")\n'),
        "hazard",
        "race",
        STORE_D,
        ("warpgroup_sync or cta_sync",),
        WRITE_D,
        "TX201",
    ),
    Wrong(
        "no synchronisation after the TMA store",
        Edit(7, f"# The next chunk overwrites Dsmem.\n{WG_SYNC}", "# Not here.\n"),
        "hazard",
        "race",
        STORE_D,
        ("Dsmem",),
        WRITE_D,
        "TX201",
    ),
    Wrong(
        "no commit_group",
        Edit(7, COMMIT_GROUP, ""),
        "hazard",
        "race",
        STORE_D,
        ("Dsmem", "commit_group(), wait_group(0)"),
        WRITE_D,
        "TX201",
    ),
    Wrong(
        "no wait_group",
        Edit(7, WAIT_GROUP, ""),
        "hazard",
        "race",
        STORE_D,
        ("Dsmem", "commit_group(), wait_group(0)"),
        WRITE_D,
        "TX201",
    ),
    Wrong(
        "wait_group(1) leaves one",
        Edit(7, "wait_group(0)", "wait_group(1)"),
        "hazard",
        "race",
        STORE_D,
        ("Dsmem", "wait_group(0)"),
        WRITE_D,
        "TX201",
    ),
    Wrong(
        "no wait_group before the end",
        Edit(4, WAIT_GROUP[4:], ""),
        "hazard",
        "in-flight-at-exit",
        STORE_D,
        ("ends while a TMA store", "wait_group(0)"),
        None,
        "TX209",
    ),
    Wrong(
        "two warpgroups at one barrier",
        Edit(10, f'shared::cta")\n{WG_SYNC.replace("1)", "wg_id + 1)")}', f'shared::cta")\n{WG_SYNC}'),
        "deadlock",
        "race",
        "Tx.cuda.warpgroup_sync(1)",
        ("barrier id of its own",),
        None,
        "TX201",
    ),
    Wrong(
        "Dsmem over tiles in use",
        Edit(7, "            Dsmem = pool", "            pool.move_base_to(1024)\n            Dsmem = pool"),
        "hazard",
        "race",
        LOAD_A,
        ("Dsmem",),
        None,
        "TX201",
    ),
)

CLUSTERS = (
    Wrong(
        "stages are declared free to CTA 0 only",
        Edit(9, "mma2tma.arrive(stage, cta_group=2, cta_mask=3)", "mma2tma.arrive(stage, cta_group=2, cta_mask=1)"),
        "deadlock",
        "deadlock",
        EMPTY,
        ("mma2tma[0] of CTA 0 only", "cta_mask=3"),
        "mma2tma.arrive(",
        "TX105",
    ),
    Wrong(
        "the result is declared to CTA 0 only",
        Edit(9, "mma2ld.arrive(0, cta_group=2, cta_mask=3)", "mma2ld.arrive(0, cta_group=2, cta_mask=1)"),
        "deadlock",
        "deadlock",
        DONE,
        ("CTA 1 waits for its own", "cta_mask=3"),
        "mma2ld.arrive(",
        "TX105",
    ),
    Wrong(
        "the result is declared to CTA 1 only",
        Edit(10, "mma2ld.arrive(warp_id, cta_group=2, cta_mask=3)", "mma2ld.arrive(warp_id, cta_group=2, cta_mask=2)"),
        "deadlock",
        "deadlock",
        "mma2ld.wait(",
        ("CTA 0 waits for its own", "cta_mask=3"),
        "mma2ld.arrive(",
        "TX105",
    ),
    Wrong(
        "a mask of CTAs that there are not",
        Edit(7, "mma2ld.arrive(0, cta_group=1, cta_mask=1)", "mma2ld.arrive(0, cta_group=1, cta_mask=3)"),
        "fault",
        "illegal-instruction",
        "mma2ld.arrive(",
        ("cta_mask=0b11",),
        None,
        "TX307",
    ),
    Wrong(
        "loads signal the CTA's own barrier",
        Edit(9, '"mbar": tma2mma_cta0.ptr_to([stage])', '"mbar": tma2mma.ptr_to([stage])'),
        "deadlock",
        "deadlock",
        FULL,
        ("announces 65536", "deliver 32768"),
        LOAD_A,
        "TX106",
    ),
    Wrong(
        "no remote view",
        Edit(9, "tma2mma_cta0 = tma2mma.remote_view(0)", "tma2mma_cta0 = tma2mma"),
        "deadlock",
        "deadlock",
        FULL,
        ("announces 65536", "deliver 32768"),
        LOAD_A,
        "TX106",
    ),
    Wrong(
        "the remote view of the wrong CTA",
        Edit(9, "tma2mma.remote_view(0)", "tma2mma.remote_view(1)"),
        "deadlock",
        "deadlock",
        FULL,
        ("goes to CTA 1", "tma2mma[0] of its own CTA"),
        "tma2mma_cta0.arrive(",
        "TX105",
    ),
    Wrong(
        "both CTAs announce",
        Edit(
            9,
            "                if cbx == 0:\n                    tma2mma_cta0.arrive(",
            "                if True:\n                    tma2mma_cta0.arrive(",
        ),
        "fault",
        "barrier-overflow",
        "tma2mma_cta0.arrive(",
        ("more arrivals",),
        "tma2mma.init(1)",
        "TX123",
    ),
    Wrong(
        "both CTAs issue MMAs",
        Edit(
            9,
            "                    if cbx == 0:\n                        with",
            "                    if True:\n                        with",
        ),
        "deadlock",
        "deadlock",
        FULL,
        ("goes to CTA 0", "CTA 1"),
        "tma2mma_cta0.arrive(",
        "TX105",
    ),
    Wrong(
        "cta_sync where the cluster has to begin",
        Edit(9, "            Tx.cuda.cluster_sync()\n\n", "            Tx.cuda.cta_sync()\n\n"),
        "hazard",
        "race",
        LOAD_A,
        ("tma2mma[0]", "cluster_sync()"),
        "tma2mma.init(1)",
        "TX201",
    ),
    Wrong(
        "cta_sync where the cluster has to end",
        Edit(
            9,
            "            Tx.cuda.cluster_sync()\n            if wg_id",
            "            Tx.cuda.cta_sync()\n            if wg_id",
        ),
        "hazard",
        "in-flight-at-exit",
        "ld2mma.arrive(",
        ("may end before the arrival", "cluster_sync()"),
        None,
        "TX209",
    ),
    Wrong(
        "alloc for one CTA, MMA for two",
        Edit(
            9,
            "n_cols=512, cta_group=2)\n            Tx.ptx.fence",
            "n_cols=512, cta_group=1)\n            Tx.ptx.fence",
        ),
        "fault",
        "illegal-instruction",
        MMA,
        ("cta_group",),
        None,
        "TX307",
    ),
)

TENSOR_MEMORY = (
    Wrong(
        "alloc by the elected thread",
        Edit(4, ALLOC, ELECTED + "    " + ALLOC),
        "fault",
        "illegal-convergence",
        "Tx.ptx.tcgen05.alloc(",
        ("1 lane of warp 0", "all 32"),
        None,
        "TX306",
    ),
    Wrong(
        "alloc by one lane",
        Edit(7, "    " + ALLOC, "                    if lane_id == 0:\n        " + ALLOC),
        "fault",
        "illegal-convergence",
        "Tx.ptx.tcgen05.alloc(",
        ("1 lane of warp 0", "all 32"),
        None,
        "TX306",
    ),
    Wrong(
        "dealloc by one lane",
        Edit(
            7,
            "                    Tx.ptx.tcgen05.dealloc(",
            "                    if lane_id == 0:\n                        Tx.ptx.tcgen05.dealloc(",
        ),
        "fault",
        "illegal-convergence",
        "Tx.ptx.tcgen05.dealloc(",
        ("1 lane of warp 0", "all 32"),
        None,
        "TX306",
    ),
    Wrong(
        "no dealloc",
        Edit(8, "                    Tx.ptx.tcgen05.dealloc(tmem_addr[0], n_cols=512, cta_group=1)\n", ""),
        "fault",
        "tmem-not-freed",
        "Tx.ptx.tcgen05.alloc(",
        ("512 columns",),
        None,
        "TX310",
    ),
    Wrong(
        "dealloc of half",
        Edit(8, "dealloc(tmem_addr[0], n_cols=512", "dealloc(tmem_addr[0], n_cols=256"),
        "fault",
        "tmem-allocation",
        "Tx.ptx.tcgen05.dealloc(",
        ("256 columns", "512 columns"),
        None,
        "TX308",
    ),
    Wrong(
        "no cta_sync before dealloc, in step 2's way",
        Edit(
            2,
            "            Tx.cuda.cta_sync()\n            if warp_id == 0:\n                Tx.ptx.tcgen05.rel",
            "            if warp_id == 0:\n                Tx.ptx.tcgen05.rel",
        ),
        "fault",
        "tmem-access",
        READ_TMEM,
        ("cta_sync() before dealloc",),
        "Tx.ptx.tcgen05.dealloc(",
        "TX309",
    ),
    Wrong(
        "dealloc with no synchronisation of the cluster",
        Edit(10, "            Tx.cuda.cluster_sync()\n            if wg_id", "            if wg_id"),
        "hazard",
        "race",
        "Tx.ptx.tcgen05.dealloc(",
        ("dealloc",),
        None,
        "TX201",
    ),
    Wrong(
        "accum=True from the first tile",
        Edit(7, "accum=(k != 0)", "accum=True"),
        "hazard",
        "uninitialised-read",
        MMA,
        ("accum=False",),
        None,
        "TX207",
    ),
    Wrong(
        "accum=False on every tile",
        Edit(7, "accum=(k != 0)", "accum=False"),
        "hazard",
        "lost-result",
        MMA,
        ("accum=True",),
        None,
        "TX210",
    ),
)

ROLES = (
    Wrong(
        "cta_sync by the elected thread",
        Edit(
            4,
            "                        mma(k)\n",
            "                        mma(k)\n                        Tx.cuda.cta_sync()  # by one\n",
        ),
        "deadlock",
        "deadlock",
        "Tx.cuda.cta_sync()  # by one",
        ("the elected thread of warp 0 only",),
        None,
        "TX102",
    ),
    Wrong(
        "cta_sync by one role",
        Edit(
            7,
            "                    store()\n                    tile",
            "                    store()\n"
            "                    Tx.cuda.cta_sync()  # by one role\n"
            "                    tile",
        ),
        "deadlock",
        "deadlock",
        "Tx.cuda.cta_sync()  # by one role",
        ("256 threads", "only 192"),
        None,
        "TX111",
    ),
    Wrong(
        "init by every lane",
        Edit(
            4,
            "                if lane_id == 0:\n                    Tx.ptx.mbarrier.init(tma_bar",
            "                if True:\n                    Tx.ptx.mbarrier.init(tma_bar",
        ),
        "fault",
        "barrier-reinitialised",
        "Tx.ptx.mbarrier.init(tma_bar",
        ("a second time",),
        None,
        "TX122",
    ),
    Wrong(
        "too many stages",
        Edit(8, "PIPE_DEPTH = 4", "PIPE_DEPTH = 8"),
        "fault",
        "shared-memory-limit",
        "Bsmem = pool.alloc",
        ("232448", "fewer stages"),
        None,
        "TX303",
    ),
)

WARNINGS = (
    Wrong(
        "no fence before the MMA",
        Edit(7, "                                Tx.ptx.tcgen05.fence.after_thread_sync()\n", ""),
        "ok",
        "missing-tcgen05-fence",
        MMA,
        ("after_thread_sync",),
        LOAD_A,
        "TX203",
    ),
    Wrong(
        "no fence before tensor memory is read",
        Edit(
            7,
            "                    Tx.ptx.tcgen05.fence.after_thread_sync()\n                    read",
            "                    read",
        ),
        "ok",
        "missing-tcgen05-fence",
        READ_TMEM,
        ("after_thread_sync",),
        MMA,
        "TX203",
    ),
    Wrong(
        "no fence.mbarrier_init in a cluster",
        Edit(9, "            Tx.ptx.fence.mbarrier_init()\n", ""),
        "ok",
        "missing-mbarrier-fence",
        "tma2mma.init(1)",
        ("fence.mbarrier_init()",),
        None,
        "TX205",
    ),
    Wrong(
        "four elected lanes store one tile",
        Edit(
            7,
            f"                    if warp_id == 0:\n        {ELECTED}                            n_epi",
            f"                    if True:\n        {ELECTED}                            n_epi",
        ),
        "ok",
        "identical-writes",
        STORE_D,
        ("both write the same bytes",),
        None,
        "TX206",
    ),
)

PITFALLS = (*COUNTS, *BYTES, *PHASES, *WAITS, *STORES, *CLUSTERS, *TENSOR_MEMORY, *ROLES, *WARNINGS)


@pytest.mark.parametrize("wrong", PITFALLS, ids=lambda wrong: f"step {wrong.edit.step}: {wrong.name}")
def test_it_is_found_and_named(wrong: Wrong, tmp_path: Path) -> None:
    assert_found(wrong, simulate(wrong.edit.kernel(tmp_path), wrong.edit.step))


REFUSED = {
    "pool.alloc after commit": (
        Edit(
            7,
            "            Dsmem = pool.alloc((BLK_M, EPI_N), dtype, layout=D_layout)\n            pool.commit()\n",
            "            pool.commit()\n            Dsmem = pool.alloc((BLK_M, EPI_N), dtype, layout=D_layout)\n",
        ),
        "pool-committed",
        "Dsmem = pool.alloc",
    ),
    "a barrier after commit": (
        Edit(
            7,
            '            ld2mma = MBarrier(pool, 1, "ld2mma")\n',
            "",
            (
                (
                    "            pool.commit()\n",
                    '            pool.commit()\n            ld2mma = MBarrier(pool, 1, "ld2mma")\n',
                ),
            ),
        ),
        "pool-committed",
        "ld2mma = MBarrier",
    ),
    "a constant defined in the kernel": (
        Edit(
            7,
            "        with Tx.kernel():\n",
            "        with Tx.kernel():\n            CHUNK = EPI_N\n",
            (("n_epi : n_epi + EPI_N]", "n_epi : n_epi + CHUNK]"),),
        ),
        "not-constant",
        STORE_D,
    ),
    "a cast of the warpgroup's view": (
        Edit(7, "(i + 1) * TMEM_LD_N], Dreg[:])", "(i + 1) * TMEM_LD_N], Dreg_wg[:, :])"),
        "extents-differ",
        "Tx.cast(",
    ),
    "the fence's scope by a keyword": (
        Edit(
            4,
            f"                    {PROXY_FENCE}                Tx.cuda",
            '                    Tx.ptx.fence.proxy_async(scope="shared::cta")\n                Tx.cuda',
        ),
        "lowering",
        "Tx.ptx.fence.proxy_async(scope=",
    ),
    "an MMA by all lanes": (
        Edit(
            7,
            f"                elif warp_id == 0:\n    {ELECTED}",
            '                elif warp_id == 0:\n                    with Tx.thread(parent="warp"):\n',
        ),
        "no-dispatch",
        MMA,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_before_anything_runs(name: str, tmp_path: Path) -> None:
    edit, kind, at = REFUSED[name]
    with pytest.raises(TirxError) as error:
        lower(edit.kernel(tmp_path))
    assert error.value.kind == kind, str(error.value)
    assert error.value.span is not None and error.value.span.user.line == edit.line_of(at), str(error.value)
    assert error.value.diagnostic.hint


RIGHT = {
    "accum=0": Edit(1, "accum=False", "accum=0"),
    "no drain, where one CTA commits in order": Edit(
        7,
        "                        for _ in range(PIPE_DEPTH):\n                            mma2tma.wait("
        "tma_phase.stage, tma_phase.phase)\n                            tma_phase.move_to_next_stage()\n",
        "",
    ),
    "no cta_sync before dealloc, where the stores have one": Edit(
        5,
        "            Tx.cuda.cta_sync()\n            if warp_id == 0:\n                Tx.ptx.tcgen05.rel",
        "            if warp_id == 0:\n                Tx.ptx.tcgen05.rel",
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_only_looks_like_a_pitfall_is_right(name: str, tmp_path: Path) -> None:
    edit = RIGHT[name]
    kernel = edit.kernel(tmp_path)
    report = simulate(kernel, edit.step)
    assert (report.verdict, report.findings) == ("ok", ()), str(report)
