"""Values that move between the lanes of a warp by shuffles, votes and reductions, from a memory read to a write.

A lane that writes such a value has received it after the reads of the source lanes: no order of the lanes lets the
write come first, although shuffles order no memory (PTX ISA: "shfl.sync").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tirx_mini.ir import (
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Evaluate,
    Expr,
    PrimFunc,
    Span,
    Stmt,
    Var,
    children,
)
from tirx_mini.isa import Scope, instruction_of


def travelled(func: PrimFunc) -> Mapping[Span, frozenset[Span]]:
    """Return the locations of reads whose values reach a write through other lanes, by the location of the write."""
    if not any(isinstance(node, Call) and _crosses(node) for node in func.nodes):
        return {}
    values = _Values(func)
    found: dict[Span, frozenset[Span]] = {}
    for node in func.nodes:
        if isinstance(node, BufferStore) and node.buffer.scope != "local":
            written = node.span, [node.value]
        elif isinstance(node, Evaluate) and (entry := instruction_of(node.call)) and entry.stores_words:
            written = node.call.span or node.span, list(node.call.args[1:])
        else:
            continue
        if written[0] is not None and (reads := values.behind(written[1])):
            found[written[0]] = found.get(written[0], frozenset()) | reads
    return found


def _crosses(call: Call) -> bool:
    """Return whether an instruction exchanges values between lanes."""
    entry = instruction_of(call)
    return entry is not None and entry.pure and entry.issued_by is Scope.WARP and bool(call.args) and not entry.elects


class _Values:
    """The definitions of the values of a lowered function."""

    def __init__(self, func: PrimFunc) -> None:
        self._from: dict[Var | Buffer, list[Stmt]] = {}
        for node in func.nodes:
            if isinstance(node, Bind):
                self._from.setdefault(node.var, []).append(node)
            elif isinstance(node, BufferStore) and node.buffer.scope == "local":
                self._from.setdefault(node.buffer.root, []).append(node)

    def behind(self, roots: list[Expr]) -> frozenset[Span]:
        """Return the locations of memory reads whose values reach `roots` through other lanes."""
        found: set[Span] = set()
        seen: set[tuple[Var | Buffer, bool]] = set()
        todo: list[tuple[Expr, Span | None, bool]] = [(root, None, False) for root in roots]
        while todo:
            expr, place, crossed = todo.pop()
            if isinstance(expr, Call):
                crossed = crossed or _crosses(expr)
            if isinstance(expr, BufferLoad) and expr.buffer.scope != "local" and crossed:
                found.update(span for span in (expr.span, place) if span is not None)
            for source in _sources(expr):
                if (source, crossed) in seen:
                    continue
                seen.add((source, crossed))
                for stmt in self._from.get(source, ()):
                    assert isinstance(stmt, (Bind, BufferStore))
                    at = (stmt.value.span or stmt.span) if isinstance(stmt, Bind) else stmt.span
                    todo.append((stmt.value, at, crossed))
            todo.extend((child, place, crossed) for child in children(expr) if isinstance(child, Expr))
        return frozenset(found)


def _sources(expr: Expr) -> Iterator[Var | Buffer]:
    """Yield the variable or the register buffer that an expression reads."""
    if isinstance(expr, Var):
        yield expr
    elif isinstance(expr, BufferLoad) and expr.buffer.scope == "local":
        yield expr.buffer.root
