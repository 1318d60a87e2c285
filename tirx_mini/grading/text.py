"""Text of a hand-in, made fit for terminals, pages and files."""

from __future__ import annotations

import unicodedata

MOST_TEXT = 8000
"""Characters of one page."""
MOST_LINE = 200
_KEPT = "\n\t"
_BAD = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode's categories of control, formatting, surrogate, private and unassigned characters, and of separators."""


def plain_text(text: str, most: int = MOST_TEXT) -> str:
    """The text without what a terminal obeys or what changes how the rest reads, of at most so many characters."""
    cut = len(text) > most
    found = "".join(c for c in text[:most] if c in _KEPT or unicodedata.category(c) not in _BAD)
    return found + ("\n(the rest is cut)" if cut else "")


def plain_line(text: str, most: int = MOST_LINE) -> str:
    """The same in one line."""
    found = " ".join(plain_text(text[:most]).split())
    return found + "…" if len(text) > most else found
