"""Address values: the signed values that addresses are computed from, whose overflow yields a wrong address.

In the generated CUDA C++, the overflow of a signed integer is undefined. Remainders, masks and memory accesses hide an
overflow from the address: only sums, products, casts and choices propagate it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tirx_mini.ir import (
    AddressOf,
    Binary,
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    Cast,
    Const,
    Expr,
    PrimFunc,
    Ramp,
    Select,
    Unary,
    Var,
)

SUMS = ("+", "-", "*", "<<")


def passes_on(expr: Expr) -> bool:
    """Return whether an expression is a sum, a product or a choice of its operands."""
    if isinstance(expr, Binary):
        return expr.op in SUMS
    return isinstance(expr, (Var, Const, Cast, Select, Ramp)) or (isinstance(expr, Unary) and expr.op == "-")


def address_values(func: PrimFunc) -> frozenset[Var | Buffer]:
    """Return the variables, and the scalars in registers, from which addresses in shared and global memory are
    computed."""
    bound: dict[Var | Buffer, list[Expr]] = {}
    todo: list[Expr] = []
    for node in func.nodes:
        if isinstance(node, Bind):
            bound.setdefault(node.var, []).append(node.value)
        elif isinstance(node, BufferStore) and _is_scalar(node.buffer):
            bound.setdefault(node.buffer, []).append(node.value)
        if isinstance(node, (BufferLoad, BufferStore, AddressOf)) and node.buffer.scope in ("shared", "global"):
            todo.extend(node.indices)
    found: set[Var | Buffer] = set()
    while todo:
        for source in _sources(todo.pop()):
            if source not in found:
                found.add(source)
                todo += bound.get(source, [])
    return frozenset(found)


def _sources(expr: Expr) -> Iterator[Var | Buffer]:
    """Yield the variables and scalars that contribute to the value of an expression."""
    if isinstance(expr, Var):
        yield expr
    elif isinstance(expr, BufferLoad) and _is_scalar(expr.buffer):
        yield expr.buffer
    elif (isinstance(expr, Binary) and passes_on(expr)) or isinstance(expr, Select):
        yield from _sources(expr.a)
        yield from _sources(expr.b)
    elif isinstance(expr, (Cast, Unary)) and passes_on(expr):
        yield from _sources(expr.value)
    elif isinstance(expr, Ramp):
        yield from _sources(expr.base)


def _is_scalar(buffer: Buffer) -> bool:
    return buffer.scope == "local" and buffer.size == 1
