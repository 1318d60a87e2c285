"""A kernel's timeline as a file: which forms there are, and what each needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ..diagnose import Report, Timeline
from ..hardware import GpuSpec
from ..report import FIRST, Heading, ctas_shown, page_html, timeline_svg, timeline_text, trace_json


class NoTimeline(ValueError):
    """A run of which there is nothing to show."""


@dataclass(frozen=True)
class View:
    """What of a timeline is shown. Forms in which a reader looks around for himself take it for where he begins.

    cta: "first", "slowest" or a number; None for all where the form can show them, else the first. start, end: of the
    part that is shown large, in cycles; None for a few steps of the pipeline.
    """

    cta: str | int | None = None
    start: float | None = None
    end: float | None = None

    def ctas(self, timeline: Timeline) -> tuple[int, ...]:
        """The CTAs that are chosen."""
        return ctas_shown(timeline, FIRST if self.cta is None else self.cta)


@dataclass(frozen=True)
class Traced:
    """A run with a timeline. shape: the problem in words, or "". spec: the GPU as it was simulated."""

    report: Report
    spec: GpuSpec
    shape: str = ""

    @property
    def timeline(self) -> Timeline:
        """Raises `NoTimeline` for a kernel that did not run."""
        if self.report.trace is None or not self.report.trace.ctas:
            raise NoTimeline(f"{self.report.kernel or 'the kernel'} did not run, so there is no timeline to show")
        return self.report.trace

    @property
    def clock_ghz(self) -> float:
        """Of the SM clock in this run."""
        return self.report.stats.get("clock_ghz", self.spec.clock_ghz)

    @property
    def heading(self) -> Heading:
        """Kernel, GPU, size and time; of a kernel that went wrong, the first cause."""
        report = self.report
        parts = [f"{report.kernel} on {report.gpu}", self.shape]
        if report.time_us is not None:
            parts.append(f"{report.time_us:.1f} µs")
        if report.tflops is not None:
            parts.append(f"{report.tflops:.0f} TFLOPS")
        parts.append("" if report.ok else report.verdict)
        cause = f"{report.causes[0].code}: {report.causes[0].message}" if report.errors else ""
        return Heading(", ".join(part for part in parts if part), self.clock_ghz, cause)


def _page(traced: Traced, view: View) -> str:
    ctas = () if view.cta is None else view.ctas(traced.timeline)
    window = None if view.start is None or view.end is None else (view.start, view.end)
    return page_html(traced.report, spec=traced.spec, shape=traced.shape, ctas=ctas, window=window)


def _picture(traced: Traced, view: View) -> str:
    return timeline_svg(traced.timeline, traced.heading, view.ctas(traced.timeline), view.start, view.end)


def _text(traced: Traced, view: View) -> str:
    return timeline_text(traced.timeline, traced.heading, view.ctas(traced.timeline), view.start, view.end)


def _events(traced: Traced, view: View) -> str:
    return trace_json(traced.report, traced.clock_ghz, None if view.cta is None else view.ctas(traced.timeline))


FORMS: Mapping[str, Callable[[Traced, View], str]] = MappingProxyType(
    {".html": _page, ".svg": _picture, ".json": _events, ".txt": _text}
)
"""What a timeline can be written as, by the suffix of the file."""


def timeline_form(traced: Traced, suffix: str, view: View | None = None) -> str:
    """The timeline as the text of a file with this suffix, a key of `FORMS`.

    Raises `NoTimeline` for a kernel that did not run, and `ValueError` for a view that the run does not have.
    """
    view = view or View()
    view.ctas(traced.timeline)  # raises before anything is made
    return FORMS[suffix](traced, view)
