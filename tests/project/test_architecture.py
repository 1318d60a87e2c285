"""The import rules of the house: what pyproject.toml says of them holds, and each rule bites when it is broken."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "tirx_mini"
ROOMS = (
    "hardware", "ir", "layout", "arguments", "isa", "tile", "script", "lang", "passes", "codegen", "runtime", "sim",
    "diagnose", "report", "course", "grading", "commands", "frontends", "frontends/tile_ir", "frontends/tilelang",
)  # fmt: skip
FRONT = ("frontends",)  # stands before the front door, as the user does


def lint_imports(project: Path) -> subprocess.CompletedProcess[str]:
    """Run the contracts of pyproject.toml over the package `tirx_mini` that lies in `project`."""
    command = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    env = {**os.environ, "PYTHONPATH": str(project)}
    return subprocess.run([sys.executable, "-c", command], cwd=project, env=env, capture_output=True, text=True)


def package_with(tmp_path: Path, imports: Sequence[tuple[str, str]], rooms: Sequence[str] = ROOMS) -> Path:
    """A project with this one's contracts whose rooms are empty but for `imports`, pairs of (importer, imported)."""
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    for room in rooms:
        folder = tmp_path / "tirx_mini" / room
        folder.mkdir(parents=True)
        lines = [f"import tirx_mini.{imported}\n" for importer, imported in imports if importer == room]
        (folder / "__init__.py").write_text("".join(lines))
    (tmp_path / "tirx_mini" / "__init__.py").touch()
    return tmp_path


def test_contracts_hold() -> None:
    result = lint_imports(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_designed_imports_are_legal(tmp_path: Path) -> None:
    designed = [
        ("ir", "hardware"), ("layout", "hardware"), ("arguments", "ir"),
        ("isa", "ir"), ("isa", "layout"),
        ("tile", "ir"), ("tile", "layout"), ("tile", "isa"),
        ("script", "ir"), ("script", "layout"), ("script", "isa"), ("script", "tile"),
        ("lang", "script"), ("lang", "ir"), ("lang", "layout"),
        ("passes", "ir"), ("passes", "layout"), ("passes", "isa"), ("passes", "tile"),
        ("codegen", "ir"), ("codegen", "isa"),
        ("runtime", "ir"), ("runtime", "codegen"), ("runtime", "arguments"),
        ("sim", "ir"), ("sim", "layout"), ("sim", "isa"), ("sim", "arguments"),
        ("diagnose", "sim"), ("diagnose", "ir"),
        ("report", "diagnose"), ("report", "ir"),
        ("course", "diagnose"), ("course", "report"), ("course", "runtime"), ("course", "passes"), ("course", "script"),
        ("frontends/tile_ir", "ir"), ("frontends/tile_ir", "sim"), ("frontends/tile_ir", "commands"),
        ("grading", "course"), ("grading", "report"), ("grading", "saved"), ("commands", "grading"),
        ("commands", "course"), ("commands", "report"), ("commands", "diagnose"),
    ]  # fmt: skip
    result = lint_imports(package_with(tmp_path, designed))
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("hardware", "ir"), ("arguments", "isa"), ("ir", "arguments"),
        ("ir", "layout"), ("ir", "isa"), ("layout", "ir"), ("layout", "tile"),
        ("isa", "tile"), ("isa", "sim"), ("tile", "passes"), ("tile", "script"),
        ("script", "passes"), ("script", "sim"), ("lang", "passes"), ("lang", "sim"),
        ("passes", "script"), ("passes", "sim"), ("passes", "codegen"),
        ("codegen", "script"), ("codegen", "sim"), ("codegen", "tile"), ("codegen", "passes"), ("codegen", "runtime"),
        ("sim", "script"), ("sim", "codegen"), ("sim", "tile"), ("sim", "passes"), ("sim", "report"),
        ("runtime", "sim"), ("runtime", "passes"),
        ("sim", "diagnose"), ("runtime", "diagnose"), ("diagnose", "codegen"), ("diagnose", "passes"),
        ("report", "script"), ("report", "passes"), ("report", "codegen"), ("report", "runtime"), ("report", "sim"),
        ("passes", "frontends.tile_ir"), ("sim", "frontends.tile_ir"), ("commands", "frontends.tile_ir"),
        ("course", "frontends"), ("frontends/tilelang", "frontends.tile_ir"),
        ("report", "course"), ("runtime", "course"), ("diagnose", "course"), ("course", "commands"),
        ("course", "grading"), ("grading", "commands"), ("report", "grading"),
    ],
)  # fmt: skip
def test_a_forbidden_import_is_found(tmp_path: Path, importer: str, imported: str) -> None:
    result = lint_imports(package_with(tmp_path, [(importer, imported)]))
    assert result.returncode == 1, result.stdout + result.stderr
    assert f"tirx_mini.{importer.replace('/', '.')} -> tirx_mini.{imported} (l.1)" in result.stdout


