"""Sanitised text of a hand-in for terminals, pages and files."""

from __future__ import annotations

import unicodedata

MOST_TEXT = 8000
"""The maximum number of characters of one page."""
MOST_LINE = 200
_KEPT = "\n\t"
_BAD = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""The Unicode categories of control, formatting, surrogate, private and unassigned characters, and separators."""

_JOINERS = "\u200c\u200d"
"""The joiners of combined letters and signs, which also occur in people's names."""


def plain_text(text: str, most: int = MOST_TEXT) -> str:
    """Return at most `most` characters of the text, with control characters as Python escapes.

    Terminal controls, and characters that change the display of other text, become visible: ESC is four characters,
    \\x1b."""
    cut = len(text) > most
    found = "".join(map(_shown, text[:most].replace("\r\n", "\n")))
    return found + ("\n(the rest is cut)" if cut else "")


def _shown(character: str) -> str:
    if character in _KEPT or unicodedata.category(character) not in _BAD:
        return character
    return _escape(character)


def plain_line(text: str, most: int = MOST_LINE) -> str:
    """Return text sanitised as by `plain_text`, in one line."""
    found = " ".join(plain_text(text[:most]).split())
    return found + "…" if len(text) > most else found


def shown_name(name: str) -> str:
    """Return the name of a file with each invisible character as an escape, as in `a\\u202eb`."""
    return "".join(c if c in _JOINERS or unicodedata.category(c) not in _BAD else _escape(c) for c in name)


def _escape(character: str) -> str:
    """Return the escape of a character, such as `\\xff` for an undecodable byte of a file name."""
    code = ord(character)
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else character.encode("unicode_escape").decode()
