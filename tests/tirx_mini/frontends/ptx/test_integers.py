"""Integers and their bits, against a model of Python's integers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.tirx_mini.frontends.ptx.checking import Model, check, of
from tests.tirx_mini.frontends.ptx.numbers import signed


def quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


@pytest.mark.parametrize("kind", ["u16", "s16", "u32", "s32", "u64", "s64"])
def test_sums_and_products_wrap_around(kind: str) -> None:
    bits = int(kind[1:])
    for opcode, function in (
        (f"add.{kind}", lambda a, b: a + b), (f"sub.{kind}", lambda a, b: a - b),
        (f"mul.lo.{kind}", lambda a, b: a * b), (f"mul.hi.{kind}", lambda a, b: a * b >> bits),
        (f"min.{kind}", min), (f"max.{kind}", max),
    ):  # fmt: skip
        check(opcode + " {result}, {a}, {b};", [kind, kind], kind, of(kind, function))
    for opcode, function in (
        (f"mad.lo.{kind}", lambda a, b, c: a * b + c), (f"mad.hi.{kind}", lambda a, b, c: (a * b >> bits) + c),
        (f"sad.{kind}", lambda a, b, c: abs(a - b) + c),
    ):  # fmt: skip
        check(opcode + " {result}, {a}, {b}, {c};", [kind] * 3, kind, of(kind, function))


@pytest.mark.parametrize("kind", ["u16", "s16", "u32", "s32"])
def test_wide_products_have_twice_the_width(kind: str) -> None:
    bits = int(kind[1:])
    wide = f"{kind[0]}{2 * bits}"
    check(f"mul.wide.{kind} {{result}}, {{a}}, {{b}};", [kind, kind], wide, of(kind, lambda a, b: a * b))

    def fused(a: int, b: int, c: int) -> int:
        if kind[0] == "s":
            a, b = signed(a, bits), signed(b, bits)
        return a * b + c

    check(f"mad.wide.{kind} {{result}}, {{a}}, {{b}}, {{c}};", [kind, kind, wide], wide, fused)


@pytest.mark.parametrize("kind", ["u16", "s16", "u32", "s32", "u64", "s64"])
def test_quotients_are_cut_off_towards_zero(kind: str) -> None:
    lines = [f"or.b{kind[1:]} {{b}}, {{b}}, 1;"]
    for op, function in (("div", quotient), ("rem", lambda a, b: a - quotient(a, b) * b)):
        model = of(kind, lambda a, b, function=function: function(a, b | 1))
        check([*lines, f"{op}.{kind} {{result}}, {{a}}, {{b}};"], [kind, kind], kind, model)


def test_sums_of_32_bits_saturate() -> None:
    low, high = -(1 << 31), (1 << 31) - 1
    for op, function in (("add", lambda a, b: a + b), ("sub", lambda a, b: a - b)):
        model = of("s32", lambda a, b, function=function: min(max(function(a, b), low), high))
        check(f"{op}.sat.s32 {{result}}, {{a}}, {{b}};", ["s32", "s32"], "s32", model)
    model = of("s32", lambda a, b, c: min(max((a * b >> 32) + c, low), high))
    check("mad.hi.sat.s32 {result}, {a}, {b}, {c};", ["s32"] * 3, "s32", model)
    short = ["shl.b32 {a}, {a}, 8; shr.s32 {a}, {a}, 8; shl.b32 {b}, {b}, 8; shr.s32 {b}, {b}, 8;"]

    def upper(a: int, b: int, c: int) -> int:
        left, right = (signed(word & 0xFFFFFF, 24) for word in (a, b))
        return min(max((left * right >> 16) + signed(c, 32), -(1 << 31)), (1 << 31) - 1)

    check([*short, "mad24.hi.sat.s32 {result}, {a}, {b}, {c};"], ["s32"] * 3, "s32", upper)


@pytest.mark.parametrize("bits", [32, 64])
def test_carries_go_from_sum_to_sum(bits: int) -> None:
    kind = f"u{bits}"
    lines = [f"add.cc.{kind} {{a}}, {{a}}, {{b}};", f"addc.{kind} {{result}}, {{c}}, 0;"]
    check(lines, [kind] * 3, kind, lambda a, b, c: c + (a + b >> bits))
    lines = [f"sub.cc.{kind} {{a}}, {{a}}, {{b}};", f"subc.{kind} {{result}}, {{c}}, {{a}};"]
    check(lines, [kind] * 3, kind, lambda a, b, c: c - ((a - b) % (1 << bits)) - (a < b))
    lines = [f"mad.lo.cc.{kind} {{a}}, {{a}}, {{b}}, {{c}};", f"madc.hi.{kind} {{result}}, {{b}}, {{b}}, {{c}};"]
    check(lines, [kind] * 3, kind, lambda a, b, c: (b * b >> bits) + c + ((a * b) % (1 << bits) + c >> bits))
    lines = [f"add.cc.{kind} {{a}}, {{a}}, {{b}};", f"addc.cc.{kind} {{a}}, {{c}}, {{c}};",
             f"addc.{kind} {{result}}, 0, 0;"]  # fmt: skip
    check(lines, [kind] * 3, kind, lambda a, b, c: 2 * c + (a + b >> bits) >> bits)


def test_pairs_of_16_bits() -> None:
    def pair(function: Callable[[int, int], int], kind: str) -> Model:
        def model(a: int, b: int) -> int:
            parts = [(a & 0xFFFF, b & 0xFFFF), (a >> 16, b >> 16)]
            if kind == "s16":
                parts = [(signed(x, 16), signed(y, 16)) for x, y in parts]
            low, high = (function(*part) & 0xFFFF for part in parts)
            return low | high << 16

        return model

    for kind in ("u16", "s16"):
        check(f"add.{kind}x2 {{result}}, {{a}}, {{b}};", ["u32", "u32"], "u32", pair(lambda x, y: x + y, kind))
        check(f"min.{kind}x2 {{result}}, {{a}}, {{b}};", ["u32", "u32"], "u32", pair(min, kind))
        check(f"max.{kind}x2 {{result}}, {{a}}, {{b}};", ["u32", "u32"], "u32", pair(max, kind))




@pytest.mark.parametrize("bits", [16, 32, 64])
def test_logic_and_shifts(bits: int) -> None:
    kind, mask = f"u{bits}", (1 << bits) - 1
    for op, function in (("and", lambda a, b: a & b), ("or", lambda a, b: a | b), ("xor", lambda a, b: a ^ b)):
        check(f"{op}.b{bits} {{result}}, {{a}}, {{b}};", [kind, kind], kind, function)
    check(f"not.b{bits} {{result}}, {{a}};", [kind], kind, lambda a: ~a)
    check(f"cnot.b{bits} {{result}}, {{a}};", [kind], kind, lambda a: int(a == 0))
    shifts = [kind, "u32"]
    check(f"shl.b{bits} {{result}}, {{a}}, {{b}};", shifts, kind, lambda a, n: a << n & mask if n < bits else 0)
    check(f"shr.u{bits} {{result}}, {{a}}, {{b}};", shifts, kind, lambda a, n: a >> min(n, bits))
    check(f"shr.s{bits} {{result}}, {{a}}, {{b}};", shifts, kind, lambda a, n: signed(a, bits) >> min(n, bits))


def test_funnel_shifts() -> None:
    for mode, count in (("wrap", lambda n: n & 31), ("clamp", lambda n: min(n, 32))):
        both = lambda a, b: b << 32 | a  # noqa: E731
        check(f"shf.l.{mode}.b32 {{result}}, {{a}}, {{b}}, {{c}};", ["u32"] * 3, "u32",
              lambda a, b, c, count=count: both(a, b) << count(c) >> 32)  # fmt: skip
        check(f"shf.r.{mode}.b32 {{result}}, {{a}}, {{b}}, {{c}};", ["u32"] * 3, "u32",
              lambda a, b, c, count=count: both(a, b) >> count(c))  # fmt: skip


@pytest.mark.parametrize("bits", [32, 64])
def test_counts_and_places_of_bits(bits: int) -> None:
    kind = f"u{bits}"
    check(f"popc.b{bits} {{result}}, {{a}};", [kind], "u32", lambda a: bin(a).count("1"))
    check(f"clz.b{bits} {{result}}, {{a}};", [kind], "u32", lambda a: bits - a.bit_length())
    check(f"brev.b{bits} {{result}}, {{a}};", [kind], kind, lambda a: int(f"{a:0{bits}b}"[::-1], 2))
    check(f"bfind.u{bits} {{result}}, {{a}};", [kind], "u32", lambda a: a.bit_length() - 1)
    check(f"bfind.shiftamt.u{bits} {{result}}, {{a}};", [kind], "u32", lambda a: bits - a.bit_length() if a else -1)

    def of_signed(a: int) -> int:
        a = signed(a, bits)
        return (~a if a < 0 else a).bit_length() - 1

    check(f"bfind.s{bits} {{result}}, {{a}};", [kind], "u32", of_signed)


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
def test_fields_of_bits(kind: str) -> None:
    bits = int(kind[1:])

    def extracted(a: int, start: int, length: int) -> int:
        start, length = start & 0xFF, length & 0xFF
        msb = bits - 1
        sign = 0 if kind[0] == "u" or length == 0 else a >> min(start + length - 1, msb) & 1
        found = 0
        for i in range(bits):
            bit = a >> (start + i) & 1 if i < length and start + i <= msb else sign
            found |= bit << i
        return found

    def inserted(a: int, b: int, start: int, length: int) -> int:
        start, length = start & 0xFF, length & 0xFF
        for i in range(length):
            if start + i < bits:
                b = b & ~(1 << (start + i)) | (a >> i & 1) << (start + i)
        return b

    check(f"bfe.{kind} {{result}}, {{a}}, {{b}}, {{c}};", [kind, "u32", "u32"], kind, extracted)
    if kind[0] == "u":
        check(f"bfi.b{bits} {{result}}, {{a}}, {{b}}, {{c}}, {{e}};", [kind, kind, "u32", "u32"], kind, inserted)


def test_functions_of_three_words_and_permutations_of_bytes() -> None:
    def table(lut: int) -> Model:
        def model(a: int, b: int, c: int) -> int:
            return sum((lut >> (4 * (a >> i & 1) + 2 * (b >> i & 1) + (c >> i & 1)) & 1) << i for i in range(32))

        return model

    for lut in (0xE8, 0x96, 0x01, 0xF0):
        check(f"lop3.b32 {{result}}, {{a}}, {{b}}, {{c}}, {lut};", ["u32"] * 3, "u32", table(lut))

    def permuted(select: Callable[[int], list[int]]) -> Model:
        def model(a: int, b: int, c: int) -> int:
            data = [(a | b << 32) >> 8 * i & 0xFF for i in range(8)]
            found = 0
            for place, choice in enumerate(select(c)):
                byte = data[choice & 7]
                found |= ((0xFF if byte & 0x80 else 0) if choice & 8 else byte) << 8 * place
            return found

        return model

    nibbles = permuted(lambda c: [c >> 4 * i & 15 for i in range(4)])
    check("prmt.b32 {result}, {a}, {b}, {c};", ["u32"] * 3, "u32", nibbles)
    modes: dict[str, Callable[[int], list[int]]] = {
        "f4e": lambda c: [(c & 3) + i for i in range(4)], "b4e": lambda c: [((c & 3) - i) % 8 for i in range(4)],
        "rc8": lambda c: [c & 3] * 4, "ecl": lambda c: [max(c & 3, i) for i in range(4)],
        "ecr": lambda c: [min(c & 3, i) for i in range(4)], "rc16": lambda c: [2 * (c & 1), 2 * (c & 1) + 1] * 2,
    }  # fmt: skip
    for mode, select in modes.items():
        check(f"prmt.b32.{mode} {{result}}, {{a}}, {{b}}, {{c}};", ["u32"] * 3, "u32", permuted(select))


def test_dot_products_of_bytes() -> None:
    def part(word: int, place: int, kind: str) -> int:
        byte = word >> 8 * place & 0xFF
        return signed(byte, 8) if kind == "s32" else byte

    for a_kind in ("u32", "s32"):
        for b_kind in ("u32", "s32"):
            def model(a: int, b: int, c: int, a_kind: str = a_kind, b_kind: str = b_kind) -> int:
                return c + sum(part(a, i, a_kind) * part(b, i, b_kind) for i in range(4))

            check(f"dp4a.{a_kind}.{b_kind} {{result}}, {{a}}, {{b}}, {{c}};", ["u32"] * 3, "u32", model)
