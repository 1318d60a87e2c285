"""Links to the glossary: first uses only, nothing but text, and the committed pages have them."""

from __future__ import annotations

import pytest

from tools.glossary import GLOSSARY, SUMMARY, Term, linked, main, ordered, summaries, terms
from tools.pages import links

TERMS = [
    Term("MMA", "mma", ("MMA", "MMAs"), "concepts/mma.md"),
    Term("tensor core", "tensor-core", ("tensor core", "tensor cores"), "concepts/mma.md"),
    Term("commit", "commit", ("commit", "commits"), "concepts/mma.md"),
    Term("commit group", "commit-group", ("commit group",), "concepts/completion.md"),
]


def site(text: str, place: str = "steps/step01.md") -> str:
    return linked(text, place, TERMS)


def test_the_first_use_is_linked_in_any_form() -> None:
    text = "Tensor\ncores run MMAs. An MMA is what a tensor core runs."
    first = "[Tensor\ncores](../glossary.md#tensor-core) run [MMAs](../glossary.md#mma)."
    assert site(text) == f"{first} An MMA is what a tensor core runs."
    assert linked("MMA", "index.md", TERMS) == "[MMA](glossary.md#mma)"


def test_the_longest_term_is_taken() -> None:
    assert site("a commit group") == "a [commit group](../glossary.md#commit-group)"


@pytest.mark.parametrize(
    "text",
    [
        "# MMA\n",
        "`MMA` and ``a ` MMA``",
        "```sh\nMMA\n```\n",
        "[an MMA](x.md) ![MMA](y.svg)",
        "<!-- MMA -->",
        "<summary>MMA</summary>",
        "<!-- figures: a -->\nMMA\n<!-- /figures -->",
        "MMA-like, pre-MMA, MMAx, x/MMA",
        "`a\nMMA b`",
    ],
)
def test_what_is_not_text_stays(text: str) -> None:
    assert site(text) == text


def test_the_page_of_a_term_does_not_link_it() -> None:
    assert site("an MMA", "concepts/mma.md") == "an MMA"


def test_a_second_run_changes_nothing() -> None:
    once = site("A tensor core. `MMA` An MMA, a commit.")
    assert site(once) == once
    assert site("Before: an MMA. " + once) == "Before: an MMA. " + once


def test_terms_are_read_with_their_forms_and_their_page() -> None:
    page = "# G\n\n## A b\n\n<!-- also: A bs, c -->\n\nSee [x](#y) and [z](concepts/z.md#a).\n\n## d_e\n\nNothing.\n"
    assert terms(page) == [
        Term("A b", "a-b", ("A b", "A bs", "c"), "concepts/z.md"),
        Term("d_e", "d_e", ("d_e",), ""),
    ]


def test_the_glossary_is_in_order_and_each_entry_leads_to_a_page() -> None:
    text = GLOSSARY.read_text(encoding="utf-8")
    found = terms(text)
    assert ordered(found) and len(found) >= 60
    assert [term.name for term in found if not term.home] == []
    forms = [form for term in found for form in term.forms]
    assert len(forms) == len(set(forms))
    anchors = {f"#{term.anchor}" for term in found}
    assert {link.target for link in links(text) if link.target[0] == "#"} <= anchors


def test_the_pages_have_their_links(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, f"run python -m tools.glossary\n{capsys.readouterr().out}"


def test_the_first_sentences_of_an_entry_are_plain_and_short() -> None:
    page = "# G\n\n## A b\n\n<!-- also: c -->\n\nSee [x](#y) and\n`z`. It *is*.\n\nMore.\n\n## d\n\nOne. "
    assert summaries(page + "Two " * SUMMARY + ".") == {"a-b": "See x and z. It is.", "d": "One."}
    found = summaries(GLOSSARY.read_text(encoding="utf-8"))
    assert all(text and len(text) <= SUMMARY and "[" not in text for text in found.values())
