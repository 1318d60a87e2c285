"""Loops: the statements that leave them, and the loops that poll memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tirx_mini.ir import (
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    Expr,
    For,
    Stmt,
    Var,
    While,
    children,
    walk,
)
from tirx_mini.isa import BarrierEffect, Memory, atomic_operation, instruction_of, instructions


def spins(loop: While | For) -> bool:
    """Return whether the loop polls memory without blocking, so that other warps must run in between."""
    nodes = list(walk(loop))
    called = list(instructions(loop))
    reads = any(isinstance(node, BufferLoad) and node.buffer.scope in ("shared", "global") for node in nodes)
    polls = any(
        entry.barrier is BarrierEffect.TEST or (entry.result is not None and entry.reads is not Memory.NONE)
        for entry in called
    )
    return (reads or polls) and not any(entry.blocking for entry in called)


SETTLED = ("exch", "cas", "and", "or", "min", "max")
"""Idempotent atomic operations."""


def steady(loop: While | For) -> bool:
    """Return whether an iteration only reads memory, so that the next one has the same result until another warp
    acts."""
    if counts(loop) or any(isinstance(node, BufferStore) and node.buffer.scope != "local" for node in walk(loop)):
        return False
    return all(map(_looks, (node for node in walk(loop) if isinstance(node, Call))))


def asks_once(node: Stmt | Expr) -> bool:
    """Return whether an mbarrier is tested outside a loop that polls it."""
    if isinstance(node, While) and spins(node):
        return False
    entry = instruction_of(node) if isinstance(node, Call) else None
    if entry is not None and entry.barrier is BarrierEffect.TEST:
        return True
    return any(map(asks_once, children(node)))


def waits_for_memory(loop: While | For) -> bool:
    """Return whether the loop only polls memory until another thread changes it."""
    return spins(loop) and steady(loop)


def _looks(call: Call) -> bool:
    """Return whether an instruction has no side effect, or an idempotent one."""
    entry = instruction_of(call)
    if entry is None or entry.blocking or entry.barrier is not None or entry.reads_clock or entry.opaque:
        return False
    if entry.is_atomic:
        return atomic_operation(call) in SETTLED
    return entry.writes is Memory.NONE and entry.completion is None


def counts(loop: While | For) -> bool:
    """Return whether an iteration computes a variable from the value that an earlier one left in it, as a counter does.

    Copies on the way, as compilers without optimisation make them, are followed.
    """
    sources: dict[Var | Buffer, set[Var | Buffer]] = {}
    computed: list[Var | Buffer] = []
    for node in walk(loop):
        if isinstance(node, Bind):
            target, value = node.var, node.value
        elif isinstance(node, BufferStore) and node.buffer.scope == "local":
            target, value = node.buffer, node.value
        else:
            continue
        sources.setdefault(target, set()).update(_variables(value))
        if not _copies(value):
            computed.append(target)
    return any(_reached(sources, target) for target in computed)


def _variables(value: Expr) -> Iterator[Var | Buffer]:
    """Yield the variables and register arrays that an expression reads."""
    for node in walk(value):
        if isinstance(node, Var):
            yield node
        elif isinstance(node, BufferLoad) and node.buffer.scope == "local":
            yield node.buffer


def _copies(value: Expr) -> bool:
    """Return whether an expression only reads a variable, also as another type: repeated, it changes nothing."""
    while isinstance(value, Cast):
        value = value.value
    return isinstance(value, (Var, BufferLoad))


def _reached(sources: Mapping[Var | Buffer, set[Var | Buffer]], target: Var | Buffer) -> bool:
    """Return whether a variable depends on itself."""
    seen, waiting = set[Var | Buffer](), list(sources[target])
    while waiting:
        each = waiting.pop()
        if each is target:
            return True
        if each not in seen:
            seen.add(each)
            waiting.extend(sources.get(each, ()))
    return False
