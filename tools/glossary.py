"""Links from the pages of the course to the glossary: `python -m tools.glossary [--check]`.

The first use of each term on a page gets a link to its entry in `docs/glossary.md`. A heading of the glossary is a
term; a comment `<!-- also: … -->` below it lists its other forms. Nothing is linked in headings, code, comments, HTML,
links, or passages that `make figures` fills in, nor on the page that the term's entry leads to first. A page that
already has a link to an entry gets no other, so a second run changes nothing.
"""

from __future__ import annotations

import argparse
import posixpath
import re
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tools.pages import DOCS, headings, links

GLOSSARY = DOCS / "glossary.md"
FOLDERS = ("concepts", "steps", "guide")
SUMMARY = 240
"""The maximum length of the text that a page shows of a term, unless its first sentence is longer."""

_ALSO = re.compile(r"<!-- also: (.*?) -->")
_MASKED = re.compile(
    r"""
    ^[ ]*(?P<fence>`{3,}|~{3,}).*?^[ ]*(?P=fence)      # a block of code
    | <!--[ ]figures:.*?<!--[ ]/figures[ ]-->          # a generated passage
    | ^[ ]*\#{1,6}[ ].*?$                              # a heading
    | (?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)       # code in a line
    | !?\[(?:[^\[\]]|\[[^\[\]]*\])*\](?:\([^()]*(?:\([^()]*\)[^()]*)*\))?   # a link or a picture
    | <!--.*?-->                                       # a comment
    | <summary>.*?</summary>
    | </?[a-z][^<>]*>
    """,
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)


@dataclass(frozen=True)
class Term:
    """A term of the glossary. forms: how pages write it. home: the path below `docs/` of the page that explains it."""

    name: str
    anchor: str
    forms: tuple[str, ...]
    home: str


def terms(glossary: str) -> list[Term]:
    """The terms of the text of the glossary, in its order."""
    lines = glossary.splitlines()
    found = [heading for heading in headings(glossary) if heading.level == 2]
    ends = [heading.line - 1 for heading in found[1:]] + [len(lines)]
    entries: list[Term] = []
    for heading, end in zip(found, ends, strict=True):
        entry = "\n".join(lines[heading.line : end])
        also = _ALSO.search(entry)
        forms = [heading.text, *(also[1].split(", ") if also else [])]
        pages = [link.target.partition("#")[0] for link in links(entry) if link.target[0] != "#"]
        entries.append(Term(heading.text, heading.anchor, tuple(forms), pages[0] if pages else ""))
    return entries


def summaries(glossary: str) -> dict[str, str]:
    """The first sentences of each entry as plain text, by the anchor of the term: at most `SUMMARY` characters."""
    lines = glossary.splitlines()
    found = [heading for heading in headings(glossary) if heading.level == 2]
    ends = [heading.line - 1 for heading in found[1:]] + [len(lines)]
    return {
        heading.anchor: _summary("\n".join(lines[heading.line : end]))
        for heading, end in zip(found, ends, strict=True)
    }


def _summary(entry: str) -> str:
    text = re.sub(r"<!--.*?-->", "", entry, flags=re.DOTALL).strip().partition("\n\n")[0]
    text = re.sub(r"!?\[([^\[\]]*)\]\([^()]*\)", r"\1", text)
    text = " ".join(re.sub(r"[`*]", "", text).split())
    kept = ""
    for sentence in re.split(r"(?<=[.:])\s+(?=[A-Z])", text):
        if kept and len(kept) + len(sentence) >= SUMMARY:
            break
        kept = f"{kept} {sentence}".strip()
    return kept


def linked(page: str, place: str, glossary: list[Term]) -> str:
    """The text of a page with its links. place: its path below `docs/`."""
    target = posixpath.relpath("glossary.md", posixpath.dirname(place) or ".")
    entries = {form: term for term in glossary for form in spellings(term)}
    any_form = "|".join(_pattern(form) for form in sorted(entries, key=len, reverse=True))
    masked = _MASKED.sub(lambda match: re.sub(r"[^\n]", "\0", match[0]), page)
    done = {term.anchor for term in glossary if f"]({target}#{term.anchor})" in page or term.home == place}
    parts, end = list[str](), 0
    for match in re.finditer(rf"(?<![\w\0/.-])(?:{any_form})(?![\w\0-])", masked):
        term = entries[re.sub(r"\s+", " ", match[0])]
        if term.anchor in done:
            continue
        done.add(term.anchor)
        parts += [page[end : match.start()], f"[{match[0]}]({target}#{term.anchor})"]
        end = match.end()
    return "".join([*parts, page[end:]])


def spellings(term: Term) -> list[str]:
    """The forms of a term, with a capital at the beginning of a sentence too."""
    return [spelling for form in term.forms for spelling in (form, form[:1].upper() + form[1:])]


def _pattern(form: str) -> str:
    """A form whose words may stand on two lines of one paragraph."""
    return r"(?: +|\n *)".join(map(re.escape, form.split()))


def pages() -> list[Path]:
    """The pages of the course."""
    return [DOCS / "index.md", *sorted(path for folder in FOLDERS for path in (DOCS / folder).glob("*.md"))]


def stale() -> dict[Path, str]:
    """The pages that lack links, with the text that has them."""
    glossary = terms(GLOSSARY.read_text(encoding="utf-8"))
    texts = {path: path.read_text(encoding="utf-8") for path in pages()}
    after = {path: linked(text, path.relative_to(DOCS).as_posix(), glossary) for path, text in texts.items()}
    return {path: text for path, text in after.items() if text != texts[path]}


def ordered(glossary: list[Term]) -> bool:
    """Return whether the terms are in the order of the alphabet."""
    names = [term.name.lower().replace("-", " ") for term in glossary]
    return all(one < other for one, other in pairwise(names))


def main(arguments: list[str] | None = None) -> int:
    """The command. Returns 1 where `--check` finds a page that lacks links."""
    parser = argparse.ArgumentParser(prog="python -m tools.glossary", description="Link terms to the glossary.")
    parser.add_argument("--check", action="store_true", help="change nothing; fail if a page lacks links")
    check = parser.parse_args(arguments).check
    found = stale()
    for path, text in found.items():
        print(f"{path.relative_to(DOCS.parent)}: {'lacks links' if check else 'linked'}")
        if not check:
            path.write_text(text, encoding="utf-8")
    return 1 if found and check else 0


if __name__ == "__main__":
    sys.exit(main())
