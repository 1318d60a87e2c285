"""The sheet of all calls, docs/calls.md, on one page of paper: `make calls`, or `python -m tools.sheet [FILE]`."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from markdown_it import MarkdownIt

from tools.pages import DOCS, ROOT
from tools.slides import BROWSERS

STYLE = """
@page { size: A4 landscape; margin: 6mm }
body { font: 6.7pt/1.15 system-ui, "DejaVu Sans", sans-serif; columns: 3; column-gap: 4mm; margin: 0 }
h1 { font-size: 10pt; margin: 0 }
h2 { font-size: 8.5pt; margin: 1.2mm 0 .4mm }
h2, tr { break-inside: avoid }
h2 { break-after: avoid }
p { margin: .6mm 0 }
table { border-collapse: collapse; width: 100% }
th { display: none }
td { border-top: .2pt solid #999; padding: .3mm .6mm .3mm 0; vertical-align: top }
td:first-child { width: 56% }
code { font: 6pt/1.15 "DejaVu Sans Mono", monospace; overflow-wrap: anywhere }
"""
"""Three columns that fit on one page; the titles of the tables are left out."""
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def document(page: str) -> str:
    """The page as HTML to print, without its links."""
    head, *sections = MarkdownIt("commonmark").enable("table").render(_LINK.sub(r"\1", page)).split("<h2>")
    body = head + "".join(f"<section><h2>{section}</section>" for section in sections)
    return f'<!doctype html><html lang="en"><meta charset="utf-8"><title>All calls</title><style>{STYLE}</style>{body}'


def main(arguments: list[str] | None = None) -> int:
    """Print the sheet; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.sheet", description="Print docs/calls.md as a PDF.")
    parser.add_argument("file", nargs="?", type=Path, default=ROOT / "build" / "calls.pdf", help="build/calls.pdf")
    file: Path = parser.parse_args(arguments).file.resolve()
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print("error: a PDF is printed by Chromium or Chrome, and neither is installed", file=sys.stderr)
        return 1
    file.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        source = Path(folder) / "calls.html"
        source.write_text(document((DOCS / "calls.md").read_text(encoding="utf-8")), encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", f"--print-to-pdf={file}"]
        done = subprocess.run([browser, *options, source.as_uri()], capture_output=True, text=True, check=False)
    if done.returncode != 0 or not file.is_file():
        print(f"error: {browser} printed no PDF\n{done.stderr.strip()}", file=sys.stderr)
        return 1
    print(file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
