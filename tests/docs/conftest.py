"""The site as `make docs` builds it, and the environment of a student, each made once for all processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs import student as students
from tools.pages import ROOT


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of these tests have."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def student(shared: Path) -> students.Environment:
    """The environment that README.md tells a student to make."""
    return students.student(shared)


@pytest.fixture(scope="session")
def site(shared: Path) -> Path:
    """The folder of the built site. A warning of MkDocs fails, as with `make docs`."""
    return students.once(shared / "site", build) / "pages"


def build(folder: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder / "pages")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
