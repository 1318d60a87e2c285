"""The threads of a CTA that execute a statement, deduced from compile-time conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from tirx_mini.ir import Binary, BufferLoad, Call, Cast, Const, Expr, Select, Special, Unary, walk
from tirx_mini.isa import instruction_of

_BINARY: Mapping[str, Callable[..., Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "//": np.floor_divide, "%": np.mod, "<<": np.left_shift,
    ">>": np.right_shift, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor, "min": np.minimum,
    "max": np.maximum, "==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater,
    ">=": np.greater_equal, "and": np.logical_and, "or": np.logical_or,
}  # fmt: skip
_UNARY: Mapping[str, Callable[..., Any]] = {"-": np.negative, "~": np.invert, "not": np.logical_not}
_THREAD_NUMBERS = ("threadIdx.x", "warp_id_in_cta")


def active_threads(guards: Iterable[Expr], threads: int, *, at_most: bool = False) -> np.ndarray | None:
    """Return a Boolean mask of the threads that satisfy all `guards`, or None if a guard's threads are unknown.

    A guard that is uniform over the CTA (a loop bound, a tile index) is assumed to hold. An election selects one lane
    of each warp.

    at_most: assume that unknown guards hold; the result then includes every thread that may execute the statement.
    """
    active = np.ones(threads, bool)
    for condition in (part for guard in guards for part in conjuncts(guard)):
        entry = instruction_of(condition)
        if entry is not None and entry.elects:
            for first in range(0, threads, 32):
                others = np.flatnonzero(active[first : first + 32])[1:]
                active[first + others] = False
            continue
        value = evaluate(condition, threads)
        if value is not None:
            active &= value.astype(bool)
        elif varies(condition) and not at_most:
            return None
    return active


def most_in_a_warp(active: np.ndarray) -> int:
    """Return the maximum number of active threads in one warp."""
    return max(int(active[first : first + 32].sum()) for first in range(0, len(active), 32))


def conjuncts(guard: Expr) -> Iterator[Expr]:
    """Yield the operands of a conjunction ``a and b and …``."""
    if isinstance(guard, Binary) and guard.op == "and":
        yield from conjuncts(guard.a)
        yield from conjuncts(guard.b)
    else:
        yield guard


def varies(expr: Expr) -> bool:
    """Return whether the value may differ between threads of a CTA."""
    return any(
        part.name in _THREAD_NUMBERS if isinstance(part, Special) else isinstance(part, (Call, BufferLoad))
        for part in walk(expr)
    )


def evaluate(expr: Expr, threads: int) -> np.ndarray | None:
    """Evaluate `expr` for each thread of a CTA, or return None if it depends on more than the thread index."""
    if isinstance(expr, Const):
        return np.asarray(expr.value)
    if isinstance(expr, Special):
        tid = np.arange(threads)
        return {"threadIdx.x": tid, "warp_id_in_cta": tid >> 5}.get(expr.name)
    if isinstance(expr, Cast):
        return evaluate(expr.value, threads) if not expr.dtype.is_float else None
    if isinstance(expr, Binary) and expr.op in _BINARY:
        return _apply(_BINARY[expr.op], (expr.a, expr.b), threads)
    if isinstance(expr, Unary):
        return _apply(_UNARY[expr.op], (expr.value,), threads)
    if isinstance(expr, Select):
        return _apply(np.where, (expr.cond, expr.a, expr.b), threads)
    return None


def _apply(function: Callable[..., object], operands: tuple[Expr, ...], threads: int) -> np.ndarray | None:
    values = [evaluate(operand, threads) for operand in operands]
    return None if any(value is None for value in values) else np.asarray(function(*values))
