"""The tests mirror the project: where the tests of a room, a folder or a file are follows from its name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE, TESTS = ROOT / "tirx_mini", ROOT / "tests"
MIRROR = TESTS / "tirx_mini"
OTHERS = {"gpu", "kit", "project"}
"""Folders of tests that stand for no folder of the project. CONTRIBUTING says what is in them."""

ROOMS_WITH_ROOMS = ("tirx_mini.sim", "tirx_mini.diagnose")


def folders_with_tests(folder: Path) -> set[Path]:
    """The folders at or below `folder` that have test modules, relative to it."""
    return {path.parent.relative_to(folder) for path in folder.rglob("test_*.py")}


def rooms(package: Path) -> set[Path]:
    """The rooms of a package, those in rooms too, relative to it; first the package itself."""
    return {path.parent.relative_to(package) for path in package.rglob("__init__.py")}


def imported(path: Path) -> Iterator[str]:
    """The modules from which a file imports names."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module


def test_each_folder_of_tests_names_a_room_of_the_package() -> None:
    assert folders_with_tests(MIRROR) <= rooms(PACKAGE)


def test_each_room_of_the_package_has_tests() -> None:
    assert rooms(PACKAGE) <= folders_with_tests(MIRROR)


def test_a_test_module_beside_the_rooms_names_a_module_beside_the_rooms() -> None:
    modules = {path.stem.removeprefix("test_") for path in MIRROR.glob("test_*.py")}
    assert modules <= {path.stem for path in PACKAGE.glob("*.py")}


def test_each_other_folder_of_tests_names_a_folder_of_the_project() -> None:
    folders = {path.name for path in TESTS.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert {name for name in folders if not (ROOT / name).is_dir()} == OTHERS


def test_the_files_beside_the_folders_are_the_students_step_tests() -> None:
    assert all(path.name.startswith("test_step") for path in TESTS.glob("test_*.py"))


def test_tests_use_rooms_within_rooms_through_their_init() -> None:
    modules = {(path, module) for path in TESTS.rglob("test_*.py") for module in imported(path)}
    inner = {(path, module) for path, module in modules if module.startswith(ROOMS_WITH_ROOMS)}
    assert inner
    past = {
        f"{path.relative_to(ROOT)}: {module}"
        for path, module in inner
        if not (ROOT / module.replace(".", "/")).is_dir()
    }
    assert past == set()
