"""Hints: how their files are read, which TODO they are about, and what code they show."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tirx_mini.course import (
    Hints,
    Todo,
    code_of,
    hints_of,
    kernel_of,
    matched,
    places,
    plain_links,
    reference_file,
)

REFERENCE = """\
def hgemm_v1(M):
    def kernel():
        a = 1
        # the loop
        for k in range(3):
            b(k)
            c(k)

        @inline
        def last():
            b(9)
        d()
        d(1)
"""


def located(*hints: Hints) -> list[str]:
    """The code of each of the hints, in one line."""
    kernel = kernel_of(ast.parse(REFERENCE), 1)
    return ["; ".join(map(ast.unparse, place.statements)) for place in places(hints, kernel, REFERENCE.splitlines())]


def hint(first: str, until: str = "", after: str = "", number: int = 1, title: str = "x") -> Hints:
    return Hints(number, title, ("", ""), first, until, after)


@pytest.mark.parametrize(
    ("hints", "code"),
    [
        ((hint("a = 1", "for k"),), ["a = 1"]),
        ((hint("a = 1", "@inline"),), ["a = 1; for k in range(3):\n    b(k)\n    c(k)"]),
        ((hint("b("), hint("b(")), ["b(k); c(k)", "b(9)"]),
        ((hint("b(", "c("), hint("c(")), ["b(k)", "c(k)"]),
        ((hint("b(", after="def last"), hint("d(", "d(1")), ["b(9)", "d()"]),
    ],
)
def test_code_is_found_by_the_beginnings_of_its_lines(hints: tuple[Hints, ...], code: list[str]) -> None:
    assert located(*hints) == code


@pytest.mark.parametrize(
    ("hints", "words"),
    [
        ((hint("z"),), "below line 0 of the reference, no statement begins with 'z'"),
        ((hint("d("), hint("a = 1")), "below line 13 of the reference, no statement begins with 'a = 1'"),
        ((hint("b(", "d("),), r"no statement after 'b\(' in its block begins with 'd\('"),
        ((hint("b(", after="d(1"),), r"below line 13 of the reference, no statement begins with 'b\('"),
    ],
)
def test_code_that_the_reference_does_not_have_is_refused(hints: tuple[Hints, ...], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        located(*hints)


def test_code_has_the_comments_and_the_indentation_of_the_reference() -> None:
    hints = hints_of(4, "sm100")
    code = code_of(hints[1], hints, 4, "sm100").splitlines()
    assert code[0].startswith(" " * 12 + "# A whole warp allocates tensor memory.")
    assert code[-1] == " " * 12 + "Tx.cuda.cta_sync()"
    text = reference_file(4, "sm100").read_text(encoding="utf-8")
    assert "\n".join(code) in text


FIRST, SECOND = hint("a", number=1, title="Load"), hint("b", number=2, title="multiply")


@pytest.mark.parametrize(
    ("todos", "numbers"),
    [
        ((Todo(3, "load A", True), Todo(9, "multiply", False)), {1: 3, 2: 9}),
        ((Todo(9, "multiply it", True),), {2: 9}),  # the comment of the other is gone: it is filled in
        ((Todo(3, "", True), Todo(9, "multiply", True)), {1: 3, 2: 9}),
        ((Todo(3, "load", False), Todo(9, "", True)), {1: 3, 2: 9}),
        ((Todo(3, "my own note", True),), {1: 3}),
        ((Todo(3, "my own note", False),), {}),
        ((Todo(3, "load", True), Todo(4, "load", True), Todo(5, "", True)), {1: 3, 2: 4}),
    ],
)
def test_todos_are_matched_by_how_their_comments_begin(todos: tuple[Todo, ...], numbers: dict[int, int]) -> None:
    assert {number: todo.line for number, todo in matched([FIRST, SECOND], todos).items()} == numbers


def test_a_page_is_read_section_by_section(tmp_path: Path) -> None:
    (tmp_path / "sm100").mkdir()
    page = tmp_path / "sm100" / "step01.md"
    fold = '<details markdown="1"><summary>Hint</summary>\n\n{}\n\n</details>\n\n'
    page.write_text(
        "# Hints\n\n## load\n\n<!-- code: after `x`: `a` until `b` -->\n\n" + fold.format("one") + fold.format("two")
    )
    assert hints_of(1, "sm100", tmp_path) == (Hints(1, "load", ("one", "two"), "a", "b", "x"),)
    page.write_text("## load\n\n" + fold.format("one"))
    with pytest.raises(ValueError, match=r"step01\.md: 'load' has no comment about its code, or not 2 hints"):
        hints_of(1, "sm100", tmp_path)
    assert hints_of(2, "sm100", tmp_path) == ()


def test_links_are_written_out_for_a_terminal() -> None:
    text = "See [the\npage](../../concepts/proxies.md#fences) and [PTX](https://docs.nvidia.com/x)."
    assert plain_links("an [mbarrier](../../glossary.md#mbarrier)") == "an mbarrier"
    assert plain_links(text) == "See the\npage (docs/concepts/proxies.md#fences) and PTX (https://docs.nvidia.com/x)."
