"""cvt: every form, with numbers that are hard to round, and with special ones."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tirx_mini.isa import TABLE
from tirx_mini.script import tirx as T

from .case import Array, Built, Case, blank, element_type

SIZE = 256
BASIC = {
    **{f"{kind}{bits}": f"{name}{bits}" for kind, name in (("u", "uint"), ("s", "int")) for bits in (8, 16, 32, 64)},
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
}  # fmt: skip
HELD = {
    "tf32": "uint32", "f16x2": "uint32", "bf16x2": "uint32", "e2m1x2": "uint8", "f16": "uint16", "bf16": "uint16",
    **dict.fromkeys(("e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2", "ue8m0x2"), "uint16"),
}  # fmt: skip
"""The dtypes of bits; a small format's pairs are tried with all of these."""


def numbers() -> Array:
    """Numbers of float64: ties of every format, the ends of their ranges, and random sizes."""
    ends = [0, -0.0, 0.25, 0.5, 1.5, 2.5, 3.5, 5, 6, 6.5, 7, 7.25, 7.75, 28, 30, 448, 464, 465, 57344, 61440, 65504,
            65519.9, 65520, 2.0**-9, 2.0**-10, 2.0**-14, 2.0**-24, 2.0**-25, 2.0**-126, 2.0**-127, 2.0**-149, 3.3e38,
            3.4028e38, 127, 127.5, 128, 255.5, 32767.5, 65535.5, 2.0**31, 2.0**32, 2.0**63, 2.0**64, np.inf, np.nan,
            1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-8, 1 + 3 * 2**-8, 1.0625, 1.125, 1.375]  # fmt: skip
    rng = np.random.default_rng(4)
    some = rng.normal(size=SIZE - 2 * len(ends)) * 2.0 ** rng.integers(-30, 30, SIZE - 2 * len(ends))
    with np.errstate(over="ignore"):
        return np.array([*ends, *(-x for x in ends), *some]).astype(np.float32).astype(np.float64)


def whole(dtype: str) -> Array:
    """Integers of all sizes."""
    kind = np.dtype(dtype)
    rng = np.random.default_rng(5)
    words = rng.integers(0, 256, SIZE * kind.itemsize, np.uint8).view(kind)
    shifts = rng.integers(0, kind.itemsize * 8, SIZE).astype(kind)
    ends = [np.iinfo(kind).min, np.iinfo(kind).max, 0, 1]
    return np.array([*ends, *(words >> shifts)[len(ends) :]], kind)


def values(kind: str) -> Array:
    if kind in HELD and kind.endswith("x2"):
        bits = np.arange(SIZE) * (257 if HELD[kind] == "uint16" else 0x00810081 if HELD[kind] == "uint32" else 1)
        if kind in ("e2m3x2", "e3m2x2"):
            bits = np.arange(SIZE) % 64 * 256 + np.arange(SIZE) // 4
        return bits.astype(HELD[kind])
    if kind[0] in "us":
        return whole(BASIC[kind])
    with np.errstate(over="ignore"):
        return numbers().astype(element_type(BASIC[kind]))


def legal(name: str, dtype: str, atype: str) -> list[dict[str, Any]]:
    """The modifiers with which there is a conversion on Hopper."""
    entry = TABLE[name]
    assert entry.check is not None
    free = {a.name: a.choices or (False, True) for a in entry.attributes if a.name not in ("dtype", "atype")}
    attrs = (dict(zip(free, some, strict=True)) for some in itertools.product(*free.values()))
    types = {"dtype": dtype, "atype": atype}
    if entry.missing_on(90, types):
        return []
    return [types | each for each in attrs if entry.check((), **types, **each) is None]


def converted(name: str, atype: str, dtypes: tuple[str, ...]) -> Built:
    """All conversions of a type to others; results as bits. All NaN of f32 and f64 are one, and those that f64 becomes:
    a chip's are other NaN of f16 and bf16 than those of f32."""
    forms = [form for dtype in dtypes for form in legal(name, dtype, atype)]
    A = values(atype)
    B = A[::-1].copy()
    held = str(A.dtype)

    @T.prim_func
    def kernel(
        A: T.Buffer((SIZE,), held), B: T.Buffer((SIZE,), held), out: T.Buffer((len(forms), SIZE), "int64")
    ):  # fmt: skip
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([SIZE])
        for form in T.meta_var(list(enumerate(forms))):
            if atype == "f32" and form[1]["dtype"].endswith("x2"):
                bits: T.let = T.ptx.cvt(A[tx], B[tx], **form[1])
                out[form[0], tx] = T.Cast("int64", bits)
            else:
                value: T.let = T.ptx.cvt(A[tx], **form[1])
                if form[1]["dtype"] == "f32":
                    out[form[0], tx] = T.Select(
                        value != value, T.int64(-1), T.Cast("int64", T.reinterpret("int32", value))
                    )
                elif form[1]["dtype"] == "f64":
                    out[form[0], tx] = T.Select(value != value, T.int64(-1), T.reinterpret("int64", value))
                elif atype == "f64" and form[1]["dtype"] in ("f16", "bf16"):
                    number: T.let = T.reinterpret(BASIC[form[1]["dtype"]], value)
                    out[form[0], tx] = T.Select(
                        T.Cast("float32", number) != T.Cast("float32", number), T.int64(-1), T.Cast("int64", value)
                    )
                else:
                    out[form[0], tx] = T.Cast("int64", value)

    return kernel, (A, B, blank((len(forms), SIZE), "int64"))


FLOATS = ("f16", "bf16", "f32", "f64")
INTEGERS = tuple(kind for kind in BASIC if kind not in FLOATS)
SMALL = ("f16", "bf16", "tf32", "f16x2", "bf16x2", "e4m3x2", "e5m2x2", "e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2")

CONVERSIONS = (
    *(Case("cvt", f"{atype} to integers", lambda atype=atype: converted("cvt", atype, INTEGERS)) for atype in BASIC),
    *(Case("cvt", f"{atype} to numbers", lambda atype=atype: converted("cvt", atype, FLOATS)) for atype in BASIC),
    *(
        Case("cvt", f"{atype} to small formats", lambda atype=atype: converted("cvt.packed", atype, SMALL))
        for atype in ("f32", "f16x2", "e4m3x2", "e5m2x2")
    ),
)
