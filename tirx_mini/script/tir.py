"""TIR as Apache TVM's TVMScript has it, for functions that schedules arrange: ``from tvm.script import tir as T``.

The names in `__all__` are those of TIR; all others, dtypes and arithmetic among them, are those of `tirx`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tirx_mini import ir

from . import tirx
from .blocks import alloc_block_buffer as alloc_buffer
from .blocks import axis, block, block_attr, init, reads, where, writes
from .builder import current
from .handles import Loop, loop
from .loops import parallel, thread_binding
from .prim_func import caller_locals, reading

__all__ = [
    "alloc_buffer", "axis", "block", "block_attr", "func_attr", "init", "parallel", "prim_func", "reads",
    "thread_binding", "vectorized", "where", "writes",
]  # fmt: skip


def prim_func(function: Callable[..., Any] | None = None, **_: Any) -> Any:
    """Decorator: read the function as TIR and return its `PrimFunc`. Options are accepted as TVM has them.

    Raises `TirxError` for a mistake in the function.
    """
    __tracebackhide__ = True
    if function is None:
        return partial(_with_caller)
    return reading(function, caller_locals(2), spelling=ir.TIR)


def _with_caller(function: Callable[..., Any]) -> ir.PrimFunc:
    __tracebackhide__ = True
    return reading(function, caller_locals(2), spelling=ir.TIR)


def vectorized(*bounds: ir.ExprLike, annotations: Any = None) -> Loop:
    """A loop whose iterations are the lanes of a vector."""
    return loop(ir.VECTORIZED, bounds)


def func_attr(attrs: Mapping[str, Any]) -> None:
    """Attributes of the function."""
    plain = {key: value.value if isinstance(value, ir.Const) else value for key, value in attrs.items()}
    plain.pop("global_symbol", None)  # it is the name in the module
    current("T.func_attr").attrs.update(plain)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(tirx, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(tirx)})
