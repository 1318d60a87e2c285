"""Limits on the size of a kernel's IR tree."""

from __future__ import annotations

from collections.abc import Sequence

from tirx_mini.ir import Binary, Expr, For, If, Stmt, TirxError, While, children
from tirx_mini.records import dataclass

LEVELS, LOOPS, BRANCHES, PARTS = 256, 20, 90, 1 << 16
"""At most: levels of an expression, loops and branches in one another, and parts of an expression."""


_LOOPS = frozenset((For, While))


@dataclass(frozen=True)
class _Size:
    """The size of a tree. levels: depth of the deepest expression, where operands of calls and accesses count three.

    loops, branches: statements in one another. parts: of an expression, those that it repeats each time.
    """

    levels: int = 0
    loops: int = 0
    branches: int = 0
    parts: int = 0


def check_growth(body: Stmt) -> None:
    """Raise `TirxError`, at the innermost culprit, for a kernel that exceeds a limit."""
    if _may_exceed(body):
        _check(body)


def _may_exceed(body: Stmt) -> bool:
    """Return whether a kernel may exceed a limit, by a fast check of depth and node count."""
    level: Sequence[Expr | Stmt] = [body]
    depth = count = loops = 0
    while level:
        depth, count = depth + 1, count + len(level)
        loops += sum(map(_LOOPS.__contains__, map(type, level)))
        if 3 * depth > LEVELS or count > PARTS:
            return True
        level = [child for node in level for child in children(node)]
    return loops > LOOPS


def _check(body: Stmt) -> None:
    sizes: dict[int, _Size] = {}
    stack: list[tuple[Expr | Stmt, Sequence[Expr | Stmt] | None]] = [(body, None)]
    while stack:
        node, below = stack.pop()
        if below is not None:
            sizes[id(node)] = _checked(node, [sizes[id(child)] for child in below], below)
        elif id(node) not in sizes:
            below = children(node)
            stack.append((node, below))
            stack += [(child, None) for child in below]


def _checked(node: Expr | Stmt, parts: Sequence[_Size], below: Sequence[Expr | Stmt]) -> _Size:
    levels = max((part.levels for part in parts), default=0)
    if isinstance(node, Expr):
        levels, count = levels + (1 if isinstance(node, Binary) else 3), 1 + sum(part.parts for part in parts)
        if levels > LEVELS:
            raise TirxError(
                "an expression has so many operators or calls in one another that it cannot be compiled",
                node.span,
                "assign parts of it to variables, or compute it in a loop",
            )
        if count > PARTS:
            raise TirxError(
                f"this expression has more than {PARTS:,} parts, because it repeats what Tx.meta_var names",
                node.span,
                "assign the parts without Tx.meta_var: a variable is computed once",
            )
        return _Size(levels, parts=count)
    loops = isinstance(node, (For, While)) + max((part.loops for part in parts), default=0)
    chained = isinstance(node, If) and isinstance(node.orelse, If)  # an `elif` is a branch beside the others
    inner = [part.branches - (chained and child is below[-1]) for part, child in zip(parts, below, strict=True)]
    branches = isinstance(node, If) + max(inner, default=0)
    for count, most, what in ((loops, LOOPS, "loops"), (branches, BRANCHES, "branches")):
        if count > most:
            message = f"more than {most} {what} of the kernel are nested in one another"
            raise TirxError(message, node.span, f"combine {what}: compute their indices or conditions together")
    return _Size(levels, loops, branches)
