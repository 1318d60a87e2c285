"""Explicit reductions: reducers over parallel loops, and TIR's all-reduce over threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tirx_mini.ir import (
    INT32,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    Hint,
    TileCall,
    TirxError,
    Var,
    as_expr,
    binary,
    cast,
    const,
)
from tirx_mini.records import dataclass
from tirx_mini.script import OpenHint, current, tirx

from ..layouts import Partials
from .arithmetic import max_value, min_value
from .hints import LAYOUT_HINT
from .launch import launch_of
from .memory import alloc_fragment, region_of

__all__ = [
    "alloc_reducer", "attr", "comm_reducer", "evaluate", "finalize_reducer", "reducer_init", "reducer_update",
    "tvm_thread_allreduce",
]  # fmt: skip

REDUCERS = "tl.reducers"
"""The attribute of the builder with the operators of its reducers."""
OPERATORS = {"sum": "+", "max": "max", "min": "min"}


def _identity(op: str, buffer: Buffer) -> object:
    if op == "sum":
        return 0
    if buffer.dtype.is_float:
        return -math.inf if op == "max" else math.inf
    return min_value(buffer.dtype) if op == "max" else max_value(buffer.dtype)


def alloc_reducer(shape: object, dtype: object, op: str = "sum", replication: object = None) -> Buffer:
    """Allocate a reducer for parallel loops: each thread accumulates partial results until `finalize_reducer`."""
    if op not in OPERATORS:
        raise TirxError(f'T.alloc_reducer has op="sum", "max" and "min", not {op!r}')
    builder = current("T.alloc_reducer")
    made = alloc_fragment(shape, dtype)
    builder.attrs.setdefault(REDUCERS, {})[made] = op
    builder.emit(Hint(LAYOUT_HINT, (("layouts", ((made, Partials()),)),)))
    return made


def _operator(reducer: object, name: str) -> str:
    found = current(name).attrs.get(REDUCERS, {}).get(reducer)
    if found is None:
        raise TirxError(f"{name} takes a buffer of T.alloc_reducer, not {reducer!r}")
    return found


def reducer_init(reducer: Buffer, init: object = None) -> None:
    """Initialise a reducer to the identity, or to `init`."""
    op = _operator(reducer, "T.reducer_init")
    builder = current("T.reducer_init")
    start = as_expr(_identity(op, reducer), reducer.dtype)
    builder.emit(TileCall("tl.fill", (reducer.region(), cast(reducer.dtype, start))))
    builder.attrs.setdefault("tl.reducer_starts", {})[reducer] = init


def reducer_update(target: BufferLoad, value: object) -> None:
    """Reduce `value` into element `acc[i]` of a reducer, once per iteration of the parallel loop."""
    op = _operator(getattr(target, "buffer", None), "T.reducer_update")
    more = binary(OPERATORS[op], target, cast(target.dtype, as_expr(value)))
    current("T.reducer_update").emit(BufferStore(target.buffer, target.indices, more))


def finalize_reducer(reducer: Buffer, dst: object = None, batch: int = 1, annotations: object = None) -> None:
    """Combine the partial results of all threads into `dst`, or in place."""
    op = _operator(reducer, "T.finalize_reducer")
    builder = current("T.finalize_reducer")
    target = region_of(reducer if dst is None else dst)
    builder.emit(TileCall("tl.finalize", (reducer.region(), target), (("kind", op),)))
    start = builder.attrs.get("tl.reducer_starts", {}).get(reducer)
    if start is not None:
        names = [Var(INT32, f"i{dim}") for dim in range(target.buffer.ndim)]
        before = BufferLoad(target.dtype, target.buffer, tuple(names))
        value = binary(OPERATORS[op], before, cast(target.dtype, as_expr(start)))
        body: Any = BufferStore(target.buffer, tuple(names), value)
        for var, extent in reversed(list(zip(names, target.buffer.shape, strict=True))):
            body = For(var, const(0), const(extent), body, kind="parallel")
        builder.emit(body)


# -- TIR: thread_allreduce ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CommReducer:
    """A commutative operator with its identity element."""

    combine: Callable[[Any, Any], Any]
    identity: tuple[Any, ...]


def comm_reducer(combiner: Callable[[Any, Any], object], identity: Sequence[object]) -> CommReducer:
    """Return the operator of a reduction over threads: ``T.comm_reducer(lambda x, y: x + y, [T.float32(0)])``."""
    return CommReducer(combiner, tuple(identity))


def attr(node: object, attr_key: str | None = None, value: object = None) -> OpenHint | None:
    """Set the operator of `tvm_thread_allreduce`: ``with T.attr(reducer, "reduce_scope", …)``. Others have no effect.
    """
    if attr_key == "reduce_scope":
        current("T.attr").attrs["reduce_scope"] = node
        return OpenHint("tl.reduce_scope", ())
    return tirx.attr(node, attr_key, value)


def tvm_thread_allreduce(
    size: object, value: object, cond: object, result: Any, *axes: object, dtype: object = "handle"
) -> Expr:
    """Reduce `value` over the threads along some axes of the CTA; each thread gets the result.

    axes: indices of threads, as of `T.get_thread_binding`.
    """
    builder = current("T.tvm_thread_allreduce")
    launch, reducer = launch_of(builder), builder.attrs.get("reduce_scope")
    if launch is None or not isinstance(reducer, CommReducer):
        raise TirxError('T.tvm_thread_allreduce needs `with T.attr(T.comm_reducer(…), "reduce_scope", …)` around it')
    given = as_expr(value)
    own: Expr = const(0)
    for var, extent in reversed(list(zip(launch.thread_vars, launch.threads, strict=True))):
        own = own * extent + var
    scratch = builder.alloc(Buffer(builder.take_name("lanes"), (math.prod(launch.threads),), given.dtype, "shared"))
    builder.emit(BufferStore(scratch, (own,), given))
    target = result if isinstance(result, BufferLoad) else result[(0,)]
    start = cast(target.dtype, as_expr(reducer.identity[0]))
    builder.emit(BufferStore(target.buffer, target.indices, start))
    indices: list[Expr] = []
    loops: list[tuple[Var, int]] = []
    for var, extent in zip(launch.thread_vars, launch.threads, strict=True):
        along = any(axis is var for axis in axes)
        if along:
            loops.append((Var(INT32, f"{var.name}_all"), extent))
        indices.append(loops[-1][0] if along else var)
    place: Expr = const(0)
    for index, extent in reversed(list(zip(indices, launch.threads, strict=True))):
        place = place * extent + index
    other = BufferLoad(scratch.dtype, scratch, (place,))
    body: Any = BufferStore(target.buffer, target.indices, cast(target.dtype, reducer.combine(target, other)))
    for var, extent in reversed(loops):
        body = For(var, const(0), const(extent), body)
    builder.emit(body)
    return const(0)


def evaluate(value: object = None) -> None:
    """Evaluate an expression for its side effects, which were already emitted during parsing."""
    if isinstance(value, Expr) and not isinstance(value, type(const(0))):
        tirx.evaluate(value)
