"""Representative loops, which one warp can execute for its whole warpgroup in untimed or partial runs.

The warps of a warpgroup issue the same wgmma, wait for the same barriers and write back the same shapes, so in a loop
that does little else they are at the same point at the same time. The first warp executes its own operations, such as
the release of a stage, as before; operations of each warp on an mbarrier or on memory are executed four times by the
first. A loop in which another warp has operations of its own is executed by all of them.

With data, this applies to loops that only multiply: the engine then gives each warp its part of the products.

If a whole launch is executed for its time, the first warp is not enough: its own operations take time that the others
do not need. In loops that multiply, one of the other three represents the other two (`represented_loops`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set

import numpy as np

from tirx_mini.hardware import WARPGROUP_WARPS
from tirx_mini.ir import (
    AddressOf,
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
    While,
    children,
    int_value,
    walk,
)
from tirx_mini.isa import TABLE, BarrierEffect, Completion, Instruction, Scope
from tirx_mini.records import dataclass

from ..machine import LANES
from .memoised import accumulators
from .needed import Needed, needed
from .threads import selected, thread_values

Loop = For | While

WAITS_AND_ARRIVALS = (BarrierEffect.WAIT, BarrierEffect.ARRIVE)
OWN_COSTS = ("matrix", "tmem")
"""The cost classes of instructions with which a warp moves its own registers."""


@dataclass(frozen=True)
class Led:
    """The operations that one warp executes for its warpgroup.

    loops: the outermost loops that it executes for all four. repeated: their memory accesses and arrivals, which it
    executes once for each warp. divergent: loops that only some warps or threads of a warpgroup execute.
    """

    loops: frozenset[Loop] = frozenset()
    repeated: frozenset[Stmt] = frozenset()
    divergent: frozenset[Loop] = frozenset()

    def for_each_warp(self, stmt: Stmt) -> bool:
        """Return whether the first warp executes a statement once for each warp."""
        parts = [node for node in walk(stmt) if isinstance(node, Stmt)]
        rest = (part.call.op for part in parts if isinstance(part, Evaluate) and part not in self.repeated)
        return not self.repeated.isdisjoint(parts) and all(TABLE[op].fence == "proxy" for op in rest)


def led_loops(func: PrimFunc) -> Led:
    """Return the outermost loops that one warp of each warpgroup can execute for all four."""
    groups = _warpgroups(func, needed(func))
    found = dict(_outermost(func.body, groups))
    divergent = frozenset(loop for group in groups for loop in group.divergent)
    return Led(frozenset(found), frozenset[Stmt]().union(*found.values()), divergent)


def _outermost(
    stmt: Stmt, groups: Sequence[_Leading], fits: Callable[[Loop], bool] = lambda loop: True
) -> Iterator[tuple[Loop, frozenset[Stmt]]]:
    """Yield the outermost loops that one warp may execute for its warpgroup, with the repeated part of each."""
    if isinstance(stmt, (For, While)) and fits(stmt):
        ways = {group.leads(stmt) for group in groups if stmt in group.reached}
        way = ways.pop() if len(ways) == 1 else None
        if way is not None:
            yield stmt, way
            return
    for child in children(stmt):
        if isinstance(child, Stmt):
            yield from _outermost(child, groups, fits)


def led_products(func: PrimFunc, decided: Set[Stmt]) -> dict[Loop, tuple[Buffer, ...]]:
    """Return the outermost pure wgmma loops that one warp of each warpgroup can execute for all four, with data.

    Each loop has the registers of its accumulators. decided: control flow whose decisions each warp must record.
    """
    groups = _warpgroups(func, needed(func))
    found = (loop for loop, way in _outermost(func.body, groups, _only_multiplies) if not way)
    return {loop: accumulators(loop) for loop in found if decided.isdisjoint(walk(loop))}


def represented_loops(func: PrimFunc, wanted: Needed) -> frozenset[Loop]:
    """Return the outermost pure wgmma loops, apart from the first warp's own part, that the other warps execute
    simultaneously. wanted: the values that a run without data computes.
    """
    if not _has(func, Completion.WGMMA_GROUP):
        return frozenset()
    groups = _warpgroups(func, wanted)

    def fits(loop: Loop) -> bool:
        return all(_only_multiplies(loop, group.by_first) for group in groups if loop in group.reached)

    return frozenset(loop for loop, way in _outermost(func.body, groups, fits) if not way)


def _only_multiplies(loop: Loop, left_out: Callable[[If], bool] = lambda stmt: False) -> bool:
    """Return whether a loop only issues and awaits wgmmas, waits, arrives and moves scalars. left_out: the branches to
    ignore.
    """
    multiplies = waits = False
    for node in _walk_without(loop.body, left_out):
        if isinstance(node, (BufferLoad, BufferStore)) and (node.buffer.scope != "local" or node.buffer.size != 1):
            return False
        if not isinstance(node, Call):
            continue
        entry = TABLE[node.op]
        if entry.completion is Completion.WGMMA_GROUP:
            multiplies = True
            if sum(isinstance(part, AddressOf) and part.buffer.scope == "local" for part in walk(node)) != 1:
                return False  # matrix A is in registers
        elif entry.issued_by is Scope.WARPGROUP:
            waits = waits or entry.blocking
        elif not entry.fence and (entry.barrier not in WAITS_AND_ARRIVALS or joins_warpgroup(node)):
            return False
    return multiplies and waits


def _walk_without(node: Stmt | Expr, left_out: Callable[[If], bool]) -> Iterator[Stmt | Expr]:
    """Walk a node like `walk`, but skip each branch for which `left_out` holds."""
    if isinstance(node, If) and left_out(node):
        return
    yield node
    for child in children(node):
        yield from _walk_without(child, left_out)


def moved_scalars(loop: Loop, wanted: Needed | None = None) -> tuple[Buffer, ...]:
    """Return the registers that a loop stores to and that are computed; in a run without data, the `wanted` ones."""
    stores = dict.fromkeys(node.buffer for node in walk(loop.body) if isinstance(node, BufferStore))
    return tuple(each for each in stores if each.scope == "local" and (wanted is None or wanted.has(each)))


def joins_warpgroup(call: Call) -> bool:
    """Return whether an instruction is a barrier for a warpgroup's number of threads, or for the whole CTA."""
    entry = TABLE[call.op]
    if not entry.waits_at_named_barrier:
        return False
    return len(entry.operands) == 1 or int_value(call.args[1]) == WARPGROUP_WARPS * LANES


