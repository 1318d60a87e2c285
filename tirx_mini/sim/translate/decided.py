"""Idle reads: reads whose result reaches no condition, bound, index or address operand.

A thread may infer from a value that another thread has written it, and continue only then. If nothing depends on the
value, another order of the events yields a different value, and the thread continues all the same: such a read orders
nothing (PTX ISA: "Observation Order" is about the reads of one execution, not of all).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tirx_mini.ir import (
    Address,
    AddressOf,
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Evaluate,
    Expr,
    For,
    If,
    PrimFunc,
    Select,
    Span,
    Var,
    While,
    children,
    walk,
)
from tirx_mini.isa import instruction_of


def idle_reads(func: PrimFunc) -> frozenset[Span]:
    """Return the statement locations whose loads and atomic operations are idle."""
    calls = [(place, call) for node in func.nodes for place, call in _reads(node) if place is not None]
    if not calls:
        return frozenset()
    decided = _Decided(func, _decisions).calls
    return frozenset(place for place, _ in calls) - {place for place, call in calls if call in decided}


def tested_reads(func: PrimFunc) -> frozenset[Span]:
    """Return the statement locations whose loads and atomic operations reach a condition or the bound of a loop."""
    calls = [(place, call) for node in func.nodes for place, call in _reads(node) if place is not None]
    if not calls:
        return frozenset()
    decided = _Decided(func, _conditions).calls
    return frozenset(place for place, call in calls if call in decided)


def _reads(node: object) -> Iterator[tuple[Span | None, Call]]:
    """Yield the memory-reading instructions of a statement, with their locations as the machine records them."""
    if isinstance(node, Evaluate):
        place, value = node.call.span or node.span, node.call
    elif isinstance(node, Bind):
        place, value = node.value.span or node.span, node.value
    elif isinstance(node, BufferStore):
        place, value = node.span, node.value
    else:
        return
    for part in walk(value):
        if isinstance(part, Call) and (entry := instruction_of(part)) and entry.reads and entry.completion is None:
            yield place, part


class _Decided:
    """The backward slice of decisions. calls: the instructions in it, by identity."""

    def __init__(self, func: PrimFunc, roots: Callable[[object], Iterator[Expr]]) -> None:
        self.calls: set[Call] = set()
        self._binds: dict[Var, Bind] = {}
        self._stores: dict[Buffer, list[BufferStore]] = {}
        self._given: dict[Buffer, list[Call]] = {}
        self._seen: set[Var | Buffer] = set()
        for node in func.nodes:
            if isinstance(node, Bind):
                self._binds[node.var] = node
            elif isinstance(node, BufferStore):
                self._stores.setdefault(node.buffer.root, []).append(node)
            elif isinstance(node, Call):
                for argument in node.args:
                    if isinstance(argument, AddressOf):
                        self._given.setdefault(argument.buffer.root, []).append(node)
        self._todo = [root for node in func.nodes for root in roots(node)]
        while self._todo:
            self._visit(self._todo.pop())

    def _visit(self, expr: Expr) -> None:
        if isinstance(expr, Var) and expr in self._binds and expr not in self._seen:
            self._seen.add(expr)
            self._todo.append(self._binds[expr].value)
        elif isinstance(expr, (BufferLoad, AddressOf)):
            self._read(expr.buffer.root)
        elif isinstance(expr, Call):
            self.calls.add(expr)
        self._todo.extend(child for child in children(expr) if isinstance(child, Expr))

    def _read(self, buffer: Buffer) -> None:
        """Add everything stored to a buffer to the slice, including stores of other threads."""
        if buffer in self._seen:
            return
        self._seen.add(buffer)
        for store in self._stores.get(buffer, ()):
            self._todo.extend((store.value, *store.indices))
        for call in self._given.get(buffer, ()):
            if buffer.scope == "local":
                self.calls.add(call)
            self._todo.extend(argument for argument in call.args if not isinstance(argument, AddressOf))


def _decisions(node: object) -> Iterator[Expr]:
    """Yield the expressions of a node that determine control flow or an address."""
    yield from _conditions(node)
    if isinstance(node, (BufferLoad, BufferStore, AddressOf)):
        yield from node.indices
    elif isinstance(node, Evaluate) and (entry := instruction_of(node.call)) is not None:
        # what stores and reductions write decides nothing by itself, unless nobody can tell where it is read
        values = entry.stores_words or (entry.is_atomic and entry.result is None)
        values = values and not isinstance(node.call.args[0], Address)
        yield from (arg for arg in node.call.args[: 1 if values else None] if not isinstance(arg, AddressOf))


def _conditions(node: object) -> Iterator[Expr]:
    """Yield the expressions of a node that determine control flow."""
    if isinstance(node, (If, While, Select)):
        yield node.cond
    elif isinstance(node, For):
        yield from (node.start, node.stop)
