"""Branches with independently executing lanes (`machine.divergent`), and the names that their arms assign."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Protocol

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
    leaves,
    walk,
)
from tirx_mini.isa import instruction_of, instructions

from .calls import Calls
from .expressions import Expressions
from .leaving import spins
from .uniformity import Uniformity
from .values import Value
from .writer import Writer


class StatementTranslator(Protocol):
    """The interface of the statement translator. regions: the number of enclosing narrowed masks."""

    regions: int

    @property
    def calls(self) -> Calls: ...
    @property
    def out(self) -> Writer: ...
    @property
    def expressions(self) -> Expressions: ...
    def stmt(self, stmt: Stmt | None) -> None: ...
    def narrowed(self, outer: str, expr: Expr, cond: Value | None) -> str:
        """Return the lanes of the mask `outer` in which a condition holds."""
        ...


def length_of_run(stmts: Sequence[Stmt], facts: Uniformity) -> int:
    """Return the length of the initial run of divergent branches that can execute together; 0 if no lanes can wait in
    them.
    """
    first = stmts[0]
    if not isinstance(first, If) or not _parts(first, facts) or not (_blocks(first) or _meetings(first)):
        return 0
    length = 1 if first.orelse is not None and (_blocks_in(first.then) or _meetings(first) == 2) else 0
    changed = _changed(first)
    for position, stmt in enumerate(stmts[1:], 1):
        if isinstance(stmt, If):
            if not _parts(stmt, facts) or not _computed(stmt.cond, changed):
                break
            length = position + 1
            changed |= _changed(stmt)
        elif not isinstance(stmt, AllocBuffer) and not (isinstance(stmt, Bind) and _computed(stmt.value, changed)):
            break
    if not _blocks(first) and sum(_meetings(stmt) for stmt in stmts[:length] if isinstance(stmt, If)) < 2:
        return 0
    return length


def diverge(statements: StatementTranslator, stmts: Sequence[Stmt]) -> None:
    """Translate a run of divergent branches: each arm becomes a generator that executes independently."""
    out = statements.out
    outer, branches = out.fresh("outer"), out.fresh("branches")
    out.settle()
    out.line(f"{outer} = w.mask")
    out.line(f"{branches} = Divergence(w)")
    for position, stmt in enumerate(stmts):
        if not isinstance(stmt, If):
            statements.stmt(stmt)
            continue
        cond = statements.expressions.build(stmt.cond) if not is_elect(stmt.cond) else None
        inner = out.fresh("inner")
        out.at(stmt.cond.span)
        out.settle()
        out.line(f"{inner} = {statements.narrowed(outer, stmt.cond, cond)}")
        arms = [(inner, stmt.then)]
        if stmt.orelse is not None:
            other = out.fresh("other")
            out.line(f"{other} = {outer}.minus({inner})")
            arms.append((other, stmt.orelse))
        for mask, body in arms:
            if position:
                out.line(f"if {branches}.meets({mask}): yield from {branches}.join()")
            _arm(statements, branches, mask, body)
            out.line(f"w.select({outer})")
    out.line(f"yield from {branches}.join()")
    out.line(f"{branches}.close()")
    out.line(f"w.select({outer})")


def _arm(statements: StatementTranslator, branches: str, mask: str, body: Stmt) -> None:
    """Emit one arm as a generator."""
    out = statements.out
    name = out.fresh("arm")
    with out.block(f"if {mask}:"):
        start = len(out.lines) + 1
        statements.regions += 1
        statements.calls.arms += 1
        with out.block(f"def {name}():"):
            statements.stmt(body)
            out.settle()
            out.line("yield from ()")
        statements.calls.arms -= 1
        statements.regions -= 1
        names = _shared_names(out.lines[start:], [*out.prologue, *out.lines[: start - 1]])
        if names:
            indent = out.lines[-1][: -len("yield from ()")]
            out.lines.insert(start, f"{indent}nonlocal {', '.join(names)}")
        out.line(f"{branches}.start({mask}, {name}())")


def is_elect(cond: Expr) -> bool:
    """Return whether a condition is elect.sync."""
    entry = instruction_of(cond)
    return entry is not None and entry.elects


def _parts(stmt: If, facts: Uniformity) -> bool:
    """Return whether lanes diverge at a branch and reconverge after it."""
    return facts.varying(stmt.cond) and not any(leaves(stmt))


def _blocks(stmt: If) -> bool:
    return _blocks_in(stmt.then) or (stmt.orelse is not None and _blocks_in(stmt.orelse))


def _blocks_in(arm: Stmt) -> bool:
    """Return whether a lane may block in an arm."""
    return any(entry.blocking for entry in instructions(arm)) or any(
        isinstance(node, While) and spins(node) for node in walk(arm)
    )


def _meetings(stmt: If) -> int:
    """Return the number of arms with an instruction that waits for lanes of other arms."""
    arms = [arm for arm in (stmt.then, stmt.orelse) if arm is not None]
    return sum(any(entry.meets_by_mask for entry in instructions(arm)) for arm in arms)


def _computed(expr: Expr, changed: set[Buffer]) -> bool:
    """Return whether a value depends on no memory, instruction or buffer that unfinished arms may change."""
    for node in walk(expr):
        if isinstance(node, Call):
            return False
        if isinstance(node, BufferLoad) and (node.buffer.scope != "local" or node.buffer in changed):
            return False
    return True


def _changed(stmt: If) -> set[Buffer]:
    """Return the register buffers that the arms may change."""
    return {node.buffer for node in walk(stmt) if isinstance(node, (BufferStore, AddressOf))}


def _shared_names(arm: Sequence[str], before: Sequence[str]) -> list[str]:
    """Return the names assigned both in an arm, which is a function of its own, and around it."""
    assigned = set(_assigned(ast.parse(textwrap.dedent("\n".join(["if True:", *arm])))))
    counters = assigned & {"steps", "polls"}
    text = "\n".join(before)
    return sorted(counters | {name for name in assigned if re.search(rf"\b{name} (= |in )", text)})


def _assigned(tree: ast.AST) -> Iterator[str]:
    """Yield the names that a function's own statements assign."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.Lambda, ast.GeneratorExp, ast.ListComp)):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        yield from _assigned(node)
