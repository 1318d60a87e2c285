"""Arithmetic instructions of one thread: powers, logarithms, roots and fused multiply-add.

The special function unit computes the approximations, 16 lanes of an SM in a cycle (CUDA C++ Programming Guide,
"Arithmetic Instructions"). The simulator rounds the exact result to float32, so that each approximation
lies within the error bound of the PTX ISA.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from .core import instruction
from .facts import Scope
from .floats import Calculation, flushed, sum_to_odd
from .machine import Machine, Thread
from .operands import f32, s32, u32, u64

_SMALLEST = np.finfo(np.float32).tiny


def _rounded(function: Calculation, *values: Any, ftz: bool = False) -> Any:
    """Apply `function` to float32 values in float64 and round; with `ftz`, subnormal values are zero."""
    with np.errstate(all="ignore"):
        inputs = [np.float32(value) for value in values]
        given = (np.float64(flushed(value) if ftz else value) for value in inputs)
        result = np.float32(function(*given))
        return flushed(result) if ftz else result


def _approximate(name: str) -> Callable[..., str]:
    def template(ftz: bool) -> str:
        return f"{name}.approx{'.ftz' if ftz else ''}.f32 {{result}}, {{x}};"

    return template


@instruction(
    _approximate("ex2"), name="ex2.approx",
    issued_by=Scope.THREAD, min_sm=70, isa="Floating Point Instructions: ex2", cost="special", pure=True, lanewise=True,
    computes="exp2",
)
def ex2(gpu: Machine, thread: Thread, x: f32, *, ftz: bool = True) -> f32:
    """Return 2 to the power of `x`, within 2^-22 of the result; with `ftz`, subnormal numbers are zero."""
    return _rounded(np.exp2, x, ftz=ftz)


@instruction(
    _approximate("lg2"), name="lg2.approx",
    issued_by=Scope.THREAD, min_sm=70, isa="Floating Point Instructions: lg2", cost="special", pure=True, lanewise=True,
    computes="log2",
)
def lg2(gpu: Machine, thread: Thread, x: f32, *, ftz: bool = True) -> f32:
    """Return the base-2 logarithm of `x`; with `ftz`, subnormal numbers are zero."""
    return _rounded(np.log2, x, ftz=ftz)


@instruction(
    _approximate("sin"), name="sin.approx",
    issued_by=Scope.THREAD, min_sm=70, isa="Floating Point Instructions: sin", cost="special", pure=True, lanewise=True,
)
def sin(gpu: Machine, thread: Thread, x: f32, *, ftz: bool = False) -> f32:
    """Return the sine of `x`, within 2^-20.5 if |x| is at most π (`__sinf`)."""
    return _rounded(np.sin, x, ftz=ftz)


@instruction(
    _approximate("cos"), name="cos.approx",
    issued_by=Scope.THREAD, min_sm=70, isa="Floating Point Instructions: cos", cost="special", pure=True, lanewise=True,
)
def cos(gpu: Machine, thread: Thread, x: f32, *, ftz: bool = False) -> f32:
    """Return the cosine of `x`, within 2^-20.5 if |x| is at most π (`__cosf`)."""
    return _rounded(np.cos, x, ftz=ftz)


@instruction(
    "tanh.approx.f32 {result}, {x};", name="tanh.approx",
    issued_by=Scope.THREAD, min_sm=80, isa="Floating Point Instructions: tanh", cost="special", pure=True,
    lanewise=True,
)  # fmt: skip
def tanh(gpu: Machine, thread: Thread, x: f32) -> f32:
    """Return the hyperbolic tangent of `x`, with a relative error of at most 2^-11."""
    return _rounded(np.tanh, x)


@instruction(
    _approximate("sqrt"), name="sqrt.approx",
    issued_by=Scope.THREAD, min_sm=70, isa="Floating Point Instructions: sqrt", cost="special", pure=True,
    lanewise=True,
)  # fmt: skip
def sqrt_approx(gpu: Machine, thread: Thread, x: f32, *, ftz: bool = False) -> f32:
    """Return the square root of `x`, with a relative error of at most 2^-23; with `ftz`, subnormal numbers are zero."""
    return _rounded(np.sqrt, x, ftz=ftz)


@instruction(
    _approximate("rcp"), name="rcp.approx",
    issued_by=Scope.THREAD, min_sm=70, isa="Floating Point Instructions: rcp", cost="special", pure=True, lanewise=True,
    computes="rcp",
)
def rcp(gpu: Machine, thread: Thread, x: f32, *, ftz: bool = True) -> f32:
    """Return 1 / `x`, within 1 ulp; with `ftz`, subnormal numbers are zero."""
    return _rounded(np.reciprocal, x, ftz=ftz)


@instruction(
    _approximate("rsqrt"), name="rsqrt.approx",
    issued_by=Scope.THREAD, min_sm=70, isa="Floating Point Instructions: rsqrt", cost="special", pure=True,
    lanewise=True,
    computes="rsqrt",
)
def rsqrt(gpu: Machine, thread: Thread, x: f32, *, ftz: bool = True) -> f32:
    """Return the reciprocal square root of `x`; with `ftz`, subnormal numbers are zero."""
    return _rounded(lambda value: 1 / np.sqrt(value), x, ftz=ftz)


@instruction(
    "sqrt.rn.f32 {result}, {x};", name="sqrt.rn",
    issued_by=Scope.THREAD, min_sm=70, isa="Floating Point Instructions: sqrt", cost="special", pure=True,
    lanewise=True,
    computes="sqrt",
)
def sqrt(gpu: Machine, thread: Thread, x: f32) -> f32:
    """Return the square root of `x`, rounded to the nearest float32."""
    return _rounded(np.sqrt, x)


@instruction(
    "fma.rn.f32 {result}, {a}, {b}, {c};", name="fma.rn",
    issued_by=Scope.THREAD, min_sm=70, isa="Floating Point Instructions: fma", cost="alu", pure=True, lanewise=True,
    computes="fma",
)
def fma(gpu: Machine, thread: Thread, a: f32, b: f32, c: f32) -> f32:
    """Return a * b + c, rounded once."""
    x, y, z = (np.asarray(value, np.float32).astype(np.float64) for value in (a, b, c))
    with np.errstate(all="ignore"):
        total: Any = np.asarray(x * y + z)
        halfway = total.view(np.int64) & _BEHIND == _HALF  # between two numbers of float32: the lost part decides
        if not (halfway | ((np.abs(total) < _SMALLEST) & (total != 0))).any():
            return total.astype(np.float32)[()]
    return _rounded(lambda x, y, z: sum_to_odd(x * y, z), a, b, c)


_BEHIND, _HALF = np.int64((1 << 29) - 1), np.int64(1 << 28)
"""The bits of float64 beyond float32's precision, and half of the last float32 bit."""


