"""The table that ``python -m tirx_mini ladder`` prints, at most 80 columns wide."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from tirx_mini.course import Row, shape_text
from tirx_mini.diagnose import rate_figure

_STYLES = {"ok": "green", "clock": "cyan", "wrong": "bold red", "incomplete": "yellow"}


def ladder_table(rows: Sequence[Row], gpu: str) -> Table:
    """Return a table of the rows in the given order, with times predicted by the simulator's clock."""
    table = Table(
        title=f"The ladder in the simulator, {gpu.upper()}",
        caption="max err: against float64. µs, TFLOPS, peak: predicted, in a row of launches. wall s: to build and "
        "simulate. clock: the time alone; values and hazards are not checked.",
        box=None,
        pad_edge=False,
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("step", justify="right", no_wrap=True)
    for name in ("size", "verdict", "findings", "max err", "µs", "TFLOPS", "peak", "wall s"):
        table.add_column(name, justify="left" if name == "verdict" else "right", no_wrap=True)
    previous = None
    for row in rows:
        table.add_row(str(row.step) if row.step != previous else "", *_cells(row))
        previous = row.step
    return table


def why_table(rows: Sequence[Row]) -> Table:
    """Return a table of the bound of each row's kernel, in words."""
    table = Table(title="What bounds each step", box=None, pad_edge=False, title_justify="left")
    table.add_column("step", justify="right", no_wrap=True)
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("bound by")
    for row in rows:
        if row.why:
            said = Text(row.bound, style="bold").append(row.why.removeprefix(row.bound), "not bold")
            table.add_row(str(row.step), shape_text(row.shape), said)
    return table


def _cells(row: Row) -> tuple[str | Text, ...]:
    return (
        shape_text(row.shape),
        Text(row.verdict, style=_STYLES.get(row.verdict, "red")),
        str(row.findings),
        _number(row.max_abs_error, ".3f"),
        _number(row.time_us, ".1f"),
        "–" if row.tflops is None else rate_figure(row.tflops),
        _number(row.peak_share, ".0%"),
        f"{row.wall_s:.1f}",
    )


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)
