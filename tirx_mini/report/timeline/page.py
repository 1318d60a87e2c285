"""A timeline as a single self-contained HTML page.

The page's script and style are written in `web/timeline/` and built into the folder `assets` beside this module.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files

from tirx_mini.diagnose import Report
from tirx_mini.hardware import GpuSpec, gpu_spec

from .against import compare, run_of
from .columns import packed
from .page_data import RunData
from .palette import STAGES

ASSETS = files(__package__ or "") / "assets"


def page_html(
    report: Report,
    against: Report | None = None,
    *,
    spec: GpuSpec | None = None,
    shape: str = "",
    ctas: Sequence[int] = (),
    window: tuple[float, float] | None = None,
) -> str:
    """Return the page of a run with a timeline, or of two runs on one time axis: A is `against`, and B is the report.

    spec: the simulated GPU, if it differs from the one named in the report. shape: the problem in words. ctas: the CTAs
        shown first; by default the first of the run, or the first deadlocked one. window: the initial time window, in
        cycles; by default a few pipeline steps, or all of two runs.
    Raises `ValueError` for a run without a timeline.
    """
    title, data = _title_and_data(report, against, spec, shape, ctas, window)
    parts = {
        "title": escape(title),
        "style": _asset("style.css"),
        "script": _asset("page.js").replace("</script", "<\\/script"),
        "data": data,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _asset("page.html"))


def page_data(report: Report, *, spec: GpuSpec | None = None, shape: str = "") -> str:
    """Return the data that a page of the run embeds, for another page with its script. Raises as `page_html` does."""
    return _title_and_data(report, None, spec, shape, (), None)[1]


def _title_and_data(
    report: Report,
    against: Report | None,
    spec: GpuSpec | None,
    shape: str,
    ctas: Sequence[int],
    window: tuple[float, float] | None,
) -> tuple[str, str]:
    runs: list[RunData] = []
    for each in (report,) if against is None else (against, report):
        run_of(each, spec)  # raises for a run without a timeline
        size = sum(len(run.payload) for run in runs)
        runs.append(RunData(each, spec or gpu_spec(each.gpu), size, ctas if each is report else ()))
    title = " against ".join(run.header["kernel"] for run in reversed(runs))
    title = f"{title}, {shape}" if shape else title
    header = {
        "title": title,
        "stages": STAGES,
        "runs": [run.header for run in runs],
        "window": window or (runs[0].window() if against is None else None),
        "differences": [] if against is None else compare(run_of(against, spec), run_of(report, spec)).sentences,
    }
    return title, packed(header, [run.payload for run in runs])


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8").rstrip("\n")
