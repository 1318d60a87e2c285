"""The timeline as data: which change of an mbarrier ended a wait."""

from __future__ import annotations

from tirx_mini.sim import Activity, BarrierChange, Interval, Place, Signal, Timeline, Track, TrackKind

FULL = Place(0, "full[1]")
PRODUCER, CONSUMER = Track(0, TrackKind.WARP, 0), Track(0, TrackKind.WARP, 1)
LOADS = Track(0, TrackKind.TMA_LOAD)


def _change(time: float, source: Track, kind: Signal, phase: int = 0, barrier: Place = FULL) -> BarrierChange:
    return BarrierChange(time, barrier, source, kind, phase, 0, 0)


def _wait(end: float, phase: int | None = 0, barrier: Place | None = FULL) -> Interval:
    return Interval(CONSUMER, Activity.WAIT, "full[1]", 0.0, end, barrier=barrier, phase=phase)


def test_the_last_change_of_a_phase_ended_the_wait_for_it() -> None:
    landed = _change(90.0, LOADS, Signal.TMA_LOAD)
    timeline = Timeline(
        changes=(
            _change(10.0, PRODUCER, Signal.ARRIVE),
            landed,
            _change(90.0, LOADS, Signal.COMPLETE),
            _change(120.0, PRODUCER, Signal.ARRIVE, phase=1),
        )
    )
    assert timeline.ended_by(_wait(120.0)) is landed
    assert timeline.ended_by(_wait(120.0, phase=1)) is None


def test_an_early_signal_of_the_next_phase_did_not_end_the_wait() -> None:
    landed = _change(90.0, LOADS, Signal.TMA_LOAD)
    early = _change(90.0, PRODUCER, Signal.ARRIVE, phase=1)
    timeline = Timeline(changes=(landed, early, _change(90.0, LOADS, Signal.COMPLETE)))
    assert timeline.ended_by(_wait(120.0)) is landed


def test_phases_that_begin_anew_are_told_apart_by_their_times() -> None:
    first, second = _change(10.0, PRODUCER, Signal.ARRIVE), _change(500.0, PRODUCER, Signal.ARRIVE)
    ends = [_change(10.0, PRODUCER, Signal.COMPLETE), _change(500.0, PRODUCER, Signal.COMPLETE)]
    timeline = Timeline(changes=(first, ends[0], second, ends[1]))
    assert timeline.ended_by(_wait(40.0)) is first
    assert timeline.ended_by(_wait(530.0)) is second


def test_a_wait_for_no_mbarrier_was_ended_by_no_change() -> None:
    timeline = Timeline(changes=(_change(10.0, PRODUCER, Signal.ARRIVE), _change(10.0, PRODUCER, Signal.COMPLETE)))
    assert timeline.ended_by(_wait(40.0, phase=None, barrier=None)) is None
