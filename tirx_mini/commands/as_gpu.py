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

_FEW_SMS = 8
"""The maximum number of SMs whose tiles are shown, one line each."""


def show_as_gpu(found: OnChip, gpu: GpuSpec, shape: str, console: Console) -> None:
    """Print the outcome, the picture of a wrong D, the timeline and the mbarriers, without findings.

    shape: the problem, for the heading. For a kernel that does not compile, the error page is shown, as by a compiler.
    """
    report = found.checked.report
    title = ", ".join(part for part in (f"{report.kernel or 'the kernel'} on {report.gpu}", shape) if part)
    console.print(Text(f"{title}: ", style="bold") + Text(found.sentence))
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
