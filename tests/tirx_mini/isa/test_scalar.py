"""Scalar instructions of PTX that are operations of the IR, against the ISA's definitions in Python's integers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.isa.scalar import TYPES, Scalar, scalars
from tirx_mini.script import from_source

FLOATS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
HALVES = {"f16x2": "f16", "bf16x2": "bf16"}
EDGES = (0, 1, 2, 3, 7, 15, 16, 31, 32, 33, 63, 64, 0x7FFF, 0x8000, 0xFFFF, 0x3C003C00, 0x7C00, 0xFC00, 0x80000000,
         0x7FFFFFFF, 0xFFFFFFFF, 0x7F800000, 0x00400000, 0x80400000, 0x3F800000, 0x7FC00000, 1 << 63, (1 << 64) - 1,
         0x7FF0000000000000, 0x3FF0000000000000)  # fmt: skip
LANES = 32


def size(kind: str) -> int:
    return 1 if kind == "pred" else TYPES[kind].bits


def number(kind: str, bits: int) -> Any:
    """Return the values that the bits of a register encode."""
    bits &= (1 << size(kind)) - 1
    if kind in FLOATS:
        return np.array([bits], f"uint{size(kind)}").view(FLOATS[kind])[0]
    return bits - (1 << size(kind)) if kind[0] == "s" and bits >> (size(kind) - 1) else bits


def bits_of(kind: str, value: Any) -> int:
    if kind in FLOATS:
        return int(np.array([value], FLOATS[kind]).view(f"uint{size(kind)}")[0])
    return int(value) & ((1 << size(kind)) - 1)


def divided(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def least(kind: str, a: Any, b: Any, sign: int) -> Any:
    if kind in FLOATS:
        if np.isnan(a) or np.isnan(b):
            return b if np.isnan(a) else a
        if a == b == 0:
            return a if bool(np.signbit(a)) == (sign > 0) else b
    return a if a * sign < b * sign else b


def low_24(kind: str, a: int) -> int:
    a &= 0xFFFFFF
    return a - (1 << 24) if kind == "s32" and a >> 23 else a


def extended(kind: str, a: int, count: int) -> int:
    a &= (1 << count) - 1
    return a - (1 << count) if kind == "s32" and count and a >> (count - 1) else a


INTEGER: Mapping[str, Callable[..., int]] = {
    "mov": lambda kind, a: a,
    "add": lambda kind, a, b: a + b,
    "sub": lambda kind, a, b: a - b,
    "mul.lo": lambda kind, a, b: a * b,
    "mul.hi": lambda kind, a, b: a * b >> size(kind),
    "mul.wide": lambda kind, a, b: a * b,
    "mad.lo": lambda kind, a, b, c: a * b + c,
    "mad.hi": lambda kind, a, b, c: (a * b >> size(kind)) + c,
    "div": lambda kind, a, b: divided(a, b),
    "rem": lambda kind, a, b: a - divided(a, b) * b,
    "sad": lambda kind, a, b, c: c + abs(a - b),
    "abs": lambda kind, a: abs(a),
    "neg": lambda kind, a: -a,
    "and": lambda kind, a, b: a & b,
    "or": lambda kind, a, b: a | b,
    "xor": lambda kind, a, b: a ^ b,
    "not": lambda kind, a: ~a,
    "cnot": lambda kind, a: int(a == 0),
    "shl": lambda kind, a, n: a << n if n < size(kind) else 0,
    "shr": lambda kind, a, n: a >> min(n, size(kind)),
    "selp": lambda kind, a, b, p: a if p else b,
    **{f"mul24.{part}": lambda kind, a, b, shift=shift: low_24(kind, a) * low_24(kind, b) >> shift
       for part, shift in (("lo", 0), ("hi", 16))},
    **{f"mad24.{part}": lambda kind, a, b, c, shift=shift: (low_24(kind, a) * low_24(kind, b) >> shift) + c
       for part, shift in (("lo", 0), ("hi", 16))},
    "bmsk.clamp": lambda kind, a, b: ((1 << min(b, 32)) - 1) << min(a, 32),
    "bmsk.wrap": lambda kind, a, b: ((1 << (b & 31)) - 1) << (a & 31),
    "szext.clamp": lambda kind, a, n: extended(kind, a, min(n, 32)),
    "szext.wrap": lambda kind, a, n: extended(kind, a, n & 31),
}  # fmt: skip
FLOAT: Mapping[str, Callable[..., Any]] = {
    "mov": lambda kind, a: a, "selp": lambda kind, a, b, p: a if p else b,
    "add": lambda kind, a, b: a + b, "sub": lambda kind, a, b: a - b, "mul": lambda kind, a, b: a * b,
    "abs": lambda kind, a: number(kind, bits_of(kind, a) & ((1 << size(kind) - 1) - 1)),
    "neg": lambda kind, a: number(kind, bits_of(kind, a) ^ (1 << size(kind) - 1)),
    "abs.ftz": lambda kind, a: abs(a) if abs(a) >= 2.0**-126 or np.isnan(a) else 0.0,
    "div": lambda kind, a, b: a / b,
    "rcp": lambda kind, a: FLOATS[kind](1) / a,
    "copysign": lambda kind, a, b: np.copysign(b, a),
    "neg.ftz": lambda kind, a: -a if abs(a) >= 2.0**-126 or np.isnan(a) else -np.copysign(np.float32(0), a),
}  # fmt: skip
COMPARED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "lo": "<", "ls": "<=", "hi": ">",
            "hs": ">="}  # fmt: skip


def compared(word: str, a: Any, b: Any) -> int:
    nan = a != a or b != b
    if word in ("nan", "num") or nan:
        return int(nan if word == "nan" else not nan if word == "num" else word not in COMPARED)
    plain = word if word in COMPARED else word.removesuffix("u")
    return int(bool(eval(f"a {COMPARED[plain]} b", {"a": a, "b": b})))


TESTED: Mapping[str, Callable[[Any], Any]] = {
    "finite": np.isfinite, "infinite": np.isinf, "number": lambda a: not np.isnan(a), "notanumber": np.isnan,
    "normal": lambda a: np.isfinite(a) and (a == 0 or abs(a) >= np.finfo(a).tiny),
    "subnormal": lambda a: 0 < abs(a) < np.finfo(a).tiny,
}  # fmt: skip


def by_name(name: list[str], kind: str, words: list[int]) -> int:
    """Instructions that name two types, or a property."""
    if name[0] == "testp":
        return int(bool(TESTED[name[1]](number(kind, words[0]))))
    if name[0] == "set":
        true = bits_of(name[2], 1.0) if name[2] == "f32" else 0xFFFFFFFF
        return true * compared(name[1], number(kind, words[0]), number(kind, words[1]))
    if name[0] == "slct":
        return words[0 if number(kind, words[2]) >= 0 else 1] & ((1 << size(name[1])) - 1)
    a, b, c = words
    total = c + sum(
        number("s16" if name[2] == "s32" else "u16", a >> 16 * i)
        * number("s8" if kind == "s32" else "u8", b >> 8 * (i + (0 if name[1] == "lo" else 2)))
        for i in (0, 1)
    )
    return total & 0xFFFFFFFF


APPROXIMATE = ("ex2", "tanh")


def expected(one: Scalar, words: list[int]) -> int | None:
    """The bits of the result; None where the ISA leaves it undefined."""
    *name, kind = one.opcode.removesuffix(".rn").split(".")
    name = [word for word in name if word != "rn"]
    if kind in HALVES:
        half = HALVES[kind]
        sides = [[word >> shift & 0xFFFF for word in words] for shift in (0, 16)]
        low, high = (_of("".join(name), half, side) for side in sides)
        return low | high << 16
    operands = [number("u32" if kind != "pred" and name[0] in ("shl", "shr") and place == 1 else
                       "u32" if name[0] == "szext" and place == 1 else
                       "pred" if name[0] == "selp" and place == 2 else kind, word)
                for place, word in enumerate(words)]  # fmt: skip
    if name[0] in ("testp", "set", "slct", "dp2a"):
        return by_name(name, kind, words)
    if name[0] == "setp":
        return compared(name[1], *operands)
    if name[0] in ("div", "rem") and (operands[1] == 0 or (operands[0] < 0 and operands[1] == -1)):
        return None
    if name[0] in ("min", "max"):
        return bits_of(kind, least(kind, *operands, 1 if name[0] == "min" else -1))
    value = (FLOAT if kind in FLOATS else INTEGER)[".".join(name)](kind, *operands)
    wide = name[-1] == "wide"
    return int(value) & ((1 << 2 * size(kind)) - 1) if wide else bits_of(kind, value)


def _of(name: str, half: str, words: list[int]) -> int:
    operands = [number(half, word) for word in words]
    if name in ("min", "max"):
        return bits_of(half, least(half, *operands, 1 if name == "min" else -1))
    return bits_of(half, FLOAT[name](half, *operands))


def same(one: Scalar, got: int, wanted: int) -> bool:
    """Return whether the results are equal; NaNs are, whatever their bits."""
    kind = one.opcode.split(".")[-1]
    parts = [(got, wanted)] if kind not in HALVES else [(got >> s & 0xFFFF, wanted >> s & 0xFFFF) for s in (0, 16)]
    float_kind = HALVES.get(kind, kind)
    if float_kind in FLOATS and not one.result.is_bool:
        return all(a == b or (np.isnan(number(float_kind, a)) and np.isnan(number(float_kind, b))) for a, b in parts)
    return got == wanted


def groups() -> Iterator[tuple[str, list[Scalar]]]:
    for kind in TYPES:
        ones = [one for one in scalars().values() if one.opcode.split(".")[-1] == kind]
        ones = [one for one in ones if one.opcode.split(".")[0] not in APPROXIMATE]
        if ones:
            yield kind, ones


def kernel_text(ones: list[Scalar]) -> str:
    parameters = f"X: Tx.Buffer((3, {LANES}), 'uint64'), Y: Tx.Buffer(({len(ones)}, {LANES}), 'uint64')"
    lines = ["@Tx.prim_func(tirx=True)", f"def kernel({parameters}):", "    with Tx.kernel():"]
    lines.append(f"        lane = Tx.thread_id([{LANES}], parent='cta')")
    for row, one in enumerate(ones):
        registers = []
        for place, dtype in enumerate(one.operands):
            word = f"X[{place}, lane]"
            bare = f"Tx.cast({word}, 'uint{max(dtype.bits, 8)}')"
            registers.append(f"({word} & Tx.uint64(1)) != Tx.uint64(0)" if dtype.is_bool else
                             f"Tx.reinterpret('{dtype}', {bare})" if dtype.is_float else f"Tx.cast({word}, '{dtype}')")
        lines.append(f"        d{row} = Tx.alloc_local((1,), '{one.result}')")
        lines.append(f"        Tx.ptx['{one.opcode}'](d{row}[0], {', '.join(registers)})")
        result = f"d{row}[0]"
        if one.result.is_float:
            result = f"Tx.reinterpret('uint{one.result.bits}', {result})"
        elif not one.result.is_bool:
            result = f"Tx.cast({result}, 'uint{one.result.bits}')"
        lines.append(f"        Y[{row}, lane] = Tx.cast({result}, 'uint64')")
    return "\n".join(lines)


@pytest.mark.parametrize(("kind", "ones"), [pytest.param(*each, id=each[0]) for each in groups()])
def test_each_instruction_computes_as_the_isa_defines(kind: str, ones: list[Scalar]) -> None:
    rng = np.random.default_rng(sum(map(ord, kind)))
    drawn = rng.integers(0, 1 << 64, (3, LANES), np.uint64, endpoint=False)
    edges = rng.choice(np.array(EDGES, np.uint64), (3, LANES))
    X = np.where(rng.random((3, LANES)) < 0.6, edges, drawn)
    X[1] |= np.uint64(any(one.opcode.startswith(("div", "rem")) for one in ones))  # a division by zero is a fault
    Y = np.zeros((len(ones), LANES), np.uint64)
    assert tvm.simulate(from_source(kernel_text(ones)), X, Y).ok
    with np.errstate(all="ignore"):
        for row, one in enumerate(ones):
            for lane in range(LANES):
                words = [int(X[place, lane]) for place in range(len(one.operands))]
                wanted = expected(one, words)
                assert wanted is None or same(one, int(Y[row, lane]), wanted), (one.opcode, [*map(hex, words)])


@pytest.mark.compiler
def test_all_of_them_compile() -> None:
    for _, ones in groups():
        tvm.compile(from_source(kernel_text(ones)), target="cuda:sm_100a").source("ptx")
