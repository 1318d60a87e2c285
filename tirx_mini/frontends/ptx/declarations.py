"""Parser for declarations of registers, variables and parameters (PTX ISA: "State Spaces, Types, and Variables")."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tirx_mini.ir import Span
from tirx_mini.records import dataclass

from .syntax import NO_SPAN, Declaration, Initial, Register, Symbol
from .tokens import Operands, PtxSyntaxError, tokens

LINKAGE = ("extern", "visible", "weak", "common")
SPACES = ("reg", "sreg", "const", "global", "local", "param", "shared", "tex")
TYPES = frozenset(
    "u8 u16 u32 u64 u128 s8 s16 s32 s64 b8 b16 b32 b64 b128 f16 f16x2 bf16 bf16x2 f32 f32x2 f64 pred "
    "e4m3x2 e5m2x2 tf32 texref samplerref surfref".split()
)
_VECTORS = {"v2": 2, "v4": 4, "v8": 8}
_REGISTERS = re.compile(r"\.reg\s*\.(\w+)\s+([%$\w]+)(?:<(\d+)>)?\s*\Z")


def declarations(text: str, line: int, span: Span = NO_SPAN) -> tuple[Declaration, ...]:
    """Parse a declaration statement without its semicolon: ``.reg .b32 %r<5>``, ``.shared .align 16 .b8 a[64]``."""
    simple = _REGISTERS.match(text)
    if simple is not None and simple[1] in TYPES:
        kind, name, count = simple.groups()
        return (Declaration("reg", kind, name, int(count or 0), line=line, span=span),)
    reader = Operands(tokens(text), Symbol)
    found = tuple(_declared(reader, line, span))
    if reader.peek():
        raise PtxSyntaxError(f"{reader.peek()!r} stands behind a declaration")
    return found


def parameters(reader: Operands, line: int) -> tuple[Declaration, ...]:
    """Parse a parenthesised parameter list; return () if there are no parentheses."""
    if reader.peek() != "(":
        return ()
    reader.take("(")
    found: list[Declaration] = []
    while reader.peek() != ")":
        found.extend(_declared(reader, line, NO_SPAN, alone=True))
        if reader.peek() != ")":
            reader.take(",")
    reader.take(")")
    return tuple(found)


def _declared(reader: Operands, line: int, span: Span, alone: bool = False) -> Iterator[Declaration]:
    """Parse the names of one declaration. alone: the declaration has one name, terminated by a comma."""
    of = _Qualifiers()
    while reader.peek() == ".":
        reader.take(".")
        of.take(reader.take(), reader)
    if not of.kind or not of.space:
        raise PtxSyntaxError(f"a declaration lacks its {'state space' if of.kind else 'type'}")
    while True:
        name = reader.take()
        count = 0
        if reader.peek() == "<":
            reader.take("<")
            count = int(reader.take())
            reader.take(">")
        shape = tuple(_extents(reader))
        initial: Initial | None = None
        if reader.peek() == "=":
            reader.take("=")
            initial = _initial(reader)
        yield Declaration(
            of.space, of.kind, name, count, of.vector, shape, of.align, initial,
            of.linkage, of.pointer, of.pointer_align, line, span,
        )  # fmt: skip
        if alone or reader.peek() != ",":
            return
        reader.take(",")


@dataclass
class _Qualifiers:
    """The dotted qualifiers before the names of a declaration; the fields are those of `Declaration`."""

    space: str = ""
    kind: str = ""
    linkage: str = ""
    vector: int = 1
    align: int = 0
    pointer: str | None = None
    pointer_align: int = 0

    def take(self, word: str, reader: Operands) -> None:
        """Record one qualifier and consume its arguments from the reader."""
        if word in LINKAGE:
            self.linkage = word
        elif word in TYPES:
            self.kind = word
        elif word == "align" and self.pointer is None:
            self.align = reader.integer()
        elif word == "align":
            self.pointer_align = reader.integer()
        elif word == "ptr":
            self.pointer = ""
        elif word in _VECTORS:
            self.vector = _VECTORS[word]
        elif word in SPACES and self.pointer is not None:
            self.pointer = word
        elif word in SPACES:
            self.space = word
        elif word == "attribute":
            _skip(reader)
        else:
            raise PtxSyntaxError(f".{word} is not a state space, type or qualifier of a declaration")
        if word == "const" and reader.peek() == "[":  # a bank
            for expected in ("[", "", "]"):
                reader.take(expected)
        if word == "shared" and reader.peek() == ":":
            for expected in (":", ":", ""):
                reader.take(expected)


def _extents(reader: Operands) -> Iterator[int | None]:
    while reader.peek() == "[":
        reader.take("[")
        yield None if reader.peek() == "]" else reader.integer()
        reader.take("]")


def _initial(reader: Operands) -> Initial:
    """Parse an initialiser: a constant, an address, or a braced list."""
    if reader.peek() == "{":
        reader.take("{")
        items: list[Initial] = []
        while reader.peek() != "}":
            items.append(_initial(reader))
            if reader.peek() != "}":
                reader.take(",")
        reader.take("}")
        return tuple(items)
    if reader.peek() == "generic":
        reader.take()
        reader.take("(")
        inner = reader.operand()
        reader.take(")")
        if not isinstance(inner, Symbol):
            raise PtxSyntaxError("generic() takes a variable")
        offset = reader.offset() if reader.peek() in ("+", "-") else 0
        return Symbol(inner.name, inner.offset + offset, generic=True)
    found = reader.operand()
    if isinstance(found, Register):
        raise PtxSyntaxError("an initialiser is a constant or an address")
    return found


def _skip(reader: Operands) -> None:
    """Skip a parenthesised group."""
    reader.take("(")
    depth = 1
    while depth:
        word = reader.take()
        depth += (word == "(") - (word == ")")
