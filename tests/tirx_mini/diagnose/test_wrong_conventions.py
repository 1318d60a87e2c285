"""Mistakes in kernels of other conventions than the references': the first finding leads to the fix.

Arrivals before the loops stand for a producer's first phase of 1, every thread waits for the last phase, or each CTA
announces its own bytes. Each convention is right by itself, and each edit here makes one mistake in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import tirx_mini as tvm
from tests.kernels_ref.edits import Edit, HopperEdit
from tests.tirx_mini.diagnose.wrong_kernels import assert_users_places
from tirx_mini.course import Shape
from tirx_mini.diagnose import Report
from tirx_mini.ir import PrimFunc
from tirx_mini.script import tirx as T
from utils import prepare_data

Change = tuple[str, str]

SHAPES: dict[int, Shape] = {
    4: (128, 128, 192), 5: (128, 128, 256), 6: (128, 384, 128), 7: (256, 384, 128), 8: (256, 384, 128),
    9: (512, 512, 128), 10: (512, 512, 128),
}  # fmt: skip

LOOP = "                while tile_scheduler.valid():"
WRITE_BACK = f"            elif wg_id == 0:\n{LOOP}"
ROLES = "            if wg_id == 1:\n                if warp_id == 3:"
LANE = 'with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:\n'
MMA_ROLE = f"                elif warp_id == 0:\n                    {LANE}"
TMA_ROLE = f"                if warp_id == 3:\n                    {LANE}"
EACH_STAGE = "                        for i in range(PIPE_DEPTH):\n                            "

# The threads that free a place arrive once before their loops.
FREE = ("            elif wg_id == 0:\n", "            elif wg_id == 0:\n                ld2mma.arrive(0)  # before\n")
FREE_IN_PAIR = (WRITE_BACK, WRITE_BACK.replace(LOOP, f"                ld2mma.arrive(0, cta_id=0)  # before\n{LOOP}"))
FREE_OF_TWO = (
    f"            elif wg_id < NUM_CONSUMER:\n{LOOP}",
    f"            elif wg_id < NUM_CONSUMER:\n                ld2mma.arrive(wg_id, cta_id=0)  # before\n{LOOP}",
)
FREE_AT_TOP = (ROLES, f"            if wg_id == 0:\n                ld2mma.arrive(0)  # before\n{ROLES}")
FREE_STAGES = (MMA_ROLE, f"{MMA_ROLE}{EACH_STAGE}mma2tma.arrive(i, cta_group=1, cta_mask=1)  # before\n")
OWN_STAGES = (TMA_ROLE, f"{TMA_ROLE}{EACH_STAGE}Tx.ptx.mbarrier.arrive(mma2tma.ptr_to([i]))  # before\n")
CONSUMERS = '            else:\n                Dreg = Tx.alloc_local((DREG_N,), "float32")\n'
RELEASES = "                for i in range(PIPE_DEPTH):\n                    release(i)  # before\n"
FREE_ON_HOPPER = (CONSUMERS, CONSUMERS.replace(":\n", f":\n{RELEASES}", 1))


def begins(state: str, producer: bool) -> Change:
    """Begin a role with the phase of the other side."""
    return f"{state}_phase.init(is_producer={not producer})", f"{state}_phase.init(is_producer={producer})"


def later(old: str, new: str) -> Change:
    """Let the arrivals in the loop be made otherwise, by fewer threads."""
    store = "\n                    store()"
    return f"                    {old}{store}", f"                    {new}  # later{store}"


ARRIVE, PAIR_ARRIVE = "ld2mma.arrive(0)", "ld2mma.arrive(0, cta_id=0, pred=True)"
UNDER = "{}:\n                        ld2mma.arrive(0)"

# Step 4: all threads wait for the tensor core, in the place of the first cta_sync() of write_back.
SYNC = (
    "                Tx.cuda.cta_sync()\n                Tx.ptx.tcgen05.fence.after_thread_sync()\n"
    "                with Tx.warpgroup()"
)
TMA_WAIT = "Tx.ptx.mbarrier.try_wait(tma_bar.ptr_to([0]), {})"


def all_wait(parity: str) -> Change:
    return SYNC, SYNC.replace("Tx.cuda.cta_sync()", f"Tx.ptx.mbarrier.try_wait(mma_bar.ptr_to([0]), {parity})  # last")


# A pair announces its bytes: the reference does so in CTA 0, for both.
ANNOUNCE = "                if cbx == 0:\n                    tma2mma_cta0.arrive(stage, TMA_BYTES)"
TWO = ("tma2mma.init(1)", "tma2mma.init(CTA_GROUP)")


def announces(code: str) -> Change:
    return ANNOUNCE, f"                {code}  # here"


def edit(step: int, *changes: Change, hopper: bool = False) -> Edit:
    (old, new), *then = changes
    return (HopperEdit if hopper else Edit)(step=step, old=old, new=new, then=tuple(then))


def simulate(case_edit: Edit, folder: Path, shape: Shape | None = None) -> Report:
    hopper = isinstance(case_edit, HopperEdit)
    shape = shape or (case_edit.shape if hopper else SHAPES[case_edit.step])
    data = prepare_data(*shape, target="sim", arrays=True)
    return tvm.simulate(case_edit.kernel(folder, shape), *data, gpu="h100" if hopper else "b200")


RIGHT = {
    "an arrival before the loop": edit(7, begins("ld", False), FREE),
    "an arrival before the loop in a pair": edit(9, begins("ld", False), FREE_IN_PAIR),
    "an arrival before the roles": edit(7, begins("ld", False), FREE_AT_TOP),
    "commits before the loop": edit(7, begins("tma", False), FREE_STAGES),
    "arrivals of the loader itself": edit(8, begins("tma", False), OWN_STAGES),
    "arrivals before the loop on Hopper": edit(7, begins("tma", False), FREE_ON_HOPPER, hopper=True),
    "each CTA announces at CTA 0": edit(9, announces("tma2mma_cta0.arrive(stage, TMA_BYTES // 2)"), TWO),
}


@pytest.mark.parametrize("name", RIGHT)
def test_the_convention_is_right(name: str, tmp_path: Path) -> None:
    report = simulate(RIGHT[name], tmp_path)
    assert report.ok and not report.findings, str(report)


@dataclass(frozen=True)
class Case:
    """A mistake. line: of the first finding. says: words of its message and its help. shape: other than its step's."""

    name: str
    edit: Edit
    code: str
    line: str
    says: tuple[str, ...]
    shape: Shape | None = None