def _is_access(node: object) -> bool:
    return isinstance(node, (BufferLoad, BufferStore)) and node.buffer.scope != "local"


def _arrives(entry: Instruction) -> bool:
    """Return whether each thread arrives at an mbarrier."""
    return entry.barrier is BarrierEffect.ARRIVE and entry.issued_by is Scope.THREAD


def _takes_own_time(entry: Instruction) -> bool:
    """Return whether an instruction of a warp only affects that warp's time, in a run without data."""
    if entry.awaits in TABLE:
        return TABLE[entry.awaits].completion is Completion.TCGEN05_WAIT
    return entry.issued_by is Scope.WARP and entry.cost in OWN_COSTS


class _Leading:
    """The common operations of the warpgroup that begins with warp `first`.

    reached: the loops that the warps reach. divergent: the loops that only some of them, or some of their lanes,
    execute.
    """

    def __init__(self, func: PrimFunc, first: int, wanted: Needed) -> None:
        assert func.launch is not None
        self._warps = func.launch.warps
        self._whole = (first + WARPGROUP_WARPS) * LANES <= func.launch.threads
        self._group = slice(first, first + WARPGROUP_WARPS)
        self._own: set[Var | Buffer] = set()
        """The variables and buffers whose values may differ between warps of the warpgroup."""
        self._repeated: set[Stmt] = set()
        self._wanted = wanted
        self._copies = _has(func, Completion.CP_ASYNC_GROUP)
        """Whether the kernel has arrivals that wait for the copies of each warp."""
        self.reached: set[Loop] = set()
        self.divergent: set[Loop] = set()
        known = -1
        while known != (known := len(self._own)):
            self._note(func.body, False)

    def leads(self, loop: Loop) -> frozenset[Stmt] | None:
        """Return the repeated part of a loop that one warp can execute for all; None for any other loop."""
        self._repeated = set()
        return frozenset(self._repeated) if self._may_lead(loop) else None

    def _may_lead(self, loop: Loop) -> bool:
        if not self._whole or loop in self.divergent or any(map(self._differs, _conditions(loop))):
            return False
        if any(buffer.size != 1 or buffer in self._own for buffer in moved_scalars(loop, self._wanted)):
            return False
        return any(isinstance(node, Call) for node in walk(loop.body)) and self._is_shared(loop.body)

    def _is_shared(self, stmt: Stmt | None) -> bool:
        """Return whether the first warp's execution of a statement covers all warps of the warpgroup."""
        if stmt is None:
            return True
        if isinstance(stmt, Seq):
            return all(map(self._is_shared, stmt.stmts))
        if isinstance(stmt, (Hint, For, While)):
            differs = not isinstance(stmt, Hint) and any(map(self._differs, _conditions(stmt)))
            return not differs and self._is_shared(stmt.body)
        if isinstance(stmt, Evaluate):
            return self._for_all(stmt)
        if isinstance(stmt, If):
            if not self._differs(stmt.cond) and not _chooses_lanes(stmt.cond):
                return self._is_shared(stmt.then) and self._is_shared(stmt.orelse)
            if stmt.orelse is not None:
                return False
            return self.by_first(stmt) or (self._same_lanes(stmt.cond) and self._only_arrives(stmt.then))
        if isinstance(stmt, (Bind, BufferStore)):
            return self._may_access(stmt)
        return False

    def _for_all(self, stmt: Evaluate) -> bool:
        """Return whether the first warp can execute an instruction for the others."""
        call, entry = stmt.call, TABLE[stmt.call.op]
        if entry.issued_by is Scope.WARPGROUP or entry.fence or _takes_own_time(entry):
            return True
        if any(map(self._differs, call.args)):
            return False
        if _arrives(entry) and not self._copies:
            self._repeated.add(stmt)
            return True
        named = len(entry.operands) > 1
        joins = joins_warpgroup(call) and (named or self._warps == WARPGROUP_WARPS)
        return entry.barrier is BarrierEffect.WAIT or joins

    def _only_arrives(self, stmt: Stmt) -> bool:
        """Return whether each warp only arrives at the same mbarriers."""
        if isinstance(stmt, Seq):
            return all(map(self._only_arrives, stmt.stmts))
        return isinstance(stmt, Evaluate) and _arrives(TABLE[stmt.call.op]) and self._for_all(stmt)

    def _may_access(self, stmt: Bind | BufferStore) -> bool:
        """Return whether the first warp can make the memory accesses of a statement for the others.

        The time of an access to shared memory does not depend on its address.
        """
        nodes = list(walk(stmt))
        if any(isinstance(node, Call) for node in nodes):
            return False
        accesses = [node for node in nodes if isinstance(node, (BufferLoad, BufferStore)) and _is_access(node)]
        if accesses:
            self._repeated.add(stmt)
        if all(node.buffer.scope == "shared" for node in accesses):
            return True
        indices = [node for access in accesses for index in access.indices for node in walk(index)]
        by_warp = any(isinstance(node, Special) and node.name == "warp_id_in_cta" for node in indices)
        own = any(node in self._own for node in indices if isinstance(node, Var))
        return self._warps == WARPGROUP_WARPS and not by_warp and not own

    def by_first(self, stmt: If) -> bool:
        """Return whether only the first warp of the warpgroup can take a branch."""
        return stmt.orelse is None and not selected(stmt.cond, self._warps)[0][self._group][1:].any()

    def _same_lanes(self, cond: Expr) -> bool:
        """Return whether a condition on thread indices holds in the same lanes of each warp."""
        values = thread_values(cond, self._warps)
        return values is not None and self._alike(values)

    def _alike(self, values: np.ndarray) -> bool:
        """Return whether values by warp and lane are equal in all warps of the warpgroup."""
        rows = np.broadcast_to(values, (self._warps, LANES))[self._group]
        return bool((rows == rows[0]).all())

    # -- differences ----------------------------------------------------------------------------------------------

    def _note(self, stmt: Stmt, under: bool) -> None:
        """Collect the values that may differ between warps. under: whether only some warps of a warpgroup reach
        `stmt`."""
        if isinstance(stmt, If):
            then, orelse = selected(stmt.cond, self._warps)
            under = under or self._differs(stmt.cond) or _chooses_lanes(stmt.cond)
            for arm, holds in ((stmt.then, then), (stmt.orelse, orelse)):
                if arm is not None and holds[self._group].any():
                    self._note(arm, under)
            return
        if isinstance(stmt, Bind) and (under or self._differs(stmt.value)):
            self._own.add(stmt.var)
        elif isinstance(stmt, BufferStore) and (under or self._differs(stmt.value)):
            self._own.add(stmt.buffer)
        elif isinstance(stmt, (For, While)):
            self.reached.add(stmt)
            if under:
                self.divergent.add(stmt)
        for child in children(stmt):
            if isinstance(child, Stmt):
                self._note(child, under)

    def _differs(self, expr: Expr) -> bool:
        """Return whether a value may differ between the warps of a warpgroup."""
        if isinstance(expr, (Const, Special)):
            values = thread_values(expr, self._warps)
            return values is not None and not self._alike(values)
        if isinstance(expr, Var):
            return expr in self._own
        if isinstance(expr, BufferLoad) and (expr.buffer.scope != "local" or expr.buffer in self._own):
            return True
        values = thread_values(expr, self._warps)
        if values is not None:
            return not self._alike(values)
        return any(self._differs(child) for child in children(expr) if isinstance(child, Expr))


def _warpgroups(func: PrimFunc, wanted: Needed) -> list[_Leading]:
    assert func.launch is not None
    return [_Leading(func, first, wanted) for first in range(0, func.launch.warps, WARPGROUP_WARPS)]


def _has(func: PrimFunc, completion: Completion) -> bool:
    """Return whether a function has an instruction with the given completion mechanism."""
    return any(TABLE[node.op].completion is completion for node in func.nodes if isinstance(node, Call))


def _conditions(loop: Loop) -> tuple[Expr, ...]:
    """Return the expressions that determine a loop's trip count."""
    return (loop.cond,) if isinstance(loop, While) else (loop.start, loop.stop)


def _chooses_lanes(cond: Expr) -> bool:
    """Return whether a condition may select individual lanes of each warp."""
    nodes = list(walk(cond))
    return any(isinstance(node, Call) or (isinstance(node, Special) and node.name == "threadIdx.x") for node in nodes)
