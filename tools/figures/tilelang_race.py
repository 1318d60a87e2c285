"""Programs in TileLang on a Hopper GPU, as TileLang and as we compile them, from docs/h200_tilelang.csv."""

from __future__ import annotations

from collections.abc import Iterator

from tools.figures import records
from tools.pages import as_table

OURS, PEER = "ours ", "TileLang "


def rows() -> dict[str, dict[str, float]]:
    """TFLOPS by problem and candidate."""
    found: dict[str, dict[str, float]] = {}
    for row in records("h200_tilelang.csv"):
        found.setdefault(row["problem"], {})[row["candidate"]] = float(row["TFLOPS"])
    return found


def table() -> str:
    lines = [["problem", "tile", "tirx_mini", "TileLang 0.1.15", "ratio", "library"], ["---", "---", *["---:"] * 4]]
    for problem, by in rows().items():
        library = max((name for name in by if not name.startswith((OURS, PEER))), key=by.__getitem__)
        plans = sorted(name.removeprefix(OURS) for name in by if name.startswith(OURS))
        for plan in plans:
            ours, peer = by[OURS + plan], by[PEER + plan]
            best = f"{library}: {by[library]:.0f}"
            lines.append([problem, plan, f"{ours:.0f}", f"{peer:.0f}", f"{ours / peer:.2f}", best])
    return as_table(lines)


def passages() -> Iterator[tuple[str, str]]:
    """The name and the Markdown of each passage."""
    yield "h200-tilelang", table()
