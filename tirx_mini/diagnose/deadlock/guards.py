"""The conditions around sites, and the named values that they are computed from."""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import chain

import numpy as np

from tirx_mini.ir import (
    AddressOf,
    Binary,
    Bind,
    Break,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    Const,
    Expr,
    If,
    PrimFunc,
    Select,
    Seq,
    Span,
    Special,
    Stmt,
    Unary,
    Var,
    While,
    walk,
)
from tirx_mini.isa import instructions
from tirx_mini.records import dataclass
from tirx_mini.sim import selected, thread_values


@dataclass(frozen=True)
class Definitions:
    """The named values of a kernel: their expressions, and their values in each thread where these are known.

    once: the values of local variables with a single assignment.
    """

    bound: dict[Var, Expr] = field(default_factory=dict[Var, Expr])
    once: Mapping[Buffer, Expr] = field(default_factory=dict[Buffer, Expr])
    in_threads: dict[Var, np.ndarray | None] = field(default_factory=dict[Var, "np.ndarray | None"])

    @staticmethod
    def of(func: PrimFunc) -> Definitions:
        """Return the definitions of a kernel, of which those of named values are yet to be added."""
        stores: dict[Buffer, list[Expr]] = {}
        for store in func.of(BufferStore):
            if store.buffer.scalar and store.buffer.scope == "local":
                stores.setdefault(store.buffer, []).append(store.value)
        named = {node.buffer for node in func.of(AddressOf)}
        return Definitions(once={b: values[0] for b, values in stores.items() if len(values) == 1 and b not in named})

    def add(self, bind: Bind, warps: int) -> None:
        """Record a definition, after those of the values that it is computed from."""
        self.bound[bind.var] = bind.value
        self.in_threads[bind.var] = self.values(bind.value, warps)

    def values(self, expr: Expr, warps: int) -> np.ndarray | None:
        """Return the value of an expression in each thread, as `thread_values`."""
        return thread_values(expr, warps, self.in_threads.get)

    def behind(self, expr: Expr) -> Iterator[object]:
        """Yield the nodes of an expression and of the definitions of its variables."""
        return behind([expr], self.bound)


@dataclass(frozen=True)
class Guard:
    """A condition around a site. holds: whether the site is in the true arm."""

    cond: Expr
    holds: bool
    span: Span | None
    definitions: Definitions = field(default_factory=Definitions, repr=False, compare=False)

    @property
    def text(self) -> str:
        """The condition as it was written."""
        written = source_text(self.cond.span or self.span) or repr(self.cond)
        return written if self.holds else f"not ({written})"

    def threads(self, warps: int) -> np.ndarray:
        """Return bool[warps, 32]: the threads that may pass the guard."""
        holds, fails = selected(self.cond, warps, self.definitions.in_threads.get, self.definitions.bound)
        return holds if self.holds else fails

    @property
    def known(self) -> bool:
        """Return whether the guard depends only on thread indices."""
        nodes = self.definitions.behind(self.cond)
        return self.elects or not any(isinstance(node, (BufferLoad, Call)) or _of_cta(node) for node in nodes)

    def of_threads(self, warps: int) -> bool:
        """Return whether the thread index alone decides, in every CTA and in every round."""
        return self.elects or self.definitions.values(self.cond, warps) is not None

    def of_all_rounds(self, warps: int) -> bool:
        """Return whether the guard depends only on the thread and the CTA, and therefore not on the round."""
        nodes = self.definitions.behind(self.cond)
        return self.of_threads(warps) or not any(isinstance(node, (BufferLoad, Call, Var)) for node in nodes)

    @property
    def elects(self) -> bool:
        """Return whether the guard is elect.sync, which passes one thread of each warp."""
        return self.holds and any(entry.elects for entry in instructions(self.cond))


