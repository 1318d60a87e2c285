"""States of pipelines that do not go on with the rounds: the line that should advance them is named first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels_ref.edits import Edit, HopperEdit
from tests.tirx_mini.diagnose.reference_texts import DONE, EMPTY, FREE, FULL
from tests.tirx_mini.diagnose.wrong_kernels import Wrong, assert_found, simulate, simulate_on_hopper

TMA = 32 * " " + "tma_phase.move_to_next_stage()\n" + 28 * " " + "tile"
WRITE_BACK = 20 * " " + "wb_phase.move_to_next_stage()\n"
CLUSTER_FREE = 32 * " " + "ld_phase.move_to_next_stage()\n"
CLUSTER_MMA = 36 * " " + "mma_phase.move_to_next_stage()\n"


def under(guard: str, text: str) -> str:
    """The first line of `text` under a guard."""
    first, _, rest = text.partition("\n")
    indent = first[: len(first) - len(first.lstrip())]
    return f"{indent}if {guard}:\n    {first}\n{rest}"


def guarded(step: int, text: str, guard: str, what: str, verdict: str, stuck: bool = False) -> Wrong:
    """A reference in which a state advances only under `guard`."""
    return Wrong(
        name=f"a state that advances only under {guard}",
        edit=Edit(step=step, old=text, new=under(guard, text)),
        verdict=verdict,
        kind="deadlock" if stuck or verdict == "deadlock" else "state-stands-still",
        code="TX109",
        line=under(guard, text).split("\n")[1].strip() + ("\n" + 28 * " " + "tile" if text is TMA else ""),
        page_says=(f"only under `{guard}`", what, "let each thread that waits with"),
    )


GUARDED = (
    guarded(9, TMA, "cbx == 0", "CTA 1 waits again for the first round of mma2tma[0]", "deadlock"),
    guarded(9, WRITE_BACK, "cbx == 0", "CTA 1 waits again for round 1 of mma2ld", "deadlock"),
    guarded(10, TMA, "cbx == 0", "CTA 1 waits again for the first round of mma2tma[0]", "deadlock"),
    guarded(10, TMA, "cbx == 1", "CTA 0 waits again for the first round of mma2tma[0]", "fault"),
    guarded(10, WRITE_BACK, "cbx == 0", "of CTA 1 waits again for round 1 of mma2ld[0]", "hazard"),
    guarded(7, WRITE_BACK, "warp_id == 0", "waits again for round 1 of mma2ld", "deadlock"),
    guarded(10, WRITE_BACK, "warp_id < 2", "waits again for round 1 of mma2ld[0]", "hazard"),
    guarded(10, WRITE_BACK, "wg_id == 0", "waits again for round 1 of mma2ld[1]", "hazard"),
    guarded(7, WRITE_BACK, "n_st > 0", "waits again for round 1 of mma2ld", "deadlock"),
    guarded(8, TMA, "k > 0", "waits again for the first round of mma2tma[0]", "fault", stuck=True),
    guarded(10, CLUSTER_MMA, "warp_id == 0", "waits again for round 1 of tma2mma[0]", "deadlock"),
    guarded(10, CLUSTER_FREE, "warp_id == 0", "waits again for the first round of ld2mma[1]", "hazard"),
)

STANDING = (
    Wrong(
        name="a producer that never advances, whose bytes overflow",
        edit=Edit(step=9, old=TMA, new=28 * " " + "tile"),
        verdict="fault",
        kind="state-stands-still",
        code="TX109",
        line=EMPTY.partition("\n")[0] + "\n" + 32 * " " + "tma_load",
        page_says=("nothing in its loop changes the stage and the phase",),
    ),
    Wrong(
        name="a producer that advances once a tile",
        edit=Edit(step=8, old=TMA, new=28 * " " + "tma_phase.move_to_next_stage()\n" + 28 * " " + "tile"),
        verdict="fault",
        kind="deadlock",
        code="TX109",
        line="tma_phase.move_to_next_stage()\n" + 28 * " " + "tile",
        page_says=("in an outer loop only",),
    ),
    Wrong(
        name="a write-back of two CTAs that never advances",
        edit=Edit(step=10, old=WRITE_BACK, new=""),
        verdict="hazard",
        kind="state-stands-still",
        code="TX109",
        line="mma2ld.wait(wg_id, wb_phase.phase)",
        page_says=("nothing in its loop changes the phase",),
    ),
    Wrong(
        name="an MMA warp that waits for the first, free round of tensor memory each time",
        edit=Edit(step=7, old=28 * " " + "ld_phase.move_to_next_stage()\n", new=""),
        verdict="hazard",
        kind="state-stands-still",
        code="TX109",
        line=FREE,
        page_says=("the first round of ld2mma, which is free",),
    ),
    Wrong(
        name="a constant parity",
        edit=Edit(step=8, old=DONE, new="mma2ld.wait(0, 0)"),
        verdict="deadlock",
        kind="deadlock",
        code="TX109",
        line="mma2ld.wait(0, 0)",
        page_says=("waits again for round 1 of mma2ld", "nothing in its loop changes the phase"),
    ),
)

LAPS = (
    Wrong(
        name="a phase that never flips",
        edit=Edit(step=5, old=24 * " " + "if stage == 0:\n" + 28 * " " + "phase_tma = phase_tma ^ 1\n", new=""),
        verdict="hazard",
        kind="wrong-parity",
        code="TX126",
        line="Tx.ptx.mbarrier.try_wait(tma_bar",
        page_says=("goes round the 2 stages, and its phase never flips", "once a lap"),
    ),
    Wrong(
        name="a parity that stays from the second lap on",
        edit=Edit(step=8, old=FULL, new="tma2mma.wait(mma_phase.stage, Tx.if_then_else(k < PIPE_DEPTH, 0, 1))"),
        verdict="deadlock",
        kind="deadlock",
        code="TX126",
        line="tma2mma.wait(mma_phase.stage, Tx",
        page_says=("waits again for round 1 of tma2mma[3]", "with parity r // 4 % 2", "count r over all tiles"),
    ),
)


KERNELS = (*GUARDED, *STANDING, *LAPS)


@pytest.mark.parametrize("wrong", KERNELS, ids=lambda wrong: f"step {wrong.edit.step}: {wrong.name}")
def test_the_state_is_named_before_what_follows_from_it(wrong: Wrong, tmp_path: Path) -> None:
    report = simulate(wrong.edit.kernel(tmp_path), wrong.edit.step)
    assert_found(wrong, report)
    others = [f for f in report.findings[1:] if f.code not in ("TX109", "TX126")]
    assert all(f.details.get("consequence") for f in others), str(report)


HOPPER = (
    Wrong(
        name="a producer that never advances",
        edit=HopperEdit(step=7, old=28 * " " + "tma_phase.move_to_next_stage()\n", new=""),
        verdict="fault",
        kind="deadlock",
        code="TX109",
        line="mma2tma.wait(tma_phase.stage, tma_phase.phase)",
        page_says=("the first round of mma2tma[0], which is free",),
    ),
    Wrong(
        name="a consumer that never advances",
        edit=HopperEdit(step=8, old=24 * " " + "mma_phase.move_to_next_stage()\n", new=""),
        verdict="deadlock",
        kind="deadlock",
        code="TX109",
        line="tma2mma.wait(mma_phase.stage, mma_phase.phase)",
        page_says=("waits again for round 1 of tma2mma[0]",),
    ),
)


@pytest.mark.parametrize("wrong", HOPPER, ids=lambda wrong: wrong.name)
def test_the_state_is_named_on_hopper_too(wrong: Wrong, tmp_path: Path) -> None:
    assert_found(wrong, simulate_on_hopper(wrong.edit, tmp_path))
