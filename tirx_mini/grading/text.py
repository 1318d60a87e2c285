"""Text of a hand-in, made fit for terminals, pages and files."""

from __future__ import annotations

import unicodedata

MOST_TEXT = 8000
"""Characters of one page."""
MOST_LINE = 200
_KEPT = "\n\t"
_BAD = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode's categories of control, formatting, surrogate, private and unassigned characters, and of separators."""

_JOINERS = "\u200c\u200d"
"""Of letters and signs that are written as one, also in people's names."""


def plain_text(text: str, most: int = MOST_TEXT) -> str:
    """The text, of at most so many characters, in which what a terminal obeys, or what changes how the rest reads, is
    written as Python writes it: a terminal's escape is four characters, \\x1b."""
    cut = len(text) > most
    found = "".join(map(_shown, text[:most].replace("\r\n", "\n")))
    return found + ("\n(the rest is cut)" if cut else "")


def _shown(character: str) -> str:
    if character in _KEPT or unicodedata.category(character) not in _BAD:
        return character
    return _escape(character)


def plain_line(text: str, most: int = MOST_LINE) -> str:
    """The same in one line."""
    found = " ".join(plain_text(text[:most]).split())
    return found + "…" if len(text) > most else found


def shown_name(name: str) -> str:
    """Return the name of a file with each invisible character as an escape, as in `a\\u202eb`."""
    return "".join(c if c in _JOINERS or unicodedata.category(c) not in _BAD else _escape(c) for c in name)


def _escape(character: str) -> str:
    """A byte that is no text, as Python has it in the names of files, is `\\xff`."""
    code = ord(character)
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else character.encode("unicode_escape").decode()
