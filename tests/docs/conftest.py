"""The site as `make docs` builds it, once a session, and the environment of a student, once for all processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs import student as students
from tools.pages import ROOT


@pytest.fixture(scope="session")
def student(tmp_path_factory: pytest.TempPathFactory) -> students.Environment:
    """The environment that README.md tells a student to make."""
    base = tmp_path_factory.getbasetemp()
    return students.student(base.parent if "PYTEST_XDIST_WORKER" in os.environ else base)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site. A warning of MkDocs fails, as with `make docs`."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder
