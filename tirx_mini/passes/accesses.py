"""Analysis of accesses to shared memory, and of the conflicting pairs that a barrier must separate."""

from __future__ import annotations

from collections.abc import Set

from tirx_mini.distinct import distinct
from tirx_mini.ir import (
    AddressOf,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Expr,
    Region,
    Stmt,
    TileCall,
    children,
    walk,
)
from tirx_mini.isa import Memory, OperandKind, atomic_operation, instruction_of
from tirx_mini.records import dataclass

from .uniform import Dependences

READ, WRITE = "read", "write"


@dataclass(frozen=True)
class Use:
    """An access to a buffer.

    kind: READ, WRITE, or the name of an atomic operation.
    own: the dimensions along which each thread has an element of its own: the buffer as it is seen, the dimension, and
        the index in each thread.
    """

    kind: str
    own: frozenset[tuple[Buffer, int, bytes]] = frozenset()

    def conflicts(self, other: Use) -> bool:
        """Return whether two threads with the given accesses to a buffer must be ordered."""
        return (self.kind != other.kind or self.kind == WRITE) and not self.own & other.own


Uses = dict[Buffer, set[Use]]


class SharedUses:
    """Collects the accesses to shared and tensor memory in a statement.

    ordered: buffers whose uses need no barrier, because mbarriers order them.
    """

    def __init__(self, body: Stmt, ordered: Set[Buffer], known: Dependences) -> None:
        self.ordered = ordered | _mbarriers(body)
        self.known = known

    def of(self, *nodes: Stmt | Expr) -> Uses:
        """Return the accesses in the given statements or expressions."""
        found: Uses = {}
        for node in nodes:
            self._gather(node, found)
        return found

    def _gather(self, node: Stmt | Expr, found: Uses) -> None:
        if isinstance(node, TileCall) and node.operands:
            first, *others = node.operands
            self._tile(first, found, WRITE)
            for other in others:
                self._tile(other, found, READ)
            return
        if isinstance(node, Call):
            self._call(node, found)
            return
        if isinstance(node, (BufferStore, BufferLoad)):
            kind = WRITE if isinstance(node, BufferStore) else READ
            self._note(node.buffer, Use(kind, self._own(node)), found)
        elif isinstance(node, AddressOf):
            self._note(node.buffer, Use(WRITE), found)
        for child in children(node):
            self._gather(child, found)

    def _call(self, call: Call, found: Uses) -> None:
        """Collect an instruction's accesses to its address operands, which may be writes unless the table excludes it.
        """
        entry = instruction_of(call)
        kind = WRITE
        if entry is not None and Memory.SHARED in entry.reads:
            if Memory.SHARED not in entry.writes:
                kind = READ
            elif entry.is_atomic:
                kind = f"atomic {atomic_operation(call)}"
        for argument in children(call):
            if isinstance(argument, AddressOf):
                self._note(argument.buffer, Use(kind), found)
                for index in argument.indices:
                    self._gather(index, found)
            else:
                self._gather(argument, found)

    def _tile(self, operand: Expr, found: Uses, kind: str) -> None:
        for node in walk(operand):
            if isinstance(node, (Region, BufferLoad, AddressOf)):
                self._note(node.buffer, Use(kind), found)

    def _note(self, buffer: Buffer, use: Use, found: Uses) -> None:
        if buffer.scope in ("shared", "tmem") and buffer.root not in self.ordered:
            found.setdefault(buffer.root, set()).add(use)

    def _own(self, access: BufferStore | BufferLoad) -> frozenset[tuple[Buffer, int, bytes]]:
        tables = ((dim, self.known.table(index)) for dim, index in enumerate(access.indices))
        return frozenset(
            (access.buffer, dim, table.tobytes())
            for dim, table in tables
            if table is not None and len(distinct(table)) == len(table)
        )


def _mbarriers(body: Stmt) -> set[Buffer]:
    """Return the shared buffers that instructions use as mbarriers."""
    found: set[Buffer] = set()
    for call in walk(body):
        entry = instruction_of(call)
        if entry is None or entry.barrier is None or not isinstance(call, Call):
            continue
        for operand, arguments in entry.matched(call.args, dict(call.attrs)):
            if operand.type.kind is OperandKind.MBARRIER:
                named = (part for each in arguments for part in walk(each) if isinstance(part, AddressOf))
                found.update(pointer.buffer.root for pointer in named)
    return found
