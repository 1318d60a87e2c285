"""A kernel's timeline as a file: the formats, and their requirements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from tirx_mini.diagnose import Report, Timeline
from tirx_mini.hardware import GpuSpec
from tirx_mini.records import dataclass, replace
from tirx_mini.report import (
    FIRST,
    Comparison,
    Heading,
    against_svg,
    against_text,
    compare,
    ctas_shown,
    page_html,
    run_of,
    timeline_svg,
    timeline_text,
    trace_json,
    wave_svg,
    wave_text,
)

from .kernel_ref import KernelRef


class NoTimeline(ValueError):
    """The error for a run without a timeline to show."""

    def __init__(self, traced: Traced) -> None:
        super().__init__(f"{traced.report.kernel or 'the kernel'} did not run, so there is no timeline to show")


@dataclass(frozen=True)
class View:
    """The part of a timeline to show; interactive formats use it as the initial view.

    cta: "first", "slowest" or a number; None for all where the form can show them, else the first. start, end: of the
    part that is shown large, in cycles; None for a few steps of the pipeline, and of two runs for all of both. wave:
    all SMs with their tiles, in the forms that show one thing at a time.
    """

    cta: str | int | None = None
    start: float | None = None
    end: float | None = None
    wave: bool = False

    def ctas(self, timeline: Timeline) -> tuple[int, ...]:
        """Return the selected CTAs."""
        return ctas_shown(timeline, FIRST if self.cta is None else self.cta)


@dataclass(frozen=True)
class Traced:
    """A run with a timeline. shape: the problem in words, or "". spec: the GPU as it was simulated."""

    report: Report
    spec: GpuSpec
    shape: str = ""

    @property
    def ran(self) -> bool:
        """Return whether there is a timeline."""
        return self.report.trace is not None and bool(self.report.trace.ctas)

    @property
    def timeline(self) -> Timeline:
        """The timeline; raises `NoTimeline` for a kernel that did not run."""
        if self.report.trace is None or not self.report.trace.ctas:
            raise NoTimeline(self)
        return self.report.trace

    @property
    def clock_ghz(self) -> float:
        """The SM clock of this run, in GHz."""
        return self.report.stats.get("clock_ghz", self.spec.clock_ghz)

    @property
    def heading(self) -> Heading:
        """The kernel, GPU, size and time; for a failed kernel, the first cause."""
        report = self.report
        parts = [f"{report.kernel} on {report.gpu}", self.shape, report.yours]
        if report.timing is not None:
            parts += [report.timing.row.text, report.timing.rate]
        parts.append("" if report.ok else report.verdict)
        cause = f"{report.causes[0].code}: {report.causes[0].message}" if report.errors else ""
        return Heading(", ".join(part for part in parts if part), self.clock_ghz, cause)

    @property
    def bounded(self) -> Heading:
        """The heading with the bound of the time for a kernel without errors."""
        heading, bound = self.heading, self.report.bound
        if bound is not None and not heading.note:
            return replace(heading, note=f"{str(bound)[:1].upper()}{str(bound)[1:]}.")
        return heading


def told_apart(traced: Traced, against: Traced, refs: tuple[KernelRef, KernelRef]) -> tuple[Traced, Traced]:
    """Return two runs with different names; kernels of the same name take their files' names."""
    if traced.report.kernel != against.report.kernel:
        return traced, against
    paths = [ref.path for ref in refs]
    files = [path.name if paths[0].name != paths[1].name else str(path) for path in paths]
    if files[0] == files[1]:
        files[1] += ", again"
    first, second = (
        replace(run, report=replace(run.report, kernel=f"{run.report.kernel} of {file}"))
        for run, file in zip((traced, against), files, strict=True)
    )
    return first, second


def _page(traced: Traced, view: View, against: Traced | None) -> str:
    ctas = () if view.cta is None else view.ctas(traced.timeline)
    window = None if view.start is None or view.end is None else (view.start, view.end)
    other = None if against is None else against.report
    return page_html(traced.report, other, spec=traced.spec, shape=traced.shape, ctas=ctas, window=window)


def _picture(traced: Traced, view: View, against: Traced | None) -> str:
    if against is not None:
        comparison, heading = _compared(traced, against)
        ctas = view.ctas(against.timeline), view.ctas(traced.timeline)
        return against_svg(comparison, heading, ctas, view.start, view.end)
    if view.wave:
        return wave_svg(traced.timeline, traced.heading, traced.spec.sms)
    return timeline_svg(traced.timeline, traced.bounded, view.ctas(traced.timeline), view.start, view.end)


def _text(traced: Traced, view: View, against: Traced | None) -> str:
    if against is not None:
        comparison, heading = _compared(traced, against)
        return f"{heading.title}\n\n{against_text(comparison)}\n"
    if view.wave:
        return wave_text(traced.timeline, traced.heading, traced.spec.sms)
    return timeline_text(traced.timeline, traced.bounded, view.ctas(traced.timeline), view.start, view.end)


def _events(traced: Traced, view: View, against: Traced | None) -> str:
    return trace_json(traced.report, traced.clock_ghz, None if view.cta is None else view.ctas(traced.timeline))


def _check_same_problem(traced: Traced, against: Traced) -> None:
    """Raise `ValueError` for two runs whose MMAs make another number of operations; one that hangs makes any."""
    reports = traced.report, against.report
    work = {report.timing.flops for report in reports if report.timing is not None and report.timing.flops}
    if len(work) > 1:
        names = " and ".join(report.kernel for report in reports)
        raise ValueError(f"{names} solve different problems, so their times do not compare; give both one --shape")


def _compared(traced: Traced, against: Traced) -> tuple[Comparison, Heading]:
    """Return both runs, and the heading above them."""
    before, after = (run_of(run.report, run.spec) for run in (against, traced))
    names = f"{after.name} against {before.name} on {traced.report.gpu}"
    return compare(before, after), Heading(f"{names}, {traced.shape}" if traced.shape else names, traced.clock_ghz)


FORMS: Mapping[str, Callable[[Traced, View, Traced | None], str]] = MappingProxyType(
    {".html": _page, ".svg": _picture, ".json": _events, ".txt": _text}
)
"""The timeline formats by file suffix."""
OF_ONE_RUN, OF_WAVES = frozenset({".json"}), frozenset({".svg", ".txt"})
"""The formats with only one run, and the formats for which a wave can be selected."""


def timeline_form(traced: Traced, suffix: str, view: View | None = None, against: Traced | None = None) -> str:
    """Return the timeline as the text of a file with this suffix, a key of `FORMS`.

    against: another run of the problem, to compare with. Raises `NoTimeline` for a kernel that did not run, and
    `ValueError` for a view that the run, or this format, does not support.
    """
    view = view or View()
    view.ctas(traced.timeline)  # raises before anything is made
    if against is not None:
        _check_same_problem(traced, against)
    if against is not None and suffix in OF_ONE_RUN:
        raise ValueError(f"{suffix} holds one run; write the other one to a file of its own")
    if view.wave and (suffix not in OF_WAVES or against is not None):
        what = "two runs" if against is not None else suffix
        forms = "-o x.svg and -o - draw one run, and a page has a tab for it"
        raise ValueError(f"--view wave does not draw {what}; {forms}")
    return FORMS[suffix](traced, view, against)
