"""Lowering of arithmetic, comparison, conversion and select opcodes to IR expressions.

An opcode is looked up in this module first, which has the fastest implementations and those that `isa` lacks, then
among the scalar instructions of `isa`. NaNs below double precision equal one another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from tirx_mini.ir import DataType, Expr, binary, cast, const, reinterpret, select
from tirx_mini.isa import scalar, value_of

from .fields import extracted, found, inserted
from .opcodes import HALVES, TYPES, Compute, Operation, Words, flushed, halves, rectified, saturated


@lru_cache(maxsize=4096)
def operation(opcode: tuple[str, ...]) -> Operation | None:
    """Return the operation for an opcode, or None if this module does not implement it."""
    if len(opcode) > 1 and opcode[-1] in TYPES:
        words = Words(opcode[0], opcode[1:-1], opcode[-1])
        build = FORMS.get(opcode[0])
        made = build(words) if build is not None else None
        if made is not None:
            return made
    known = scalar(".".join(opcode))
    return None if known is None else Operation(known.operands, known.result, known.__call__)


def _same(words: Words, count: int, compute: Compute) -> Operation:
    """Return an operation whose operands and result share one type."""
    return Operation((words.dtype,) * count, words.dtype, compute)


def _of(opcode: str) -> Compute:
    found = scalar(opcode)
    assert found is not None, opcode
    return found


def _is_integer(kind: str) -> bool:
    return kind[0] in "us" and kind in TYPES


def _modified(words: Words, compute: Compute, exact: Compute | None = None) -> Compute:
    """Apply .ftz, .sat and .relu to a scalar or packed floating-point `compute`.

    exact: the result in double precision, where rounding may make a normal number of a subnormal one.
    """

    def whole(*args: Expr) -> Expr:
        if words.has("ftz"):
            args = tuple(map(flushed, args))
        value = compute(*args)
        if words.has("ftz"):
            value = flushed(value, exact(*(cast("float64", each) for each in args)) if exact is not None else None)
        return saturated(value) if words.has("sat") else rectified(value) if words.has("relu") else value

    return halves(whole, HALVES[words.kind]) if words.kind in HALVES else whole


# -- sums and products --------------------------------------------------------------------------------------------


def _ring(op: str) -> Callable[[Words], Operation | None]:
    """Lower add, sub and mul: integers wrap around, floats are rounded."""

    def build(words: Words) -> Operation | None:
        kind = words.kind
        if kind in ("u16x2", "s16x2"):
            return _same(words, 2, halves(lambda a, b: binary(op, a, b), HALVES[kind]))
        if _is_integer(kind):
            if words.has("sat"):
                return _same(words, 2, _clamped(op))
            plain = not words.mods or words.mods == ("lo",)
            return _same(words, 2, lambda a, b: binary(op, a, b)) if plain else None
        if kind in ("f16", "bf16", "f16x2", "bf16x2"):
            compute = lambda a, b: binary(op, a, b)  # noqa: E731
            return _same(words, 2, _modified(words, compute, compute))
        if kind == "f32x2":
            return _entry(words, f"{words.name}.f32x2", 2)
        if words.rounding in ("", "rn") and not words.has("ftz"):
            return _same(words, 2, _sat(words, lambda a, b: binary(op, a, b)))
        return _entry(words, f"{words.name}.{kind}", 2)

    return build


def _sat(words: Words, compute: Compute) -> Compute:
    return (lambda *args: saturated(compute(*args))) if words.has("sat") else compute


def _entry(words: Words, name: str, count: int) -> Operation:
    """Return the `isa` table entry with the rounding mode and .ftz taken from the opcode's modifiers."""
    attrs: dict[str, Any] = {"rounding": words.rounding or "rn"}
    if words.kind in ("f32", "f32x2"):
        attrs["ftz"] = words.has("ftz")
    compute = _sat(words, lambda *args: value_of(name, words.dtype, *args, **attrs))
    return _same(words, count, compute)


