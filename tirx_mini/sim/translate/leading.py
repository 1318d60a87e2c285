"""Loops that one warp can go round for its whole warpgroup, in a run of a part of a launch.

The warps of a warpgroup issue the same wgmma and wait for the same barriers, so in a loop that does little else they
are all at the same place at the same time. What only the first of them does, such as to release a stage, it does as
before.
Where a CTA is one warpgroup, its first warp may also access memory for the others, and needs no barrier between them.
A loop in which another warp does something of its own, or in which each of them arrives at an mbarrier, is executed by
all of them.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tirx_mini.ir import (
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Const,
    Evaluate,
    Expr,
    For,
    Hint,
    If,
    PrimFunc,
    Seq,
    Special,
    Stmt,
    Var,
    children,
    walk,
)
from tirx_mini.isa import TABLE, BarrierEffect, Completion, Instruction, Scope

from .threads import selected, thread_values

WARPS = 4
"""Of a warpgroup."""
THREADS = ("threadIdx.x", "warp_id_in_cta")


def led_loops(func: PrimFunc, loops: Iterable[For]) -> frozenset[For]:
    """Those of the loops that one warp of each warpgroup can go round for all four."""
    assert func.launch is not None
    found = _Leading(func, func.launch.warps)
    return frozenset(loop for loop in loops if found.may_lead(loop))


def moved_scalars(loop: For) -> tuple[Buffer, ...]:
    """The registers that a loop stores to."""
    stores = (node for node in walk(loop.body) if isinstance(node, BufferStore))
    return tuple(dict.fromkeys(store.buffer for store in stores if store.buffer.scope == "local"))


def only_accesses(stmt: Stmt) -> bool:
    """Whether a statement accesses memory, and at most fences that."""
    nodes = list(walk(stmt))
    calls = [node.op for node in nodes if isinstance(node, Call)]
    return any(map(_is_access, nodes)) and all(TABLE[op].fence == "proxy" for op in calls)


def for_whole_cta(entry: Instruction) -> bool:
    """Whether an instruction synchronises all threads of the CTA: it names a barrier, and not how many threads."""
    return entry.blocking and [operand.name for operand in entry.operands] == ["barrier_id"]


def _is_access(node: object) -> bool:
    return isinstance(node, (BufferLoad, BufferStore)) and node.buffer.scope != "local"


class _Leading:
    def __init__(self, func: PrimFunc, warps: int) -> None:
        self._warps = warps
        self._own: set[Var | Buffer] = set()
        """What may have another value in another warp of the warpgroup."""
        self._apart: set[For] = set()
        """Loops that only some warps of a warpgroup go round, or some of their lanes."""
        known = -1
        while known != (known := len(self._own)):
            self._note(func.body, False)

    def may_lead(self, loop: For) -> bool:
        """Whether all of a loop is waits and wgmma of all warps, and what the first warp does alone."""
        if loop in self._apart or self._differs(loop.start) or self._differs(loop.stop):
            return False
        if any(buffer.size != 1 or buffer in self._own for buffer in moved_scalars(loop)):
            return False
        calls = [TABLE[node.op] for node in walk(loop.body) if isinstance(node, Call)]
        commits = any(entry.completion is Completion.WGMMA_GROUP for entry in calls)
        return (self._warps == WARPS or commits) and self._is_shared(loop.body)

    def _is_shared(self, stmt: Stmt | None) -> bool:
        """Whether what the warps of a warpgroup do in a statement is done when its first warp has done it."""
        if stmt is None:
            return True
        if isinstance(stmt, Seq):
            return all(map(self._is_shared, stmt.stmts))
        if isinstance(stmt, (Hint, For)):
            return self._is_shared(stmt.body)
        if isinstance(stmt, Evaluate):
            return self._for_all(TABLE[stmt.call.op])
        if isinstance(stmt, If):
            if not self._differs(stmt.cond):
                return not _chooses_lanes(stmt.cond) and self._is_shared(stmt.then) and self._is_shared(stmt.orelse)
            return stmt.orelse is None and self._by_first(stmt.cond)
        if isinstance(stmt, (Bind, BufferStore)):
            return self._may_access(stmt)
        return False

    def _for_all(self, entry: Instruction) -> bool:
        """Whether the first warp can execute an instruction for the others: a wait or a fence changes nothing in a run
        without data."""
        if entry.issued_by is Scope.WARPGROUP or entry.barrier is BarrierEffect.WAIT or entry.fence:
            return True
        return self._warps == WARPS and for_whole_cta(entry)

    def _may_access(self, stmt: Bind | BufferStore) -> bool:
        """Whether the first warp can do for the others what a statement does to memory, if anything."""
        nodes = list(walk(stmt))
        if any(isinstance(node, Call) for node in nodes):
            return False
        places = [node.indices for node in nodes if isinstance(node, (BufferLoad, BufferStore)) and _is_access(node)]
        indices = [node for place in places for index in place for node in walk(index)]
        by_warp = any(isinstance(node, Special) and node.name == "warp_id_in_cta" for node in indices)
        own = any(node in self._own for node in indices if isinstance(node, Var))
        return not places or (self._warps == WARPS and not by_warp and not own)

    def _by_first(self, cond: Expr) -> bool:
        """Whether a condition can only hold in the first warps of warpgroups."""
        holds = selected(cond, self._warps)[0]
        return not any(holds[warp].any() for warp in range(self._warps) if warp % WARPS)

    # -- what differs ----------------------------------------------------------------------------------------------

    def _note(self, stmt: Stmt, under: bool) -> None:
        """Find what has another value in another warp. under: whether only some warps of a warpgroup come here."""
        if isinstance(stmt, Bind) and (under or self._differs(stmt.value)):
            self._own.add(stmt.var)
        elif isinstance(stmt, BufferStore) and (under or self._differs(stmt.value)):
            self._own.add(stmt.buffer)
        elif isinstance(stmt, For) and under:
            self._apart.add(stmt)
        elif isinstance(stmt, If):
            under = under or self._differs(stmt.cond) or _chooses_lanes(stmt.cond)
        for child in children(stmt):
            if isinstance(child, Stmt):
                self._note(child, under)

    def _differs(self, expr: Expr) -> bool:
        """Whether a value may differ among the warps of a warpgroup."""
        if isinstance(expr, Const):
            return False
        if any(isinstance(node, Special) and node.name in THREADS for node in walk(expr)):
            values = thread_values(expr, self._warps)
            return values is None or not _same_in_warpgroups(values, self._warps)
        return any(
            node in self._own
            if isinstance(node, Var)
            else isinstance(node, BufferLoad) and (node.buffer.scope != "local" or node.buffer in self._own)
            for node in walk(expr)
        )


def _chooses_lanes(cond: Expr) -> bool:
    """Whether a condition may choose lanes of each warp, which then do something of their own."""
    nodes = list(walk(cond))
    return any(isinstance(node, Call) or (isinstance(node, Special) and node.name == "threadIdx.x") for node in nodes)


def _same_in_warpgroups(values: np.ndarray, warps: int) -> bool:
    rows = np.broadcast_to(values, (warps, 32))
    return all(np.array_equal(rows[warp], rows[warp // WARPS * WARPS]) for warp in range(warps))
