"""The difference of two indices of a ring, independent of the values of their variables."""

from __future__ import annotations

from typing import Any

from tirx_mini.ir import BufferLoad, Const, Expr, Var, rewrite
from tirx_mini.sim import thread_values

from .sites import Sites

SAMPLES = ((0, 1), (1, 3), (2, 7), (5, 11), (13, 17), (40, 29))
"""The sample assignments of variables: (start, factor). Each variable has a different value in each sample."""


def difference(sites: Sites, a: Expr, b: Expr, depth: int) -> int | None:
    """Return (a - b) % depth if it is the same for all values of their variables; otherwise None."""
    found = {_difference(sites, a, b, depth, start, factor) for start, factor in SAMPLES}
    return found.pop() if len(found) == 1 else None


def _difference(sites: Sites, a: Expr, b: Expr, depth: int, start: int, factor: int) -> int | None:
    numbers: dict[Any, int] = {}

    def known(node: Expr) -> Expr:
        if isinstance(node, Var) and node in sites.bound:
            return rewrite(sites.bound[node], known)
        if isinstance(node, (Var, BufferLoad)):
            key = node if isinstance(node, Var) else (id(node.buffer), repr(node.indices))
            return Const(node.dtype, start + factor * numbers.setdefault(key, len(numbers) + 1))
        return node

    values = [thread_values(rewrite(expr, known), 1) for expr in (a, b)]
    if any(value is None or value.size != 1 for value in values):
        return None
    first, second = (int(value.flat[0]) for value in values if value is not None)
    return (first - second) % depth
