"""cvt: rounding to every format, ranges, pairs, NaN; and which modifiers go together."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.tirx_mini.sim.bare import do, run
from tirx_mini.ir import Buffer, BufferLoad, DataType, TirxError, const
from tirx_mini.isa import NAMES, TABLE
from tirx_mini.isa.floats import FORMATS, powers_of_two
from tirx_mini.sim import RunningWarp

TYPES: dict[str, Any] = {
    "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "e5m2": ml_dtypes.float8_e5m2,
    "e4m3": ml_dtypes.float8_e4m3fn, "e2m1": ml_dtypes.float4_e2m1fn, "e2m3": ml_dtypes.float6_e2m3fn,
    "e3m2": ml_dtypes.float6_e3m2fn,
}  # fmt: skip


def numbers(count: int = 20000) -> np.ndarray:
    """Numbers of float32 of all sizes, and ordinary ones."""
    rng = np.random.default_rng(0)
    words = rng.integers(0, 1 << 32, count, np.uint64).astype(np.uint32).view(np.float32)
    return np.concatenate([words[np.isfinite(words)], rng.normal(0, 3, count).astype(np.float32)])


@pytest.mark.parametrize("kind", TYPES)
def test_the_nearest_number_and_its_bits(kind: str) -> None:
    found, target = numbers(), FORMATS[kind]
    near = target.rounded(found.astype(np.float64), "rn")
    with np.errstate(over="ignore"):
        want = found.astype(TYPES[kind])
    inside = np.abs(found) <= target.largest if not target.infinite else np.full(found.shape, True)
    np.testing.assert_array_equal(near[inside], want.astype(np.float64)[inside])
    words = want.view(f"uint{want.itemsize * 8}").astype(np.uint64)
    np.testing.assert_array_equal(target.encoded(near)[inside], words[inside])
    np.testing.assert_array_equal(target.decoded(target.encoded(near)), near)


@pytest.mark.parametrize("kind", [*TYPES, "tf32"])
def test_directions(kind: str) -> None:
    """A rounded number is the given one, or its neighbour on the right side, or beyond the end of the range."""
    target = FORMATS[kind]
    exact = numbers(2000).astype(np.float64)
    exact = exact[np.abs(exact) <= target.largest]
    down, up, zero = (target.rounded(exact, rounding) for rounding in ("rm", "rp", "rz"))
    assert (down <= exact).all() and (exact <= up).all() and (np.abs(zero) <= np.abs(exact)).all()
    np.testing.assert_array_equal(zero, np.where(exact > 0, down, up))
    between = down < up
    middle = (down + up)[between] / 2
    assert (target.rounded(middle, "rn")[np.isfinite(middle)] != middle[np.isfinite(middle)]).all()
    away = target.rounded(middle, "rna")
    np.testing.assert_array_equal(away, np.where(middle > 0, up[between], down[between]))


def done(op: str, *values: Any, **attrs: Any) -> Any:
    def program(w: RunningWarp) -> Any:
        yield from ()
        w.gpu.seen["result"] = do(w, op, *values, **attrs)

    result = run(program)
    assert not result.findings
    return result.seen["result"]


def cvt(value: Any, dtype: str, atype: str, **attrs: Any) -> Any:
    return done("cvt", value, dtype=dtype, atype=atype, **attrs)


@pytest.mark.parametrize(
    ("value", "dtype", "atype", "attrs", "want"),
    [
        (np.float32(2.5), "s32", "f32", {"rounding": "rni"}, 2),
        (np.float32(-2.5), "s32", "f32", {"rounding": "rzi"}, -2),
        (np.float32(-2.5), "s32", "f32", {"rounding": "rmi"}, -3),
        (np.float32(1e20), "s32", "f32", {"rounding": "rni"}, 2**31 - 1),
        (np.float32(-5), "u8", "f32", {"rounding": "rni"}, 0),
        (np.float32(np.nan), "s32", "f32", {"rounding": "rni"}, 0),
        (np.float32(np.nan), "s64", "f32", {"rounding": "rni"}, -(2**63)),
        (np.float64(np.nan), "u32", "f64", {"rounding": "rni"}, 2**31),
        (np.float32(2**63), "u64", "f32", {"rounding": "rni"}, 2**63),
        (300, "u8", "s32", {}, 44),
        (300, "u8", "s32", {"sat": True}, 255),
        (-1, "u32", "s32", {"sat": True}, 0),
        (-1, "u32", "s32", {}, 2**32 - 1),
        (2**32 - 1, "s32", "u32", {}, -1),
        (2**24 + 1, "f32", "s32", {"rounding": "rn"}, np.float32(2**24)),
        (2**24 + 1, "f32", "s32", {"rounding": "rp"}, np.float32(2**24 + 2)),
        (2**64 - 1, "f32", "u64", {"rounding": "rz"}, np.nextafter(np.float32(2**64), np.float32(0))),
        (-(2**24) - 1, "f32", "s32", {"rounding": "rz"}, np.float32(-(2**24))),
        (np.float32(1.5), "f32", "f32", {"sat": True}, np.float32(1)),
        (np.float32(np.nan), "f32", "f32", {"sat": True}, np.float32(0)),
        (np.float32(1e-40), "f64", "f32", {"ftz": True}, np.float64(0)),
        (np.float32(3.5), "f32", "f32", {"rounding": "rni"}, np.float32(4)),
        (np.float32(-1e-40), "f16", "f32", {"rounding": "rm", "ftz": True}, 0x8001),
        (0x3C00, "f32", "f16", {}, np.float32(1)),
        (np.float16(2), "f32", "f16", {}, np.float32(2)),
        (np.float32(65520), "f16", "f32", {"rounding": "rz"}, 0x7BFF),
        (np.float32(65520), "f16", "f32", {"rounding": "rn"}, 0x7C00),
        (np.float32(1), "bf16", "f32", {"rounding": "rn"}, 0x3F80),
    ],
)
def test_single_values(value: Any, dtype: str, atype: str, attrs: dict[str, Any], want: Any) -> None:
    found = cvt(value, dtype, atype, **attrs)
    assert found == want and type(found) is type(want)
    lanes = cvt(np.full(32, value), dtype, atype, **attrs)
    assert lanes.shape == (32,) and (lanes == want).all()


F = np.float32


@pytest.mark.parametrize(
    ("values", "attrs", "want"),
    [
        ((F(1), F(2)), {"dtype": "f16x2", "atype": "f32"}, 0x3C004000),
        ((F(-1), F(1e9)), {"dtype": "f16x2", "atype": "f32", "relu": True, "satfinite": True}, 0x00007BFF),
        ((F(np.nan), F(-2)), {"dtype": "bf16x2", "atype": "f32"}, 0x7FFFC000),
        ((F(1000), F(-0.5)), {"dtype": "e4m3x2", "atype": "f32", "satfinite": True}, 0x7EB0),
        ((F(np.nan), F(np.inf)), {"dtype": "e4m3x2", "atype": "f32", "satfinite": True}, 0x7F7E),
        ((F(np.inf), F(1)), {"dtype": "e5m2x2", "atype": "f32", "satfinite": True}, 0x7B3C),
        ((F(5), F(-7)), {"dtype": "e2m1x2", "atype": "f32", "satfinite": True}, 0x6F),
        ((F(np.nan), F(0.25)), {"dtype": "e2m1x2", "atype": "f32", "satfinite": True}, 0x70),
        ((F(7.5), F(-0.125)), {"dtype": "e2m3x2", "atype": "f32", "satfinite": True}, 0x1F21),
        ((F(28), F(np.nan)), {"dtype": "e3m2x2", "atype": "f32", "satfinite": True}, 0x1F1F),
        ((F(3), F(2)), {"dtype": "ue8m0x2", "atype": "f32", "rounding": "rz"}, 0x8080),
        ((F(3), F(-2)), {"dtype": "ue8m0x2", "atype": "f32", "rounding": "rp"}, 0x8180),
        ((0x3C004400,), {"dtype": "e4m3x2", "atype": "f16x2", "satfinite": True}, 0x3848),
        ((0x3848,), {"dtype": "f16x2", "atype": "e4m3x2"}, 0x3C004400),
        ((0x6F,), {"dtype": "f16x2", "atype": "e2m1x2"}, 0x4400C600),
        ((0x7FFF,), {"dtype": "bf16x2", "atype": "ue8m0x2"}, 0x3F807FFF),
        ((F(1 + 2**-11),), {"dtype": "tf32", "atype": "f32", "rounding": "rna"}, 0x3F802000),
        ((-F("nan"),), {"dtype": "tf32", "atype": "f32", "rounding": "rna"}, 0xFFC00000),  # as on an H200
        ((F("nan"),), {"dtype": "tf32", "atype": "f32", "rounding": "rna", "satfinite": True}, 0x7FBFE000),
        ((F(1 + 2**-11),), {"dtype": "tf32", "atype": "f32", "rounding": "rn"}, 0x3F800000),
        ((F(np.nan),), {"dtype": "tf32", "atype": "f32", "rounding": "rz"}, 0x7FFFE000),
    ],
)
def test_small_formats(values: tuple[Any, ...], attrs: dict[str, Any], want: int) -> None:
    attrs = {"rounding": "rn", **attrs}
    assert hex(done("cvt.packed", *values, **attrs)) == hex(want)
    lanes = done("cvt.packed", *(np.full(32, value) for value in values), **attrs)
    assert (lanes == want).all()


def test_powers_of_two() -> None:
    given = np.array([0, 2.0**-127, 2.0**-130, 1.5, 2.0**128, np.inf, np.nan])
    assert powers_of_two(given, True, False).tolist() == [0, 0, 0, 128, 255, 255, 255]
    assert powers_of_two(given, False, True).tolist() == [0, 0, 0, 127, 254, 254, 255]


X = BufferLoad(DataType("float32"), Buffer("x", (1,), DataType("float32"), "local"), (const(0),))


@pytest.mark.parametrize(
    ("args", "kwargs", "op", "dtype"),
    [
        (("f16x2", X, X), {"atype": "f32", "rounding": "rn"}, "cvt.packed", "uint32"),
        (("f16", X), {"atype": "f32", "rounding": "rn"}, "cvt", "uint16"),
        (("f16", X), {"atype": "f32", "rounding": "rz", "relu": True}, "cvt.packed", "uint16"),
        (("e2m1x2", X, X), {"atype": "f32", "rounding": "rn", "satfinite": True}, "cvt.packed", "uint8"),
        (("s8", X), {"atype": "f32", "rounding": "rni"}, "cvt", "int8"),
        ((X,), {"dtype": "tf32", "atype": "f32", "rounding": "rna"}, "cvt.packed", "uint32"),
    ],
)
def test_calls_as_tvm_writes_them(args: tuple[Any, ...], kwargs: dict[str, Any], op: str, dtype: str) -> None:
    made = NAMES["ptx.cvt"].call(*args, **kwargs)
    assert (made.op, made.dtype) == (op, dtype) and all(arg.dtype == "float32" for arg in made.args)


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        (("s32", X), {"atype": "f32"}, "s32 from f32 needs rounding: rni, rzi, rmi or rpi"),
        (("f16", X), {"atype": "f32"}, "f16 from f32 needs rounding: rn, rz, rm or rp"),
        (("f64", X), {"atype": "f32", "rounding": "rn"}, "f64 from f32 is exact, and has no rounding"),
        (("e4m3x2", X, X), {"atype": "f32", "rounding": "rn"}, "e4m3x2 from f32 always has satfinite=True"),
        (("f16x2", X), {"atype": "f32", "rounding": "rn"}, "f16x2 from f32 has 2 operands, but 1 are given"),
        (("tf32", X), {"atype": "f32", "rounding": "rz", "satfinite": True}, "tf32 has satfinite where it is rounded"),
        (("tf32", X), {"atype": "f32", "rounding": "rna", "relu": True}, "tf32 from f32 rounded by rna has no relu"),
        (("f16x2", X), {"atype": "e4m3x2", "rounding": "rn", "satfinite": True}, "f16x2 from e4m3x2 has no satfinite"),
        (("e2m1x2", X), {"atype": "bf16x2", "rounding": "rn"}, "there is no conversion from bf16x2 to e2m1x2"),
        (("s8", X), {"atype": "bf16", "rounding": "rni"}, "bf16 is not converted from or to integers of 8 bits"),
        (("s32", X), {"atype": "u8", "sat": True}, "s32 holds all values of u8: there is no sat"),
        (("f16x2", X, X, X), {"atype": "f32", "rounding": "rs", "rbits": X}, "'rbits' of cvt is x"),
    ],
)
def test_what_does_not_fit_is_said(args: tuple[Any, ...], kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(TirxError, match=message):
        NAMES["ptx.cvt"].call(*args, **kwargs)


def test_what_hopper_lacks() -> None:
    entry = TABLE["cvt.packed"]
    assert entry.missing_on(90, {"dtype": "e2m1x2"}) == ("dtype", "e2m1x2")
    assert entry.missing_on(100, {"dtype": "e2m1x2"}) is None
