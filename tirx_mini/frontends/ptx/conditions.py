"""Simplification of conditions: elect.sync results become branch conditions, and unused values are removed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tirx_mini.ir import (
    BOOL,
    Binary,
    Bind,
    Call,
    Cast,
    Const,
    Expr,
    If,
    Mutator,
    PrimFunc,
    Select,
    Seq,
    Special,
    Stmt,
    Unary,
    Var,
    as_bool,
    const,
    seq,
    statements,
    unary,
    walk,
)
from tirx_mini.isa import instruction_of

_DEEPEST = 12
_OF_THREADS = ("threadIdx.x",)
Bound = Mapping[Var, Expr]


def with_elections(func: PrimFunc) -> PrimFunc:
    """Return the kernel with elect.sync results substituted into the branch conditions that test them."""
    bound = {each.var: each.value for each in statements(func.body) if isinstance(each, Bind)}
    if not any(_elects(value) for value in bound.values()):
        return func
    return without_unused(func.with_body(_Branches(bound).stmt(func.body)))


def without_unused(func: PrimFunc) -> PrimFunc:
    """Remove values without uses from a kernel."""
    binds = {bind.var: bind for bind in func.of(Bind)}
    reads = Counter(func.of(Var))
    todo = [var for var in binds if not reads[var] and _is_free(binds[var].value)]
    gone: set[Bind] = set()
    while todo:
        bind = binds[todo.pop()]
        gone.add(bind)
        for node in walk(bind.value):
            if isinstance(node, Var):
                reads[node] -= 1
                if not reads[node] and node in binds and _is_free(binds[node].value):
                    todo.append(node)
    return func.with_body(_Without(gone).stmt(func.body)) if gone else func


def _is_free(value: Expr) -> bool:
    """Return whether computing a value has no side effects, counting elect.sync as pure."""
    return all(_elects(node) for node in walk(value) if isinstance(node, Call))


def _elects(expr: object) -> bool:
    entry = instruction_of(expr) if isinstance(expr, Call) else None
    return entry is not None and entry.elects


class _Statements(Mutator):
    """Rebuilds statements, and keeps their expressions."""

    def expr(self, node: Expr) -> Expr:
        return node


class _Without(_Statements):
    def __init__(self, gone: set[Bind]) -> None:
        self.gone = gone

    def visit_Bind(self, node: Bind) -> Stmt:
        return Seq(()) if node in self.gone else node


class _Branches(_Statements):
    """Substitutes the defining expressions into branch conditions."""

    def __init__(self, bound: Bound) -> None:
        self.bound = bound

    def visit_If(self, node: If) -> Stmt:
        made = self.rebuild(node)
        assert isinstance(made, If)
        cond = self._full(made.cond, 0)
        if cond is None:
            return made
        if isinstance(cond, Unary) and cond.op == "not" and _elects(cond.value):
            return If(cond.value, made.orelse or seq(), made.then, span=made.span) if made.orelse is not None else made
        if _elects(cond):
            return If(cond, made.then, made.orelse, span=made.span)
        return self._joined(made, cond)

    def _joined(self, made: If, cond: Expr) -> Stmt:
        """Split a branch on an election and a warp-uniform condition into two nested branches."""
        if isinstance(cond, Binary) and cond.op == "and" and made.orelse is None:
            for first, second in ((cond.a, cond.b), (cond.b, cond.a)):
                if _elects(second) and self._is_uniform(first, 0):
                    return If(first, If(second, made.then, span=made.span), span=made.span)
        return made

    def _is_uniform(self, expr: Expr, depth: int) -> bool:
        """Return whether a value depends only on constants, CTA indices and warp indices."""
        if isinstance(expr, Var):
            return depth < _DEEPEST and expr in self.bound and self._is_uniform(self.bound[expr], depth + 1)
        if isinstance(expr, Special):
            return expr.name not in _OF_THREADS
        if isinstance(expr, Const):
            return True
        if isinstance(expr, (Binary, Unary, Cast, Select)):
            parts = [expr.a, expr.b] if isinstance(expr, Binary) else []
            parts += [expr.value] if isinstance(expr, (Unary, Cast)) else []
            parts += [expr.cond, expr.a, expr.b] if isinstance(expr, Select) else []
            return all(self._is_uniform(part, depth) for part in parts)
        return False

    def _full(self, expr: Expr, depth: int) -> Expr | None:
        """Expand a condition derived from elect.sync to its full expression, or return None for any other condition."""
        if depth > _DEEPEST:
            return None
        if _elects(expr):
            return expr
        if isinstance(expr, Var):
            return self._full(self.bound[expr], depth + 1) if expr in self.bound else None
        if isinstance(expr, Unary) and expr.op == "not":
            inner = self._full(expr.value, depth + 1)
            return None if inner is None else _negated(inner)
        if isinstance(expr, Binary) and expr.op in ("==", "!="):
            return self._compared(expr, depth)
        if isinstance(expr, Binary) and expr.op in ("and", "or"):
            a, b = self._full(expr.a, depth + 1), self._full(expr.b, depth + 1)
            if a is None and b is None:
                return None
            return Binary(BOOL, expr.op, expr.a if a is None else a, expr.b if b is None else b)
        return None

    def _compared(self, expr: Binary, depth: int) -> Expr | None:
        """Expand a comparison between a select that encodes a condition and a constant."""
        chosen, number = self._choice(expr.a, depth), expr.b
        if chosen is None or not isinstance(number, Const):
            return None
        yes, no = (isinstance(side, Const) and side.value == number.value for side in (chosen.a, chosen.b))
        if yes == no or not (isinstance(chosen.a, Const) and isinstance(chosen.b, Const)):
            return None
        inner = self._full(chosen.cond, depth + 1)
        if inner is None:
            return None
        return inner if yes == (expr.op == "==") else _negated(inner)

    def _choice(self, expr: Expr, depth: int) -> Select | None:
        """Return the select expression that defines a number, or None."""
        while depth < _DEEPEST:
            if isinstance(expr, Select):
                return expr
            if isinstance(expr, Var) and expr in self.bound:
                expr = self.bound[expr]
            elif isinstance(expr, Cast):
                expr = expr.value
            else:
                return None
            depth += 1
        return None


def _negated(expr: Expr) -> Expr:
    if isinstance(expr, Binary) and expr.op in ("and", "or"):
        return Binary(BOOL, "or" if expr.op == "and" else "and", _negated(expr.a), _negated(expr.b))
    if isinstance(expr, Const):
        return const(not expr.value)
    return unary("not", as_bool(expr))
