"""Who executes which instruction of a lowered kernel, read off its code: for pictures of roles and of tensor memory."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tirx_mini.ir import (
    UNROLLED,
    Binary,
    BufferLoad,
    Call,
    Cast,
    Const,
    Expr,
    For,
    If,
    PrimFunc,
    Seq,
    Special,
    Stmt,
    Var,
    While,
    walk,
)
from tirx_mini.isa import Instruction, instruction_of

Value = int | np.ndarray | None
"""The value of an expression: the same in all lanes, one for each lane, or unknown."""

_BINARY: Mapping[str, Callable[..., Value]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "<<": operator.lshift, ">>": operator.rshift, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


@dataclass(frozen=True)
class Executed:
    """An instruction as one warp executes it.

    entry: of the table. lanes: how many of its lanes execute it. operands: the values of its operands that follow
    from the warp alone, by name; None for others.
    """

    warp: int
    entry: Instruction
    call: Call
    lanes: int
    operands: Mapping[str, Value]


def executed(func: PrimFunc) -> Iterator[Executed]:
    """The instructions of a lowered kernel for each warp of the first CTA of a cluster, in program order.

    Conditions are decided where they depend on the warp and the lane only; any other is taken to hold, and so is that
    of each loop. An elected lane counts as lane 0, and allocated tensor memory begins at address 0.
    """
    assert func.launch is not None
    for warp in range(func.launch.warps):
        yield from _Reader(warp).read(func.body, np.ones(32, bool), {})


@dataclass(frozen=True)
class _Reader:
    warp: int

    def read(self, stmt: Stmt, lanes: np.ndarray, names: Mapping[Var, int]) -> Iterator[Executed]:
        """What these lanes execute of a statement. names: the values of loop variables."""
        if isinstance(stmt, Seq):
            for inner in stmt.stmts:
                yield from self.read(inner, lanes, names)
        elif isinstance(stmt, If):
            yield from self._branches(stmt, lanes, names)
        elif isinstance(stmt, For):
            for index in self._iterations(stmt, names):
                yield from self.read(stmt.body, lanes, names if index is None else {**names, stmt.var: index})
        elif isinstance(stmt, While):
            yield from self.read(stmt.body, lanes, names)
        else:
            yield from self._calls(stmt, lanes, names)

    def _iterations(self, stmt: For, names: Mapping[Var, int]) -> Iterable[int | None]:
        """The values of the variable of an unrolled loop; None once for any other."""
        start, stop = self.value(stmt.start, names), self.value(stmt.stop, names)
        if stmt.kind == UNROLLED and isinstance(start, int) and isinstance(stop, int):
            return range(start, stop, stmt.step)
        return (None,)

    def _branches(self, stmt: If, lanes: np.ndarray, names: Mapping[Var, int]) -> Iterator[Executed]:
        yield from self._calls(stmt.cond, lanes, names)
        holds = self.value(stmt.cond, names)
        then = lanes if holds is None else lanes & np.broadcast_to(holds, 32).astype(bool)
        orelse = lanes if holds is None else lanes & ~np.broadcast_to(holds, 32).astype(bool)
        if then.any():
            yield from self.read(stmt.then, then, names)
        if stmt.orelse is not None and orelse.any():
            yield from self.read(stmt.orelse, orelse, names)

    def _calls(self, node: Stmt | Expr, lanes: np.ndarray, names: Mapping[Var, int]) -> Iterator[Executed]:
        for call in walk(node):
            entry = instruction_of(call)
            if entry is not None and isinstance(call, Call):
                fixed = [operand for operand in entry.operands if not operand.variadic]
                values = {o.name: self.value(arg, names) for o, arg in zip(fixed, call.args, strict=False)}
                yield Executed(self.warp, entry, call, int(lanes.sum()), values)

    def value(self, expr: Expr, names: Mapping[Var, int]) -> Value:
        """The value of an expression in the lanes of the warp; None where something else decides it."""
        if isinstance(expr, Const):
            return int(expr.value)
        if isinstance(expr, Cast):
            return self.value(expr.value, names)
        if isinstance(expr, Special):
            return self._special(expr.name)
        if isinstance(expr, Var):
            return names.get(expr)
        if isinstance(expr, Call):
            entry = instruction_of(expr)
            return np.arange(32) == 0 if entry is not None and entry.elects else None
        if isinstance(expr, BufferLoad):
            return 0 if expr.buffer.name == "tmem_addr" else None
        if isinstance(expr, Binary) and expr.op in _BINARY:
            a, b = self.value(expr.a, names), self.value(expr.b, names)
            return None if a is None or b is None else _BINARY[expr.op](a, b)
        return None

    def _special(self, name: str) -> Value:
        if name == "warp_id_in_cta":
            return self.warp
        if name == "threadIdx.x":
            return self.warp * 32 + np.arange(32)
        return 0 if name in ("clusterCtaIdx.x", "cluster_ctarank") else None
