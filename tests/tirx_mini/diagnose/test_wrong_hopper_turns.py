"""The mistakes of consumers that take turns, in Hopper's step 10: whose turn it is, and whose tiles and stages."""

from __future__ import annotations

from pathlib import Path

import pytest

import tirx_mini as tvm
from tests.kernels_ref.edits import HopperEdit
from tests.tirx_mini.diagnose.reference_texts import MMA, RELEASE_LAST, SKIP
from tests.tirx_mini.diagnose.wrong_kernels import Wrong, assert_named, simulate_on_hopper
from utils import WrongResult, prepare_data, verify

NEXT_TILE = "                    tile_scheduler.next_tile()\n"
TURN_WAIT = "turn.wait(consumer, turn_phase.phase)"
TURN_ARRIVE = "                    if lane_id == 0:\n                        turn.arrive(1 - consumer)\n"
FULL_WAIT = "tma2mma.wait(mma_phase.stage, mma_phase.phase)"
CONSUMER = "MMA and write-back (warpgroup {})"

TURNS = (
    Wrong(
        name="no wait for the turn: the other consumer's stages are multiplied",
        edit=HopperEdit(step=10, old=f"                    {TURN_WAIT}\n", new=""),
        verdict="deadlock",
        kind="race",
        line=FULL_WAIT,
        page_says=("nothing keeps the next phase from completing first",),
    ),
    Wrong(
        name="no wait for the turn: a stage is multiplied that is not loaded",
        edit=HopperEdit(step=10, old=f"                    {TURN_WAIT}\n", new=""),
        verdict="deadlock",
        kind="uninitialised-read",
        line=MMA,
        page_says=("which nothing has written",),
    ),
    Wrong(
        name="a turn is over when one warp has come",
        edit=HopperEdit(step=10, old="turn.init(WG_WARPS)", new="turn.init(1)"),
        verdict="deadlock",
        kind="deadlock",
        code="TX116",
        line=TURN_WAIT,
        page_says=(
            "turn[1] was initialised for 1 arrival a phase, and 4 arrive in each round",
            "initialise turn with 4",
        ),
    ),
    Wrong(
        name="a turn is over when both consumers have come",
        edit=HopperEdit(step=10, old="turn.init(WG_WARPS)", new="turn.init(NUM_CONSUMER * WG_WARPS)"),
        verdict="deadlock",
        kind="deadlock",
        code="TX107",
        line=TURN_WAIT,
        page_says=("turn[1] was initialised for 8 arrivals a phase, but only 4 arrive",),
    ),
    Wrong(
        name="all threads hand over",
        edit=HopperEdit(step=10, old=TURN_ARRIVE, new="                    turn.arrive(1 - consumer)\n"),
        verdict="fault",
        kind="barrier-overflow",
        line="turn.arrive(1 - consumer)",
        page_says=("more arrivals in one phase than its init's 4",),
    ),
    Wrong(
        name="nobody hands over",
        edit=HopperEdit(step=10, old=TURN_ARRIVE, new=""),
        verdict="deadlock",
        kind="deadlock",
        code="TX103",
        line=TURN_WAIT,
        page_says=("nothing ever arrives at turn[0]",),
    ),
    Wrong(
        name="a consumer hands over to itself",
        edit=HopperEdit(step=10, old="turn.arrive(1 - consumer)", new="turn.arrive(consumer)"),
        verdict="deadlock",
        kind="deadlock",
        code="TX103",
        line=TURN_WAIT,
        page_says=(f"only {CONSUMER.format(2)} itself arrives at turn[1], after its own wait",),
    ),
    Wrong(
        name="the phase of the turn stands still",
        edit=HopperEdit(step=10, old="                    turn_phase.move_to_next_stage()\n", new=""),
        verdict="hazard",
        kind="state-stands-still",
        line=TURN_WAIT,
        page_says=("turn[0]", "nothing in its loop changes the phase that it waits for"),
    ),
    Wrong(
        name="neither consumer begins",
        edit=HopperEdit(step=10, old="is_producer=(consumer == 0)", new="is_producer=False"),
        verdict="deadlock",
        kind="deadlock",
        code="TX108",
        line=TURN_WAIT,
        page_says=("no thread has ever arrived at turn[0] or turn[1]", f"{CONSUMER.format(2)} waits here"),
    ),
    Wrong(
        name="both consumers begin",
        edit=HopperEdit(step=10, old="is_producer=(consumer == 0)", new="is_producer=True"),
        verdict="deadlock",
        kind="uninitialised-read",
        line=MMA,
        page_says=("which nothing has written",),
    ),
)

