"""The grammars in the docstrings of `ir/expr.py` and `ir/stmt.py` list exactly the node classes and their fields."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import Field, fields
from types import ModuleType

import pytest

from tirx_mini.ir import Expr, Stmt, expr, stmt

NODE = re.compile(r"(\w+)(?:\(([^)]*)\))?")


def documented(module: ModuleType) -> dict[str, list[str]]:
    """The alternatives of the grammar in the module's docstring: the fields of each node, with their marks."""
    assert module.__doc__ is not None
    text = module.__doc__.split("::=", 1)[1].split("\n\n", 1)[0]
    nodes: dict[str, list[str]] = {}
    for line in text.splitlines():
        for alternative in line.split("--")[0].split("|"):
            if not alternative.strip():
                continue
            node = NODE.fullmatch(alternative.strip())
            assert node is not None, f"not an alternative of a grammar: {alternative}"
            assert node[1] not in nodes, f"{node[1]} is listed twice"
            nodes[node[1]] = re.split(r",\s*", node[2]) if node[2] else []
    return nodes


def marked(field: Field[object]) -> str:
    kind = str(field.type)
    return field.name + ("*" if kind.startswith("tuple[") else "?" if kind.endswith("| None") else "")


def leaves(base: type) -> Iterator[type]:
    """The classes below `base` that nodes are made of: those that no other class refines."""
    for cls in base.__subclasses__():
        yield from leaves(cls) if cls.__subclasses__() else (cls,)


def declared(base: type) -> dict[str, list[str]]:
    """The node classes of the IR and their own fields, marked as the grammar marks them."""
    common = {field.name for field in fields(base)}
    nodes = [cls for cls in leaves(base) if cls.__module__.startswith("tirx_mini.ir.")]
    return {cls.__name__: [marked(field) for field in fields(cls) if field.name not in common] for cls in nodes}


@pytest.mark.parametrize(("module", "base"), [(expr, Expr), (stmt, Stmt)], ids=["expr", "stmt"])
def test_the_documented_grammar_lists_every_node_and_its_fields(module: ModuleType, base: type) -> None:
    assert documented(module) == declared(base)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("| Break ", ""),
        ("| Break ", "| Break | Goto(label) "),
        ("While(cond, body)", "While(condition, body)"),
        ("indices*, value", "indices, value"),
        ("orelse?", "orelse"),
        ("If(cond, then, orelse?)", "If(then, cond, orelse?)"),
    ],
    ids=["missing node", "stale node", "renamed field", "missing tuple mark", "missing None mark", "wrong order"],
)
def test_a_difference_between_grammar_and_classes_is_detected(old: str, new: str) -> None:
    assert stmt.__doc__ is not None and stmt.__doc__.count(old) == 1
    wrong = ModuleType("wrong", stmt.__doc__.replace(old, new))
    assert documented(wrong) != declared(Stmt)
