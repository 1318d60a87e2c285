"""Format strings of operations, used by both the printer and the parser.

    $name          an operand (group), a region, or an attribute in its codec's text; a flag prints its name
    type($name)    the type of an operand or result; of a group, their types, separated by commas
    attr-dict      all attributes that the string does not name and that are not at their default: ``{a = 1, b = "x"}``
    [[ … ]]        printed only where its first $name is there: an operand or region that is given, a group that is not
                   empty, an attribute that is not at its default
    anything else  itself

``"$lhs, $rhs : type($lhs), type($rhs)"`` is the format of ``mmaf %a, %b : tile<4x8xf16>, tile<8x4xf16>``.
"""

from __future__ import annotations

import re
from functools import cache

from tirx_mini.records import dataclass

_TOKEN = re.compile(r"\[\[|\]\]|type\(\$\w+\)|attr-dict|\$\w+|->|[\w.]+|[^\s\w]")


@dataclass(frozen=True)
class Literal:
    text: str


@dataclass(frozen=True)
class Named:
    """The part $name of a format string, or type($name) with of_type."""

    name: str
    of_type: bool = False


@dataclass(frozen=True)
class AttrDict:
    pass


@dataclass(frozen=True)
class Optional:
    parts: tuple[Part, ...]

    @property
    def anchor(self) -> str:
        return next(p.name for p in self.parts if isinstance(p, Named))


Part = Literal | Named | AttrDict | Optional


@cache
def parts_of(format: str) -> tuple[Part, ...]:
    """Parse a format string into its parts."""
    tokens = _TOKEN.findall(format)
    parts, rest = _parts(tokens)
    assert not rest, f"unbalanced [[ ]] in {format!r}"
    return parts


def _parts(tokens: list[str]) -> tuple[tuple[Part, ...], list[str]]:
    parts: list[Part] = []
    while tokens:
        token, *tokens = tokens
        if token == "]]":
            break
        if token == "[[":
            inner, tokens = _parts(tokens)
            parts.append(Optional(inner))
        elif token == "attr-dict":
            parts.append(AttrDict())
        elif token.startswith("type("):
            parts.append(Named(token[6:-1], of_type=True))
        elif token.startswith("$"):
            parts.append(Named(token[1:]))
        else:
            parts.append(Literal(token))
    return tuple(parts), tokens


@cache
def names_in(format: str) -> frozenset[str]:
    """Return the names that a format string prints other than as types."""

    def walk(parts: tuple[Part, ...]) -> set[str]:
        found: set[str] = set()
        for part in parts:
            if isinstance(part, Named) and not part.of_type:
                found.add(part.name)
            elif isinstance(part, Optional):
                found |= walk(part.parts)
        return found

    return frozenset(walk(parts_of(format)))
