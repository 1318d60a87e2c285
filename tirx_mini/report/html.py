"""Reports, findings and timelines as script-free HTML for notebooks, legible without the style sheet.

A notebook shows the fragments inside its own page and inherits its colours. The style sheet adds accents, by the theme
of JupyterLab, VS Code and Colab if they name one, or else by the theme of the system. JupyterLab drops the style sheet
from notebooks that are not trusted.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from rich.console import Group

from tirx_mini.diagnose import Finding, Report, Timeline
from tirx_mini.ir import Span

from .pages import MOST_PAGES, WIDTH, after_verdict, also, brief, places, plain, with_wrong
from .source import source_lines
from .stuck import ring, stuck_page
from .timeline import FIRST, SLOWEST, Heading, ctas_shown, timeline_svg

CLASS = "tirx"
_ACCENTS = {
    "bad": ("#b3261e", "#ff8a80"),
    "warn": ("#8a5a00", "#f2c14e"),
    "good": ("#1a6e2e", "#7ddc93"),
    "soft": ("#57606a", "#a5aeb9"),
    "note": ("#0b57a4", "#86bfff"),
    "odd": ("#7b3fa0", "#d7a6f5"),
}
"""The colours of each accent, on light and on dark pages."""
_DARK_THEMES = ('[data-jp-theme-light="false"]', ".vscode-dark", ".vscode-high-contrast", "html[theme=dark]")
_LIGHT_THEMES = ('[data-jp-theme-light="true"]', ".vscode-light", "html[theme=light]")
_LABELS = {"error": "bad", "warning": "warn", "note": "note", "help": "good", "possible": "odd", "rule": "soft"}
_CODE = "white-space:pre;font-family:ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace"
"""The style of source lines with an underline; it is inline because notebooks override the font of `pre`."""
_RULES = (
    ".{0}{{line-height:1.45;max-width:60em;overflow-wrap:anywhere}}.{0} p{{margin:.35em 0}}"
    ".{0} pre{{margin:.35em 0;padding:.4em .7em;overflow-x:auto;background:none;color:inherit;"
    "line-height:1.3;font-size:.92em;border-left:3px solid #8886}}"
    ".{0} section{{margin:.8em 0;padding-top:.5em;border-top:1px solid #8886}}"
    ".{0} summary{{cursor:pointer}}.{0} details{{margin:.35em 0}}.{0} ul{{margin:.2em 0 .2em 1.2em;padding:0}}"
)


def report_html(report: Report, wrong: Finding | None = None) -> str:
    """Return the verdict, the figures, the performance bound and the findings, with notes folded.

    The first findings have a section each; further ones, and consequences of others, have a line.
    wrong: the finding about a wrong result, as in `report_page`.
    """
    verdict = report.verdict if wrong is None else "wrong"
    name, accent = escape(report.kernel or "kernel"), "good" if verdict == "ok" else "bad"
    parts = [f"<p>{name}: {_strong(verdict, accent)}{escape(after_verdict(report, wrong))}</p>"]
    if report.timing is not None:
        parts.append(f"<p>{_soft(_sentence(report.timing.parts))}</p>")
    parts += [_labelled("note", sentence) for sentence in report.unchecked]
    if wrong is None:
        parts += [_labelled("note", sentence) for sentence in report.unwritten]
    if report.verdict == "clock":
        parts.append("<p>Values were not computed, and hazards were not looked for.</p>")
    parts += [f"<p>{_sentence(text)}</p>" for text in (report.sampled, report.outlook) if text]
    if report.proof is not None:
        parts.append(f"<p>{_soft(_sentence(str(report.proof)))}</p>")
    if report.bound is not None and not report.errors and wrong is None:
        parts.append(f"<p>{_sentence(str(report.bound))}</p>")
    causes = with_wrong(report.causes, wrong)
    for number, finding in enumerate(causes[:MOST_PAGES], 1):
        place = f"<p>{_soft(f'{number} of {len(causes)}')}</p>" if len(causes) > 1 else ""
        parts.append(f"<section>{place}{_finding(finding)}</section>")
    parts += _folded("further findings", causes[MOST_PAGES:])
    parts += _folded("what follows from it, or is due to the same mistake", report.consequences)
    return _fragment("".join(parts))


def finding_html(finding: Finding) -> str:
    """Return a finding: the message, the location, the fix, and folded notes."""
    return _fragment(_finding(finding))


def timeline_html(timeline: Timeline) -> str:
    """Return a static picture of the first CTA, or of the first deadlocked CTA. It is an image with its own styles."""
    if not timeline.ctas:
        return _fragment("<p>No CTA has started: there is no timeline to show.</p>")
    heading = Heading(timeline.label or "Timeline", timeline.clock_ghz or 1.0)
    svg = timeline_svg(timeline, heading, ctas_shown(timeline, FIRST if timeline.stuck is None else SLOWEST))
    data = b64encode(svg.encode()).decode("ascii")
    title = escape(f"Timeline of {heading.title}")
    return f'<img alt="{title}" style="width:100%;max-width:1200px" src="data:image/svg+xml;base64,{data}" />'


def _finding(finding: Finding) -> str:
    parts = [f"<p>{_strong(f'{finding.severity}[{finding.code}]', _LABELS[finding.severity])}: "]
    parts += [f"<b>{escape(finding.message)}</b></p>", _excerpt(finding.span, 1)]
    if not finding.happened:
        parts.append(_labelled("possible", f"not seen in this run: it goes wrong {finding.order}"))
    if finding.details.get("hint"):
        parts.append(_labelled("help", finding.details["hint"]))
    if finding.details.get("cycle"):
        parts += [_labelled("note", "they wait for one another"), _block(plain(ring(finding.details["cycle"]), WIDTH))]
    notes = list(_notes(finding))
    if notes:
        many = f"{len(notes)} notes" if len(notes) > 1 else "1 note"
        parts.append(f"<details><summary>{many}</summary>{''.join(notes)}</details>")
    rule = f"{finding.about.rule} {f'({finding.rule})' if finding.rule else ''}".rstrip()
    parts.append(f"<details><summary>rule and details</summary>{_labelled('rule', rule)}")
    parts.append(f"<p>{_soft(escape('; '.join(_facts(finding))))}</p></details>")
    return "".join(parts)


def _notes(finding: Finding) -> Iterator[str]:
    for text, spans in places(finding.details.get("notes", ())):
        yield _labelled("note", text + also(spans)) + _excerpt(spans[0] if spans else None)
    if finding.details.get("stuck"):
        yield _labelled("note", "who waits for what") + _block(plain(stuck_page(finding.details["stuck"]), WIDTH))


def _facts(finding: Finding) -> Iterator[str]:
    if finding.details.get("cta"):
        yield finding.details["cta"]
    if finding.happened and finding.severity == "error":
        yield "it happened in this run"
    if finding.details.get("count", 1) > 1:
        yield f"found {finding.details['count']} times"
    yield f"python -m tirx_mini explain {finding.code}"


def _folded(title: str, findings: Sequence[Finding]) -> Iterator[str]:
    """Yield a folded list with one line per finding, below a title."""
    if findings:
        items = "".join(f"<li>{escape(brief(finding))}</li>" for finding in findings)
        yield f"<details><summary>{title} ({len(findings)})</summary><ul>{items}</ul></details>"


def _excerpt(span: Span | None, context: int = 0) -> str:
    """Return the source lines of a span with an underline, untruncated."""
    lines = plain(Group(*source_lines(span, context)), 10_000).splitlines() if span is not None else []
    return _block("\n".join(lines)) if lines else ""


def _block(text: str) -> str:
    """Return lines in a fixed-width font, with emphasised underlines."""
    lines = []
    for line in text.rstrip("\n").splitlines():
        underlines = set(line.partition("|")[2].strip()) == {"^"}
        lines.append(_strong(line, "bad") if underlines else escape(line))
    return f'<pre style="{_CODE}">{chr(10).join(lines)}</pre>'


def _labelled(label: str, text: str) -> str:
    return f"<p>{_strong(label, _LABELS[label])}: {escape(text)}</p>"


def _sentence(text: str) -> str:
    return f"{escape(text[:1].upper() + text[1:])}."


def _soft(html: str) -> str:
    return f'<span class="{CLASS}-soft">{html}</span>'


def _strong(text: str, accent: str) -> str:
    return f'<b class="{CLASS}-{accent}">{escape(text)}</b>'


def _fragment(html: str) -> str:
    return f'<div class="{CLASS}"><style>{_style()}</style>{html}</div>'


def _style() -> str:
    """Return the accent styles: by the system theme, then by the page themes."""
    light = {name: colour for name, (colour, _) in _ACCENTS.items()}
    dark = {name: colour for name, (_, colour) in _ACCENTS.items()}
    system = f"{_accents(light)}@media (prefers-color-scheme:dark){{{_accents(dark)}}}"
    return _RULES.format(CLASS) + system + _accents(dark, _DARK_THEMES) + _accents(light, _LIGHT_THEMES)


def _accents(colours: Mapping[str, str], themes: Sequence[str] = ("",)) -> str:
    """Return a style rule for each accent on pages of the given themes."""
    rules = []
    for name, colour in colours.items():
        selectors = ",".join(f"{theme} .{CLASS} .{CLASS}-{name}".strip() for theme in themes)
        rules.append(f"{selectors}{{color:{colour}}}")
    return "".join(rules)