def test_a_circle_of_rooms_is_found(tmp_path: Path) -> None:
    result = lint_imports(package_with(tmp_path, [("script", "lang"), ("lang", "script")]))
    assert result.returncode == 1, result.stdout + result.stderr
    assert "No cycles are allowed in tirx_mini.\n" in result.stdout


def package_with_modules(tmp_path: Path, folder: str, modules: Mapping[str, str]) -> Path:
    """A project with this one's contracts whose package has `modules` (text by name) in `folder`, as "sim/machine"."""
    project = package_with(tmp_path, [])
    inner = project / "tirx_mini" / folder
    inner.mkdir(exist_ok=True)
    (inner / "__init__.py").touch()
    for name, text in modules.items():
        (inner / f"{name}.py").write_text(text)
    return project


@pytest.mark.parametrize("folder", ["ir", "sim/machine"])
@pytest.mark.parametrize(
    "statement",
    [
        "from .upper import Printer",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .upper import Printer",
        "def text():\n    from .upper import Printer",
        "def text():\n    from . import upper",
    ],
    ids=["plain", "for type checkers", "in a function", "as a module"],
)
def test_a_circle_of_modules_is_found(tmp_path: Path, folder: str, statement: str) -> None:
    project = package_with_modules(tmp_path, folder, {"upper": "from .lower import Node\n", "lower": f"{statement}\n"})
    result = lint_imports(project)
    assert result.returncode == 1, result.stdout + result.stderr
    assert f"No cycles are allowed in tirx_mini.{folder.replace('/', '.')}.\n" in result.stdout


def test_modules_that_stand_on_one_another_are_legal(tmp_path: Path) -> None:
    modules = {"upper": "from .lower import Node\n", "lower": ""}
    result = lint_imports(package_with_modules(tmp_path, "ir", modules))
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_room_without_a_place_is_found(tmp_path: Path) -> None:
    result = lint_imports(package_with(tmp_path, [], rooms=(*ROOMS, "attic")))
    assert result.returncode == 1, result.stdout + result.stderr
    assert "tirx_mini.attic" in result.stdout


@dataclass(frozen=True)
class Import:
    """`from module import name` (name is None for `import module`) at `line` of `path`.

    level: the dots before the module, which is absolute here.
    """

    path: Path
    line: int
    module: str
    name: str | None
    level: int = 0

    def __str__(self) -> str:
        what = f"import {self.module}" if self.name is None else f"from {self.module} import {self.name}"
        return f"{self.path}:{self.line}: {what}"


