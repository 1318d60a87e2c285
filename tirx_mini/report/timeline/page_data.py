"""The data of a timeline page: a JSON header, and columns of intervals and changes.

`web/timeline/src/data.ts` describes the same format for the reader. Times are integers in units of 1 / `PARTS` cycle.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tirx_mini.diagnose import (
    Activity,
    BarrierChange,
    Bound,
    CtaTime,
    Finding,
    Interval,
    Place,
    Report,
    Timeline,
    Track,
    us_text,
)
from tirx_mini.hardware import GpuSpec
from tirx_mini.ir import Span

from ..source import file_name
from .choice import FIRST, SLOWEST, ctas_shown
from .columns import ByIdentity, Columns, Names
from .lanes import lanes_of
from .roofline import roofline
from .rows import window_of
from .source_text import excerpt_around

PARTS = 8
"""The resolution of times in a page: an eighth of a cycle."""
ACTIVITIES = {Activity.RUN: 0, Activity.WAIT: 1, Activity.BUSY: 2}
MOST_FINDINGS = 5


class RunData:
    """The data of one run: a JSON `header`, and a `payload` of columns at byte `at` of the page's columns.

    ctas: the CTAs shown first; by default the first of the run, or the first deadlocked one.
    """

    def __init__(self, report: Report, spec: GpuSpec, at: int = 0, ctas: Sequence[int] = ()) -> None:
        assert isinstance(report.trace, Timeline), "only a run with trace=True has a timeline"
        self.report, self.timeline, self.spec = report, report.trace, spec
        if not ctas and self.timeline.ctas:
            ctas = ctas_shown(self.timeline, FIRST if self.timeline.stuck is None else SLOWEST)
        self.ctas = tuple(ctas)
        self._names: Names[str] = Names()
        self._operands: Names[tuple[tuple[str, str], ...]] = Names()
        self._places: Names[tuple[str, int]] = Names()
        self._place = ByIdentity[Span](lambda span: self._places((span.user.file, span.user.line)))
        self._barriers: Names[Place] = Names()
        self._signals: Names[str] = Names()
        self._columns = Columns(at)
        self._tracks: Names[Track] = Names()
        by_track: dict[Track, list[Interval]] = defaultdict(list)
        for interval in self.timeline.intervals:
            by_track[interval.track].append(interval)
        for track in sorted(by_track, key=_track_order):
            self._tracks(track)
        self._add_intervals([by_track[track] for track in self._tracks.values])
        self._add_changes(self.timeline.changes)
        self.payload = self._columns.payload()
        self.header = self._header()

    def _span(self, span: Span | None) -> int:
        """Return the index of the span's line plus one; 0 for None."""
        return 0 if span is None else self._place(span) + 1

    def _add_intervals(self, tracks: Sequence[Sequence[Interval]]) -> None:
        numbers = {id(change): number for number, change in enumerate(self.timeline.changes, 1)}
        gaps: list[int] = []
        lengths: list[int] = []
        causes: list[int] = []
        for intervals in tracks:
            at = 0
            for interval in intervals:
                start, end = round(interval.start * PARTS), round(interval.end * PARTS)
                gaps.append(start - at)
                lengths.append(end - start)
                at = end
                cause = self.timeline.ended_by(interval) if interval.activity is Activity.WAIT else None
                causes.append(0 if cause is None else numbers[id(cause)])
        everything = [interval for intervals in tracks for interval in intervals]
        add = self._columns.add
        add("track", [len(intervals) for intervals in tracks])
        add("gap", gaps, signed=True, scale=PARTS)
        add("length", lengths, scale=PARTS)
        add("cause", causes)
        add("activity", [ACTIVITIES[interval.activity] for interval in everything])
        add("name", [self._names(interval.name) for interval in everything])
        add("operands", [self._operands(interval.operands) for interval in everything])
        add("place", [self._span(interval.span) for interval in everything])
        add("stage", [0 if interval.stage is None else interval.stage + 1 for interval in everything])
        add(
            "barrier",
            [0 if interval.barrier is None else self._barriers(interval.barrier) + 1 for interval in everything],
        )
        moved = [interval.moved or (interval.start, interval.end) for interval in everything]
        ends = list(zip(everything, moved, strict=True))
        add("before", [round((start - each.start) * PARTS) for each, (start, _) in ends], scale=PARTS)
        add("behind", [round((each.end - end) * PARTS) for each, (_, end) in ends], scale=PARTS)
        add("phase", [0 if interval.phase is None else interval.phase + 1 for interval in everything])

    def _add_changes(self, changes: Sequence[BarrierChange]) -> None:
        times = [round(change.time * PARTS) for change in changes]
        add = self._columns.add
        add("change.time", [time - before for before, time in zip([0, *times], times, strict=False)], scale=PARTS)
        add("change.barrier", [self._barriers(change.barrier) for change in changes])
        add("change.source", [self._tracks(change.source) for change in changes])
        add("change.signal", [self._signals(change.kind.value) for change in changes])
        add("change.phase", [change.phase for change in changes])
        add("change.pending", [change.pending for change in changes])
        add("change.tx", [change.tx for change in changes], signed=True)
        add("change.place", [self._span(change.span) for change in changes])

    def _header(self) -> dict[str, Any]:
        report, timeline = self.report, self.timeline
        findings = [self._finding(finding) for finding in report.causes[:MOST_FINDINGS]]
        files = {file: number for number, file in enumerate(dict.fromkeys(file for file, _ in self._places.values))}
        roofs = roofline(report, self.spec)
        return {
            "kernel": " · ".join(part for part in (report.kernel or "kernel", report.yours) if part),
            "gpu": report.gpu,
            "sms": self.spec.sms,
            "clockGhz": report.stats.get("clock_ghz", self.spec.clock_ghz),
            "verdict": report.verdict,
            "cycles": timeline.cycles,
            "stuck": timeline.stuck,
            "figures": figures(report),
            "findings": findings,
            "names": self._names.values,
            "operands": self._operands.values,
            "places": [{"file": files[file], "line": line} for file, line in self._places.values],
            "files": [self._file(file) for file in files],
            "tracks": [self._track(track) for track in self._tracks.values],
            "lanes": self._lanes(),
            "barriers": [asdict(place) for place in self._barriers.values],
            "signals": self._signals.values,
            "ctas": [asdict(cta) for cta in timeline.ctas],
            "tiles": [asdict(tile) for tile in timeline.tiles],
            "groups": cta_groups(timeline),
            "shown": self.ctas,
            "roofline": None if roofs is None else {**asdict(roofs), "sentences": roofs.sentences},
            "bound": None if report.bound is None else _bound(report.bound),
            "columns": self._columns.index,
        }

    def window(self) -> tuple[float, float]:
        """Return the initial window of the page in cycles: a few pipeline steps of the first CTA, or the end of a
        deadlocked run."""
        cycles = self.timeline.cycles
        start, end = window_of(self.timeline, self.ctas[0]) if self.ctas else (0.0, cycles)
        return start, end if self.timeline.stuck is None else cycles

    def _finding(self, finding: Finding) -> dict[str, Any]:
        notes = [text for text, _ in finding.details.get("notes", ())]
        notes += [str(role) for role in finding.details.get("stuck", ())]
        return {
            "severity": finding.severity, "code": finding.code, "message": finding.message,
            "hint": finding.details.get("hint") or "", "notes": notes,
            "place": None if finding.span is None else self._place(finding.span),
        }  # fmt: skip

    def _file(self, file: str) -> dict[str, Any]:
        first, lines = excerpt_around(file, (line for each, line in self._places.values if each == file))
        return {"name": file_name(Span(file, first)), "first": first, "lines": lines}

    def _track(self, track: Track) -> dict[str, Any]:
        role = self.timeline.roles.get(track, "warp") if track.warp is not None else track.kind.value
        return {"cta": track.cta, "kind": track.kind.value, "warp": track.warp, "role": role}

    def _lanes(self) -> list[dict[str, Any]]:
        lanes = lanes_of(self._tracks.values, self.timeline.roles)
        return [{"cta": lane.cta, "name": lane.name, "tracks": list(map(self._tracks, lane.tracks))} for lane in lanes]


