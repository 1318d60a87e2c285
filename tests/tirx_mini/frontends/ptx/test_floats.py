"""Floats, bit by bit against exact fractions."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from tests.tirx_mini.frontends.ptx.checking import THREADS, Model, check, words
from tests.tirx_mini.frontends.ptx.numbers import FORMATS, decoded, encoded, floating, same
from tests.tirx_mini.frontends.ptx.programs import computed

_SUMS: dict[str, tuple[Callable[..., Fraction], Callable[..., float], int]] = {
    "add": (lambda a, b: a + b, lambda a, b: a + b, 2),
    "sub": (lambda a, b: a - b, lambda a, b: a - b, 2),
    "mul": (lambda a, b: a * b, lambda a, b: a * b, 2),
    "fma": (lambda a, b, c: a * b + c, lambda a, b, c: _fused(a, b, c), 3),
}


def _fused(a: float, b: float, c: float) -> float:
    """Only for values that are not finite, and for the sign of zeros."""
    return a * b + c


def _divided(a: float, b: float) -> float:
    if b == 0 and not math.isnan(a):
        return math.nan if a == 0 else math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a / b


@pytest.mark.parametrize("mode", ["", "rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_sums_and_products_of_floats_are_rounded_once(kind: str, mode: str) -> None:
    for op, (exact, usual, count) in _SUMS.items():
        if op == "fma" and not mode:
            continue
        opcode = ".".join(part for part in (op, mode, kind) if part)
        operands = ", ".join(["{a}", "{b}", "{c}"][:count])
        model = floating(exact, usual, kind, mode=mode or "rn", sums=op != "mul")
        check(f"{opcode} {{result}}, {operands};", [kind] * count, kind, model)


@pytest.mark.parametrize("mode", ["rn", "rz", "rp"])
def test_subnormal_numbers_are_flushed_and_results_saturate(mode: str) -> None:
    for op, (exact, usual, count) in _SUMS.items():
        operands = ", ".join(["{a}", "{b}", "{c}"][:count])
        for words_, ftz, sat in ((".ftz", True, False), (".sat", False, True), (".ftz.sat", True, True)):
            model = floating(exact, usual, "f32", mode=mode, ftz=ftz, sat=sat)
            check(f"{op}.{mode}{words_}.f32 {{result}}, {operands};", ["f32"] * count, "f32", model)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_halves_and_their_pairs(kind: str) -> None:
    for op, (exact, usual, count) in _SUMS.items():
        opcode = f"{op}.rn"
        operands = ", ".join(["{a}", "{b}", "{c}"][:count])
        single = floating(exact, usual, kind)
        check(f"{opcode}.{kind} {{result}}, {operands};", [kind] * count, kind, single)

        def pair(*given: int, single: Model = single) -> int:
            return single(*(w & 0xFFFF for w in given)) | single(*(w >> 16 for w in given)) << 16

        def halves_equal(lines: str, count: int, model: Model) -> None:
            operands = [words(32, THREADS, 3 * n + 2) for n in range(count)]
            got = computed([lines], operands, 32)
            for place in range(THREADS):
                wanted = model(*(int(each[place]) for each in operands))
                found = int(got[place])
                assert same(found & 0xFFFF, wanted & 0xFFFF, kind) and same(found >> 16, wanted >> 16, kind)

        halves_equal(f"{opcode}.{kind}x2 {{result}}, {operands};", count, pair)


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_quotients_and_roots_are_rounded_once(kind: str, mode: str) -> None:
    model = floating(lambda a, b: a / b, _divided, kind, mode=mode, sums=False)
    check(f"div.{mode}.{kind} {{result}}, {{a}}, {{b}};", [kind, kind], kind, model)
    model = floating(lambda a: 1 / a, lambda a: _divided(1.0, a), kind, mode=mode, sums=False)
    check(f"rcp.{mode}.{kind} {{result}}, {{a}};", [kind], kind, model)

    def root(word: int) -> int:
        value = decoded(word, kind)
        if not math.isfinite(value) or value <= 0:
            return encoded(math.nan if value < 0 else value, kind, sign=value)
        exact = Fraction(value)
        scaled = exact.numerator * exact.denominator << 4400
        whole = math.isqrt(scaled)
        nearly = Fraction(2 * whole + (whole * whole != scaled), exact.denominator << 2201)
        return encoded(nearly, kind, mode)

    check(f"sqrt.{mode}.{kind} {{result}}, {{a}};", [kind], kind, root)


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "f64"])
def test_extremes_and_signs(kind: str) -> None:
    width = FORMATS[kind][0]
    top = 1 << (width - 1)

    def chosen(op: Callable[..., float], nan: bool) -> Model:
        def model(a: int, b: int) -> int:
            x, y = decoded(a, kind), decoded(b, kind)
            if math.isnan(x) or math.isnan(y):
                if nan or (math.isnan(x) and math.isnan(y)):
                    return encoded(math.nan, kind)
                return b if math.isnan(x) else a
            if x == y:
                return (a | b if op is min else a & b) if x == 0 else a
            return a if op(x, y) == x else b

        return model

    for name, op in (("min", min), ("max", max)):
        check(f"{name}.{kind} {{result}}, {{a}}, {{b}};", [kind, kind], kind, chosen(op, False))
        if kind != "f64":
            check(f"{name}.NaN.{kind} {{result}}, {{a}}, {{b}};", [kind, kind], kind, chosen(op, True))
    check(f"neg.{kind} {{result}}, {{a}};", [kind], kind, lambda a: a ^ top)
    check(f"abs.{kind} {{result}}, {{a}};", [kind], kind, lambda a: a & ~top)


@pytest.mark.parametrize(
    ("opcode", "operands", "kind", "plain", "ftz"),
    [
        ("mul.rn", (0x00800000, 0x3F7FFFFF), "f32", 0x00800000, 0),
        ("mul.rm", (0x80800000, 0x3F7FFFFF), "f32", 0x80800000, 0x80000000),
        ("fma.rp", (0x00800000, 0x3F7FFFFF, 0), "f32", 0x00800000, 0),
        ("div.rp", (0x00800000, 0x3F800001), "f32", 0x00800000, 0),
        ("div.rn", (0x80FFFFFF, 0x40000000), "f32", 0x80800000, 0x80000000),
        ("rcp.rp", (0x7E800001,), "f32", 0x00800000, 0),
        ("mul.rn", (0x0400, 0xBBFF), "f16", 0x8400, 0x8000),
        ("fma.rn", (0x0400, 0xBBFF, 0x8000), "f16", 0x8400, 0x8000),
        ("mul.rn", (0x04000400, 0xBBFF3BFF), "f16x2", 0x84000400, 0x80000000),
        ("mul.rn", (0x80800001, 0x3F7FFFFE), "f32", 0x80800000, 0x80800000),
        ("mul.rp", (0x3F7FFFFE, 0x00800001), "f32", 0x00800000, 0x00800000),
        ("mul.rn", (0x3BFE, 0x8401), "f16", 0x8400, 0x8400),
        ("fma.rn", (0xBBFE, 0x0401, 0x8000), "f16", 0x8400, 0x8400),
    ],
)
def test_flushing_decides_after_rounding_to_the_bits_of_a_normal_number(
    opcode: str, operands: tuple[int, ...], kind: str, plain: int, ftz: int
) -> None:
    places = ", ".join(["{a}", "{b}", "{c}"][: len(operands)])
    dtype = "u2" if kind == "f16" else "u4"
    columns = [np.full(32, word, dtype) for word in operands]
    for word, wanted in ((opcode, plain), (f"{opcode}.ftz", ftz)):
        got = computed([f"{word}.{kind} {{result}}, {places};"], columns, 8 * columns[0].itemsize)
        assert set(got.tolist()) == {wanted}, hex(int(got[0]))


def test_double_approximations_flush_and_have_32_bits() -> None:
    words = [0x3FF8000000000000, 0x0008000000000000, 0x8000000000000001, 0x7FE8000000000000, 0x4008123412341234]
    given = np.array(words * 8, np.uint64)[:32]
    with np.errstate(all="ignore"):
        numbers = np.where(given & np.uint64(0x7FF << 52) == 0, np.uint64(0), given).view(np.float64)
        for name, wanted in (("rcp", 1 / numbers), ("rsqrt", 1 / np.sqrt(numbers))):
            got = computed([f"{name}.approx.ftz.f64 {{result}}, {{a}};"], [given], 64)
            wanted = np.copysign(np.where(wanted < 2.0**-1022, 0.0, wanted), given.view(np.float64))
            np.testing.assert_array_equal(got, wanted.view(np.uint64) & np.uint64(0xFFFFFFFF << 32))


def test_narrowed_doubles_are_flushed_after_rounding() -> None:
    words = np.array([0xB80FFFFFE0000001, 0xB80FFFFFFFFFFFFF, 0x380FFFFFC0000000, 0x3810000000000000] * 8, np.uint64)
    for mode, plain, ftz in (
        ("rn", [0x80800000, 0x80800000, 0x007FFFFF, 0x00800000], [1 << 31, 0x80800000, 0, 0x00800000]),
        ("rm", [0x80800000, 0x80800000, 0x007FFFFF, 0x00800000], [0x80800000, 0x80800000, 0, 0x00800000]),
    ):
        assert computed([f"cvt.{mode}.f32.f64 {{result}}, {{a}};"], [words], 32).tolist() == plain * 8
        assert computed([f"cvt.{mode}.ftz.f32.f64 {{result}}, {{a}};"], [words], 32).tolist() == ftz * 8


@pytest.mark.parametrize("kind", ["f16", "f32", "f64"])
def test_numbers_are_rounded_to_integers(kind: str) -> None:
    functions = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}
    for mode, function in functions.items():

        def whole(word: int, function: Callable[[float], int] = function) -> int:
            value = decoded(word, kind)
            return encoded(float(function(value)) if math.isfinite(value) else value, kind, sign=value)

        check(f"cvt.{mode}.{kind}.{kind} {{result}}, {{a}};", [kind], kind, whole)
