"""Reports around timelines by hand, whose intervals are at lines of a source file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.tirx_mini.report.timeline.timelines import Ring
from tirx_mini.diagnose import CtaTime, Finding, LaunchTime, Place, Report, Timeline, Timing, Track
from tirx_mini.ir import Span

KERNEL = """\
def ring(A, B, D):
    Tx.copy_async(Asmem[stage, :, :], A[m, k], dispatch="tma", mbar=tma2mma[stage])  # a stage
    Tx.gemm_async(tmem, Asmem[stage, :, :], Bsmem[stage, :, :])
    Tx.copy(D[m, n], registers)
"""
LINES = {"TMA": 2, "MMA": 3, "write-back": 4}
"""The line of each role."""


def report_of(ring: Ring, folder: Path, *, ctas: int = 2, stuck: bool = False, file: str = "ring.py") -> Report:
    """The report of a ring on clusters of two CTAs, whose kernel is in a file of `folder`."""
    path = folder / file
    path.write_text(KERNEL)
    timeline = _copies(_at_lines(ring.timeline(stuck), str(path)), ctas)
    finding = Finding("deadlock", "error", "the MMA warp waits for ever for tma2mma[0]", Span(str(path), 3))
    flops = 1e9
    return Report(
        verdict="deadlock" if stuck else "ok",
        findings=(finding,) if stuck else (),
        timing=None if stuck else Timing(LaunchTime(0.0, timeline.cycles, 1.86), flops),
        trace=timeline,
        stats={"clock_ghz": 1.86, "flops": flops, "l2_bytes": flops / 64, "hbm_bytes": flops / 400},
        kernel="ring",
        gpu="B200",
    )


def _at_lines(timeline: Timeline, file: str) -> Timeline:
    """The same with the line of its role as the place of each interval of a warp."""
    return replace(
        timeline,
        intervals=tuple(
            replace(interval, span=Span(file, LINES[timeline.roles[interval.track]]))
            if interval.track.warp is not None
            else interval
            for interval in timeline.intervals
        ),
    )


def _copies(timeline: Timeline, ctas: int) -> Timeline:
    """The same work done by so many CTAs, each on its SM, 50 cycles after the one before."""

    def track(of: Track, cta: int) -> Track:
        return replace(of, cta=cta)

    def place(of: Place | None, cta: int) -> Place | None:
        return of and replace(of, cta=cta)

    later = range(ctas)
    intervals = [
        replace(
            each,
            track=track(each.track, cta),
            barrier=place(each.barrier, cta),
            start=each.start + 50 * cta,
            end=each.end + 50 * cta,
        )
        for cta in later
        for each in timeline.intervals
    ]
    changes = [
        replace(
            each,
            source=track(each.source, cta),
            barrier=replace(each.barrier, cta=cta),
            time=each.time + 50 * cta,
        )
        for cta in later
        for each in timeline.changes
    ]
    end = timeline.cycles
    return Timeline(
        intervals=tuple(sorted(intervals, key=lambda each: each.start)),
        changes=tuple(sorted(changes, key=lambda each: each.time)),
        ctas=tuple(CtaTime(cta, f"CTA ({cta}, 0)", cta, cta // 2, cta % 2, 50 * cta, end + 50 * cta) for cta in later),
        tiles=tuple(
            replace(tile, cta=cta, start=tile.start + 50 * cta, end=tile.end + 50 * cta)
            for cta in later
            for tile in timeline.tiles
        ),
        roles={track(of, cta): role for cta in later for of, role in timeline.roles.items()},
        cycles=end + 50 * (ctas - 1),
        stuck=None if timeline.stuck is None else end + 50 * (ctas - 1),
    )
