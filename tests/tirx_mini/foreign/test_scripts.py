"""``python -m tirx_mini run``: programs of other projects, whatever they import."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tirx_mini.__main__ import main
from tirx_mini.foreign import once_imported

ALL = """
import subprocess
import sys

import cuda.tile as ct
import numpy as np
import tilelang
import tvm
from tvm import te

@ct.kernel
def add_one(x, N: ct.Constant[int]):
    ct.store(x, (ct.bid(0),), ct.load(x, (ct.bid(0),), (N,)) + 1)

x = np.zeros(64, np.float32)
ct.launch(None, (4,), add_one, (x, 16))
assert (x == 1).all()
A = te.placeholder((8,), name="A")
B = te.compute((8,), lambda i: A[i] * 2.0, name="B")
tvm.build(te.create_schedule(B.op), [A, B], "llvm")
child = "import tvm, tilelang; print(tvm.te.placeholder((4,)).shape, tilelang.__name__)"
print(subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=True).stdout, sys.argv[1:])
"""


def test_one_command_runs_a_program_with_every_language(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "program.py"
    path.write_text(ALL, encoding="utf-8")
    assert main(["run", str(path), "-x", "--help"]) == 0
    said = capsys.readouterr().out
    assert "tilelang" in said and "['-x', '--help']" in said


def test_it_runs_a_module(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["run", "-m", "pytest", "--version"])


@pytest.mark.parametrize(("argv", "said"), [
    ([], "which script?"), (["-m"], "which module?"), (["no.py"], "the script no.py does not exist"),
    (["--fast"], "--fast is not an option"), (["-m", "no_such_module"], "no_such_module is not installed"),
])  # fmt: skip
def test_a_command_line_with_nothing_to_run(argv: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *argv]) == 2
    assert said in capsys.readouterr().err


def test_a_mistake_in_a_kernel_is_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "program.py"
    path.write_text(ALL.replace("+ 1)", "+ y)"), encoding="utf-8")
    assert main(["run", str(path)]) == 1
    said = capsys.readouterr().err
    assert "program.py:13:64" in said and "Traceback" not in said


@pytest.mark.torch
def test_the_gpu_of_a_program_is_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "program.py"
    child = "import os; print(os.environ['TIRX_MINI_GPU'])"
    path.write_text(
        "import subprocess, sys, torch\nprint(torch.cuda.get_device_name())\n"
        f'print(subprocess.run([sys.executable, "-c", {child!r}], capture_output=True, text=True).stdout)\n',
        encoding="utf-8",
    )
    assert main(["run", "--gpu", "h200", str(path)]) == 0
    said = capsys.readouterr().out
    assert "H200" in said and "h200" in said


def test_a_context_begins_when_its_module_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "late_module.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    seen: list[str] = []

    @contextmanager
    def context() -> Iterator[None]:
        seen.append("begun")
        yield
        seen.append("ended")

    with once_imported("late_module", context):
        assert seen == []
        importlib.import_module("late_module")
        assert seen == ["begun"]
    assert seen == ["begun", "ended"]
    with once_imported("no_such_module", context):
        pass
    assert seen == ["begun", "ended"]
