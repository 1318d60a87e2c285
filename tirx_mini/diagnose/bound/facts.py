"""The figures of a run that determine its bound; they describe the SM that ended last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from tirx_mini.hardware import GpuSpec
from tirx_mini.records import dataclass
from tirx_mini.sim import Activity, CtaTime, Interval, Timeline, Track, TrackKind, base_name, covered

from ..times import LaunchTime
from .model import LaneTime, Share, Usage, WaitShare
from .path import Path, Resource, critical_path
from .scene import Scene

LEAST_SHARE = 0.005
"""The minimum share of a lane for a wait to be listed."""


def unit_rates(spec: GpuSpec, sms: int) -> tuple[tuple[str, str, float], ...]:
    """Return (unit, statistic, rate): what the units of a GPU do in a cycle for an SM of so many that work."""
    active = max(1, sms)
    return (
        ("tensor core", "tensor_cycles", 1.0),
        ("shared memory", "shared_bytes", spec.smem_bytes_per_cycle),
        ("L2", "l2_bytes", min(spec.port_bytes_per_cycle, spec.l2_bytes_per_cycle * spec.sms / active)),
        ("HBM", "hbm_bytes", spec.hbm_bytes_per_cycle / active),
    )


@dataclass(frozen=True)
class Loop:
    """The main loop of a CTA for one tile, from its first MMA to its last.

    batches: of MMAs, one for each tile of K. busy: cycles of the tensor core. last: when the last batch starts.
    loads: when the CTA began to load.
    """

    cta: int
    start: float
    end: float
    batches: int
    busy: float
    last: float
    loads: float

    @property
    def steady(self) -> float:
        """The duration of all batches at the pace between the first and the last. The loads of the first batches
        precede the loop.
        """
        if self.batches == 1:
            return self.end - self.loads
        return (self.last - self.start) * self.batches / (self.batches - 1)


class Facts:
    """The figures of a completed run, as the rules use them.

    stats: of its report. time: predicted, of one launch in a row.
    """

    def __init__(self, timeline: Timeline, spec: GpuSpec, stats: Mapping[str, float], time: LaunchTime) -> None:
        self.timeline = timeline
        self.spec = spec
        self.stats = stats
        self.time = time
        last = max(timeline.ctas, key=lambda cta: (cta.end, -cta.sm))
        self.scene = Scene(timeline, spec, last.sm)
        self.path: Path = critical_path(self.scene)

    def us(self, cycles: float) -> float:
        """Convert cycles to microseconds."""
        return self.time.kernel_us(cycles)

    # -- the grid ----------------------------------------------------------------------------------------------------

    @cached_property
    def sms_used(self) -> int:
        """The number of SMs with a multiplying CTA, or with any CTA if none multiplies."""
        homes = {cta.cta: cta.sm for cta in self.timeline.ctas}
        return len({homes[cta] for cta in self._working or homes})

    @cached_property
    def _working(self) -> set[int]:
        """The CTAs that execute MMAs."""
        return {interval.track.cta for interval in self.timeline.intervals if interval.name == "MMA"}

    @cached_property
    def tiles(self) -> int:
        """The number of output tiles of all CTAs; a pair works on two at once."""
        return sum(tile.cta in self._working for tile in self.timeline.tiles)

    # -- the work ----------------------------------------------------------------------------------------------------

    @cached_property
    def loops(self) -> list[Loop]:
        """The tile loops of the SM, by start."""
        found: list[Loop] = []
        for cta in self.scene.ctas:
            lane = self.scene.lane(cta.cta, TrackKind.TENSOR)
            if lane is None:
                continue
            before = 0.0
            for tile in (tile for tile in self.timeline.tiles if tile.cta == cta.cta):
                mmas = [m for m in lane.intervals if before < m.end <= tile.multiplied]
                before = max(before, tile.multiplied)
                if mmas:
                    busy = covered((m.start, m.end) for m in mmas)
                    end = max(m.end for m in mmas)
                    loads = self.scene.first_work[cta.cta]
                    found.append(Loop(cta.cta, mmas[0].start, end, len(mmas), busy, mmas[-1].start, loads))
        return sorted(found, key=lambda loop: loop.start)

    @cached_property
    def loop_cycles(self) -> float:
        """The total time for which some tile loop of the SM is active."""
        return covered((loop.start, loop.end) for loop in self.loops)

    @cached_property
    def loop_gaps(self) -> float:
        """The total time between the first and the last tile loop in which none is active."""
        if not self.loops:
            return 0.0
        return max(loop.end for loop in self.loops) - self.loops[0].start - self.loop_cycles

    @cached_property
    def _part(self) -> float:
        """The SM's share of the GPU's work."""
        return len(self.loops) / self.tiles if self.tiles else 0.0

    @cached_property
    def usage(self) -> tuple[Usage, ...]:
        """The utilisation of the tensor core, shared memory, the L2 and HBM by the SM in its tile loops."""
        if not self.loops:
            return ()
        together = sum(loop.end - loop.start for loop in self.loops) / self.loop_cycles
        cycles = sum(loop.steady for loop in self.loops) / together
        rates = unit_rates(self.spec, self.sms_used)
        return tuple(Usage(name, min(1.0, self.in_loops(key) / (cycles * rate))) for name, key, rate in rates)

    def in_loops(self, key: str) -> float:
        """Return the SM's share of a statistic, without the contribution of the write-back.

        A TMA store first writes its data to shared memory, and then reads them from there.
        """
        after = {"shared_bytes": 2.0, "l2_bytes": 1.0}.get(key, 0.0) * self.stats.get("tma_store_bytes", 0.0)
        return max(0.0, self.stats.get(key, 0.0) - after) * self._part

    def used(self, name: str) -> float:
        """Return the utilisation of a unit by name."""
        return next((usage.share for usage in self.usage if usage.name == name), 0.0)

    def per_batch(self, key: str) -> float:
        """Return a statistic per K tile of the SM."""
        batches = sum(loop.batches for loop in self.loops)
        return self.in_loops(key) / batches if batches else 0.0

    # -- the path ----------------------------------------------------------------------------------------------------

    @cached_property
    def shares(self) -> tuple[Share, ...]:
        """The terms of the predicted time, the largest first: the critical path and the launch latency."""
        total = {resource: self.us(cycles) for resource, cycles in self.path.cycles().items()}
        total[Resource.LAUNCH] = total.get(Resource.LAUNCH, 0.0) + self.time.launch_us
        terms = sorted(total.items(), key=lambda term: -term[1])
        shares, whole = [us / self.time.us for _, us in terms], self.time.us / self.us(1.0)
        tenths, percents = _apportioned(round(10 * round(self.time.us, 1)), shares), _apportioned(100, shares)
        return tuple(
            Share(resource, tenth / 10, share, percent, share * whole)
            for (resource, _), tenth, share, percent in zip(terms, tenths, shares, percents, strict=True)
        )

    def share(self, *resources: Resource) -> float:
        """Return the share of the predicted time that the critical path spends on the given resources."""
        return sum(term.share for term in self.shares if term.resource in resources)

    def spent(self, *resources: Resource) -> float:
        """Return the microseconds of the predicted time that the critical path spends on the given resources."""
        return sum(term.us for term in self.shares if term.resource in resources)

    def percent(self, *resources: Resource) -> str:
        """Format the share of the given resources as the table of all terms shows it."""
        return f"{sum(term.percent for term in self.shares if term.resource in resources)} %"

    # -- lanes -------------------------------------------------------------------------------------------------------

    @cached_property
    def focus(self) -> CtaTime:
        """The MMA-issuing CTA in the cluster of the SM's longest-lived CTA."""
        cluster = self.scene.cluster_of(max(self.scene.ctas, key=lambda cta: cta.end - cta.start).cta)
        issuers = [n for n in sorted(cluster) if any("MMA" in self.role(t) for t in self.scene.warps(n))]
        return self.scene.around[issuers[0] if issuers else min(cluster)]

    def role(self, track: Track) -> str:
        """Return the role of a warp, with "all" expanded to loads, MMAs and write-back."""
        role = self.scene.role(track)
        return "TMA, MMA, write-back" if role == "all" else role

    @cached_property
    def window(self) -> tuple[float, float]:
        """The interval from the first load or MMA of the CTA in focus to its last MMA; its lifetime if it has none."""
        cta = self.focus
        lane = self.scene.lane(cta.cta, TrackKind.TENSOR)
        end = max((m.end for m in lane.intervals), default=cta.end) if lane is not None else cta.end
        return min(self.scene.first_work[cta.cta], end), end

    @cached_property
    def lanes(self) -> tuple[LaneTime, ...]:
        """The times of the roles and engines of the CTA in focus."""
        roles: dict[str, list[Track]] = {}
        for track in self.scene.warps(self.focus.cta):
            if (role := self.scene.role(track)) != "other":
                roles.setdefault(role, []).append(track)
        lanes = [self._warps_time(role, tracks) for role, tracks in roles.items()]
        for kind in (TrackKind.TENSOR, TrackKind.TMA_LOAD, TrackKind.TMA_STORE):
            lane = self.scene.lane(self.focus.cta, kind)
            if lane is not None:
                busy = self._inside(lane.intervals) / self._length
                lanes.append(LaneTime(str(kind), 0, busy, (), 1 - busy))
        return tuple(lanes)

    def lane_of(self, part: str) -> LaneTime | None:
        """Return the time of the role that includes `part`, such as "MMA"."""
        full = ((lane, "TMA, MMA, write-back" if lane.name == "all" else lane.name) for lane in self.lanes)
        return next((lane for lane, name in full if lane.warps and part in name.split(", ")), None)

    @property
    def _length(self) -> float:
        start, end = self.window
        return max(end - start, 1e-9)

    def _inside(self, intervals: Iterable[Interval]) -> float:
        start, end = self.window
        return covered((max(start, i.start), min(end, i.end)) for i in intervals if i.end > start and i.start < end)

    def _warps_time(self, role: str, tracks: list[Track]) -> LaneTime:
        start, end = self.window
        busy = 0.0
        waits: dict[str, float] = {}
        for track in tracks:
            for interval in self.scene.lanes[track].intervals:
                cycles = min(end, interval.end) - max(start, interval.start)
                if cycles > 0 and interval.activity is Activity.WAIT:
                    name = base_name(interval.name)
                    waits[name] = waits.get(name, 0.0) + cycles
                elif cycles > 0:
                    busy += cycles
        whole = self._length * len(tracks)
        longest = sorted(waits.items(), key=lambda wait: -wait[1])
        shares = tuple(WaitShare(name, c / whole) for name, c in longest if c / whole >= LEAST_SHARE)
        return LaneTime(role, len(tracks), busy / whole, shares, max(0.0, 1 - (busy + sum(waits.values())) / whole))


def _apportioned(whole: int, shares: Sequence[float]) -> list[int]:
    """Round the parts of a whole by the largest remainders, so that they sum to it. shares: of the whole, sum to 1."""
    exact = [whole * share for share in shares]
    found = [int(part) for part in exact]
    for index in sorted(range(len(exact)), key=lambda index: found[index] - exact[index])[: whole - sum(found)]:
        found[index] += 1
    return found
