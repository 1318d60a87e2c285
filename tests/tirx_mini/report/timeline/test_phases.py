"""Phases of mbarriers, as the timeline draws them: begin, end, and what each still lacks."""

from __future__ import annotations

from tirx_mini.diagnose import BarrierChange, Place, Signal, Track, TrackKind
from tirx_mini.report.timeline.phases import Phase, phases_of, stage_in

WARP = Track(0, TrackKind.WARP, 0)


def change(time: float, kind: Signal, phase: int, pending: int, tx: int = 0) -> BarrierChange:
    return BarrierChange(time, Place(0, "full[1]"), WARP, kind, phase, pending, tx)


def test_a_barrier_that_counts_arrivals_lacks_a_share_of_them() -> None:
    changes = [
        change(10, Signal.ARRIVE, 0, 3), change(20, Signal.ARRIVE, 0, 1), change(30, Signal.COMPLETE, 0, 4),
        change(40, Signal.ARRIVE, 1, 2),
    ]  # fmt: skip
    assert phases_of(changes, 50) == [
        Phase(0, 0.0, 30, ((0.0, 1.0), (10, 0.75), (20, 0.25)), 1),
        Phase(1, 30, 50, ((30, 1.0), (40, 0.5)), 1),
    ]


def test_a_barrier_that_expects_bytes_lacks_a_share_of_the_most() -> None:
    changes = [
        change(5, Signal.EXPECT_TX, 0, 0, 1024), change(8, Signal.TMA_LOAD, 0, 0, 256),
        change(9, Signal.COMPLETE, 0, 1),
    ]  # fmt: skip
    assert phases_of(changes, 9) == [
        Phase(0, 0.0, 9, ((0.0, 0.0), (5, 1.0), (8, 0.25)), 1), Phase(1, 9, 9, ((9, 0.0),), 1)
    ]  # fmt: skip


def test_a_barrier_without_changes_has_one_open_phase() -> None:
    assert phases_of([], 7) == [Phase(0, 0.0, 7, ((0.0, 1.0),), None)]
    assert (stage_in("full[12]"), stage_in("full"), stage_in("full[i]")) == (12, None, None)
