"""Random lowered programs over scalars: branches that part a warp, loops that lanes leave one by one, arrays."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tirx_mini.ir import (
    AllocBuffer,
    Binary,
    Bind,
    Break,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Continue,
    DataType,
    Expr,
    For,
    If,
    Launch,
    PrimFunc,
    Stmt,
    Unary,
    Var,
    While,
    binary,
    cast,
    const,
    scalar,
    select,
    seq,
    special,
    unary,
)

CTAS, THREADS, SLOTS = 2, 64, 8
BOOL = DataType("bool")
INT = DataType("int32")


class Scope:
    """The names of one program, and how deep in loops the strategy is."""

    def __init__(self) -> None:
        self.scalars = [scalar(f"s{i}", "int32") for i in range(3)] + [scalar("u", "uint32")]
        self.array = Buffer("array", (4,), INT, "local")
        self.out = Buffer("out", (CTAS * THREADS * SLOTS,), DataType("int64"))
        self.vars: list[Var] = []
        self.counters: list[Buffer] = []


def slot(number: int) -> Expr:
    """The index of a slot of the executing thread's own."""
    return (special("blockIdx.x") * THREADS + special("threadIdx.x")) * SLOTS + number


def load(buffer: Buffer, index: Expr | int = 0) -> BufferLoad:
    return BufferLoad(buffer.dtype, buffer, (index if isinstance(index, Expr) else const(index),))


def store(buffer: Buffer, value: Expr, index: Expr | int = 0) -> BufferStore:
    at = index if isinstance(index, Expr) else const(index)
    return BufferStore(buffer, (at,), cast(buffer.dtype, value))


@st.composite
def expressions(draw: Any, scope: Scope, depth: int) -> Expr:
    """An int32 expression."""
    leaves = ["const", "tid", "warp", "block", "scalar", "array", *(["var"] if scope.vars else [])]
    kind = draw(st.sampled_from(leaves if depth == 0 else [*leaves, "op", "op", "op", "select", "unary"]))
    if kind == "const":
        return const(draw(st.integers(-5, 70) | st.sampled_from([2**31 - 1, -(2**31), 65536])))
    if kind in ("tid", "warp", "block"):
        return special({"tid": "threadIdx.x", "warp": "warp_id_in_cta", "block": "blockIdx.x"}[kind])
    if kind == "scalar":
        return cast(INT, load(draw(st.sampled_from(scope.scalars))))
    if kind == "array":
        return load(scope.array, draw(expressions(scope, 0)) & 3)
    if kind == "var":
        return draw(st.sampled_from(scope.vars))
    a = draw(expressions(scope, depth - 1))
    if kind == "unary":
        return unary(draw(st.sampled_from(["-", "~"])), a)
    b = draw(expressions(scope, depth - 1))
    if kind == "select":
        return select(draw(conditions(scope, depth - 1)), a, b)
    op = draw(st.sampled_from(["+", "-", "*", "//", "%", "<<", ">>", "&", "|", "^", "min", "max"]))
    if op in ("//", "%"):
        b = const(draw(st.sampled_from([1, 2, 3, 7, 32, -3])))
    elif op in ("<<", ">>"):
        b = const(draw(st.integers(0, 5)))
    if draw(st.booleans()) and op not in ("-", "//", "%"):
        return cast(INT, binary(op, cast("uint32", a), cast("uint32", b)))
    return binary(op, a, b)


@st.composite
def conditions(draw: Any, scope: Scope, depth: int, converged: bool = False) -> Expr:
    """A condition; elect.sync may be in it where the warp has converged."""
    kinds = [
        "compare",
        "compare",
        "compare",
        *(["and", "or", "not"] if depth else []),
        *(["elect"] if converged else []),
    ]
    kind = draw(st.sampled_from(kinds))
    if kind == "elect":
        return Call(BOOL, "elect.sync", ())
    if kind in ("and", "or"):
        a, b = draw(conditions(scope, depth - 1, converged)), draw(conditions(scope, depth - 1))
        return Binary(BOOL, kind, a, b)
    if kind == "not":
        return Unary(BOOL, "not", draw(conditions(scope, depth - 1, converged)))
    op = draw(st.sampled_from(["==", "!=", "<", "<=", ">", ">="]))
    return Binary(BOOL, op, draw(expressions(scope, max(0, depth))), draw(expressions(scope, 0)))


