"""The critical path of a run: the chain of causes, walked back from the end.

The path through a warp is its sequence of instructions. A wait leads to its cause: the warp or engine that made the
last signal before the phase completed. The work of an engine leads to the earlier work that kept the engine busy, or to
its issue. The start of a CTA leads to the end of the previous CTA on the same SM.
"""

from __future__ import annotations

from enum import Enum

from tirx_mini.records import dataclass, replace
from tirx_mini.sim import Activity, Awaited, CtaTime, Interval, Track, TrackKind

from .scene import ACCESSES, EPSILON, Lane, Scene


class Resource(Enum):
    """The resource that a part of the critical path is attributed to. The values are display names."""

    TENSOR = "tensor core"
    COMPLETION = "completion of MMAs"
    LATENCY = "latency of loads"
    L2 = "L2 bandwidth"
    SHARED = "shared memory"
    COPIES = "copies by threads"
    WRITE_BACK = "write-back"
    SIGNALS = "barriers"
    ISSUE = "issue"
    LAUNCH = "launch and set-up"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Step:
    """A part of the path, from `start` to `end`, in cycles. interval: the activity in it; None for a gap."""

    resource: Resource
    start: float
    end: float
    interval: Interval | None = None


@dataclass(frozen=True)
class Path:
    """A critical path. steps: in reverse order of time."""

    steps: tuple[Step, ...]

    def cycles(self) -> dict[Resource, float]:
        """Return the cycles of the path by resource."""
        total: dict[Resource, float] = {}
        for step in self.steps:
            total[step.resource] = total.get(step.resource, 0.0) + step.end - step.start
        return total


def critical_path(scene: Scene) -> Path:
    """Return the critical path through the SM of a scene, from its last event back to the launch."""
    walk = _Walk(scene)
    last = scene.ctas[-1]
    for cta in scene.ctas:
        if cta.end > last.end:
            last = cta
    walk.stores_after(last)
    walk.cta_end(last, last.end)
    return Path(tuple(walk.steps))


