"""Deadlocks: each mistake of the warp-specialised kernels is named, at its line, with its fix.

A wrong kernel is a reference with one edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.course import load_kernels
from tirx_mini.diagnose import Finding, Report, StuckRole
from tirx_mini.script import from_source
from utils import prepare_data

ROOT = Path(__file__).parents[4]

TMA_ARRIVE = "tma2mma.arrive(stage, TMA_BYTES)"
MMA_WAIT = "tma2mma.wait(mma_phase"
MMA_LOOP = "                            for k in range(K_TILES):\n                                tma2mma.wait"
TMA_LOOP = "                            for k in range(K_TILES):\n                                mma2tma.wait"
MMA2LD = "                            mma2ld.arrive(0, cta_group=1, cta_mask=1)\n"
WG_SYNC = "                    Tx.cuda.warpgroup_sync(1)\n                    if warp_id == 0:"

ONE_TILE = (128, 128, 256)
TWO_ROUNDS = (1664, 1664, 128)
"""169 tiles: more than there are SMs, so that some CTAs compute two."""


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """An edit of a step's reference, and what the page of its finding says.

    name: what the mistake is.
    old, new: a text of the reference of `step`, and what stands there instead, wherever it stands.
    line: the text that stands at, above or below the line that the finding names.
    message_says, hint_says: words of the finding's message and of its hint.
    shape: M, N and K.
    """

    name: str = ""
    step: int
    old: str
    new: str
    line: str = ""
    message_says: tuple[str, ...] = ()
    hint_says: tuple[str, ...] = ()
    shape: tuple[int, int, int] = ONE_TILE


MISTAKES = (
    Mistake(
        name="the producer starts as a consumer",
        step=7,
        old="tma_phase.init(is_producer=True)",
        new="tma_phase.init(is_producer=False)",
        line="tma_load",
        message_says=("warp 3 of warpgroup 1", "phase 0 of mma2tma[0]", "a producer's first wait must pass"),
        hint_says=("is_producer=True",),
    ),
    Mistake(
        name="the MMA warp begins as if tensor memory were full",
        step=7,
        old="ld_phase.init(is_producer=True)",
        new="ld_phase.init(is_producer=False)",
        line="ld2mma.wait",
        message_says=("phase 0 of ld2mma", "write-back (warpgroup 0) waits"),
        hint_says=("is_producer=True",),
    ),
    Mistake(
        name="the MMA loop is one iteration short",
        step=7,
        old=MMA_LOOP,
        new=MMA_LOOP.replace("K_TILES", "K_TILES - 1"),
        line="for _ in range(PIPE_DEPTH)",
        message_says=("round 4 of mma2tma", "after 3", "different numbers"),
    ),
    Mistake(
        name="the TMA loop is one iteration short",
        step=7,
        old=TMA_LOOP,
        new=TMA_LOOP.replace("K_TILES", "K_TILES - 1"),
        line=MMA_WAIT,
        message_says=("round 4 of tma2mma", "after 3", "different numbers"),
    ),
    Mistake(
        name="more bytes are announced than loaded",
        step=7,
        old=TMA_ARRIVE,
        new=TMA_ARRIVE.replace("BYTES)", "BYTES * 2)"),
        line=MMA_WAIT,
        message_says=("announces 65536 bytes to tma2mma[0]", "deliver 32768"),
    ),
    Mistake(
        name="an init is nested under the guard of another warpgroup",
        step=7,
        old="            tma2mma.init(1)\n",
        new="            if wg_id == 1:\n                tma2mma.init(1)\n",
        line=MMA_WAIT,
        message_says=("tma2mma[0] is never initialised", "no thread satisfies both", "wg_id == 1"),
        hint_says=("top level",),
    ),
    Mistake(
        name="the barrier counts an arrival too many",
        step=7,
        old="mma2ld.init(1)",
        new="mma2ld.init(2)",
        line="mma2ld.wait",
        message_says=("mma2ld was initialised for 2 arrivals a phase, but only 1 arrives",),
        hint_says=("mma2ld with 1",),
    ),
    Mistake(
        name="the barrier counts more threads than arrive",
        step=7,
        old="ld2mma.init(128)",
        new="ld2mma.init(256)",
        line="ld2mma.wait",
        message_says=("ld2mma was initialised for 256 arrivals a phase, but only 128 arrive",),
        hint_says=("128",),
        shape=TWO_ROUNDS,
    ),
    Mistake(
        name="one lane of each warp arrives for all",
        step=7,
        old="                    ld2mma.arrive(0)\n",
        new="                    if lane_id == 0:\n                        ld2mma.arrive(0)\n",
        line="ld2mma.wait",
        message_says=("ld2mma was initialised for 128 arrivals a phase, but only 4 arrive",),
        shape=TWO_ROUNDS,
    ),
    Mistake(
        name="no commit tells the write-back",
        step=7,
        old=MMA2LD,
        new="",
        line="mma2ld.wait",
        message_says=("nothing ever arrives at mma2ld", "no tcgen05.commit"),
        hint_says=("tcgen05.commit on mma2ld",),
    ),
    Mistake(
        name="the MMA warp stays on its first stage",
        step=7,
        old="                                mma_phase.move_to_next_stage()\n",
        new="",
        line="tma2mma.wait(mma_phase.stage",
        message_says=("waits again for round 1 of tma2mma[0]", "nothing in its loop changes the stage and the phase"),
        hint_says=("move_to_next_stage",),
        shape=(128, 128, 512),
    ),
    Mistake(
        name="cta_sync in a role",
        step=7,
        old=MMA2LD,
        new=MMA2LD + "                            Tx.cuda.cta_sync()  # here\n",
        line="# here",
        message_says=("cta_sync is called by the elected thread of MMA (warp 0 of warpgroup 1) only",),
        hint_says=("out of the elected branch",),
    ),
    Mistake(
        name="one warp misses the warpgroup's barrier",
        step=7,
        old=WG_SYNC,
        new="                    if warp_id != 2:\n    " + WG_SYNC,
        line="Tx.cuda.warpgroup_sync(1)\n                    if",
        message_says=("warpgroup_sync waits for 128 threads", "only 96", "warp 2 of warpgroup 0"),
    ),
    Mistake(
        name="each slot is initialised for all consumers",
        step=10,
        old="mma2ld.init(1)",
        new="mma2ld.init(NUM_CONSUMER)",
        line="mma2ld.wait",
        message_says=("mma2ld[0] was initialised for 2 arrivals a phase, but only 1 arrives",),
        shape=(512, 256, 256),
    ),
    Mistake(
        name="the commit signals one CTA of the pair",
        step=9,
        old="cta_mask=3",
        new="cta_mask=1",
        line="mma2tma.wait",
        message_says=("mma2tma[0] of CTA 0 only", "CTA 1 waits"),
        hint_says=("cta_mask=3",),
        shape=(256, 256, 512),
    ),
)


def source(mistake: Mistake) -> str:
    (path,) = (ROOT / "kernels_ref" / "sm100").glob(f"step{mistake.step:02d}*.py")
    text = path.read_text(encoding="utf-8")
    assert mistake.old in text, f"{mistake.old!r} is not in {path}"
    return text.replace(mistake.old, mistake.new)


def simulate(mistake: Mistake, folder: Path) -> Report:
    path = folder / "wrong.py"
    path.write_text(source(mistake), encoding="utf-8")
    kernel = load_kernels(path)[mistake.step](*mistake.shape)
    return tvm.simulate(kernel, *prepare_data(*mistake.shape, target="sim", arrays=True))


def lines_with(mistake: Mistake) -> set[int]:
    """The numbers of the lines that begin with (or hold) the text `at`; of a text of several lines, the first."""
    text = source(mistake)
    first = mistake.line.splitlines()[0]
    starts = [i for i in range(len(text)) if text.startswith(mistake.line, i)]
    assert starts, f"{first!r} is not in the edited source"
    return {text.count("\n", 0, start) + 1 for start in starts}


def deadlock_of(report: Report) -> Finding:
    finding = report.findings[0]
    assert (report.verdict, finding.kind, finding.severity) == ("deadlock", "deadlock", "error"), str(report)
    return finding


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_the_cause_is_named(mistake: Mistake, tmp_path: Path) -> None:
    finding = deadlock_of(simulate(mistake, tmp_path))
    page = finding.diagnostic.render()
    for word in mistake.message_says:
        assert word in finding.message, page
    for word in mistake.hint_says:
        assert word in finding.details["hint"], page
    assert finding.span is not None
    near = {number + offset for number in lines_with(mistake) for offset in (-1, 0, 1)}
    assert finding.span.user.line in near, page


def test_every_stuck_role_says_what_it_waits_for(tmp_path: Path) -> None:
    mistake = next(m for m in MISTAKES if m.name == "the producer starts as a consumer")
    finding = deadlock_of(simulate(mistake, tmp_path))
    stuck: tuple[StuckRole, ...] = finding.details["stuck"]
    by_role = {role.role: role for role in stuck}
    assert set(by_role) == {
        "MMA",
        "TMA",
        "warps 1 and 2 of warpgroup 1",
        "write-back (warpgroup 0)",
    }
    tma = by_role["TMA"]
    assert (tma.barrier, tma.stage, tma.parity, tma.phase, tma.expected, tma.pending) == ("mma2tma[0]", 0, 0, 0, 1, 1)
    assert tma.ctas == 1 and tma.span is not None
    assert any("commit" in text and "is up to MMA" in text for text in tma.providers)


def test_the_cycle_is_shown(tmp_path: Path) -> None:
    mistake = next(m for m in MISTAKES if m.name == "the producer starts as a consumer")
    cycle = deadlock_of(simulate(mistake, tmp_path)).details["cycle"]
    assert len(cycle) == 2
    assert (
        "TMA waits for mma2tma[0]" in cycle[0]
        and "MMA waits for tma2mma[0]" in cycle[1]
    )


TOO_FEW_BYTES = (
    Mistake(
        name="half of them",
        step=7,
        old=TMA_ARRIVE,
        new=TMA_ARRIVE.replace("BYTES)", "BYTES // 2)"),
        line="tma2mma.arrive",
        message_says=("announces 16384 bytes to tma2mma", "deliver 32768"),
    ),
    Mistake(
        name="those of one CTA of the pair",
        step=9,
        old="CTA_GROUP * (BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE",
        new="(BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE",
        line="arrive(stage, TMA_BYTES)",
        message_says=("announces 32768 bytes to tma2mma", "deliver 65536"),
        hint_says=("all CTAs",),
        shape=(256, 256, 256),
    ),
)


@pytest.mark.parametrize("mistake", TOO_FEW_BYTES, ids=lambda mistake: mistake.name)
def test_too_few_bytes_let_a_wait_through_early_and_are_named_as_the_cause(mistake: Mistake, tmp_path: Path) -> None:
    report = simulate(mistake, tmp_path)
    finding = report.findings[0]
    assert (report.verdict, finding.kind) == ("hazard", "byte-count"), str(report)
    assert finding.span is not None and finding.span.user.line in lines_with(mistake)
    assert all(word in finding.message for word in mistake.message_says)
    assert all(word in finding.details["hint"] for word in mistake.hint_says)


def test_a_forgotten_next_tile_is_an_endless_loop(tmp_path: Path) -> None:
    mistake = Mistake(step=7, old=MMA2LD + "                            tile_scheduler.next_tile()\n", new=MMA2LD)
    report = simulate(mistake, tmp_path)
    assert report.verdict == "deadlock" and report.findings[0].kind == "runaway-loop", str(report)
    assert "next_tile" in report.findings[0].details["hint"]


TURNS = """
from tirx_mini.script import tirx as Tx

