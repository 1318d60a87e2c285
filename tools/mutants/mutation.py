"""Mutations, and the words that the operators share: kinds of statement, barriers by name."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tools.source import Edit, KernelSource, dotted

STATEMENTS: Mapping[str, re.Pattern[str]] = {
    kind: re.compile(pattern)
    for kind, pattern in {
        "wait": r".+\.(wait|try_wait|wait_group)",
        "fence": r"Tx\.ptx\.(tcgen05\.)?fence\.\w+",
        "arrive": r".+\.arrive(\.expect_tx)?",
        "pool": r"pool\.commit",
        "commit": r".+\.(commit|commit_group)",
        "sync": r"Tx\.cuda\.\w+_sync",
        "init": r".+\.init",
        "allocation": r".+\.tcgen05\.(alloc|dealloc|relinquish_alloc_permit)",
        "copy": r"Tx\.(copy|copy_async|cast)",
        "MMA": r"Tx\.gemm_async",
        "advance": r".+\.(move_to_next_stage|next_tile)",
    }.items()
}
"""What kinds of statement there are, by the function called."""

ORDERING = ("wait", "fence", "arrive", "commit", "sync", "advance")
"""The kinds whose place among the others is what matters."""

BARRIERS = ("MBarrier", "TMABar", "TCGen05Bar")


@dataclass(frozen=True)
class Mutation:
    """One edit of a kernel. place: the statement that is changed, also: another it moves; change: the edit in words."""

    change: str
    place: ast.stmt
    edits: tuple[Edit, ...]
    also: tuple[ast.stmt, ...] = ()


Operator = Callable[[KernelSource], Iterator[Mutation]]


def kind_of(source: KernelSource, statement: ast.stmt) -> str | None:
    """The kind of a statement: one of `STATEMENTS`, "part" for a call of an inline function, else None."""
    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp):
        return "advance"
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return None
    name = dotted(statement.value)
    for kind, pattern in STATEMENTS.items():
        if pattern.fullmatch(name):
            return kind
    return "part" if name in source.inline_functions else None


def headline(source: KernelSource, statement: ast.stmt) -> str:
    """The first line of a statement."""
    return source.segment(statement).splitlines()[0].strip()


def barriers(source: KernelSource) -> Sequence[str]:
    """The names of the kernel's barriers, in the order of their definition."""
    found = []
    for assign in source.find(ast.Assign):
        value, target = assign.value, assign.targets[0]
        if isinstance(value, ast.Call) and isinstance(target, ast.Name):
            name = dotted(value)
            words = name in BARRIERS or name.endswith(".remote_view")
            if words or (name == "pool.alloc" and "uint64" in source.segment(value)):
                found.append(target.id)
    return found