TILES = (
    Wrong(
        name="a consumer does not step over the other's stages",
        edit=HopperEdit(step=10, old=RELEASE_LAST, new="                    release(last)\n"),
        verdict="deadlock",
        kind="deadlock",
        code="TX119",
        line=FULL_WAIT,
        page_says=(
            f"{CONSUMER.format(1)} waits for round 4 of tma2mma[2], and no role has consumed round 3",
        ),
    ),
    Wrong(
        name="consumer 1 does not step over the stages of the first tile",
        edit=HopperEdit(
            step=10, old=f"{NEXT_TILE}{SKIP}                while", new=f"{NEXT_TILE}                while"
        ),
        verdict="deadlock",
        kind="deadlock",
        code="TX119",
        line=FULL_WAIT,
        page_says=(
            f"{CONSUMER.format(2)} waits for round 3 of tma2mma[1], and no role has consumed round 2",
        ),
    ),
    Wrong(
        name="consumer 1 begins with the first tile, with the stages of the second",
        edit=HopperEdit(step=10, old=f"{NEXT_TILE}{SKIP}                while", new=f"{SKIP}                while"),
        verdict="hazard",
        kind="race",
        line="Tx.copy_async(",
        page_says=("writes D[", "may be written by the TMA store of"),
    ),
    Wrong(
        name="consumer 1 begins with the first tile and its stages",
        edit=HopperEdit(step=10, old=f"                if consumer == 1:\n{NEXT_TILE}{SKIP}", new=""),
        verdict="deadlock",
        kind="deadlock",
        code="TX119",
        line=FULL_WAIT,
        page_says=(
            f"{CONSUMER.format(2)} waits for round 3 of tma2mma[1], and no role has consumed round 2",
        ),
    ),
    Wrong(
        name="each consumer computes all tiles",
        edit=HopperEdit(step=10, old=f"{NEXT_TILE}{NEXT_TILE}", new=NEXT_TILE),
        verdict="deadlock",
        kind="deadlock",
        code="TX110",
        line=FULL_WAIT,
        page_says=("the two loops make different numbers of iterations",),
    ),
)


@pytest.mark.parametrize("wrong", (*TURNS, *TILES), ids=lambda wrong: f"{wrong.edit.step}: {wrong.name}")
def test_the_mistake_is_found_and_named(wrong: Wrong, tmp_path: Path) -> None:
    assert_named(wrong, simulate_on_hopper(wrong.edit, tmp_path))


def test_a_tile_written_where_the_next_one_is_shows_in_the_result(tmp_path: Path) -> None:
    """The scheduler may go on before the write-back: no rule is broken, but D is wrong."""
    edit = HopperEdit(10, f"write_back()\n{NEXT_TILE}", f"{NEXT_TILE.lstrip()}                    write_back()\n")
    A, B, D = prepare_data(*edit.shape, target="sim", arrays=True)
    assert tvm.simulate(edit.kernel(tmp_path), A, B, D, gpu="h100").verdict == "ok"
    with pytest.raises(WrongResult, match="of D is wrong"):
        verify(A, B, D)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "name", ["no wait for the turn: a stage is multiplied that is not loaded", "both consumers begin"]
)
def test_consumers_out_of_turn_are_not_reported_as_a_wrong_count(name: str, seed: int, tmp_path: Path) -> None:
    """Two arrive where one should. First comes what shows why: the waits that nothing held, what they let through."""
    (wrong,) = (wrong for wrong in TURNS if wrong.name == name)
    report = simulate_on_hopper(wrong.edit, tmp_path, seed)
    codes = [finding.code for finding in report.findings]
    assert codes[0] in ("TX201", "TX207") and not {"TX109", "TX116", "TX120"} & {*codes}, str(report)
