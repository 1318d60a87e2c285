"""Series of MMAs that a run without data issues at once: loops, mostly over parts of a K tile, of nothing else.

The operands of such a series follow from a few values that the loop does not change: the descriptors of a stage, and
whether the product is the first of a tile. The engine knows a series again by these values (`engines.wgmma`, and in
runs of parts `engines.tcgen05`).
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from tirx_mini.ir import (
    AddressOf,
    Buffer,
    BufferLoad,
    Call,
    Const,
    Evaluate,
    Expr,
    For,
    Hint,
    Seq,
    Stmt,
    Var,
    children,
    int_value,
    walk,
)
from tirx_mini.isa import TABLE, Completion

MMAS = (Completion.WGMMA_GROUP, Completion.COMMIT)


def series_of(loop: For) -> Completion | None:
    """How the end is observed of the MMAs that a loop of known length issues; None for one that does anything else."""
    stmts = list(_stmts(loop))
    if int_value(loop.start) is None or int_value(loop.stop) is None:
        return None
    if not all(isinstance(stmt, Evaluate) or _is_block(stmt) for stmt in stmts):
        return None
    found = {TABLE[stmt.call.op].completion for stmt in stmts if isinstance(stmt, Evaluate)}
    return next((each for each in MMAS if found == {each}), None)


def accumulators(loop: For) -> tuple[Buffer, ...]:
    """The registers that the MMAs of a series are given."""
    places = (node.buffer for node in walk(loop.body) if isinstance(node, AddressOf) and node.buffer.scope == "local")
    return tuple(dict.fromkeys(places))


def what_it_depends_on(loop: For, scopes: Container[str]) -> tuple[Expr, ...] | None:
    """The greatest parts of its operands that it does not change.

    None where it executes more, or reads memory of other scopes than these.
    """
    inner = {stmt.var for stmt in _stmts(loop) if isinstance(stmt, For)}
    found: list[Expr] = []
    for stmt in _stmts(loop):
        if not isinstance(stmt, Evaluate):
            continue
        for node in walk(stmt.call):
            is_memory = isinstance(node, BufferLoad) and node.buffer.scope not in scopes
            if is_memory or (isinstance(node, Call) and node is not stmt.call):
                return None
        for argument in stmt.call.args:
            found += _unchanged(argument, inner)
    return tuple(dict.fromkeys(found))


def _stmts(stmt: Stmt) -> Iterator[Stmt]:
    return (node for node in walk(stmt) if isinstance(node, Stmt))


def _is_block(stmt: Stmt) -> bool:
    return isinstance(stmt, (Seq, Hint)) or (
        isinstance(stmt, For) and int_value(stmt.start) is not None and int_value(stmt.stop) is not None
    )


def _unchanged(expr: Expr, inner: set[Var]) -> list[Expr]:
    if isinstance(expr, Const):
        return []
    if not isinstance(expr, AddressOf) and not any(node in inner for node in walk(expr) if isinstance(node, Var)):
        return [expr]
    return [part for child in children(expr) if isinstance(child, Expr) for part in _unchanged(child, inner)]
