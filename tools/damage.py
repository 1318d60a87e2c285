"""Randomly damaged kernels: what a slip of the hand, or a search and replace, makes of a correct one."""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Callable, Sequence
from typing import Any

CONSTANTS = (0, 1, -1, 2, 7, 1.5, None, True, "x", 10**12, 128)
OPERATORS = (ast.Add, ast.Sub, ast.Mod, ast.FloorDiv, ast.Div, ast.LShift, ast.MatMult, ast.Pow, ast.BitXor)


Edit = Callable[[ast.AST, random.Random], None]


def damaged(source: str, rng: random.Random, edits: Sequence[Edit] | None = None) -> str:
    """`source` with one to three random edits in its function `kernel`; `edits` are those to choose from."""
    tree = ast.parse(source)
    kernel = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "kernel")
    for _ in range(rng.choice([1, 1, 2, 3])):
        rng.choice(edits or EDITS)(kernel, rng)
    return ast.unparse(ast.fix_missing_locations(tree))


def blocks(kernel: ast.AST) -> list[list[ast.stmt]]:
    found = (getattr(node, name, None) for node in ast.walk(kernel) for name in ("body", "orelse"))
    return [block for block in found if isinstance(block, list) and block]


def pick(kernel: ast.AST, kind: type, rng: random.Random) -> Any:
    found = [node for node in ast.walk(kernel) if isinstance(node, kind)]
    return rng.choice(found) if found else None


def delete(kernel: ast.AST, rng: random.Random) -> None:
    block = rng.choice(blocks(kernel))
    block.pop(rng.randrange(len(block)))
    block.extend([ast.Pass()] if not block else [])


def duplicate(kernel: ast.AST, rng: random.Random) -> None:
    block = rng.choice(blocks(kernel))
    place = rng.randrange(len(block))
    block.insert(place, copy.deepcopy(block[place]))


def swap(kernel: ast.AST, rng: random.Random) -> None:
    block = rng.choice(blocks(kernel))
    i, j = rng.randrange(len(block)), rng.randrange(len(block))
    block[i], block[j] = block[j], block[i]


def move(kernel: ast.AST, rng: random.Random) -> None:
    block, other = rng.choice(blocks(kernel)), rng.choice(blocks(kernel))
    other.insert(rng.randrange(len(other) + 1), copy.deepcopy(rng.choice(block)))


def unwrap(kernel: ast.AST, rng: random.Random) -> None:
    """The body of a block instead of the block."""
    block = rng.choice(blocks(kernel))
    place = rng.randrange(len(block))
    body = getattr(block[place], "body", None)
    if isinstance(body, list):
        block[place : place + 1] = body


def change_constant(kernel: ast.AST, rng: random.Random) -> None:
    node = pick(kernel, ast.Constant, rng)
    if node is not None:
        node.value = rng.choice(CONSTANTS)


def nudge_constant(kernel: ast.AST, rng: random.Random) -> None:
    """A number becomes one that is near to it."""
    numbers = [n for n in ast.walk(kernel) if isinstance(n, ast.Constant) and type(n.value) is int]
    if numbers:
        node = rng.choice(numbers)
        value: Any = node.value
        node.value = rng.choice([value + 1, value - 1, value * 2, value // 2, 1 - value, value + 32])


def change_name(kernel: ast.AST, rng: random.Random) -> None:
    node, other = pick(kernel, ast.Name, rng), pick(kernel, ast.Name, rng)
    node.id = rng.choice([other.id, other.id[:-1] or "x"])


def change_operator(kernel: ast.AST, rng: random.Random) -> None:
    node = pick(kernel, ast.BinOp, rng)
    if node is not None:
        node.op = rng.choice(OPERATORS)()


def change_attribute(kernel: ast.AST, rng: random.Random) -> None:
    node, other = pick(kernel, ast.Attribute, rng), pick(kernel, ast.Attribute, rng)
    node.attr = other.attr


def drop_argument(kernel: ast.AST, rng: random.Random) -> None:
    node = pick(kernel, ast.Call, rng)
    arguments = [*([node.args] if node.args else []), *([node.keywords] if node.keywords else [])]
    if arguments:
        chosen = rng.choice(arguments)
        chosen.pop(rng.randrange(len(chosen)))


def exchange_expressions(kernel: ast.AST, rng: random.Random) -> None:
    """An argument becomes that of another call."""
    node, other = pick(kernel, ast.Call, rng), pick(kernel, ast.Call, rng)
    if node.args and other.args:
        node.args[rng.randrange(len(node.args))] = copy.deepcopy(rng.choice(other.args))


STRUCTURE: Sequence[Edit] = (delete, duplicate, swap, move, unwrap, nudge_constant)
"""Edits after which most kernels can still be read, and run into the mistake."""

EDITS: Sequence[Edit] = (
    *STRUCTURE, change_constant, change_name, change_operator, change_attribute, drop_argument, exchange_expressions,
)  # fmt: skip
