"""A folder of hand-ins with files that Python would import: nothing of them is executed by either command."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.kernels_ref.skeletons import filled_in

KIT = Path(__file__).parents[2]
MODULES = (
    "numpy rich tirx_mini sitecustomize usercustomize conftest json utils runpy typing enum ast re random tempfile "
    "threadpoolctl psutil ml_dtypes torch tomllib tomli pickle queue multiprocessing grade "
    "gemm_kernels_sm90 linecache secrets setuptools distutils resource ctypes signal rich-plugin"
).split()
PACKAGES = (
    "encodings",
    "tirx_mini_data",
    "importlib",
    "collections",
    "concurrent",
    "kernels_ref",
    "xml",
    "site-packages",
)
CODE = "from pathlib import Path as P; P({ran!r}).joinpath({name!r}).touch()\n"


def hostile(folder: Path, leave: Sequence[str] = ()) -> Path:
    """A folder with a right hand-in for step 1 amid hostile files. leave: names to leave out. Returns where they say
    that they were executed."""
    ran = folder / "ran"
    ran.mkdir(parents=True)
    for name in MODULES:
        if name not in leave:
            (folder / f"{name}.py").write_text(CODE.format(ran=str(ran), name=name))
    for name in PACKAGES:
        if name not in leave:
            (folder / name).mkdir()
            (folder / name / "__init__.py").write_text(CODE.format(ran=str(ran), name=name))
    code = CODE.format(ran=str(ran), name="a text")
    for name in (
        "hand.pth",
        "python311._pth",
        "__editable__.pth",
        "pyvenv.cfg",
        ".pdbrc",
        "pytest.ini",
        ".pythonrc.py",
    ):
        (folder / name).write_text(f"import os; {code}" if name.endswith("pth") else code)
    (folder / "bwrap").write_text(f"#!/bin/sh\ntouch {ran}/bwrap\n")
    (folder / "bwrap").chmod(0o755)
    (folder / "gemm_kernels.py").write_text(filled_in("sm100", [1]))
    return ran


def run(words: Sequence[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(words, cwd=folder, env={**kept, **environment}, capture_output=True, text=True, check=False)


SCRIPT = """import re, sys
from tirx_mini.__main__ import main
sys.exit(main())
"""
GRADE = ["gemm_kernels.py", "--steps", "1", "--jobs", "1"]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A console script as pip writes one, which has the kit's folder in its environment as an installed one has."""
    path = tmp_path / "bin" / "tirx"
    path.parent.mkdir()
    path.write_text(SCRIPT.replace("import re, sys\n", f"import sys\nsys.path.append({str(KIT)!r})\n"))
    return path


ENVIRONMENTS: Mapping[str, Mapping[str, str]] = {
    "as it is": {},
    "a path with dots": {"PATH": f".:{os.environ['PATH']}:", "PYTHONSTARTUP": ".pythonrc.py"},
}


@pytest.mark.parametrize("environment", ENVIRONMENTS)
@pytest.mark.parametrize("command", ["grade.py", "tirx grade"])
def test_nothing_of_the_folder_is_executed(command: str, environment: str, script: Path, tmp_path: Path) -> None:
    folder = tmp_path / "class"
    ran = hostile(folder)
    words = [str(KIT / "grade.py")] if command == "grade.py" else [str(script), "grade"]
    done = run([sys.executable, *words, *GRADE, "--json", "g.json"], folder, **ENVIRONMENTS[environment])
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((folder / "g.json").read_text())["score"] == 5
    assert not list(ran.iterdir())


def test_a_class_amid_hostile_files_is_graded(tmp_path: Path) -> None:
    """Each file is a hand-in then; a fifo, links and names that no terminal should see are among them."""
    folder = tmp_path / "class"
    ran = hostile(folder, leave=[*MODULES[4:], *PACKAGES])
    os.mkfifo(folder / "fifo.py")
    (folder / "-rf.py").write_text("x = 1\n")
    (folder / "new\nline\x1b[2J.py").write_text("x = 1\n")
    (folder / "loop").mkdir()
    (folder / "loop" / "gemm_kernels.py").symlink_to(folder / "gemm_kernels.py")
    done = run([sys.executable, str(KIT / "grade.py"), "--all", ".", "--out", "../out", "--jobs", "2"], folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not list(ran.iterdir()) and "\x1b" not in done.stdout + done.stderr
    table = (tmp_path / "out" / "grades.csv").read_text(encoding="utf-8")
    scores = {row["hand-in"]: row["score"] for row in csv.DictReader(table.splitlines())}
    assert scores["gemm_kernels"] == "5" and scores["loop"] == scores["fifo"] == "0" and "\x1b" not in table
    assert all(path.name.isprintable() for path in (tmp_path / "out" / "reports").iterdir())


def test_a_module_run_by_python_in_such_a_folder_ends_with_one_sentence(tmp_path: Path) -> None:
    """`python -m` itself may import from the folder before tirx_mini does; here is all that comes after it."""
    folder = tmp_path / "class"
    before = ["tirx_mini", "runpy", "importlib", "typing", "collections", "enum", "re", "ast"]
    ran = hostile(folder, leave=before if sys.version_info >= (3, 11) else [*before, *MODULES, *PACKAGES])
    (folder / "numpy.py").write_text(CODE.format(ran=str(ran), name="numpy"))
    done = run([sys.executable, "-m", "tirx_mini", "grade", *GRADE], folder, PYTHONPATH=str(KIT))
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "which `python -m` could execute in place of Python's own module: write `tirx grade …`" in done.stderr
    assert not list(ran.iterdir())
