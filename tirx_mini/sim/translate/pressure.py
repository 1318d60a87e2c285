"""Register pressure: an estimate of the registers per thread that the compiler allocates.

An array of a thread occupies registers while it is live, from its first access to its last. An array that a loop reads
before it writes is live in the whole loop. If a statement is the last to read one array and fills another, both may
share registers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tirx_mini.hardware import MAX_REGISTERS_PER_THREAD, REGISTERS_PER_SM
from tirx_mini.ir import (
    AddressOf,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Const,
    Expr,
    For,
    PrimFunc,
    Stmt,
    While,
    children,
    walk,
)
from tirx_mini.isa import Access, instruction_of

BASE = 32
"""The number of registers per thread besides arrays, for addresses and counters."""


def registers_of(func: PrimFunc) -> int:
    """Return the number of registers per thread of a lowered kernel.

    Arrays that do not fit in a CTA's share of the SM are spilled.

    A kernel that moves registers among its warps starts with all registers of the SM, or with the largest number that
    it requests.
    """
    assert func.launch is not None
    asked: list[Any] = [
        node.attr("count")
        for node in func.nodes
        if isinstance(node, Call) and (entry := instruction_of(node)) and entry.moves_registers
    ]
    share = REGISTERS_PER_SM // (func.launch.warps * 32) // 8 * 8
    lives = _Lives()
    lives.block(func.body)
    if asked:
        return min(max(asked), share)
    return min(-(-(BASE + lives.most_words()) // 8) * 8, MAX_REGISTERS_PER_THREAD, share)


class _Lives:
    """The live ranges of arrays, from their first access to their last.

    Time advances by two per statement, which reads at the first tick and writes at the second.
    """

    def __init__(self) -> None:
        self._now = 0
        self._life: dict[Buffer, tuple[int, int]] = {}

    def block(self, stmt: Stmt) -> None:
        if isinstance(stmt, (For, While)) and not (isinstance(stmt, For) and stmt.parallel):
            self._loop(stmt)
            return
        inner = [node for node in children(stmt) if isinstance(node, Stmt)]
        if isinstance(stmt, For) or not inner:
            self._step(stmt)
            return
        for node in children(stmt):
            if isinstance(node, Stmt):
                self.block(node)
            else:
                self._step(node)

    def _step(self, node: Stmt | Expr) -> None:
        self._now += 2
        for buffer, write in _touches(node):
            self._touch(buffer, self._now + write)

    def _loop(self, loop: For | While) -> None:
        before, self._life = self._life, {}
        self._now += 2
        begin = self._now
        for node in children(loop):
            if isinstance(node, Stmt):
                self.block(node)
            else:
                self._step(node)
        self._now += 2
        inside, self._life = self._life, before
        for buffer, (first, last) in inside.items():
            read_first = first % 2 == 0
            self._touch(buffer, begin if read_first else first)
            self._touch(buffer, self._now if read_first else last)

    def _touch(self, buffer: Buffer, time: int) -> None:
        first, last = self._life.get(buffer, (time, time))
        self._life[buffer] = (min(first, time), max(last, time))

    def most_words(self) -> int:
        """Return the maximum number of simultaneously live words."""
        most = 0
        for start, _ in self._life.values():
            alive = (b for b, (first, last) in self._life.items() if first <= start <= last)
            most = max(most, sum(-(-buffer.nbytes // 4) for buffer in alive))
        return most


def _touches(node: Stmt | Expr) -> Iterator[tuple[Buffer, bool]]:
    """Yield (array of a thread, whether it is only written) for each use in `node`."""
    for part in walk(node):
        if isinstance(part, BufferStore) and part.buffer.scope == "local":
            yield part.buffer, True
        elif isinstance(part, BufferLoad) and part.buffer.scope == "local":
            yield part.buffer, False
        elif isinstance(part, Call):
            yield from _operands(part)


def _operands(call: Call) -> Iterator[tuple[Buffer, bool]]:
    """Yield the arrays among the operands of an instruction. An MMA that may overwrite its accumulators only writes
    them."""
    entry = instruction_of(call)
    matched = [] if entry is None else entry.matched(call.args, dict(call.attrs))
    accumulate = next((given[0] for operand, given in matched if operand.name == "accumulate" and given), None)
    anew = accumulate is not None and not (isinstance(accumulate, Const) and accumulate.value)
    for operand, given in matched:
        for argument in given:
            if isinstance(argument, AddressOf) and argument.buffer.scope == "local":
                access = operand.type.access
                yield argument.buffer, access is Access.WRITE or (access is Access.UPDATE and anew)