def imports_of(package: Path) -> Iterator[Import]:
    """Every import in the package, those inside functions too, relative ones made absolute."""
    for path in sorted(package.rglob("*.py")):
        here = path.relative_to(package.parent)
        for node in ast.walk(ast.parse(path.read_text(), str(path))):
            if isinstance(node, ast.Import):
                yield from (Import(here, node.lineno, alias.name, None) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = here.parent.parts[: len(here.parent.parts) - node.level + 1] if node.level else ()
                module = ".".join([*base, *([node.module] if node.module else [])])
                yield from (Import(here, node.lineno, module, alias.name, node.level) for alias in node.names)


@pytest.fixture(scope="module")
def imports() -> tuple[Import, ...]:
    """Those of the package."""
    return tuple(imports_of(PACKAGE))


def exported(room: Path) -> frozenset[str]:
    """The names in a room's `__all__`."""
    for node in ast.parse((room / "__init__.py").read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return frozenset(ast.literal_eval(node.value))
    return frozenset()


def is_module(folder: Path, name: str | None) -> bool:
    return name is not None and ((folder / name).is_dir() or (folder / f"{name}.py").is_file())


def trespass(item: Import, package: Path) -> bool:
    """Whether the import takes from another room, or from the package's front door, what is not offered to it."""
    own = item.path.parts[1] if len(item.path.parts) > 2 else None  # None: a module beside the rooms
    root, *inner = item.module.split(".")
    if root != package.name or (inner and inner[0] == own):
        return False
    if not inner:  # from tirx_mini import …: rooms must not depend on the front door, which depends on them
        return own is not None and own not in FRONT and not is_module(package, item.name)
    room = package / inner[0]
    if not room.is_dir():
        return False
    hidden = item.name is not None and (item.name.startswith("_") or is_module(room, item.name))
    return len(inner) > 1 or (hidden and item.name not in exported(room))


def trespasses(imports: Iterable[Import], package: Path) -> list[str]:
    return [str(item) for item in imports if trespass(item, package)]


def through_own_init(item: Import, package: Path) -> bool:
    """Whether a module imports a name from the `__init__` of a package that it is in, which imports the module."""
    folder = package.parent.joinpath(*item.module.split("."))
    return folder != package and folder in (package.parent / item.path).parents and not is_module(folder, item.name)


def test_no_module_imports_from_a_package_that_it_is_in(imports: tuple[Import, ...]) -> None:
    assert imports
    assert [str(item) for item in imports if through_own_init(item, PACKAGE)] == []


@pytest.mark.parametrize(
    ("statement", "circle"),
    [
        ("from tirx_mini.sim.machine import Gpu", True),
        ("from . import Gpu", True),
        ("from .. import Gpu", True),
        ("import tirx_mini.sim", True),
        ("from . import warp", False),
        ("from .warp import Warp", False),
        ("from ..engines import Tma", False),
        ("from tirx_mini.ir import Expr", False),
    ],
)
def test_an_import_through_the_own_init_is_found(tmp_path: Path, statement: str, circle: bool) -> None:
    modules = {"warp": "", "barriers": f"{statement}\n"}
    package = package_with_modules(tmp_path, "sim/machine", modules) / "tirx_mini"
    assert any(through_own_init(item, package) for item in imports_of(package)) is circle


def room_of(parts: Sequence[str]) -> tuple[str, ...]:
    """The room of a module by the parts of its name: a folder of the package, or one of its front ends."""
    return tuple(parts[1:3] if "frontends" in parts[1:2] else parts[1:2])


def test_imports_are_absolute_across_rooms_and_relative_within_one(imports: tuple[Import, ...]) -> None:
    wrong = []
    for item in imports:
        folder = item.path.parent.parts
        room = room_of(folder)
        if item.name is None or not room or item.path.name == "boot.py":  # which is executed as a file
            continue
        target = folder[: len(folder) - item.level + 1] if item.level else item.module.split(".")
        inside = target[0] == PACKAGE.name and room_of(target)[: len(room)] == room
        if inside != bool(item.level):
            wrong.append(str(item))
    assert wrong == []


def test_nobody_reaches_past_a_neighbours_init(imports: tuple[Import, ...]) -> None:
    assert trespasses(imports, PACKAGE) == []


@pytest.mark.parametrize(
    ("statement", "allowed"),
    [
        ("from tirx_mini.ir import Expr", True),
        ("from tirx_mini.ir import public", True),
        ("from tirx_mini import ir", True),
        ("from tirx_mini.ir.expr import Expr", False),
        ("from ..ir.expr import Expr", False),
        ("import tirx_mini.ir.expr", False),
        ("from tirx_mini.ir import expr", False),
        ("from tirx_mini.ir import _secret", False),
        ("from ..ir import expr", False),
        ("from tirx_mini import simulate", False),
        ("import tirx_mini", False),
        ("from .machine import Gpu", True),
        ("import numpy.linalg", True),
        ("from tirx_mini.sim.machine import Gpu", True),
        ("def f():\n    from tirx_mini.ir.expr import Expr", False),
    ],
)
def test_trespasses_are_told_from_visits(tmp_path: Path, statement: str, allowed: bool) -> None:
    package = package_with(tmp_path, []) / "tirx_mini"
    (package / "ir" / "expr.py").touch()
    (package / "ir" / "public.py").touch()
    (package / "ir" / "__init__.py").write_text('__all__ = ["Expr", "public"]\n')
    (package / "sim" / "machine.py").touch()
    (package / "sim" / "translate.py").write_text(statement + "\n")
    assert (trespasses(imports_of(package), package) == []) is allowed


def test_only_commands_read_command_lines(imports: tuple[Import, ...]) -> None:
    readers = {item.path.parts[1] for item in imports if item.module == "argparse"}
    assert readers == {"__main__.py", "commands", "foreign", "frontends"}


def test_every_room_has_a_docstring() -> None:
    rooms = [path for path in sorted(PACKAGE.iterdir()) if (path / "__init__.py").exists()]
    assert rooms
    for room in rooms:
        assert ast.get_docstring(ast.parse((room / "__init__.py").read_text())), f"{room.name} does not say what it is"


MAX_LINES = 450
"""A longer file says in its docstring, in a line that begins with "Long because", why it is not split."""


def sources(root: Path) -> Iterator[Path]:
    """The project's Python files, except those that students fill in."""
    yield from (path for path in root.glob("*.py") if not path.name.startswith("gemm_kernels"))
    for folder in ("tirx_mini", "kernels_ref", "tasks_ref", "examples", "benchmarks", "tools", "tests"):
        yield from (root / folder).rglob("*.py")


def too_long(root: Path) -> list[str]:
    """The files that are over `MAX_LINES` lines and do not say why."""
    found = []
    for path in sorted(sources(root)):
        text = path.read_text()
        if len(text.splitlines()) <= MAX_LINES:
            continue
        docstring = ast.get_docstring(ast.parse(text)) or ""
        if not re.search(r"^Long because \w", docstring, re.MULTILINE):
            found.append(str(path.relative_to(root)))
    return found


def test_a_long_file_says_why() -> None:
    assert too_long(ROOT) == []


@pytest.mark.parametrize("place", ["utils.py", "tirx_mini/ir/expr.py", "tests/test_step01.py"])
@pytest.mark.parametrize(
    ("docstring", "lines", "found"),
    [
        ("Short.", MAX_LINES, False),
        ("Long.", MAX_LINES + 1, True),
        ("Long.\n\nLong because one table is easier to search than two.", MAX_LINES + 1, False),
        ("It is not Long because of a reason.", MAX_LINES + 1, True),
    ],
    ids=["at the limit", "no reason", "a reason", "the words elsewhere"],
)
def test_a_long_file_without_a_reason_is_found(
    tmp_path: Path, place: str, docstring: str, lines: int, found: bool
) -> None:
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    header = f'"""{docstring}"""\n'
    path.write_text(header + "x = 1\n" * (lines - header.count("\n")))
    assert too_long(tmp_path) == ([place] if found else [])
