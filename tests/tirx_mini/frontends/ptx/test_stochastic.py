"""cvt.rs: conversions that are rounded by random bits."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from tests.tirx_mini.frontends.ptx.programs import entry, run

HEADER = ".version 9.0\n.target sm_100a\n.address_size 64\n"
_DTYPES = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
    "e2m3": ml_dtypes.float6_e2m3fn, "e3m2": ml_dtypes.float6_e3m2fn, "e2m1": ml_dtypes.float4_e2m1fn,
}  # fmt: skip
THREADS = 64


def converted(opcode: str, values: np.ndarray, bits: np.ndarray) -> np.ndarray:
    """The results of all threads. values: float32[threads, 2 or 4]."""
    count = values.shape[1]
    names = ", ".join(f"%f{n}" for n in range(count))
    result = "%h1" if "e2m1" in opcode else "%r5"
    body = f"""mov.u32 %r0, %tid.x; ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b]; ld.param.u64 %d2, [c];
        mul.wide.u32 %d3, %r0, {4 * count}; add.s64 %d0, %d0, %d3; mul.wide.u32 %d4, %r0, 4;
        add.s64 %d1, %d1, %d4; add.s64 %d2, %d2, %d4; ld.global.b32 %r1, [%d1];
        {"".join(f"ld.global.f32 %f{n}, [%d0+{4 * n}];" for n in range(count))}
        {opcode}.f32 {result}, {names if count == 2 else "{" + names + "}"}, %r1;
        {"cvt.u32.u16 %r5, %h1;" if result == "%h1" else ""} st.global.b32 [%d2], %r5;"""
    out = np.zeros(len(values), np.uint32)
    report = run(entry("a b c", body, header=HEADER), values, bits, out, block=(len(values),), gpu="b200")
    assert report.verdict == "ok", report
    return out


def neighbours(value: float, kind: str) -> tuple[Fraction, Fraction]:
    """The numbers of a format around a positive one."""
    dtype = np.dtype(_DTYPES[kind])
    low = np.array(value, np.float32).astype(dtype)
    bits = "u2" if dtype.itemsize == 2 else "u1"
    word = int(low.view(bits))
    if float(low) > value:
        word -= 1
    both = np.array([word, word + 1], bits).view(dtype)
    return Fraction(float(both[0])), Fraction(float(both[1]))


@pytest.mark.parametrize("kind", _DTYPES)
def test_random_bits_choose_between_neighbours(kind: str) -> None:
    count = 2 if kind in ("f16", "bf16") else 4
    random = {"f16": 13, "bf16": 16}.get(kind, 8)
    rng = np.random.default_rng(1)
    values = (rng.random((THREADS, count)) * 5 + 2.0**-7).astype(np.float32)
    bits = rng.integers(0, 1 << 32, THREADS, np.uint64).astype(np.uint32)
    satfinite = "" if count == 2 else ".satfinite"
    got = converted(f"cvt.rs{satfinite}.{kind}x{count}", values, bits)
    width = {"f16": 16, "bf16": 16, "e2m1": 4}.get(kind, 8)
    rounded_up = 0
    for thread in range(THREADS):
        for place in range(count):
            value = float(values[thread, place])
            low, high = neighbours(value, kind)
            part = int(bits[thread]) >> (count - 1 - place) * (32 // count) & (1 << random) - 1
            up = (Fraction(value) - low) / (high - low) + Fraction(part, 1 << random) >= 1
            word = int(got[thread]) >> (count - 1 - place) * width & (1 << width) - 1
            found = np.array(word, "u2" if width == 16 else "u1").view(_DTYPES[kind])
            assert Fraction(float(found)) == (high if up else low), (value, part)
            rounded_up += up
    assert 0 < rounded_up < THREADS * count


def test_what_is_outside_and_what_is_exact() -> None:
    values = np.array([[1.5, -2.0], [7e4, -7e4], [np.inf, np.nan], [0.0, -0.0]], np.float32)
    ones = np.full(4, 0xFFFFFFFF, np.uint32)
    halves = converted("cvt.rs.f16x2", values, ones).view(np.float16).reshape(-1, 2)[:, ::-1]
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(halves, values.astype(np.float16))
    kept = converted("cvt.rs.relu.satfinite.f16x2", values, ones).view(np.float16).reshape(-1, 2)[:, ::-1]
    np.testing.assert_array_equal(kept, np.array([[1.5, 0], [65504, 0], [65504, np.nan], [0, 0]], np.float16))