def _bound(bound: Bound) -> dict[str, Any]:
    shares = [
        {"resource": str(share.resource), "share": share.share, "percent": share.percent, "time": us_text(share.us)}
        for share in bound.shares
    ]
    causes = [{"name": cause.name, "sentence": cause.sentence} for cause in bound.causes]
    lanes, usage = map(asdict, bound.lanes), map(asdict, bound.usage)
    return {
        "name": bound.name, "rest": bound.rest, "causes": causes, "shares": shares,
        "lanes": list(lanes), "usage": list(usage),
    }  # fmt: skip


def _track_order(track: Track) -> tuple[int, bool, int, str]:
    return track.cta, track.warp is None, track.warp or 0, track.kind.value


def figures(report: Report) -> list[tuple[str, str]]:
    """Return the figures of a run in the page header: (name, value)."""
    out = [("verdict", report.verdict), ("on", report.gpu)]
    return [*out, *report.timing.figures] if report.timing is not None else out


def cta_groups(timeline: Timeline) -> list[dict[str, Any]]:
    """Return the selectable CTAs: the first, the slowest and each by its number; pairs are combined."""
    if not timeline.ctas:
        return []
    pairs: dict[tuple[int, int], list[CtaTime]] = defaultdict(list)
    for cta in timeline.ctas:
        pairs[cta.cluster, cta.rank // 2].append(cta)
    groups = [_group(pair) for pair in pairs.values()]
    shown = {what: list(ctas_shown(timeline, what)) for what in (FIRST, SLOWEST)}
    named = [(what, group) for what, ctas in shown.items() for group in groups if group["ctas"] == ctas]
    return [{**group, "label": f"{what.capitalize()}: {group['label']}"} for what, group in named] + groups


def _group(ctas: Sequence[CtaTime]) -> dict[str, Any]:
    names = " + ".join(cta.name for cta in ctas)
    return {"label": f"{names}, SM {' + '.join(str(cta.sm) for cta in ctas)}", "ctas": [cta.cta for cta in ctas]}
