"""Grouped bar charts as SVG, without a library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 960, 360
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 56, 40
PALETTE = ("#8c8c8c", "#d98c3f", "#cfe0f3", "#b3cfeb", "#94bce2", "#74a8d8", "#5593cc", "#3b7dba", "#2667a3", "#124f8a")


def bar_chart(title: str, unit: str, groups: Mapping[str, Mapping[str, float]], series: Sequence[str]) -> str:
    """One group of bars for each of `groups`, a bar for each of `series` that it has a value for.

    The picture names its fonts only by family and has a background of its own, so it reads the same everywhere.
    """
    top = max((value for group in groups.values() for value in group.values()), default=1.0)
    step = _tick(top)
    ceiling = step * -(-top // step)
    inner_w, inner_h = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
        '<g font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="20" font-size="15" font-weight="bold" fill="#222222">{escape(title)}</text>',
        *_legend(series),
    ]
    value = 0.0
    while value <= ceiling:
        y = TOP + inner_h * (1 - value / ceiling)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#444444">{value:g}</text>')
        value += step
    parts.append(
        f'<text x="14" y="{TOP + inner_h / 2:.0f}" fill="#444444" text-anchor="middle" '
        f'transform="rotate(-90 14 {TOP + inner_h / 2:.0f})">{escape(unit)}</text>'
    )
    slot = inner_w / max(1, len(groups))
    bar = slot * 0.86 / max(1, len(series))
    for position, (name, values) in enumerate(groups.items()):
        left = LEFT + slot * position + slot * 0.07
        for index, label in enumerate(series):
            if label in values:
                height = inner_h * values[label] / ceiling
                x, y = left + index * bar, TOP + inner_h - height
                parts.append(
                    f'<rect x="{x:.1f}" y="{y:.1f}" width="{bar * 0.92:.1f}" height="{height:.1f}" '
                    f'fill="{_colour(index)}">'
                    f"<title>{escape(f'{name}, {label}: {values[label]:.0f} {unit}')}</title></rect>"
                )
        middle = LEFT + slot * (position + 0.5)
        parts.append(
            f'<text x="{middle:.1f}" y="{HEIGHT - 16}" text-anchor="middle" fill="#222222">{escape(name)}</text>'
        )
    return "\n".join([*parts, "</g>", "</svg>", ""])


def _legend(series: Sequence[str]) -> list[str]:
    parts, x = [], float(LEFT)
    for index, label in enumerate(series):
        parts.append(f'<rect x="{x:.0f}" y="32" width="10" height="10" fill="{_colour(index)}"/>')
        parts.append(f'<text x="{x + 14:.0f}" y="41" fill="#444444">{escape(label)}</text>')
        x += 26 + 7 * len(label)
    return parts


def _colour(index: int) -> str:
    return PALETTE[index % len(PALETTE)]


def _tick(top: float) -> float:
    """A round distance between lines, for four to eight of them."""
    size = 1.0
    while top / size > 8:
        size *= 2.5 if str(size).startswith("2") else 2
    return size
