"""The SSA form shared by all dialects of tile_ir: types, values, operations, regions and modules.

    module ::= Module(name, ops*)
    op     ::= Op(kind, args*, results*, attrs, regions*)      -- one argument for each of `kind.operands`
    arg    ::= Value | Value* | None                           -- an operand, a group, an absent operand
    region ::= Region(params*, ops*)                           -- one block: control flow is structured

Nodes are immutable, so a pass never changes what another holds: it builds a new module (`rewrite.py`). A `Value` is its
own identity; it is defined once, as a result of an operation or as a parameter of a region, and is visible from its
definition to the end of the region, in nested regions too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from tirx_mini.ir import Span
from tirx_mini.records import dataclass

Printer = Any
"""`printer.Printer`, which stands on this module."""
Parser = Any
"""`parser.Parser`, which stands on this module."""


DTYPES: Mapping[str, str] = {
    "i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "index": "int64",
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "tf32": "float32", "f64": "float64",
    "f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2", "f8E8M0FNU": "float8_e8m0fnu",
}  # fmt: skip
"""The dtype of the IR for each scalar type. tf32 is kept as float32, whose low bits the tensor core ignores."""


class Type:
    """Base class of types, which are frozen dataclasses; `str` gives their text without aliases."""

    def text(self, printer: Printer) -> str:
        """Return the text in a module; types that contain aliased attributes override this."""
        return str(self)


@dataclass(frozen=True)
class Scalar(Type):
    """A number, boolean or index type: ``i32``, ``f16``, ``bf16``, ``tf32``, ``f8E4M3FN``, ``i1``, ``index``."""

    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def is_float(self) -> bool:
        return self.name[0] in "fbt"

    @property
    def is_integer(self) -> bool:
        return not self.is_float

    @property
    def bits(self) -> int:
        """The width in bits, which is 64 for `index`."""
        digits = "".join(c for c in self.name.split("E")[0] if c.isdigit())
        return {"index": 64, "tf32": 32}.get(self.name) or int(digits)


@dataclass(eq=False)
class Value:
    """An SSA value.

    hint: the name that it has in the source; the printer makes it unique.
    """

    type: Any
    hint: str = ""

    def __repr__(self) -> str:
        return f"%{self.hint or '?'}: {self.type}"


Arg = Value | tuple[Value, ...] | None

_NO_ATTRS: Mapping[str, object] = MappingProxyType({})


REQUIRED: object = object()


@dataclass(frozen=True)
class Codec:
    """The codec of an attribute's text.

    default: its value where it is left out; `REQUIRED` if it must be given.
    flag: it is True or False, and its text is its name.
    """

    text: Callable[[Any, Printer], str]
    parse: Callable[[Parser], Any]
    default: Any = REQUIRED
    flag: bool = False

    def __call__(self, default: object) -> Codec:
        """Return the same codec with a default value: ``INT(0)``."""
        return replace(self, default=default)


Infer = Callable[["Op"], "Type | tuple[Type, ...]"]
"""The types of the results of an operation whose `results` are not made yet."""
Verify = Callable[["Op"], Iterable[str]]
"""What is wrong with an operation, one sentence each, beginning with a lower-case letter."""


@dataclass(frozen=True)
class Field:
    """An operand or result definition. optional: it may be omitted. variadic: it is a list of values."""

    name: str
    optional: bool = False
    variadic: bool = False


@dataclass(frozen=True, eq=False)
class Syntax:
    """Custom printing and parsing of an operation, for text that no format string describes.

    parse returns the operation; it gets the results' names.
    """

    print: Callable[[Op, Printer], None]
    parse: Callable[[Parser, OpKind], Op]


@dataclass(frozen=True, eq=False, repr=False)
class OpKind:
    """The definition of an operation in a dialect.

    name: with its dialect, as "cuda_tile.mmaf".
    regions: their names; "*agents" is any number of them, which need a `Syntax`.
    format: its text after the name (`format.py`), or a `Syntax`.
    infer: the types of the results, where the text does not state them.
    pure: it has no effect, so that it may be removed, moved and merged.
    terminator: it ends a region.
    """

    name: str
    operands: tuple[Field, ...] = ()
    results: tuple[Field, ...] = ()
    attrs: Mapping[str, Codec] = field(default_factory=dict)
    regions: tuple[str, ...] = ()
    format: str | Syntax = ""
    infer: Infer | None = None
    verify: Verify | None = None
    pure: bool = False
    terminator: bool = False
    doc: str = ""

    @property
    def dialect(self) -> str:
        return self.name.split(".")[0]

    @property
    def mnemonic(self) -> str:
        return self.name.split(".", 1)[1]

    @cached_property
    def members(self) -> Mapping[str, tuple[str, int]]:
        """The group and index of each operand, result, attribute and region, by name."""
        table = {f.name: ("operand", i) for i, f in enumerate(self.operands)}
        table |= {f.name: ("result", i) for i, f in enumerate(self.results)}
        table |= {name: ("attr", i) for i, name in enumerate(self.attrs)}
        return table | {name: ("region", i) for i, name in enumerate(self.regions)}

    def __repr__(self) -> str:
        return f"<op {self.name}>"


@dataclass(frozen=True, eq=False, repr=False)
class Op:
    """An operation, whose operands, results, attributes and regions are also Python attributes.

    span: the source text that it comes from.
    """

    kind: OpKind
    args: tuple[Arg, ...] = ()
    results: tuple[Value, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=lambda: _NO_ATTRS)
    regions: tuple[Region, ...] = ()
    span: Span | None = None

    @property
    def name(self) -> str:
        return self.kind.name

    @property
    def operands(self) -> tuple[Value, ...]:
        """All operands, with groups flattened."""
        return tuple(flat(self.args))

    @property
    def result(self) -> Value:
        """The only result."""
        (value,) = self.results
        return value

    def __getattr__(self, name: str) -> Any:
        kind = self.__dict__.get("kind")
        if kind is None or name.startswith("__"):
            raise AttributeError(name)
        where = kind.members.get(name)
        if where is None:
            raise AttributeError(f"{kind.name} has no operand, result, attribute or region {name!r}")
        group, index = where
        if group == "operand":
            return self.args[index]
        if group == "result":
            return self.results[index:] if kind.results[index].variadic else self.results[index]
        if group == "region":
            return self.regions[index]
        return self.attrs.get(name, kind.attrs[name].default)

    def __repr__(self) -> str:
        return f"<{self.kind.name}>"


@dataclass(frozen=True, eq=False, repr=False)
class Region:
    """A block of operations, which ends with a terminator if the owning operation requires one."""

    params: tuple[Value, ...] = ()
    ops: tuple[Op, ...] = ()

    @property
    def terminator(self) -> Op:
        return self.ops[-1]

    def walk(self) -> Iterator[Op]:
        """Yield all operations in pre-order."""
        for op in self.ops:
            yield op
            for region in op.regions:
                yield from region.walk()


@dataclass(frozen=True, eq=False, repr=False)
class Module:
    """A compilation unit, which consists of functions and globals."""

    name: str
    ops: tuple[Op, ...] = ()

    def walk(self) -> Iterator[Op]:
        return Region((), self.ops).walk()

    def find(self, kind: OpKind) -> Iterator[Op]:
        """Yield the operations of `kind`, at any depth."""
        return (op for op in self.walk() if op.kind is kind)

    def __repr__(self) -> str:
        return f"<module {self.name}>"


def flat(args: tuple[Arg, ...]) -> Iterator[Value]:
    """Yield the values of arguments, in order."""
    for arg in args:
        if isinstance(arg, tuple):
            yield from arg
        elif arg is not None:
            yield arg
