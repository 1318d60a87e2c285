"""Bit-field instructions: bfind, 64-bit bfe and bfi, and the modes of prmt."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tirx_mini.ir import DataType, Expr, binary, cast, const, select, unary
from tirx_mini.isa import value_of

from .opcodes import Operation, Words


def found(words: Words) -> Operation | None:
    """Lower bfind: the position of the highest bit that differs from the sign; .shiftamt gives the shift to the top."""
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


def extracted(words: Words) -> Operation | None:
    """Lower 64-bit bfe."""
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
        ones = _ones(kept)
        low = binary("&", value, ones)
        if not a.dtype.is_signed:
            return low
        last = binary("min", binary("-", binary("+", start, kept), const(1, byte)), const(63, byte))
        sign = binary("&", binary(">>", cast(u64, a), cast(u64, last)), const(1, u64))
        extended = select(binary("!=", sign, const(0, u64)), binary("|", low, unary("~", ones)), low)
        return cast(a.dtype, select(binary("==", kept, const(0, byte)), const(0, u64), extended))

    return Operation((words.dtype, byte, byte), words.dtype, compute)


def inserted(words: Words) -> Operation | None:
    """Lower 64-bit bfi."""
    if words.dtype.bits != 64:
        return None
    byte, u64 = DataType("uint32"), DataType("uint64")

    def compute(field: Expr, into: Expr, start: Expr, length: Expr) -> Expr:
        start, length = (binary("&", each, const(255, byte)) for each in (start, length))
        shift = cast(u64, binary("min", start, const(63, byte)))
        mask = binary("<<", _ones(length), shift)
        put = binary("|", binary("&", into, unary("~", mask)), binary("&", binary("<<", field, shift), mask))
        return select(binary("<", start, const(64, byte)), put, into)

    return Operation((u64, u64, byte, byte), u64, compute)


def _ones(length: Expr) -> Expr:
    """Return a 64-bit mask with the lowest `length` bits set, saturating at 64."""
    byte, u64 = DataType("uint32"), DataType("uint64")
    shift = cast(u64, binary("min", length, const(63, byte)))
    below = binary("-", binary("<<", const(1, u64), shift), const(1, u64))
    return select(binary(">=", length, const(64, byte)), const((1 << 64) - 1, u64), below)


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
    """Lower prmt.b32 in the given mode; "" is the default mode."""
    if mode:
        low = binary("&", c, const(3, c.dtype))
        words = [sum(byte << 4 * place for place, byte in enumerate(_SELECTORS[mode](n))) for n in range(4)]
        chosen: Expr = const(words[3], "uint32")
        for number in (2, 1, 0):
            chosen = select(binary("==", low, const(number, c.dtype)), const(words[number], "uint32"), chosen)
        c = chosen
    return value_of("prmt.b32", DataType("uint32"), a, b, c)
