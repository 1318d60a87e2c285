"""The mistakes with stages of Hopper's steps 9 and 10: who releases which stage, when, and how often."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels_ref.edits import HOPPER_SHAPES, HopperEdit
from tests.tirx_mini.diagnose.reference_texts import RELEASE_LAST, SKIP
from tests.tirx_mini.diagnose.wrong_kernels import Wrong, assert_named, simulate_on_hopper
from tirx_mini.course import Shape

IN_ORDER = "                        if k > 0:\n                            release(last)\n"
RELEASED_EARLY = "                        release(mma_phase.stage)\n"
TMA_WAIT = "mma2tma.wait(tma_phase.stage, tma_phase.phase)"

STAGES = (
    Wrong(
        name="a stage released while its MMAs are in flight",
        edit=HopperEdit(step=10, old=IN_ORDER, new=RELEASED_EARLY, then=((RELEASE_LAST, SKIP),)),
        verdict="hazard",
        kind="race",
        line="Tx.copy_async(",
        page_says=("the wgmma of",),
    ),
    Wrong(
        name="a stage released by both consumers",
        edit=HopperEdit(step=10, old="mma2tma.init(1)", new="mma2tma.init(NUM_CONSUMER)"),
        verdict="deadlock",
        kind="deadlock",
        code="TX107",
        line=TMA_WAIT,
        page_says=(
            "mma2tma[0] was initialised for 2 arrivals a phase, but only 1 arrives",
            "MMA and write-back (warpgroup 2) waits for the threads that have arrived, and cannot arrive before the",
        ),
    ),
    Wrong(
        name="a stage released that is the other consumer's",
        edit=HopperEdit(step=10, old=RELEASE_LAST, new=f"{SKIP}                    release(mma_phase.stage)\n"),
        verdict="deadlock",
        kind="deadlock",
        code="TX120",
        line=TMA_WAIT,
        page_says=("it signals another stage than it waited for", "before the state advances"),
    ),
    Wrong(
        name="the last stage never released",
        edit=HopperEdit(step=10, old=RELEASE_LAST, new=SKIP),
        verdict="deadlock",
        kind="deadlock",
        code="TX110",
        line=TMA_WAIT,
        page_says=("signalled only under `k > 0`", "1 of 1 arrival missing"),
    ),
    Wrong(
        name="the first turn of a tile releases a stage too",
        edit=HopperEdit(step=10, old=IN_ORDER, new="                        release(last)\n"),
        verdict="hazard",
        kind="race",
        line="Tx.copy_async(Asmem",
        page_says=("the wgmma of",),
    ),
    Wrong(
        name="a stage of the pair is free when one consumer has done with it",
        edit=HopperEdit(step=9, old="mma2tma.init(CLUSTER)", new="mma2tma.init(1)"),
        verdict="deadlock",
        kind="deadlock",
        line="tma2mma.wait(",
        page_says=(
            "mma2tma[0] was initialised for 1 arrival a phase, and 2 arrive in each round",
            "initialise mma2tma with 2",
        ),
    ),
    Wrong(
        name="the CTAs of a pair do not wait for one another at the end",
        edit=HopperEdit(
            step=9,
            old="            Tx.cuda.cluster_sync()\n\n    return kernel",
            new="\n    return kernel",
        ),
        verdict="hazard",
        kind="in-flight-at-exit",
        line="",
    ),
)


@pytest.mark.parametrize("wrong", STAGES, ids=lambda wrong: f"{wrong.edit.step}: {wrong.name}")
def test_the_mistake_is_found_and_named(wrong: Wrong, tmp_path: Path) -> None:
    assert_named(wrong, simulate_on_hopper(wrong.edit, tmp_path))


@pytest.mark.parametrize("seed", range(1, 5))
@pytest.mark.parametrize("shape", [HOPPER_SHAPES[9], (1024, 1024, 512)])
def test_a_count_that_is_too_low_is_named_in_every_order(shape: Shape, seed: int, tmp_path: Path) -> None:
    edit = HopperEdit(9, "mma2tma.init(CLUSTER)", "mma2tma.init(1)")
    report = simulate_on_hopper(edit, tmp_path, seed, shape)
    (deadlock,) = (finding for finding in report.findings if finding.kind == "deadlock")
    assert deadlock.code == "TX116" and "mma2tma[" in deadlock.message, str(report)
