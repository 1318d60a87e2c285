"""Comparison of two runs as text for a terminal."""

from __future__ import annotations

import textwrap

from .against import Comparison, Difference

SHOWN = 0.01
"""The threshold for a row to be shown, as a fraction of the longer run."""


def against_text(comparison: Comparison, width: int = 80) -> str:
    """Return the sentences, and a table of both runs in µs, in lines of at most `width` columns."""
    runs = (comparison.before, comparison.after)
    least = SHOWN * max(run.whole_us for run in runs)
    rows = [row for row in comparison.differences if max(row.before or 0.0, row.after or 0.0) >= least]
    columns = [max(9, min(len(run.name), 20)) for run in runs]
    first = width - sum(columns) - 2
    lines = [line for sentence in comparison.sentences for line in textwrap.wrap(sentence, width)]
    lines += ["", _line("µs of an average CTA slot", [run.name for run in runs], first, columns)]
    lines.append(_line("the run", [f"{run.whole_us:.1f}" for run in runs], first, columns))
    lines += [_line(_label(row), [_figure(row.before), _figure(row.after)], first, columns) for row in rows]
    return "\n".join(lines)


def _label(row: Difference) -> str:
    if not row.what:
        return f"{row.who}: busy"
    old, new = row.names
    if old == new:
        return f"{row.who}: waits for {row.what}"
    return f"{row.who}: waits for {row.what} ({f'{old} → {new}' if old and new else old or new})"


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _line(label: str, cells: list[str], first: int, columns: list[int]) -> str:
    label = label if len(label) <= first else f"{label[: first - 1]}…"
    parts = [f"{cell[:column]:>{column}}" for cell, column in zip(cells, columns, strict=True)]
    return f"{label:<{first}} {' '.join(parts)}"
