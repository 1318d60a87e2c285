"""The environment that README.md makes for a student is small, suffices for the course, and is that of `make run`."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.copies import copied
from tests.docs.student import DEVELOPERS, IGNORED, Environment, once
from tools.pages import ROOT

LARGEST_MB = 400
pytestmark = pytest.mark.skipif(os.name == "nt", reason="the commands are a shell's")


def test_the_environment_is_small_and_has_no_pytorch(student: Environment) -> None:
    places = [student.python.parents[1], *student.python.parents[1].rglob("*")]
    taken = sum(place.lstat().st_blocks * 512 for place in places)
    assert taken <= LARGEST_MB * 2**20, f"{taken / 2**20:.0f} MiB"
    code = "from importlib.metadata import distributions; print(*sorted(d.name.lower() for d in distributions()))"
    done = subprocess.run([student.python, "-c", code], env=student.variables(), capture_output=True, text=True)
    names = done.stdout.split()
    assert {"tirx_mini", "numpy", "pytest"} <= set(names) and not {"torch", "triton", "hypothesis"} & set(names)


def test_make_installs_what_the_page_does(tmp_path: Path) -> None:
    """In a fresh copy: its recipes are printed, not run."""
    folder = copied(ROOT, tmp_path / "kit", *IGNORED)
    asked = ["make", "--dry-run", "run", "VENV=.venv"]
    done = subprocess.run(asked, cwd=folder, env=DEVELOPERS.variables(), capture_output=True, text=True, check=True)
    printed = done.stdout
    made = [line for line in printed.splitlines() if "pip" in line and "--editable" in line]
    page = re.findall(r"(?m)^pip install (.*)$", (folder / "README.md").read_text(encoding="utf-8"))
    assert [re.findall(r"\.\[[^]]*\]", line) for line in made] == [[".[course]"]] and "constraints.txt" in made[0]
    assert page == ['-c constraints.txt -e ".[course]"']
    assert "activate" in printed and "pytest tests/test_step01.py --kernels first_kernel.py" in printed


def test_what_is_shared_is_made_once(tmp_path: Path) -> None:
    made: list[Path] = []
    assert once(tmp_path / "a", made.append) == once(tmp_path / "a", made.append) == tmp_path / "a"
    assert made == [tmp_path / "a"]

    def fails(folder: Path) -> None:
        raise OSError("no network")

    for make in (fails, made.append):
        with pytest.raises(AssertionError, match="there is no b: no network"):
            once(tmp_path / "b", make)
