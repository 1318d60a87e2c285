"""Loops: the statements that leave them, and those that spin on memory."""

from __future__ import annotations

from collections.abc import Iterator

from tirx_mini.ir import Break, BufferLoad, BufferStore, Continue, For, Hint, If, Seq, Stmt, While, walk
from tirx_mini.isa import BarrierEffect, Memory, instructions


def leaves(stmt: Stmt) -> Iterator[Stmt]:
    """The break and continue statements of `stmt` that belong to a loop around it."""
    if isinstance(stmt, (Break, Continue)):
        yield stmt
    elif isinstance(stmt, Seq):
        for child in stmt.stmts:
            yield from leaves(child)
    elif isinstance(stmt, If):
        yield from leaves(stmt.then)
        if stmt.orelse is not None:
            yield from leaves(stmt.orelse)
    elif isinstance(stmt, Hint) and stmt.body is not None:
        yield from leaves(stmt.body)


def spins(loop: While | For) -> bool:
    """Return whether the loop reads memory again and again without ever waiting: others must run meanwhile."""
    nodes = list(walk(loop))
    called = list(instructions(loop))
    reads = any(isinstance(node, BufferLoad) and node.buffer.scope in ("shared", "global") for node in nodes)
    polls = any(
        entry.barrier is BarrierEffect.TEST or (entry.result is not None and entry.reads is not Memory.NONE)
        for entry in called
    )
    return (reads or polls) and not any(entry.blocking for entry in called)


def counts(loop: While | For) -> bool:
    """Return whether an iteration computes a variable from itself, as a counter: the loop may get nearer its end."""
    stores = [node for node in walk(loop) if isinstance(node, BufferStore) and node.buffer.scope == "local"]
    return any(
        isinstance(node, BufferLoad) and node.buffer is store.buffer for store in stores for node in walk(store.value)
    )
