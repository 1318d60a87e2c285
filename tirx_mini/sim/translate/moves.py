"""Stores to shared and global memory, and copies between memories.

If the locations of the lanes are a uniform start plus a static pattern, they are passed separately: the machine caches
the facts about a pattern (`machine.timed_access`).
"""

from __future__ import annotations

from typing import Protocol

from tirx_mini.ir import BufferLoad, BufferStore, Expr, Ramp

from .expressions import Expressions
from .sameness import Sameness, Samenesses
from .storage import Storage
from .values import Value
from .writer import Writer


class StatementTranslator(Protocol):
    """The interface of the statement translator."""

    @property
    def out(self) -> Writer: ...
    @property
    def expressions(self) -> Expressions: ...
    @property
    def storage(self) -> Storage: ...
    @property
    def same(self) -> Samenesses: ...


def copied(statements: StatementTranslator, stmt: BufferStore, base: Expr, lanes: int) -> bool:
    """Translate a store of a load as a copy; return False, with nothing emitted, for any other store."""
    load, storage = stmt.value, statements.storage
    if not isinstance(load, BufferLoad) or load.buffer.dtype != stmt.buffer.dtype:
        return False
    place, source = storage.place(stmt.buffer), storage.place(load.buffer)
    if source.kind != "memory":
        return False
    index = load.indices[0]
    dst, moved_to = _place(statements, base)
    src, moved_from = _place(statements, index.base if isinstance(index, Ramp) else index)
    if dst is None or src is None:
        return False
    statements.out.at(stmt.span)
    width = f", {lanes}" if lanes > 1 else ""
    if moved_to and moved_from:
        statements.out.line(f"w.move({place.name}, {moved_to}, {source.name}, {moved_from}{width})")
    else:
        statements.out.line(f"w.copy({place.name}, {dst}, {source.name}, {src}{width})")
    return True


def stored(statements: StatementTranslator, stmt: BufferStore, base: Expr, lanes: int) -> None:
    """Translate a store to memory."""
    place, same = statements.storage.place(stmt.buffer), statements.same.of(stmt.value)
    value = statements.expressions.raw(stmt.value)
    statements.out.at(stmt.span)
    split = statements.expressions.split(base)
    at = statements.expressions.joined(base, *split)
    width = f", {lanes}" if lanes > 1 else ""
    if not value.lanes and same <= Sameness.CTA:
        width = f", {lanes}, {same is Sameness.CTA}"
    elif moved := _start_and_pattern(statements, *split):
        statements.out.line(f"w.put({place.name}, {moved}, {value.code}{width})")
        return
    statements.out.line(f"w.store({place.name}, {at.code}, {value.code}{width})")


def _place(statements: StatementTranslator, index: Expr) -> tuple[str | None, str]:
    """Return the text of a lane-varying index or None, and its start and pattern if it has no other part."""
    split = statements.expressions.split(index)
    whole = statements.expressions.joined(index, *split)
    return whole.code if whole.lanes else None, _start_and_pattern(statements, *split)


def _start_and_pattern(
    statements: StatementTranslator, uniform: Value | None, pattern: Value | None, rest: Value | None
) -> str:
    if rest is not None or pattern is None or not pattern.lanes:
        return ""
    return f"{uniform.code if uniform is not None else 0}, {statements.expressions.ready(pattern).code}"
