"""Arithmetic, comparisons, conversions and choices: each opcode as an expression of the IR.

An opcode is looked up here first, for what the simulator executes fastest or the table of `isa` lacks, then among the
scalar instructions of `isa`. NaNs below double precision equal one another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from tirx_mini.ir import BOOL, DataType, Expr, binary, cast, const, reinterpret, select, unary
from tirx_mini.isa import scalar, value_of
from tirx_mini.records import dataclass

Compute: TypeAlias = Callable[..., Expr]
_UNTYPED = {f"b{n}": f"uint{n}" for n in (8, 16, 32, 64)}
TYPES: Mapping[str, DataType] = {
    name: DataType(dtype)
    for name, dtype in {
        **_UNTYPED, **{f"u{n}": f"uint{n}" for n in (8, 16, 32, 64)}, **{f"s{n}": f"int{n}" for n in (8, 16, 32, 64)},
        "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "pred": "bool",
        "f16x2": "uint32", "bf16x2": "uint32", "u16x2": "uint32", "s16x2": "uint32", "f32x2": "uint64",
    }.items()
}  # fmt: skip
"""The types of PTX as the IR has them; packed halves are a word."""
_HALVES = {"f16x2": "f16", "bf16x2": "bf16", "u16x2": "u16", "s16x2": "s16"}
ROUNDINGS = ("rn", "rz", "rm", "rp")


@dataclass(frozen=True)
class Operation:
    """An instruction of single threads without memory. operands, result: its types."""

    operands: tuple[DataType, ...]
    result: DataType
    compute: Compute


@dataclass(frozen=True)
class Words:
    """An opcode in parts. kind: its last type. mods: what stands between."""

    name: str
    mods: tuple[str, ...]
    kind: str

    @property
    def dtype(self) -> DataType:
        return TYPES[self.kind]

    @property
    def rounding(self) -> str:
        """The rounding mode, "" where none is written."""
        return next((word for word in self.mods if word in ROUNDINGS), "")

    def has(self, word: str) -> bool:
        return word in self.mods


@lru_cache(maxsize=4096)
def operation(opcode: tuple[str, ...]) -> Operation | None:
    """The operation of an opcode, or None where it is none of this module."""
    if len(opcode) > 1 and opcode[-1] in TYPES:
        words = Words(opcode[0], opcode[1:-1], opcode[-1])
        build = FORMS.get(opcode[0])
        made = build(words) if build is not None else None
        if made is not None:
            return made
    known = scalar(".".join(opcode))
    return None if known is None else Operation(known.operands, known.result, known.__call__)


def _same(words: Words, count: int, compute: Compute) -> Operation:
    """An operation whose operands and result have one type."""
    return Operation((words.dtype,) * count, words.dtype, compute)


def _of(opcode: str) -> Compute:
    found = scalar(opcode)
    assert found is not None, opcode
    return found


def _is_integer(kind: str) -> bool:
    return kind[0] in "us" and kind in TYPES


def halves(compute: Compute, half: str) -> Compute:
    """`compute` of the halves of words."""
    inner = TYPES[half]

    def packed(*words: Expr) -> Expr:
        parts: list[Expr] = []
        for shift in (0, 16):
            moved = [cast("uint16", binary(">>", word, const(shift, word.dtype))) for word in words]
            value = compute(*(reinterpret(inner, each) if inner.is_float else cast(inner, each) for each in moved))
            word = reinterpret("uint16", value) if inner.is_float else cast("uint16", value)
            parts.append(binary("<<", cast("uint32", word), const(shift, "uint32")))
        return binary("|", parts[0], parts[1])

    return packed


def saturated(value: Expr) -> Expr:
    """A number from 0 to 1; 0 for NaN (PTX ISA: .sat)."""
    zero, one = const(0.0, value.dtype), const(1.0, value.dtype)
    return select(binary(">", value, zero), select(binary("<", value, one), value, one), zero)


def rectified(value: Expr) -> Expr:
    """A number, or 0 where it is negative; NaN stays (PTX ISA: .relu)."""
    return select(binary("<=", value, const(0.0, value.dtype)), const(0.0, value.dtype), value)


def flushed(value: Expr) -> Expr:
    """A number, or a zero of its sign where it is subnormal (PTX ISA: .ftz)."""
    bits = value.dtype.bits
    bare = DataType(f"uint{bits}")
    exponent = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000}[value.dtype]
    word = reinterpret(bare, value)
    small = binary("==", binary("&", word, const(exponent, bare)), const(0, bare))
    return select(small, reinterpret(value.dtype, binary("&", word, const(1 << (bits - 1), bare))), value)


def _modified(words: Words, compute: Compute) -> Compute:
    """`compute` of floats with .ftz, .sat and .relu, of single numbers or of pairs."""

    def whole(*args: Expr) -> Expr:
        value = compute(*(map(flushed, args) if words.has("ftz") else args))
        if words.has("ftz"):
            value = flushed(value)
        return saturated(value) if words.has("sat") else rectified(value) if words.has("relu") else value

    return halves(whole, _HALVES[words.kind]) if words.kind in _HALVES else whole


# -- sums and products --------------------------------------------------------------------------------------------


def _ring(op: str) -> Callable[[Words], Operation | None]:
    """add, sub, mul: integers wrap around; floats are rounded."""

    def build(words: Words) -> Operation | None:
        kind = words.kind
        if kind in ("u16x2", "s16x2"):
            return _same(words, 2, halves(lambda a, b: binary(op, a, b), _HALVES[kind]))
        if _is_integer(kind):
            if words.has("sat"):
                return _same(words, 2, _clamped(op))
            plain = not words.mods or words.mods == ("lo",)
            return _same(words, 2, lambda a, b: binary(op, a, b)) if plain else None
        if kind in ("f16", "bf16", "f16x2", "bf16x2"):
            return _same(words, 2, _modified(words, lambda a, b: binary(op, a, b)))
        if kind == "f32x2":
            return _entry(words, f"{words.name}.f32x2", 2)
        if words.rounding in ("", "rn") and not words.has("ftz"):
            return _same(words, 2, _sat(words, lambda a, b: binary(op, a, b)))
        return _entry(words, f"{words.name}.{kind}", 2)

    return build


def _sat(words: Words, compute: Compute) -> Compute:
    return (lambda *args: saturated(compute(*args))) if words.has("sat") else compute


def _entry(words: Words, name: str, count: int) -> Operation:
    """An entry of the table that has the rounding mode and .ftz as modifiers."""
    attrs: dict[str, object] = {"rounding": words.rounding or "rn"}
    if words.kind in ("f32", "f32x2"):
        attrs["ftz"] = words.has("ftz")
    compute = _sat(words, lambda *args: value_of(name, words.dtype, *args, **attrs))
    return _same(words, count, compute)


def _clamped(op: str) -> Compute:
    """A sum of 32 bits in the range of its type (PTX ISA: add.sat.s32)."""

    def compute(a: Expr, b: Expr) -> Expr:
        low, high = const(-(1 << 31), "int64"), const((1 << 31) - 1, "int64")
        exact = binary(op, cast("int64", a), cast("int64", b))
        return cast("int32", binary("min", binary("max", exact, low), high))

    return compute


def _fused(words: Words) -> Operation | None:
    """fma, and mad of floats: a b + c with one rounding."""
    kind = words.kind
    if kind in ("f16", "bf16"):
        word = lambda x: cast("uint32", reinterpret("uint16", x))  # noqa: E731
        fused = lambda *abc: value_of(f"fma.{kind}x2", DataType("uint32"), *map(word, abc))  # noqa: E731
        compute = lambda *abc: reinterpret(TYPES[kind], cast("uint16", fused(*abc)))  # noqa: E731
        return _same(words, 3, _modified(words, compute))
    if kind in ("f16x2", "bf16x2"):
        if not set(words.mods) & {"ftz", "sat", "relu"}:
            return _same(words, 3, lambda *abc: value_of(f"fma.{kind}", DataType("uint32"), *abc))
        half = _fused(Words(words.name, tuple(set(words.mods)), kind[:-2]))
        assert half is not None
        return _same(words, 3, halves(half.compute, kind[:-2]))
    if kind == "f32" and words.rounding in ("", "rn") and not words.has("ftz"):
        return _same(words, 3, _sat(words, lambda *abc: value_of("fma.rn", DataType("float32"), *abc)))
    if kind in ("f32", "f64", "f32x2"):
        return _entry(words, f"fma.{kind}", 3)
    return None


def _multiply_add(words: Words) -> Operation | None:
    """mad of integers: the low, the high or the whole product, plus c."""
    if words.kind.startswith("f"):
        return _fused(words)
    if not _is_integer(words.kind):
        return None
    if words.has("wide"):
        wide = DataType(f"{words.dtype.code}{2 * words.dtype.bits}")
        product = lambda a, b, c: binary("+", binary("*", cast(wide, a), cast(wide, b)), c)  # noqa: E731
        return Operation((words.dtype, words.dtype, wide), wide, product)
    if words.has("lo"):
        return _same(words, 3, lambda a, b, c: binary("+", binary("*", a, b), c))
    high = high_product if words.dtype.bits == 64 else _of(f"mul.hi.{words.kind}")
    if words.has("sat"):
        return _same(words, 3, lambda a, b, c: _clamped("+")(high(a, b), c))
    return _same(words, 3, lambda a, b, c: binary("+", high(a, b), c))


def _product(words: Words) -> Operation | None:
    if words.has("hi") and words.dtype.bits == 64:
        return _same(words, 2, high_product)
    return _ring("*")(words)


def high_product(a: Expr, b: Expr) -> Expr:
    """The upper 64 bits of a product of 64-bit integers."""
    u64 = DataType("uint64")
    low, size = const((1 << 32) - 1, u64), const(32, u64)
    x, y = cast(u64, a), cast(u64, b)
    x0, y0, x1, y1 = binary("&", x, low), binary("&", y, low), binary(">>", x, size), binary(">>", y, size)
    middle = binary("+", binary("*", x1, y0), binary(">>", binary("*", x0, y0), size))
    other = binary("+", binary("*", x0, y1), binary("&", middle, low))
    high = binary("+", binary("*", x1, y1), binary("+", binary(">>", middle, size), binary(">>", other, size)))
    if a.dtype.is_signed:
        for one, two in ((a, y), (b, x)):
            negative = binary("<", one, const(0, one.dtype))
            high = binary("-", high, select(negative, two, const(0, u64)))
    return cast(a.dtype, high)


# -- extremes, signs ----------------------------------------------------------------------------------------------


def _extreme(op: str) -> Callable[[Words], Operation | None]:
    """min and max: of two or three values; .NaN gives NaN for one, .xorsign.abs takes magnitudes and joins signs."""

    def build(words: Words) -> Operation | None:
        kind = words.kind
        if kind in ("u16x2", "s16x2"):
            compute = halves(_relu(words, lambda a, b: binary(op, a, b)), _HALVES[kind])
            return _same(words, 2, compute)
        if _is_integer(kind):
            return _same(words, 2, _relu(words, lambda a, b: binary(op, a, b)))
        half = _HALVES.get(kind, kind)
        opcode = f"{op}.f32" if half == "f32" else ""

        def chosen(a: Expr, b: Expr) -> Expr:
            joined = binary("!=", _negative(a), _negative(b)) if words.has("xorsign") else None
            if words.has("ftz"):
                a, b = flushed(a), flushed(b)
            if joined is not None:
                a, b = _magnitude(a), _magnitude(b)
            value = value_of(opcode, TYPES["f32"], a, b) if opcode else _number_extreme(op, a, b)
            if words.has("NaN"):
                missing = binary("or", binary("!=", a, a), binary("!=", b, b))
                value = select(missing, const(float("nan"), value.dtype), value)
            if joined is not None:
                value = select(joined, _minus(value), value)
            return rectified(value) if words.has("relu") else value

        return _same(words, 2, halves(chosen, half) if kind in _HALVES else chosen)

    return build


def _relu(words: Words, compute: Compute) -> Compute:
    if not words.has("relu"):
        return compute

    def positive(a: Expr, b: Expr) -> Expr:
        value = compute(a, b)
        return binary("max", value, const(0, value.dtype))

    return positive


def _number_extreme(op: str, a: Expr, b: Expr) -> Expr:
    """The lesser or the greater number; a NaN is left out, and -0 is less than +0."""
    first = binary("<" if op == "min" else ">", a, b)
    joined = _joined_sign(op, a, b)
    found = select(binary("==", a, b), joined, select(first, a, b))
    return select(binary("!=", a, a), b, select(binary("!=", b, b), a, found))


def _joined_sign(op: str, a: Expr, b: Expr) -> Expr:
    bare = DataType(f"uint{a.dtype.bits}")
    return reinterpret(a.dtype, binary("|" if op == "min" else "&", reinterpret(bare, a), reinterpret(bare, b)))


def _sign_bit(value: Expr, op: str) -> Expr:
    bare, bits = DataType(f"uint{value.dtype.bits}"), value.dtype.bits
    mask = 1 << (bits - 1) if op == "^" else (1 << (bits - 1)) - 1
    return reinterpret(value.dtype, binary(op, reinterpret(bare, value), const(mask, bare)))


def _minus(value: Expr) -> Expr:
    return _sign_bit(value, "^")


def _magnitude(value: Expr) -> Expr:
    return _sign_bit(value, "&")


def _negative(value: Expr) -> Expr:
    bare = DataType(f"uint{value.dtype.bits}")
    return binary("!=", binary(">>", reinterpret(bare, value), const(value.dtype.bits - 1, bare)), const(0, bare))


def _sign(change: Compute) -> Callable[[Words], Operation | None]:
    """neg and abs of floats, with .ftz."""

    def build(words: Words) -> Operation | None:
        if words.dtype.is_float or words.kind in ("f16x2", "bf16x2"):
            compute = (lambda a: change(flushed(a))) if words.has("ftz") else change
            return _same(words, 1, halves(compute, _HALVES[words.kind]) if words.kind in _HALVES else compute)
        if words.kind.startswith("s") and change is _minus:
            return _same(words, 1, lambda a: binary("-", const(0, a.dtype), a))
        return None

    return build


# -- quotients, roots -----------------------------------------------------------------------------------------------


def _quotient(words: Words) -> Operation | None:
    if not words.dtype.is_float:
        return None
    if words.has("approx") and words.kind == "f32":
        return _same(words, 2, lambda a, b: value_of("div.approx", TYPES["f32"], a, b, ftz=words.has("ftz")))
    if words.has("full"):
        return _same(words, 2, _modified(words, lambda a, b: binary("/", a, b)))
    if words.rounding in ("", "rn"):
        return _same(words, 2, _modified(words, lambda a, b: binary("/", a, b)))
    return _entry(words, f"div.{words.kind}", 2)


def _reciprocal(words: Words) -> Operation | None:
    if not words.dtype.is_float:
        return None
    if words.kind == "f64" and words.has("approx"):
        word = lambda x: reinterpret("uint64", binary("/", const(1.0, x.dtype), x))  # noqa: E731
        upper = const(((1 << 32) - 1) << 32, "uint64")
        return _same(words, 1, lambda a: reinterpret("float64", binary("&", word(a), upper)))
    if words.has("approx"):
        return None
    if words.rounding in ("", "rn"):
        return _same(words, 1, _modified(words, lambda a: binary("/", const(1.0, a.dtype), a)))
    return _entry(words, f"rcp.{words.kind}", 1)


def _root(words: Words) -> Operation | None:
    if not words.dtype.is_float or words.has("approx"):
        return None
    if words.rounding in ("", "rn"):
        name = "sqrt.rn" if words.kind == "f32" else "sqrt.f64"
        return _same(words, 1, _modified(words, lambda a: value_of(name, words.dtype, a)))
    return _entry(words, f"sqrt.{words.kind}", 1)


def _reciprocal_root(words: Words) -> Operation | None:
    if words.kind != "f64":
        return None
    return _same(words, 1, lambda a: value_of("rsqrt.f64", words.dtype, a))


def _approximation(words: Words) -> Operation | None:
    """ex2, tanh of halves: the value of single precision, rounded."""
    half = _HALVES.get(words.kind, words.kind)
    if half not in ("f16", "bf16"):
        return None
    single = lambda a: value_of(f"{words.name}.approx", TYPES["f32"], cast("float32", a))  # noqa: E731
    compute = lambda a: cast(TYPES[half], single(a))  # noqa: E731
    return _same(words, 1, halves(compute, half) if words.kind in _HALVES else compute)


# -- comparisons ----------------------------------------------------------------------------------------------------

_ORDERED = ("eq", "ne", "lt", "le", "gt", "ge")
COMPARISONS = (*_ORDERED, "lo", "ls", "hi", "hs", *(f"{word}u" for word in _ORDERED), "num", "nan")


def comparison(words: Sequence[str], kind: str) -> Compute:
    """A comparison of two operands of a type, from the parts of an opcode: ``lt``, ``equ``, ``ftz``."""
    test = next(word for word in words if word in COMPARISONS)
    if kind.startswith("b") and kind != "bf16":
        kind = f"u{kind[1:]}"
    if test in ("lo", "ls", "hi", "hs"):
        test = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}[test]
    compute = _of(f"setp.{test}.{kind}")
    return (lambda a, b: compute(flushed(a), flushed(b))) if "ftz" in words else compute


def joined(words: Sequence[str], holds: Expr, other: Expr | None) -> Expr:
    """A condition and another one, joined by the operation that the parts of an opcode name."""
    if other is None:
        return holds
    op = next(word for word in words if word in ("and", "or", "xor"))
    return binary("!=", holds, other) if op == "xor" else binary(op, holds, other)


# -- bits -----------------------------------------------------------------------------------------------------------


def _find(words: Words) -> Operation | None:
    """bfind: the place of the highest bit that differs from the sign; .shiftamt: how far to shift it to the top."""
    signed, bits = words.kind.startswith("s"), words.dtype.bits
    count = DataType("uint32")

    def compute(a: Expr) -> Expr:
        bare = DataType(f"uint{bits}")
        if signed:
            a = select(binary("<", a, const(0, a.dtype)), unary("~", a), a)
        zeros = value_of(f"clz.b{bits}", count, cast(bare, a))
        place = zeros if words.has("shiftamt") else binary("-", const(bits - 1, count), zeros)
        return select(binary("==", cast(bare, a), const(0, bare)), const((1 << 32) - 1, count), place)

    return Operation((words.dtype,), count, compute)


def _field(words: Words) -> Operation | None:
    """bfe of 64 bits."""
    if words.dtype.bits != 64:
        return None
    byte, u64 = DataType("uint32"), DataType("uint64")

    def compute(a: Expr, start: Expr, length: Expr) -> Expr:
        start, length = (binary("&", each, const(255, byte)) for each in (start, length))
        below = binary("<", start, const(64, byte))
        shift = cast(u64, binary("min", start, const(63, byte)))
        fill = binary(">>", a, const(63, a.dtype)) if a.dtype.is_signed else const(0, a.dtype)
        value = cast(u64, select(below, binary(">>", a, cast(a.dtype, shift)), fill))
        kept = binary("min", length, const(64, byte))
        ones = select(
            binary("==", kept, const(64, byte)), const((1 << 64) - 1, u64),
            binary("-", binary("<<", const(1, u64), cast(u64, binary("min", kept, const(63, byte)))), const(1, u64)),
        )  # fmt: skip
        low = binary("&", value, ones)
        if not a.dtype.is_signed:
            return low
        last = binary("min", binary("-", binary("+", start, kept), const(1, byte)), const(63, byte))
        sign = binary("&", binary(">>", cast(u64, a), cast(u64, last)), const(1, u64))
        extended = select(binary("!=", sign, const(0, u64)), binary("|", low, unary("~", ones)), low)
        return cast(a.dtype, select(binary("==", kept, const(0, byte)), const(0, u64), extended))

    return Operation((words.dtype, byte, byte), words.dtype, compute)


def _inserted(words: Words) -> Operation | None:
    """bfi of 64 bits."""
    if words.dtype.bits != 64:
        return None
    byte, u64 = DataType("uint32"), DataType("uint64")

    def compute(field: Expr, into: Expr, start: Expr, length: Expr) -> Expr:
        start, length = (binary("&", each, const(255, byte)) for each in (start, length))
        shift = cast(u64, binary("min", start, const(63, byte)))
        ones = select(
            binary(">=", length, const(64, byte)), const((1 << 64) - 1, u64),
            binary("-", binary("<<", const(1, u64), cast(u64, binary("min", length, const(63, byte)))), const(1, u64)),
        )  # fmt: skip
        mask = binary("<<", ones, shift)
        put = binary("|", binary("&", into, unary("~", mask)), binary("&", binary("<<", field, shift), mask))
        return select(binary("<", start, const(64, byte)), put, into)

    return Operation((u64, u64, byte, byte), u64, compute)


_SELECTORS: Mapping[str, Callable[[int], tuple[int, ...]]] = {
    "f4e": lambda c: (c, c + 1, c + 2, c + 3),
    "b4e": lambda c: (c, (c - 1) % 8, (c - 2) % 8, (c - 3) % 8),
    "rc8": lambda c: (c,) * 4,
    "ecl": lambda c: tuple(max(c, i) for i in range(4)),
    "ecr": lambda c: tuple(min(c, i) for i in range(4)),
    "rc16": lambda c: (0, 1, 0, 1) if c in (0, 2) else (2, 3, 2, 3),
}
"""The bytes that prmt's modes select, from the first to the last, by the lowest bits of its operand c."""


