"""The slides of the course: `make slides`, or `python -m tools.slides [FOLDER] [--no-pdf]`.

The sources are `slides/*.md`, one deck in the order of their names; slides are separated by `---`. What could become
stale is not in them. Marp renders the deck after these have been put in:

<!-- code: sm100/step07 -->   above a Python block: an excerpt of that reference kernel, checked. `…` stands for lines
    that are left out; comment lines may be left out without it.
<!-- figures: NAME -->   the passage of that name in the pages of `docs/`, without its links.
<!-- table: NAME | columns: A, B | rows: 1, 2 -->   columns and rows of the table in a passage; both are optional,
    and a comma in a name has a backslash before it.
<!-- output: NAME | FIRST | LAST -->   lines of a passage, or of a page such as docs/cuda.md, from the first that
    contains FIRST to the next that contains LAST, as a block. More pairs may follow.
<!-- quote: NAME | FIRST | LAST -->   the same lines as a quotation, with their Markdown.
{{NAME | ROW | COLUMN}}   a cell of the table in a passage.
![text](../docs/figures/NAME.svg "TOP ~ BOTTOM")   alone in a paragraph: the picture, or parts of it, one below the
    other, separated by `;`. TOP and BOTTOM are heights, `top`, `end`, or how a text in the picture begins.
"""

from __future__ import annotations

import argparse
import base64
import html
import math
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from textwrap import dedent, indent

from tools.figures import quotations
from tools.pages import as_table

ROOT = Path(__file__).parents[1]
SLIDES = ROOT / "slides"
MARP = SLIDES / "node_modules" / "@marp-team" / "marp-cli" / "marp-cli.js"
NAME = "course"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

ABOVE = 12
"""How far above the foot of a text a part of a picture begins or ends."""

