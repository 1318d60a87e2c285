"""The part of a timeline around one SM, as lanes that can be searched backwards."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace

from tirx_mini.hardware import GpuSpec
from tirx_mini.sim import Activity, CtaTime, Interval, Timeline, Track, TrackKind

EPSILON = 1e-3
"""The tolerance, in cycles, for equality of times."""
ACCESSES = ("load", "store", "copy", "arithmetic")
"""The activities of a warp besides instructions of the table."""


class Lane:
    """The intervals of one track, by start."""

    def __init__(self, intervals: Sequence[Interval]) -> None:
        self.intervals = intervals
        self._starts = [interval.start for interval in intervals]
        self._ends = sorted((interval.end, index) for index, interval in enumerate(intervals))

    def before(self, time: float) -> Interval | None:
        """Return the last interval that starts before `time`."""
        at = bisect_left(self._starts, time - EPSILON) - 1
        return self.intervals[at] if at >= 0 else None

    def ended(self, time: float) -> Interval | None:
        """Return the interval with the latest end up to `time`."""
        at = bisect_right(self._ends, (time + EPSILON, len(self.intervals))) - 1
        return self.intervals[self._ends[at][1]] if at >= 0 else None


class Scene:
    """The part of a timeline around one SM: its CTAs, and the other CTAs of their clusters.

    ctas: the CTAs of the SM, in order of their starts. lanes: of all CTAs and engines. timeline: restricted to these.
    """

    def __init__(self, timeline: Timeline, spec: GpuSpec, sm: int) -> None:
        self.spec = spec
        self.ctas = sorted((cta for cta in timeline.ctas if cta.sm == sm), key=lambda cta: (cta.start, cta.cta))
        clusters = {cta.cluster for cta in self.ctas}
        self.around: dict[int, CtaTime] = {cta.cta: cta for cta in timeline.ctas if cta.cluster in clusters}
        self.timeline = replace(
            timeline,
            intervals=tuple(interval for interval in timeline.intervals if interval.track.cta in self.around),
            changes=tuple(change for change in timeline.changes if change.barrier.cta in self.around),
        )
        found: dict[Track, list[Interval]] = {}
        for interval in self.timeline.intervals:
            found.setdefault(interval.track, []).append(interval)
        self.lanes: dict[Track, Lane] = {track: Lane(intervals) for track, intervals in found.items()}
        self.first_work = {number: self._first_work(number) for number in self.around}
        self._products = {number: self._last_products(number) for number in self.around}
        self._issues = sorted(
            (run for track in self.warps() for run in self.lanes[track].intervals if multiplies(run)),
            key=lambda run: run.start,
        )
        self._issue_starts = [run.start for run in self._issues]

    def lane(self, cta: int, kind: TrackKind) -> Lane | None:
        """Return the lane of an engine."""
        return self.lanes.get(Track(cta, kind))

    def warps(self, cta: int | None = None) -> list[Track]:
        """Return the tracks of the warps of a CTA, or of all CTAs."""
        return [t for t in self.lanes if t.kind is TrackKind.WARP and (cta is None or t.cta == cta)]

    def cluster_of(self, cta: int) -> set[int]:
        """Return the CTAs in the cluster of a CTA."""
        index = self.around[cta].cluster
        return {number for number, other in self.around.items() if other.cluster == index}

    def role(self, track: Track) -> str:
        """Return the role of a warp."""
        return self.timeline.roles.get(track, "")

    def _first_work(self, cta: int) -> float:
        """Return the time at which a CTA begins to load or to multiply, after its set-up."""
        starts = [
            lane.intervals[0].start
            for track, lane in self.lanes.items()
            if track.cta == cta and track.kind is not TrackKind.WARP
        ]
        starts += [
            interval.start
            for track in self.warps(cta)
            for interval in self.lanes[track].intervals
            if interval.activity is Activity.RUN and interval.name in ACCESSES
        ][:1]
        return min(starts, default=self.around[cta].end)

    def _last_products(self, cta: int) -> list[tuple[float, float, float]]:
        """Return (start, end of the last MMA, end) of each tile of a CTA."""
        return [
            (tile.start, tile.multiplied, tile.end)
            for tile in self.timeline.tiles
            if tile.cta == cta and tile.multiplied
        ]

    def writes_back(self, cta: int, interval: Interval) -> bool:
        """Return whether an interval lies between the last MMA of a tile and the first load of the next."""
        return any(last - EPSILON <= interval.start < end for _, last, end in self._products[cta])

    def issue_of_mma(self, work: Interval) -> Interval | None:
        """Return the interval in which a warp of the cluster issued the MMAs of a tensor-core interval."""
        cluster = self.cluster_of(work.track.cta)
        found: Interval | None = None
        for index in range(bisect_right(self._issue_starts, work.start + EPSILON) - 1, -1, -1):
            run = self._issues[index]
            if run.track.cta not in cluster:
                continue
            if run.stage == work.stage:
                return run
            found = found or run
            if work.start - run.start > 20_000:
                break
        return found


def multiplies(interval: Interval) -> bool:
    """Return whether a warp issues an MMA in an interval."""
    return interval.activity is Activity.RUN and ".mma" in interval.name
