"""Reading Markdown: headings and anchors, links, blocks and their marks."""

from __future__ import annotations

import pytest

from tools.pages import Block, Heading, Link, blocks, headings, links, slug


@pytest.mark.parametrize(
    ("text", "anchor"),
    [
        ("What the rows are", "what-the-rows-are"),
        ("TX203 A missing `tcgen05.fence`", "tx203-a-missing-tcgen05fence"),
        ("3 → 4: TMA, and why", "3--4-tma-and-why"),
        ("How to read CUDA C++", "how-to-read-cuda-c"),
        ("cta_group", "cta_group"),
        ("Über-Größe", "über-größe"),
    ],
)
def test_the_anchor_of_a_heading(text: str, anchor: str) -> None:
    assert slug(text.replace("`", "")) == anchor


def test_headings_of_the_same_text_have_numbered_anchors() -> None:
    page = "# A `b`\n\n```\n# no\n```\n\n## Same\n\n### Same\n"
    assert headings(page) == [
        Heading(1, 1, "A b", "a-b"),
        Heading(7, 2, "Same", "same"),
        Heading(9, 3, "Same", "same-1", repeated=True),
    ]


def test_links_and_images_are_found_and_code_is_not() -> None:
    page = "a [b `c`](d.md#e)\n\n`[no](x)` ![alt](f.svg)\n\n| [g](h.md) |\n| --- |\n\n    [no](y)\n"
    assert list(links(page)) == [
        Link(1, "b c", "d.md#e", False),
        Link(3, "alt", "f.svg", True),
        Link(5, "g", "h.md", False),
    ]


def test_blocks_have_the_mark_of_the_comment_above_them() -> None:
    first = "<!-- not run: needs a B200 -->\n\n```sh\nls\n```\n\n"
    page = first + "<!-- other -->\n```python kernel\nx\n```\n<!-- output -->\n```\n1\n```\n"
    assert blocks(page) == [
        Block(3, "sh", "ls\n", "not run", "needs a B200"),
        Block(8, "python kernel", "x\n", "", ""),
        Block(12, "", "1\n", "output", ""),
    ]
    assert blocks(page)[1].language == "python"


def test_a_block_that_needs_an_extra_may_have_another_mark_too() -> None:
    both = "<!-- needs: torch -->\n<!-- fails: why -->\n```python\nx\n```\n"
    assert blocks(both) == [Block(3, "python", "x\n", "fails", "why", needs="torch")]
    assert blocks("<!-- needs: cpu -->\n```python\nx\n```\n") == [Block(2, "python", "x\n", "", "", needs="cpu")]


def test_blocks_of_passages_are_generated() -> None:
    passage = "<!-- figures: a -->\n\n```cuda\nx\n```\n\n<!-- /figures -->\n"
    assert [block.generated for block in blocks(f"{passage}\n```sh\nls\n```\n")] == [True, False]
