"""The contents of a static picture: the rows of its CTAs, and a representative time window."""

from __future__ import annotations

from collections.abc import Sequence

from tirx_mini.diagnose import Activity, Interval, Timeline, Track, TrackKind
from tirx_mini.hardware import WARPGROUP_WARPS
from tirx_mini.records import dataclass

from .lanes import place_of, role_name

STEPS = 7
"""The approximate number of pipeline steps in a window."""
AROUND = 1.3
"""The minimum ratio of the window length to a write-back in it."""


@dataclass(frozen=True)
class Row:
    """A row of a picture: an engine, or the warps of one role, of which the first is drawn.

    name: "MMA", "tensor core". detail: "warp 4", "warp 0 of 0–3", "" for an engine. intervals: of the first track.
    """

    cta: int
    name: str
    detail: str
    tracks: tuple[Track, ...]
    intervals: tuple[Interval, ...]

    def works(self, start: float, end: float) -> bool:
        """Return whether the row has an activity from `start` to `end` other than a wait at a CTA or cluster
        barrier."""
        return any(
            interval.activity is not Activity.WAIT or interval.barrier is not None
            for interval in self.intervals
            if interval.start < end and interval.end > start
        )

    def share(self, activity: Activity, start: float, end: float) -> float:
        """Return the fraction of the time from `start` to `end` that the track spends on an activity; overlaps count
        once."""
        return self.shares(activity, start, end - start, 1)[0]

    def shares(self, activity: Activity, start: float, cycles: float, columns: int) -> list[float]:
        """Return `share` for each of `columns` consecutive intervals of `cycles` cycles, from `start` on."""
        covered = [0.0] * columns
        reached = start
        for interval in sorted(self.intervals, key=lambda interval: interval.start):
            if interval.activity is not activity:
                continue
            begin, end = max(interval.start, reached), min(interval.end, start + cycles * columns)
            reached = max(reached, end)
            while begin < end:
                column = min(int((begin - start) / cycles), columns - 1)
                stop = end if column == columns - 1 else min(end, start + (column + 1) * cycles)
                covered[column] += stop - begin
                begin = stop if stop > begin else end
        return [time / cycles for time in covered]


def rows_of(timeline: Timeline, ctas: Sequence[int]) -> list[Row]:
    """Return the rows of the given CTAs in reading order, from loads to stores."""
    by_track: dict[Track, list[Interval]] = {}
    for interval in timeline.intervals:
        if interval.track.cta in ctas:
            by_track.setdefault(interval.track, []).append(interval)
    rows: list[tuple[int, int, int, Row]] = []
    for place, cta in enumerate(ctas):
        groups: dict[tuple[str, bool, int], list[Track]] = {}
        for track in sorted((t for t in by_track if t.cta == cta), key=lambda track: track.warp or 0):
            if track.kind is not TrackKind.WARP:
                row = Row(cta, str(track.kind), "", (track,), tuple(by_track[track]))
                rows.append((place, place_of(track), 0, row))
            elif any(interval.activity is Activity.RUN for interval in by_track[track]):
                groups.setdefault(_group(timeline.roles.get(track, ""), track.warp or 0), []).append(track)
        for (role, *_), tracks in groups.items():
            row = Row(cta, role_name(role), _warps(tracks), tuple(tracks), tuple(by_track[tracks[0]]))
            rows.append((place, place_of(tracks[0], role), tracks[0].warp or 0, row))
    return [row for *_, row in sorted(rows, key=lambda item: item[:3])]


def _group(role: str, warp: int) -> tuple[str, bool, int]:
    """Return the key of the warps that share a row: warps of a warpgroup with equal work. TMA and MMA are each issued
    by a single warp."""
    alone = role == "all" or any(part in role for part in ("TMA", "MMA"))
    return role, alone, warp if alone else warp // WARPGROUP_WARPS


def window_of(timeline: Timeline, cta: int) -> tuple[float, float]:
    """Return the window in cycles in which a static picture shows the CTA's steady state.

    The window covers some pipeline steps around the last write-back that overlaps tensor-core work; without one, the
    middle of the CTA's MMAs; without MMAs, its whole lifetime. For a deadlocked kernel it covers the last cycles.
    """
    life = next((item for item in timeline.ctas if item.cta == cta), None)
    begin, end = (life.start, life.end) if life is not None else (0.0, timeline.cycles)
    multiplies = _engine(timeline, cta, TrackKind.TENSOR)
    starts = sorted({interval.start for interval in multiplies})
    if len(starts) < 3:
        return begin, end
    step = (starts[-1] - starts[0]) / (len(starts) - 1)
    length = STEPS * step
    if timeline.stuck is not None:
        return max(begin, starts[-1] - length), end
    first, last = _write_back(timeline, cta, multiplies, step) or (starts[0], starts[-1])
    if first != starts[0]:
        length = max(length, AROUND * (last - first))
    middle = (first + last) / 2
    left = min(max(begin, middle - length / 2), max(begin, end - length))
    return left, min(end, left + length)


def _write_back(
    timeline: Timeline, cta: int, multiplies: Sequence[Interval], step: float
) -> tuple[float, float] | None:
    """Return the interval of the last write-back that overlaps tensor-core work, or None.

    The interval extends from about the end of its MMAs to the end of its stores.
    """
    stores = [
        store for store in _engine(timeline, cta, TrackKind.TMA_STORE)
        if any(interval.start < store.end and interval.end > store.start for interval in multiplies)
    ]  # fmt: skip
    if not stores:
        return None
    first = stores[-1]
    for store in reversed(stores):
        if first.start - store.end < step:
            first = store
    return first.start - step, stores[-1].end


def _engine(timeline: Timeline, cta: int, kind: TrackKind) -> list[Interval]:
    return [interval for interval in timeline.intervals if interval.track == Track(cta, kind)]


def _warps(tracks: Sequence[Track]) -> str:
    numbers = [track.warp or 0 for track in tracks]
    first, last = numbers[0], numbers[-1]
    return f"warp {first}" if first == last else f"warp {first} of {first}–{last}"
