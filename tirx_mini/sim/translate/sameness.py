"""Sameness analysis: the stores whose value does not depend on the executing thread or the order of threads.

Two unordered writes of such values are known to be equal in every run if they are equal in one run: none of their
inputs differs among threads, or changes. The analysis uses only the program, never the data of a run.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import IntEnum
from typing import TypeVar

from tirx_mini.ir import (
    AddressOf,
    Bind,
    Break,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Const,
    Continue,
    Expr,
    For,
    If,
    PrimFunc,
    Span,
    Special,
    Stmt,
    Str,
    Var,
    While,
    children,
)  # fmt: skip
from tirx_mini.isa import LaneResult, instruction_of


class Sameness(IntEnum):
    """The scope within which a value is the same for all threads.

    LAUNCH: in the whole launch: constants, arguments, global memory that the kernel only reads. CTA: in each CTA.
    THREAD: in each thread, in every run. NONE: it depends on memory that the kernel writes, or on the time of
    evaluation.
    """

    LAUNCH = 0
    CTA = 1
    THREAD = 2
    NONE = 3


LAUNCH_SPECIALS = ("gridDim.",)
CTA_SPECIALS = ("blockIdx.", "clusterCtaIdx.", "cluster_ctarank")
THREAD_SPECIALS = ("threadIdx.",)


Key = TypeVar("Key")


class Samenesses:
    """The sameness of values in one lowered function. written: the global buffers that it writes."""

    def __init__(self, func: PrimFunc, written: Collection[Buffer]) -> None:
        self._written = written
        self._vars: dict[Var, Sameness] = {}
        self._exits: dict[Stmt, Sameness] = {}
        addressed = {node.buffer.root for node in func.nodes if isinstance(node, AddressOf)}
        self._locals: dict[Buffer, Sameness] = dict.fromkeys(addressed, Sameness.NONE)
        known = -1
        while known != (known := sum(map(sum, (d.values() for d in (self._vars, self._locals, self._exits))))):
            self._stmt(func.body, Sameness.LAUNCH, None)

    def of(self, expr: Expr) -> Sameness:
        """Return the scope within which the value of an expression is the same."""
        if isinstance(expr, (Const, Str)):
            return Sameness.LAUNCH
        if isinstance(expr, Var):
            return self._vars.get(expr, Sameness.LAUNCH)
        if isinstance(expr, Special):
            if expr.name.startswith(LAUNCH_SPECIALS):
                return Sameness.LAUNCH
            if expr.name.startswith(CTA_SPECIALS):
                return Sameness.CTA
            return Sameness.THREAD if expr.name.startswith(THREAD_SPECIALS) else Sameness.NONE
        own = Sameness.LAUNCH
        if isinstance(expr, BufferLoad):
            if expr.buffer.scope == "local":
                own = self._locals.get(expr.buffer.root, Sameness.LAUNCH)
            elif expr.buffer.scope != "global" or expr.buffer in self._written:
                return Sameness.NONE
            elif any(self.of(index) is Sameness.THREAD for index in expr.indices):
                return Sameness.NONE  # the data of a run may be equal by chance
        elif isinstance(expr, Call):
            entry = instruction_of(expr)
            if entry is None or not entry.pure or entry.lanes is not LaneResult.AS_OPERANDS:
                return Sameness.NONE
        elif isinstance(expr, AddressOf):
            return Sameness.NONE
        return max((own, *(self.of(child) for child in children(expr) if isinstance(child, Expr))))

    def fixed(self, func: PrimFunc) -> frozenset[Span]:
        """Return the locations of memory stores for which each thread writes the same value in every run."""
        stores = [n for n in func.nodes if isinstance(n, BufferStore) and n.buffer.scope != "local" and n.span]
        open_ = {store.span for store in stores if self.of(store.value) is Sameness.NONE}
        return frozenset(store.span for store in stores if store.span is not None and store.span not in open_)

    def _stmt(self, stmt: Stmt, under: Sameness, loop: Stmt | None) -> None:
        """Visit a statement of `loop` whose execution depends on values of sameness `under`."""
        if isinstance(stmt, Bind):
            self._raise(self._vars, stmt.var, self.of(stmt.value))
        elif isinstance(stmt, BufferStore):
            if stmt.buffer.scope == "local":
                value = max(under, self.of(stmt.value), *(self.of(index) for index in stmt.indices))
                self._raise(self._locals, stmt.buffer.root, value)
        elif isinstance(stmt, (If, While)):
            under = max(under, self.of(stmt.cond))
        elif isinstance(stmt, For):
            bounds = max(self.of(stmt.start), self.of(stmt.stop))
            self._raise(self._vars, stmt.var, bounds)
            under = max(under, bounds)
        elif isinstance(stmt, (Break, Continue)) and loop is not None:
            self._raise(self._exits, loop, under)
        if isinstance(stmt, (For, While)):
            loop, under = stmt, max(under, self._exits.get(stmt, Sameness.LAUNCH))
        for child in children(stmt):
            if isinstance(child, Stmt):
                self._stmt(child, under, loop)

    @staticmethod
    def _raise(table: dict[Key, Sameness], key: Key, level: Sameness) -> None:
        table[key] = max(level, table.get(key, Sameness.LAUNCH))
