"""Arithmetic of one thread that has an instruction of its own: powers, logarithms, roots, fused multiply-add.

The special function unit computes the approximations, 16 lanes of an SM in a cycle (CUDA C++ Programming Guide,
"Arithmetic Instructions"). The simulator rounds the exact result to float32, which each approximation is within the
error that the PTX ISA states of.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .core import instruction
from .facts import Scope
from .machine import Machine, Thread
from .operands import f32

_SMALLEST = np.finfo(np.float32).tiny


def _rounded(function: Callable[..., Any], *values: Any, ftz: bool = False) -> Any:
    """`function` of float32 values, computed in float64 and rounded; with `ftz`, subnormal values are zero."""
    with np.errstate(all="ignore"):
        inputs = [_flushed(np.float32(value), ftz) for value in values]
        return _flushed(np.float32(function(*(np.float64(value) for value in inputs))), ftz)


def _flushed(value: Any, ftz: bool) -> Any:
    return np.where(np.abs(value) < _SMALLEST, value * np.float32(0), value)[()] if ftz else value


def _approximate(name: str) -> Callable[..., str]:
    def template(ftz: bool) -> str:
        return f"{name}.approx{'.ftz' if ftz else ''}.f32 {{result}}, {{x}};"

    return template


@instruction(
    _approximate("ex2"), name="ex2.approx", api=("ptx.exp2",),
    issued_by=Scope.THREAD, min_sm=70, isa="Floating Point Instructions: ex2", cost="special", pure=True, lanewise=True,
    computes="exp2",
)
def ex2(gpu: Machine, thread: Thread, x: f32, *, ftz: bool = True) -> f32:
    """2 to the power of `x`, within 2^-22 of the result; with `ftz`, subnormal numbers are zero."""
    return _rounded(np.exp2, x, ftz=ftz)


@instruction(
    _approximate("lg2"), name="lg2.approx",
    issued_by=Scope.THREAD, min_sm=70, isa="Floating Point Instructions: lg2", cost="special", pure=True, lanewise=True,
    computes="log2",
)
def lg2(gpu: Machine, thread: Thread, x: f32, *, ftz: bool = True) -> f32:
    """The logarithm of `x` to the base 2; with `ftz`, subnormal numbers are zero."""
    return _rounded(np.log2, x, ftz=ftz)


@instruction(
    _approximate("rcp"), name="rcp.approx", api=("ptx.rcp",),
    issued_by=Scope.THREAD, min_sm=70, isa="Floating Point Instructions: rcp", cost="special", pure=True, lanewise=True,
    computes="rcp",
)
def rcp(gpu: Machine, thread: Thread, x: f32, *, ftz: bool = True) -> f32:
    """1 / `x`, within 1 ulp; with `ftz`, subnormal numbers are zero."""
    return _rounded(np.reciprocal, x, ftz=ftz)


@instruction(
    _approximate("rsqrt"), name="rsqrt.approx",
    issued_by=Scope.THREAD, min_sm=70, isa="Floating Point Instructions: rsqrt", cost="special", pure=True,
    lanewise=True,
    computes="rsqrt",
)
def rsqrt(gpu: Machine, thread: Thread, x: f32, *, ftz: bool = True) -> f32:
    """1 / the square root of `x`; with `ftz`, subnormal numbers are zero."""
    return _rounded(lambda value: 1 / np.sqrt(value), x, ftz=ftz)


@instruction(
    "sqrt.rn.f32 {result}, {x};", name="sqrt.rn",
    issued_by=Scope.THREAD, min_sm=70, isa="Floating Point Instructions: sqrt", cost="special", pure=True,
    lanewise=True,
    computes="sqrt",
)
def sqrt(gpu: Machine, thread: Thread, x: f32) -> f32:
    """The square root of `x`, rounded to the nearest float32."""
    return _rounded(np.sqrt, x)


@instruction(
    "fma.rn.f32 {result}, {a}, {b}, {c};", name="fma.rn",
    issued_by=Scope.THREAD, min_sm=70, isa="Floating Point Instructions: fma", cost="alu", pure=True, lanewise=True,
    computes="fma",
)
def fma(gpu: Machine, thread: Thread, a: f32, b: f32, c: f32) -> f32:
    """a * b + c, rounded once."""
    return _rounded(lambda x, y, z: x * y + z, a, b, c)
