"""Comparisons, conversions and moves, bit by bit."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest

from tests.tirx_mini.frontends.ptx.checking import THREADS, check, of, words
from tests.tirx_mini.frontends.ptx.numbers import FORMATS, decoded, encoded, flushed, same, signed
from tests.tirx_mini.frontends.ptx.programs import computed

_TESTS: dict[str, Callable[[float, float], bool]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip


@pytest.mark.parametrize("kind", ["u16", "s16", "u32", "s32", "u64", "s64", "f16", "f32", "f64"])
def test_comparisons(kind: str) -> None:
    floats = kind in FORMATS

    def number(word: int) -> float:
        return decoded(word, kind) if floats else signed(word, int(kind[1:])) if kind[0] == "s" else word

    for word, test in _TESTS.items():
        for suffix in ("", "u") if floats else ("",):
            def holds(a: int, b: int, test: Callable[..., bool] = test, unordered: bool = bool(suffix)) -> int:
                x, y = number(a), number(b)
                return int(unordered if x != x or y != y else test(x, y))

            line = [f"setp.{word}{suffix}.{kind} %p1, {{a}}, {{b}};", "selp.u32 {result}, 1, 0, %p1;"]
            check(line, [kind, kind], "u32", holds)


def test_comparisons_join_with_a_condition_and_have_two_results() -> None:
    lines = [
        "setp.ne.u32 %p0, {c}, 0;", "setp.lt.and.s32 %p1|%p2, {a}, {b}, !%p0;", "selp.u32 {result}, 1, 0, %p1;",
        "selp.u32 %r90, 2, 0, %p2;", "or.b32 {result}, {result}, %r90;",
    ]  # fmt: skip

    def model(a: int, b: int, c: int) -> int:
        less, other = signed(a, 32) < signed(b, 32), c == 0
        return (less and other) + 2 * (not less and other)

    check(lines, ["u32"] * 3, "u32", model)
    check("set.gt.u32.f32 {result}, {a}, {b};", ["f32", "f32"], "u32",
          lambda a, b: -1 if decoded(a, "f32") > decoded(b, "f32") else 0)  # fmt: skip
    check("set.le.f32.s32 {result}, {a}, {b};", ["s32", "s32"], "f32",
          lambda a, b: encoded(1.0, "f32") if signed(a, 32) <= signed(b, 32) else 0)  # fmt: skip
    check("slct.b32.s32 {result}, {a}, {b}, {c};", ["u32"] * 3, "u32", lambda a, b, c: a if signed(c, 32) >= 0 else b)
    for kind in ("b16", "f32", "u64"):
        operands = [kind.replace("b", "u")] * 2
        check(f"slct.ftz.{kind}.f32 {{result}}, {{a}}, {{b}}, {{c}};", [*operands, "f32"], operands[0],
              lambda a, b, c: a if flushed(decoded(c, "f32"), "f32") >= 0 else b)  # fmt: skip


def test_floats_become_whole_numbers() -> None:
    for mode, whole in (("rni", round), ("rzi", math.trunc), ("rmi", math.floor), ("rpi", math.ceil)):
        def model(word: int, whole: Callable[[float], int] = whole) -> int:
            value = decoded(word, "f32")
            return word if not math.isfinite(value) else encoded(float(whole(value)), "f32", sign=value)

        check(f"cvt.{mode}.f32.f32 {{result}}, {{a}};", ["f32"], "f32", model)


def test_zeros_are_normal_numbers() -> None:
    for kind in ("f32", "f64"):
        width = FORMATS[kind][0]

        def normal(word: int, kind: str = kind) -> int:
            value = decoded(word, kind)
            return int(math.isfinite(value) and (value == 0 or flushed(value, kind) != 0))

        lines = [f"testp.normal.{kind} %p1, {{a}};", f"selp.b{width} {{result}}, 1, 0, %p1;"]
        check(lines, [kind], f"u{width}", normal)


_INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")


@pytest.mark.parametrize("to", _INTEGERS)
def test_integers_are_cut_off_or_extended(to: str) -> None:
    for source in _INTEGERS:
        if source == to:
            continue
        bits, width = int(source[1:]), int(to[1:])
        model = of(source, lambda a, width=width: a & ((1 << width) - 1))
        check(f"cvt.{to}.{source} {{result}}, {{a}};", [source], to, model)


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_integers_become_floats(mode: str) -> None:
    for source in ("u16", "s16", "u32", "s32", "u64", "s64"):
        for to in ("f16", "f32", "f64"):
            model = of(source, lambda a, to=to: encoded(Fraction(a), to, mode))
            check(f"cvt.{mode}.{to}.{source} {{result}}, {{a}};", [source], to, model)


@pytest.mark.parametrize("mode", ["rni", "rzi", "rmi", "rpi"])
def test_floats_become_integers(mode: str) -> None:
    def whole(value: float) -> int:
        functions: dict[str, Callable[[float], int]] = {
            "rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil,
        }  # fmt: skip
        return functions[mode](value)

    for source in ("f16", "f32", "f64"):
        for to in ("u16", "s16", "u32", "s32", "u64", "s64"):
            bits = int(to[1:])
            low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if to[0] == "s" else (0, (1 << bits) - 1)

            def model(word: int, source: str = source, to: str = to, low: int = low, high: int = high) -> int:
                value = decoded(word, source)
                if math.isnan(value):
                    nothing = source == "f64" or to[1:] == "64"
                    return (low if low else 1 << (int(to[1:]) - 1)) if nothing else 0
                if math.isinf(value):
                    return high if value > 0 else low
                return min(max(whole(value), low), high)

            check(f"cvt.{mode}.{to}.{source} {{result}}, {{a}};", [source], to, model)


def test_floats_become_other_floats() -> None:
    for source in FORMATS:
        for to in FORMATS:
            if source == to:
                continue
            wider = FORMATS[to][0] > FORMATS[source][0]
            if not wider and "bf16" in (source, to) and "f64" in (source, to):
                continue
            modes = [""] if wider else ["rn"] if "bf16" in (source, to) else ["rn", "rz", "rm", "rp"]
            for mode in modes:
                def model(word: int, source: str = source, to: str = to, mode: str = mode) -> int:
                    value = decoded(word, source)
                    return encoded(value, to, mode or "rn", sign=value)

                opcode = ".".join(part for part in ("cvt", mode, to, source) if part)
                check(f"{opcode} {{result}}, {{a}};", [source], to, model)


def test_pairs_are_made_of_two_floats() -> None:
    for to in ("f16", "bf16"):
        def model(a: int, b: int, to: str = to) -> int:
            upper, lower = (encoded(decoded(w, "f32"), to, sign=decoded(w, "f32")) for w in (a, b))
            return upper << 16 | lower

        operands = [words(32, THREADS, n, "f32") for n in (1, 2)]
        got = computed([f"cvt.rn.{to}x2.f32 {{result}}, {{a}}, {{b}};"], operands, 32)
        for place in range(THREADS):
            wanted = model(int(operands[0][place]), int(operands[1][place]))
            assert same(int(got[place]) & 0xFFFF, wanted & 0xFFFF, to) and same(int(got[place]) >> 16, wanted >> 16, to)




def test_registers_are_taken_apart_and_put_together() -> None:
    lines = ["mov.b64 {{%r90, %r91}}, {a};", "mov.b32 {{%h1, %h2}}, %r90;", "mov.b32 %r92, {{%h2, %h1}};",
             "mov.b64 {result}, {{%r91, %r92}};"]  # fmt: skip

    def model(a: int) -> int:
        low, high = a & 0xFFFFFFFF, a >> 32
        return high | ((low >> 16) | (low & 0xFFFF) << 16) << 32

    check(lines, ["u64"], "u64", model)


def test_constants_keep_their_bits() -> None:
    lines = ["mov.f32 %f1, 0f3F8CCCCD;", "mov.b32 {result}, %f1;", "xor.b32 {result}, {result}, {a};"]
    check(lines, ["u32"], "u32", lambda a: a ^ 0x3F8CCCCD)
    check(["mov.f64 %g1, 0d400921FB54442D18;", "mov.b64 {result}, %g1;", "xor.b64 {result}, {result}, {a};"],
          ["u64"], "u64", lambda a: a ^ 0x400921FB54442D18)  # fmt: skip
    check(["mov.b32 %r90, -5;", "add.s32 {result}, %r90, {a};"], ["u32"], "u32", lambda a: a - 5)
