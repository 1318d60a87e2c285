"""The panel of one run: rows for roles and engines, arrows for the causes of long waits, and strips for mbarriers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from tirx_mini.diagnose import Activity, BarrierChange, Interval, Place, Signal, Timeline, Track

from ..svg import Picture, number, points
from .marks import LEFT, WIDTH, Scale, fitting, hatching
from .palette import stage_class
from .phases import Phase, phases_of
from .rows import Row, rows_of
from .spans import levels

LANE, THIN, GAP, STRIP = 26.0, 12.0, 8.0, 13.0
DEEPEST = 8
"""The maximum number of stacked copies in flight."""
NARROW = 12.0
"""The width in user units below which adjacent instructions are merged into one box."""
DENSE = 300
"""The number of visible intervals above which a row is drawn as an area chart of time shares."""
COLUMN = 4.0
"""The width of a column of such a chart, in user units. Barriers with narrower phases on average are omitted."""


class Panel:
    """The rows of the given CTAs from `top` downwards. `bottom` is their lower edge; strips: whether mbarriers are
    shown."""

    def __init__(self, timeline: Timeline, ctas: Sequence[int], scale: Scale, top: float, strips: bool = True) -> None:
        self.timeline, self.ctas, self.scale, self.top = timeline, ctas, scale, top
        rows = rows_of(timeline, ctas)
        self.lives = {item.cta: (item.start, item.end) for item in timeline.ctas}
        self.rows = [row for row in rows if row.works(scale.start, scale.end)] or rows
        self.barriers = barriers_in(timeline, ctas, scale) if strips else []
        self.levels = [stacked(merged(row.intervals, scale), scale) for row in self.rows]
        self.bounds: list[tuple[float, float]] = []
        self.places: dict[Track, tuple[float, float]] = {}
        y = top
        for index, row in enumerate(self.rows):
            if len(ctas) > 1 and (index == 0 or self.rows[index - 1].cta != row.cta):
                y += 20
            depth = self.depth(index)
            height = max(LANE, depth * (THIN if depth > 3 else LANE * 0.6))
            self.bounds.append((y, y + height))
            self.places.update(dict.fromkeys(row.tracks, (y, y + height)))
            y += height + GAP
        self.strips = y + 22
        self.bottom = self.strips + len(self.barriers) * (STRIP + 3) + 6 if self.barriers else y + 4

    def depth(self, index: int) -> int:
        """Return the number of stacked levels in a row."""
        return 1 + max((level for _, level in self.levels[index]), default=0)

    def described(self) -> str:
        """Describe the panel in a sentence, as alternative text."""
        shares = ", ".join(f"{row.name} {verb} {100 * share:.0f} %" for row, verb, share in map(self.share, self.rows))
        return f"Cycles {number(self.scale.start)} to {number(self.scale.end)}: {shares}."

    def share(self, row: Row) -> tuple[Row, str, float]:
        """Return the caption of a row: the share of the window, within the CTA's lifetime, that its warp waits or its
        engine is busy.
        """
        activity, verb = (Activity.WAIT, "waits") if row.detail else (Activity.BUSY, "busy")
        begin, end = self.lives.get(row.cta, (0.0, self.timeline.cycles))
        return row, verb, row.share(activity, max(begin, self.scale.start), min(end, self.scale.end))

    def draw(self, picture: Picture) -> None:
        for index in range(len(self.rows)):
            self._row(picture, index)
        self._strips(picture)
        self._arrows(picture)
        stuck = self.timeline.stuck
        if stuck is not None and self.scale.sees(0, stuck + 1):
            x = self.scale.x(stuck)
            picture.add("line", x1=x, x2=x, y1=self.top - 4, y2=self.bottom, class_="stop")
            picture.text(x - 4, self.top - 6, "stuck", "alarm", text_anchor="end")

    def _row(self, picture: Picture, index: int) -> None:
        row, (top, bottom) = self.rows[index], self.bounds[index]
        if len(self.ctas) > 1 and (index == 0 or self.rows[index - 1].cta != row.cta):
            names = {item.cta: item.name for item in self.timeline.ctas}
            picture.text(16, top - 7, names.get(row.cta, f"CTA {row.cta}"), "ink")
        left, right = map(self.scale.x, self.lives.get(row.cta, (self.scale.start, self.scale.end)))
        picture.rect(left, top, max(right - left, 0.5), bottom - top, "lane")
        middle = (top + bottom) / 2
        picture.text(LEFT - 8, middle + (-1 if row.detail else 4), row.name, "ink", text_anchor="end")
        if row.detail:
            picture.text(LEFT - 8, middle + 11, row.detail, "soft small", text_anchor="end")
        _, verb, share = self.share(row)
        picture.text(WIDTH - 8, middle + 4, f"{verb} {100 * share:.0f} %", "ink", text_anchor="end")
        if len(self.levels[index]) > DENSE:
            self._area(picture, row, top, bottom)
            return
        height = (bottom - top) / self.depth(index)
        for interval, level in self.levels[index]:
            self._interval(picture, interval, top + level * height, height)

    def _area(self, picture: Picture, row: Row, top: float, bottom: float) -> None:
        """Draw a dense row as an area: the share of waiting or busy time in each column."""
        columns = round((self.scale.right - self.scale.left) / COLUMN)
        cycles = (self.scale.end - self.scale.start) / columns
        activity = Activity.WAIT if row.detail else Activity.BUSY
        corners = [(self.scale.left, bottom)]
        for column, share in enumerate(row.shares(activity, self.scale.start, cycles, columns)):
            left = self.scale.left + column * COLUMN
            y = bottom - share * (bottom - top - 2)
            corners += [(left, y), (left + COLUMN, y)]
        corners.append((self.scale.right, bottom))
        kind, fill = ("edge", {"fill": hatching(None)}) if row.detail else ("plain edge", {})
        picture.add("polygon", points=points(corners), class_=kind, **fill)

    def _interval(self, picture: Picture, interval: Interval, top: float, height: float) -> None:
        left, right = self.scale.x(interval.start), self.scale.x(interval.end)
        width = max(right - left, 0.5)
        words, stage = described(interval), interval.stage
        if interval.activity is Activity.WAIT:
            picture.rect(left, top + 1, width, height - 2, "edge", words, fill=hatching(stage))
            label, style = fitting((f"waits for {interval.name}", interval.name), width), "ink halo small"
        else:
            kind = stage_class(stage)
            if interval.moved is None:
                picture.rect(left, top + 1, width, height - 2, f"{kind} edge", words)
            else:  # the latency is paler than the transfer
                picture.rect(left, top + 1, width, height - 2, f"{kind} pale edge", words)
                begin, end = map(self.scale.x, interval.moved)
                picture.rect(begin, top + 1, max(end - begin, 0.5), height - 2, kind)
            digit = "" if stage is None else str(stage)
            label = fitting((f"{interval.name} {digit}".strip(), digit), width)
            style = "on small" if interval.moved is None else "ink halo small"
        if label:
            picture.text((left + right) / 2, top + height / 2 + 3.5, label, style, text_anchor="middle")

    def _arrows(self, picture: Picture) -> None:
        """Draw an arrow to each wait of at least a fiftieth of the window, from the event that ended it."""
        shortest = (self.scale.end - self.scale.start) / 50
        for row in self.rows:
            for wait in row.intervals:
                change = self.timeline.ended_by(wait) if wait.activity is Activity.WAIT else None
                if change is None or wait.cycles < shortest or change.source not in self.places:
                    continue
                if self.scale.start <= change.time and wait.end <= self.scale.end:
                    self._arrow(picture, change, wait, row)

    def _arrow(self, picture: Picture, change: BarrierChange, wait: Interval, row: Row) -> None:
        x1, x2 = self.scale.x(change.time), self.scale.x(wait.end)
        source, target = self.places[change.source], self.places[row.tracks[0]]
        if source[0] == target[0]:
            return
        y1, y2 = (source[1], target[0]) if source[0] < target[0] else (source[0], target[1])
        bend = (y2 - y1) / 2
        path = f"M{number(x1)} {number(y1)}C{number(x1)} {number(y1 + bend)} {number(x2)} {number(y2 - bend)} "
        picture.add("path", d=f"{path}{number(x2)} {number(y2)}", class_="arrow", marker_end="url(#tip)")

    def _strips(self, picture: Picture) -> None:
        y = self.strips
        if self.barriers:
            words = "mbarriers: their phases, and the bytes or arrivals that each still lacks"
            picture.text(LEFT, y - 7, words, "soft small")
        for place in self.barriers:
            label = place.name if len(self.ctas) == 1 else f"{place.name}, CTA {place.cta}"
            picture.text(LEFT - 8, y + 10, label, "soft small", text_anchor="end")
            changes = [change for change in self.timeline.changes if change.barrier == place]
            for phase in phases_of(changes, self.timeline.cycles):
                if self.scale.sees(phase.start, phase.end):
                    self._phase(picture, phase, y)
            y += STRIP + 3

    def _phase(self, picture: Picture, phase: Phase, top: float) -> None:
        left, right, bottom = self.scale.x(phase.start), self.scale.x(phase.end), top + STRIP
        words = f"phase {phase.number}, parity {phase.parity}, cycles {phase.start:,.0f} to {phase.end:,.0f}"
        picture.rect(left, top, right - left, STRIP, "lane edge", words)
        corners, height = [(left, bottom)], bottom
        for time, lacks in phase.steps:
            x = self.scale.x(time)
            corners += [(x, height), (x, bottom - STRIP * lacks)]
            height = bottom - STRIP * lacks
        corners += [(right, height), (right, bottom)]
        if any(y != bottom for _, y in corners):
            opacity = 0.55 if phase.parity else 1  # neighbours differ even where a phase lacks something all along
            picture.add("polygon", points=points(corners), class_=stage_class(phase.stage), opacity=opacity)
        if label := fitting((f"phase {phase.number}", str(phase.number)), right - left):
            picture.text((left + right) / 2, top + 10, label, "ink halo small", text_anchor="middle")


def stacked(intervals: Sequence[Interval], scale: Scale) -> list[tuple[Interval, int]]:
    """Return the intervals in the window with their levels: each on the first free one."""
    seen = [interval for interval in intervals if scale.sees(interval.start, interval.end)]
    return list(zip(seen, levels(seen, DEEPEST), strict=True))


def merged(intervals: Sequence[Interval], scale: Scale) -> list[Interval]:
    """Return the intervals in the window, with adjacent narrow instructions of one stage merged."""
    kept: list[Interval] = []
    names: list[Counter[str]] = []
    narrow = NARROW / scale.per_cycle
    for interval in intervals:
        if not scale.sees(interval.start, interval.end):
            continue
        before = kept[-1] if kept else None
        if (
            before is not None
            and before.activity is interval.activity is Activity.RUN
            and before.stage == interval.stage
            and interval.start - before.end < narrow / 16
            and min(before.cycles, interval.cycles) < narrow
        ):
            kept[-1] = replace(before, end=interval.end, operands=())
        else:
            kept.append(interval)
            names.append(Counter())
        names[-1][interval.name] += 1
    return [
        replace(item, name=", ".join(f"{name} ×{count}" if count > 1 else name for name, count in found.items()))
        for item, found in zip(kept, names, strict=True)
    ]


def barriers_in(timeline: Timeline, ctas: Sequence[int], scale: Scale) -> list[Place]:
    """Return the mbarriers of the CTAs that complete a visible phase in the window, by CTA and name."""
    found = Counter(
        change.barrier
        for change in timeline.changes
        if change.barrier.cta in ctas and change.kind is Signal.COMPLETE and scale.start <= change.time <= scale.end
    )
    most = (scale.right - scale.left) / COLUMN
    shown = [place for place, phases in found.items() if phases <= most]
    return sorted(shown, key=lambda place: (ctas.index(place.cta), place.name))


def described(interval: Interval) -> str:
    """Describe an interval in words: name, stage, line, duration and start."""
    verb = "waits for " if interval.activity is Activity.WAIT else ""
    line = f", line {interval.span.user.line}" if interval.span is not None else ""
    stage = f", stage {interval.stage}" if interval.stage is not None else ""
    return f"{verb}{interval.name}{stage}{line}: {interval.cycles:,.0f} cycles from {interval.start:,.0f}"
