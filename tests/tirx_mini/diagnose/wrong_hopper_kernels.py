"""Wrong kernels for Hopper: a reference with one edit or two, and the finding that it leads to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tirx_mini.course import Shape

ROOT = Path(__file__).parents[3]
SOURCES = {int(path.stem[4:6]): path for path in (ROOT / "kernels_ref" / "sm90").glob("step*.py")}
SHAPES: dict[int, Shape] = {
    1: (128, 128, 64),
    2: (128, 128, 192),
    4: (128, 256, 192),
    5: (128, 256, 320),
    6: (256, 512, 320),
    7: (256, 512, 320),
    8: (256, 512, 320),
    9: (512, 512, 320),
    10: (256, 1024, 448),
}
SMS = 4

FENCE = "Tx.ptx.wgmma.fence()\n"
COMMIT = "Tx.ptx.wgmma.commit_group()\n"
WAIT_0 = "Tx.ptx.wgmma.wait_group(0)\n"
WAIT_1 = "Tx.ptx.wgmma.wait_group(1)\n"
CAST = "Tx.cast(Dreg_16b[:], "
GEMM = "Tx.gemm_async("
STORE = "Tx.copy(Dsmem["
TMA_STORE = "Tx.copy_async(D["
IN_ORDER = "                        if k > 0:\n                            release(last)\n"
RELEASED_EARLY = "                        release(mma_phase.stage)\n"
RELEASE_LAST = "                    release(last)\n                    mma_phase.skip(K_TILES)\n"
SKIP = "                    mma_phase.skip(K_TILES)\n"
NEXT_TILE = "                    tile_scheduler.next_tile()\n"
GRID_WAIT = "                        Tx.ptx.griddepcontrol.wait()\n"
TURN_WAIT = "turn.wait(consumer, turn_phase.phase)"
TURN_ARRIVE = "                    if lane_id == 0:\n                        turn.arrive(1 - consumer)\n"
FULL_WAIT = "tma2mma.wait(mma_phase.stage, mma_phase.phase)"
TMA_WAIT = "mma2tma.wait(tma_phase.stage, tma_phase.phase)"
LOAD = "                                tma_load(tma_phase.stage, k)\n"
SYNC = "                        Tx.cuda.warpgroup_sync(wg_id)\n"
IF_FIRST_THREAD = "                        if warp_id == 0:\n                            if lane_id == 0:\n"
M_EPI = "                                m_epi ="
BY_ELEMENT = "                with Tx.thread():\n                    for r in Tx.unroll(64):\n"


@dataclass(frozen=True)
class Wrong:
    """`edits` to the reference of `step`; the verdict, the finding's kind, the text of its line, words of its page.

    code: the finding's, where its kind has several.
    """

    name: str
    step: int
    edits: tuple[tuple[str, str], ...]
    verdict: str
    kind: str
    at: str
    words: tuple[str, ...]
    code: str = ""

    def source(self) -> str:
        text = SOURCES[self.step].read_text(encoding="utf-8")
        for old, new in self.edits:
            assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {SOURCES[self.step]}"
            text = text.replace(old, new)
        return re.sub(r"(?m)^SM_COUNT = \d+$", f"SM_COUNT = {SMS}", text)


HAND_WRITTEN = (
    "                with Tx.warpgroup():\n                    Tx.copy(Dsmem[:, :], D_16b[:, :])\n",
    (
        "                for r in Tx.unroll(BLK_M // 4):\n"
        "                    Dsmem[r * 4 + warp_id, lane_id] = Dreg_16b[r]\n"
    ),
)
"""Results stored to shared memory by plain assignments, which no fence follows."""

WRONG = (
    Wrong(
        "no fence before the first MMA",
        1,
        ((FENCE, "pass\n"),),
        "hazard",
        "missing-wgmma-fence",
        GEMM,
        ("is not preceded by a wgmma.fence",),
    ),
    Wrong(
        "accumulators set to zero after the fence",
        1,
        ((FENCE, "Tx.ptx.wgmma.fence()\n                Tx.fill(Dreg[:], 0.0)\n"), ("accum=False", "accum=True")),
        "hazard",
        "missing-wgmma-fence",
        GEMM,
        ("used by ordinary instructions and then by a wgmma",),
    ),
    Wrong(
        "accumulators read before the wait",
        1,
        ((WAIT_0, "pass\n"),),
        "hazard",
        "missing-wgmma-wait",
        CAST,
        ("is read while a wgmma that accumulates in it may be in flight", "the wgmma is issued here", "wait_group(0)"),
    ),
    Wrong(
        "no commit before the wait", 1, ((COMMIT, "pass\n"),), "hazard", "missing-wgmma-wait", CAST, ("commit_group()",)
    ),
    Wrong("one group too many left in flight", 8, ((WAIT_0, WAIT_1),), "hazard", "missing-wgmma-wait", CAST, ()),
    Wrong(
        "the first MMA accumulates",
        1,
        (("accum=False", "accum=True"),),
        "hazard",
        "uninitialised-register",
        GEMM,
        ("Dreg",),
    ),
    Wrong(
        "no barrier between the copies and the MMA",
        1,
        (("            Tx.cuda.cta_sync()\n", ""),),
        "hazard",
        "race",
        GEMM,
        ("Asmem", "the wgmma of"),
    ),
    Wrong(
        "one warp does not issue",
        1,
        (
            (
                "                Tx.ptx.wgmma.fence()\n",
                (
                    "                Tx.ptx.wgmma.fence()\n                if warp_id > 0:\n"
                    "                    Tx.ptx.wgmma.commit_group()\n"
                ),
            ),
        ),
        "fault",
        "illegal-convergence",
        COMMIT.strip(),
        ("all four must issue the same ones",),
    ),
    Wrong(
        "plain stores without a proxy fence",
        4,
        (HAND_WRITTEN,),
        "hazard",
        "missing-proxy-fence",
        TMA_STORE,
        ("Dsmem", "without fence.proxy.async between the two"),
    ),
    Wrong(
        "no barrier before the TMA store",
        10,
        ((f"{SYNC}{IF_FIRST_THREAD}{M_EPI}", f"{IF_FIRST_THREAD}{M_EPI}"),),
        "hazard",
        "race",
        "Tx.copy_async(",
        ("Dsmem",),
    ),
    Wrong(
        "Dsmem overwritten while a store reads it",
        10,
        ((", read=True)", " + 1, read=True)"),),
        "hazard",
        "race",
        STORE,
        ("the TMA store of",),
    ),
    Wrong(
        "the CTA ends while a store reads",
        10,
        (
            (
                (
                    "                # The CTA must not exit before the last store has read shared memory.\n"
                    "                if warp_id == 0:\n                    if lane_id == 0:\n"
                    "                        Tx.ptx.cp_async.bulk.wait_group(0)\n"
                ),
                "",
            ),
        ),
        "hazard",
        "in-flight-at-exit",
        "Tx.copy_async(",
        ("wait_group(0)",),
    ),
    Wrong(
        "a stage released while its MMAs are in flight",
        10,
        ((IN_ORDER, RELEASED_EARLY), (RELEASE_LAST, SKIP)),
        "hazard",
        "race",
        "Tx.copy_async(",
        ("the wgmma of",),
    ),
    Wrong(
        "Dsmem overwritten by warps that do not know that the store has read it",
        10,
        ((f"{SYNC}                        with Tx.thread():\n", "                        with Tx.thread():\n"),),
        "hazard",
        "race",
        STORE,
        ("the TMA store of",),
    ),
    Wrong(
        "both consumers at one named barrier",
        10,
        ((f"{SYNC}{IF_FIRST_THREAD}{M_EPI}", f"{SYNC.replace('wg_id', '1')}{IF_FIRST_THREAD}{M_EPI}"),),
        "hazard",
        "race",
        "Tx.cuda.warpgroup_sync(1)",
        ("arrives at barrier 1",),
    ),
    Wrong(
        "a stage released by both consumers",
        10,
        (("mma2tma.init(1)", "mma2tma.init(NUM_CONSUMER)"),),
        "deadlock",
        "deadlock",
        TMA_WAIT,
        (
            "mma2tma[0] was initialised for 2 arrivals a phase, but only 1 arrives",
            "warpgroup 2 waits for those who have arrived, and cannot arrive before the phase is complete",
        ),
        "TX107",
    ),
    Wrong(
        "a stage released that is the other consumer's",
        10,
        ((RELEASE_LAST, f"{SKIP}                    release(mma_phase.stage)\n"),),
        "deadlock",
        "deadlock",
        TMA_WAIT,
        ("it signals another stage than it waited for", "before the state goes on to another"),
        "TX120",
    ),
    Wrong(
        "the last stage never released",
        10,
        ((RELEASE_LAST, SKIP),),
        "deadlock",
        "deadlock",
        TMA_WAIT,
        ("1 of 1 arrival missing",),
        "TX112",
    ),
    Wrong(
        "the first turn of a tile releases a stage too",
        10,
        ((IN_ORDER, "                        release(last)\n"),),
        "hazard",
        "race",
        "Tx.copy_async(Asmem",
        ("the wgmma of",),
    ),
    Wrong(
        "no wait for the turn: the other consumer's stages are multiplied",
        10,
        ((f"                    {TURN_WAIT}\n", ""),),
        "fault",
        "race",
        FULL_WAIT,
        ("nothing keeps the next phase from completing first",),
    ),
    Wrong(
        "no wait for the turn: a stage is multiplied that is not loaded",
        10,
        ((f"                    {TURN_WAIT}\n", ""),),
        "fault",
        "uninitialised-read",
        GEMM,
        ("which nothing has written",),
    ),
    Wrong(
        "a turn is over when one warp has come",
        10,
        (("turn.init(WG_WARPS)", "turn.init(1)"),),
        "deadlock",
        "deadlock",
        TURN_WAIT,
        ("turn[1] was initialised for 1 arrival a phase, and 4 arrive in each round", "initialise turn with 4"),
        "TX116",
    ),
    Wrong(
        "a turn is over when both consumers have come",
        10,
        (("turn.init(WG_WARPS)", "turn.init(NUM_CONSUMER * WG_WARPS)"),),
        "deadlock",
        "deadlock",
        TURN_WAIT,
        ("turn[1] was initialised for 8 arrivals a phase, but only 4 arrive",),
        "TX107",
    ),
    Wrong(
        "all threads hand over",
        10,
        ((TURN_ARRIVE, "                    turn.arrive(1 - consumer)\n"),),
        "fault",
        "barrier-overflow",
        "turn.arrive(1 - consumer)",
        ("more arrivals in one phase than its init's 4",),
    ),
    Wrong(
        "nobody hands over",
        10,
        ((TURN_ARRIVE, ""),),
        "deadlock",
        "deadlock",
        TURN_WAIT,
        ("nothing ever arrives at turn[0]",),
        "TX103",
    ),
    Wrong(
        "a consumer hands over to itself",
        10,
        (("turn.arrive(1 - consumer)", "turn.arrive(consumer)"),),
        "deadlock",
        "deadlock",
        TURN_WAIT,
        ("nothing arrives at turn[1] but warpgroup 2 itself, after it has waited for it",),
        "TX103",
    ),
    Wrong(
        "the phase of the turn stands still",
        10,
        (("                    turn_phase.move_to_next_stage()\n", ""),),
        "hazard",
        "race",
        TURN_WAIT,
        ("turn[0]", "nothing keeps the next phase from completing first"),
    ),
    Wrong(
        "neither consumer begins",
        10,
        (("is_producer=(consumer == 0)", "is_producer=False"),),
        "deadlock",
        "deadlock",
        TURN_WAIT,
        ("nobody has ever arrived at turn[0] or turn[1]", "warpgroup 2 waits here"),
        "TX108",
    ),
    Wrong(
        "both consumers begin",
        10,
        (("is_producer=(consumer == 0)", "is_producer=True"),),
        "fault",
        "uninitialised-read",
        GEMM,
        ("which nothing has written",),
    ),
    Wrong(
        "a consumer does not step over the other's stages",
        10,
        ((RELEASE_LAST, "                    release(last)\n"),),
        "deadlock",
        "deadlock",
        FULL_WAIT,
        ("warpgroup 1 waits for round 4 of tma2mma[2], and nobody has used round 3",),
        "TX119",
    ),
    Wrong(
        "consumer 1 does not step over the stages of the first tile",
        10,
        ((f"{NEXT_TILE}{SKIP}                while", f"{NEXT_TILE}                while"),),
        "deadlock",
        "deadlock",
        FULL_WAIT,
        ("warpgroup 2 waits for round 3 of tma2mma[1], and nobody has used round 2",),
        "TX119",
    ),
    Wrong(
        "consumer 1 begins with the first tile, with the stages of the second",
        10,
        ((f"{NEXT_TILE}{SKIP}                while", f"{SKIP}                while"),),
        "hazard",
        "race",
        "Tx.copy_async(",
        ("writes D[", "may be written by the TMA store of"),
    ),
    Wrong(
        "consumer 1 begins with the first tile and its stages",
        10,
        ((f"                if consumer == 1:\n{NEXT_TILE}{SKIP}", ""),),
        "deadlock",
        "deadlock",
        FULL_WAIT,
        ("warpgroup 2 waits for round 3 of tma2mma[1], and nobody has used round 2",),
        "TX119",
    ),
    Wrong(
        "each consumer computes all tiles",
        10,
        ((f"{NEXT_TILE}{NEXT_TILE}", NEXT_TILE),),
        "deadlock",
        "deadlock",
        FULL_WAIT,
        ("the two loops do not go round equally often",),
        "TX110",
    ),
    Wrong(
        "the kernel before is waited for after the first load",
        10,
        ((GRID_WAIT, ""), (LOAD, f"{LOAD}        {GRID_WAIT}")),
        "hazard",
        "missing-grid-wait",
        "Tx.copy_async(Asmem",
        ("no griddepcontrol.wait before it",),
        "TX213",
    ),
    Wrong(
        "the kernel before is waited for by the consumers",
        10,
        ((GRID_WAIT, ""), ("                last = 0\n", "                last = 0\n" + GRID_WAIT[8:])),
        "hazard",
        "missing-grid-wait",
        "Tx.copy_async(Asmem",
        ("no griddepcontrol.wait before it",),
        "TX213",
    ),
    Wrong(
        "more registers than there are",
        10,
        (("PRODUCER_REGS, CONSUMER_REGS = 24, 240", "PRODUCER_REGS, CONSUMER_REGS = 40, 240"),),
        "deadlock",
        "deadlock",
        "Tx.ptx.setmaxnreg.inc(CONSUMER_REGS)",
        ("168 registers a thread", "lower setmaxnreg"),
    ),
    Wrong(
        "setmaxnreg by one warp",
        10,
        (
            (
                "                Tx.ptx.setmaxnreg.dec(PRODUCER_REGS)\n                if warp_id == 0:\n",
                "                if warp_id == 0:\n                    Tx.ptx.setmaxnreg.dec(PRODUCER_REGS)\n",
            ),
        ),
        "deadlock",
        "deadlock",
        "Tx.ptx.setmaxnreg.inc(CONSUMER_REGS)",
        (),
    ),
    Wrong(
        "a number of registers that is no multiple of 8",
        10,
        (("PRODUCER_REGS, CONSUMER_REGS = 24, 240", "PRODUCER_REGS, CONSUMER_REGS = 24, 236"),),
        "fault",
        "illegal-instruction",
        "Tx.ptx.setmaxnreg.inc(CONSUMER_REGS)",
        ("multiple of 8",),
    ),
    Wrong(
        "a stage of the pair is free when one consumer has done with it",
        9,
        (("mma2tma.init(CLUSTER)", "mma2tma.init(1)"),),
        "deadlock",
        "deadlock",
        "tma2mma.wait(",
        ("mma2tma[0] was initialised for 1 arrival a phase, and 2 arrive in each round", "initialise mma2tma with 2"),
    ),
    Wrong(
        "the CTAs of a pair do not wait for one another at the end",
        9,
        (
            (
                (
                    "            # No CTA may exit while the other still loads into it or arrives at its barriers.\n"
                    "            Tx.cuda.cluster_sync()\n"
                ),
                "",
            ),
        ),
        "hazard",
        "in-flight-at-exit",
        "",
        (),
    ),
)
