"""Decomposition of per-thread opcodes into their parts, types and numeric modifiers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from tirx_mini.ir import DataType, Expr, binary, cast, const, reinterpret, select
from tirx_mini.records import dataclass

Compute: TypeAlias = Callable[..., Expr]
FLOATS = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
_UNTYPED = {f"b{n}": f"uint{n}" for n in (8, 16, 32, 64)}
TYPES: Mapping[str, DataType] = {
    name: DataType(dtype)
    for name, dtype in {
        **_UNTYPED, **{f"u{n}": f"uint{n}" for n in (8, 16, 32, 64)}, **{f"s{n}": f"int{n}" for n in (8, 16, 32, 64)},
        **FLOATS, "pred": "bool",
        "f16x2": "uint32", "bf16x2": "uint32", "u16x2": "uint32", "s16x2": "uint32", "f32x2": "uint64",
    }.items()
}  # fmt: skip
"""The types of PTX as the IR has them; packed halves are a word."""
HALVES = {"f16x2": "f16", "bf16x2": "bf16", "u16x2": "u16", "s16x2": "s16"}
ROUNDINGS = ("rn", "rz", "rm", "rp")


@dataclass(frozen=True)
class Operation:
    """A per-thread instruction without memory accesses. operands, result: its types."""

    operands: tuple[DataType, ...]
    result: DataType
    compute: Compute


@dataclass(frozen=True)
class Words:
    """A parsed opcode. kind: its last type. mods: the modifiers between name and type."""

    name: str
    mods: tuple[str, ...]
    kind: str

    @property
    def dtype(self) -> DataType:
        return TYPES[self.kind]

    @property
    def rounding(self) -> str:
        """The rounding mode, or "" if none is given."""
        return next((word for word in self.mods if word in ROUNDINGS), "")

    def has(self, word: str) -> bool:
        return word in self.mods


def halves(compute: Compute, half: str) -> Compute:
    """Apply `compute` to each half of packed words."""
    inner = TYPES[half]

    def packed(*words: Expr) -> Expr:
        parts: list[Expr] = []
        for shift in (0, 16):
            moved = [cast("uint16", binary(">>", word, const(shift, word.dtype))) for word in words]
            value = compute(*(reinterpret(inner, each) if inner.is_float else cast(inner, each) for each in moved))
            word = reinterpret("uint16", value) if inner.is_float else cast("uint16", value)
            parts.append(binary("<<", cast("uint32", word), const(shift, "uint32")))
        return binary("|", parts[0], parts[1])

    return packed


def saturated(value: Expr) -> Expr:
    """Clamp a number to [0, 1], mapping NaN to 0 (PTX ISA: .sat)."""
    zero, one = const(0.0, value.dtype), const(1.0, value.dtype)
    return select(binary(">", value, zero), select(binary("<", value, one), value, one), zero)


def rectified(value: Expr) -> Expr:
    """Replace a negative number by 0, preserving NaN (PTX ISA: .relu)."""
    return select(binary("<=", value, const(0.0, value.dtype)), const(0.0, value.dtype), value)


def flushed(value: Expr, exact: Expr | None = None) -> Expr:
    """Replace a subnormal number by a zero with its sign (PTX ISA: .ftz).

    exact: the number in double precision before it is rounded to float16, which decides instead.
    """
    bits = value.dtype.bits
    bare = DataType(f"uint{bits}")
    exponent = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000, "float64": 0x7FF << 52}[value.dtype]
    word = reinterpret(bare, value)
    if exact is None:
        small = binary("==", binary("&", word, const(exponent, bare)), const(0, bare))
    else:
        least, most = (const(sign * (2.0**-14 - 2.0**-26), exact.dtype) for sign in (-1, 1))  # rounded to 11 bits
        small = binary("and", binary("<", least, exact), binary("<", exact, most))
    return select(small, reinterpret(value.dtype, binary("&", word, const(1 << (bits - 1), bare))), value)