@instruction(
    "div.approx{.ftz}.f32 {result}, {a}, {b};", name="div.approx",
    issued_by=Scope.THREAD, min_sm=70, isa="Floating Point Instructions: div", cost="special", pure=True, lanewise=True,
)  # fmt: skip
def div(gpu: Machine, thread: Thread, a: f32, b: f32, *, ftz: bool = False) -> f32:
    """Return a / b, within 2 ulp if |b| is from 2^-126 to 2^126 (`__fdividef`).

    For a greater |b| the reciprocal is 0, with its sign: the result is 0 with the sign of the quotient, or NaN if `a`
    is infinite (PTX ISA: div).
    """
    quotient = _rounded(np.divide, a, b, ftz=ftz)
    divisor = np.asarray(b, np.float32)
    size = np.abs(divisor)
    with np.errstate(invalid="ignore"):
        beyond = np.asarray(a, np.float32) * np.copysign(np.float32(0), divisor)
    found: Any = np.where((size > 2.0**126) & np.isfinite(size), beyond, quotient)
    return found.astype(np.float32)[()]


def _lanes(values: tuple[object, ...], function: Callable[[int], int] | Callable[[int, int, int], int]) -> Any:
    """Apply a function of integers in each lane."""
    columns = np.broadcast_arrays(*(np.atleast_1d(np.asarray(value)) for value in values))
    out = np.array([function(*map(int, each)) for each in zip(*columns, strict=True)], np.int64)
    return out if any(isinstance(value, np.ndarray) and value.ndim for value in values) else int(out[0])


@instruction(
    """{
    .reg .b32 low;
    neg.s32 low, {value};
    and.b32 low, low, {value};
    bfind.u32 low, low;
    add.s32 {result}, low, 1;
}""",
    name="ffs", issued_by=Scope.THREAD, min_sm=70, isa="bfind", cost="alu", pure=True,
    lanewise=True,
)  # fmt: skip
def ffs(gpu: Machine, thread: Thread, value: u32) -> u32:
    """Return the position of the lowest set bit, 1 for bit 0, or 0 if no bit is set (`__ffs`)."""
    return _lanes((value,), lambda word: (word & -word).bit_length())


