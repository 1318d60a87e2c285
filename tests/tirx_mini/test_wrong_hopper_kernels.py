"""What goes wrong on Hopper, and how it is told: a Hopper reference with one edit, and the finding that it leads to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

import tirx_mini as tvm
from tirx_mini.ir import TirxError
from tirx_mini.ladder import Shape, load_kernels
from tirx_mini.passes import lower
from tirx_mini.sim import Report
from utils import prepare_data

ROOT = Path(__file__).parents[2]
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
LAST = "                    release(last)\n                    write_back()"
BY_ELEMENT = "                with Tx.thread():\n                    for r in Tx.unroll(64):\n"


@dataclass(frozen=True)
class Wrong:
    """`edits` to the reference of `step`; the verdict, the finding's kind, the text of its line, words of its page."""

    name: str
    step: int
    edits: tuple[tuple[str, str], ...]
    verdict: str
    kind: str
    at: str
    words: tuple[str, ...]

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
        (
            (
                (
                    "                            Tx.copy(Dsmem[consumer, :, :], D_16b[:, :])\n"
                    "                        Tx.cuda.warpgroup_sync(wg_id)\n"
                ),
                "                            Tx.copy(Dsmem[consumer, :, :], D_16b[:, :])\n",
            ),
        ),
        "hazard",
        "race",
        "Tx.copy_async(",
        ("Dsmem",),
    ),
    Wrong(
        "Dsmem overwritten while a store reads it",
        10,
        (("Tx.ptx.cp_async.bulk.wait_group(0, read=True)", "Tx.ptx.cp_async.bulk.wait_group(1, read=True)"),),
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
                    "                # Shared memory must be there until the last store has read it.\n"
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
        ((IN_ORDER, RELEASED_EARLY), (LAST, LAST[LAST.index("\n") + 1 :])),
        "hazard",
        "race",
        "Tx.copy_async(",
        ("the wgmma of",),
    ),
    Wrong(
        "a stage released by one consumer",
        10,
        (("mma2tma.init(NUM_CONSUMER)", "mma2tma.init(1)"),),
        "fault",
        "barrier-overflow",
        "tma2mma.arrive(stage",
        ("tma2mma",),
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
                    "            # No CTA may end while the other still loads into it or arrives at its barriers.\n"
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


def simulated(wrong: Wrong, folder: Path) -> Report:
    path = folder / "wrong.py"
    path.write_text(wrong.source(), encoding="utf-8")
    shape = SHAPES[wrong.step]
    A, B, D = prepare_data(*shape, target="sim")
    return tvm.simulate(load_kernels(path)[wrong.step](*shape), A, B, D, gpu="h100")


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: f"{wrong.step}: {wrong.name}")
def test_the_mistake_is_found_where_it_is(wrong: Wrong, tmp_path: Path) -> None:
    report = simulated(wrong, tmp_path)
    assert report.verdict == wrong.verdict, str(report)
    lines = wrong.source().splitlines()
    found = [f for f in report.errors if f.kind == wrong.kind and f.span and wrong.at in lines[f.span.user.line - 1]]
    assert found, str(report)
    for words in wrong.words:
        assert words in found[0].diagnostic.render()


@pytest.mark.parametrize("step", sorted(SHAPES))
def test_the_references_that_are_edited_are_clean(step: int, tmp_path: Path) -> None:
    report = simulated(Wrong("", step, (), "ok", "", "", ()), tmp_path)
    assert (report.verdict, report.findings) == ("ok", ()), str(report)


@pytest.mark.parametrize("seed", range(1, 5))
@pytest.mark.parametrize("shape", [SHAPES[9], (1024, 1024, 512)])
def test_a_count_that_is_too_low_is_named_in_every_order(shape: Shape, seed: int, tmp_path: Path) -> None:
    (wrong,) = (wrong for wrong in WRONG if wrong.edits == (("mma2tma.init(CLUSTER)", "mma2tma.init(1)"),))
    (tmp_path / "wrong.py").write_text(wrong.source(), encoding="utf-8")
    kernel = load_kernels(tmp_path / "wrong.py")[9](*shape)
    report = tvm.simulate(kernel, *prepare_data(*shape, target="sim"), gpu="h100", seed=seed)
    (deadlock,) = (finding for finding in report.findings if finding.kind == "deadlock")
    assert deadlock.code == "TX116" and "mma2tma[" in deadlock.message, str(report)


@pytest.mark.parametrize(
    ("edit", "message", "hint"),
    [
        (
            (
                "            with Tx.warpgroup():\n                Tx.ptx.wgmma.fence()",
                "            with Tx.cta():\n                Tx.ptx.wgmma.fence()",
            ),
            "issue it together, and this is cta scope",
            "with Tx.warpgroup():",
        ),
        (
            (
                "D_fragment = wgmma_accumulator_layout(BLK_N, BLK_M)",
                "from tirx_mini.layout import tcgen05_ld_layout\n    D_fragment = tcgen05_ld_layout(BLK_N)",
            ),
            "does not hold its elements where wgmma leaves them",
            "wgmma_accumulator_layout(128, 128)",
        ),
        (
            ('Dreg = Tx.alloc_local((DREG_N,), "float32")', "Dreg = Tx.alloc_local((DREG_N,), dtype)"),
            "into float32",
            "",
        ),
    ],
)
def test_what_the_rule_refuses(edit: tuple[str, str], message: str, hint: str, tmp_path: Path) -> None:
    wrong = Wrong("", 1, (edit,), "fault", "lowering", "", ())
    path = tmp_path / "wrong.py"
    path.write_text(wrong.source(), encoding="utf-8")
    with pytest.raises(TirxError) as caught:
        lower(load_kernels(path)[1](128, 128, 64))
    assert message in str(caught.value) and hint in str(caught.value)
