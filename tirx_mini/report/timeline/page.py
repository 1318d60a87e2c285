"""A timeline as one page of HTML, which needs no network and no other file.

The page's script and style are written in `web/timeline/` and built into the folder `assets` beside this module.
"""

from __future__ import annotations

import re
from html import escape
from importlib.resources import files

from tirx_mini.diagnose import Report
from tirx_mini.hardware import GpuSpec, gpu_spec

from .columns import packed
from .page_data import RunData
from .palette import STAGES

ASSETS = files(__package__ or "") / "assets"


def page_html(report: Report, against: Report | None = None, *, spec: GpuSpec | None = None, title: str = "") -> str:
    """The page of a run with a timeline, or of two on one time axis.

    spec: the GPU as it was simulated, where that is not the one of the report's name. title: by default the kernels'
    names. Raises `ValueError` for a run without a timeline.
    """
    runs: list[RunData] = []
    for each in (report, against):
        if each is None:
            continue
        if each.trace is None:
            raise ValueError(
                f"{each.kernel or 'the kernel'} was simulated without trace=True: there is no timeline to show"
            )
        size = sum(len(run.payload) for run in runs)
        runs.append(RunData(each, spec or gpu_spec(each.gpu), size))
    title = title or " and ".join(run.header["kernel"] for run in runs)
    header = {"title": title, "stages": STAGES, "runs": [run.header for run in runs], "differences": []}
    parts = {
        "title": escape(title),
        "style": _asset("style.css"),
        "script": _asset("page.js").replace("</script", "<\\/script"),
        "data": packed(header, [run.payload for run in runs]),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _asset("page.html"))


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8").rstrip("\n")
