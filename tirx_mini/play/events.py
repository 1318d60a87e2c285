"""The events of a run about its report: the verdict, the bound and the timeline."""

from __future__ import annotations

from tirx_mini.course import Checked
from tirx_mini.diagnose import Report, us_text
from tirx_mini.hardware import GpuSpec
from tirx_mini.report import headline, page_data, plain

from .findings import Data, finding_data

_WIDE = 10_000


def verdict_event(checked: Checked, file: str, seconds: float) -> Data:
    """Return the event with the verdict and the findings, causes first."""
    report = checked.report
    causes = [*report.causes] + ([checked.wrong] if checked.wrong is not None else [])
    findings = [finding_data(finding, file) for finding in causes]
    findings += [finding_data(finding, file, consequence=True) for finding in report.consequences]
    filled = [] if checked.filled is None else [f"{checked.filled}."]
    notes = [*filled, *report.unchecked, *report.unwritten, report.sampled, report.outlook]
    notes += [str(report.proof)] if report.proof else []
    return {
        "event": "verdict", "verdict": verdict_of_check(checked), "title": title_of(checked), "findings": findings,
        "notes": [note for note in notes if note], "seconds": seconds, "cycles": report.cycles,
        "microseconds": report.time_us, "time": _time_of(report), "timed": not report.errors,
    }  # fmt: skip


def _time_of(report: Report) -> str:
    """Return the times of the headline. The time of a launch by itself may follow with the bound."""
    return "" if report.timing is None else report.timing.sentence(report.gpu)


def verdict_of_check(checked: Checked) -> str:
    """Return the verdict as `check` prints it."""
    wrong = checked.wrong is not None and checked.report.verdict == "ok"
    return "wrong" if wrong else checked.report.verdict


def title_of(checked: Checked) -> str:
    return plain(headline(checked.report, checked.wrong), _WIDE).strip()


def bound_event(report: Report) -> Data | None:
    """Return the event on what bounds the time; None for a run without a bound."""
    bound, timing = report.bound, report.timing
    if bound is None or timing is None or report.errors:
        return None
    terms = [
        {"name": str(share.resource), "share": share.share, "percent": share.percent, "microseconds": share.us,
         "time": us_text(share.us)}
        for share in bound.shares
    ]  # fmt: skip
    text = str(bound)
    return {
        "event": "bound", "headline": text[:1].upper() + text[1:], "terms": terms,
        "sentences": [cause.sentence for cause in bound.causes], "clock": timing.parts,
        "time": _time_of(report),
    }  # fmt: skip


def timeline_event(report: Report, spec: GpuSpec, shape: str) -> Data | None:
    """Return the event with the timeline as the timeline's page embeds it; None for a kernel that did not run."""
    if report.trace is None or not report.trace.ctas:
        return None
    return {"event": "timeline", "data": page_data(report, spec=spec, shape=shape)}


def failed_event(what: str, title: str, finding: Data | None = None, kind: str = "") -> Data:
    """Return the event on what failed: "build" or "simulate", without a verdict, or "timeline" after it."""
    text, findings = (title, []) if finding is None else (finding["text"], [finding])
    return {"event": "failed", "what": what, "title": title, "kind": kind, "text": text, "findings": findings}
