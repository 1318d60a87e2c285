"""The core without its guests: a copy of the project whose front ends are deleted; and the guests' public names."""

from __future__ import annotations

import importlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.copies import copied
from tests.kit.test_without_torch import ALL, CALLS
from tirx_mini.course import STEPS
from tirx_mini.foreign import frontends

ROOT = Path(__file__).parents[2]
NOT_INSTALLED = """
import sys

sys.meta_path[:] = [finder for finder in sys.meta_path if "__editable__" not in getattr(finder, "__module__", "")]
"""
"""Python finds no module of the copy where the project is installed."""
PUBLIC = {name: home for each in frontends() for name, home in each.modules.items()}
"""The public names of the guests' modules, with the modules."""


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project without the folder of front ends."""
    copy = tmp_path_factory.mktemp("core")
    copied(ROOT / "tirx_mini", copy / "tirx_mini", "frontends")
    for folder in ("kernels_ref", "docs", "examples", "tools"):
        copied(ROOT / folder, copy / folder)
    (copy / "sitecustomize.py").write_text(NOT_INSTALLED, encoding="utf-8")
    (copy / "tests").mkdir()
    for path in (*ROOT.glob("*.py"), ROOT / "pyproject.toml", *(ROOT / "tests").glob("*.py")):
        shutil.copy(path, copy / path.relative_to(ROOT))
    return copy


def run(core: Path, *command: str, given: str = "") -> subprocess.CompletedProcess[str]:
    python = [sys.executable, "-P", *command] if sys.version_info >= (3, 11) else [sys.executable, *command]
    environment = {"PYTHONPATH": str(core), "PATH": "/usr/bin:/bin", "PYTHONUTF8": "1", "HOME": str(core)}
    return subprocess.run(
        python, cwd=core, env=environment, input=given, capture_output=True, text=True, check=False
    )


def test_every_command_of_the_core_runs(core: Path) -> None:
    theirs = {"run", *(name for each in frontends() for name in each.commands)}
    out = core / "build" / "out"
    out.mkdir(parents=True)
    calls = {name: [word.replace("OUT", str(out)) for word in words] for name, words in CALLS.items()}
    asked = [[name, *words] for name, words in calls.items() if name not in theirs]
    done = run(core, "-c", ALL, given=json.dumps(asked))
    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert [name for name, (status, _) in said.items() if status != 0] == [] and len(said) == len(asked)
    assert "5 of 100 points" in said["grade"][1]


def test_the_step_tests_pass(core: Path) -> None:
    tests = [f"tests/test_step{step:02}.py" for step in STEPS]
    options = ["-q", "-p", "no:cacheprovider", "--target", "sim", "--kernels", "kernels_ref", "--sizes", "512"]
    done = run(core, "-m", "pytest", *options, *tests)
    assert done.returncode == 0 and f"{len(STEPS)} passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("command", [
    ("check", "kernels_ref/tile/softmax.py:kernel"), ("tileir", "gemm"), ("inspect", "11"), ("run", "program.py"),
])  # fmt: skip
def test_a_guest_is_missed_in_one_sentence(core: Path, command: tuple[str, ...]) -> None:
    (core / "program.py").write_text("import cuda.tile as ct\n", encoding="utf-8")
    done = run(core, "-m", "tirx_mini", *command)
    assert done.returncode in (1, 2) and "Traceback" not in done.stderr, done.stdout + done.stderr
    assert len(re.findall(r"error", done.stdout + done.stderr)) >= 1


def imported() -> Iterator[str]:
    """The guests' modules, and their names, that the pages, lessons, examples and references import."""
    froms = r"from (tirx_mini(?:\.\w+)*) import ([\w, ]+?)(?: as \w+)?$"
    pattern = re.compile(rf"^ *(?:{froms}|import (tirx_mini\.[\w.]+)|.*python -m (tirx_mini\.\w+))", re.MULTILINE)
    places = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "lessons").rglob("*.*")]
    places += [*(ROOT / "examples").rglob("*.py"), *(ROOT / "kernels_ref").rglob("*.py")]
    for path in places:
        if path.suffix in (".md", ".py"):
            for room, names, module, program in pattern.findall(path.read_text(encoding="utf-8")):
                yield from (f"{room}:{name.strip()}" for name in names.split(",") if names)
                yield from (f"{name}:" for name in (module, program) if name)


@pytest.mark.parametrize("name", sorted({*imported(), *(f"{public}:" for public in PUBLIC)}))
def test_a_public_name_imports(name: str) -> None:
    room, _, attribute = name.partition(":")
    module = importlib.import_module(room)
    if attribute:
        try:
            getattr(module, attribute)
        except AttributeError:
            importlib.import_module(f"{room}.{attribute}")


@pytest.mark.parametrize("public", PUBLIC)
def test_a_public_name_is_the_module_at_home(public: str) -> None:
    assert importlib.import_module(public) is importlib.import_module(PUBLIC[public])
    stub = ROOT / Path(*public.split("."))
    text = next(path for path in (stub.with_suffix(".pyi"), stub / "__init__.pyi") if path.is_file()).read_text()
    assert text.startswith(f"from {PUBLIC[public]} import *\n")
