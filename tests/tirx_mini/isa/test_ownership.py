"""The table owns what is known of instructions: no other file of the package tells them apart by their names.

Outside `isa/` a name of the table may be what code emits (``issue("tcgen05.ld", …)``, ``Call(dtype, "mapa", …)``) or
what a reader is told (an argument, a label among the values of a table, an attribute of a class, which a member of an
enum is too). It may not be a key or an element of a table, a constant of a module or a function, or the other side of a
comparison; nor may a file ask how a name begins or ends.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tirx_mini.isa import TABLE

PACKAGE = Path(__file__).parents[3] / "tirx_mini"
PARTS = ("startswith", "endswith", "removeprefix", "removesuffix")


def literals(nodes: list[ast.expr | None]) -> Iterator[ast.Constant]:
    """The strings among expressions, and in the tuples, lists and sets among them."""
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node
        elif isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            yield from literals([*node.elts])


def labels(tree: ast.AST) -> Iterator[ast.AST]:
    """The attributes of classes that hold one string."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from (part for part in node.body if isinstance(part, (ast.Assign, ast.AnnAssign)))


def known_by_name(tree: ast.AST) -> Iterator[ast.Constant]:
    """The names of instructions in tables, constants and comparisons."""
    allowed = set(labels(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            parts = literals([*node.keys])
        elif isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            parts = literals([node])
        elif isinstance(node, ast.Compare):
            parts = literals([node.left, *node.comparators])
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.MatchValue)) and node not in allowed:
            parts = literals([node.value])
        else:
            continue
        yield from (part for part in parts if part.value in TABLE)


def known_by_part(tree: ast.AST) -> Iterator[ast.Constant]:
    """What a name is asked to begin or end with, where names of instructions do."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in PARTS:
            begins = node.func.attr in ("startswith", "removeprefix")
            for part in literals([*node.args]):
                text = str(part.value)
                if len(text) > 2 and any((n.startswith if begins else n.endswith)(text) for n in TABLE):
                    yield part


def satellites(source: str) -> list[str]:
    """Where a file knows an instruction by its name: "line: text"."""
    tree = ast.parse(source)
    found = {(part.lineno, str(part.value)) for part in (*known_by_name(tree), *known_by_part(tree))}
    return [f"{line}: {text}" for line, text in sorted(found)]


READER = PACKAGE / "frontends" / "ptx"
"""The front end whose programs are texts of PTX: the words of opcodes are those of the language that it reads."""
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent not in (PACKAGE / "isa", READER))


def test_no_other_file_knows_instructions_by_name() -> None:
    assert {
        str(path.relative_to(PACKAGE)): found for path in FILES if (found := satellites(path.read_text("utf-8")))
    } == {}


@pytest.mark.parametrize(
    "source",
    [
        'PURE = ("elect.sync", "mapa")',
        'ROLES = {"mbarrier.init": "init"}',
        'NAMES: frozenset[str] = frozenset({"mapa"})',
        'WAIT = "griddepcontrol.wait"',
        'found = node.op == "elect.sync"',
        'found = node.op in ("cp.async", "mapa")',
        'found = "mapa" in called',
        'class Calls:\n    TIMED = ("globaltimer", "mapa")',
        'match op:\n    case "mapa":\n        pass',
        'found = op.startswith("setmaxnreg")',
        'found = op.endswith(("expect_tx", "arrive"))',
        'name = op.removeprefix("tcgen05.")',
    ],
)
def test_a_table_or_a_comparison_is_found(source: str) -> None:
    assert satellites(source)


@pytest.mark.parametrize(
    "source",
    [
        'issue("tcgen05.ld", registers, address)',
        'value_of("shfl.xor", dtype, value, lane)',
        'Call(HANDLE, "prefetch.tensormap", (tensor_map,))',
        'OPCODES = {"LDSM": "ldmatrix"}',
        'class Operation(Enum):\n    LOAD = "tcgen05.ld"',
        'class BarSync(Wait):\n    instruction: ClassVar[str] = "bar.sync"',
        'class Wait:\n    """bar.sync and its like."""',
        'text = f"{name} waits in bar.sync"',
        'found = name.startswith("__") or name.endswith(".view")',
    ],
)
def test_what_is_emitted_or_told_is_left_alone(source: str) -> None:
    assert not satellites(source)