def _clamped(op: str) -> Compute:
    """Clamp a 32-bit sum to the range of its type (PTX ISA: add.sat.s32)."""

    def compute(a: Expr, b: Expr) -> Expr:
        low, high = const(-(1 << 31), "int64"), const((1 << 31) - 1, "int64")
        exact = binary(op, cast("int64", a), cast("int64", b))
        return cast("int32", binary("min", binary("max", exact, low), high))

    return compute


def _fused(words: Words) -> Operation | None:
    """Lower fma and floating-point mad: a b + c with a single rounding."""
    kind = words.kind
    if kind in ("f16", "bf16"):
        word = lambda x: cast("uint32", reinterpret("uint16", x))  # noqa: E731
        fused = lambda *abc: value_of(f"fma.{kind}x2", DataType("uint32"), *map(word, abc))  # noqa: E731
        compute = lambda *abc: reinterpret(TYPES[kind], cast("uint16", fused(*abc)))  # noqa: E731
        return _same(words, 3, _modified(words, compute, lambda a, b, c: binary("+", binary("*", a, b), c)))
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
    """Lower integer mad: the low, high or full-width product plus c."""
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
    """Return the upper 64 bits of the product of two 64-bit integers."""
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
    """Lower min and max of two or three values, including the .NaN and .xorsign.abs modifiers."""

    def build(words: Words) -> Operation | None:
        kind = words.kind
        if kind in ("u16x2", "s16x2"):
            compute = halves(_relu(words, lambda a, b: binary(op, a, b)), HALVES[kind])
            return _same(words, 2, compute)
        if _is_integer(kind):
            return _same(words, 2, _relu(words, lambda a, b: binary(op, a, b)))
        half = HALVES.get(kind, kind)
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

        return _same(words, 2, halves(chosen, half) if kind in HALVES else chosen)

    return build


def _relu(words: Words, compute: Compute) -> Compute:
    if not words.has("relu"):
        return compute

    def positive(a: Expr, b: Expr) -> Expr:
        value = compute(a, b)
        return binary("max", value, const(0, value.dtype))

    return positive


def _number_extreme(op: str, a: Expr, b: Expr) -> Expr:
    """Return the smaller or larger number, ignoring NaNs and ordering -0 before +0."""
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
    """Lower floating-point neg and abs, with .ftz."""

    def build(words: Words) -> Operation | None:
        if words.dtype.is_float or words.kind in ("f16x2", "bf16x2"):
            compute = (lambda a: change(flushed(a))) if words.has("ftz") else change
            return _same(words, 1, halves(compute, HALVES[words.kind]) if words.kind in HALVES else compute)
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
    single = words.kind == "f32" and words.has("ftz")
    if words.has("full") or (words.rounding in ("", "rn") and not single):
        return _same(words, 2, _modified(words, lambda a, b: binary("/", a, b)))
    return _entry(words, f"div.rounded.{words.kind}", 2)


def _reciprocal(words: Words) -> Operation | None:
    if not words.dtype.is_float:
        return None
    if words.kind == "f64" and words.has("approx"):
        return _same(words, 1, _upper_half(lambda a: binary("/", const(1.0, a.dtype), a)))
    if words.has("approx"):
        return None
    if words.rounding in ("", "rn"):
        return _same(words, 1, _modified(words, lambda a: binary("/", const(1.0, a.dtype), a)))
    return _entry(words, f"rcp.rounded.{words.kind}", 1)


def _root(words: Words) -> Operation | None:
    if not words.dtype.is_float or words.has("approx"):
        return None
    if words.rounding in ("", "rn"):
        name = "sqrt.rn" if words.kind == "f32" else "sqrt.f64"
        return _same(words, 1, _modified(words, lambda a: value_of(name, words.dtype, a)))
    return _entry(words, f"sqrt.rounded.{words.kind}", 1)


def _reciprocal_root(words: Words) -> Operation | None:
    if words.kind != "f64":
        return None
    root = lambda a: value_of("rsqrt.f64", words.dtype, a)  # noqa: E731
    return _same(words, 1, _upper_half(root) if words.has("ftz") else root)


def _upper_half(compute: Compute) -> Compute:
    """Flush subnormal numbers and keep the upper 32 bits of the result (PTX ISA: rcp.approx.ftz.f64)."""
    upper = const(((1 << 32) - 1) << 32, "uint64")
    return lambda a: reinterpret("float64", binary("&", reinterpret("uint64", flushed(compute(flushed(a)))), upper))


