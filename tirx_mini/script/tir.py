"""TIR as Apache TVM's TVMScript has it, for functions that schedules arrange: ``from tvm.script import tir as T``.

The names in `__all__` are those of TIR; all others, dtypes and arithmetic among them, are those of `tirx`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from tirx_mini import ir
from tirx_mini.layout import S, TileLayout

from . import tirx
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


def alloc_buffer(
    shape: Sequence[int] | int,
    dtype: str = "float32",
    data: Any = None,
    strides: Sequence[int] | None = None,
    elem_offset: Any = None,
    scope: str = "global",
    **_: Any,
) -> ir.Buffer:
    """Memory for values between blocks. strides: distances between neighbours, in elements."""
    builder = current("T.alloc_buffer")
    if scope not in ir.SCOPES or scope == "tmem":
        raise ir.TirxError(f"{scope!r} is not a memory of TIR", hint='use "global", "shared" or "local"')
    listed = (shape,) if isinstance(shape, int) else shape
    extents = tuple(int(extent) for extent in listed)
    layout = None if strides is None else TileLayout(S[extents : tuple(strides)])
    name = builder.take_name("buffer")
    buffer = ir.Buffer(name, extents, ir.DataType(dtype), scope, layout, span=builder.span)
    builder.emit(ir.AllocBuffer(buffer))
    return buffer


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
