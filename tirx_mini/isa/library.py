"""Functions of CUDA's mathematical library on float32: PTX has no instruction for them, or only approximations.

The simulator rounds the exact result; a chip's is at most a few units of the last place away (CUDA C++ Programming
Guide: "Mathematical Functions Appendix").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .core import instruction
from .facts import CudaName, Scope
from .machine import Machine, Thread
from .operands import f32


def _facts(name: str, cost: str = "special") -> dict[str, Any]:
    return {
        "name": name, "api": (f"cuda.{name}",), "issued_by": Scope.THREAD, "min_sm": 70, "cost": cost, "pure": True,
        "lanewise": True, "cuda": CudaName(name), "isa": "CUDA C++ Programming Guide: Mathematical Functions Appendix",
    }  # fmt: skip


def _rounded(function: Callable[..., Any], *values: Any) -> Any:
    """`function` of float32 values, computed in float64 and rounded."""
    with np.errstate(all="ignore"):
        return np.float32(function(*(np.float64(value) for value in values)))


@instruction("", **_facts("sinf"))
def sin(gpu: Machine, thread: Thread, x: f32) -> f32:
    """The sine of `x`, in radians."""
    return _rounded(np.sin, x)


@instruction("", **_facts("cosf"))
def cos(gpu: Machine, thread: Thread, x: f32) -> f32:
    """The cosine of `x`, in radians."""
    return _rounded(np.cos, x)


@instruction("", **_facts("tanf"))
def tan(gpu: Machine, thread: Thread, x: f32) -> f32:
    """The tangent of `x`, in radians."""
    return _rounded(np.tan, x)


@instruction("", **_facts("sinhf"))
def sinh(gpu: Machine, thread: Thread, x: f32) -> f32:
    """The hyperbolic sine of `x`."""
    return _rounded(np.sinh, x)


@instruction("", **_facts("coshf"))
def cosh(gpu: Machine, thread: Thread, x: f32) -> f32:
    """The hyperbolic cosine of `x`."""
    return _rounded(np.cosh, x)


@instruction("", **_facts("tanhf"))
def tanh(gpu: Machine, thread: Thread, x: f32) -> f32:
    """The hyperbolic tangent of `x`."""
    return _rounded(np.tanh, x)


@instruction("", **_facts("powf"))
def power(gpu: Machine, thread: Thread, x: f32, y: f32) -> f32:
    """`x` to the power of `y`."""
    return _rounded(np.power, x, y)


@instruction("", **_facts("atan2f"))
def atan2(gpu: Machine, thread: Thread, y: f32, x: f32) -> f32:
    """The angle of the point (`x`, `y`), in radians."""
    return _rounded(np.arctan2, y, x)


@instruction("", **_facts("floorf", "alu"))
def floor(gpu: Machine, thread: Thread, x: f32) -> f32:
    """The greatest whole number up to `x`."""
    return _rounded(np.floor, x)


@instruction("", **_facts("ceilf", "alu"))
def ceil(gpu: Machine, thread: Thread, x: f32) -> f32:
    """The least whole number from `x` on."""
    return _rounded(np.ceil, x)
