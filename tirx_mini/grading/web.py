"""A grade as one HTML page without scripts or network access, legible in light, dark and unstyled form."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from .pages import headline
from .results import Graded, Part, StepResult, points_short, points_text
from .rules import PARTS

_STYLE = """
:root{color-scheme:light dark;--page:#fff;--ink:#1f2328;--soft:#57606a;--line:#d0d7de;--good:#1a6e2e;--bad:#b3261e;
--paper:#f4f6f8}
@media (prefers-color-scheme:dark){:root{--page:#14181d;--ink:#e8ebef;--soft:#a5aeb9;--line:#343c45;--good:#7ddc93;
--bad:#ff8a80;--paper:#1b2127}}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:56rem;margin:0 auto;padding:1.5rem 1rem 4rem;overflow-wrap:anywhere}
h1{font-size:1.5rem;margin:.2em 0}h2{font-size:1.15rem;margin:2rem 0 .4rem;padding-top:.8rem;
border-top:1px solid var(--line)}p{margin:.4em 0}
.soft{color:var(--soft)}.good{color:var(--good)}.bad{color:var(--bad)}
.scroll{overflow-x:auto}table{border-collapse:collapse;margin:1rem 0}
th,td{text-align:left;padding:.3rem .8rem .3rem 0;border-bottom:1px solid var(--line);white-space:nowrap}
td.n,th.n{text-align:right}th{font-weight:600}tr>th[scope=row]{font-weight:400}
a{color:inherit}summary{cursor:pointer}
pre{margin:.5em 0;padding:.6em .9em;overflow-x:auto;background:var(--paper);border-left:3px solid var(--line);
font:14px/1.4 ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace}
"""
_HEADS = ("", "Right", "Fast", "Uses it", "Points", "Of")


def grade_html(graded: Graded) -> str:
    """Return the page."""
    title = headline(graded).plain
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><main>"
        f"{''.join(_body(graded))}</main></body></html>\n"
    )


def _body(graded: Graded) -> Iterator[str]:
    where = f"a modelled {graded.gpu}" if graded.target == "sim" else graded.gpu
    points = "not graded" if graded.score is None else f"{_points(graded.score, graded.total)} points"
    yield f"<h1>{escape(graded.name)}: {points}</h1>"
    if graded.gpu:
        yield f'<p class="soft">Judged on {escape(where)}. SHA-256 of the source: {escape(graded.digest[:16])}…</p>'
    if graded.problem:
        yield f"<p>The file cannot be graded:</p>{_block(graded.problem, 'What is wrong with the file')}"
    if graded.not_graded:
        yield f'<p class="bad">The grader failed, so there is no score yet; {escape(graded.why_not)}.</p>'
    if graded.late is not None:
        yield f'<p class="bad">{escape(_sentence(graded.late.said))}</p>'
    yield _table(graded)
    for step in graded.steps:
        yield from _step(step, bool(graded.problem))
    if graded.log:
        yield f"<h2>What the file printed</h2>{_block(graded.log, 'What the file printed')}"
    if graded.notes:
        yield "<h2>Notes</h2>"
        yield from (f"<p>{escape(_sentence(note))}</p>" for note in graded.notes)


def _table(graded: Graded) -> str:
    first = "Task" if any(step.task for step in graded.steps) else "Step"
    heads = "".join(f'<th scope="col"{_number(name)}>{name or "Title"}</th>' for name in (first, *_HEADS))
    rows = "".join(map(_row, graded.steps))
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Steps"><table>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _number(name: str) -> str:
    return ' class="n"' if name in ("Points", "Of") else ""


def _row(step: StepResult) -> str:
    marks = "".join(f"<td>{_mark(step.part(name))}</td>" for name in PARTS)
    return (
        f'<tr><th scope="row"><a href="#step{step.number}">{step.number}</a></th><td>{escape(step.title)}</td>'
        f'{marks}<td class="n">{points_short(step.score)}</td><td class="n">{points_text(step.points)}</td></tr>'
    )


def _mark(part: Part) -> str:
    if part.passed is None:
        return f'<span class="soft">not {"graded" if part.lost else "judged"}</span>'
    return '<span class="good">yes</span>' if part.passed else '<span class="bad">no</span>'


def _step(step: StepResult, brief: bool) -> Iterator[str]:
    earned = _points(step.score, step.points)
    yield f'<section><h2 id="step{step.number}">{step.name.capitalize()}, {escape(step.title)}: {earned}</h2>'
    for part in () if brief else step.parts:
        accent = "soft" if part.passed is None else "good" if part.passed else "bad"
        yield f'<p><b class="{accent}">{part.name}</b>: {escape(part.said)}</p>'
        for page in part.pages:
            block = _block(page, f"{part.name} of {step.name}")
            yield f"<details><summary>The page of the finding</summary>{block}</details>"
    if step.said:
        yield f"<p>{escape(_sentence(step.said))}</p>"
    if step.printed:
        yield f"<p>The kernel printed:</p>{_block(step.printed, f'What the kernel of {step.name} printed')}"
    if step.reproduce and not brief:
        yield f"<p>To see it again:</p>{_block(step.reproduce, f'The command for {step.name}')}"
    yield "</section>"


def _points(score: float | None, of: float) -> str:
    return "not graded" if score is None else f"{points_text(score)} of {points_text(of)}"


def _block(text: str, name: str) -> str:
    """Return lines in a fixed font that a keyboard can scroll."""
    return f'<pre tabindex="0" role="region" aria-label="{escape(name)}">{escape(text.rstrip())}</pre>'


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
