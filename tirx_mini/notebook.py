"""The notebook display of reports, findings and timelines as HTML, and of the timeline page in a frame.

    report = tvm.simulate(kernel, A, B, D, trace=True)
    report                                # the last line of a cell: the report as HTML
    report.trace                          # a still picture of the timeline
    tvm.timeline(report)                  # the page of the timeline, to look around in
    tvm.timeline(report).save("x.html")   # the same as a file

This module connects `diagnose`, which is independent of HTML, with `report`, which is imported only to render.
"""

from __future__ import annotations

from dataclasses import field
from html import escape
from pathlib import Path

from tirx_mini.records import dataclass

from .diagnose import Finding, Report, Timeline
from .display import as_html

HEIGHT = 720
"""The height of a page's frame, in CSS pixels."""


@as_html.register
def _report(report: Report) -> str:
    from .report import report_html

    return report_html(report)


@as_html.register
def _finding(finding: Finding) -> str:
    from .report import finding_html

    return finding_html(finding)


@as_html.register
def _timeline(timeline: Timeline) -> str:
    from .report import timeline_html

    return timeline_html(timeline)


@dataclass(frozen=True)
class TimelinePage:
    """A timeline as a page of HTML with its script. A notebook shows it in a frame.

    html: the text of the page, which needs no network and no other file.
    title: the name of the frame for screen readers.
    """

    html: str = field(repr=False)
    title: str

    def save(self, path: Path | str) -> Path:
        """Write the page to a file, which any browser opens, and return its path."""
        path = Path(path)
        path.write_text(self.html, encoding="utf-8")
        return path

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="{escape(self.title)}" sandbox="allow-scripts" srcdoc="{escape(self.html)}" '
            f'style="width:100%;height:{HEIGHT}px;border:1px solid #8886;box-sizing:border-box"></iframe>'
        )


def timeline(report: Report, against: Report | None = None, *, shape: str = "") -> TimelinePage:
    """Return the page of a run, or of two runs on one time axis.

    report: the report of a run with ``trace=True``.
    against: the report of another run of the same problem, with which the page compares.
    shape: the problem in words, for the title of the page.

    Raises `ValueError` for a run without a timeline.
    """
    from .report import page_html

    title = f"Timeline of {report.kernel or 'the kernel'}"
    return TimelinePage(page_html(report, against, shape=shape), title)
