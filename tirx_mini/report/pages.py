"""What a simulation found, as pages for a terminal: readable at 80 columns and without colour.

print(plain(report_page(report)))          # text
Console().print(report_page(report))       # with colour
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tirx_mini.ir import Span, excerpt
from tirx_mini.sim import Finding, Report, StuckRole, as_dict

WIDTH = 80
CONTEXT = 1
"""Lines of source shown before and after the one that a finding names."""

STYLES = {"error": "bold red", "warning": "bold yellow", "note": "bold blue", "help": "bold green", "ok": "bold green"}


def report_page(report: Report) -> RenderableType:
    """The verdict in a line, then a page for each finding, worst first."""
    parts: list[RenderableType] = [headline(report)]
    for number, finding in enumerate(report.findings, 1):
        parts += ["", Text(f"{number} of {len(report.findings)}", style="dim"), finding_page(finding)]
    return Group(*parts)


def headline(report: Report) -> Text:
    """The kernel, its verdict, and what the simulator predicts."""
    text = Text(f"{report.kernel or 'kernel'}: ")
    text.append(report.verdict, STYLES["ok" if report.ok else "error"])
    counts = [_count(len(report.errors), "error"), _count(len(report.warnings), "warning")]
    said = [count for count in counts if count]
    if said:
        text.append(f" ({', '.join(said)})")
    if report.time_us is not None:
        text.append(f", {report.time_us:.1f} µs predicted on {report.gpu}")
    if report.tflops is not None:
        text.append(f", {report.tflops:.0f} TFLOPS")
    if not report.ok and report.seed:
        text.append(f"; replay it with seed {report.seed}")
    return text


def finding_page(finding: Finding) -> RenderableType:
    """One finding: what is wrong, where, what to change, and everything that explains it."""
    details = finding.details
    parts: list[RenderableType] = [_labelled(finding.severity, finding.message, f"[{finding.kind}]")]
    parts += _place(finding.span, CONTEXT)
    if details.get("hint"):
        parts.append(_labelled("help", details["hint"]))
    for text, span in details.get("notes", ()):
        parts.append(_labelled("note", text))
        parts += _place(span)
    if details.get("cycle"):
        parts += [_labelled("note", "the cycle of waits"), _cycle(details["cycle"])]
    if details.get("stuck"):
        parts += [_labelled("note", "who waits for what"), stuck_table(details["stuck"]), *_provided(details["stuck"])]
    facts = [f"{name}: {details[name]}" for name in ("cta", "rule") if details.get(name)]
    if details.get("count", 1) > 1:
        facts.append(f"found {details['count']} times")
    if facts:
        parts.append(Text("; ".join(facts), style="dim"))
    return Group(*parts)


def stuck_table(roles: Sequence[StuckRole]) -> Table:
    """The roles of a deadlock: where each waits, for which barrier and phase, and what is missing there."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("role", "line", "waits for", "done", "arrived", "bytes", "CTAs"):
        table.add_column(name, justify="left" if name in ("role", "waits for") else "right", overflow="fold")
    for role in roles:
        line = str(role.span.user.line) if role.span else "–"
        if role.barrier is None:
            table.add_row(role.role, line, role.waits_for, "", "", "", str(role.ctas))
            continue
        arrived = f"{(role.expected or 0) - (role.pending or 0)} of {role.expected or 0}"
        lacking = f"{-role.tx_bytes:+d}" if role.tx_bytes else ""
        waits_for = f"{role.barrier}, phase {role.parity}"
        table.add_row(role.role, line, waits_for, str(role.phase), arrived, lacking, str(role.ctas))
    return table


def barrier_table(log: Iterable[tuple]) -> Table:
    """The life of each mbarrier, from ``report.stats["barriers"]``: what happened to it, when, by whom, where."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("cycle", "barrier", "phase", "what", "count", "bytes", "by", "line"):
        table.add_column(name, justify="left" if name in ("barrier", "what", "by") else "right", overflow="fold")
    for time, cta, barrier, what, role, span, count, nbytes, phase in log:
        line = str(span.user.line) if span is not None else ""
        by = role.removesuffix(f" of {cta}")
        amounts = (str(count) if count else "", str(nbytes) if nbytes else "")
        table.add_row(f"{time:.0f}", f"{cta} {barrier}", str(phase), what, *amounts, by, line)
    return table


def plain(page: RenderableType, width: int = WIDTH) -> str:
    """A page as text without colour, in lines of at most `width` columns."""
    out = StringIO()
    Console(file=out, width=width, color_system=None, force_terminal=False, highlight=False).print(page)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def to_json(report: Report) -> str:
    """The report as one JSON object; spans are "file:line:column". The timeline is left out."""
    return json.dumps(as_dict(report), ensure_ascii=False)


# -- pieces ------------------------------------------------------------------------------------------------------------


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number > 1)}" if number else ""


def _labelled(label: str, text: str, suffix: str = "") -> Text:
    out = Text(f"{label}: ", style=STYLES[label])
    out.append(text, style="bold" if label in ("error", "warning") else "not bold")
    if suffix:
        out.append(f" {suffix}", style="dim")
    return out


def _place(span: Span | None, context: int = 0) -> Iterator[RenderableType]:
    """The source at a span, moved to the left so that narrow terminals show it, and the calls it was inlined at."""
    if span is None:
        return
    user = span.user
    where, *lines = excerpt(user, context)
    yield Text(f"{where.partition('-->')[0]}--> {_file(user)}:{user.line}:{user.column + 1}", style="cyan")
    for line in _dedented(lines):
        culprit = set(line.partition("|")[2].strip()) == {"^"}
        yield Text(line, style="red" if culprit else "", no_wrap=True, overflow="ellipsis")
    for outer in user.chain():
        if outer is not user:
            yield Text(f"  = inlined from {_file(outer)}:{outer.line}")


def _file(span: Span) -> str:
    """The file's path, from the working directory where it lies in it."""
    path = Path(span.file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else span.file


def _dedented(lines: list[str]) -> list[str]:
    """The source lines of an excerpt without the indentation that all of them have."""
    source = [line.partition(" | ")[2] for line in lines if " | " in line]
    margin = min((len(text) - len(text.lstrip()) for text in source if text.strip()), default=0)
    out: list[str] = []
    for line in lines:
        number, bar, text = line.partition(" | ")
        out.append(f"{number}{bar}{text[margin:]}" if bar else line)
    return out


def _cycle(waits: Sequence[str]) -> RenderableType:
    """A chain of arrows that ends where it began."""
    lines = [Text(f"-> {text}" if depth else text) for depth, text in enumerate(waits)]
    first = waits[0].partition(" wait")[0]
    lines.append(Text(f"-> {first}, from the beginning"))
    return Group(*(Padding(line, (0, 0, 0, 2)) for line in lines))


def _provided(roles: Sequence[StuckRole]) -> Iterator[RenderableType]:
    """For each role, who should let it go on."""
    for role in roles:
        if role.providers:
            yield Padding(Text(f"{role.role}: {'; '.join(role.providers)}"), (0, 0, 0, 2))
