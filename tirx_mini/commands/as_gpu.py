"""The display of a kernel's outcome as a GPU shows it."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from tirx_mini.course import OnChip, Outcome
from tirx_mini.hardware import GpuSpec
from tirx_mini.report import (
    FIRST,
    PICTURE_LEGEND,
    SLOWEST,
    Heading,
    barrier_states,
    ctas_shown,
    report_page,
    timeline_text,
    wave_text,
)

_CLOSE = 1.005
"""The ratio below which times count as equal."""
_FEW_SMS = 8
"""The maximum number of SMs whose tiles are shown, one line each."""


def show_as_gpu(found: OnChip, gpu: GpuSpec, shape: str, console: Console) -> None:
    """Print the outcome, the picture of a wrong D, the timeline and the mbarriers, without findings.

    shape: the problem, for the heading. For a kernel that does not compile, the error page is shown, as by a compiler.
    """
    report = found.checked.report
    title = ", ".join(part for part in (f"{report.kernel or 'the kernel'} on {report.gpu}", shape) if part)
    console.print(Text(f"{title}: ", style="bold") + Text(outcome_text(found)))
    if found.outcome is Outcome.REFUSED:
        console.print(report_page(report))
        return
    if found.picture:
        console.print(Text(f"\n{found.picture}\n\n{PICTURE_LEGEND}", no_wrap=True))
    timeline = report.trace
    if timeline is None or not timeline.ctas:
        return
    ctas = ctas_shown(timeline, SLOWEST if found.outcome is Outcome.HANGS else FIRST)
    heading = Heading("", report.stats.get("clock_ghz", gpu.clock_ghz))
    console.print(Text(timeline_text(timeline, heading, ctas).rstrip(), no_wrap=True))
    if found.outcome is Outcome.RIGHT and 1 < gpu.sms <= _FEW_SMS:
        console.print(Text("\n" + wave_text(timeline, heading, gpu.sms).strip(), no_wrap=True))
    if timeline.changes:
        last = "now" if found.outcome is Outcome.HANGS else "at the end"
        console.print(Text(f"\nmbarriers {last}, with the arrivals and bytes that the next phase lacks:"))
        console.print(barrier_states(timeline, ctas))


def outcome_text(found: OnChip) -> str:
    """Return the outcome as a clause."""
    if found.outcome is Outcome.REFUSED:
        return "it does not compile"
    if found.outcome is Outcome.HANGS:
        return "it hangs: the launch does not end"
    if found.outcome is Outcome.FAILS:
        return f"the launch fails: {found.error}"
    if found.outcome is Outcome.WRONG:
        return f"it ends, and {found.wrong:.1%} of D is wrong"
    if found.us is None:
        return "D is right"
    said = f"D is right, after {found.us:.1f} µs in a row of launches"
    if found.factor is None:
        return said
    if 1 / _CLOSE < found.factor < _CLOSE:
        return f"{said}, as the reference"
    return f"{said}: {found.factor:.2g} × the time of the reference"
