"""cvt.rs: conversion of float32 numbers with stochastic rounding (PTX ISA: "cvt", .rs).

A number between two neighbours of the format is rounded up in size where its fraction of their distance, and random
bits as a fraction, add up to 1 or more. All random bits are in one operand, those of the first number in its upper
part: 13 bits in each half for f16, 16 for bf16, and a byte for each of four numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from tirx_mini.ir import Expr

from .core import instruction
from .facts import Scope
from .floats import FORMATS, FloatFormat
from .machine import Machine, Thread
from .operands import f32, u32

_RANDOM = {"f16x2": 13, "bf16x2": 16}
"""The random bits of each number; 8 for the other formats."""


def _wrong(operands: Sequence[Expr], dtype: str, satfinite: bool, **_: object) -> str | None:
    """Return the error in the modifiers or the number of values of a conversion, or None."""
    count = int(dtype[-1])
    if operands and len(operands) != count + 1:
        return f"{dtype} is made of {count} numbers, but {len(operands) - 1} are given"
    return f"{dtype} always has satfinite" if count == 4 and not satfinite else None


def _text(dtype: str, **_: object) -> str:
    values = "{{values}}" if dtype.endswith("x4") else "{values}"
    return f"cvt.rs{{.relu}}{{.satfinite}}.{dtype}.{{atype}} {{result}}, {values}, {{bits}};"


@instruction(
    _text,
    name="cvt.rs",
    issued_by=Scope.THREAD,
    min_sm=100,
    isa="cvt",
    cost="alu",
    pure=True,
    lanewise=True,
    check=_wrong,
    only_in_ptx=True,
)
def cvt_rs(
    gpu: Machine,
    thread: Thread,
    bits: u32,
    *values: f32,
    dtype: Literal["f16x2", "bf16x2", "e4m3x4", "e5m2x4", "e2m3x4", "e3m2x4", "e2m1x4"] = "f16x2",
    atype: Literal["f32"] = "f32",
    relu: bool = False,
    satfinite: bool = False,
) -> u32:
    """Convert two or four numbers, rounded by random bits; the first becomes the upper part of the result."""
    kind, count = dtype[:-2], len(values)
    target, random = FORMATS[kind], _RANDOM.get(dtype, 8)
    width = max(4, target.bits) if kind == "e2m1" else 16 if count == 2 else 8
    words = np.atleast_1d(np.asarray(bits)).astype(np.uint64)
    total = np.zeros(1, np.uint64)
    for place, value in enumerate(values):
        shift = np.uint64((count - 1 - place) * (32 // count))
        part = (words >> shift) & np.uint64((1 << random) - 1)
        near = _rounded(np.asarray(value, np.float64), part, random, target, satfinite)
        near = np.where(near <= 0, 0.0, near) if relu else near
        total = (total << np.uint64(width)) | target.encoded(near)
    varies = any(isinstance(each, np.ndarray) and each.ndim for each in (bits, *values))
    found: Any = total.astype(np.int64)
    return found if varies else int(found[0])


def _rounded(values: np.ndarray, bits: np.ndarray, random: int, target: FloatFormat, satfinite: bool) -> np.ndarray:
    """Round numbers to a format by random bits."""
    with np.errstate(all="ignore"):
        low = target.rounded(values, "rz", satfinite)
        finite = np.isfinite(values)
        _, exponent = np.frexp(np.where(finite, values, 0.0))
        step = np.ldexp(1.0, np.maximum(exponent - 1, target.smallest) - target.mantissa)
        whole = np.trunc(np.where(finite, values, 0.0) / step)
        fraction = np.abs(np.where(finite, values, 0.0) / step - whole)
        up = np.floor(fraction * (1 << random)) + bits >= (1 << random)
        near = np.copysign((np.abs(whole) + up) * step, values)
        return np.where(finite & (np.abs(values) <= target.largest), target.rounded(near, "rn", satfinite), (
            np.where(finite & target.infinite & (not satfinite), np.copysign(np.inf, values), low)
        ))  # fmt: skip
