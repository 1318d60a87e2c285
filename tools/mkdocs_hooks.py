"""What MkDocs does for `make docs` beside its own work: the order of the pages, and what GitHub renders differently.

The pages of `docs/` are written for GitHub. For the site,

- the navigation lists the pages that exist, in the order of `SECTIONS`;
- the lessons and examples that stand elsewhere in the repository (`BESIDE`) are pages, too;
- anchors of headings are those of GitHub;
- nested lists may be indented by two spaces, and need no blank line before them;
- a link to a term of the glossary shows the first sentences of its entry;
- the info string of a code block is cut to its language;
- a link to a file outside `docs/` becomes a link to the repository where `repo_url` is set, and plain text where not.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any

from markdown import Markdown
from markdown.blockprocessors import build_block_parser
from markdown.extensions import Extension
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:  # the command `mkdocs` does not put it there, `python -m mkdocs` does
    sys.path.insert(0, str(ROOT))

from tools.glossary import GLOSSARY, summaries  # noqa: E402
from tools.pages import slug  # noqa: E402


@dataclass(frozen=True)
class Section:
    """A part of the navigation. pages: paths on the site, in order. folder: its other pages follow, by name."""

    title: str
    pages: tuple[str, ...]
    folder: str = ""


BESIDE = {"lessons/tir.md": "lessons/tir.md", "examples/attention.md": "examples/attention/README.md"}
"""Pages that are not in `docs/`: their paths on the site, and in the repository."""
COURSE: tuple[tuple[int, str], ...] = (
    (1, "tensor-memory warps memory shared-memory mma"), (2, "mbarriers"), (3, ""), (4, "proxies"), (5, "completion"),
    (6, "persistence"), (7, ""), (8, "roofline"), (9, "clusters"), (10, ""),
)  # fmt: skip
"""The steps in order, each with the concepts whose pages follow its own."""
SOLUTIONS = "steps/solutions.md"
REFERENCE = "index tx lang instructions tile layout dialects python commands".split()


def course() -> Iterator[str]:
    """The pages of the course in the order in which they are read."""
    for step, concepts in COURSE:
        yield f"steps/step{step:02}.md"
        yield from (f"concepts/{name}.md" for name in concepts.split())


SECTIONS = (
    Section("Start", ("index.md",)),
    Section("Course", (*course(), "calls.md", "steps/index.md", SOLUTIONS), "steps"),
    Section("Lessons", ("tile_ir.md", "tilelang.md", *BESIDE)),
    Section(
        "Guide",
        (
            *("report.md", "guide/debugging.md", "guide/drills.md", "guide/task.md", "guide/play.md", "timeline.md"),
            *("bound.md", "ptx.md", "cuda.md", "guide/hardware.md", "cloud.md", "guide/hopper.md", "grading.md"),
        ),
        "guide",
    ),
    Section("Language", ("language.md", "dialects.md", *(f"reference/{name}.md" for name in REFERENCE)), "reference"),
    Section(
        "Reference",
        (
            *("glossary.md", "findings.md", "forgiven.md", "clock.md", "simulator.md", "h100.md", "conformance.md"),
            "architecture.md",
        ),
    ),
)
"""The whole navigation. A page that is not there yet is left out."""

_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<info>.*)$")
_ITEM = re.compile(r"^ *(?:[-*+]|\d+[.)]) ")
_FIRST = re.compile(r"^ *(?:[-*+]|1[.)]) ")  # what may begin a list right after a line of text: no other number may
_LINK = re.compile(r"(?P<image>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^()\s]+)\)")

_TERM = re.compile(r'<a (?P<rest>href="[^"#]*glossary\.(?:html|md)#(?P<anchor>[^"]+)")')


def navigation(pages: set[str]) -> list[dict[str, Any]]:
    """The value of MkDocs' `nav` for pages that exist, by their paths on the site."""
    nav: list[dict[str, Any]] = []
    for section in SECTIONS:
        rest = sorted(page for page in pages - set(section.pages) if posixpath.dirname(page) == section.folder != "")
        found = [page for page in section.pages if page in pages] + rest
        if found:
            nav.append({section.title: found[0] if found == ["index.md"] else found})
    return nav


def listed() -> set[str]:
    """The pages that the navigation names, there or not."""
    return {page for section in SECTIONS for page in section.pages}


