"""cvt: conversion of single values and of pairs between types (PTX ISA: "cvt").

Formats without arithmetic in CUDA C++ are passed as bits: f16 and bf16 results in uint16, pairs of 16 bits and tf32 in
uint32, pairs of e4m3, e5m2, e3m2, e2m3 and ue8m0 in uint16, one in each byte, and pairs of e2m1 in uint8. The first
of two operands becomes the upper half of a pair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

import ml_dtypes
import numpy as np

from tirx_mini.ir import Expr

from .core import instruction
from .facts import Scope, SharedFacts
from .floats import FORMATS, flushed, flushed_result, integral, power_values, powers_of_two
from .machine import Machine, Thread
from .operands import typed_value

Basic = Literal["u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f16", "bf16", "f32", "f64"]
Small = Literal["f16", "bf16", "tf32", "f16x2", "bf16x2", "e4m3x2", "e5m2x2", "e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2"]
Source = Literal["f32", "f16x2", "bf16x2", "e4m3x2", "e5m2x2", "e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2"]

_FACTS: SharedFacts = {"issued_by": Scope.THREAD, "cost": "alu", "pure": True, "lanewise": True, "isa": "cvt"}
_CARRIERS = {
    "f16": "b16", "bf16": "b16", "tf32": "b32", "f16x2": "b32", "bf16x2": "b32", "e2m1x2": "b8",
    **dict.fromkeys(("e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2", "ue8m0x2"), "b16"),
}  # fmt: skip
_BITS = {"e2m1": 4, "e2m3": 8, "e3m2": 8, "e4m3": 8, "e5m2": 8, "ue8m0": 8, "f16": 16, "bf16": 16}
"""The width in bits of each half of a pair."""


def _carriers(dtype: str, atype: str, **_: object) -> tuple[str, str]:
    """Return the PTX register types of the operands and of the result."""
    return _CARRIERS.get(atype, atype), _CARRIERS.get(dtype, dtype)


def _is_float(kind: str) -> bool:
    return kind in FORMATS


def _width(kind: str) -> int:
    return 16 if kind == "bf16" else int(kind[1:])


def _wrong_scalar(operands: Sequence[Expr], dtype: str, atype: str, rounding: str, ftz: bool, sat: bool) -> str | None:
    """Return the error in the modifiers of a scalar conversion, or None."""
    if operands and len(operands) != 1:
        return f"{dtype} from {atype} has one operand, but {len(operands)} are given"
    to_float, from_float = _is_float(dtype), _is_float(atype)
    loses = (to_float and not from_float) or (to_float and from_float and _loses(dtype, atype))
    if from_float and not to_float:
        if not rounding.endswith("i"):
            return f"{dtype} from {atype} needs rounding: rni, rzi, rmi or rpi"
    elif loses:
        if rounding not in ("rn", "rz", "rm", "rp"):
            return f"{dtype} from {atype} needs rounding: rn, rz, rm or rp"
    elif rounding and not (dtype == atype and rounding.endswith("i") and to_float):
        return f"{dtype} from {atype} is exact, and has no rounding"
    return _wrong_modifiers(dtype, atype, rounding, ftz, sat)


def _loses(dtype: str, atype: str) -> bool:
    """Return whether a floating-point type cannot represent all values of another."""
    return dtype != atype and (_width(dtype) < _width(atype) or {dtype, atype} == {"f16", "bf16"})


def _wrong_modifiers(dtype: str, atype: str, rounding: str, ftz: bool, sat: bool) -> str | None:
    half = "bf16" in (dtype, atype)
    if half and {"u8", "s8"} & {dtype, atype}:
        return "bf16 is not converted from or to integers of 8 bits"
    if ftz and ("f32" not in (dtype, atype) or half):
        return "ftz is for conversions from or to f32, and not for bf16"
    if half and dtype != "f32" and atype == "f32" and rounding in ("rm", "rp"):
        return "bf16 from f32 is rounded to the nearest, or towards zero"
    if sat and half:
        return "there is no sat for bf16"
    if sat and not _is_float(dtype) and not _is_float(atype) and _holds(dtype, atype):
        return f"{dtype} holds all values of {atype}: there is no sat"
    return None


def _holds(dtype: str, atype: str) -> bool:
    """Return whether an integer type can represent all values of another."""
    if dtype[0] == atype[0]:
        return _width(dtype) >= _width(atype)
    return dtype[0] == "s" and _width(dtype) > _width(atype)


@instruction(
    "cvt{.rounding}{.ftz}{.sat}.{dtype}.{atype} {result}, {values};",
    name="cvt",
    min_sm=90,
    carriers=_carriers,
    check=_wrong_scalar,
    **_FACTS,
)
def cvt(
    gpu: Machine,
    thread: Thread,
    *values: typed_value,
    dtype: Basic,
    atype: Basic,
    rounding: Literal["", "rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi"] = "",
    ftz: bool = False,
    sat: bool = False,
) -> typed_value:
    """Convert a value of type `atype` to type `dtype`.

    Conversions from floating point to integer saturate and map NaN to 0. sat: integers saturate to the range
    of `dtype` instead of wrapping; floats are clamped to [0, 1]. ftz: subnormal f32 numbers become zero.
    """
    (value,) = values
    with np.errstate(all="ignore"):
        if _is_float(dtype):
            result = _to_float(value, dtype, atype, rounding, ftz, sat)
        elif _is_float(atype):
            result = _to_integer(_numbers(value, atype, ftz), dtype, atype, rounding)
        else:
            result = _integers(value, dtype, sat)
    return _given(result, dtype, value)


def _to_float(value: object, dtype: str, atype: str, rounding: str, ftz: bool, sat: bool) -> np.ndarray:
    """Return the numbers in float64, all representable in type `dtype`."""
    target = FORMATS[dtype]
    if _is_float(atype):
        numbers = _numbers(value, atype, ftz and dtype != "f16")  # seen on an H200: it rounds subnormal numbers
        numbers = integral(numbers, rounding[:2]) if rounding.endswith("i") else numbers
    else:
        whole = np.atleast_1d(np.asarray(value, object))
        numbers = np.array([float(_rounded_integer(int(each), target.mantissa, rounding)) for each in whole.ravel()])
    rounded = partial(target.rounded, rounding=rounding[:2] or "rn")
    exact, numbers = numbers, rounded(numbers)
    if ftz and dtype == "f32":
        numbers = flushed_result(exact, numbers, rounded)
    if sat:
        numbers = np.where(np.isnan(numbers) | (numbers <= 0), 0.0, np.minimum(numbers, 1.0))
    return numbers


def _rounded_integer(value: int, mantissa: int, rounding: str) -> int:
    """Round an integer to at most `mantissa` + 1 significant bits."""
    cut = abs(value).bit_length() - mantissa - 1
    if cut <= 0:
        return value
    low, rest = value >> cut, value & ((1 << cut) - 1)
    half = 1 << (cut - 1)
    up = {
        "rn": rest > half or (rest == half and low & 1), "rz": value < 0 and rest, "rm": False, "rp": rest,
    }[rounding]  # fmt: skip
    return (low + bool(up)) << cut


def _to_integer(numbers: np.ndarray, dtype: str, atype: str, rounding: str) -> np.ndarray:
    """Convert numbers to an integer type with saturation; NaN becomes 0, or in a 64-bit type only its highest bit."""
    low, high = _range(dtype)
    whole = integral(numbers, rounding[:2])
    out = [low if n <= low else high if n >= high else 0 if n != n else int(n) for n in whole.tolist()]
    kind = np.uint64 if dtype == "u64" else np.int64
    if atype == "f64" or dtype.endswith("64"):
        nothing = low if low else 1 << (_width(dtype) - 1)
        out = [nothing if n != n else each for each, n in zip(out, whole.tolist(), strict=True)]
    return np.array(out, kind)


def _range(dtype: str) -> tuple[int, int]:
    width = _width(dtype)
    return (0, (1 << width) - 1) if dtype[0] == "u" else (-(1 << (width - 1)), (1 << (width - 1)) - 1)


def _integers(value: object, dtype: str, sat: bool) -> np.ndarray:
    low, high = _range(dtype)
    out: list[int] = []
    for each in np.atleast_1d(np.asarray(value, object)).ravel().tolist():
        number = int(each)
        out.append(min(max(number, low), high) if sat else (number - low) % (high - low + 1) + low)
    return np.array(out, np.uint64 if dtype == "u64" else np.int64)


def _numbers(value: object, kind: str, ftz: bool = False) -> np.ndarray:
    """Return values of a floating-point type, or their bits, as float64."""
    values = np.atleast_1d(np.asarray(value))
    if kind in ("f32", "f64"):
        numbers = values.astype(np.float64)
        return flushed(numbers) if ftz and kind == "f32" else numbers
    if values.dtype.kind not in "iu":
        values = values.view(np.uint16)
    return FORMATS[kind].decoded(values.astype(np.uint64) & np.uint64(0xFFFF))


def _given(result: np.ndarray, dtype: str, *values: object) -> Any:
    """Return a result as kernels see it: floats of 32 and 64 bits as floats, all others as integers."""
    if dtype in ("f32", "f64"):
        out = result.astype(np.float32 if dtype == "f32" else np.float64)
    elif dtype in FORMATS:
        out = FORMATS[dtype].encoded(result).astype(np.int64)
    else:
        out = result
    varies = any(isinstance(value, np.ndarray) and value.ndim for value in values)
    return out if varies else out[0] if out.dtype.kind == "f" else int(out[0])


def _wrong_small(
    operands: Sequence[Expr], dtype: str, atype: str, rounding: str, relu: bool, satfinite: bool
) -> str | None:
    """Return the error in the modifiers of a conversion from or to a small format, or None."""
    pair = dtype.endswith("x2")
    needed = 2 if atype == "f32" and pair else 1
    if operands and len(operands) != needed:
        return f"{dtype} from {atype} has {needed} operand{'s' * (needed > 1)}, but {len(operands)} are given"
    forms = _forms(dtype, atype)
    if not forms:
        return f"there is no conversion from {atype} to {dtype}"
    roundings, saturates, rectifies = forms
    if rounding not in roundings:
        return f"{dtype} from {atype} needs rounding: {' or '.join(roundings)}"
    if satfinite not in saturates:
        return f"{dtype} from {atype} {'always has satfinite=True' if True in saturates else 'has no satfinite'}"
    if dtype == "tf32" and satfinite and rounding != "rna":
        return "tf32 has satfinite where it is rounded by rna"
    if relu and not (rectifies and rounding != "rna"):
        return f"{dtype} from {atype} rounded by {rounding} has no relu"
    return None


def _forms(dtype: str, atype: str) -> tuple[tuple[str, ...], tuple[bool, ...], bool] | None:
    """Return (rounding modes, values of satfinite, whether relu exists) of a conversion, or None if there is none."""
    narrow = ("e4m3x2", "e5m2x2", "e2m1x2", "e2m3x2", "e3m2x2")
    if atype == "f32":
        if dtype == "ue8m0x2":
            return ("rz", "rp"), (False, True), False
        if dtype in narrow:
            return ("rn",), (True,), True
        return ("rn", "rz", "rna") if dtype == "tf32" else ("rn", "rz"), (False, True), True
    if dtype in narrow and atype == "f16x2" and dtype in ("e4m3x2", "e5m2x2"):
        return ("rn",), (True,), True
    if dtype == "f16x2" and atype in narrow:
        return ("rn",), (False,), True
    if (dtype, atype) == ("ue8m0x2", "bf16x2"):
        return ("rz", "rp"), (False, True), False
    if (dtype, atype) == ("bf16x2", "ue8m0x2"):
        return ("rn",), (False,), False
    return None


def _small(dtype: str, atype: str, **_: object) -> str:
    order = "{.relu}{.satfinite}" if dtype in ("f16", "bf16", "f16x2", "bf16x2") else "{.satfinite}{.relu}"
    head = f"cvt{{.rounding}}{order}.{dtype}.{atype}"
    if dtype == "e2m1x2":
        return f"{{\n    .reg .b8 pair;\n    {head} pair, {{values}};\n    cvt.u32.u8 {{result}}, pair;\n}}"
    if atype == "e2m1x2":
        return f"{{\n    .reg .b8 pair;\n    cvt.u8.u32 pair, {{values}};\n    {head} {{result}}, pair;\n}}"
    return f"{head} {{result}}, {{values}};"


_BLACKWELL = ("e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2")


@instruction(
    _small,
    name="cvt.packed",
    min_sm=90,
    only_on={(name, kind): (100, 103, 110) for name in ("dtype", "atype") for kind in _BLACKWELL},
    carriers=_carriers,
    check=_wrong_small,
    **_FACTS,
)
def cvt_packed(
    gpu: Machine,
    thread: Thread,
    *values: typed_value,
    dtype: Small,
    atype: Source,
    rounding: Literal["rn", "rna", "rz", "rp"],
    relu: bool = False,
    satfinite: bool = False,
) -> typed_value:
    """Convert to a small format: a value or a pair from f32, or a pair from another pair; or convert a pair to f16.

    satfinite: too large numbers and infinity become the largest number. relu: negative numbers become 0. NaN stays
    NaN; in formats without NaN it becomes the largest number.
    """
    varies = any(isinstance(value, np.ndarray) and value.ndim for value in values)
    if rounding == "rn" and atype == "f32" and dtype in _NEAREST and not (relu or satfinite):
        upper, lower = (_nearest(value, _NEAREST[dtype]) for value in values)
        return upper << 16 | lower if varies else int(upper[0]) << 16 | int(lower[0])
    halves = [_numbers(value, "f32") for value in values] if atype == "f32" else list(_halves(values[0], atype[:-2]))
    kind = dtype.removesuffix("x2")
    words = [_word(numbers, kind, rounding, relu, satfinite) for numbers in halves]
    if rounding == "rna":  # only to tf32. NaN keeps its upper bits; satfinite subtracts one from them: seen on an H200
        bits = np.atleast_1d(np.asarray(values[0], np.float32)).view(np.uint32).astype(np.uint64)
        kept = (bits & np.uint64(0xFFFFE000)) - np.uint64(0x2000 if satfinite else 0)
        words[0] = np.where(np.isnan(halves[0]), kept, words[0])
    total = words[0] if len(words) == 1 else (words[0] << np.uint64(_BITS[kind])) | words[1]
    out = total.astype(np.int64)
    return out if varies else int(out[0])


_NEAREST: Mapping[str, Any] = {"f16x2": np.float16, "bf16x2": ml_dtypes.bfloat16}
"""The pair formats that NumPy rounds to directly."""


def _nearest(value: object, dtype: Any) -> np.ndarray:
    """Round float32 numbers to a 16-bit format and return their bits as int64."""
    numbers = np.atleast_1d(np.asarray(value, np.float32))
    with np.errstate(all="ignore"):
        bits = numbers.astype(dtype).view(np.uint16).astype(np.int64)
    return np.where(numbers == numbers, bits, 0x7FFF)


def _word(numbers: np.ndarray, kind: str, rounding: str, relu: bool, satfinite: bool) -> np.ndarray:
    """Return the bits of numbers in a small format, as uint64."""
    if kind == "ue8m0":
        return powers_of_two(numbers, rounding == "rp", satfinite)
    target = FORMATS[kind]
    near = target.rounded(numbers, rounding, satfinite)
    near = np.where(near <= 0, 0.0, near) if relu else near
    if kind == "tf32":  # NaN has zeros in the lower bits, too: seen on an H200
        return FORMATS["f32"].encoded(near) & np.uint64(0xFFFFE000)
    return target.encoded(near)


def _halves(value: object, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of a pair, the upper half first."""
    words = np.atleast_1d(np.asarray(value)).astype(np.uint64)
    bits = _BITS[kind]
    parts = (words >> np.uint64(bits)) & np.uint64((1 << bits) - 1), words & np.uint64((1 << bits) - 1)
    decode = power_values if kind == "ue8m0" else FORMATS[kind].decoded
    return decode(parts[0]), decode(parts[1])
