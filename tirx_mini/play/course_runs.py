"""Runs of course mode: an outcome as a GPU shows it, what it conceals, and the repair of a drill."""

from __future__ import annotations

from pathlib import Path

from tirx_mini.course import KernelRef, OnChip, Outcome, Shape, judged, load_kernel
from tirx_mini.diagnose import Finding
from tirx_mini.driver import simulate
from tirx_mini.hardware import GpuSpec
from tirx_mini.records import dataclass, replace
from tirx_mini.sandbox import remember_lines

from .findings import Data, finding_data

SEALED = "sealed"
"""The event of a child with all that is told step by step; the page receives its `verdict` alone."""
STEPS_OF_REVEAL = 4
_REPAIRED = "repaired.py"
"""The name of a drill's file without its mistake, which no page shows."""


@dataclass(frozen=True)
class DrillFix:
    """The judge of a drill's repair. text: the file without the mistake. shape, gpu: those of the drill."""

    text: str
    kernel: str
    shape: Shape
    gpu: GpuSpec
    sms: int | None


def sealed(found: OnChip, product: Data | None, verdict: Data, file: str) -> Data:
    """Return the event of a run in course mode. verdict: the event outside of it. file: that of the editor."""
    right = found.outcome is Outcome.RIGHT and not found.checked.report.errors
    shown = {
        "event": "verdict", "verdict": "ok" if right else "wrong", "stages": 0 if right else STEPS_OF_REVEAL,
        "title": f"{found.checked.report.kernel or 'the kernel'}: {found.sentence}", "findings": [],
        "seconds": verdict["seconds"], "cycles": verdict["cycles"], "microseconds": verdict["microseconds"],
        "time": verdict["time"], "timed": verdict["timed"],
    }  # fmt: skip
    if right:
        shown |= {"title": verdict["title"], "findings": verdict["findings"]}  # warnings and notes conceal nothing
    checked = found.checked
    causes = [*checked.report.causes] + ([checked.wrong] if checked.wrong is not None else [])
    bare = [finding_data(_without_help(finding), file) for finding in causes]
    return {
        "event": SEALED, "verdict": shown, "sentence": found.sentence, "product": product, "whole": verdict,
        "bare": bare,
    }  # fmt: skip


def _without_help(finding: Finding) -> Finding:
    return replace(finding, details={name: value for name, value in finding.details.items() if name != "hint"})


def fix_event(fix: DrillFix, found: OnChip) -> Data:
    """Return the event on the repair of a drill, whose time is compared with that of the kernel without the mistake."""
    if found.us is not None:
        remember_lines(_REPAIRED, fix.text)
        ref = KernelRef(Path(_REPAIRED), fix.kernel)
        reference = load_kernel(ref, shape=fix.shape, sms=fix.sms, source=fix.text.encode())
        found = replace(found, reference_us=simulate(reference, gpu=fix.gpu, data=False).time_us)
    attempt = judged(found)
    return {"event": "drill", "repaired": attempt.passed, "sentence": attempt.said or found.sentence}
