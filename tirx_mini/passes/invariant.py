"""Hoisting of loop-invariant fragment loads."""

from __future__ import annotations

from tirx_mini.ir import (
    AddressOf,
    AllocBuffer,
    Buffer,
    BufferStore,
    Call,
    Evaluate,
    Expr,
    For,
    Mutator,
    Seq,
    Stmt,
    seq,
    walk,
)
from tirx_mini.isa import Access, Memory, instruction_of
from tirx_mini.records import replace


def hoist_loads(body: Stmt) -> Stmt:
    """Hoist loop-invariant fragment loads from shared memory (`ldmatrix`) out of loops."""
    return _Hoist().stmt(body)


class _Hoist(Mutator):
    def visit_For(self, node: For) -> Stmt:
        loop = self.rebuild(node)
        if not isinstance(loop.body, Seq):
            return loop
        allocs = {stmt.buffer: stmt for stmt in loop.body.stmts if isinstance(stmt, AllocBuffer)}
        before: list[Stmt] = []
        for stmt in loop.body.stmts:
            target = _loaded(stmt)
            if target in allocs and _invariant(stmt, loop) and not _written_elsewhere(target, stmt, loop.body):
                before += [allocs[target], stmt]
        if not before:
            return loop
        moved = set(before)
        rest = seq(*(stmt for stmt in loop.body.stmts if stmt not in moved), span=loop.body.span)
        return seq(*before, replace(loop, body=rest), span=node.span)


def _loaded(stmt: Stmt) -> Buffer | None:
    """Return the registers that a statement loads from shared memory, or None if it does anything else."""
    if not isinstance(stmt, Evaluate):
        return None
    entry = instruction_of(stmt.call)
    if entry is None or entry.registers is None or entry.blocking or entry.completion or entry.writes:
        return None
    written = [buffer for buffer, access in _operands(stmt.call) if access is not Access.READ]
    return written[0] if entry.reads == Memory.SHARED and len(written) == 1 else None


def _operands(call: Call) -> list[tuple[Buffer, Access]]:
    """Return the register operands of an instruction, with their access kinds."""
    entry = instruction_of(call)
    found: list[tuple[Buffer, Access]] = []
    for operand, args in entry.matched(call.args, dict(call.attrs)) if entry is not None else ():
        pointers = (arg for arg in args if isinstance(arg, AddressOf) and arg.buffer.scope == "local")
        found += [(pointer.buffer, operand.type.access) for pointer in pointers]
    return found


def _invariant(stmt: Stmt, loop: For) -> bool:
    """Return whether a load's address is loop-invariant and nothing in the loop writes its source."""
    nodes: set[Expr | Stmt] = set(walk(stmt))
    if loop.var in nodes or any(isinstance(node, Expr) and _changes(node, loop) for node in nodes):
        return False
    shared = {node.buffer.root for node in nodes if isinstance(node, AddressOf) and node.buffer.scope == "shared"}
    for node in walk(loop.body):
        entry = instruction_of(node)
        if isinstance(node, BufferStore) and node.buffer.root in shared:
            return False
        if entry is not None and (Memory.SHARED in entry.writes or entry.opaque or not entry.registers):
            return False
    return True


def _changes(node: Expr, loop: For) -> bool:
    """Return whether a value is read from registers, which the loop may modify."""
    buffer = getattr(node, "buffer", None)
    return isinstance(buffer, Buffer) and not isinstance(node, AddressOf) and buffer.scope != "shared"


def _written_elsewhere(target: Buffer | None, load: Stmt, body: Stmt) -> bool:
    """Return whether any statement other than `load` writes the target registers."""
    for node in walk(body):
        if isinstance(node, BufferStore) and node.buffer is target:
            return True
        if isinstance(node, Evaluate) and node is not load:
            known = dict(_operands(node.call))
            named = any(isinstance(part, AddressOf) and part.buffer is target for part in walk(node.call))
            if named and known.get(target) is not Access.READ:  # pyright: ignore[reportArgumentType]
                return True
    return False