START = ("starts with phase 1", "before the loop", "already completed phase 0", "begin with phase 0", "or remove the")
LD_WAIT, MMA_WAIT = "ld2mma.wait(", "Tx.ptx.mbarrier.try_wait(mma_bar"
AT_ONCE = ("passes at once", "begin with phase 0")
ONCE = ("this wait after it is executed once", "cta_sync() after the loop")
OWN = ("each CTA announces bytes at its own tma2mma", "loads of all CTAs complete at CTA 0's", "tma2mma.remote_view(0)")

CASES = (
    Case("phase 1 behind an arrival", edit(7, FREE), "TX108", LD_WAIT, (*START, "remove the arrive of line")),
    Case("phase 1 behind an arrival of a pair", edit(9, FREE_IN_PAIR), "TX108", LD_WAIT, START),
    Case("phase 1 behind arrivals of two consumers", edit(10, FREE_OF_TWO), "TX108", LD_WAIT, START),
    Case("phase 1 behind an arrival before the roles", edit(8, FREE_AT_TOP), "TX108", LD_WAIT, START),
    Case("phase 1 behind commits", edit(7, FREE_STAGES), "TX108", "mma2tma.wait(", (*START, "remove the commit of")),
    Case("phase 1 behind its own arrivals", edit(8, OWN_STAGES), "TX108", "mma2tma.wait(", START),
    Case("phase 1 behind arrivals on Hopper", edit(7, FREE_ON_HOPPER, hopper=True), "TX108", "mma2tma.wait(", START),
    Case("the reader begins with 1", edit(7, begins("ld", False), FREE, begins("wb", True)), "TX108", "mma2ld.wait(",
         (*AT_ONCE, "before any MMA is complete", "for mma2ld")),
    Case("the reader of a pair begins with 1", edit(9, begins("ld", False), FREE_IN_PAIR, begins("wb", True)), "TX108",
         "mma2ld.wait(", AT_ONCE),
    Case("the MMA begins with 1", edit(7, begins("tma", False), FREE_STAGES, begins("mma", True)), "TX108",
         "tma2mma.wait(", (*AT_ONCE, "before any bytes have landed")),
    Case("the wgmma begins with 1", edit(7, begins("tma", False), FREE_ON_HOPPER, begins("mma", True), hopper=True),
         "TX108", "tma2mma.wait(", (*AT_ONCE, "before any bytes have landed")),
    Case("one lane of each warp arrives later", edit(7, begins("ld", False), FREE,
         later(ARRIVE, UNDER.format("if lane_id == 0"))), "TX107", LD_WAIT,
         ("128 arrivals a phase, and the arrive of line 174 makes 4", "let 128 threads execute the arrive of")),
    Case("one warp arrives later", edit(7, begins("ld", False), FREE, later(ARRIVE, UNDER.format("if warp_id == 0"))),
         "TX107", LD_WAIT, ("makes 32", "let 128 threads execute the arrive of line 174")),
    Case("one CTA arrives later", edit(9, begins("ld", False), FREE_IN_PAIR,
         later(PAIR_ARRIVE, f"if cbx == 0:\n                        {PAIR_ARRIVE}")), "TX107", LD_WAIT,
         ("256 arrivals a phase", "makes 128", "let 256 threads execute")),
    Case("each CTA arrives later at its own", edit(9, begins("ld", False), FREE_IN_PAIR, later(PAIR_ARRIVE, ARRIVE)),
         "TX107", LD_WAIT, ("makes 128", "an arrive without cta_id is at the CTA's own ld2mma")),
    Case("one lane of each warp arrives before the loop", edit(7, begins("ld", False),
         (FREE[0], FREE[1].replace("ld2mma.arrive", "if lane_id == 0:\n                    ld2mma.arrive"))),
         "TX107", LD_WAIT, ("makes 4", "let 128 threads execute the arrive of line 166")),
    Case("all wait for the last parity, 0", edit(4, all_wait("(K_TILES - 1) % 2")), "TX110", MMA_WAIT,
         (*ONCE, "completes 3 phases", "as soon as phase 0 is complete", "the last one, phase 2", "(3 - 1) % 2 = 0")),
    Case("all wait for the last parity, 1", edit(4, all_wait("(K_TILES - 1) % 2")), "TX110", MMA_WAIT,
         (*ONCE, "at once, before phase 0 is complete", "the last one, phase 3", "(4 - 1) % 2 = 1"), (128, 128, 256)),
    Case("all wait for parity 1 of three", edit(4, all_wait("1")), "TX110", MMA_WAIT, ONCE),
    Case("all wait for parity 0 of four", edit(4, all_wait("0")), "TX110", MMA_WAIT, ONCE, (128, 128, 256)),
    Case("all wait for their own phase", edit(4, all_wait("phase_mma")), "TX110", MMA_WAIT, ONCE),
    Case("all wait behind two stages", edit(5, all_wait("1")), "TX110", MMA_WAIT, ONCE),
    Case("the loads' phase begins with 1", edit(4, ("phase_tma = 0", "phase_tma = 1")), "TX108",
         TMA_WAIT.format("phase_tma"), (*AT_ONCE, "before any bytes have landed", "for tma_bar")),
    Case("the loads' parity is inverted", edit(4, (TMA_WAIT.format("phase_tma"), TMA_WAIT.format("(k + 1) % 2"))),
         "TX108", TMA_WAIT.format("(k + 1) % 2"),
         ("passes at once", "where `(k + 1) % 2` is 1", "round k has parity k % 2")),
    Case("the loads' parity is 1 - k % 2", edit(4, (TMA_WAIT.format("phase_tma"), TMA_WAIT.format("1 - k % 2"))),
         "TX108", TMA_WAIT.format("1 - k % 2"), ("passes at once", "where `1 - k % 2` is 1")),
    Case("the loads' phase begins with 1, after a prologue", edit(5, ("phase_tma = 0", "phase_tma = 1")), "TX108",
         "Tx.ptx.mbarrier.try_wait(tma_bar",
         ("starts with phase 1", "before the loop, begins phase 0", "begin with phase 0")),
    Case("the loads' phase begins with 1, in each tile", edit(6, ("phase_tma = 0", "phase_tma = 1")), "TX108",
         "Tx.ptx.mbarrier.try_wait(tma_bar", AT_ONCE),
    Case("the MMAs' phase begins with 1", edit(4, ("phase_mma = 0", "phase_mma = 1")), "TX108", MMA_WAIT,
         (*AT_ONCE, "before any MMA is complete", "for mma_bar")),
    Case("halves at the own barriers", edit(10, announces("tma2mma.arrive(stage, TMA_BYTES // 2)"), TWO), "TX106",
         "# here", (*OWN, "each announces its own part, so tma2mma gets 2 arrivals")),
    Case("halves at the own barriers of a pair", edit(9, announces("tma2mma.arrive(stage, TMA_BYTES // 2)"), TWO),
         "TX106", "# here", OWN),
    Case("halves at the own barriers, one arrival", edit(9, announces("tma2mma.arrive(stage, TMA_BYTES // 2)")),
         "TX106", "# here", OWN),
    Case("all bytes at the own barriers", edit(9, announces("tma2mma.arrive(stage, TMA_BYTES)")), "TX106", "# here",
         (*OWN, "in CTA 0 only"), (512, 512, 448)),
    Case("all bytes at the own barriers, two arrivals", edit(9, announces("tma2mma.arrive(stage, TMA_BYTES)"), TWO),
         "TX106", "# here", (*OWN, "in CTA 0 only", "one arrival a phase")),
    Case("the other half at the own barrier", edit(9, (ANNOUNCE, ANNOUNCE.replace("TMA_BYTES", "TMA_BYTES // 2")
         + "\n                else:\n                    tma2mma.arrive(stage, TMA_BYTES // 2)  # here"), TWO),
         "TX106", "# here", ("CTA 1 announces 32768 bytes at its own tma2mma[0]", "complete at CTA 0's",
                             "tma2mma.remote_view(0)")),
    Case("the other CTA announces, at its own", edit(9, announces("if cbx == 1: tma2mma.arrive(stage, TMA_BYTES)")),
         "TX106", "# here", ("CTA 1 announces 65536 bytes at its own tma2mma[0]", "tma2mma.remote_view(0)")),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_first_finding_leads_to_the_fix(case: Case, tmp_path: Path) -> None:
    report = simulate(case.edit, tmp_path, case.shape)
    page = str(report)
    assert_users_places(report)
    first = report.findings[0]
    assert (first.code, first.severity) == (case.code, "error"), page
    assert first.span is not None and not first.details.get("consequence"), page
    assert case.line in case.edit.source().splitlines()[first.span.user.line - 1], page
    text = f"{first.message}: {first.details['hint']}"
    for words in case.says:
        assert words in text, page


def test_a_wait_for_the_last_phase_behind_a_synchronisation_is_right(tmp_path: Path) -> None:
    again = "cta_sync()\n                Tx.ptx.mbarrier.try_wait(mma_bar.ptr_to([0]), 0)\n"
    wait = SYNC.replace("cta_sync()\n", again, 1)
    report = simulate(edit(4, (SYNC, wait)), tmp_path)
    assert report.ok, str(report)
    fence = '                    # TMA reads through the async proxy: each thread makes its own row visible to it.\n'
    bad = edit(4, (SYNC, wait), (f'{fence}                    Tx.ptx.fence.proxy_async("shared::cta")\n', ""))
    assert simulate(bad, tmp_path).findings[0].code == "TX202"


# -- one synchronisation for several findings --------------------------------------------------------------------------


def through_shared_memory(index: str) -> PrimFunc:
    """128 threads read what others have stored, with no synchronisation of the warps."""

    @T.prim_func
    def kernel(A: T.Buffer((128,), "float32"), D: T.Buffer((128,), "float32")):
        T.device_entry()
        t = T.thread_id([128])
        words = T.alloc_shared((128,), "float32")
        words[t] = A[t]
        if index == "half":
            D[t] = words[t // 2 + 5]
        elif index == "next":
            D[t] = words[(t + 1) % 128]
        elif index == "last":
            D[t] = words[127 - t]
        else:
            D[t] = words[t ^ 1]

    return kernel


@pytest.mark.parametrize(
    ("index", "code"), [("half", "TX201"), ("next", "TX201"), ("last", "TX201"), ("lane", "TX214")]
)
def test_the_synchronisation_that_mends_all_is_named_first(index: str, code: str) -> None:
    values = np.arange(128, dtype=np.float32)
    report = tvm.simulate(through_shared_memory(index), values, np.zeros_like(values))
    first = report.findings[0]
    assert first.code == code, str(report)
    assert ("warpgroup_sync()" if code == "TX201" else "warp_sync()") in first.details["hint"]
    assert all(finding.code == code for finding in report.causes), str(report)