def permuted(mode: str, a: Expr, b: Expr, c: Expr) -> Expr:
    """prmt.b32 in a mode; "" for its default."""
    if mode:
        low = binary("&", c, const(3, c.dtype))
        words = [sum(byte << 4 * place for place, byte in enumerate(_SELECTORS[mode](n))) for n in range(4)]
        chosen: Expr = const(words[3], "uint32")
        for number in (2, 1, 0):
            chosen = select(binary("==", low, const(number, c.dtype)), const(words[number], "uint32"), chosen)
        c = chosen
    return value_of("prmt.b32", DataType("uint32"), a, b, c)


# -- conversions ----------------------------------------------------------------------------------------------------


def conversion(opcode: Sequence[str]) -> Operation | None:
    """cvt between single values where the IR's cast is what PTX defines; None for any other."""
    *mods, to, of = opcode[1:]
    if to not in TYPES or of not in TYPES or "x2" in to + of:
        return None
    target, source = TYPES[to], TYPES[of]
    rounding = mods[0] if mods else ""
    exact = not mods and (not source.is_float or target.is_float)
    nearest = mods == ["rn"] and target.is_float
    cut = mods == ["rzi"] and source in ("float32", "float16") and target.bits == 32
    if exact or nearest or cut:
        return Operation((source,), target, lambda a: cast(target, a))
    if rounding.endswith("i") and target.is_float:
        return None
    return None


FORMS: Mapping[str, Callable[[Words], Operation | None]] = {
    "add": _ring("+"), "sub": _ring("-"), "mul": _product, "mad": _multiply_add, "fma": _fused,
    "min": _extreme("min"), "max": _extreme("max"), "neg": _sign(_minus), "abs": _sign(_magnitude),
    "div": _quotient, "rcp": _reciprocal, "sqrt": _root, "rsqrt": _reciprocal_root,
    "ex2": _approximation, "tanh": _approximation, "bfind": _find, "bfe": _field, "bfi": _inserted,
}  # fmt: skip
"""How each name's opcodes become operations."""

CONDITION = BOOL
