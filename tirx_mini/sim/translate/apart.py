"""Which branches the lanes of a warp take at their own pace (`machine.apart`), and the names that their arms assign."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence

from tirx_mini.ir import (
    AddressOf,
    AllocBuffer,
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Expr,
    If,
    Stmt,
    While,
    walk,
)
from tirx_mini.isa import instructions

from .leaving import leaves, spins
from .uniformity import Uniformity


def length_of_run(stmts: Sequence[Stmt], facts: Uniformity) -> int:
    """How many of the statements, from the first on, are divergent branches with nothing between them that needs all
    lanes; 0 where no lanes can wait while others go on.
    """
    first = stmts[0]
    if not isinstance(first, If) or not _parts(first, facts) or not _blocks(first):
        return 0
    length = 1 if first.orelse is not None and _blocks_in(first.then) else 0
    changed = _changed(first)
    for position, stmt in enumerate(stmts[1:], 1):
        if isinstance(stmt, If):
            if not _parts(stmt, facts) or not _computed(stmt.cond, changed):
                break
            length = position + 1
            changed |= _changed(stmt)
        elif not isinstance(stmt, AllocBuffer) and not (isinstance(stmt, Bind) and _computed(stmt.value, changed)):
            break
    return length


def _parts(stmt: If, facts: Uniformity) -> bool:
    """Whether lanes part here, and come together again behind it."""
    return facts.varying(stmt.cond) and not any(leaves(stmt))


def _blocks(stmt: If) -> bool:
    return _blocks_in(stmt.then) or (stmt.orelse is not None and _blocks_in(stmt.orelse))


def _blocks_in(arm: Stmt) -> bool:
    """Whether a lane may have to wait in an arm."""
    return any(entry.blocking for entry in instructions(arm)) or any(
        isinstance(node, While) and spins(node) for node in walk(arm)
    )


def _computed(expr: Expr, changed: set[Buffer]) -> bool:
    """Whether a value is computed without memory, instructions, and what arms that are under way may change."""
    for node in walk(expr):
        if isinstance(node, Call):
            return False
        if isinstance(node, BufferLoad) and (node.buffer.scope != "local" or node.buffer in changed):
            return False
    return True


def _changed(stmt: If) -> set[Buffer]:
    """The register buffers that arms may change."""
    return {node.buffer for node in walk(stmt) if isinstance(node, (BufferStore, AddressOf))}


def shared_names(arm: Sequence[str], before: Sequence[str]) -> list[str]:
    """The names that the lines of an arm assign, and the lines around it too: the arm is a function of its own."""
    assigned = set(_assigned(ast.parse(textwrap.dedent("\n".join(["if True:", *arm])))))
    counters = assigned & {"steps", "polls"}
    text = "\n".join(before)
    return sorted(counters | {name for name in assigned if re.search(rf"\b{name} (= |in )", text)})


def _assigned(tree: ast.AST) -> Iterator[str]:
    """The names that a function's own statements assign."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.Lambda, ast.GeneratorExp, ast.ListComp)):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        yield from _assigned(node)
