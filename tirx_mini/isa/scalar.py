"""PTX scalar instructions that map to IR operations: arithmetic, logic, comparison, selection and moves.

They need no entry in the table: what the compiler writes for the operation, and what the simulator computes, is what
PTX defines (PTX ISA: "Integer Arithmetic Instructions", "Comparison and Selection Instructions", "Logic and Shift
Instructions", "Half Precision Floating Point Instructions").
Registers have bits and no numbers: a value of another type of the same size is read by its bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

from tirx_mini.ir import (
    BOOL,
    Call,
    DataType,
    Expr,
    TirxError,
    as_bool,
    as_expr,
    binary,
    cast,
    const,
    reinterpret,
    select,
    unary,
)  # fmt: skip
from tirx_mini.records import dataclass

from .operands import REGISTER_TYPES
from .table import TABLE

Unary = Callable[[Expr], Expr]
Binary = Callable[[Expr, Expr], Expr]
Compute = Unary | Binary | Callable[[Expr, Expr, Expr], Expr]
"""The value of an instruction of one, two or three operands."""
TYPES: Mapping[str, DataType] = {
    **{name: DataType(dtype) for name, dtype in REGISTER_TYPES.items()},
    "pred": BOOL, "f16x2": DataType("uint32"), "bf16x2": DataType("uint32"),
}  # fmt: skip
"""The PTX types as IR dtypes; packed halves are a word."""
_HALVES = {"f16x2": DataType("float16"), "bf16x2": DataType("bfloat16")}

_SIGNED, _UNSIGNED = ("s16", "s32", "s64"), ("u16", "u32", "u64")
_INTEGERS, _BITS = (*_SIGNED, *_UNSIGNED), ("b16", "b32", "b64")
_HALF, _PACKED, _FLOATS = ("f16", "bf16"), ("f16x2", "bf16x2"), ("f32", "f64")
_ORDERED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_OF_UNSIGNED = {"lo": "<", "ls": "<=", "hi": ">", "hs": ">="}


def bits_as(dtype: DataType, value: object) -> Expr:
    """Return `value` in a register of `dtype`: bit-cast if the sizes match, else converted."""
    if not isinstance(value, Expr) and isinstance(value, (bool, int, float)):
        return const(value, dtype)
    expr = as_expr(value)
    if dtype.is_bool or expr.dtype.is_bool or expr.dtype == dtype:
        return as_bool(expr) if dtype.is_bool else cast(dtype, expr)
    if expr.dtype.is_handle or expr.dtype.bits != dtype.bits or (expr.dtype.is_integer and dtype.is_integer):
        return cast(dtype, expr)
    return reinterpret(dtype, expr)


def _unsigned(dtype: DataType) -> DataType:
    return DataType(f"uint{dtype.bits}")


def _wrapped(op: str, a: Expr, b: Expr) -> Expr:
    """Return a wrapping sum, difference or product, which C++ leaves undefined for signed integers."""
    if not a.dtype.is_signed or not a.dtype.is_integer:
        return binary(op, a, b)
    bare = _unsigned(a.dtype)
    return cast(a.dtype, binary(op, cast(bare, a), cast(bare, b)))


def _magnitude(a: Expr) -> Expr:
    """Return the absolute value of a float, a pair of halves, or an integer."""
    if a.dtype.is_float:
        bare = _unsigned(a.dtype)
        return reinterpret(a.dtype, binary("&", reinterpret(bare, a), const((1 << (a.dtype.bits - 1)) - 1, bare)))
    return select(binary("<", a, const(0, a.dtype)), _negated(a), a)


def _negated(a: Expr) -> Expr:
    if a.dtype.is_float:
        bare = _unsigned(a.dtype)
        return reinterpret(a.dtype, binary("^", reinterpret(bare, a), const(1 << (a.dtype.bits - 1), bare)))
    return _wrapped("-", const(0, a.dtype), a)


def _flushed(a: Expr) -> Expr:
    """Replace a subnormal float32 by zero of the same sign."""
    bare = reinterpret("uint32", a)
    small = binary("==", binary("&", bare, const(0x7F800000, "uint32")), const(0, "uint32"))
    return reinterpret("float32", select(small, binary("&", bare, const(0x80000000, "uint32")), bare))


def _shifted(op: str, a: Expr, count: Expr) -> Expr:
    """Return a shift; shifting by the width or more leaves zero, or copies of the sign."""
    size = a.dtype.bits
    last = const(size - 1, "uint32")
    if op == ">>" and a.dtype.is_signed:
        return binary(op, a, cast(a.dtype, binary("min", count, last)))
    moved = binary(op, a, cast(a.dtype, binary("min", count, last)))
    return select(binary("<", count, const(size, "uint32")), moved, const(0, a.dtype))


def _quotient(a: Expr, b: Expr) -> Expr:
    """Return the quotient, truncated towards zero."""
    if not a.dtype.is_signed:
        return binary("//", a, b)
    bare, zero = _unsigned(a.dtype), const(0, a.dtype)
    size = binary("//", cast(bare, _magnitude(a)), cast(bare, _magnitude(b)))
    opposite = binary("!=", binary("<", a, zero), binary("<", b, zero))
    return select(opposite, _negated(cast(a.dtype, size)), cast(a.dtype, size))


def _remainder(a: Expr, b: Expr) -> Expr:
    return _wrapped("-", a, _wrapped("*", _quotient(a, b), b))


def _wide(a: Expr, b: Expr) -> Expr:
    """Return the double-width product."""
    double = DataType(f"{a.dtype.code}{2 * a.dtype.bits}")
    return binary("*", cast(double, a), cast(double, b))


def _high(a: Expr, b: Expr) -> Expr:
    return cast(a.dtype, binary(">>", _wide(a, b), const(a.dtype.bits, f"{a.dtype.code}{2 * a.dtype.bits}")))


def _extreme(op: str) -> Binary:
    """Return a function for the lesser or greater number; for floats, NaN is ignored and -0 is less than +0."""

    def chosen(a: Expr, b: Expr) -> Expr:
        if not a.dtype.is_float:
            return binary(op, a, b)
        bare = _unsigned(a.dtype)
        joined = binary("|" if op == "min" else "&", reinterpret(bare, a), reinterpret(bare, b))
        first = binary("<" if op == "min" else ">", a, b)
        found = select(binary("==", a, b), reinterpret(a.dtype, joined), select(first, a, b))
        return select(binary("!=", a, a), b, select(binary("!=", b, b), a, found))

    return chosen


def _each_half(function: Compute, half: DataType) -> Callable[..., Expr]:
    """Return a function that applies `function` to both halves of packed words."""

    def packed(*words: Expr) -> Expr:
        low = [reinterpret(half, cast("uint16", word)) for word in words]
        high = [reinterpret(half, cast("uint16", binary(">>", word, const(16, "uint32")))) for word in words]
        parts = [cast("uint32", reinterpret("uint16", function(*side))) for side in (low, high)]
        return binary("|", parts[0], binary("<<", parts[1], const(16, "uint32")))

    return packed


def _difference(a: Expr, b: Expr) -> Expr:
    return select(binary("<", a, b), _wrapped("-", b, a), _wrapped("-", a, b))


def _logic(op: str, condition: str) -> Binary:
    return lambda a, b: binary(condition, a, b) if a.dtype.is_bool else binary(op, a, b)


def _inverted(a: Expr) -> Expr:
    return unary("not" if a.dtype.is_bool else "~", a)


@dataclass(frozen=True)
class Row:
    """Instructions with the same name.

    words: what follows the name before the type. types: the types that they have. compute: of operands of the type.
    operands: the types of operands that are not the instruction's, by their places. result: that of the result, where
    it is another. bare: words that may stand there and change nothing, as the only rounding of half precision.
    """

    name: str
    types: Sequence[str]
    compute: Compute
    arity: int
    words: tuple[str, ...] = ()
    operands: Mapping[int, str] | None = None
    result: Callable[[DataType], DataType] | None = None
    bare: tuple[str, ...] = ()


def _doubled(dtype: DataType) -> DataType:
    return DataType(f"{dtype.code}{2 * dtype.bits}")


def _compared(op: str) -> Binary:
    return lambda a, b: binary(op, a, b)


def _unordered(a: Expr, b: Expr) -> Expr:
    """Return whether either number is NaN."""
    return binary("or", binary("!=", a, a), binary("!=", b, b))


def _of_numbers(op: str) -> Binary:
    """Return a float comparison that is false if either operand is NaN."""
    if op != "!=":
        return _compared(op)
    return lambda a, b: binary("or", binary("<", a, b), binary(">", a, b))


def _or_nan(op: str) -> Binary:
    """Return a float comparison that is true if either operand is NaN."""
    return lambda a, b: binary("or", _unordered(a, b), binary(op, a, b))


def _flag(kind: str, compute: Binary) -> Binary:
    """Return a function with all bits set, or 1.0, if a comparison holds, else 0."""
    dtype = TYPES[kind]
    yes = const(1.0, dtype) if dtype.is_float else const((1 << dtype.bits) - 1, dtype)
    return lambda a, b: select(compute(a, b), yes, const(0, dtype))


def _copied_sign(a: Expr, b: Expr) -> Expr:
    """Return `b` with the sign of `a`."""
    bare = _unsigned(a.dtype)
    sign = const(1 << (a.dtype.bits - 1), bare)
    parts = binary("&", reinterpret(bare, a), sign), binary("&", reinterpret(bare, b), const(sign.value - 1, bare))
    return reinterpret(a.dtype, binary("|", *parts))


def _exponent(a: Expr) -> tuple[Expr, Expr, int]:
    """Return the exponent bits and fraction bits of a float, and the exponent of infinity."""
    bare, size = _unsigned(a.dtype), {32: 23, 64: 52}[a.dtype.bits]
    most = (1 << (a.dtype.bits - 1 - size)) - 1
    word = reinterpret(bare, a)
    exponent = binary("&", binary(">>", word, const(size, bare)), const(most, bare))
    return exponent, binary("&", word, const((1 << size) - 1, bare)), most


def _property(word: str) -> Unary:
    """Return a function that tests a property of a float (testp); zeros are normal."""

    def held(a: Expr) -> Expr:
        exponent, fraction, most = _exponent(a)
        last = binary("==", exponent, const(most, exponent.dtype))
        first = binary("==", exponent, const(0, exponent.dtype))
        none = binary("==", fraction, const(0, fraction.dtype))
        return {
            "finite": unary("not", last),
            "infinite": binary("and", last, none),
            "number": unary("not", binary("and", last, unary("not", none))),
            "notanumber": binary("and", last, unary("not", none)),
            "normal": unary("not", binary("or", last, binary("and", first, unary("not", none)))),
            "subnormal": binary("and", first, unary("not", none)),
        }[word]

    return held


def _low_24(a: Expr) -> Expr:
    """Return the lowest 24 bits, sign-extended."""
    if not a.dtype.is_signed:
        return binary("&", a, const(0xFFFFFF, a.dtype))
    return binary(">>", cast(a.dtype, binary("<<", cast("uint32", a), const(8, "uint32"))), const(8, a.dtype))


def _product_24(part: str) -> Binary:
    def product(a: Expr, b: Expr) -> Expr:
        wide = _wide(_low_24(a), _low_24(b))
        return cast(a.dtype, wide if part == "lo" else binary(">>", wide, const(16, wide.dtype)))

    return product


def _approximate(name: str) -> Unary:
    """Return a single-precision approximation rounded to half precision, within the ISA's looser bound."""

    def value(a: Expr) -> Expr:
        entry = TABLE[name]
        operands, attrs = entry.bind((cast("float32", a),), {})
        return cast(a.dtype, Call(DataType("float32"), entry.name, operands, attrs))

    return value


