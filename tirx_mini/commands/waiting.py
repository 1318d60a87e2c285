"""The display on a terminal while a command simulates."""

from __future__ import annotations

from rich.console import Console

from tirx_mini.course import PATIENCE_S, Meter


def meter(console: Console, patience_s: float = PATIENCE_S) -> Meter:
    """The progress of the simulation, on a line of the terminal that disappears at the end; nothing elsewhere.

    patience_s: for how long nothing is shown.
    """
    if not console.is_terminal:
        return Meter(None)
    status = console.status("")

    def show(text: str) -> None:
        if not text:
            status.stop()
            return
        status.update(text)
        status.start()

    return Meter(show, patience_s)
