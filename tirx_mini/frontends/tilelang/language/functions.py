"""`T.prim_func` and `T.macro`: the decorators of kernels and of functions expanded into kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tirx_mini.ir import PrimFunc
from tirx_mini.script import caller_locals, reading, tirx

from ..dialect import TILELANG

__all__ = ["inline", "macro", "prim_func"]


def prim_func(function: Callable[..., object] | None = None, **_: object) -> Any:
    """Parse a function as a TileLang kernel and return its `PrimFunc` (decorator).

    Raises `TirxError` for a mistake in the kernel.
    """
    __tracebackhide__ = True
    if function is None:
        return partial(_with_caller)
    return reading(function, caller_locals(2), attrs={TILELANG: True}, keeps_numbers=True)


def _with_caller(function: Callable[..., object]) -> PrimFunc:
    __tracebackhide__ = True
    return reading(function, caller_locals(2), attrs={TILELANG: True}, keeps_numbers=True)


def macro(function: Any = None, **_: object) -> Any:
    """Expand the function's statements into the kernel at each call (decorator)."""
    return macro if function is None else tirx.inline(function)


inline = macro
