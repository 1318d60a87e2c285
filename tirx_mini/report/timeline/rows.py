"""What a still picture shows of a timeline: the rows of its CTAs, and a window of time that explains the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tirx_mini.diagnose import Activity, Interval, Timeline, Track, TrackKind

from .lanes import place_of

STEPS = 10
"""How many steps of the pipeline a window covers, about."""


@dataclass(frozen=True)
class Row:
    """A row of a picture: an engine, or the warps of one role, of which the first is drawn.

    name: "MMA", "tensor core". detail: "warp 4", "warps 0 to 3", "" for an engine. intervals: of the first track.
    """

    cta: int
    name: str
    detail: str
    tracks: tuple[Track, ...]
    intervals: tuple[Interval, ...]

    def share(self, activity: Activity, start: float, end: float) -> float:
        """The part of the time from `start` to `end`, 0 to 1, in which the track is at that; overlaps count once."""
        return self.shares(activity, start, end - start, 1)[0]

    def shares(self, activity: Activity, start: float, cycles: float, columns: int) -> list[float]:
        """The same for each of `columns` parts of the time that are `cycles` long, from `start` on."""
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
    """The rows of these CTAs, in reading order: from the loads through the tensor core to the stores."""
    by_track: dict[Track, list[Interval]] = {}
    for interval in timeline.intervals:
        if interval.track.cta in ctas:
            by_track.setdefault(interval.track, []).append(interval)
    rows: list[tuple[int, int, int, Row]] = []
    for cta in ctas:
        warps: dict[str, list[Track]] = {}
        for track in sorted((t for t in by_track if t.cta == cta), key=lambda track: track.warp or 0):
            if track.kind is not TrackKind.WARP:
                row = Row(cta, str(track.kind), "", (track,), tuple(by_track[track]))
                rows.append((ctas.index(cta), place_of(track), 0, row))
            elif any(interval.activity is Activity.RUN for interval in by_track[track]):
                warps.setdefault(timeline.roles.get(track, ""), []).append(track)
        for role, tracks in warps.items():
            if role:
                row = Row(cta, role, _warps(tracks), tuple(tracks), tuple(by_track[tracks[0]]))
                rows.append((ctas.index(cta), place_of(tracks[0], role), tracks[0].warp or 0, row))
    return [row for *_, row in sorted(rows, key=lambda item: item[:3])]


def window_of(timeline: Timeline, cta: int) -> tuple[float, float]:
    """From when to when, in cycles, a still picture of this CTA shows its steady state.

    Some steps of the pipeline around the last write-back during which the tensor core works; without one, the middle of
    the CTA's MMAs; without MMAs, its whole life. A kernel that hangs: its last cycles.
    """
    life = next((item for item in timeline.ctas if item.cta == cta), None)
    begin, end = (life.start, life.end) if life is not None else (0.0, timeline.cycles)
    multiplies = _engine(timeline, cta, TrackKind.TENSOR)
    starts = sorted({interval.start for interval in multiplies})
    if len(starts) < 3:
        return begin, end
    length = STEPS * (starts[-1] - starts[0]) / (len(starts) - 1)
    if timeline.stuck is not None:
        return max(begin, starts[-1] - length), end
    stores = [
        store for store in _engine(timeline, cta, TrackKind.TMA_STORE)
        if any(interval.start < store.end and interval.end > store.start for interval in multiplies)
    ]  # fmt: skip
    middle = stores[-1].start if stores else (starts[0] + starts[-1]) / 2
    left = min(max(begin, middle - length / 2), max(begin, end - length))
    return left, min(end, left + length)


def _engine(timeline: Timeline, cta: int, kind: TrackKind) -> list[Interval]:
    return [interval for interval in timeline.intervals if interval.track == Track(cta, kind)]


def _warps(tracks: Sequence[Track]) -> str:
    numbers = [track.warp or 0 for track in tracks]
    if len(numbers) == 1:
        return f"warp {numbers[0]}"
    if numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"warps {numbers[0]} to {numbers[-1]}"
    return f"warps {', '.join(map(str, numbers))}"
