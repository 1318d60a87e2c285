"""States that are advanced twice in a row, so that a tile or a round is skipped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tirx_mini.ir import Buffer, BufferLoad, BufferStore, Hint, PrimFunc, Seq, Span, Stmt, walk

from ..kind import Notes


def state_notes(func: PrimFunc) -> Notes:
    """Return notes on inlined functions called twice in a row, whose first result is unused.

    Roles that take turns may do so as well, so these are only notes on findings that may follow from it.
    """
    found = {pair: None for block in _blocks(func.body) for pair in _unused(block)}
    return tuple(
        note
        for first, second in found
        for note in (
            ("a state is advanced here, and again before anything has used its value", first),
            ("it is advanced again here", second),
        )
    )


def _blocks(body: Stmt | None) -> Iterator[Sequence[Stmt]]:
    """Yield the statements of each block, in order, with nested sequences and hints flattened."""
    if body is None:
        return
    flat = list(_flat(body))
    yield flat
    for stmt in flat:
        for name in ("then", "orelse", "body"):
            yield from _blocks(getattr(stmt, name, None))


def _flat(stmt: Stmt) -> Iterator[Stmt]:
    if isinstance(stmt, Seq):
        for child in stmt.stmts:
            yield from _flat(child)
    elif isinstance(stmt, Hint) and stmt.body is not None:
        yield from _flat(stmt.body)
    else:
        yield stmt


def _unused(block: Sequence[Stmt]) -> Iterator[tuple[Span, Span]]:
    """Yield pairs of calls of one inlined function in which the second overwrites an unread scalar."""
    pending: dict[Buffer, Span] = {}
    for stmt in block:
        for node in walk(stmt):
            if isinstance(node, BufferLoad):
                pending.pop(node.buffer, None)
        if not isinstance(stmt, BufferStore):
            for node in walk(stmt):
                if isinstance(node, BufferStore):
                    pending.pop(node.buffer, None)
            continue
        if stmt.buffer.scope != "local" or stmt.buffer.size != 1 or stmt.span is None:
            continue
        before = pending.get(stmt.buffer)
        if before is not None and _same_text(before, stmt.span):
            yield before.user, stmt.span.user
        pending[stmt.buffer] = stmt.span


def _same_text(first: Span, second: Span) -> bool:
    """Return whether two calls on different lines executed the same statement of an inlined function."""
    return (first.file, first.line, first.column) == (second.file, second.line, second.column) and (
        first.user.line != second.user.line
    )
