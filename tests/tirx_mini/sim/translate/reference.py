"""A plain interpreter of lowered scalar code, one thread after the other: what the translator is compared with."""

from __future__ import annotations

from typing import Any

import numpy as np

from tirx_mini.ir import (
    AllocBuffer,
    Binary,
    Bind,
    Break,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    Const,
    Continue,
    Expr,
    For,
    If,
    PrimFunc,
    Select,
    Seq,
    Special,
    Stmt,
    Unary,
    Var,
    While,
    wrap,
)


class Leave(Exception):
    def __init__(self, for_good: bool) -> None:
        self.for_good = for_good


class Thread:
    """One thread of one CTA; `memory` is shared by all."""

    def __init__(self, memory: dict[Buffer, np.ndarray], tid: int, block: tuple[int, int, int]) -> None:
        self.memory = memory
        self.local: dict[Buffer, dict[int, Any]] = {}
        self.vars: dict[Var, Any] = {}
        self.specials = {"threadIdx.x": tid, "warp_id_in_cta": tid >> 5}
        self.specials |= {f"blockIdx.{axis}": block[i] for i, axis in enumerate("xyz")}
        self.elected = tid % 32 == 0

    # -- statements

    def run(self, stmt: Stmt | None) -> None:
        if stmt is not None:
            getattr(self, f"_{type(stmt).__name__}")(stmt)

    def _Seq(self, stmt: Seq) -> None:
        for child in stmt.stmts:
            self.run(child)

    def _Bind(self, stmt: Bind) -> None:
        self.vars[stmt.var] = self.value(stmt.value)

    def _AllocBuffer(self, stmt: AllocBuffer) -> None:
        self.local[stmt.buffer] = {}

    def _BufferStore(self, stmt: BufferStore) -> None:
        index, value = self.value(stmt.indices[0]), self.value(stmt.value)
        if stmt.buffer.scope == "local":
            self.local[stmt.buffer][index] = value
        else:
            self.memory[stmt.buffer].reshape(-1)[index] = value

    def _If(self, stmt: If) -> None:
        self.run(stmt.then if self.value(stmt.cond) else stmt.orelse)

    def _For(self, stmt: For) -> None:
        for i in range(self.value(stmt.start), self.value(stmt.stop), stmt.step):
            self.vars[stmt.var] = i
            if self._iteration(stmt.body):
                break

    def _While(self, stmt: While) -> None:
        while self.value(stmt.cond):
            if self._iteration(stmt.body):
                break

    def _iteration(self, body: Stmt) -> bool:
        try:
            self.run(body)
        except Leave as leave:
            return leave.for_good
        return False

    def _Break(self, stmt: Break) -> None:
        raise Leave(True)

    def _Continue(self, stmt: Continue) -> None:
        raise Leave(False)

    # -- expressions

    def value(self, expr: Expr) -> Any:
        return getattr(self, f"_{type(expr).__name__}")(expr)

    def _Const(self, expr: Const) -> Any:
        return expr.value

    def _Var(self, expr: Var) -> Any:
        return self.vars[expr]

    def _Special(self, expr: Special) -> Any:
        return self.specials[expr.name]

    def _Call(self, expr: Call) -> Any:
        assert expr.op == "elect.sync"
        return self.elected

    def _Binary(self, expr: Binary) -> Any:
        a = self.value(expr.a)
        if expr.op == "and":
            return bool(a) and bool(self.value(expr.b))
        if expr.op == "or":
            return bool(a) or bool(self.value(expr.b))
        b = self.value(expr.b)
        results = {
            "+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "//": lambda: a // b, "%": lambda: a % b,
            "<<": lambda: a << b, ">>": lambda: a >> b, "&": lambda: a & b, "|": lambda: a | b, "^": lambda: a ^ b,
            "min": lambda: min(a, b), "max": lambda: max(a, b), "==": lambda: a == b, "!=": lambda: a != b,
            "<": lambda: a < b, "<=": lambda: a <= b, ">": lambda: a > b, ">=": lambda: a >= b,
        }  # fmt: skip
        result = results[expr.op]()
        return wrap(result, expr.dtype) if expr.dtype.is_integer else result

    def _Unary(self, expr: Unary) -> Any:
        value = self.value(expr.value)
        if expr.op == "not":
            return not value
        return wrap(-value if expr.op == "-" else ~value, expr.dtype)

    def _Cast(self, expr: Cast) -> Any:
        return wrap(int(self.value(expr.value)), expr.dtype)

    def _Select(self, expr: Select) -> Any:
        return self.value(expr.a if self.value(expr.cond) else expr.b)

    def _BufferLoad(self, expr: BufferLoad) -> Any:
        index = self.value(expr.indices[0])
        if expr.buffer.scope == "local":
            return self.local[expr.buffer][index]
        return int(self.memory[expr.buffer].reshape(-1)[index])


def run_reference(func: PrimFunc, arrays: list[np.ndarray]) -> None:
    """Execute a lowered function whose threads do not communicate; writes the arrays in place."""
    assert func.launch is not None
    buffers = [param for param in func.params if isinstance(param, Buffer)]
    memory = dict(zip(buffers, arrays, strict=True))
    grid = func.launch.grid
    for z in range(grid[2]):
        for y in range(grid[1]):
            for x in range(grid[0]):
                for tid in range(func.launch.threads):
                    Thread(memory, tid, (x, y, z)).run(func.body)
