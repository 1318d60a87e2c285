"""The pictures of the documentation, drawn anew: `make figures`, or `python -m tools.figures [FOLDER]`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from benchmarks.chart import chart_of_table

DOCS = Path(__file__).parents[1] / "docs"


def figures() -> Mapping[str, str]:
    """The text of each picture by its path under `docs/`. They are the same on every machine."""
    return {"h100.svg": chart_of_table(DOCS / "h100.csv", "The Hopper ladder on an H100, float16")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=DOCS, help="where they are written (docs)")
    options = parser.parse_args()
    for name, text in figures().items():
        path = options.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
