"""A small kit, as a student has it, and a cloud for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cloud.server import Cloud, serving
from tests.copies import copied

ROOT = Path(__file__).parents[2]
PARTS = (
    "run_modal.py cloud tirx_mini kernels_ref utils.py pyproject.toml setup.py README.md LICENSE constraints.txt "
    "benchmarks tests/conftest.py tests/browser.py tests/suites.py tests/texts.py tests/test_step01.py "
    "tests/test_step02.py docs/findings.md"
).split()
UNWRITTEN = """

def hgemm_v2(M, N, K, dtype="float16"):
    # TODO: the loop over K
    ...
"""
GRADER = """
import argparse, json, pathlib, time
parser = argparse.ArgumentParser()
for name in ("file", "--target", "--json", "--rules"):
    parser.add_argument(name)
options = parser.parse_args()
handin = pathlib.Path(options.file).read_bytes()
if handin == b"broken":
    raise SystemExit("cannot read it")
if handin == b"slow":
    time.sleep(600)
rules = pathlib.Path(options.rules).read_text() if options.rules else None
pathlib.Path(options.json).write_text(json.dumps([options.file, options.target, rules]))
print("95 of 100")
"""
"""A program with the command line of grade.py, whose results say how it was called."""
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout in which step 1 is written, step 2 is not, grade.py is `GRADER`, and other files lie about."""
    folder = tmp_path_factory.mktemp("kit")
    for part in PARTS:
        source, target = ROOT / part, folder / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            copied(source, target)
        else:
            shutil.copy2(source, target)
    solved = (ROOT / "kernels_ref" / "sm100" / "step01_single_tile.py").read_text(encoding="utf-8")
    (folder / "gemm_kernels.py").write_text(solved + UNWRITTEN, encoding="utf-8")
    (folder / "grade.py").write_text(GRADER, encoding="utf-8")
    (folder / "diary.txt").write_text("dear diary", encoding="utf-8")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("[core]", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    """What the cloud keeps from one test to the next: containers by what they are made of, and files by content."""
    return tmp_path_factory.mktemp("containers"), {}


@pytest.fixture
def cloud(store: tuple[Path, dict[str, bytes]]) -> Iterator[Cloud]:
    with serving(*store) as served:
        yield served


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Of a user who has no account with Modal, whatever the one who runs the tests has."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MODAL_")}
    return {**kept, "MODAL_CONFIG_PATH": str(tmp_path / "modal.toml"), "MODAL_LOGS_TIMEOUT": "1", "PYTHONUTF8": "1"}


@pytest.fixture
def modal_run(kit: Path, environment: dict[str, str]) -> Run:
    """``modal run run_modal.py …`` in the kit; with `script`, ``python run_modal.py …``. cloud: None for no account."""

    def run(*arguments: str, cloud: Cloud | None = None, script: bool = False) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *([] if script else ["-m", "modal", "run"]), "run_modal.py", *arguments]
        known = environment if cloud is None else {**environment, **cloud.environment()}
        return subprocess.run(command, cwd=kit, env=known, capture_output=True, encoding="utf-8", check=False)

    return run
