"""Parser of modules."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from .build import make
from .core import Module, Op, OpKind, Region, Scalar, Syntax, Type, Value
from .dialect import Dialect
from .format import AttrDict, Literal, Named, Optional, Part, parts_of

_TOKEN = re.compile(
    r"""\s+|//[^\n]*
    |(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<value>%[\w.$-]+(?:\#\d+)?) |(?P<symbol>@[\w.$-]+) |(?P<alias>\#[\w.$]+)
    |(?P<number>[-+]?(?:0x[0-9a-fA-F]+|\d+\.\d*(?:[eE][-+]?\d+)?|\d+(?:[eE][-+]?\d+)?)(?![\w]))
    |(?P<dims>(?:\d+|\?)(?:x(?:\d+|\?))*x(?=[\w!?]))
    |(?P<word>!?[A-Za-z_][\w.$]*) |(?P<arrow>->) |(?P<punct>[^\s\w])""",
    re.VERBOSE,
)
_SCALAR = re.compile(r"i\d+|f\d+(E\d+M\d+\w*)?|bf16|tf32|index")


class ParseError(ValueError):
    """A syntax error, whose message has the line and column."""


class Parser:
    """A token-based parser, which dialects extend by types, attributes and operations.

    dialects: those that the text may use; the operations of the first need no prefix.
    """

    def __init__(self, text: str, dialects: Sequence[Dialect]) -> None:
        self.source = text
        self.dialects = {d.name: d for d in dialects}
        self.default = dialects[0].name
        self.tokens = _tokens(text)
        self.at = 0
        self.values: list[dict[str, Value]] = [{}]
        self.aliases: dict[str, object] = {}

    def error(self, message: str) -> ParseError:
        """Return a syntax error at the current token."""
        place = self.tokens[self.at][2] if self.at < len(self.tokens) else len(self.source)
        line = self.source.count("\n", 0, place) + 1
        column = place - (self.source.rfind("\n", 0, place) + 1) + 1
        return ParseError(f"line {line}, column {column}: {message}")

    @property
    def peek(self) -> str:
        """The current token, or "" at the end."""
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def peek_kind(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else "end"

    def next(self) -> str:
        token = self.peek
        if not token:
            raise self.error("the text ends too early")
        self.at += 1
        return token

    def accept(self, token: str) -> bool:
        if self.peek == token:
            self.at += 1
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise self.error(f"expected `{token}`, found `{self.peek or 'the end'}`")

    def of(self, kind: str, what: str) -> str:
        if self.peek_kind() != kind:
            raise self.error(f"expected {what}, found `{self.peek or 'the end'}`")
        return self.next()

    def word(self) -> str:
        return self.of("word", "a word")

    def word_of(self, words: Sequence[str]) -> str:
        if self.peek not in words:
            raise self.error(f"expected one of {', '.join(words)}, found `{self.peek}`")
        return self.next()

    def number(self) -> str:
        return self.of("number", "a number")

    def string(self) -> str:
        text = self.of("string", "a string")[1:-1]
        return re.sub(r"\\(.)", lambda m: "\n" if m.group(1) == "n" else m.group(1), text)

    def symbol(self) -> str:
        return self.of("symbol", "a symbol")[1:]

    def listed(self, opening: str, closing: str, item: Callable[[], object]) -> list[Any]:
        """Parse a delimited list: ``opening item, item … closing``."""
        self.expect(opening)
        found: list[Any] = []
        while not self.accept(closing):
            if found:
                self.expect(",")
            found.append(item())
        return found

    def dims(self) -> tuple[int | None, ...]:
        """Parse the dimensions ``4x8x`` before an element type; ``?`` becomes None."""
        if self.peek_kind() != "dims":
            return ()
        return tuple(None if d == "?" else int(d) for d in self.next().rstrip("x").split("x"))

    def extent(self) -> int | None:
        """Parse an extent; ``?`` becomes None."""
        return None if self.accept("?") else int(self.number())

    def strided(self, what: str) -> tuple[Scalar, tuple[int | None, ...], tuple[int | None, ...]]:
        """Parse the element, extents and strides of ``<4x?xf32, strides=[8, 1]>``. what: the type's name in messages.
        """
        self.expect("<")
        shape, element = self.dims(), self.type()
        strides: tuple[int | None, ...] = ()
        if self.accept(","):
            self.expect("strides")
            self.expect("=")
            strides = tuple(self.listed("[", "]", self.extent))
        self.expect(">")
        if not isinstance(element, Scalar) or len(shape) != len(strides):
            raise self.error(f"{what} has numbers as elements, and one stride for each extent")
        return element, shape, strides

    def type(self) -> Type:
        name = self.word().removeprefix("!")
        if _SCALAR.fullmatch(name):
            return Scalar(name)
        dialect, _, rest = name.partition(".")
        if rest and dialect in self.dialects and rest in self.dialects[dialect].types:
            return self.dialects[dialect].types[rest](self)
        for known in self.dialects.values():
            if name in known.types:
                return known.types[name](self)
        self.at -= 1
        raise self.error(f"unknown type `{name}`")

    def attribute(self) -> Any:
        """Parse an attribute, ``#alias`` or ``#dialect.word…``."""
        name = self.of("alias", "an attribute")[1:]
        if name in self.aliases:
            return self.aliases[name]
        dialect, _, word = name.partition(".")
        if dialect in self.dialects and word in self.dialects[dialect].attributes:
            return self.dialects[dialect].attributes[word](self)
        raise self.error(f"unknown attribute `#{name}`")

    def value(self) -> Value:
        """Parse the use of a previously defined value."""
        name = self.of("value", "a value")
        for scope in reversed(self.values):
            if name in scope:
                return scope[name]
        self.at -= 1
        raise self.error(f"`{name}` is not defined above")

    def define(self, name: str, type: Type) -> Value:
        value = Value(type, "" if name[1:].isdigit() else name[1:])
        self.values[-1][name] = value
        return value

    def value_names(self) -> list[str]:
        """Parse the names of values being defined: ``%a, %b``."""
        names = [self.of("value", "a value")]
        while self.accept(","):
            names.append(self.of("value", "a value"))
        return names

    def region(self, params: Sequence[tuple[str, Type]] | None = None) -> Region:
        """Parse a region ``{ … }``.

        params: names and types of parameters that the operation's own text states; None: the region states them.
        """
        self.expect("{")
        self.values.append({})
        if params is None and self.accept("^"):
            params = self.listed("(", ")", self.param)
            self.expect(":")
        made = tuple(self.define(name, type) for name, type in params or ())
        ops: list[Op] = []
        while not self.accept("}"):
            ops.append(self.op())
        self.values.pop()
        return Region(made, tuple(ops))

    def param(self) -> tuple[str, Type]:
        """Parse a parameter ``%name: type``."""
        name = self.of("value", "a value")
        self.expect(":")
        return name, self.type()

    def op(self) -> Op:
        names: list[str] = []
        if self.peek_kind() == "value":
            names = self.value_names()
            self.expect("=")
        kind = self._kind()
        self.names = names
        op = kind.format.parse(self, kind) if isinstance(kind.format, Syntax) else self._formatted(kind)
        op = self._noted(op) if self.notes_follow else op
        if len(names) != len(op.results):
            raise self.error(f"{kind.name} has {len(op.results)} results, not {len(names)}")
        for name, value in zip(names, op.results, strict=True):
            value.hint = "" if name[1:].isdigit() else name[1:]
            self.values[-1][name] = value
        return op

    @property
    def notes_follow(self) -> bool:
        """Return whether the next tokens are annotations of a pass: ``{sched.latency = 600}``."""
        kind, word, _ = self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else ("", "", 0)
        prefix, dot, _ = word.partition(".")
        return self.peek == "{" and kind == "word" and bool(dot) and prefix not in self.dialects

    def _noted(self, op: Op) -> Op:
        notes: dict[str, int] = {}

        def one() -> None:
            name = self.word()
            self.expect("=")
            notes[name] = int(self.number())

        self.listed("{", "}", one)
        return replace(op, attrs={**op.attrs, **notes})

    def _kind(self) -> OpKind:
        word = self.word()
        dialect, _, rest = word.partition(".")
        if rest and dialect in self.dialects and rest in self.dialects[dialect].ops:
            return self.dialects[dialect].ops[rest]
        if word in self.dialects[self.default].ops:
            return self.dialects[self.default].ops[word]
        self.at -= 1
        raise self.error(f"unknown operation `{word}`")

    def _formatted(self, kind: OpKind) -> Op:
        assert isinstance(kind.format, str)
        reader = _Reader(self, kind)
        reader.parts(parts_of(kind.format))
        return reader.finish()


class _Reader:
    """Parses one operation according to its format string."""

    def __init__(self, parser: Parser, kind: OpKind) -> None:
        self.p, self.kind = parser, kind
        self.groups = {f.name: f for f in (*kind.operands, *kind.results)}
        self.given: dict[str, Any] = {}
        self.types: dict[str, list[Type]] = {}

    def parts(self, parts: tuple[Part, ...]) -> None:
        for part in parts:
            if isinstance(part, Literal):
                self.p.expect(part.text)
            elif isinstance(part, AttrDict):
                self.attributes()
            elif isinstance(part, Optional):
                if self.starts(part.parts):
                    self.parts(part.parts)
            elif part.of_type:
                self.types[part.name] = self.listed_types(part.name)
            else:
                self.named(part.name)

    def starts(self, parts: tuple[Part, ...]) -> bool:
        """Return whether an optional group is present, by its first literal, flag, value or attribute."""
        first = parts[0]
        if isinstance(first, Literal):
            return self.p.peek == first.text
        assert isinstance(first, Named)
        codec = self.kind.attrs.get(first.name)
        if codec is None:
            return self.p.peek_kind() == "value"
        if codec.flag:
            return self.p.peek == first.name
        before = self.p.at
        try:
            codec.parse(self.p)
            return True
        except ParseError:
            return False
        finally:
            self.p.at = before

    def named(self, name: str) -> None:
        codec = self.kind.attrs.get(name)
        if codec is not None:
            if codec.flag:
                self.given[name] = self.p.accept(name)
            else:
                self.given[name] = codec.parse(self.p)
        elif name in self.kind.regions:
            self.given[name] = self.p.region()
        elif self.groups[name].variadic:
            values: list[Value] = []
            while self.p.peek_kind() == "value":
                values.append(self.p.value())
                if not self.p.accept(","):
                    break
            self.given[name] = tuple(values)
        elif self.groups[name].optional and self.p.peek_kind() != "value":
            self.given[name] = None
        else:
            self.given[name] = self.p.value()

    def listed_types(self, name: str) -> list[Type]:
        given = self.given.get(name, None)
        if name in {f.name for f in self.kind.operands}:
            count = len(given) if isinstance(given, tuple) else 0 if given is None else 1
        else:
            index = self.kind.members[name][1]
            count = len(self.p.names) - index if self.groups[name].variadic else 1
        types: list[Type] = []
        for i in range(count):
            if i:
                self.p.expect(",")
            types.append(self.p.type())
        return types

    def attributes(self) -> None:
        if self.p.peek != "{" or self.p.notes_follow:
            return

        def one() -> None:
            name = self.p.word()
            if name not in self.kind.attrs:
                raise self.p.error(f"{self.kind.name} has no attribute `{name}`")
            codec = self.kind.attrs[name]
            if codec.flag:
                self.given[name] = True
            else:
                self.p.expect("=")
                self.given[name] = codec.parse(self.p)

        self.p.listed("{", "}", one)

    def finish(self) -> Op:
        args = tuple(self.given.get(f.name, () if f.variadic else None) for f in self.kind.operands)
        for f, arg in zip(self.kind.operands, args, strict=True):
            self.check(f.name, arg if isinstance(arg, tuple) else () if arg is None else (arg,))
        flags = {n for n, c in self.kind.attrs.items() if c.flag}
        attrs = {n: self.given[n] for n in self.kind.attrs if n in self.given and (n not in flags or self.given[n])}
        regions = tuple(self.given[n] for n in self.kind.regions)
        stated = [t for f in self.kind.results for t in self.types.get(f.name, [])]
        types = stated if all(f.name in self.types for f in self.kind.results) else None
        try:
            return make(self.kind, args, attrs, regions, types)
        except ValueError as error:
            raise self.p.error(str(error)) from None

    def check(self, name: str, values: Sequence[Value]) -> None:
        for value, type in zip(values, self.types.get(name, ()), strict=False):
            if value.type != type:
                raise self.p.error(f"%{value.hint} has the type {value.type}, not {type}")


def _tokens(text: str) -> list[tuple[str, str, int]]:
    found: list[tuple[str, str, int]] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ParseError(f"line {text.count(chr(10), 0, at) + 1}: unexpected character {text[at]!r}")
        if match.lastgroup:
            found.append((match.lastgroup, match.group(), at))
        at = match.end()
    return found


def parse_module(text: str, dialects: Sequence[Dialect]) -> Module:
    """Parse a module. Raises `ParseError` with line and column.

    dialects: those that it may use; the operations of the first need no prefix.
    """
    parser = Parser(text, dialects)
    while parser.peek_kind() == "alias":
        name = parser.next()[1:]
        parser.expect("=")
        parser.aliases[name] = parser.attribute()
    word = parser.word()
    if not word.endswith("module"):
        raise parser.error(f"expected a module, found `{word}`")
    name = parser.symbol()
    region = parser.region(())
    if parser.peek:
        raise parser.error(f"unexpected `{parser.peek}` after the module")
    return Module(name, region.ops)