def _mask(kind: str) -> Binary:
    """Return a function for bmsk: `width` one bits from `start`; excess is clamped, or counts wrap around."""

    def bits(start: Expr, width: Expr) -> Expr:
        if kind == "wrap":
            start, width = (binary("&", each, const(31, "uint32")) for each in (start, width))
        start, width = (cast("uint64", binary("min", each, const(32, "uint32"))) for each in (start, width))
        ones = binary("-", binary("<<", const(1, "uint64"), width), const(1, "uint64"))
        return cast("uint32", binary("<<", ones, start))

    return bits


def _extended(kind: str) -> Binary:
    """Return a function for szext: the lowest bits of a number, zero- or sign-extended."""

    def value(a: Expr, count: Expr) -> Expr:
        all_bits = const(32, "uint32")
        count = binary("&", count, const(31, "uint32")) if kind == "wrap" else binary("min", count, all_bits)
        unused = binary("-", all_bits, count)
        return _shifted(">>", cast(a.dtype, _shifted("<<", cast("uint32", a), unused)), unused)

    return value


def _dot_2(half: str, a_type: str, b_type: str) -> Compute:
    """Return a function for dp2a: c plus the products of the halves of `a` and two bytes of `b`."""

    def part(word: Expr, size: int, place: int, kind: str) -> Expr:
        dtype = DataType(f"{'int' if kind == 's32' else 'uint'}{size}")
        return cast("int64", cast(dtype, binary(">>", cast("uint32", word), const(size * place, "uint32"))))

    def value(a: Expr, b: Expr, c: Expr) -> Expr:
        first = 0 if half == "lo" else 2
        products = (binary("*", part(a, 16, i, a_type), part(b, 8, first + i, b_type)) for i in (0, 1))
        return cast(c.dtype, binary("+", cast("int64", c), binary("+", *products)))

    return value


