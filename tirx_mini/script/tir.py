"""TIR as in Apache TVM's TVMScript, for scheduled functions: ``from tvm.script import tir as T``.

The names in `__all__` are those of TIR; all others, dtypes and arithmetic among them, are those of `tirx`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

from tirx_mini import ir

from . import tirx
from .blocks import alloc_block_buffer as alloc_buffer
from .blocks import axis, block, block_attr, init, reads, where, writes
from .builder import current
from .kernels import caller_locals, reading
from .loops import parallel, thread_binding, vectorized

__all__ = [
    "alloc_buffer", "axis", "block", "block_attr", "Buffer", "func_attr", "if_then_else", "init", "parallel",
    "prim_func", "reads", "thread_binding", "vectorized", "where", "writes",
]  # fmt: skip


def prim_func(function: Callable[..., object] | None = None, **_: object) -> Any:
    """Parse the function as TIR and return its `PrimFunc` (decorator). Options are accepted as TVM has them.

    Raises `TirxError` for a mistake in the function.
    """
    __tracebackhide__ = True
    if function is None:
        return partial(_with_caller)
    return reading(function, caller_locals(2), spelling=ir.TIR)


def _with_caller(function: Callable[..., object]) -> ir.PrimFunc:
    __tracebackhide__ = True
    return reading(function, caller_locals(2), spelling=ir.TIR)


class _Buffer:
    """The buffer type ``T.Buffer((128,), "float32")``, or before TVM 0.11 ``T.Buffer[(128,), "float32"]``."""

    def __call__(self, *args: Any, **options: object) -> Any:
        return tirx.Buffer(*args, **options)

    __iter__: ClassVar[None] = None

    def __getitem__(self, given: Any) -> Any:
        shape, dtype = given if isinstance(given, tuple) and isinstance(given[-1], str) else (given, "float32")
        return tirx.Buffer(shape, dtype)


Buffer = _Buffer()


def if_then_else(cond: Any, t: Any, f: Any, dtype: object = None) -> Any:
    """Return `t` if `cond` holds, else `f`; only one is evaluated. dtype: the type of both if they are numbers."""
    if dtype is not None:
        t, f = ir.cast(str(dtype), t), ir.cast(str(dtype), f)
    return tirx.if_then_else(cond, t, f)


def func_attr(attrs: Mapping[str, object]) -> None:
    """Set attributes of the function."""
    plain = {key: value.value if isinstance(value, ir.Const) else value for key, value in attrs.items()}
    plain.pop("global_symbol", None)  # it is the name in the module
    current("T.func_attr").attrs.update(plain)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(tirx, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(tirx)})
