"""Parser from PTX text to a `Module` (PTX ISA 7.8 to 9.x)."""

from __future__ import annotations

import re
from types import MappingProxyType

from tirx_mini.ir import Span

from .bodies import Bodies
from .declarations import declarations, parameters
from .locations import Locations, kept_lines
from .syntax import Declaration, Directive, Function, Module, Symbol
from .tokens import Operands, PtxSyntaxError, tokens
from .wmma import expanded

OLDEST = (6, 0)
"""The oldest version that is read. Older texts have instructions for warps without ``.sync``."""

_COMMENT = re.compile(r'("[^"\n]*")|//[^\n]*|/\*.*?\*/|^[ \t]*#[^\n]*', re.DOTALL | re.MULTILINE)
_SECTION = re.compile(r"\.section\s+[^\s{]+\s*\{[^}]*\}")
_HEADER = re.compile(r"\s*\.(version|target|address_size)\s+([^\n]+)")
_SKIPPED = re.compile(r"\s*(?:\.file\s[^\n]*|\.(?:pragma|alias)\s[^;]*;|\.loc\s[^\n]*|;)")
_FUNCTION = re.compile(r"\s*((?:\.(?:extern|visible|weak|common)\s+)*)\.(entry|func)\b([^{;]*)([{;])")
_VARIABLE = re.compile(r"\s*(\.[^;]*);")


def read(text: str, file: str = "") -> Module:
    """Parse a PTX text into a module. file: the name of its lines in messages; a text without one gets a name.

    Raises `TirxError` at the first mistake.
    """
    code = _without_comments(text)
    return _Reader(expanded(code) if "wmma." in code else code, kept_lines(text, "ptx", file)).module()


def _without_comments(text: str) -> str:
    """Blank out comments and debug sections, preserving line numbers."""

    def blank(match: re.Match[str]) -> str:
        return match[1] or "\n" * match[0].count("\n") or " "

    return _SECTION.sub(lambda match: "\n" * match[0].count("\n"), _COMMENT.sub(blank, text))


class _Reader:
    """Parses a text sequentially. at: the current offset."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file, self.at = text, file, 0
        self.locations = Locations.of(text)
        self.bodies = Bodies(text, file, self.locations)
        self.variables: list[Declaration] = []
        self.functions: list[Function] = []

    def module(self) -> Module:
        header: dict[str, str] = {}
        while match := _HEADER.match(self.text, self.at):
            header[match[1]] = match[2].strip().rstrip(";")
            self.at = match.end()
        version = re.fullmatch(r"(\d+)\.(\d+)", header.get("version", ""))
        if version is None or "target" not in header:
            raise self.bodies.error("PTX starts with .version and .target", 0)
        numbers = int(version[1]), int(version[2])
        if numbers < OLDEST:
            oldest = ".".join(map(str, OLDEST))
            raise self.bodies.error(f"PTX {header['version']} is older than {oldest}, the oldest that is read", 0)
        while self._statement():
            pass
        return Module(
            numbers,
            tuple(word.strip() for word in header["target"].split(",")),
            int(header.get("address_size", "64")),
            self.file,
            MappingProxyType(self.locations.files),
            tuple(self.variables),
            tuple(self.functions),
        )

    def _statement(self) -> bool:
        """Parse one module-level statement; return False at the end of the text."""
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        if self.at == len(self.text):
            return False
        if match := _SKIPPED.match(self.text, self.at):
            self.at = match.end()
        elif match := _FUNCTION.match(self.text, self.at):
            self._function(match)
        elif match := _VARIABLE.match(self.text, self.at):
            line = self.bodies.line(self.at)
            try:
                self.variables += declarations(match[1], line, Span(self.file, line))
            except PtxSyntaxError as error:
                raise self.bodies.error(f"a variable cannot be read: {error}", self.at) from None
            self.at = match.end()
        else:
            sample = self.text[self.at :].partition("\n")[0].strip()[:60]
            raise self.bodies.error(f"`{sample}` is not a statement of a module", self.at)
        return True

    def _function(self, match: re.Match[str]) -> None:
        line = self.bodies.line(self.at)
        linkage = match[1].replace(".", "").strip()
        reader = Operands(tokens(match[3]), Symbol)
        try:
            while reader.peek() == ".":
                _directive(reader, line)  # attributes in front of the name
            results = parameters(reader, line)
            name = reader.take()
            arguments = parameters(reader, line)
            directives: list[Directive] = []
            while reader.peek():
                directives.append(_directive(reader, line))
        except PtxSyntaxError as error:
            raise self.bodies.error(f"a function cannot be read: {error}", self.at) from None
        self.at = match.end()
        body = None
        if match[4] == "{":
            body, self.at = self.bodies.body(self.at, (*results, *arguments))
        span = Span(self.file, line)
        self.functions.append(
            Function(match[2], name, arguments, results, tuple(directives), body, linkage, line, span)
        )


def _directive(reader: Operands, line: int) -> Directive:
    """Parse a directive and its values up to the next dot."""
    reader.take(".")
    name = reader.take()
    values: list[int | str] = []
    while reader.peek() and reader.peek() != ".":
        word = reader.take()
        if word in (",", "(", ")"):
            continue
        values.append(int(word, 0) if word.isdigit() else word.strip('"'))
    return Directive(name, tuple(values), line)
