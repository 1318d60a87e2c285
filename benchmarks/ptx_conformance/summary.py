"""The output of a comparison: tables in Markdown, and files of programs that differ."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from .judging import Error
from .running import Outcome

MOST_FILES = 6
FINE = ("agree", "not run")


def text(outcomes: Sequence[Outcome], seconds: float, about: str) -> str:
    """The whole summary."""
    lines = [about, f"{seconds:.0f} s", "", *_troubles(outcomes), "", *_forms(outcomes), "", *_errors(outcomes)]
    lines += ["", *_programs(outcomes)]
    return "\n".join(lines) + "\n"


def _programs(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Random programs by their style."""
    count = Counter((each.style, each.outcome) for each in outcomes if each.style != "table")
    kinds = list(dict.fromkeys(("agree", "differ", *(outcome for _, outcome in count))))
    yield f"| random programs | programs | {' | '.join(kinds)} |"
    yield "| --- " * (len(kinds) + 2) + "|"
    styles = list(dict.fromkeys(style for style, _ in count))
    for style in styles:
        numbers = [count[style, kind] for kind in kinds]
        yield f"| {style} | {sum(numbers)} | {' | '.join(map(str, numbers))} |"
    numbers = [sum(count[style, kind] for style in styles) for kind in kinds]
    yield f"| all | {sum(numbers)} | {' | '.join(map(str, numbers))} |"


def by_form(outcomes: Sequence[Outcome]) -> dict[str, str]:
    """The outcome of each form of the table."""
    found: dict[str, str] = {}
    for each in outcomes:
        if each.style != "table":
            continue
        wrong = {difference.what for difference in each.differences}
        wrong |= {error.form for error in each.errors if error.outside}
        for form in each.forms:
            found[form] = "differ" if form in wrong else "agree" if each.outcome == "differ" else each.outcome
    return found


def _forms(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """The table of opcodes, by the first word of the opcode."""
    found = by_form(outcomes)
    count = Counter((form.partition(".")[0].partition(",")[0], outcome) for form, outcome in found.items())
    kinds = list(dict.fromkeys(("agree", "differ", *(outcome for _, outcome in count))))
    yield f"| opcode | forms | {' | '.join(kinds)} |"
    yield "| --- " * (len(kinds) + 2) + "|"
    for family in sorted({family for family, _ in count}):
        numbers = [count[family, kind] for kind in kinds]
        yield f"| `{family}` | {sum(numbers)} | {' | '.join(map(str, numbers))} |"
    numbers = [sum(number for (_, kind), number in count.items() if kind == each) for each in kinds]
    yield f"| all | {sum(numbers)} | {' | '.join(map(str, numbers))} |"


def _errors(outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield "| approximation | error | documented | chip | simulator | beyond |"
    yield "| --- | --- | --- | --- | --- | --- |"
    found: dict[str, Error] = {error.form: error for each in outcomes for error in each.errors}
    for form, error in sorted(found.items()):
        bound = f"{error.bound:.3g}" if error.bound else "none"
        yield f"| `{form}` | {error.unit} | {bound} | {error.chip:.3g} | {error.model:.3g} | {error.outside} |"


def _troubles(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """The failures: a line for each form of the table, and for the first difference of programs."""
    first: dict[str, list[str]] = {}
    for each in outcomes:
        for wrong in each.differences:
            place = f"column {wrong.slot}, thread {wrong.thread}, {wrong.count} in all"
            given = f" of {', '.join(wrong.operands)}" if wrong.operands else ""
            line = f"{each.name} ({each.style}): {wrong.what}{given}: chip {wrong.chip}, model {wrong.model} ({place})"
            first.setdefault(wrong.what if each.style != "table" else each.name + wrong.what, []).append(line)
            if each.style != "table":
                break
        for error in each.errors:
            if error.outside:
                line = f"{each.name}: {error.form}: {error.outside} beyond the bound, the worst {error.example}"
                first.setdefault(error.form, []).append(line)
        if each.outcome not in (*FINE, "differ"):
            of = f" [{', '.join(each.forms[:3])}]" if each.forms else ""
            line = f"{each.name} ({each.style}): {each.outcome}: {each.detail[:300]}{of}"
            first.setdefault(f"{each.outcome} {each.detail[:60]}", []).append(line)
    for lines in sorted(first.values(), key=len, reverse=True):
        yield f"- {len(lines)} ×: {lines[0]}"


def write(folder: Path, outcomes: Sequence[Outcome], summary: str) -> None:
    """The summary, all outcomes as JSON, and the first programs that differ."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "summary.md").write_text(summary)
    bad = [each for each in outcomes if each.outcome not in FINE]
    listed = [{key: value for key, value in asdict(each).items() if key != "text"} for each in bad]
    (folder / "differences.json").write_text(json.dumps(listed[:400], indent=1))
    shown = sorted((each for each in bad if each.text), key=lambda each: (each.style == "table", len(each.text)))
    for each in shown[:MOST_FILES]:
        (folder / f"{each.name}.ptx").write_text(each.text)
