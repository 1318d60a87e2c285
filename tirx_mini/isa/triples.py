"""Maxima and minima of three numbers, for targets that have them (PTX ISA: "max", three inputs).

A maximum of a maximum becomes one instruction: ``max(max(a, b), c)`` is max3. Reductions nest theirs like that.
"""

from __future__ import annotations

from tirx_mini.ir import Call, Expr, PrimFunc, rewrite
from tirx_mini.records import replace

MAXIMUM_OF_THREE = "max3.f32"
OF_THREE = {"max.f32": MAXIMUM_OF_THREE, "min.f32": "min3.f32"}
"""The instructions of three numbers, by those of two."""


def on_triples(func: PrimFunc) -> PrimFunc:
    """Return `func` with nested maxima and minima of float32 merged in twos."""
    if not any(isinstance(node, Call) and node.op in OF_THREE for node in func.nodes):
        return func
    return func.with_body(rewrite(func.body, _merged))


def _merged(node: Expr) -> Expr:
    if not isinstance(node, Call) or node.op not in OF_THREE:
        return node
    for inner, other in (node.args, node.args[::-1]):
        if isinstance(inner, Call) and inner.op == node.op and inner.attrs == node.attrs:
            return replace(node, op=OF_THREE[node.op], args=(*inner.args, other))
    return node
