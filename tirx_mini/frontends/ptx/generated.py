"""Findings about what Triton's compiler generates, which no change of a program removes."""

from __future__ import annotations

import linecache
import re

from tirx_mini.diagnose import Finding, Report, verdict_of
from tirx_mini.ir import Span
from tirx_mini.records import replace

_FENCES = ("TX203", "TX205", "TX306")
"""Fences of tcgen05 and of initialised mbarriers, and a synchronisation between two setmaxnreg: Triton has none."""
_PROXY = "TX202"
"""Fences of the async proxy, which are Triton's in Triton, and the program's in Gluon."""
_UNWRITTEN = "TX207"
"""Triton loads the accumulator of a loop that makes no iterations, and does not use what it loads."""
_RACE = "TX201"
_BOTH_STORE = re.compile(r"^the store of .* while it may be written by the store of ")


def without_generated(report: Report, gluon: bool) -> Report:
    """Return a report without the findings about generated code that did not show in the run.

    Threads that hold the same element of a tensor store it together: stores of one statement are no race. gluon:
    whether the program is one of Gluon.
    """
    left = tuple(each for each in report.findings if not _is_generated(each, gluon))
    if len(left) == len(report.findings):
        return report
    verdict = report.verdict if report.verdict == "incomplete" else verdict_of(left)
    return replace(report, findings=left, verdict=verdict)


def _is_generated(finding: Finding, gluon: bool) -> bool:
    if finding.code == _UNWRITTEN and not gluon and " reads tensor memory, " in finding.message:
        return True
    if finding.happened and finding.severity == "error":
        return False
    if finding.code in _FENCES:
        return True
    if finding.code == _PROXY and (not gluon or any(_is_prologue(span) for span in _others(finding))):
        return True
    return finding.code == _RACE and _BOTH_STORE.match(finding.message) is not None and _at_one_place(finding)


def _others(finding: Finding) -> tuple[Span | None, ...]:
    """Return the places of the other accesses."""
    notes = finding.details.get("notes", ())
    return tuple(span for text, span in notes if text.endswith(("writes it here", "reads it here")))


def _is_prologue(span: Span | None) -> bool:
    """Return whether code is at the line of the kernel's declaration, as the allocation of tensor memory is."""
    return span is not None and linecache.getline(span.user.file, span.user.line).lstrip().startswith("def ")


def _at_one_place(finding: Finding) -> bool:
    """Return whether both accesses of a race are at one statement."""
    here, others = finding.span, _others(finding)
    return here is not None and bool(others) and all(
        span is not None and (span.user.file, span.user.line) == (here.user.file, here.user.line) for span in others
    )
