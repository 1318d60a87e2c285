"""`T.prim_func` and `T.macro`: which Python functions are kernels, and which are expanded into them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tirx_mini.ir import PrimFunc
from tirx_mini.script import caller_locals, reading, tirx

from ..dialect import TILELANG

__all__ = ["inline", "macro", "prim_func"]


def prim_func(function: Callable[..., Any] | None = None, **_: Any) -> Any:
    """Decorator: read the function as a kernel of TileLang and return its `PrimFunc`.

    Raises `TirxError` for a mistake in the kernel.
    """
    __tracebackhide__ = True
    if function is None:
        return partial(_with_caller)
    return reading(function, caller_locals(2), attrs={TILELANG: True}, keeps_numbers=True)


def _with_caller(function: Callable[..., Any]) -> PrimFunc:
    __tracebackhide__ = True
    return reading(function, caller_locals(2), attrs={TILELANG: True}, keeps_numbers=True)


def macro(function: Any = None, **_: Any) -> Any:
    """Decorator: expand the statements of the function into the kernel at each call."""
    return macro if function is None else tirx.inline(function)


inline = macro
