"""The chart of a table of measured times as SVG: a group of bars for each size, a bar for each contestant."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from tirx_mini.report import PAPER, Paint, Picture

WIDTH, HEIGHT = 960, 360
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 56, 40
FIRST = 3
STEPS_LIGHT = ("#cfe0f3", "#b3cfeb", "#94bce2", "#74a8d8", "#5593cc", "#3b7dba", "#2667a3", "#124f8a")
STEPS_DARK = ("#3d78ab", "#4f89bb", "#629ac9", "#77abd7", "#8ebbe3", "#a6cbee", "#c0dbf6", "#dcecfd")
"""From step `FIRST` on: the later the step, the stronger the contrast with the page. On dark pages the weakest is 3
to 1, on light ones the edges are."""
PAINTS = {
    **{name: PAPER[name] for name in ("page", "ink", "soft", "grid")},
    "edge": Paint("stroke", "#3f6f9f", "#b5cfe8"),
    "cublas": Paint("fill", "#8c8c8c", "#9aa0a6"),
    "triton": Paint("fill", "#d98c3f", "#d98c3f"),
    **{
        f"step{FIRST + index}": Paint("fill", light, dark)
        for index, (light, dark) in enumerate(zip(STEPS_LIGHT, STEPS_DARK, strict=True))
    },
}
RULES = "text{font-size:13px}.head{font-size:16px;font-weight:bold}.edge{stroke-width:.8}.small{font-size:12px}"


def chart_of_table(path: Path, title: str, dtype: str = "float16") -> str:
    """The chart of the square sizes of a table like `docs/h100.csv`."""
    groups: dict[str, dict[str, float]] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["dtype"] == dtype and row["M"] == row["N"] == row["K"]:
                groups.setdefault(row["M"], {})[row["kernel"]] = float(row["tflops"])
    series = list(dict.fromkeys(name for values in groups.values() for name in values))
    return bar_chart(title, "TFLOPS", groups, sorted(series, key=_rank))


def bar_chart(title: str, unit: str, groups: Mapping[str, Mapping[str, float]], series: Sequence[str]) -> str:
    """One group of bars for each of `groups`, a bar for each of `series` that it has a value for."""
    top = max((value for group in groups.values() for value in group.values()), default=1.0)
    step = _tick(top)
    ceiling = step * -(-top // step)
    best = ", ".join(f"{name}: {max(values, key=lambda key: values[key])}" for name, values in groups.items())
    picture = Picture(WIDTH, HEIGHT, title, f"{unit} by size. The fastest: {best}.", PAINTS, RULES)
    picture.rect(0, 0, WIDTH, HEIGHT, "page")
    picture.text(LEFT, 20, title, "ink head")
    _legend(picture, series)
    _axis(picture, unit, step, ceiling)
    slot = (WIDTH - LEFT - RIGHT) / max(1, len(groups))
    bar = slot * 0.86 / max(1, len(series))
    for position, (name, values) in enumerate(groups.items()):
        left = LEFT + slot * position + slot * 0.07
        for index, label in enumerate(series):
            if label in values:
                height = (HEIGHT - TOP - BOTTOM) * values[label] / ceiling
                picture.rect(
                    left + index * bar, HEIGHT - BOTTOM - height, bar * 0.92, height, _paint(label),
                    title=f"{name}, {label}: {values[label]:.0f} {unit}",
                )  # fmt: skip
                middle = left + (index + 0.46) * bar
                picture.text(middle, HEIGHT - BOTTOM + 12, _short(label), "soft small", text_anchor="middle")
        picture.text(LEFT + slot * (position + 0.5), HEIGHT - 10, name, "ink", text_anchor="middle")
    return str(picture)


def _axis(picture: Picture, unit: str, step: float, ceiling: float) -> None:
    height = HEIGHT - TOP - BOTTOM
    for index in range(round(ceiling / step) + 1):
        y = TOP + height * (1 - index * step / ceiling)
        picture.add("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="grid")
        picture.text(LEFT - 6, y + 4, f"{index * step:g}", "soft", text_anchor="end")
    middle = TOP + height / 2
    picture.text(14, middle, unit, "soft", text_anchor="middle", transform=f"rotate(-90 14 {middle:g})")


def _legend(picture: Picture, series: Sequence[str]) -> None:
    x = float(LEFT)
    for index, label in enumerate(series):
        picture.rect(x, 32, 10, 10, _paint(label))
        picture.text(x + 14, 41, label, "soft")
        x += 26 + 7.6 * len(label)


def _rank(name: str) -> tuple[bool, int, str]:
    """The order of the bars: cuBLAS and Triton, then the steps by number."""
    return (name.startswith("step "), _step(name) if name.startswith("step ") else 0, name.lower())


def _paint(name: str) -> str:
    """The classes of a contestant's bars. Steps that the palette does not know look like its first or last one."""
    if not name.startswith("step "):
        return f"{name.lower()} edge"
    return f"step{min(max(_step(name), FIRST), FIRST + len(STEPS_LIGHT) - 1)} edge"


def _short(name: str) -> str:
    """What stands under a bar, so that nobody must tell the contestants by their colours."""
    return name.removeprefix("step ")[:2]


def _step(name: str) -> int:
    return int(name.removeprefix("step "))


def _tick(top: float) -> float:
    """A round distance between lines, for four to eight of them."""
    size = 1.0
    while top / size > 8:
        size *= 2.5 if str(size).startswith("2") else 2
    return size
