"""Attribute codecs, which print and parse one kind of value each."""

from __future__ import annotations

import re

from .core import REQUIRED, Codec, Parser


def one_of(*words: str, default: object = REQUIRED) -> Codec:
    """Return the codec of a keyword attribute."""
    return Codec(lambda value, _: str(value), lambda p: p.word_of(words), default)


def sequence(item: Codec) -> Codec:
    """Return the codec of a tuple, ``[a, b]``."""
    return Codec(
        lambda value, p: f"[{', '.join(item.text(v, p) for v in value)}]",
        lambda p: tuple(p.listed("[", "]", lambda: item.parse(p))),
    )


def _float(parser: Parser) -> float:
    text = parser.number()
    return float.fromhex(text) if "0x" in text else float(text)


def quoted(text: str) -> str:
    """Return a string literal."""
    return '"' + re.sub(r'(["\\])', r"\\\1", text).replace("\n", "\\n") + '"'


INT = Codec(lambda value, _: str(int(value)), lambda p: int(p.number(), 0))
FLOAT = Codec(lambda value, _: repr(float(value)), _float)
BOOL = Codec(lambda value, _: "true" if value else "false", lambda p: p.word_of(("true", "false")) == "true")
STRING = Codec(lambda value, _: quoted(value), lambda p: p.string())
SYMBOL = Codec(lambda value, _: f"@{value}", lambda p: p.symbol())
TYPE = Codec(lambda value, p: value.text(p), lambda p: p.type())
ATTRIBUTE = Codec(lambda value, p: value.text(p), lambda p: p.attribute())
"""An object with a method `text(printer)`, of a kind that the dialect's `attributes` parse."""
FLAG = Codec(lambda value, _: "", lambda p: True, default=False, flag=True)
INTS = sequence(INT)