def _approximation(words: Words) -> Operation | None:
    """Lower half-precision ex2 and tanh by rounding the single-precision result."""
    half = HALVES.get(words.kind, words.kind)
    if half not in ("f16", "bf16"):
        return None
    single = lambda a: value_of(f"{words.name}.approx", TYPES["f32"], cast("float32", a))  # noqa: E731
    compute = lambda a: cast(TYPES[half], single(a))  # noqa: E731
    return _same(words, 1, halves(compute, half) if words.kind in HALVES else compute)


def _short_multiply_add(words: Words) -> Operation | None:
    """Lower mad24.hi.sat: the upper part of a product of 24-bit numbers plus c, clamped (PTX ISA: mad24)."""
    if not words.has("sat"):
        return None
    high = _of(f"mul24.hi.{words.kind}")
    return _same(words, 3, lambda a, b, c: _clamped("+")(high(a, b), c))


def _chosen_by_sign(words: Words) -> Operation | None:
    """Lower slct.ftz, which compares an operand with zero after flushing it."""
    if not words.has("ftz"):
        return None
    plain = _of(f"slct.{words.mods[-1]}.{words.kind}")
    kept = TYPES[words.mods[-1]]
    return Operation((kept, kept, words.dtype), kept, lambda a, b, c: plain(a, b, flushed(c)))


# -- comparisons ----------------------------------------------------------------------------------------------------

_ORDERED = ("eq", "ne", "lt", "le", "gt", "ge")
COMPARISONS = (*_ORDERED, "lo", "ls", "hi", "hs", *(f"{word}u" for word in _ORDERED), "num", "nan")


def comparison(words: Sequence[str], kind: str) -> Compute:
    """Return a comparison of two operands built from the opcode's parts, such as ``lt``, ``equ`` and ``ftz``."""
    test = next(word for word in words if word in COMPARISONS)
    if kind.startswith("b") and kind != "bf16":
        kind = f"u{kind[1:]}"
    if test in ("lo", "ls", "hi", "hs"):
        test = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}[test]
    compute = _of(f"setp.{test}.{kind}")
    return (lambda a, b: compute(flushed(a), flushed(b))) if "ftz" in words else compute


def joined(words: Sequence[str], holds: Expr, other: Expr | None) -> Expr:
    """Combine two conditions with the logical operation named in the opcode."""
    if other is None:
        return holds
    op = next(word for word in words if word in ("and", "or", "xor"))
    return binary("!=", holds, other) if op == "xor" else binary(op, holds, other)


# -- conversions ----------------------------------------------------------------------------------------------------


def conversion(opcode: Sequence[str]) -> Operation | None:
    """Lower a scalar cvt whose PTX semantics match the IR cast, or return None."""
    *mods, to, of = opcode[1:]
    if to not in TYPES or of not in TYPES or "x2" in to + of:
        return None
    target, source = TYPES[to], TYPES[of]
    exact = not mods and (not source.is_float or target.is_float)
    nearest = mods == ["rn"] and target.is_float
    cut = mods == ["rzi"] and source in ("float32", "float16") and target.is_integer and target.bits == 32
    if exact or nearest or cut:
        return Operation((source,), target, lambda a: cast(target, a))
    return None


FORMS: Mapping[str, Callable[[Words], Operation | None]] = {
    "add": _ring("+"), "sub": _ring("-"), "mul": _product, "mad": _multiply_add, "fma": _fused,
    "min": _extreme("min"), "max": _extreme("max"), "neg": _sign(_minus), "abs": _sign(_magnitude),
    "div": _quotient, "rcp": _reciprocal, "sqrt": _root, "rsqrt": _reciprocal_root,
    "ex2": _approximation, "tanh": _approximation, "bfind": found, "bfe": extracted, "bfi": inserted,
    "mad24": _short_multiply_add, "slct": _chosen_by_sign,
}  # fmt: skip
"""The functions that make operations of opcodes, by the first word of the opcode."""
