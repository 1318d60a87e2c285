"""Attributes of cuda_tile with their syntax: constants, keywords, `assume` predicates and hints."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tirx_mini.records import dataclass

from ..ssa import REQUIRED, Codec, Parser, Scalar, one_of, sequence
from .meanings import DTYPES


@dataclass(frozen=True, eq=False)
class Dense:
    """Constant numbers of an element type: a single one for a whole tile (rank 0), or an array of its shape."""

    element: str
    values: np.ndarray

    @staticmethod
    def of(element: str | Scalar, values: object) -> Dense:
        """Convert numbers to the element type; integers wrap around."""
        name = str(element)
        dtype = DTYPES[name]
        if dtype.kind == "i" and dtype.itemsize <= 8 and name != "i4":
            whole = np.asarray(values, dtype=object)
            bits = 8 * dtype.itemsize
            values = np.vectorize(
                lambda v: (int(v) + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1), otypes=[object]
            )(whole)
        with np.errstate(over="ignore"):  # a number that is too large is infinite
            return Dense(name, np.asarray(values).astype(dtype))

    def item(self) -> Any:
        """Return the number if it applies to all elements, else None."""
        return self.values.reshape(-1)[0].item() if self.values.size == 1 else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dense) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[str, tuple[int, ...], bytes]:
        return self.element, self.values.shape, self.values.tobytes()

    def __str__(self) -> str:
        return f"<{self.element}: {self.numbers()}>"

    def numbers(self) -> str:
        """Return the text of the numbers alone, nested as the array."""

        def nested(x: np.ndarray) -> str:
            return self._number(x[()]) if x.ndim == 0 else "[" + ", ".join(nested(row) for row in x) + "]"

        return nested(self.values)

    def _number(self, x: Any) -> str:
        if self.element == "i1":
            return "true" if x else "false"
        if self.element.startswith("i"):
            return str(int(x))
        value = float(x)
        if not math.isfinite(value):
            return f"0x{int.from_bytes(np.asarray(x).tobytes(), 'little'):X}"
        mantissa, _, exponent = str(x).partition("e")
        return (mantissa if "." in mantissa else f"{mantissa}.0") + (f"e{exponent}" if exponent else "")


def read_numbers(p: Parser, element: str) -> object:
    if p.peek == "[":
        return p.listed("[", "]", lambda: read_numbers(p, element))
    if p.peek in ("true", "false"):
        return p.word() == "true"
    text = p.number()
    if element.startswith("i"):
        return int(text, 0)
    if text.startswith("0x"):
        dtype = DTYPES[element]
        return float(np.frombuffer(int(text, 16).to_bytes(dtype.itemsize, "little"), dtype)[0])
    return float(text)


def _read_dense(p: Parser) -> Dense:
    p.expect("<")
    element = p.word()
    p.expect(":")
    values = read_numbers(p, element)
    p.expect(">")
    return Dense.of(element, values)


def _read_typed(p: Parser) -> Dense:
    """Parse ``0.0 : f32``; the number is parsed again once its type is known."""
    start = p.at
    p.next()
    p.expect(":")
    element = p.word()
    end, p.at = p.at, start
    values = read_numbers(p, element)
    p.at = end
    return Dense.of(element, values)


DENSE = Codec(lambda value, _: str(value), _read_dense)
"""``<f32: 0.0>``, ``<i32: [1, 2]>``."""
IDENTITIES = sequence(Codec(lambda value, _: f"{value.numbers()} : {value.element}", _read_typed))
"""``[0.0 : f32, 0 : i32]``: one for each operand of a reduction."""


def bracketed(keyword: str, *words: str, default: object = REQUIRED) -> Codec:
    """Return the codec of a bracketed keyword attribute such as ``rounding<zero>``."""

    def parse(p: Parser) -> str:
        p.expect(keyword)
        p.expect("<")
        word = p.word_of(words)
        p.expect(">")
        return word

    return Codec(lambda value, _: f"{keyword}<{value}>", parse, default)


IEEE_ROUNDINGS = ("nearest_even", "zero", "negative_inf", "positive_inf")
ROUNDING = bracketed("rounding", *IEEE_ROUNDINGS, default="nearest_even")
CONVERSION_ROUNDING = bracketed("rounding", *IEEE_ROUNDINGS, "nearest_away", default="nearest_even")
APPROXIMATE = bracketed("rounding", *IEEE_ROUNDINGS, "approx", "full", default="nearest_even")
FULL = bracketed("rounding", "full", "approx", default="full")
NEAREST = bracketed("rounding", "nearest_even", default="nearest_even")
INTEGER_ROUNDING = bracketed("rounding", "nearest_int_to_zero", default="nearest_int_to_zero")
DIVISION_ROUNDING = bracketed("rounding", "zero", "negative_inf", "positive_inf", default="zero")
OVERFLOW = bracketed("overflow", "none", "no_signed_wrap", "no_unsigned_wrap", "no_wrap", default="none")
SIGNEDNESS = one_of("signed", "unsigned")
PREDICATE = one_of("equal", "not_equal", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal")
ORDERING = one_of("ordered", "unordered")
ATOMIC_MODE = one_of("and", "or", "xor", "add", "addf", "max", "min", "umax", "umin", "xchg")
SCOPE = one_of("tl_blk", "device", "sys")
OPTIONAL_SCOPE = one_of("tl_blk", "device", "sys", default=None)
LOAD_ORDER = one_of("weak", "relaxed", "acquire")
STORE_ORDER = one_of("weak", "relaxed", "release")
ATOMIC_ORDER = one_of("relaxed", "acquire", "release", "acq_rel")


@dataclass(frozen=True)
class DivBy:
    """An `assume` predicate: a multiple of `divisor`, or with `every` and `along` only the first of each group."""

    divisor: int
    every: int | None = None
    along: int | None = None

    def __str__(self) -> str:
        return (
            f"div_by<{self.divisor}" + ("" if self.every is None else f", every {self.every} along {self.along}") + ">"
        )


@dataclass(frozen=True)
class Bounded:
    """An `assume` predicate: a signed number in a closed interval; None leaves a side unbounded."""

    lower: int | None = None
    upper: int | None = None

    def __str__(self) -> str:
        return f"bounded<{'?' if self.lower is None else self.lower}, {'?' if self.upper is None else self.upper}>"


@dataclass(frozen=True)
class SameElements:
    """An `assume` predicate: elements are equal within groups of the given extent per dimension."""

    groups: tuple[int, ...]

    def __str__(self) -> str:
        return f"same_elements<[{', '.join(map(str, self.groups))}]>"


Predicate = DivBy | Bounded | SameElements


def _read_predicate(p: Parser) -> Predicate:
    word = (p.next() if p.peek_kind() == "alias" else p.word()).split(".")[-1]
    p.expect("<")
    made: Predicate
    if word == "div_by":
        divisor, every, along = int(p.number()), None, None
        if p.accept(","):
            p.expect("every")
            every = int(p.number())
            p.expect("along")
            along = int(p.number())
        made = DivBy(divisor, every, along)
    elif word == "bounded":
        lower = _bound(p)
        p.expect(",")
        made = Bounded(lower, _bound(p))
    elif word == "same_elements":
        made = SameElements(tuple(int(n) for n in p.listed("[", "]", p.number)))
    else:
        raise p.error(f"expected div_by, bounded or same_elements, found `{word}`")
    p.expect(">")
    return made


def _bound(p: Parser) -> int | None:
    return None if p.accept("?") else int(p.number())


ASSUMED = Codec(lambda value, _: str(value), _read_predicate)

Hints = Mapping[str, Mapping[str, int | bool]]
"""Values by name, by architecture: ``{"sm_100": {"num_cta_in_cga": 2}}``."""


def _hints_text(hints: Hints) -> str:
    def value(x: int | bool) -> str:
        return str(x).lower()

    by_arch = (f"{arch} = {{{', '.join(f'{k} = {value(v)}' for k, v in of.items())}}}" for arch, of in hints.items())
    return f"<{', '.join(by_arch)}>"


def _read_hints(p: Parser) -> Hints:
    def hint() -> tuple[str, int | bool]:
        name = p.word()
        p.expect("=")
        return name, p.word() == "true" if p.peek in ("true", "false") else int(p.number())

    def arch() -> tuple[str, dict[str, int | bool]]:
        name = p.word()
        p.expect("=")
        return name, dict(p.listed("{", "}", hint))

    return dict(p.listed("<", ">", arch))


HINTS = Codec(lambda value, _: _hints_text(value), _read_hints, default=None)