def _nth_bit(mask: int, base: int, offset: int) -> int:
    """Return the `offset`th set bit from bit `base`, upwards or downwards (PTX ISA: "fns")."""
    places = [place for place in range(32) if mask >> place & 1]
    if offset == 0:
        return base if base in places else 0xFFFFFFFF
    found = [place for place in places if place >= base] if offset > 0 else [p for p in places[::-1] if p <= base]
    return found[abs(offset) - 1] if len(found) >= abs(offset) else 0xFFFFFFFF


@instruction(
    "fns.b32 {result}, {mask}, {base}, {offset};", name="fns.b32",
    issued_by=Scope.THREAD, min_sm=70, isa="fns", cost="alu", pure=True, lanewise=True,
)  # fmt: skip
def fns(gpu: Machine, thread: Thread, mask: u32, base: u32, offset: s32) -> u32:
    """Return the nth set bit of `mask`, n = |offset|, from bit `base`, upwards or downwards by the sign of `offset`.

    An offset of 0 selects bit `base` itself. The result is 2³² − 1 if no such bit exists.
    """
    return _lanes((mask, base, offset), _nth_bit)


@instruction(
    "popc.b32 {result}, {value};", name="popc.b32",
    issued_by=Scope.THREAD, min_sm=70, isa="popc", cost="alu", pure=True, lanewise=True,
)  # fmt: skip
def popc(gpu: Machine, thread: Thread, value: u32) -> u32:
    """Return the number of set bits of `value`."""
    return _lanes((value,), int.bit_count)


@instruction(
    "popc.b64 {result}, {value};", name="popc.b64",
    issued_by=Scope.THREAD, min_sm=70, isa="popc", cost="alu", pure=True, lanewise=True,
)  # fmt: skip
def popc_b64(gpu: Machine, thread: Thread, value: u64) -> u32:
    """Return the number of set bits of the 64-bit `value`."""
    return _lanes((value,), int.bit_count)


@instruction(
    "clz.b32 {result}, {value};", name="clz.b32",
    issued_by=Scope.THREAD, min_sm=70, isa="clz", cost="alu", pure=True, lanewise=True,
)  # fmt: skip
def clz(gpu: Machine, thread: Thread, value: u32) -> u32:
    """Return the number of leading zero bits of `value`, or 32 if `value` is 0."""
    return _lanes((value,), lambda word: 32 - word.bit_length())


@instruction(
    "clz.b64 {result}, {value};", name="clz.b64",
    issued_by=Scope.THREAD, min_sm=70, isa="clz", cost="alu", pure=True, lanewise=True,
)  # fmt: skip
def clz_b64(gpu: Machine, thread: Thread, value: u64) -> u32:
    """Return the number of leading zero bits of the 64-bit `value`, or 64 if `value` is 0."""
    return _lanes((value,), lambda word: 64 - word.bit_length())


def _four_products(a: int, b: int, c: int, signed_a: bool, signed_b: bool) -> int:
    """Return c plus the products of the four bytes of a and b, as 32 bits (PTX ISA: "dp4a")."""
    x = a.to_bytes(4, "little"), signed_a
    y = b.to_bytes(4, "little"), signed_b
    left, right = ([byte - 256 * (signed and byte > 127) for byte in word] for word, signed in (x, y))
    total = c + sum(p * q for p, q in zip(left, right, strict=True))
    return (total + 2**31) % 2**32 - 2**31


@instruction(
    "dp4a.{atype}.{btype} {result}, {a}, {b}, {c};", name="dp4a",
    issued_by=Scope.THREAD, min_sm=70, isa="dp4a", cost="alu", pure=True, lanewise=True,
)  # fmt: skip
def dp4a(
    gpu: Machine, thread: Thread, a: u32, b: u32, c: s32, *, atype: Literal["s32", "u32"] = "s32",
    btype: Literal["s32", "u32"] = "s32",
) -> s32:  # fmt: skip
    """Return `c` plus the products of the four bytes of `a` and `b`, signed (s32) or unsigned (u32)."""
    return _lanes((a, b, c), lambda x, y, z: _four_products(x, y, z, atype == "s32", btype == "s32"))
