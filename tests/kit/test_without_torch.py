"""The course without PyTorch, which an import hook blocks in a process and in those that it starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tirx_mini.commands import commands
from tirx_mini.course import STEPS

ROOT = Path(__file__).parents[2]

HOOK = """
import sys


class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Blocked())
"""

STEP_1, STEP_5 = "kernels_ref/sm100/step01_single_tile.py", "kernels_ref/sm100/step05_pipeline.py"
CALLS: Mapping[str, tuple[str, ...]] = {
    "ladder": ("--steps", "1-3", "--size", "128", "--jobs", "1", "--kernels", "kernels_ref"),
    "check": (f"{STEP_5}:hgemm_v5", "--size", "256"),
    "trace": (f"{STEP_5}:hgemm_v5", "--size", "256", "-o", "OUT/step05.html"),
    "explain": ("TX107",),
    "tune": (f"{STEP_5}:hgemm_v5", "--size", "256", "--set", "PIPE_DEPTH=2", "--quick", "--jobs", "1"),
    "inspect": ("5", "256", "--kernels", STEP_5, "--stage", "passes"),
    "quiz": ("2", "--question", "1", "--answer", "64"),
    "drill": ("2", "--list"),
    "task": (),
    "progress": (STEP_1,),
    "grade": (STEP_1, "--steps", "1"),
    "handin": ("gemm_kernels.py", "-o", "OUT/handin.tar"),
    "hint": ("1",),
    "play": (f"{STEP_1}:hgemm_v1", "--size", "128", "--export", "OUT/step01.html"),
    "run": ("OUT/script.py",),
    "tileir": ("gemm", "256"),
}
"""A call of each command. OUT is a folder with a script alone."""

ALL = """
import contextlib, io, json, sys
from tirx_mini.__main__ import main

said = {}
for command, *arguments in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        status = main([command, *arguments])
    said[command] = status, out.getvalue()
print(json.dumps(said))
"""

KIT = """
import numpy as np
from tirx_mini.course import load_kernels
from utils import WrongResult, benchmark, compile_and_run, prepare_data, verify

shape = 128, 128, 128
for dtype in ("float16", "bfloat16"):
    kernel = load_kernels("kernels_ref")[2](*shape, dtype=dtype)
    A, B, D = prepare_data(*shape, dtype=dtype)
    assert all(isinstance(array, np.ndarray) and array.dtype.name == dtype for array in (A, B, D))
    run = compile_and_run(kernel, A, B, D)
    verify(A, B, D, run)
    ms, tflops = benchmark(kernel, *shape, dtype=dtype)
    assert ms == run.ms and tflops > 0
    D[3, 5] += 1
    try:
        verify(A, B, D, run)
    except WrongResult as error:
        assert "D[3, 5]" in str(error)
    else:
        raise SystemExit("a wrong element passed")
print("right")
"""


@pytest.fixture(scope="module")
def blocked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment variables of processes that cannot import PyTorch."""
    folder = tmp_path_factory.mktemp("hook")
    (folder / "sitecustomize.py").write_text(HOOK, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)]), "PYTHONUTF8": "1"}
    done = run(["-c", "import torch.nn"], environment)
    assert done.returncode == 1 and "ModuleNotFoundError: No module named 'torch'" in done.stderr
    return environment


def run(command: list[str], environment: dict[str, str], given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=environment, input=given, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def said(blocked: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """The exit status and the output of each of `CALLS`."""
    out = str(tmp_path_factory.mktemp("out"))
    Path(out, "script.py").write_text("import tvm\nprint(tvm.__version__)\n", "utf-8")
    calls = [[command, *(word.replace("OUT", out) for word in words)] for command, words in CALLS.items()]
    done = run(["-c", ALL], blocked, json.dumps(calls))
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_each_command_is_called() -> None:
    assert list(CALLS) == list(commands())


@pytest.mark.parametrize("command", CALLS)
def test_a_command_runs(command: str, said: dict[str, tuple[int, str]]) -> None:
    status, out = said[command]
    assert status == 0 and out and "PyTorch" not in out, out


def test_the_grade_is_that_of_a_right_kernel(said: dict[str, tuple[int, str]]) -> None:
    assert "5 of 100 points" in said["grade"][1]


def test_the_step_tests_pass(blocked: dict[str, str]) -> None:
    tests = [f"tests/test_step{step:02}.py" for step in STEPS]
    options = ["-q", "-p", "no:cacheprovider", "--target", "sim", "--kernels", "kernels_ref", "--sizes", "512"]
    done = run(["-m", "pytest", *options, *tests], blocked)
    assert done.returncode == 0 and f"{len(STEPS)} passed" in done.stdout, done.stdout + done.stderr


def test_data_run_judgement_and_time_are_those_of_arrays(blocked: dict[str, str]) -> None:
    done = run(["-c", KIT], blocked)
    assert done.returncode == 0 and done.stdout == "right\n", done.stdout + done.stderr
