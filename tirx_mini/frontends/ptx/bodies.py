"""Parser for function bodies.

One expression finds them, since each ends with a semicolon or a brace, and most operands are texts that the scope has
seen before: 5,000 instructions take a fifth of a second.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from tirx_mini.ir import Span, TirxError

from .declarations import declarations, parameters
from .locations import Locations
from .syntax import (
    Declaration,
    Directive,
    Instruction,
    Label,
    Operand,
    Prototype,
    Register,
    Scope,
    Special,
    Statement,
    Symbol,
    Targets,
    Vector,
)
from .tokens import SPECIALS, Operands, PtxSyntaxError, tokens

_STATEMENT = re.compile(
    r"""(?:
      (?P<brace>[{}])
    | \.loc\s+(?P<loc>[^\n]*)
    | (?P<label>[%$_A-Za-z][\w$]*)\s*:(?!:)
    | \.(?P<directive>pragma|branchtargets|calltargets|callprototype)\b(?P<values>[^;]*);
    | (?P<declaration>\.[a-z][^;{]*(?:\{[^;]*)?);
    | (?:@\s*(?P<guard>!?\s*[%$_A-Za-z][\w$]*)\s+)?(?P<opcode>[a-z]\w*(?:\.[\w:]+)*)(?P<operands>[^;]*);
    )\s*""",
    re.VERBOSE,
)
_BLANKS = re.compile(r"\s*")
_PIECE = re.compile(r"(?:\[[^\]]*\]|\{[^}]*\}|\([^)]*\)|[^,\[{(])+")
_REGISTER = re.compile(r"%\w+\Z")
_VECTOR = re.compile(r"\{[\s\w%$,]+\}\Z")
_DIGITS = "0123456789"
_NEXT_STATEMENT = re.compile(r"\n\s*(?:@\s*!?\s*[\w%$]+\s+)?[a-z]\w*(?:\.[\w:]+)*(?:\s|\Z)")


class _Names:
    """The names declared in one scope.

    counts: for a numbered register, how many there are. seen: operands that were read before, by their text.
    """

    def __init__(self) -> None:
        self.registers: set[str] = set()
        self.counts: dict[str, int] = {}
        self.variables: set[str] = set()
        self.seen: dict[str, Operand] = {}

    def declare(self, declaration: Declaration) -> None:
        self.seen.clear()
        if declaration.space != "reg":
            self.variables.add(declaration.name)
        elif declaration.count:
            self.counts[declaration.name] = declaration.count
        else:
            self.registers.add(declaration.name)

    def has_register(self, name: str) -> bool:
        if name in self.registers:
            return True
        stem = name.rstrip(_DIGITS) if self.counts else name
        digits = name[len(stem) :]
        return digits != "" and int(digits) < self.counts.get(stem, 0) and (digits[0] != "0" or digits == "0")


class Bodies:
    """Parses the bodies of functions in a text. newlines: the offsets of the line ends."""

    def __init__(self, text: str, file: str, locations: Locations) -> None:
        self.text, self.file, self.locations = text, file, locations
        self.newlines = [match.start() for match in re.finditer("\n", text)]
        self.opcodes: dict[str, tuple[str, ...]] = {}
        self.scopes: list[_Names] = []

    def line(self, at: int) -> int:
        """Return the line number of an offset in the text."""
        return bisect_right(self.newlines, at - 1) + 1

    def error(self, message: str, at: int) -> TirxError:
        return TirxError(message, Span(self.file, self.line(at)))

    def body(self, at: int, parameters: tuple[Declaration, ...]) -> tuple[tuple[Statement, ...], int]:
        """Parse the statements after the opening brace; return them and the offset behind the closing brace."""
        text = self.text
        outermost = at
        self.scopes = [_Names()]
        for parameter in parameters:
            self.scopes[0].declare(parameter)
        open_bodies: list[list[Statement]] = [[]]
        span: Span | None = None
        at = _end_of_blanks(text, at)
        while True:
            match = _STATEMENT.match(text, at)
            if match is None:
                raise self._not_a_statement(at, outermost)
            kind = match.lastgroup
            statements = open_bodies[-1]
            if kind == "operands":
                statements.append(self._instruction(match, span))
            elif kind == "loc":
                span = self.locations.span(match["loc"], span)
            elif kind == "label":
                statements.append(Label(match["label"], self.line(at)))
            elif kind == "brace" and match["brace"] == "{":
                open_bodies.append([])
                self.scopes.append(_Names())
            elif kind == "brace":
                self.scopes.pop()
                done = tuple(open_bodies.pop())
                if not open_bodies:
                    return done, match.end()
                open_bodies[-1].append(Scope(done))
            else:
                self._declaration(match, span, statements)
            at = match.end()

    def _not_a_statement(self, at: int, outermost: int) -> TirxError:
        if at >= len(self.text):
            return self.error("the function has no closing brace", outermost - 1)
        sample = self.text[at : at + 60].partition("\n")[0].strip()
        closed = ";" in self.text[at:].partition("\n")[0]
        return self.error(f"`{sample}` is not a statement" + ("" if closed else ": it has no semicolon at its end"), at)

    def _declaration(self, match: re.Match[str], span: Span | None, statements: list[Statement]) -> None:
        """Parse a declaration or a directive terminated by a semicolon."""
        at = match.start()
        line = self.line(at)
        try:
            if match["declaration"] is not None:
                for each in declarations(match["declaration"], line, span or Span(self.file, line)):
                    self.scopes[-1].declare(each)
                    statements.append(each)
                return
            kind, values = match["directive"], match["values"]
            if kind == "pragma":
                statements.append(Directive(kind, tuple(word.strip('" \t') for word in values.split(",")), line))
                return
            label = statements.pop() if statements else None
            if not isinstance(label, Label):
                raise PtxSyntaxError(f".{kind} has no name in front of it")
            if kind == "callprototype":
                statements.append(_prototype(label.name, values, line))
            else:
                names = tuple(word.strip() for word in values.split(","))
                statements.append(Targets(kind, label.name, names, line))
        except PtxSyntaxError as error:
            raise self.error(str(error), at) from None

    def _instruction(self, match: re.Match[str], span: Span | None) -> Instruction:
        at = match.start()
        word = match["opcode"]
        opcode = self.opcodes.get(word)
        if opcode is None:
            opcode = self.opcodes[word] = tuple(word.split("."))
        text = match["operands"]
        line = self.line(at)
        try:
            if opcode[0] == "call":
                operands = Operands(tokens(text), self._named).list("", groups=True)
            else:
                operands = tuple([self._piece(piece.strip()) for piece in _PIECE.findall(text.strip())])
            guard = self._guard(match["guard"]) if match["guard"] else None
        except PtxSyntaxError as error:
            lost = "; a semicolon may be missing" if _NEXT_STATEMENT.search(text) else ""
            raise self.error(f"`{word}` cannot be read: {error}{lost}", at) from None
        whole = " ".join(match[0].rstrip().rstrip(";").split())
        return Instruction(opcode, operands, guard, whole, line, span or Span(self.file, line))

    def _piece(self, piece: str) -> Operand:
        seen = self.scopes[-1].seen
        operand = seen.get(piece)
        if operand is None:
            operand = seen[piece] = self._operand(piece)
        return operand

    def _operand(self, piece: str) -> Operand:
        if _REGISTER.match(piece):
            return self._named(piece)
        if _VECTOR.match(piece):
            return Vector(tuple([self._piece(item.strip()) for item in piece[1:-1].split(",")]))
        reader = Operands(tokens(piece), self._named)
        found = reader.operand()
        if reader.peek():
            raise PtxSyntaxError(f"{reader.peek()!r} stands behind the operand `{' '.join(piece.split())}`")
        return found

    def _guard(self, text: str) -> Register:
        found = self._operand(text)
        if not isinstance(found, Register):
            raise PtxSyntaxError(f"the guard {text} is not a register")
        return found

    def _named(self, name: str) -> Operand:
        """Resolve a name to a declared register, a special register, or a symbol."""
        for scope in reversed(self.scopes):
            if name in scope.variables:
                return Symbol(name)
            if scope.has_register(name):
                return Register(name)
        if name[0] != "%":
            return Symbol(name)
        if name[1:] not in SPECIALS:
            raise PtxSyntaxError(f"the register {name} is not declared")
        return Special(name[1:])


def _end_of_blanks(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return match.end() if match is not None else at


def _prototype(name: str, text: str, line: int) -> Prototype:
    """Parse a call prototype: ``(results) _ (parameters)``."""
    reader = Operands(tokens(text), Symbol)
    results = parameters(reader, line)
    reader.take("_")
    return Prototype(name, results, parameters(reader, line), line)
