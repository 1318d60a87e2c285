"""Construction of a `Timeline` from the notes of a run."""

from __future__ import annotations

from collections.abc import Sequence

from ..machine import RunningWarp
from ..timeline import Awaited, CtaTime, Timeline, Track, TrackKind
from .changes import barrier_changes
from .engine_intervals import copy_intervals, mma_intervals
from .naming import Names
from .notes import Notes
from .open_waits import open_waits
from .roles import roles_of
from .tiles import tiles_of
from .warp_intervals import WarpIntervals


def build(notes: Notes, live: Sequence[RunningWarp], now: float, stuck: bool) -> Timeline:
    """Return the timeline of a run that ended at `now`. live: the warps that have not ended. stuck: whether the run is
    deadlocked."""
    names = Names(notes.image)
    waits = {Track(warp.cta.number, TrackKind.WARP, warp.warp_id): warp.waiting for warp in live}
    intervals = [each for log in notes.warps for each in WarpIntervals(log, names, waits.get(log.track)).all()]
    intervals += open_waits(live, now)
    intervals += copy_intervals(notes.copies, names)
    intervals += mma_intervals(notes.mmas, names)
    intervals.sort(key=lambda interval: interval.start)
    ctas = _ctas(notes, {warp.cta.number for warp in live}, now)
    held = {i.track.cta: i.end for i in intervals if i.awaited is Awaited.COLUMNS}
    return Timeline(
        tuple(intervals), tuple(barrier_changes(notes.signals)), tuple(ctas), tuple(tiles_of(notes, ctas, held)),
        roles_of(notes.warps), now, now if stuck else None,
    )  # fmt: skip


def _ctas(notes: Notes, alive: set[int], now: float) -> list[CtaTime]:
    """Return the lifetimes of the CTAs, in order of their numbers. alive: those that have not ended."""
    starts: dict[int, float] = {}
    ends: dict[int, float] = {}
    for log in notes.warps:
        cta = log.track.cta
        starts[cta] = min(starts.get(cta, log.start), log.start)
        ends[cta] = now if cta in alive else max(ends.get(cta, log.end), log.end)
    return [
        CtaTime(cta, log.name, log.sm, log.cluster, log.rank, starts[cta], ends[cta])
        for cta, log in sorted(notes.ctas.items())
    ]
