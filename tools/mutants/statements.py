"""The operators that leave out, move or repeat a statement."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tools.source import Edit, KernelSource, dotted

from .mutation import ORDERING, Mutation, Operator, barriers, headline, kind_of


def drop(kind: str) -> Operator:
    """Leave out a statement."""

    def operator(source: KernelSource) -> Iterator[Mutation]:
        for place in source.places:
            if kind_of(source, place.statement) == kind:
                statement = place.statement
                yield Mutation(f"drop `{headline(source, statement)}`", statement, (source.drop(statement),))

    return operator


def exchange(source: KernelSource) -> Iterator[Mutation]:
    """Exchange a statement that orders others with the one after it."""
    for place in source.places:
        first, second = place.statement, place.after
        if second is None or not _has_effect(source, first) or not _has_effect(source, second):
            continue
        kinds = kind_of(source, first), kind_of(source, second)
        if not any(kind in ORDERING for kind in kinds) or kinds in (("fence", "fence"), ("init", "init")):
            continue
        moved, other = (first, second) if kinds[0] in ORDERING else (second, first)
        change = f"exchange `{headline(source, first)}` with `{headline(source, second)}` after it"
        yield Mutation(change, moved, source.swap(first, second), (other,) if None not in kinds else ())


def _has_effect(source: KernelSource, statement: ast.stmt) -> bool:
    return kind_of(source, statement) is not None or isinstance(statement, (ast.If, ast.With, ast.For, ast.While))


def into_the_branch(source: KernelSource) -> Iterator[Mutation]:
    """Move a statement that orders others into the block after it."""
    for place in source.places:
        block = place.after
        if not isinstance(block, (ast.If, ast.With, ast.For)):
            continue
        if kind_of(source, place.statement) in ("wait", "fence", "sync"):
            text = source.segment(place.statement)
            edits = source.drop(place.statement), source.insert(block.body[0], text)
            yield Mutation(f"move `{text}` into `{headline(source, block)}`", place.statement, edits)


def out_of_the_branch(source: KernelSource) -> Iterator[Mutation]:
    """Move the last statement of a block out of it, or the first one."""
    for outer in source.places:
        block = outer.statement
        if not isinstance(block, (ast.If, ast.With, ast.For)) or getattr(block, "orelse", None):
            continue
        for statement, after in ((block.body[-1], True), (block.body[0], False)):
            if kind_of(source, statement) in ORDERING and (len(block.body) > 1 or after):
                text = source.segment(statement)
                if after:
                    end = source.stop(block)
                    moved = Edit(end, end, "\n" + " " * block.col_offset + text)
                else:
                    moved = source.insert(block, text)
                where = "after" if after else "before"
                change = f"move `{text.splitlines()[0]}` out of, and {where}, `{headline(source, block)}`"
                yield Mutation(change, statement, (source.drop(statement), moved))


def twice(source: KernelSource) -> Iterator[Mutation]:
    """Execute a statement twice that must be executed once."""
    for place in source.places:
        statement, kind = place.statement, kind_of(source, place.statement)
        name = dotted(statement.value) if isinstance(statement, ast.Expr) else ""
        owner = name.rpartition(".")[0]
        once = (
            kind in ("arrive", "advance")
            or (kind == "commit" and not name.endswith("commit_group"))
            or (kind == "init" and (owner in barriers(source) or owner == "Tx.ptx.mbarrier"))
            or (kind == "allocation" and not name.endswith("permit"))
        )
        if once:
            text = source.segment(statement)
            yield Mutation(f"`{headline(source, statement)}` twice", statement, (source.insert(statement, text),))
