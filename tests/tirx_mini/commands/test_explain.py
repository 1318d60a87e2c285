"""``python -m tirx_mini explain``: one section of the book, or the list of codes."""

from __future__ import annotations

import pytest

from tirx_mini.__main__ import main
from tirx_mini.course import findings_book
from tirx_mini.diagnose import codes

BOOK = findings_book()


def test_explain_prints_the_section(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "tx107"]) == 0
    assert capsys.readouterr().out == BOOK.sections["TX107"].text + "\n"


def test_explain_lists_the_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    out = capsys.readouterr().out
    assert all(code in out for code in codes())


def test_an_unknown_code_is_answered_with_the_range_of_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "TX999"]) == 2
    assert "no finding has the code TX999; they are TX101 to TX602" in capsys.readouterr().out
