"""Memoised series of MMAs: loops of nothing but MMAs, mostly over the parts of a K tile.

The operands of such a series depend on a few loop-invariant values: the descriptors of a stage, and whether the product
is the first of a tile. These values form the memoisation key. A run without data issues the series of `engines.wgmma`
at once, and a partial run also those of `engines.tcgen05`. Any other run executes the loop only for the issue times of
the MMAs.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Protocol

from tirx_mini.ir import (
    AddressOf,
    Buffer,
    BufferLoad,
    Call,
    Const,
    Evaluate,
    Expr,
    For,
    Hint,
    Seq,
    Stmt,
    Var,
    While,
    children,
    int_value,
    walk,
)
from tirx_mini.isa import TABLE, Completion

from .calls import Calls
from .expressions import Expressions, flat_index
from .storage import Storage
from .writer import Writer

MMAS = (Completion.WGMMA_GROUP, Completion.COMMIT)


class StatementTranslator(Protocol):
    """The interface of the statement translator. data: whether the run has data. bursts: whether tcgen05 MMAs are
    issued in bursts."""

    data: bool
    bursts: bool

    @property
    def out(self) -> Writer: ...
    @property
    def expressions(self) -> Expressions: ...
    @property
    def storage(self) -> Storage: ...
    @property
    def calls(self) -> Calls: ...
    def plain_for(self, stmt: For) -> None:
        """Translate a loop without memoisation."""
        ...


def series_of(loop: For) -> Completion | None:
    """Return the completion mechanism of the MMAs in a loop of known length; None for a loop with other effects."""
    stmts = list(_stmts(loop))
    if int_value(loop.start) is None or int_value(loop.stop) is None:
        return None
    if not all(isinstance(stmt, Evaluate) or _is_block(stmt) for stmt in stmts):
        return None
    found = {TABLE[stmt.call.op].completion for stmt in stmts if isinstance(stmt, Evaluate)}
    return next((each for each in MMAS if found == {each}), None)


def accumulators(loop: For | While) -> tuple[Buffer, ...]:
    """Return the accumulator registers of a series of MMAs."""
    places = (node.buffer for node in walk(loop.body) if isinstance(node, AddressOf) and node.buffer.scope == "local")
    return tuple(dict.fromkeys(places))


def what_it_depends_on(loop: For, scopes: Container[str]) -> tuple[Expr, ...] | None:
    """Return the maximal loop-invariant subexpressions of the operands of a loop's MMAs.

    Returns None if the loop has other effects, reads memory outside the given scopes, or indexes an array by its own
    variable.
    """
    inner = {stmt.var for stmt in _stmts(loop) if isinstance(stmt, For)}
    found: list[Expr] = []
    for stmt in _stmts(loop):
        if not isinstance(stmt, Evaluate):
            continue
        for node in walk(stmt.call):
            if isinstance(node, BufferLoad) and (node.buffer.scope not in scopes or _depends_on(node, inner)):
                return None
            if isinstance(node, Call) and node is not stmt.call:
                return None
        for argument in stmt.call.args:
            found += _unchanged(argument, inner)
    return tuple(dict.fromkeys(found))


def as_series(to: StatementTranslator, loop: For) -> bool:
    """Translate a loop of MMAs with a memoised and a plain version; return False for any other loop."""
    kind = series_of(loop)
    if kind is None or to.calls.times:
        return False
    bursts = kind is Completion.WGMMA_GROUP or to.bursts
    key = _key(to, loop, kind, to.data or not bursts)
    if key is None:
        return False
    if not bursts:
        _for_times(to, loop, key)
        return True
    return _at_once(to, loop, key, "w.wgmma" if kind is Completion.WGMMA_GROUP else "w.gpu.tensor")


def _key(to: StatementTranslator, loop: For, kind: Completion, plain: bool) -> str | None:
    """Return the text of the memoisation key of a series, a tuple; None if no key exists.

    plain: whether the key must be evaluated without side effects.
    """
    scopes = ("local", "shared") if kind is Completion.COMMIT else ("local",)
    parts = what_it_depends_on(loop, scopes)
    if parts is None or (plain and not all(_is_plain(node, to.storage) for part in parts for node in walk(part))):
        return None
    with to.out.free(), to.storage.peeking():
        values = [to.expressions.value(part) for part in parts]
    if any(value.lanes for value in values):
        return None
    return f"({''.join(f'{code}, ' for code in (to.out.object('K', loop), *(value.code for value in values)))})"


def _for_times(to: StatementTranslator, loop: For, key: str) -> None:
    """Emit memoised MMAs, whose loop is executed only for their issue times."""
    times = to.out.fresh("times")
    to.out.settle()
    to.out.line(f"{times} = w.cta.cluster.order.shortcut(w.gpu.series, w, {key})")
    with to.out.block(f"if {times} is not None:"):
        to.calls.times = times
        with to.storage.spending():
            to.plain_for(loop)
        to.calls.times = ""
    with to.out.block("else:"):
        to.plain_for(loop)
        to.out.settle()
        to.out.line("w.gpu.tensor.learn_series(w)")


def _at_once(to: StatementTranslator, loop: For, key: str, engine: str) -> bool:
    """Emit MMAs that are issued at once if memoised; return False if their registers are unknown."""
    places = [to.storage.place(buffer) for buffer in accumulators(loop)]
    if any(place.kind != "array" for place in places):
        return False
    to.out.settle()
    arrays = "".join(f"{place.name}, " for place in places)
    operands, warp = (f", ({arrays})", "") if places else ("", "w, ")
    with to.out.block(f"if not w.cta.cluster.order.shortcut({engine}.again, {warp}{key}{operands}):"):
        to.plain_for(loop)
        to.out.settle()
        to.out.line(f"{engine}.learn({warp.rstrip(', ')})")
    return True


def _is_plain(node: object, storage: Storage) -> bool:
    """Return whether a value can be read without side effects or checks."""
    if not isinstance(node, BufferLoad):
        return True
    if node.buffer.scope == "local":
        return storage.place(node.buffer).kind == "scalar"
    return int_value(flat_index(node, node.buffer)) is not None


def _stmts(stmt: Stmt) -> Iterator[Stmt]:
    return (node for node in walk(stmt) if isinstance(node, Stmt))


def _is_block(stmt: Stmt) -> bool:
    return isinstance(stmt, (Seq, Hint)) or (
        isinstance(stmt, For) and int_value(stmt.start) is not None and int_value(stmt.stop) is not None
    )


def _depends_on(expr: Expr, variables: set[Var]) -> bool:
    return any(node in variables for node in walk(expr) if isinstance(node, Var))


def _unchanged(expr: Expr, inner: set[Var]) -> list[Expr]:
    if isinstance(expr, Const):
        return []
    if not isinstance(expr, AddressOf) and not _depends_on(expr, inner):
        return [expr]
    return [part for child in children(expr) if isinstance(child, Expr) for part in _unchanged(child, inner)]
