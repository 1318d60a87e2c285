"""Step 10 with one of its ideas left out at a time, from the table that `benchmarks/ablation.py` makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tools.figures import records

GPUS = {"h100": "H100", "b200": "B200"}


def _row(row: Mapping[str, str], first: Mapping[str, str], measured: bool) -> str:
    us = [float(row["predicted_us"]), float(first["predicted_us"])]
    cells = [row["left_out"], row["instead"], row["predicted_us"], row["ghz"], _more(*us)]
    if measured:
        cells += [row["measured_us"], _more(float(row["measured_us"]), float(first["measured_us"]))]
    return f"| {' | '.join(cells)} |"


def _more(us: float, all_us: float) -> str:
    percent = round(100 * (us / all_us - 1))
    return f"{percent:+d} %".replace("-", "−") if percent else "0 %"


def _table(rows: Sequence[Mapping[str, str]]) -> str:
    measured = all(row["measured_us"] for row in rows)
    names = ["left out", "instead", "predicted µs", "GHz", "more", *(["measured µs", "more"] if measured else [])]
    rule = ["---", "---", *["---:"] * (len(names) - 2)]
    head = [f"| {' | '.join(cells)} |" for cells in (names, rule)]
    return "\n".join([*head, *(_row(row, rows[0], measured) for row in rows)])


def passages() -> Iterator[tuple[str, str]]:
    rows = records("ablation.csv")
    for gpu in GPUS:
        yield f"ablation-{gpu}", _table([row for row in rows if row["gpu"] == gpu])
