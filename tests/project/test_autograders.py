"""The autograders of Gradescope and Autolab, executed as those systems execute them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.kernels_ref.skeletons import filled_in
from tools.autograders import main, requirements

ROOT = Path(__file__).parents[2]
RULES = """
[sizes]
1 = { data = [[128, 128, 64]], timed = [128, 128, 64] }
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both autograders, with rules of a teacher."""
    folder = tmp_path_factory.mktemp("autograders")
    (folder / "grading.toml").write_text(RULES, encoding="utf-8")
    assert main(["--out", str(folder), "--rules", str(folder / "grading.toml")]) == 0
    return folder


@pytest.fixture(scope="module")
def handin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A handin.tar with step 1."""
    folder = tmp_path_factory.mktemp("handin")
    (folder / "gemm_kernels.py").write_text(filled_in("sm100", [1]), encoding="utf-8")
    with tarfile.open(folder / "handin.tar", "w") as archive:
        archive.add(folder / "gemm_kernels.py", "gemm_kernels.py")
    return folder / "handin.tar"


def test_what_grading_needs_is_named_once() -> None:
    names = [line.partition(">")[0] for line in requirements().splitlines()]
    assert names == ["numpy", "ml_dtypes", "rich", "tomli"]


def test_rules_that_mean_nothing_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.toml").write_text("nonsense = 1", encoding="utf-8")
    assert main(["--out", str(tmp_path), "--rules", str(tmp_path / "bad.toml")]) == 2
    assert "there is no 'nonsense'" in capsys.readouterr().err and not list(tmp_path.glob("*.zip"))


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="/autograder is made with bubblewrap")
def test_gradescope_grades_a_submission(made: Path, handin: Path, tmp_path: Path) -> None:
    """In a root of its own that has /autograder, as the containers of Gradescope do."""
    root = tmp_path / "autograder"
    for name in ("source", "submission", "results"):
        (root / name).mkdir(parents=True)
    with zipfile.ZipFile(made / "gradescope.zip") as archive:
        for entry in archive.infolist():
            path = Path(archive.extract(entry, root / "source"))
            path.chmod(entry.external_attr >> 16)
    shutil.copyfile(handin, root / "submission" / "handin.tar")
    there = [str(path) for path in Path("/").iterdir() if path.name not in ("proc", "dev", "tmp", "autograder")]
    binds = [word for path in there for word in ("--ro-bind", path, path)]
    inside = ["bwrap", *binds, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    for place in (ROOT, Path(sys.prefix), Path(sys.base_prefix)):  # which may be below /tmp
        inside += ["--ro-bind", str(place), str(place)]
    inside += ["--bind", str(root), "/autograder"]
    # The image of Gradescope has the packages of setup.sh; here they are those of this environment.
    packages = tmp_path / "autograder" / "venv" / "bin"
    packages.mkdir(parents=True)
    (packages / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n', encoding="utf-8")
    (packages / "python").chmod(0o755)
    done = subprocess.run([*inside, "/autograder/source/run_autograder"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((root / "results" / "results.json").read_text(encoding="utf-8"))
    scores = {test["number"]: (test["score"], test["max_score"]) for test in results["tests"]}
    assert results["score"] == 5 and scores["1"] == (5, 5) and scores["10"] == (0, 15)


def test_the_setup_of_gradescope_is_a_script_that_bash_reads(made: Path) -> None:
    with zipfile.ZipFile(made / "gradescope.zip") as archive:
        for name in ("setup.sh", "run_autograder"):
            assert archive.getinfo(name).external_attr >> 16 == 0o755
            subprocess.run(["bash", "-n"], input=archive.read(name), check=True)
        needed = {"kit/requirements.txt", "kit/constraints.txt", "kit/grade.py", "grading.toml"}
        assert needed <= set(archive.namelist())


def test_autolab_grades_a_hand_in(made: Path, handin: Path, tmp_path: Path) -> None:
    """Autolab copies both files and the hand-in to a folder, and executes make; the last line has the scores."""
    shutil.copyfile(made / "autolab" / "autograde.tar", tmp_path / "autograde.tar")
    shutil.copyfile(made / "autolab" / "autograde-Makefile", tmp_path / "Makefile")
    shutil.copyfile(handin, tmp_path / "handin.tar")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    done = subprocess.run(
        ["make", f"PYTHON={sys.executable}"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    scores = json.loads(done.stdout.splitlines()[-1])["scores"]
    assert sum(scores.values()) == 5 and len(scores) == 10