_CODE = re.compile(r"^<!-- code: (?P<kernel>\S+) -->\n+```python\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE)
_DIRECTIVE = re.compile(r"^<!-- (?P<kind>figures|table|output|quote): (?P<rest>.*?) -->$", re.MULTILINE)
_CELL = re.compile(r"\{\{([^{}]*)\}\}")
_PICTURE = re.compile(r'^!\[(?P<text>[^\]]*)\]\((?P<path>\S+?\.svg)(?: "(?P<parts>[^"]+)")?\)$', re.MULTILINE)
_DARK = re.compile(r"@media \(prefers-color-scheme:dark\)\{(?:[^{}]*\{[^{}]*\})*\}")
_BOX = re.compile(r'viewBox="0 0 (\S+) (\S+)"')
_HATCH = re.compile(
    r'<pattern id="(?P<name>\w+)" width="(?P<step>[\d.]+)"[^>]*patternTransform="rotate\(45\)">'
    r'<rect width="(?P<size>[\d.]+)" [^>]*class="(?P<style>\w+)"/></pattern>'
)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")

FRONT = """---
marp: true
theme: course
paginate: true
lang: en-GB
title: GEMM on Blackwell, in ten steps
---
"""


class Stale(ValueError):
    """A source that no longer fits what it refers to; the message says where and why."""


@cache
def passages() -> dict[str, str]:
    """The text of each passage of the pages of `docs/`, by name."""
    pages = (path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").rglob("*.md")))
    return {name: text for page in pages for name, text in quotations(page).items()}


def passage(name: str) -> str:
    """The passage of this name, without the marks of its code blocks."""
    if name not in passages():
        raise Stale(f"no page has a passage {name}")
    return re.sub(r"^<!-- .* -->\n", "", passages()[name], flags=re.MULTILINE)


def cells(name: str) -> list[list[str]]:
    """The rows of the first table of a passage, its head included, without links."""
    rows = [line for line in passage(name).splitlines() if line.startswith("|")]
    return [[_LINK.sub(r"\1", cell).strip() for cell in row.strip("|").split("|")] for row in rows]


def table(name: str, columns: str = "", rows: str = "") -> str:
    """Columns and rows of the table of a passage, as Markdown. Both are lists with commas; "" takes all.

    Raises:
        Stale: the table has no such column or row.
    """
    head, rule, *body = cells(name)
    wanted = _listed(columns) or head
    keys = _listed(rows) or [row[0] for row in body]
    lines = {row[0]: row for row in body}
    if missing := [each for each in wanted if each not in head] + [each for each in keys if each not in lines]:
        raise Stale(f"the table of {name} has no {', '.join(missing)}; it has {', '.join(head)}; {', '.join(lines)}")
    places = [head.index(column) for column in wanted]
    chosen = [head, rule, *(lines[key] for key in keys)]
    return as_table([row[place] for place in places] for row in chosen)


def _listed(text: str) -> list[str]:
    """The parts of a list with commas; "\\," is a comma inside a part."""
    parts = re.split(r"(?<!\\),", text) if text else []
    return [part.strip().replace("\\,", ",") for part in parts]


def cell(name: str, row: str, column: str) -> str:
    """A cell of the table of a passage."""
    return table(name, column.replace(",", "\\,"), row).splitlines()[-1].strip("| ")


def excerpts(source: str, *ends: str) -> list[str]:
    """The lines of a passage or a page between pairs of strings: a text for each pair."""
    text = (ROOT / source).read_text(encoding="utf-8") if source.endswith(".md") else passage(source)
    lines, parts, at = text.splitlines(), list[str](), 0
    for first, last in zip(ends[::2], ends[1::2], strict=True):
        start = next((place for place in range(at, len(lines)) if first in lines[place]), None)
        stop = None if start is None else next((p for p in range(start, len(lines)) if last in lines[p]), None)
        if start is None or stop is None:
            raise Stale(f"{source} has no lines from {first!r} to {last!r}")
        parts.append(dedent("\n".join(lines[start : stop + 1])))
        at = stop + 1
    return parts


def reference(kernel: str) -> Path:
    """The file of a reference kernel: sm100/step07."""
    found = sorted((ROOT / "kernels_ref").glob(f"{kernel}_*.py"))
    if len(found) != 1:
        raise Stale(f"kernels_ref has no {kernel}")
    return found[0]


def check_excerpt(code: str, source: str) -> None:
    """Pass if `code` is an excerpt of `source`.

    Raises:
        Stale: it is not; the message has the first line of the part that was not found.
    """
    lines = _statements(source)
    at = 0
    for part in re.split(r"^[ \t]*…\n", code, flags=re.MULTILINE):
        wanted = _statements(part)
        starts = range(at, len(lines) - len(wanted) + 1)
        place = next((p for p in starts if _dedented(lines[p : p + len(wanted)]) == _dedented(wanted)), None)
        if place is None:
            raise Stale(f"the reference has no such lines, in this order: {wanted[0].strip()} …")
        at = place + len(wanted)


def _statements(text: str) -> list[str]:
    """The lines that are neither empty nor a comment."""
    return [line for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]


def _dedented(lines: list[str]) -> list[str]:
    return dedent("\n".join(lines)).splitlines()


def picture(path: Path, text: str, parts: str | None) -> str:
    """A figure as HTML that needs no other file, always in light colours. parts: see the module.

    Raises:
        Stale: the figure has no such part.
    """
    svg = _hatched(_DARK.sub("", path.read_text(encoding="utf-8")))
    box = _BOX.search(svg)
    if not box:
        raise Stale(f"{path.name} has no size")
    if parts:
        svg = _cut(svg, float(box[1]), float(box[2]), parts, path.name)
    data = base64.b64encode(svg.encode()).decode()
    return f'<figure><img alt="{html.escape(text)}" src="data:image/svg+xml;base64,{data}"></figure>'


def _hatched(svg: str) -> str:
    """The picture with stripes in place of patterns of stripes, which a PDF would have as pixels."""
    for pattern in _HATCH.finditer(svg):
        step, size = (float(pattern[each]) * 2**0.5 for each in ("step", "size"))

        def stripes(match: re.Match[str], step: float = step, size: float = size, style: str = pattern["style"]) -> str:
            x, y, width, height = (float(_attribute(match[0], name)) for name in ("x", "y", "width", "height"))
            lines = "".join(
                f"M{step * i:.2f} 0h{size:.2f}l{-height:g} {height:g}h{-size:.2f}z"
                for i in range(math.ceil((width + height) / step))
            )
            frame = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
            return f'<svg {frame}><path class="{style}" d="{lines}"/></svg>' + match[0].replace(match["fill"], "none")

        svg = re.sub(rf'<rect [^>]*fill="(?P<fill>url\(#{pattern["name"]}\))"[^>]*>', stripes, svg)
    return svg


def _attribute(tag: str, name: str) -> str:
    """The value of an attribute of a tag."""
    match = re.search(rf'\s{name}="([^"]*)"', tag)
    return match[1] if match else "0"


def _cut(svg: str, width: float, height: float, parts: str, name: str) -> str:
    """Parts of a picture, one below the other."""
    inner, pieces, at = svg[svg.index(">") + 1 : svg.rindex("</svg>")], "", 0.0
    for part in parts.split(";"):
        top, bottom = (_height(svg, end.strip(), height) for end in part.split("~"))
        if not 0 <= top < bottom <= height:
            raise Stale(f"{name} has no part {part.strip()}")
        size = bottom - top
        frame = f'y="{at:g}" width="{width:g}" height="{size:g}" viewBox="0 {top:g} {width:g} {size:g}"'
        pieces += f"<svg {frame}>{inner}</svg>"
        at += size
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {at:g}">{pieces}</svg>'


def _height(svg: str, end: str, height: float) -> float:
    """The height of an end of a part, -1 where the picture has no such text."""
    if end in ("top", "end") or end.isdecimal():
        return {"top": 0.0, "end": height}.get(end) or float(end if end.isdecimal() else 0)
    found = re.search(rf'<text[^>]* y="([\d.]+)"[^>]*>{re.escape(html.escape(end))}', svg)
    return float(found[1]) - ABOVE if found else -1


def deck(sources: dict[str, str]) -> str:
    """The whole deck as Marp reads it, from the text of each source by name.

    Raises:
        Stale: a source refers to something that is no longer there.
    """
    texts: list[str] = []
    for name, text in sources.items():
        try:
            texts.append(filled(text))
        except Stale as error:
            raise Stale(f"slides/{name}: {error}") from None
    return FRONT + "\n" + "\n\n---\n\n".join(texts) + "\n"


def filled(text: str) -> str:
    """A source with everything put in, and its excerpts checked."""

    def code(match: re.Match[str]) -> str:
        check_excerpt(match["code"], reference(match["kernel"]).read_text(encoding="utf-8"))
        return f"```python\n{match['code']}```"

    def directive(match: re.Match[str]) -> str:
        name, *rest = (part.strip() for part in match["rest"].split(" | "))
        if match["kind"] == "figures":
            return _LINK.sub(r"\1", passage(name))
        if match["kind"] == "output":
            return "```text\n" + "\n…\n".join(excerpts(name, *rest)) + "\n```"
        if match["kind"] == "quote":
            return indent(_LINK.sub(r"\1", "\n\n".join(excerpts(name, *rest))), "> ", lambda _: True)
        return table(name, **dict(part.split(": ", 1) for part in rest))

    def drawn(match: re.Match[str]) -> str:
        return picture((SLIDES / match["path"]).resolve(), match["text"], match["parts"])

    text = _CODE.sub(code, text.strip())
    text = _DIRECTIVE.sub(directive, text)
    text = _CELL.sub(lambda match: cell(*(part.strip() for part in match[1].split("|"))), text)
    return _PICTURE.sub(drawn, text)


def sources() -> dict[str, str]:
    """The text of each source by name, in the order of the deck."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(SLIDES.glob("[0-9]*.md"))}


def render(markdown: str, folder: Path, formats: tuple[str, ...] = ("html", "pdf")) -> list[Path]:
    """Write a deck in these formats into a folder, and return the paths. PDF needs a browser.

    Raises:
        RuntimeError: Marp failed; the message is its own.
    """
    folder.mkdir(parents=True, exist_ok=True)
    text = folder / f"{NAME}.md"
    text.write_text(markdown, encoding="utf-8")
    written: list[Path] = []
    for suffix in formats:
        path = folder / f"{NAME}.{suffix}"
        command = ["node", str(MARP), "--config-file", str(SLIDES / "marp.config.mjs"), "--no-stdin"]
        browser = next(filter(None, map(shutil.which, BROWSERS)), None)
        environment = dict(os.environ)
        if browser:
            environment.setdefault("CHROME_PATH", browser)
        if hasattr(os, "geteuid") and os.geteuid() == 0:  # root has no sandbox
            environment["CHROME_NO_SANDBOX"] = "1"
        command += [f"--{suffix}"] if suffix == "pdf" else []
        done = subprocess.run(
            [*command, str(text), "--output", str(path)], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode or not path.exists():
            raise RuntimeError(f"Marp failed:\n{done.stdout}{done.stderr}")
        written.append(path)
    text.unlink()
    return written


def main(arguments: list[str] | None = None) -> int:
    """Build the slides and print what was written."""
    parser = argparse.ArgumentParser(prog="python -m tools.slides", description="Build the slides of the course.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "slides")
    parser.add_argument("--no-pdf", action="store_true", help="HTML only, which needs no browser")
    options = parser.parse_args(arguments)
    if not MARP.exists():
        print("Marp is missing: run npm ci in slides/", file=sys.stderr)
        return 1
    try:
        formats = ("html",) if options.no_pdf else ("html", "pdf")
        written = render(deck(sources()), options.folder, formats)
    except (Stale, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1
    for path in written:
        print(f"{path} ({path.stat().st_size / 2**20:.1f} MiB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
