"""What is shown while a command simulates: a line on a terminal, nothing elsewhere."""

from __future__ import annotations

import threading
from io import StringIO

import pytest
from rich.console import Console

from tests.conftest import behind
from tirx_mini.commands.waiting import meter


class Screen(StringIO):
    """A file that says when a text was written."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.written = threading.Event()

    def write(self, text: str) -> int:
        if self.text in text:
            self.written.set()
        return super().write(text)


def test_a_terminal_shows_how_far_it_is_and_clears_the_line() -> None:
    screen = Screen("simulating: 50% done")
    with meter(Console(file=screen, force_terminal=True, width=80), patience_s=0) as shown:
        shown.watch(lambda: 0.5)
        assert screen.written.wait(60)
    assert screen.getvalue().endswith("\x1b[2K")  # the line is empty


def test_a_file_gets_nothing() -> None:
    screen = Screen("")
    with meter(Console(file=screen, force_terminal=False), patience_s=0) as shown:
        shown.watch(lambda: 0.5)
    assert screen.getvalue() == ""


@pytest.mark.parametrize(("room", "text"), [(80, "half done"), (4, "half"), (0, ""), (-3, "")])
def test_pytest_has_it_behind_what_it_wrote_on_the_line(room: int, text: str) -> None:
    assert behind("half done", room) == f"\x1b7{text}\x1b[K\x1b8"
