"""Packages that are executed when a name is asked for are the same packages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tirx_mini.sandbox import boot


def ran(code: str) -> str:
    """What the code prints in a process that began as a sandboxed one does."""
    begin = (
        "import sys; from importlib.machinery import SourceFileLoader\n"
        f"boot = SourceFileLoader('boot', {str(Path(boot.__file__))!r}).load_module()\n"
        "for name in boot.PACKAGES: boot.postpone(name)\n"
    )
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", begin + code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_a_front_end_needs_no_simulator() -> None:
    code = "import tirx_mini.script, tirx_mini.lang, tirx_mini.course.kernels, tirx_mini.saved\n"
    assert ran(code + "print('tirx_mini.sim' in sys.modules, 'tirx_mini.script' in sys.modules)") == "False True"


def test_the_names_of_a_package_are_there_when_they_are_asked_for() -> None:
    code = "import tirx_mini.script, tirx_mini as tvm\nfrom tirx_mini.course import what_if, STEPS\n"
    assert ran(code + "print(tvm.PrimFunc.__name__, callable(what_if), len(STEPS) >= 10)") == "PrimFunc True True"


def test_a_name_that_a_package_does_not_have_is_missing() -> None:
    code = "import tirx_mini.course as course\n"
    assert ran(code + "print(hasattr(course, 'nonsense'), hasattr(course, '__nonsense__'))") == "False False"