@st.composite
def statements(draw: Any, scope: Scope, depth: int, in_loop: bool, parted: bool) -> Stmt:
    """One statement. parted: whether a mask may be narrowed here, so that elect.sync is not allowed."""
    kinds = ["assign", "assign", "element", "out", *(["bind"] if depth else [])]
    if depth:
        kinds += ["if", "if", "for", "while", "ragged"]
    if in_loop:
        kinds += ["leave"]
    kind = draw(st.sampled_from(kinds))
    if kind == "assign":
        return store(draw(st.sampled_from(scope.scalars)), draw(values(scope)))
    if kind == "element":
        return store(scope.array, draw(values(scope)), draw(expressions(scope, 0)) & 3)
    if kind == "bind":
        var = Var(INT, f"v{len(scope.vars)}")
        bound = Bind(var, draw(values(scope)))
        following = draw(blocks(scope, depth - 1, in_loop, parted, extra=var))
        return seq(bound, following)
    if kind == "out":
        return store(scope.out, draw(values(scope)), slot(6))
    if kind == "leave":
        leave = Break() if draw(st.booleans()) else Continue()
        return If(draw(conditions(scope, 1)), leave)
    if kind == "if":
        cond = draw(conditions(scope, 1, not parted))
        orelse = draw(blocks(scope, depth - 1, in_loop, True)) if draw(st.booleans()) else None
        return If(cond, draw(blocks(scope, depth - 1, in_loop, True)), orelse)
    if kind == "for":
        var = Var(INT, f"i{len(scope.vars)}")
        stop = const(draw(st.integers(0, 4))) if draw(st.booleans()) else special("threadIdx.x") % 3
        return For(var, const(0), stop, draw(blocks(scope, depth - 1, True, True, extra=var)))
    counter = scalar(f"c{len(scope.counters)}", "int32")
    scope.counters.append(counter)
    start = special("threadIdx.x") % 4 if kind == "ragged" else const(0)
    body = seq(store(counter, load(counter) + 1), draw(blocks(scope, depth - 1, True, True)))
    limit = const(draw(st.integers(0, 4)))
    return seq(store(counter, start), While(Binary(BOOL, "<", load(counter), limit), body))


def values(scope: Scope) -> st.SearchStrategy[Expr]:
    return expressions(scope, 2)


@st.composite
def blocks(draw: Any, scope: Scope, depth: int, in_loop: bool, parted: bool, extra: Var | None = None) -> Stmt:
    if extra is not None:
        scope.vars.append(extra)
    stmts = draw(st.lists(statements(scope, depth, in_loop, parted), min_size=1, max_size=4))
    if extra is not None:
        scope.vars.pop()
    return seq(*stmts)


@st.composite
def programs(draw: Any) -> PrimFunc:
    """A lowered kernel of two warps whose threads only write their own slots of `out`."""
    scope = Scope()
    init: list[Stmt] = [AllocBuffer(b) for b in (*scope.scalars, scope.array)]
    for buffer in scope.scalars:
        init.append(store(buffer, draw(st.sampled_from([const(3), special("threadIdx.x"), special("warp_id_in_cta")]))))
    init += [store(scope.array, const(i * 7 - 3), i) for i in range(4)]
    body = draw(blocks(scope, 3, False, False))
    out = [store(scope.out, load(b), slot(i)) for i, b in enumerate(scope.scalars)]
    out += [store(scope.out, load(scope.array, i), slot(4 + i)) for i in (0, 3)]
    counters = [AllocBuffer(b) for b in scope.counters]
    return PrimFunc("random", (scope.out,), seq(*init, *counters, body, *out), launch=Launch((CTAS, 1, 1), THREADS))
