"""Edits that hide the symptom of a mistake and leave the mistake: barriers everywhere, and a single stage."""

from __future__ import annotations

import ast
import re

SYNC = "Tx.cuda.cta_sync()"


def with_barriers(text: str) -> str:
    """The file with a barrier of the CTA before each statement that all its threads come to."""
    lines = text.splitlines()
    kernel = next(node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef) and _is_kernel(node))
    assert isinstance(kernel.body[-1], ast.With)
    for number in sorted(_starts(kernel.body[-1].body, lines), reverse=True):
        indent = re.match(" *", lines[number - 1])
        assert indent is not None
        lines.insert(number - 1, f"{indent[0]}{SYNC}")
    return "\n".join(lines) + "\n"


def with_one_stage(text: str) -> str:
    """The file with a depth of 1."""
    return re.sub(r"(?m)^PIPE_DEPTH = \d+$", "PIPE_DEPTH = 1", text)


def _is_kernel(node: ast.FunctionDef) -> bool:
    return any("prim_func" in ast.unparse(decorator) for decorator in node.decorator_list)


def _starts(block: list[ast.stmt], lines: list[str]) -> list[int]:
    """The lines of the statements of a block, of its loops, and of its functions that have a barrier already."""
    found: list[int] = []
    for statement in block:
        if isinstance(statement, ast.FunctionDef):
            if SYNC in "\n".join(lines[statement.lineno : statement.end_lineno]):
                found += _starts(statement.body, lines)
            continue
        found.append(statement.lineno)
        if isinstance(statement, (ast.For, ast.While)):
            found += _starts(statement.body, lines)
    return found
