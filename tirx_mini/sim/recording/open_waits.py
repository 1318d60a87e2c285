"""The waits that are still open when a run ends by a deadlock or a fault."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..machine import MbarrierWait, RunningWarp, Wait
from ..timeline import Activity, Interval, Track, TrackKind
from .mbarriers import RecordedMbarrier


def open_waits(live: Iterable[RunningWarp], now: float) -> Iterator[Interval]:
    """Yield an interval for each waiting warp, from the start of its wait to `now`.

    If lanes of a warp wait for different events, the latest wait is shown, because the others overlap with it.
    """
    for warp in live:
        wait = warp.waiting
        if wait is None:
            continue
        latest = max((wait, *wait.beside), key=lambda each: each.since)
        if latest.since < now:
            yield _interval(Track(warp.cta.number, TrackKind.WARP, warp.warp_id), latest, now)


def _interval(track: Track, wait: Wait, now: float) -> Interval:
    base = track, Activity.WAIT, wait.subject, wait.since, now, wait.span
    if isinstance(wait, MbarrierWait) and isinstance(wait.barrier, RecordedMbarrier):
        barrier = wait.barrier
        parity = (("parity", str(wait.parity)),)
        return Interval(*base, parity, barrier.element.stage, barrier.place, barrier.phase)
    return Interval(*base)
