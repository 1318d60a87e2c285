"""`T.print`: printing of values and buffers at run time."""

from __future__ import annotations

import itertools
from typing import Any

from tirx_mini.ir import INT32, PARALLEL, Buffer, Expr, For, If, Var, as_expr, binary, const
from tirx_mini.script import current, tirx

from ..builtins import linear_thread
from .memory import FRAGMENT

__all__ = ["print"]

MOST = 4096
"""Elements of a buffer that are printed at most."""


def print(obj: object = None, msg: str = "", warp_group_id: int = 0, warp_id: int = 0) -> None:
    """Print a value in every thread, or the elements of a buffer once."""
    builder = current("T.print")
    head = f"{msg}: " if msg else ""
    if obj is None:
        tirx.cuda.printf(f"{msg}\n")
        return
    if not isinstance(obj, Buffer) or obj.scalar:
        value = as_expr(obj[(0,)] if isinstance(obj, Buffer) else obj)
        tirx.cuda.printf(f"{head}{_conversion(value)}\n", value)
        return
    with builder.block() as block:
        if obj.scope == FRAGMENT:
            names = [Var(INT32, f"i{dim}") for dim in range(obj.ndim)]
            _element(head, obj, names)
            body = builder.body(block)
            for var, extent in reversed(list(zip(names, obj.shape, strict=True))):
                body = For(var, const(0), const(extent), body, kind=PARALLEL)
        else:
            for place in itertools.islice(itertools.product(*map(range, obj.shape)), MOST):
                _element(head, obj, [const(index) for index in place])
            body = If(binary("==", linear_thread("T.print"), 0), builder.body(block))
    builder.emit(body)


def _element(head: str, buffer: Buffer, indices: list[Any]) -> None:
    value = buffer[tuple(indices)]
    shown = ", ".join("%d" for _ in indices)
    tirx.cuda.printf(f"{head}{buffer.name}[{shown}] = {_conversion(value)}\n", *indices, value)


def _conversion(value: Expr) -> str:
    return "%g" if value.dtype.is_float else "%d"
