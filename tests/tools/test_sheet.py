"""The sheet of all calls fits on one page of paper, and nothing on it is cut off."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tools.pages import DOCS
from tools.sheet import document, main

PAGE = (DOCS / "calls.md").read_text(encoding="utf-8")


def test_the_document_has_all_calls_and_no_links() -> None:
    html = document(PAGE)
    assert html.count("<section>") == PAGE.count("\n## ") and "href" not in html
    assert html.count("<code>") == len(re.findall(r"`[^`]+`", PAGE))


def test_the_pdf_has_one_page(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "new" / "calls.pdf"
    assert main([str(file)]) == 0
    assert len(re.findall(rb"/Type\s*/Page\b", file.read_bytes())) == 1


def test_nothing_is_wider_than_its_column(browser: Any, tmp_path: Path) -> None:
    source = tmp_path / "calls.html"
    source.write_text(document(PAGE), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1077, "height": 748})  # A4 without its margins
    page.goto(source.as_uri())
    page.emulate_media(media="print")
    wide = "() => [...document.querySelectorAll('td, p')].filter((e) => e.scrollWidth > e.clientWidth + 1).length"
    assert page.evaluate(wide) == 0
    page.close()


def test_without_a_browser_there_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert main([str(tmp_path / "calls.pdf")]) == 1
    assert capsys.readouterr().err == "error: a PDF is printed by Chromium or Chrome, and neither is installed\n"
