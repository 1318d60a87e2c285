"""`Any`, which no type checker checks: how often the package says it, and that no public signature of the core does."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "tirx_mini"
ROOMS = ("ir", "layout", "isa", "passes", "codegen", "sim", "diagnose")
"""The rooms that pyright checks strictly."""
MOST = 1797
"""The maximum number of uses in the package. A true type in the place of one lowers it."""


def uses(tree: ast.AST) -> int:
    """Return how often a tree names `Any`, imports apart."""
    return sum(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(tree))


def public(body: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the public functions and methods of a module or class."""
    for each in body:
        if isinstance(each, ast.ClassDef) and not each.name.startswith("_"):
            yield from public(each.body)
        elif isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if not each.name.startswith("_") or each.name == "__init__":
                yield each


def unchecked(source: str) -> list[str]:
    """Return the public functions of a source whose signatures name `Any`."""
    return [
        f"{each.lineno}: {each.name}"
        for each in public(ast.parse(source).body)
        if uses(each.args) or (each.returns is not None and uses(each.returns))
    ]


def sources(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the modules that name `Any`, with their sources."""
    for path in sorted(folder.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "Any" in source:
            yield path, source


def test_any_is_rare() -> None:
    assert sum(uses(ast.parse(source)) for _, source in sources(PACKAGE)) <= MOST


@pytest.mark.parametrize("room", ROOMS)
def test_public_signatures_have_types(room: str) -> None:
    found = {str(path.relative_to(PACKAGE)): unchecked(source) for path, source in sources(PACKAGE / room)}
    assert {path: each for path, each in found.items() if each} == {}


@pytest.mark.parametrize(
    "source",
    [
        "def f(a: Any) -> int: ...",
        "def f(*args: tuple[Any, ...]) -> int: ...",
        "def f() -> list[Any]: ...",
        "class C:\n    def __init__(self, a: int | Any) -> None: ...",
        "class C:\n    @property\n    def f(self) -> Any: ...",
    ],
)
def test_a_signature_without_types_is_found(source: str) -> None:
    assert len(unchecked(source)) == 1


@pytest.mark.parametrize(
    "source",
    ["def f(a: int) -> None:\n    b: Any = a", "def _f(a: Any) -> Any: ...", "class _C:\n    def f(self) -> Any: ..."],
)
def test_what_is_private_may_be_any(source: str) -> None:
    assert unchecked(source) == []
