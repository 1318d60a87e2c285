"""The part of a timeline around one SM, in lanes that a walk back through time can search."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace

from tirx_mini.hardware import GpuSpec
from tirx_mini.sim import Activity, CtaTime, Interval, Timeline, Track, TrackKind

EPSILON = 1e-3
"""Cycles: times that are nearer are equal."""
ACCESSES = ("load", "store", "copy", "arithmetic")
"""What a warp executes beside the instructions of the table."""


class Lane:
    """The intervals of one track, by start."""

    def __init__(self, intervals: Sequence[Interval]) -> None:
        self.intervals = intervals
        self._starts = [interval.start for interval in intervals]
        self._ends = sorted((interval.end, index) for index, interval in enumerate(intervals))

    def before(self, time: float) -> Interval | None:
        """The last interval that starts before `time`."""
        at = bisect_left(self._starts, time - EPSILON) - 1
        return self.intervals[at] if at >= 0 else None

    def ended(self, time: float) -> Interval | None:
        """The interval that ends last, at `time` or before."""
        at = bisect_right(self._ends, (time + EPSILON, len(self.intervals))) - 1
        return self.intervals[self._ends[at][1]] if at >= 0 else None


class Scene:
    """The part of a timeline around one SM: the CTAs that ran on it, and the others of their clusters.

    ctas: those of the SM, in the order of their starts. lanes: of all of these CTAs and engines. timeline: what
    concerns them.
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
        """The lane of an engine."""
        return self.lanes.get(Track(cta, kind))

    def warps(self, cta: int | None = None) -> list[Track]:
        """The tracks of the warps of a CTA; of all CTAs without one."""
        return [t for t in self.lanes if t.kind is TrackKind.WARP and (cta is None or t.cta == cta)]

    def cluster_of(self, cta: int) -> set[int]:
        """The CTAs of the cluster of a CTA."""
        index = self.around[cta].cluster
        return {number for number, other in self.around.items() if other.cluster == index}

    def role(self, track: Track) -> str:
        """What a warp is for."""
        return self.timeline.roles.get(track, "")

    def _first_work(self, cta: int) -> float:
        """When a CTA begins to load, or to multiply; what comes before is its set-up."""
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
        """(start, end of the last MMA, end) of each tile of a CTA."""
        return [
            (tile.start, tile.multiplied, tile.end)
            for tile in self.timeline.tiles
            if tile.cta == cta and tile.multiplied
        ]

    def writes_back(self, cta: int, interval: Interval) -> bool:
        """Whether a warp of a CTA does something between the last MMA of a tile and the first load of the next."""
        return any(last - EPSILON <= interval.start < end for _, last, end in self._products[cta])

    def issue_of_mma(self, work: Interval) -> Interval | None:
        """What a warp of the cluster executed when it issued the MMAs of an interval of a tensor core."""
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
    """Return whether a warp issues an MMA."""
    return interval.activity is Activity.RUN and ".mma" in interval.name