def guards_of(cond: Expr, holds: bool, span: Span | None, definitions: Definitions) -> Sequence[Guard]:
    """Return the guards of an arm: each condition that it needs, where these have names of their own."""
    inner, meant, own = cond, holds, Guard(cond, holds, span, definitions)
    while True:
        if isinstance(inner, Unary) and inner.op == "not":
            inner, meant = inner.value, not meant
        elif isinstance(inner, Var) and inner in definitions.bound:
            inner = definitions.bound[inner]
        elif isinstance(inner, BufferLoad) and inner.buffer in definitions.once:
            inner = definitions.once[inner.buffer]
            own = Guard(inner, meant, inner.span or span, definitions)
        elif (chosen := _chosen(inner, definitions)) is not None:
            inner, meant = chosen[0], meant == chosen[1]
        else:
            break
    if isinstance(inner, Call):
        return (Guard(inner, meant, inner.span or span, definitions),)
    if inner is cond or not isinstance(inner, Binary) or inner.op != ("and" if meant else "or"):
        return (own,)
    parts = (guards_of(part, meant, part.span or span, definitions) for part in (inner.a, inner.b))
    return tuple(chain.from_iterable(parts))


def _chosen(cond: Expr, definitions: Definitions) -> tuple[Expr, bool] | None:
    """Return the condition that a test of a number is about, as in `(1 if c else 0) == 0`, and if it is its truth."""
    if not isinstance(cond, Binary) or cond.op not in ("==", "!=") or not isinstance(cond.b, Const):
        return None
    number = cond.a
    while isinstance(number, Cast) or (isinstance(number, Var) and number in definitions.bound):
        number = number.value if isinstance(number, Cast) else definitions.bound[number]
    if not (isinstance(number, Select) and isinstance(number.a, Const) and isinstance(number.b, Const)):
        return None
    yes, no = (side.value == cond.b.value for side in (number.a, number.b))
    return None if yes == no else (number.cond, yes == (cond.op == "=="))


def begins_loop(guard: Guard, arm: Stmt | None) -> bool:
    """Return whether a guard tests, before the first iteration, what a loop in its arm tests after each one.

    A compiler makes this of a loop that tests at its start: the condition is the loop's, and no guard.
    """
    tested = _scalars(guard.cond, guard.definitions.bound)
    inside = arm.stmts if isinstance(arm, Seq) else (arm,)
    return bool(tested) and any(tested <= ended_by(loop) for loop in inside if isinstance(loop, While))


def ended_by(loop: While) -> set[Buffer]:
    """Return the local variables that the test at the end of a loop depends on."""
    body = loop.body.stmts if isinstance(loop.body, Seq) else (loop.body,)
    last = body[-1]
    if not isinstance(last, If) or not isinstance(last.then, Break):
        return set()
    return _scalars(last.cond, {each.var: each.value for each in body if isinstance(each, Bind)})


def _scalars(expr: Expr, bound: Mapping[Var, Expr]) -> set[Buffer]:
    return {node.buffer for node in behind([expr], bound) if isinstance(node, BufferLoad) and node.buffer.scalar}


def _of_cta(node: object) -> bool:
    """Return whether a value differs between CTAs."""
    return isinstance(node, Special) and node.name not in ("threadIdx.x", "warp_id_in_cta")


def behind(exprs: Iterable[Expr], bound: Mapping[Var, Expr]) -> Iterator[object]:
    """Yield the nodes of expressions and, once each, of the definitions of their variables."""
    stack: list[Expr] = list(exprs)
    seen: set[Var] = set()
    while stack:
        for node in walk(stack.pop()):
            if isinstance(node, Var) and node in bound:
                if node not in seen:
                    seen.add(node)
                    stack.append(bound[node])
            else:
                yield node


def source_text(span: Span | None) -> str:
    """Return the text of a span within one line, or ""."""
    if span is None:
        return ""
    line = linecache.getline(span.file, span.line)
    same_line = span.end_line in (0, span.line) and span.end_column > span.column
    return line[span.column : span.end_column].strip() if same_line else line.strip()
