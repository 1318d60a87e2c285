"""The findings of a simulation as terminal pages, which fit 80 columns and are legible without colour.

print(plain(report_page(report)))          # text
Console().print(report_page(report))       # with colour
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from io import StringIO

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from tirx_mini.diagnose import Finding, Report, as_dict
from tirx_mini.ir import Span

from .source import line_number, source_lines
from .stuck import ring, stuck_page

WIDTH = 80
MOST_PAGES, MOST_FOLDED = 3, 5
"""The maximum numbers of findings with a full page, and of further findings with one line."""
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


def report_page(report: Report, wrong: Finding | None = None, everything: bool = False) -> RenderableType:
    """Return the page of a report: the verdict, the outlook, the proof, the performance bound and the findings.

    The first findings have a page each, further ones a line; consequences are only counted. wrong: the finding about a
    wrong result, which always has a page. everything: whether all findings have a page.
    """
    parts: list[RenderableType] = [headline(report, wrong)]
    if report.timing is not None:
        parts.append(Text(report.timing.parts, style="dim"))
    if report.sampled:
        parts.append(Text(report.sampled, style="dim"))
    parts += [_labelled("note", sentence) for sentence in report.unchecked]
    if wrong is None:  # its page has them
        parts += [_labelled("note", sentence) for sentence in report.unwritten]
    if report.outlook:
        parts.append(Text(report.outlook, style="bold"))
    if report.proof is not None:
        parts.append(Text(str(report.proof), style="dim"))
    if report.bound is not None and not report.errors and wrong is None:
        parts.append(Text(str(report.bound)))
    causes = with_wrong(report.causes, wrong)
    shown = len(causes) if everything else MOST_PAGES
    for number, finding in enumerate(causes[:shown], 1):
        parts += ["", Text(f"{number} of {len(causes)}", style="dim"), finding_page(finding)]
    parts += _folded("further findings", causes[shown:])
    later = report.consequences
    if later:
        count = _count(len(later), "consequence")
        parts += ["", Text(f"{count}: what follows from it, or is due to the same mistake", style="dim")]
    if everything:
        for finding in later:
            parts += ["", finding_page(finding)]
    elif later or len(causes) > shown:
        parts.append(Text("with --all, check and the step tests show each of them", style="dim"))
    return Group(*parts)


def plan_text(report: Report) -> str:
    """Return a text on the plan of the launch: its assumption, the saved work, and the rejected plans."""
    plan = report.plan
    if plan is None:
        return "plan: none, since nothing was executed"
    lines = [f"plan: {plan.name}", f"  assumes {plan.assumed}", f"  saves {plan.saved}"]
    return "\n".join([*lines, *(f"  not {name}: {reason}" for name, reason in plan.others)])


def with_wrong(causes: Sequence[Finding], wrong: Finding | None) -> Sequence[Finding]:
    """Insert a wrong result into the causes, after errors and before warnings and notes."""
    if wrong is None:
        return causes
    place = min(sum(finding.severity == "error" for finding in causes), MOST_PAGES - 1)
    return [*causes[:place], wrong, *causes[place:]]


def _folded(title: str, findings: Sequence[Finding]) -> Iterator[RenderableType]:
    """Yield one line per finding, below a title."""
    if findings:
        yield from ("", Text(title, style="dim"))
        yield from (Text(brief(finding), no_wrap=True, overflow="ellipsis") for finding in findings[:MOST_FOLDED])
    if len(findings) > MOST_FOLDED:
        yield Text(f"and {len(findings) - MOST_FOLDED} more", style="dim")


def brief(finding: Finding) -> str:
    """Return a finding as a single line."""
    return f"{finding.severity}[{finding.code}] line {line_number(finding.span)}: {finding.message}"


def headline(report: Report, wrong: Finding | None = None) -> Text:
    """Return the headline: the kernel, its verdict, the number of findings, and the predicted time. wrong: as in
    `report_page`."""
    text = Text(f"{report.kernel or 'kernel'}: ")
    verdict = report.verdict if wrong is None else "wrong"
    said = f"{verdict} so far: {report.yours}" if report.yours else verdict
    text.append(said, STYLES["ok" if verdict == "ok" else "error"])
    return text.append(after_verdict(report, wrong))


def after_verdict(report: Report, wrong: Finding | None = None) -> str:
    """Return the part of the headline after the verdict: the number of findings, the times, the rate and the seed."""
    possible = sum(not error.happened for error in report.errors)
    counts = [
        _count(len(report.errors) - possible + (wrong is not None), "error"),
        _count(possible, "possible error"),
        _count(len(report.warnings), "warning"),
        _count(len(report.notes), "note"),
    ]
    said = [each for each in counts if each]
    text = f" ({', '.join(said)})" if said else ""
    if report.timing is not None:
        text += f", {report.timing.sentence(report.gpu)}"
    if not report.ok and report.seed:
        text += f"; replay with --seed {report.seed}"
    return text


def finding_page(finding: Finding) -> RenderableType:
    """Return the page of a finding: the message, the location, the fix, and the notes."""
    details = finding.details
    parts: list[RenderableType] = [_labelled(finding.severity, finding.message, finding.code)]
    parts += source_lines(finding.span, CONTEXT)
    if not finding.happened:
        parts.append(_labelled("possible", f"not seen in this run: it goes wrong {finding.order}"))
    if details.get("hint"):
        parts.append(_labelled("help", details["hint"]))
    for text, spans in places(details.get("notes", ())):
        parts.append(_labelled("note", text + also(spans)))
        parts += source_lines(spans[0] if spans else None)
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


def places(notes: Sequence[tuple[str, Span | None]]) -> Iterator[tuple[str, list[Span]]]:
    """Yield each distinct text with its source locations."""
    found: dict[str, list[Span]] = {}
    for text, span in notes:
        found.setdefault(text, []).extend([] if span is None else [span])
    yield from found.items()


def also(spans: Sequence[Span]) -> str:
    """Return the other lines of a note, as " (and in lines 7, 8 and 9)"."""
    numbers = list(dict.fromkeys(map(line_number, spans)))[1:]
    if len(numbers) < 2:
        return f" (and in line {numbers[0]})" if numbers else ""
    return f" (and in lines {', '.join(numbers[:-1])} and {numbers[-1]})"


def plain(page: RenderableType, width: int = WIDTH) -> str:
    """Render a page as plain text, in lines of at most `width` columns."""
    out = StringIO()
    console = Console(
        file=out, width=width, color_system=None, force_terminal=False, force_jupyter=False, highlight=False
    )  # in a notebook, rich displays its output by default
    console.print(page)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def to_json(report: Report) -> str:
    """Return the report as a JSON object, without the timeline. Spans are "file:line:column"."""
    return json.dumps(as_dict(report), ensure_ascii=False)


# -- pieces ------------------------------------------------------------------------------------------------------------


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number > 1)}" if number else ""


def _labelled(label: str, text: str, code: str = "") -> Text:
    out = Text(f"{label}[{code}]: " if code else f"{label}: ", style=STYLES[label])
    return out.append(text, style="bold" if code else "not bold")
