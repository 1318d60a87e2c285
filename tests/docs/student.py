"""The environment of a student, and what runs a page's blocks in it.

It is made once a run of the tests, in a copy of the project, by the commands that README.md gives for it. Blocks that
need another extra run with the interpreter of the tests, which has every extra.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.copies import copied
from tools.pages import ROOT, Block, blocks

LIMIT = 120
"""Seconds, for a block that hangs; blocks take a few."""
BUILT_WITHIN = 600
"""Seconds for the downloads and the installation."""
IGNORED = (".git", ".venv", "build", "node_modules", "*.egg-info", ".*_cache", ".hypothesis")

PROGRAM = """
import contextlib, io, json, linecache, sys
from pathlib import Path

namespace, said = {"__name__": "page"}, []
for line, text, fails in json.load(sys.stdin):
    path = Path(f"line{line}.py").resolve()
    path.write_text("\\n" * line + text, encoding="utf-8")
    linecache.checkcache(str(path))
    code = compile(path.read_text(encoding="utf-8"), path, "exec")
    failed = False
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            exec(code, namespace)
        except Exception:
            if not fails:
                raise
            failed = True
    if fails and not failed:
        sys.exit(f"line {line}: the block must fail")
    said.append(printed.getvalue())
print(json.dumps(said))
"""
"""Runs blocks in one namespace, each as a module of its own file whose lines have the numbers of the page's."""


@dataclass(frozen=True)
class Environment:
    """An installed kit. python: its interpreter. kit: the folder that it was installed from."""

    python: Path
    kit: Path

    def variables(self) -> dict[str, str]:
        """The variables of an activated environment, with a terminal of 80 columns without colours."""
        mine = Path(sys.executable).parent
        others = [path for path in os.environ["PATH"].split(os.pathsep) if path and Path(path) != mine]
        hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
        kept = {name: value for name, value in os.environ.items() if name not in hidden}
        return {
            **kept,
            "PATH": os.pathsep.join([str(self.python.parent), *others]),
            "VIRTUAL_ENV": str(self.python.parents[1]),
            "VENV": str(self.python.parents[1]),  # of make; a page's `.venv` is a link to it
            "COLUMNS": "80",
            "NO_COLOR": "1",
            "PYTEST_ADDOPTS": "-p no:cacheprovider",
            "LADDER": "--steps 1",  # of `make run`: other tests run all steps
        }

    def shell(self, script: str, folder: Path) -> subprocess.CompletedProcess[str]:
        """A script that ran in a folder, with the environment activated."""
        return _shell(script, folder, self.variables(), LIMIT)

    def printed(self, page: Sequence[Block], folder: Path) -> list[str]:
        """The outputs of Python blocks that ran in one process, in an empty folder."""
        given = json.dumps([(block.line, block.text, block.mark == "fails") for block in page])
        variables = {**self.variables(), "PYTHONPATH": str(self.kit), "PYTHONUTF8": "1"}
        done = subprocess.run(
            [self.python, "-c", PROGRAM], cwd=folder, env=variables, input=given, capture_output=True, text=True,
            encoding="utf-8", check=False, timeout=LIMIT,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])


DEVELOPERS = Environment(Path(sys.executable), ROOT)
"""The environment of these tests."""


def student(shared: Path) -> Environment:
    """The environment that README.md makes, in the folder `shared` that all processes of these tests have.

    The folder that these tests run in has a shell's commands; on Windows, they are those of the tests themselves.
    """
    if os.name == "nt":
        return DEVELOPERS
    folder = once(shared / "student", install)
    return Environment(folder / "kit" / ".venv" / "bin" / "python", folder / "kit")


def install(folder: Path) -> None:
    """Copy the project, and run the block of README.md that is marked `environment` in the copy."""
    kit = copied(ROOT, folder / "kit", *IGNORED)
    page = blocks((kit / "README.md").read_text(encoding="utf-8"))
    (block,) = (block for block in page if block.mark == "environment")
    done = _shell(block.text, kit, DEVELOPERS.variables(), BUILT_WITHIN)
    assert done.returncode == 0, f"{block.text}\n{done.stdout}{done.stderr}"
    (kit / ".venv" / ".installed").touch()  # as `make run` leaves it


def _shell(script: str, folder: Path, variables: dict[str, str], limit: int) -> subprocess.CompletedProcess[str]:
    command = ["bash", "-euo", "pipefail", "-c", script]
    return subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, check=False, timeout=limit
    )


def once(folder: Path, make: Callable[[Path], None]) -> Path:
    """Return `folder`, which the first process that asks for it makes, while the others wait."""
    said = folder / "made"
    try:
        folder.mkdir()
    except FileExistsError:
        end = time.monotonic() + BUILT_WITHIN
        while not said.exists() and time.monotonic() < end:
            time.sleep(0.2)
    else:
        problem = "it was interrupted"
        try:
            make(folder)
            problem = ""
        except Exception as error:
            problem = str(error)
        finally:
            (folder / "saying").write_text(problem, encoding="utf-8")
            (folder / "saying").rename(said)
    problem = said.read_text(encoding="utf-8") if said.exists() else "another process did not finish it"
    assert not problem, f"there is no {folder.name}: {problem}"
    return folder
