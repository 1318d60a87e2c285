"""The findings of a simulation as pages for a terminal, which fit 80 columns and do not need colour.

print(plain(report_page(report)))          # text
Console().print(report_page(report))       # with colour
"""

from __future__ import annotations

import json
from io import StringIO

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from tirx_mini.diagnose import Finding, Report, as_dict

from .source import source_lines
from .stuck import ring, stuck_page

WIDTH = 80
CONTEXT = 1
"""The number of source lines shown before and after the line of a finding."""

STYLES = {
    "error": "bold red",
    "warning": "bold yellow",
    "possible": "bold magenta",
    "note": "bold blue",
    "help": "bold green",
    "rule": "bold cyan",
    "ok": "bold green",
}


def report_page(report: Report) -> RenderableType:
    """The verdict, the outlook if all errors are possible, the proof, and a page for each finding, worst first."""
    parts: list[RenderableType] = [headline(report)]
    parts += [_labelled("note", sentence) for sentence in report.unwritten]
    if report.outlook:
        parts.append(Text(report.outlook, style="bold"))
    if report.proof is not None:
        parts.append(Text(str(report.proof), style="dim"))
    for number, finding in enumerate(report.findings, 1):
        parts += ["", Text(f"{number} of {len(report.findings)}", style="dim"), finding_page(finding)]
    return Group(*parts)


def headline(report: Report) -> Text:
    """The kernel, its verdict, the number of findings, and the predicted time."""
    text = Text(f"{report.kernel or 'kernel'}: ")
    text.append(report.verdict, STYLES["ok" if report.ok else "error"])
    possible = sum(not error.happened for error in report.errors)
    counts = [
        _count(len(report.errors) - possible, "error"),
        _count(possible, "possible error"),
        _count(len(report.warnings), "warning"),
        _count(len(report.notes), "note"),
    ]
    said = [count for count in counts if count]
    if said:
        text.append(f" ({', '.join(said)})")
    if report.time_us is not None:
        text.append(f", {report.time_us:.1f} µs predicted on {report.gpu}")
    if report.tflops is not None:
        text.append(f", {report.tflops:.0f} TFLOPS")
    if not report.ok and report.seed:
        text.append(f"; replay with --seed {report.seed}")
    return text


def finding_page(finding: Finding) -> RenderableType:
    """A finding: what is wrong, where, what to change, and the notes that explain it."""
    details = finding.details
    parts: list[RenderableType] = [_labelled(finding.severity, finding.message, finding.code)]
    parts += source_lines(finding.span, CONTEXT)
    if not finding.happened:
        parts.append(_labelled("possible", f"not seen in this run: it goes wrong {finding.order}"))
    if details.get("hint"):
        parts.append(_labelled("help", details["hint"]))
    for text, span in details.get("notes", ()):
        parts.append(_labelled("note", text))
        parts += source_lines(span)
    if details.get("cycle"):
        parts += [_labelled("note", "they wait for one another"), Padding(ring(details["cycle"]), (0, 0, 0, 2))]
    if details.get("stuck"):
        parts += [_labelled("note", "who waits for what"), Padding(stuck_page(details["stuck"]), (0, 0, 0, 2))]
    facts = [details["cta"]] if details.get("cta") else []
    if finding.happened and finding.severity == "error":
        facts.append("it happened in this run")
    if details.get("count", 1) > 1:
        facts.append(f"found {details['count']} times")
    parts.append(_labelled("rule", f"{finding.about.rule} {f'({finding.rule})' if finding.rule else ''}".rstrip()))
    facts.append(f"python -m tirx_mini explain {finding.code}")
    parts.append(Text("; ".join(facts), style="dim"))
    return Group(*parts)


def plain(page: RenderableType, width: int = WIDTH) -> str:
    """A page as plain text, in lines of at most `width` columns."""
    out = StringIO()
    Console(file=out, width=width, color_system=None, force_terminal=False, highlight=False).print(page)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def to_json(report: Report) -> str:
    """The report as a JSON object, without the timeline. Spans are "file:line:column"."""
    return json.dumps(as_dict(report), ensure_ascii=False)


# -- pieces ------------------------------------------------------------------------------------------------------------


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number > 1)}" if number else ""


def _labelled(label: str, text: str, code: str = "") -> Text:
    out = Text(f"{label}[{code}]: " if code else f"{label}: ", style=STYLES[label])
    return out.append(text, style="bold" if code else "not bold")
