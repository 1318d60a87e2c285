"""`make figures`: write the pictures, and fill the passages of the pages."""

from __future__ import annotations

import argparse
from pathlib import Path

from tools.figures import DOCS, filled, pages, passages, pictures, topics


def main() -> int:
    known = topics()
    parser = argparse.ArgumentParser(prog="python -m tools.figures", description=__doc__)
    parser.add_argument("--folder", type=Path, default=DOCS, help="where the pictures are written (docs)")
    parser.add_argument("--only", metavar="TOPIC", action="append", choices=list(known), help="one topic (all)")
    options = parser.parse_args()
    texts: dict[str, str] = {}
    for name in options.only or known:
        for path, text in pictures(known[name]):
            target = options.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
            print(target)
        texts.update(passages(known[name]))
    for page in pages():
        before = page.read_text(encoding="utf-8")
        after = filled(before, texts)
        if after != before:
            page.write_text(after, encoding="utf-8")
            print(page)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
