"""Results of atomic operations and reductions (PTX ISA: "atom", "cp.reduce.async.bulk")."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from tirx_mini.isa import flushed

Operate = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
OPERATIONS: Mapping[str, Operate] = MappingProxyType({
    "add": lambda old, value, _: old + value,
    "inc": lambda old, value, _: np.where(old >= value, 0, old + 1).astype(old.dtype),
    "dec": lambda old, value, _: np.where((old == 0) | (old > value), value, old - 1).astype(old.dtype),
    "min": lambda old, value, _: np.minimum(old, value),
    "max": lambda old, value, _: np.maximum(old, value),
    "and": lambda old, value, _: old & value,
    "or": lambda old, value, _: old | value,
    "xor": lambda old, value, _: old ^ value,
    "exch": lambda old, value, _: value,
    "cas": lambda old, value, compare: np.where(old == compare, value, old),
})  # fmt: skip
"""The new value of memory for each atomic operation, from the old value, the operand, and the comparand of "cas"."""


def computed(op: str, old: np.ndarray, value: np.ndarray, compare: np.ndarray, *, flush: bool) -> np.ndarray:
    """Return the new values of memory. flush: whether sums of float32 treat subnormal numbers as zeros, as they do in
    global memory (PTX ISA: "atom").
    """
    if op == "add" and flush and old.dtype == np.float32:
        return np.asarray(flushed(flushed(old) + flushed(value)), np.float32)
    return OPERATIONS[op](old, value, compare)


def combined(op: str, old: np.ndarray, value: np.ndarray, compare: np.ndarray, *, flush: bool) -> np.ndarray:
    """The new elements of one access: "cas" compares all of them, and a minimum or maximum ignores NaN.

    flush: as in `computed`.
    """
    if op == "cas":
        return value if np.array_equal(old, compare) else old
    if op in ("min", "max"):
        best = OPERATIONS[op](old, value, compare)
        return np.where(old != old, value, np.where(value != value, old, best)).astype(old.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        return computed(op, old, value, compare, flush=flush)