def _setp(word: str, types: Sequence[str], compute: Compute) -> Row:
    return Row("setp", types, compute, 2, (word,), result=lambda dtype: BOOL)


_NARROW = ("u16", "u32", "s16", "s32")
ROWS: tuple[Row, ...] = (
    Row("mov", (*_BITS, *_INTEGERS, *_FLOATS, "pred"), lambda a: a, 1),
    Row("add", _INTEGERS, lambda a, b: _wrapped("+", a, b), 2),
    Row("sub", _INTEGERS, lambda a, b: _wrapped("-", a, b), 2),
    Row("mul", _INTEGERS, lambda a, b: _wrapped("*", a, b), 2, ("lo",)),
    Row("mul", _NARROW, _high, 2, ("hi",)),
    Row("mul", _NARROW, _wide, 2, ("wide",), result=_doubled),
    Row("mad", _INTEGERS, lambda a, b, c: _wrapped("+", _wrapped("*", a, b), c), 3, ("lo",)),
    Row("mad", _NARROW, lambda a, b, c: _wrapped("+", _high(a, b), c), 3, ("hi",)),
    Row("div", _INTEGERS, _quotient, 2),
    Row("rem", _INTEGERS, _remainder, 2),
    Row("sad", _INTEGERS, lambda a, b, c: _wrapped("+", c, _difference(a, b)), 3),
    *(Row(op, _INTEGERS, _extreme(op), 2) for op in ("min", "max")),
    *(Row(op, (*_HALF, *_PACKED), _extreme(op), 2) for op in ("min", "max")),
    *(Row(name, (*_HALF, *_PACKED), _compared(op), 2, bare=("rn",))
      for name, op in (("add", "+"), ("sub", "-"), ("mul", "*"))),
    Row("abs", (*_SIGNED, *_HALF, *_PACKED, *_FLOATS), _magnitude, 1),
    Row("abs", ("f32",), lambda a: _magnitude(_flushed(a)), 1, ("ftz",)),
    Row("neg", (*_SIGNED, *_HALF, *_PACKED, *_FLOATS), _negated, 1),
    Row("neg", ("f32",), lambda a: _negated(_flushed(a)), 1, ("ftz",)),
    Row("and", (*_BITS, "pred"), _logic("&", "and"), 2),
    Row("or", (*_BITS, "pred"), _logic("|", "or"), 2),
    Row("xor", (*_BITS, "pred"), _logic("^", "!="), 2),
    Row("not", (*_BITS, "pred"), _inverted, 1),
    Row("cnot", _BITS, lambda a: select(binary("==", a, const(0, a.dtype)), const(1, a.dtype), const(0, a.dtype)), 1),
    Row("shl", _BITS, lambda a, n: _shifted("<<", a, n), 2, operands={1: "u32"}),
    Row("shr", (*_BITS, *_INTEGERS), lambda a, n: _shifted(">>", a, n), 2, operands={1: "u32"}),
    Row("selp", (*_BITS, *_INTEGERS, *_FLOATS), lambda a, b, p: select(p, a, b), 3, operands={2: "pred"}),
    *(_setp(word, (*_INTEGERS, *(_BITS if word in ("eq", "ne") else ())), _compared(op))
      for word, op in _ORDERED.items()),
    *(_setp(word, _UNSIGNED, _compared(op)) for word, op in _OF_UNSIGNED.items()),
    *(_setp(word, (*_FLOATS, *_HALF), _of_numbers(op)) for word, op in _ORDERED.items()),
    *(_setp(f"{word}u", (*_FLOATS, *_HALF), _or_nan(op)) for word, op in _ORDERED.items()),
    *(Row("set", (*_INTEGERS, *_FLOATS), _flag(to, _compared(op)), 2, (word, to), result=lambda dtype, to=to: TYPES[to])
      for word, op in _ORDERED.items() for to in ("u32", "s32", "f32") if op != "!="),
    *(Row("slct", (of,), lambda a, b, c: select(binary(">=", c, const(0, c.dtype)), a, b), 3, (kind,),
          operands={0: kind, 1: kind}, result=lambda dtype, kind=kind: TYPES[kind])
      for kind in (*_BITS, *_INTEGERS, *_FLOATS) for of in ("s32", "f32")),
    *(Row("mul24", ("u32", "s32"), _product_24(part), 2, (part,)) for part in ("lo", "hi")),
    *(Row("mad24", ("u32", "s32"), lambda a, b, c, part=part: _wrapped("+", _product_24(part)(a, b), c), 3, (part,))
      for part in ("lo", "hi")),
    *(Row("bmsk", ("b32",), _mask(word), 2, (word,)) for word in ("clamp", "wrap")),
    *(Row("szext", ("u32", "s32"), _extended(word), 2, (word,), operands={1: "u32"}) for word in ("clamp", "wrap")),
    *(Row("dp2a", (b,), _dot_2(half, a, b), 3, (half, a), operands={0: a, 2: "u32" if a == b == "u32" else "s32"},
          result=lambda dtype, a=a, b=b: TYPES["u32" if a == b == "u32" else "s32"])
      for half in ("lo", "hi") for a in ("u32", "s32") for b in ("u32", "s32")),
    Row("copysign", _FLOATS, _copied_sign, 2),
    *(Row("testp", _FLOATS, _property(word), 1, (word,), result=lambda dtype: BOOL)
      for word in ("finite", "infinite", "number", "notanumber", "normal", "subnormal")),
    Row("div", _FLOATS, lambda a, b: binary("/", a, b), 2, ("rn",)),
    Row("rcp", _FLOATS, lambda a: binary("/", const(1.0, a.dtype), a), 1, ("rn",)),
    Row("tanh", (*_HALF, *_PACKED), _approximate("tanh.approx"), 1, ("approx",)),
    Row("ex2", ("f16", "f16x2"), _approximate("ex2.approx"), 1, ("approx",)),
    Row("ex2", ("bf16", "bf16x2"), _approximate("ex2.approx"), 1, ("approx", "ftz")),
    _setp("nan", (*_FLOATS, *_HALF), _unordered),
    _setp("num", (*_FLOATS, *_HALF), lambda a, b: unary("not", _unordered(a, b))),
)  # fmt: skip