STAGES, ITEMS = 3, 24

@Tx.prim_func(tirx=True)
def turns(A: Tx.Buffer((32,), "float32")):
    with Tx.kernel():
        bx = Tx.cta_id([1], parent="kernel")
        warp_id = Tx.warp_id([3], parent="cta")
        lane_id = Tx.thread_id([32], parent="warp")
        pool = Tx.PoolAllocator()
        full = pool.alloc((STAGES,), "uint64")
        free = pool.alloc((STAGES,), "uint64")
        pool.commit()
        if warp_id == 0:
            if lane_id < STAGES:
                Tx.ptx.mbarrier.init(full.ptr_to([lane_id]), 1)
                Tx.ptx.mbarrier.init(free.ptr_to([lane_id]), 1)
        Tx.ptx.fence.mbarrier_init()
        Tx.cuda.cta_sync()
        if lane_id == 0:
            if warp_id == 2:
                for i in range(ITEMS):
                    Tx.ptx.mbarrier.try_wait(free.ptr_to([i % STAGES]), 1 - i // STAGES % 2)
                    Tx.ptx.mbarrier.arrive(full.ptr_to([i % STAGES]))
            else:
                for j in range(ITEMS // 2):
                    i = j * 2 + warp_id
                    Tx.ptx.mbarrier.try_wait(full.ptr_to([i % STAGES]), i // STAGES % 2)
                    Tx.ptx.mbarrier.arrive(free.ptr_to([i % STAGES]))
"""


def test_consumers_that_take_turns_are_not_counted_together() -> None:
    """Of two that may arrive at a stage, one does in each round: where they stay on a stage, no count is wrong."""
    a = np.zeros(32, np.float32)
    assert tvm.simulate(from_source(TURNS), a, gpu="h100").verdict == "ok"
    report = tvm.simulate(from_source(TURNS.replace("free.ptr_to([i % STAGES]))", "free.ptr_to([0]))")), a, gpu="h100")
    (deadlock,) = (finding for finding in report.findings if finding.kind == "deadlock")
    assert deadlock.code == "TX109" and "free[0] has completed" in deadlock.message, str(report)
