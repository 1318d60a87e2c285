"""The progress display on a terminal during a simulation."""

from __future__ import annotations

from rich.console import Console

from tirx_mini.course import PATIENCE_S, Meter


def meter(console: Console, patience_s: float = PATIENCE_S) -> Meter:
    """Return a meter on a line of the terminal that disappears at the end, or without output elsewhere.

    patience_s: the delay before the display appears.
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
