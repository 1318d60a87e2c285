"""Functions of CUDA's mathematical library: PTX has no instruction for them, or only approximations.

Each exists for float32 (``sinf``) and for float64 (``sin``). The simulator rounds the exact result; a chip's is at most
a few units of the last place away (CUDA C++ Programming Guide: "Mathematical Functions Appendix").
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .core import Instruction, instruction
from .facts import CudaName, Scope
from .floats import Calculation
from .machine import Machine, Thread
from .operands import f32, f64, s32


def _facts(name: str, cost: str, cuda: str) -> dict[str, Any]:
    return {
        "name": name, "issued_by": Scope.THREAD, "min_sm": 70, "cost": cost, "pure": True,
        "lanewise": True, "cuda": CudaName(cuda), "computes": "rsqrt" if cuda == "rsqrt" else f"libm.{cuda}",
        "isa": "CUDA C++ Programming Guide: Mathematical Functions Appendix",
    }  # fmt: skip


def _rounded(function: Calculation, *values: Any) -> Any:
    """Apply `function` to float32 values in float64 and round the result."""
    with np.errstate(all="ignore"):
        return np.float32(function(*(np.float64(value) for value in values)))


def _exact(function: Calculation, *values: Any) -> Any:
    """Apply `function` to float64 values."""
    with np.errstate(all="ignore"):
        return np.float64(function(*(np.float64(value) for value in values)))


def _double(name: str, compute: Calculation, doc: str, cost: str = "special") -> Instruction:
    """Return the entry for the function `name` of one float64."""

    def double(gpu: Machine, thread: Thread, x: f64) -> f64:
        return _exact(compute, x)

    double.__doc__ = doc.removesuffix(".") + ", in float64."
    return instruction("", **_facts(f"{name}.f64", cost, name))(double)


def _unary(name: str, compute: Calculation, doc: str, cost: str = "special") -> tuple[Instruction, Instruction]:
    """Return the entries for a function of one float32 and one float64. compute: the function on NumPy numbers."""

    def single(gpu: Machine, thread: Thread, x: f32) -> f32:
        return _rounded(compute, x)

    single.__doc__ = doc
    return instruction("", **_facts(f"{name}f", cost, f"{name}f"))(single), _double(name, compute, doc, cost)


def _binary(name: str, compute: Calculation, doc: str, cost: str = "special") -> tuple[Instruction, Instruction]:
    """Return the entries for a function of two numbers, `x` and `y`."""

    def single(gpu: Machine, thread: Thread, x: f32, y: f32) -> f32:
        return _rounded(compute, x, y)

    def double(gpu: Machine, thread: Thread, x: f64, y: f64) -> f64:
        return _exact(compute, x, y)

    single.__doc__, double.__doc__ = doc, doc.removesuffix(".") + ", in float64."
    facts = _facts(f"{name}f", cost, f"{name}f")
    return instruction("", **facts)(single), instruction("", **_facts(f"{name}.f64", cost, name))(double)


_erf = np.vectorize(math.erf, otypes=[np.float64])

sinf, sin = _unary("sin", np.sin, "The sine of `x`, in radians.")
cosf, cos = _unary("cos", np.cos, "The cosine of `x`, in radians.")
tanf, tan = _unary("tan", np.tan, "The tangent of `x`, in radians.")
asinf, asin = _unary("asin", np.arcsin, "The angle whose sine is `x`, in radians.")
acosf, acos = _unary("acos", np.arccos, "The angle whose cosine is `x`, in radians.")
atanf, atan = _unary("atan", np.arctan, "The angle whose tangent is `x`, in radians.")
sinhf, sinh = _unary("sinh", np.sinh, "The hyperbolic sine of `x`.")
coshf, cosh = _unary("cosh", np.cosh, "The hyperbolic cosine of `x`.")
tanhf, tanh = _unary("tanh", np.tanh, "The hyperbolic tangent of `x`.")
asinhf, asinh = _unary("asinh", np.arcsinh, "The number whose hyperbolic sine is `x`.")
acoshf, acosh = _unary("acosh", np.arccosh, "The number whose hyperbolic cosine is `x`.")
atanhf, atanh = _unary("atanh", np.arctanh, "The number whose hyperbolic tangent is `x`.")
erff, erf = _unary("erf", _erf, "The error function of `x`.")
exp10f, exp10 = _unary("exp10", lambda x: np.power(10.0, x), "10 to the power of `x`.")
log10f, log10 = _unary("log10", np.log10, "The logarithm of `x` to the base 10.")
log1pf, log1p = _unary("log1p", np.log1p, "The natural logarithm of 1 + `x`.")
floorf, floor = _unary("floor", np.floor, "The greatest whole number up to `x`.", "alu")
ceilf, ceil = _unary("ceil", np.ceil, "The least whole number from `x` on.", "alu")
truncf, trunc = _unary("trunc", np.trunc, "`x` without its fraction.", "alu")
nearbyintf, nearbyint = _unary("nearbyint", np.rint, "The nearest whole number, the even one of two.", "alu")

exp = _double("exp", np.exp, "e to the power of `x`.")
exp2 = _double("exp2", np.exp2, "2 to the power of `x`.")
log = _double("log", np.log, "The natural logarithm of `x`.")
log2 = _double("log2", np.log2, "The logarithm of `x` to the base 2.")
sqrt = _double("sqrt", np.sqrt, "The square root of `x`.")
rsqrt = _double("rsqrt", lambda x: 1 / np.sqrt(x), "1 / the square root of `x`.")

powf, power = _binary("pow", np.power, "`x` to the power of `y`.")
fmodf, fmod = _binary("fmod", np.fmod, "The remainder of `x` / `y`, with the sign of `x`.")
hypotf, hypot = _binary("hypot", np.hypot, "The square root of x² + y².")
copysignf, copysign = _binary("copysign", np.copysign, "The size of `x` with the sign of `y`.", "alu")


@instruction("", **_facts("atan2f", "special", "atan2f"))
def atan2f(gpu: Machine, thread: Thread, y: f32, x: f32) -> f32:
    """Return the angle of the point (`x`, `y`), in radians."""
    return _rounded(np.arctan2, y, x)


@instruction("", **_facts("atan2.f64", "special", "atan2"))
def atan2(gpu: Machine, thread: Thread, y: f64, x: f64) -> f64:
    """Return the angle of the point (`x`, `y`), in radians, in float64."""
    return _exact(np.arctan2, y, x)


@instruction("", **_facts("nextafterf", "alu", "nextafterf"))
def nextafterf(gpu: Machine, thread: Thread, x: f32, y: f32) -> f32:
    """Return the neighbour of `x` in float32 towards `y`."""
    return np.nextafter(np.float32(x), np.float32(y))


@instruction("", **_facts("nextafter.f64", "alu", "nextafter"))
def nextafter(gpu: Machine, thread: Thread, x: f64, y: f64) -> f64:
    """Return the neighbour of `x` in float64 towards `y`."""
    return np.nextafter(np.float64(x), np.float64(y))


@instruction("", **_facts("ldexpf", "alu", "ldexpf"))
def ldexpf(gpu: Machine, thread: Thread, x: f32, exponent: s32) -> f32:
    """Return `x` times 2 to the power of `exponent`."""
    return _rounded(lambda value: np.ldexp(value, exponent), x)


@instruction("", **_facts("ldexp.f64", "alu", "ldexp"))
def ldexp(gpu: Machine, thread: Thread, x: f64, exponent: s32) -> f64:
    """Return `x` times 2 to the power of `exponent`, in float64."""
    return _exact(lambda value: np.ldexp(value, exponent), x)
