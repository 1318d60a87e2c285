"""A timeline as trace events for ui.perfetto.dev and chrome://tracing.

The format is Google's "Trace Event Format" (docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU): a
JSON object whose "traceEvents" have a phase type `ph`, a time `ts` in microseconds, a process `pid` and a thread `tid`.
Here a process is a CTA, and a thread a warp or an engine. Slices of one thread must nest, so copies in flight at the
same time have separate threads.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tirx_mini.diagnose import Activity, BarrierChange, Interval, Report, Signal, Timeline, Track, TrackKind
from tirx_mini.records import dataclass

from .spans import levels

KINDS = (TrackKind.TMA_LOAD, TrackKind.TENSOR, TrackKind.TMA_STORE)
"""The engines in reading order, below the warps of their CTA."""
LEVELS = 64
"""The maximum number of threads per engine, for which ids are reserved."""

Event = dict[str, Any]


@dataclass(frozen=True)
class _Slice:
    """An interval with its thread id."""

    interval: Interval
    tid: int


def trace_json(report: Report, clock_ghz: float, ctas: Sequence[int] | None = None) -> str:
    """Return the timeline of a run as a JSON object. clock_ghz: of the SM clock. ctas: those to show; None for all.

    Raises `ValueError` for a run without a timeline.
    """
    if report.trace is None:
        raise ValueError("the run has no timeline: it was simulated without trace=True")
    writer = _Events(report.trace, clock_ghz, ctas)
    events = [*writer.names(), *writer.slices(), *writer.flows(), *writer.counters(), *writer.end(report)]
    about = {"kernel": report.kernel, "gpu": report.gpu, "verdict": report.verdict, "clock_ghz": clock_ghz}
    about["findings"] = [f"{finding.code}: {finding.message}" for finding in report.causes]
    data = {"traceEvents": events, "displayTimeUnit": "ns", "otherData": about}
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n"


class _Events:
    """A writer of the events of one timeline."""

    def __init__(self, timeline: Timeline, clock_ghz: float, ctas: Sequence[int] | None) -> None:
        self._timeline = timeline
        self._ghz = clock_ghz
        self._ctas = [cta for cta in timeline.ctas if ctas is None or cta.cta in ctas]
        self._shown = {cta.cta for cta in self._ctas}
        by_track: dict[Track, list[Interval]] = {}
        for interval in timeline.intervals:
            if interval.track.cta in self._shown:
                by_track.setdefault(interval.track, []).append(interval)
        self._slices = {track: list(self._placed(track, own)) for track, own in by_track.items()}
        self._signals: dict[tuple[Track, str, int | None], _Slice] = {}
        for each in (each for own in self._slices.values() for each in own):
            interval = each.interval
            if interval.activity is Activity.BUSY and interval.barrier is not None:
                self._signals[interval.track, interval.barrier.name, interval.phase] = each

    def _us(self, cycles: float) -> float:
        """Convert cycles to microseconds, rounded to nanoseconds as in viewers."""
        return round(cycles / self._ghz / 1e3, 3)

    @staticmethod
    def _placed(track: Track, intervals: list[Interval]) -> Iterator[_Slice]:
        """Yield the slices of a track, with overlapping intervals on several threads."""
        if track.kind is TrackKind.WARP:
            yield from (_Slice(interval, track.warp or 0) for interval in intervals)
            return
        base = 1000 + LEVELS * KINDS.index(track.kind)
        for interval, level in zip(intervals, levels(intervals), strict=True):
            yield _Slice(interval, base + min(level, LEVELS - 1))

    # -- names ---------------------------------------------------------------------------------------------------

    def names(self) -> Iterator[Event]:
        """Yield metadata events: the names of processes and threads, and their order."""
        for cta in self._ctas:
            name = f"{cta.name} on SM {cta.sm}"
            yield {"ph": "M", "name": "process_name", "pid": cta.cta, "args": {"name": name}}
            yield {"ph": "M", "name": "process_sort_index", "pid": cta.cta, "args": {"sort_index": cta.cta}}
        for track, slices in self._slices.items():
            for tid in sorted({each.tid for each in slices}):
                about = {"ph": "M", "pid": track.cta, "tid": tid}
                yield {**about, "name": "thread_name", "args": {"name": self._thread(track, tid)}}
                yield {**about, "name": "thread_sort_index", "args": {"sort_index": tid}}

    def _thread(self, track: Track, tid: int) -> str:
        if track.kind is TrackKind.WARP:
            return f"warp {track.warp}: {self._timeline.roles.get(track, 'other')}"
        level = tid - 1000 - LEVELS * KINDS.index(track.kind)
        return f"{track.kind} ({level + 1})" if level else str(track.kind)

    # -- slices --------------------------------------------------------------------------------------------------

    def slices(self) -> Iterator[Event]:
        """Yield a complete event for each interval."""
        for slices in self._slices.values():
            for each in slices:
                yield self._slice(each)

    def _slice(self, each: _Slice) -> Event:
        interval = each.interval
        waits = interval.activity is Activity.WAIT
        start, end = self._us(interval.start), self._us(interval.end)
        return {
            "ph": "X", "name": f"wait {interval.name}" if waits else interval.name, "cat": str(interval.activity),
            "ts": start, "dur": round(end - start, 3), "pid": interval.track.cta, "tid": each.tid,
            "args": self._arguments(interval),
        }  # fmt: skip

    @staticmethod
    def _arguments(interval: Interval) -> dict[str, object]:
        args: dict[str, Any] = dict(interval.operands)
        if interval.span is not None:
            args["line"] = str(interval.span.user)
        if interval.stage is not None:
            args["stage"] = interval.stage
        if interval.barrier is not None:
            what = "waits for" if interval.activity is Activity.WAIT else "signals"
            args[what] = f"{interval.barrier.name} of CTA {interval.barrier.cta}, phase {interval.phase}"
        args["cycles"] = round(interval.cycles, 1)
        return args

    # -- arrows --------------------------------------------------------------------------------------------------

    def flows(self) -> Iterator[Event]:
        """Yield a flow arrow to each wait from the visible slice that ended it."""
        number = 0
        for slices in self._slices.values():
            for each in slices:
                change = self._timeline.ended_by(each.interval) if each.interval.activity is Activity.WAIT else None
                source = self._source(change) if change is not None else None
                if source is None:
                    continue
                number += 1
                common = {"cat": "arrival", "name": each.interval.name, "id": number}
                # A viewer binds an end of an arrow to the slice that is open then; at its end a slice is closed.
                left = max(self._us(source.interval.start), self._us(source.interval.end) - 0.001)
                right = max(left, self._us(each.interval.end) - 0.001)
                yield {"ph": "s", **common, "ts": round(left, 3), **self._on(source)}
                yield {"ph": "f", "bp": "e", **common, "ts": round(right, 3), **self._on(each)}

    @staticmethod
    def _on(each: _Slice) -> Event:
        return {"pid": each.interval.track.cta, "tid": each.tid}

    def _source(self, change: BarrierChange) -> _Slice | None:
        """Return the slice that made a change: the last signal of the phase, or else the last earlier slice of its
        source."""
        signal = self._signals.get((change.source, change.barrier.name, change.phase))
        if signal is not None:
            return signal
        slices = self._slices.get(change.source, [])
        at = bisect_right(slices, change.time, key=lambda each: each.interval.start)
        return slices[at - 1] if at else None

    # -- barriers and the end ------------------------------------------------------------------------------------

    def counters(self) -> Iterator[Event]:
        """Yield counter events: the pending counts of the mbarriers after each change."""
        for change in self._timeline.changes:
            if change.barrier.cta in self._shown:
                amounts = {"pending arrivals": change.pending, "bytes": max(0, change.tx)}
                at = {"ts": self._us(change.time), "pid": change.barrier.cta}
                yield {"ph": "C", "name": change.barrier.name, **at, "args": amounts}
                if change.kind is Signal.COMPLETE:
                    yield self._instant(change)

    def _instant(self, change: BarrierChange) -> Event:
        return {
            "ph": "i", "s": "p", "cat": "phase", "name": f"{change.barrier.name}: phase {change.phase} is complete",
            "ts": self._us(change.time), "pid": change.barrier.cta, "tid": 0,
        }  # fmt: skip

    def end(self, report: Report) -> Iterable[Event]:
        """Return an event with the time and the cause of a deadlock, if the run has one."""
        stuck = self._timeline.stuck
        if stuck is None or not self._ctas:
            return []
        causes = [f"{finding.code}: {finding.message}" for finding in report.causes]
        at = {"ts": self._us(stuck), "pid": self._ctas[0].cta, "tid": 0}
        return [{"ph": "i", "s": "g", "cat": "stuck", "name": "nothing can advance", **at, "args": {"why": causes}}]
