"""``python -m tirx_mini explain``: one section of the book, or the list of codes."""

from __future__ import annotations

import pytest

from tirx_mini.__main__ import main
from tirx_mini.course import findings_book
from tirx_mini.diagnose import codes


@pytest.mark.parametrize("code", ["tx107", "107"])
def test_explain_prints_the_section(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", code]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "TX107 Fewer threads arrive than the barrier counts"
    assert "-tma2mma.init(2)" in map(str.strip, lines) and "+tma2mma.init(1)" in map(str.strip, lines)
    text = " ".join(" ".join(lines).split())
    assert "Fix. Initialise with the arrivals of one round" in text and "**" not in text and "```" not in text


def test_a_fix_is_red_for_what_goes_and_green_for_what_comes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert main(["explain", "TX107"]) == 0
    out = capsys.readouterr().out
    assert "\033[91m-tma2mma.init(2)" in out and "\033[92m+tma2mma.init(1)" in out


@pytest.mark.parametrize("columns", [50, 80])
def test_every_section_fits_the_terminal(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert list(findings_book().sections) == list(codes())
    for code in codes():
        assert main(["explain", code]) == 0
        assert max(map(len, capsys.readouterr().out.splitlines())) <= columns, code


def test_explain_lists_the_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines()] == list(codes())
    assert "TX201  A race" in out


@pytest.mark.parametrize(
    ("unknown", "listed"),
    [
        ("TX599", ["TX501", "TX502", "TX503", "TX504"]),
        ("fence", ["TX202", "TX203", "TX205", "TX211"]),
        ("TX999", list(codes())),
        ("nonsense", list(codes())),
    ],
)
def test_an_unknown_code_is_answered_with_those_near_it(
    unknown: str, listed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", unknown]) == 2
    first, *rest = capsys.readouterr().out.splitlines()
    assert first.startswith(f"error: no finding has the code {unknown}; ")
    assert [line.split()[0] for line in rest] == listed