class _Walk:
    """A backward walk through time. steps: the parts visited. frontier: the start of the last one.

    Each step ends where the later one starts, so that the steps partition the time of the run.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.spec = scene.spec
        self.steps: list[Step] = []
        self.frontier = scene.timeline.cycles
        self.at: tuple[Track, float] | None = None

    def cta_end(self, cta: CtaTime, time: float) -> None:
        """Walk back from the end of a CTA."""
        self._to_last_warp(cta, time)
        seen: set[tuple[Track, float]] = set()
        while self.at is not None:
            track, now = self.at
            self.at = None
            if (track, now) in seen:  # two that wait for one another at one time: go on with what this one did before
                before = self.scene.lanes[track].before(now)
                if before is not None:
                    self._before(track, before)
            else:
                seen.add((track, now))
                self._warp(track, now)
        self._pass(Resource.LAUNCH, 0.0)  # the part before a walk that ends early

    def stores_after(self, cta: CtaTime) -> None:
        """Add the time from the end of the last warp to the arrival of the last stores."""
        self._pass(Resource.WRITE_BACK, cta.end)

    def _pass(self, resource: Resource, start: float, interval: Interval | None = None) -> None:
        """Attribute the time from `start` to the frontier to a resource, and move the frontier to `start`."""
        if self.frontier - start > EPSILON:
            self.steps.append(Step(resource, start, self.frontier, interval))
            self.frontier = start

    def _to_last_warp(self, cta: CtaTime, time: float) -> None:
        """Continue with the warp of a CTA that was active last before `time`."""
        tracks = self.scene.warps(cta.cta)
        ends = {track: last.end for track in tracks if (last := self.scene.lanes[track].ended(time)) is not None}
        if ends:
            track = max(ends, key=lambda track: ends[track])
            self.at = track, time

    # -- warps -------------------------------------------------------------------------------------------------------

    def _warp(self, track: Track, now: float) -> None:
        interval = self.scene.lanes[track].before(now)
        if interval is None:
            self._cta_start(self.scene.around[track.cta], now)
            return
        if interval.end < now - EPSILON:  # nothing is recorded from there on
            self._pass(Resource.ISSUE, interval.end)
            self.at = track, interval.end
            return
        if interval.activity is Activity.WAIT:
            self._wait(track, interval, now)
            return
        self._pass(self.resource_of(track, interval), interval.start, interval)
        self.at = track, interval.start

    def _cta_start(self, cta: CtaTime, now: float) -> None:
        """Continue from the start of a CTA: after the end of an earlier CTA on its SM, or at the launch."""
        before = [other for other in self.scene.ctas if other.end <= cta.start + EPSILON and other is not cta]
        previous = max(before, key=lambda other: other.end, default=None)
        self._pass(Resource.LAUNCH, previous.end if previous else 0.0)
        if previous is not None:
            self._to_last_warp(previous, previous.end)

    def resource_of(self, track: Track, interval: Interval) -> Resource:
        """Return the resource that an instruction of a warp is attributed to."""
        scene, role = self.scene, self.scene.role(track)
        if interval.start < scene.first_work[track.cta] - EPSILON and interval.name not in ACCESSES:
            return Resource.LAUNCH
        if role == "write-back" or scene.writes_back(track.cta, interval):
            return Resource.WRITE_BACK
        if interval.name in ACCESSES[:3]:
            return Resource.COPIES
        return Resource.ISSUE

    def _wait(self, track: Track, wait: Interval, now: float) -> None:
        if wait.barrier is not None:
            self._mbarrier(track, wait, now)
        elif wait.awaited is not None and wait.awaited.threads:
            self._meeting(track, wait, now)
        elif wait.awaited is Awaited.WARPGROUP_MMAS:
            self._tensor_wait(track, wait, now)
        elif wait.awaited is Awaited.COLUMNS:
            self._columns(track, wait, now)
        else:
            self._pass(self.resource_of(track, wait), wait.start, wait)
            self.at = track, wait.start

    def _mbarrier(self, track: Track, wait: Interval, now: float) -> None:
        change = self.scene.timeline.ended_by(wait)
        if change is None or change.time <= wait.start + EPSILON or change.source.cta not in self.scene.around:
            self._before(track, wait)
            return
        time = min(change.time, now)
        self._pass(Resource.SIGNALS, time, wait)
        source = change.source
        if source.kind is TrackKind.WARP and source in self.scene.lanes:
            self.at = source, time
        elif source.kind is TrackKind.WARP or not self._engine(source, time):
            self._before(track, wait)

    def _before(self, track: Track, wait: Interval) -> None:
        """Continue with the activity of a warp before an interval whose end has no cause elsewhere."""
        self._pass(Resource.SIGNALS, wait.start, wait)
        self.at = track, wait.start

    def _meeting(self, track: Track, wait: Interval, now: float) -> None:
        """Walk back from a barrier of the CTA or the cluster to the warp that arrived last."""
        scene = self.scene
        ctas = scene.cluster_of(track.cta) if wait.awaited is Awaited.CLUSTER else {track.cta}
        latest, who = wait.start, track
        for other in scene.warps():
            if other.cta not in ctas or other == track:
                continue
            met = scene.lanes[other].before(wait.end)
            if met is not None and met.name == wait.name and abs(met.end - wait.end) < EPSILON and met.start > latest:
                latest, who = met.start, other
        resource = self.resource_of(track, wait)
        quick = Resource.SIGNALS if resource in (Resource.COPIES, Resource.ISSUE) else resource
        self._pass(quick, latest, wait)
        self.at = who, latest

    def _tensor_wait(self, track: Track, wait: Interval, now: float) -> None:
        if not self._engine(Track(track.cta, TrackKind.TENSOR), now):
            self._before(track, wait)

    def _columns(self, track: Track, wait: Interval, now: float) -> None:
        """Walk back from a wait for tensor memory to the CTA that held it."""
        holders = [cta for cta in self.scene.ctas if cta.cta != track.cta and wait.start < cta.end <= now + 1000]
        holder = max((cta for cta in holders if cta.start < now), key=lambda cta: cta.end, default=None)
        if holder is None:
            self._pass(Resource.LAUNCH, wait.start, wait)
            self.at = track, wait.start
            return
        self._pass(Resource.LAUNCH, min(holder.end, now), wait)
        self._to_last_warp(holder, min(holder.end, now))

    # -- engines -----------------------------------------------------------------------------------------------------

    def _engine(self, track: Track, time: float) -> bool:
        """Walk back through the work of an engine that ended by `time`; return whether there was any."""
        lane = self.scene.lanes.get(track)
        work = lane.ended(time) if lane is not None else None
        if work is None or lane is None:
            return False
        if track.kind is TrackKind.TENSOR:
            self._pass(Resource.COMPLETION, work.end, work)
            return self._multiply(lane, work)
        self._pass(Resource.SIGNALS, work.end, work)
        return self._load(lane, work)

    def _multiply(self, lane: Lane, work: Interval) -> bool:
        while True:
            self._pass(Resource.TENSOR, work.start, work)
            issue = self.scene.issue_of_mma(work)
            earlier = lane.ended(work.start)
            if earlier is None or earlier.start > work.start - EPSILON:
                break
            if issue is not None and issue.start >= earlier.end:
                break
            # The core was still busy when this MMA was issued; then its operands arrived late from shared memory.
            self._pass(Resource.SHARED, earlier.end, work)
            work = earlier
        if issue is None:
            return False
        self._pass(Resource.ISSUE, max(issue.start, min(issue.end, work.start)), issue)
        self.at = issue.track, min(issue.end, work.start)
        return True

    def _load(self, lane: Lane, work: Interval) -> bool:
        spec = self.spec
        tail = spec.tma_latency - spec.l2_latency
        while True:
            first, last = work.moved or (work.start, work.end)
            end = max(last, work.end - tail)
            self._pass(Resource.LATENCY, end, work)
            self._pass(Resource.SHARED, last, work)
            self._pass(Resource.L2, first, work)
            queued = first - work.start > spec.l2_latency + 1
            ahead = _ahead(lane, work, first) if queued else None
            if ahead is None:
                break
            self._pass(Resource.L2, ahead.moved[1] if ahead.moved else first, work)
            work = replace(ahead, end=ahead.moved[1] if ahead.moved else first)
            tail = 0.0
        issue = self._issue_of_load(work)
        self._pass(Resource.LATENCY, work.start, work)
        if issue is None:
            return False
        self.at = issue.track, work.start
        return True

    def _issue_of_load(self, work: Interval) -> Interval | None:
        """Return the interval in which a warp issued a load."""
        found: Interval | None = None
        for track in self.scene.warps():
            if track.cta not in self.scene.cluster_of(work.track.cta):
                continue
            ran = self.scene.lanes[track].before(work.start)
            if ran is None or ran.activity is not Activity.RUN or abs(ran.end - work.start) > 1:
                continue
            if found is None or "bulk" in ran.name:
                found = ran
        return found


def _ahead(lane: Lane, work: Interval, first: float) -> Interval | None:
    """Return the load whose bytes arrived directly before those of `work`, which begin at `first`."""
    best: Interval | None = None
    for other in lane.intervals:
        if other.start > work.start + EPSILON:
            break
        if other is work or other.moved is None or other.moved[1] > first + 1 or other.start == work.start:
            continue
        if best is None or best.moved is None or other.moved[1] > best.moved[1]:
            best = other
    return best if best is not None and best.moved is not None and first - best.moved[1] < 50 else None
