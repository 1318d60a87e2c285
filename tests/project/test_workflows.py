"""What is checked of a change, here and on GitHub, agrees with the project's metadata."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.interpreters import TESTS, Interpreter, find, main, packages, supported

ROOT = Path(__file__).parents[2]
WORKFLOW = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
HERE = "{}.{}".format(*sys.version_info)


def test_ci_runs_everything_on_the_oldest_and_the_newest_python() -> None:
    versions = re.findall(r'"(3\.\d+)"', re.findall(r"python: \[(.*)\]", WORKFLOW)[0])
    assert versions == [supported()[0], supported()[-1]]


def test_ci_runs_the_script_whose_targets_are_there() -> None:
    script, makefile = ROOT / ".ci" / "run", (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "run: .ci/run\n" in WORKFLOW
    text = script.read_text(encoding="utf-8")
    (beside,) = re.findall(r"(?m)^beside=\((.*)\)$", text)
    targets = {*re.findall(r"\bmake (?:--silent )?([\w-]+)", text), *beside.split()}
    assert "test" not in targets
    assert {"install", "lint", "test-all", "test-drift", "docs", "slides", "pythons", "run"} <= targets
    assert all(re.search(rf"(?m)^{target}:", makefile) for target in targets)


@pytest.fixture
def ci(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """A function that executes a copy of the script with a `make` whose targets named fail, and with no Python."""
    (tmp_path / "work" / ".ci").mkdir(parents=True)
    shutil.copy2(ROOT / ".ci" / "run", tmp_path / "work" / ".ci")
    for name in ("chromium", "bwrap", "npm"):
        interpreter(tmp_path / name / name, "exit 0")

    def run(*failing: str) -> subprocess.CompletedProcess[str]:
        shutil.rmtree(tmp_path / "make", ignore_errors=True)
        make = f'echo "made $*"; case " {" ".join(failing)} " in *" $1 "*) exit 2;; esac'
        interpreter(tmp_path / "make" / "make", make)
        folders = [str(tmp_path / name) for name in ("make", "chromium", "bwrap", "npm")]
        path = os.pathsep.join([*folders, os.environ["PATH"]])
        command = [tmp_path / "work" / ".ci" / "run"]
        variables = {**os.environ, "PATH": path, "PYTHON": "python3"}
        return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)

    return run


@pytest.mark.skipif(os.name == "nt", reason="it is a shell script")
def test_ci_makes_every_stage_and_fails_with_any_of_them(ci: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    stages = ["test", "lint", "docs", "slides", "pythons", "run"]
    done = ci()
    assert done.returncode == 0, done.stderr
    targets = {stage: "test-all" if stage == "test" else stage for stage in stages}
    assert all(f"made {target} JOBS=" in done.stdout for target in targets.values())
    assert re.findall(r"(\w+): passed in \d+ s", done.stdout.rpartition("\n\n")[2]) == stages
    assert "made --silent test-drift TIMES=build/ci/times.json" in done.stdout
    for stage, target in targets.items():
        done = ci(target)
        assert done.returncode == 1 and done.stdout.rpartition("\n\n")[2].count("passed") == len(stages) - 1
        assert f"\n{stage}: FAILED in" in done.stdout
    assert ci("--silent").returncode == 0, "a list of slow tests that is out of date fails no change"
    assert ci("install").returncode != 0


@pytest.mark.skipif(os.name == "nt", reason="it is a shell script")
def test_ci_takes_the_fastest_python_of_the_version_of_the_first(tmp_path: Path) -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    (function,) = re.findall(r"(?ms)^fastest\(\) \{$.*?^\}$", script)
    folders = [tmp_path / name for name in ("first", "fast", "slow", "older", "broken")]
    saying = [("3.11", 0.2), ("3.11", 0.1), ("3.11", 0.3), ("3.10", 0.01), ("", 0)]  # of each, and how fast it is
    for folder, (version, seconds) in zip(folders, saying, strict=True):
        interpreter(folder / "python3", f'[ "$1" = -c ] && echo "{version}" || echo {seconds}')
    path = os.pathsep.join(map(str, [*folders, "/usr/bin", "/bin"]))
    real = f"{function}\nfastest"
    said = subprocess.run(["bash", "-c", real], env={"PATH": path}, capture_output=True, text=True, check=True).stdout
    assert said == f"{folders[1]}/python3\n"
    times = [sys.executable, ROOT / ".ci" / "speed.py"]
    assert 0 < float(subprocess.run(times, capture_output=True, text=True, check=True).stdout) < 60


@pytest.mark.parametrize(
    "command",
    ["python -m venv .venv", 'pip install -c constraints.txt -e ".[dev]"', "pytest tests --kernels kernels_ref"],
)
def test_ci_runs_what_developers_are_told_to_run_without_make(command: str) -> None:
    assert command in WORKFLOW
    assert command in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_pre_commit_has_the_linter_that_is_pinned() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert re.findall(r"rev: v(.*)", hooks) == re.findall(r"(?m)^ruff==(.*)", pins)


def test_what_other_pythons_run_is_there_and_small() -> None:
    assert all(path.is_file() or any(path.glob("test_*.py")) for path in (ROOT / each for each in TESTS))
    names = [re.split("[<>=]", package)[0] for package in packages("3.10")]
    assert {"numpy", "pytest", "tomli"} <= set(names)
    assert {"torch", "cuda-core", "nvidia-cuda-nvrtc", "modal", "triton", "mkdocs-material"}.isdisjoint(names)
    assert not any(package.startswith("tomli") for package in packages("3.13"))


@pytest.fixture
def pythons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for interpreters: `bin` is the only one on PATH, `versions` is pyenv's."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    return tmp_path


def interpreter(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.mark.skipif(os.name == "nt", reason="the interpreters are shell scripts")
def test_a_python_that_does_not_start_gives_way_to_the_next(pythons: Path) -> None:
    interpreter(pythons / "bin" / f"python{HERE}", "echo pyenv: command not found >&2; exit 127")
    assert find(HERE) is None
    other = interpreter(pythons / f"versions/{HERE}.0/bin/python", "echo 2.7")
    assert find(HERE) is None
    other.unlink()
    other.symlink_to(sys.executable)
    assert find(HERE) == Interpreter(HERE, other)


def test_a_machine_without_other_pythons_passes(pythons: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        f"Python {version}: skipped, " + ("`make test-all` runs everything on it" if version == HERE else "not found")
        for version in supported()
    ]
