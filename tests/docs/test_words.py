"""The words to read before the first green test, and for each step. They are counted on the rendered pages.

A word is what stands between spaces on the page: in folded text, tables, code, and the texts of pictures too. Comments
are those of the step in gemm_kernels.py, with the file's own documentation at the first step.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.docs.test_rendering import Reader
from tests.kernels_ref.skeletons import FIRST_KERNEL, ROOT, SKELETONS
from tirx_mini.course import STEPS
from tools.mkdocs_hooks import COURSE, course
from tools.pages import DOCS, links

TO_THE_FIRST_GREEN_TEST = 1500
A_STEP = 4000
COMMAND = f"pytest tests/test_step01.py --kernels {FIRST_KERNEL.name}".split()
INLINE = {"a", "b", "code", "em", "i", "kbd", "mark", "span", "strong", "sub", "sup"}
BEGIN = "Begin with step 1.".split()
_STEP = re.compile(r"^# Step (\d+):", re.MULTILINE)
_COMMENT = re.compile(r"^ *# (.*)|  # (.*)$", re.MULTILINE)
_NEXT = re.compile(r'<a href="([^"]+)" class="md-footer__link md-footer__link--next"')


class Words(Reader):
    """The words of a page, with the texts of its pictures. A word goes on where an inline element begins or ends."""

    def __init__(self, article: bool) -> None:
        super().__init__(article)
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        super().handle_starttag(tag, attrs)
        if tag not in INLINE:
            self.text.append(f" {dict(attrs).get('alt') or ''} " if tag == "img" and self.inside else " ")

    def handle_endtag(self, tag: str) -> None:
        super().handle_endtag(tag)
        if tag not in INLINE:
            self.text.append(" ")

    def handle_data(self, data: str) -> None:
        if self.inside and not self._hidden:
            self.text.append(data)


def words(html: str, article: bool = True) -> list[str]:
    reader = Words(article)
    reader.feed(html)
    return "".join(reader.text).split()


def page(site: Path, name: str) -> list[str]:
    return words((site / name).with_suffix(".html").read_text(encoding="utf-8"))


def up_to(found: list[str], last: list[str], times: int = 1) -> list[str]:
    """The words to the end of the n-th occurrence of these."""
    ends = [n + len(last) for n in range(len(found)) if found[n : n + len(last)] == last]
    return found[: ends[times - 1]]


def comments(step: int) -> list[str]:
    """The words of the comments of a step in gemm_kernels.py."""
    text = SKELETONS["sm100"].read_text(encoding="utf-8")
    parts = _STEP.split(text)
    sections = dict(zip(map(int, parts[1::2]), parts[2::2], strict=True))
    return said(f"# {sections[step]}")


def said(text: str) -> list[str]:
    return [word for match in _COMMENT.finditer(text) for word in (match[1] or match[2]).strip("- ").split()]


def documentation(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split('"""')[1].split()


def test_the_first_green_test_is_near(site: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## Start\n")[2].partition("\n## ")[0]
    block = words(MarkdownIt("commonmark").enable("table").render(readme), article=False)
    read = {
        "README": block,
        "index": up_to(page(site, "index.md"), BEGIN),
        "step 1": up_to(page(site, "steps/step01.md"), COMMAND, 2),
        "first kernel": [*documentation(FIRST_KERNEL), *said(FIRST_KERNEL.read_text(encoding="utf-8"))],
        "gemm_kernels.py": [*documentation(SKELETONS["sm100"]), *comments(1)],
    }
    counts = {name: len(found) for name, found in read.items()}
    assert all(counts.values()) and sum(counts.values()) <= TO_THE_FIRST_GREEN_TEST, counts


@pytest.mark.parametrize(("step", "concepts"), [pair for pair in COURSE if pair[0] > min(STEPS)])
def test_no_later_step_needs_much_more(step: int, concepts: str, site: Path) -> None:
    counts = {name: len(page(site, f"concepts/{name}.md")) for name in concepts.split()}
    counts[f"step {step}"] = len(page(site, f"steps/step{step:02}.md"))
    counts["gemm_kernels.py"] = len(comments(step))
    assert all(counts.values()) and sum(counts.values()) <= A_STEP, counts


def parts() -> list[tuple[str, list[str]]]:
    """The rows of the table of the landing page: (first words, concepts)."""
    table = (DOCS / "index.md").read_text(encoding="utf-8").partition("| step | you build |")[2].partition("\n\n")[0]
    rows = [row.strip("| ").split(" | ") for row in table.splitlines()[2:]]
    return [(" ".join(row[:-1]), re.findall(r"\(concepts/([\w-]+)\.md\)", row[-1])) for row in rows]


@pytest.mark.parametrize(("part", "concepts"), [row for row in parts() if "part " in row[0]])
def test_no_part_of_the_first_step_needs_much_more(part: str, concepts: list[str], site: Path) -> None:
    counts = {name: len(page(site, f"concepts/{name}.md")) for name in concepts}
    assert 0 < sum(counts.values()) <= A_STEP, (part, counts)


def test_the_table_of_the_landing_page_has_the_order_of_the_site() -> None:
    named = re.findall(r"\((steps/step\d+\.md|concepts/[\w-]+\.md)\)", "\n".join(
        row for row in (DOCS / "index.md").read_text(encoding="utf-8").splitlines() if row.startswith("|")
    ))  # fmt: skip
    assert named == list(course())


def test_the_sites_next_follows_the_table(site: Path) -> None:
    order = ["index.md", *course()]
    for here, following in pairwise(order):
        place = (site / here).with_suffix(".html")
        match = _NEXT.search(place.read_text(encoding="utf-8"))
        assert match is not None, here
        there = (place.parent / match[1]).resolve().relative_to(site.resolve())
        assert there.with_suffix(".md").as_posix() == following


@pytest.mark.parametrize(("step", "concepts"), COURSE)
def test_a_step_leads_to_the_concepts_behind_it(step: int, concepts: str) -> None:
    text = (DOCS / f"steps/step{step:02}.md").read_text(encoding="utf-8")
    reached = {link.target.partition("#")[0] for link in links(text)}
    assert {f"../concepts/{name}.md" for name in concepts.split()} <= reached
    if step == min(STEPS):
        head, _, rest = text.partition(f"<!-- solved -->\n```sh\n{' '.join(COMMAND)}")
        assert rest and not re.search(r"\(\.\./concepts/", head), "a concept comes before the first green test"


def test_words_are_those_of_text_tables_code_and_pictures() -> None:
    text = (
        "one two\n\n<details><summary>three</summary>\n\nfour\n\n</details>\n\n| five |\n| --- |\n| `six`.**7** |\n\n"
        "![eight nine](x.svg)\n"
    )
    html = MarkdownIt("commonmark").enable("table").render(text)
    assert words(html, article=False) == "one two three four five six.7 eight nine".split()
    assert up_to(["a", "b", "a", "b", "c"], ["a", "b"], 2) == ["a", "b", "a", "b"]
    assert said("x = 1  # one two\n# ----\n    # three\n") == ["one", "two", "three"]