def on_config(config: Any) -> Any:
    """MkDocs' hook for its configuration."""
    docs = Path(config.docs_dir)
    config.nav = navigation({path.relative_to(docs).as_posix() for path in docs.rglob("*.md")} | set(BESIDE))
    config.mdx_configs.setdefault("toc", {})["slugify"] = lambda text, separator: slug(text)
    config.markdown_extensions.insert(0, TwoSpaces())
    return config


def on_files(files: Any, *, config: Any) -> Any:
    """MkDocs' hook for the files of the site."""
    for page, source in BESIDE.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """MkDocs' hook for the source of a page. `page.file.src_uri`: its path on the site. The search finds no hints and
    no solutions."""
    if page.file.src_uri.startswith("hints/") or page.file.src_uri == SOLUTIONS:
        page.meta["search"] = {"exclude": True}
    present = {file.src_uri for file in files}
    return rewritten(markdown, page.file.src_uri, present, config.repo_url)


def on_page_content(html: str, **_: Any) -> str:
    """MkDocs' hook for the content of a page: a link to a term carries the first sentences of its entry."""
    return with_terms(html, _terms())


@lru_cache(maxsize=1)
def _terms() -> Mapping[str, str]:
    return summaries(GLOSSARY.read_text(encoding="utf-8"))


def with_terms(html: str, terms: Mapping[str, str]) -> str:
    """The HTML of a page whose links to the glossary have the attribute `data-term`, which assets/site.js shows."""

    def link(match: re.Match[str]) -> str:
        said = terms.get(match["anchor"])
        return match[0] if said is None else f'<a data-term="{escape(said)}" {match["rest"]}'

    return _TERM.sub(link, html)


def on_post_page(output: str, **_: Any) -> str:
    """MkDocs' hook for the HTML of a page: the theme's dialog gets the name that assistive technology reads out."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"')


def rewritten(markdown: str, page: str, present: set[str], repository: str | None = None) -> str:
    """The source of a page for the site. page: its path there; present: those of all files of the site."""
    lines: list[str] = []
    fence = ""
    for line in markdown.splitlines():
        match = _FENCE.match(line)
        if fence:
            fence = "" if match and match["fence"].startswith(fence) and not match["info"].strip() else fence
        elif match:
            fence = match["fence"]
            words = match["info"].split()
            line = f"{match['indent']}{fence}{words[0] if words else 'text'}"
        else:
            if _FIRST.match(line) and lines and lines[-1].strip() and not _in_list(lines):
                lines.append("")
            line = _LINK.sub(lambda link: _for_site(link, page, present, repository), line)
        lines.append(line)
    return "\n".join(lines) + "\n"


def _in_list(lines: list[str]) -> bool:
    """Return whether the paragraph that the last of `lines` belongs to is an item of a list."""
    for line in reversed(lines):
        if not line.strip():
            return False
        if _ITEM.match(line):
            return True
    return False


def _for_site(link: re.Match[str], page: str, present: set[str], repository: str | None) -> str:
    """A link as the site has it."""
    path, _, fragment = link["target"].partition("#")
    if not path or "://" in path or path.startswith("mailto:"):
        return link[0]
    place = posixpath.normpath(posixpath.join(posixpath.dirname(BESIDE.get(page, f"docs/{page}")), path))
    below = next((beside for beside, source in BESIDE.items() if source == place), posixpath.relpath(place, "docs"))
    anchor = "#" * bool(fragment) + fragment
    if below in present:
        there = posixpath.relpath(below, posixpath.dirname(page) or ".")
        return f"{link['image']}[{link['text']}]({there}{anchor})"
    if place.startswith("docs/") and below not in listed():
        return link[0]  # a dead link: MkDocs reports it
    if place.startswith("docs/") or not repository or link["image"]:
        return link["text"]
    return f"[{link['text']}]({repository.rstrip('/')}/blob/main/{place}{anchor})"


class TwoSpaces(Extension):
    """Lists nest by an indent of two spaces, as on GitHub; Python-Markdown alone wants four. The first extension."""

    def extendMarkdown(self, md: Markdown) -> None:
        md.tab_length = 2
        md.parser = build_block_parser(md)  # its processors read the length when they are made
