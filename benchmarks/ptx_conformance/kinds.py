"""Kinds of operands: their registers, random and special bits for them, and the comparison of their results.

A kind is a PTX type, and after it a restriction: "u32&31" has five bits, "u32!" is odd, "s32>>8" has 24 bits, and
"f32~" has a canonical NaN, so that the sign and payload of NaNs reach no other bits. "f32^" has numbers whose products
and quotients lie around the smallest normal number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
FRACTION = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}
HALVES = {"f16x2": "f16", "bf16x2": "bf16"}
_WIDTHS = {"pred": 1, "bf16": 16, "f16x2": 32, "bf16x2": 32, "u16x2": 32, "s16x2": 32}
_LETTERS = {8: "h", 16: "h", 32: "r", 64: "d"}
_RESTRICTED = re.compile(r"([a-z0-9]+)(?:(&|>>)(\d+)|([!~^]))?$")


def plain(kind: str) -> str:
    """The type of a kind, without its restriction."""
    found = _RESTRICTED.match(kind)
    assert found is not None, kind
    return found[1]


def restriction(kind: str) -> tuple[str, int]:
    """The restriction of a kind, such as ("&", 31), or ("", 0)."""
    found = _RESTRICTED.match(kind)
    assert found is not None, kind
    return found[2] or found[4] or "", int(found[3] or 0)


def width(kind: str) -> int:
    """The bits of a kind."""
    kind = plain(kind)
    return _WIDTHS[kind] if kind in _WIDTHS else int(kind[1:])


def letter(kind: str) -> str:
    """The first letter of registers that hold a kind."""
    kind = plain(kind)
    return {"pred": "p", "f32": "f", "f64": "g"}.get(kind) or _LETTERS[width(kind)]


def pool(kind: str) -> str:
    """The name of the variables of a kind: those of floats stand apart, so that NaNs do not become numbers."""
    kind = plain(kind)
    return kind if kind in FRACTION or kind in HALVES or kind == "pred" else f"b{max(16, width(kind))}"


POOLS = ("b16", "b32", "b64", "f16", "bf16", "f32", "f64", "f16x2", "bf16x2", "pred")


def column(kind: str, count: int, rng: np.random.Generator) -> Words:
    """Bits of a kind: random ones, numbers of usual size, and those at the edges of the type."""
    name, bits = plain(kind), width(kind)
    if restriction(kind)[0] == "^":
        return rng.choice(np.array(_around_the_smallest(name), np.uint64), count)
    if name in HALVES:
        low, high = (column(HALVES[name], count, rng) for _ in range(2))
        return low | high << np.uint64(16)
    mask = np.uint64((1 << bits) - 1)
    found = rng.integers(0, 1 << 64, count, np.uint64, endpoint=False) & mask
    edges = np.array(_edges(name, bits), np.uint64)
    usual = _usual(name, count, rng) & mask
    which = rng.random(count)
    found = np.where(which < 0.45, rng.choice(edges, count), np.where(which < 0.8, usual, found))
    return restricted(kind, found)


def restricted(kind: str, words: Words) -> Words:
    """Words with the restriction of their kind."""
    sign, number = restriction(kind)
    bits = width(kind)
    if sign == "&":
        return words & np.uint64(number)
    if sign == "!":
        return words | np.uint64(1)
    if sign == ">>":
        moved = (words << np.uint64(64 - bits + number)).view(np.int64) >> np.int64(64 - bits + number)
        return moved.view(np.uint64) & np.uint64((1 << bits) - 1)
    if sign == "~" and plain(kind) in FRACTION:
        return np.where(is_nan(plain(kind), words), np.uint64(canonical(plain(kind))), words)
    return words


def _edges(name: str, bits: int) -> list[int]:
    mask = (1 << bits) - 1
    if name not in FRACTION:
        near = (0, 1, 2, 3, 31, 32, 33, 63, 64, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF)
        return [n & mask for n in (*near, mask, mask - 1, mask >> 1, (mask >> 1) + 1, (mask >> 1) - 1, 1 << 31)]
    fraction = FRACTION[name]
    infinity = (mask >> 1) >> fraction << fraction
    one = (mask >> 2) >> fraction << fraction
    quiet = infinity | 1 << (fraction - 1)
    sizes = [
        0, 1, 2, one, one + 1, one - 1, infinity, infinity - 1, quiet, (1 << fraction) - 1, 1 << fraction,
        one + (1 << fraction), one - (1 << fraction), one | 1 << (fraction - 1), 3 << (fraction - 1),
        infinity - (1 << fraction),
    ]  # fmt: skip
    return [size | sign for size in sizes for sign in (0, 1 << (bits - 1))]


def _around_the_smallest(name: str) -> list[int]:
    """Numbers near one and near the smallest normal number, and in double precision those of float32 that are near."""
    if name == "f64":
        edge = encoded(name, np.array([2.0**-126, 2.0**-126 - 2.0**-150, 2.0**-126 - 2.0**-149]))
        return [int(word) + step | sign << 63 for word in edge for step in (-2, -1, 0, 1) for sign in (0, 1)]
    bits, fraction = width(name), FRACTION[name]
    one, least = ((1 << (bits - 2)) - 1) >> fraction << fraction, 1 << fraction
    highest = ((1 << (bits - 1)) - 1) >> fraction << fraction
    near = [one + step for step in (-3, -2, -1, 0, 1, 2, 3)] + [least + step for step in (-1, 0, 1, 2)]
    near += [1, highest - 2 * least, highest - 2 * least + 1]
    return [word | sign << (bits - 1) for word in near for sign in (0, 1)]


def _usual(name: str, count: int, rng: np.random.Generator) -> Words:
    """Small integers, and floats around one."""
    if name not in FRACTION:
        return rng.integers(-70, 200, count).astype(np.int64).view(np.uint64)
    numbers = rng.normal(size=count) * 2.0 ** rng.integers(-6, 12, count)
    return encoded(name, numbers)


def encoded(name: str, numbers: npt.NDArray[np.float64]) -> Words:
    """The bits of numbers; a bfloat16 is cut off."""
    if name == "f64":
        return numbers.view(np.uint64)
    if name == "f16":
        return numbers.astype(np.float16).view(np.uint16).astype(np.uint64)
    words = numbers.astype(np.float32).view(np.uint32).astype(np.uint64)
    return words >> np.uint64(16) if name == "bf16" else words


def decoded(name: str, words: Words) -> npt.NDArray[np.float64]:
    """The numbers of bits."""
    with np.errstate(all="ignore"):
        if name == "f64":
            return words.view(np.float64)
        if name == "f16":
            return words.astype(np.uint16).view(np.float16).astype(np.float64)
        words = words << np.uint64(16) if name == "bf16" else words
        return words.astype(np.uint32).view(np.float32).astype(np.float64)


def canonical(name: str) -> int:
    """The bits of a quiet NaN."""
    bits, fraction = width(name), FRACTION[name]
    return (((1 << (bits - 1)) - 1) >> (fraction - 1)) << (fraction - 1)


def is_nan(name: str, words: Words) -> npt.NDArray[np.bool_]:
    bits, fraction = width(name), FRACTION[name]
    size = words & np.uint64((1 << (bits - 1)) - 1)
    return size > np.uint64(((1 << (bits - 1 - fraction)) - 1) << fraction)


def unequal(kind: str, chip: Words, model: Words) -> npt.NDArray[np.bool_]:
    """Where results differ; a NaN equals any other NaN of its type."""
    name, bits = plain(kind), width(kind)
    if name in HALVES:
        half = np.uint64(0xFFFF)
        low, high = ([words >> np.uint64(at) & half for words in (chip, model)] for at in (0, 16))
        return unequal(HALVES[name], *low) | unequal(HALVES[name], *high)
    mask = np.uint64((1 << bits) - 1)
    differ = (chip & mask) != (model & mask)
    if name in FRACTION:
        differ &= ~(is_nan(name, chip & mask) & is_nan(name, model & mask))
    return differ


def shown(kind: str, word: Any) -> str:
    """A word in hexadecimal, and the number of a float."""
    name = plain(kind)
    text = f"0x{int(word) & ((1 << width(kind)) - 1):0{max(1, width(kind) // 4)}x}"
    return f"{text} ({decoded(name, np.array([word], np.uint64))[0]:g})" if name in FRACTION else text


def placed(columns: Sequence[Words], count: int) -> Words:
    """Columns of `count` words, one after the other; one of zeros where there is none."""
    return np.ascontiguousarray(np.stack(columns or [np.zeros(count, np.uint64)]))