@dataclass(frozen=True)
class Scalar:
    """An instruction by its whole opcode. operands, result: its types."""

    opcode: str
    operands: tuple[DataType, ...]
    result: DataType
    compute: Compute

    def __call__(self, *args: object) -> Expr:
        """Return the value as an expression; raises `TirxError` for a wrong number of operands."""
        if len(args) != len(self.operands):
            count = f"{len(self.operands)} operand{'s' * (len(self.operands) != 1)}"
            raise TirxError(f"{self.opcode} takes {count} after the register of its result, but {len(args)} are given")
        value = self.compute(*map(bits_as, self.operands, args))
        return cast(self.result, value) if self.result.is_bool else bits_as(self.result, value)


def _of(row: Row, kind: str) -> Scalar:
    dtype = TYPES[kind]
    places = row.operands or {}
    operands = tuple(TYPES[places.get(place, kind)] for place in range(row.arity))
    compute = _each_half(row.compute, _HALVES[kind]) if kind in _HALVES else row.compute
    opcode = ".".join((row.name, *row.words, kind))
    return Scalar(opcode, operands, row.result(dtype) if row.result else dtype, compute)


@lru_cache(maxsize=1)
def scalars() -> Mapping[str, Scalar]:
    """Return all scalar instructions by opcode."""
    found: dict[str, Scalar] = {}
    for row in ROWS:
        for kind in row.types:
            one = _of(row, kind)
            found.setdefault(one.opcode, one)
            for word in row.bare:
                found.setdefault(".".join((row.name, *row.words, word, kind)), one)
    return found


def scalar(opcode: str) -> Scalar | None:
    """Return the instruction of an opcode, or None if it is not a scalar instruction."""
    return scalars().get(opcode)


def next_words(opcode: str) -> Iterator[str]:
    """Yield the words that may follow in the opcode of a scalar instruction."""
    begun = f"{opcode}."
    yield from dict.fromkeys(
        each[len(begun) :].partition(".")[0] for each in scalars() if each.startswith(begun)
    )
