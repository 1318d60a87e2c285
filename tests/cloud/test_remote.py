"""A run in the cloud, as it is there: the functions of run_modal.py, called where this test runs."""

from __future__ import annotations

import importlib
import io
import os
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from cloud import events, graded
from tests.cloud.conftest import ROOT


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("run_modal")


def ran(code: str, *, limit_s: float = 60, silence_s: float = 60, **files: bytes) -> list[tuple[str, Any]]:
    return list(events(["-c", code], files, ["*.txt"], limit_s, silence_s))


def joined(found: list[tuple[str, Any]], kind: str) -> bytes:
    return b"".join(value for name, value in found if name == kind)


def test_output_files_and_status_come_in_this_order() -> None:
    code = "import sys; print('é'); open('a.txt', 'w').write(open('mine').read()); print('e', file=sys.stderr); exit(3)"
    found = ran(code, mine=b"7")
    assert found[-2:] == [("file", ("a.txt", b"7")), ("end", 3)]
    assert sorted((kind, joined(found, kind)) for kind in ("out", "err")) == [
        ("err", b"e" + os.linesep.encode()),
        ("out", "é".encode() + os.linesep.encode()),
    ]


def test_output_comes_while_the_run_goes_on(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    code = f"import pathlib, time\nprint(1)\nwhile not pathlib.Path({str(gate)!r}).exists(): time.sleep(0.01)\nprint(2)"
    stream = events(["-c", code], {}, [], 60, 60)
    assert next(stream)[1].startswith(b"1")
    gate.touch()
    rest = list(stream)
    assert joined(rest, "out").strip() == b"2" and rest[-1] == ("end", 0)


@pytest.mark.parametrize(
    ("code", "limits", "last"),
    [
        ("while True: pass", {"silence_s": 0.5}, ("hung", 0.5)),
        ("while True: pass", {"limit_s": 0.5}, ("late", 0.5)),
        ("while True: print('y' * 9999)", {"limit_s": 0.5}, ("late", 0.5)),
    ],
)
def test_what_does_not_end_is_ended(code: str, limits: dict[str, float], last: tuple[str, float]) -> None:
    assert ran(code, **limits)[-1] == last


@pytest.mark.skipif(sys.platform == "win32", reason="there, a process is ended without its children")
def test_what_a_run_started_ends_with_it() -> None:
    code = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print(child.pid)\nchild.wait()"
    )
    found = ran(code, silence_s=2)
    assert found[-1] == ("hung", 2)
    for _ in range(200):
        if not alive(int(joined(found, "out"))):
            return
        time.sleep(0.05)
    pytest.fail("the child of an ended run lives on")


def alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(state.strip()) and not state.startswith("Z")


def test_a_machine_without_a_gpu_ends_the_function_that_needs_one(
    runner: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    assert list(runner.on_gpu.local(["-c", "print(1)"], {}, [], 60, 60)) == [("machine", "")]


def test_the_functions_run_python_in_the_folder_of_the_files(runner: ModuleType) -> None:
    code = "import tirx_mini, utils, pathlib; print(sorted(p.name for p in pathlib.Path().iterdir()))"
    found = list(runner.on_cpu.local(["-c", code], {"gemm_kernels.py": b""}, [], 60, 60))
    assert found[0] == ("machine", "CPU") and found[-1] == ("end", 0), found
    assert joined(found, "out").strip() == b"['gemm_kernels.py']"


def test_a_hand_in_is_graded_by_the_grader_of_the_kit(kit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tirx_mini.resources.resource_root", lambda: kit)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("gemm_kernels.py"), io.BytesIO())
    assert graded("ann", packed.getvalue(), "sim", None) == '["handin.tar", "sim", null]'
    assert graded("bob", b"x = 1", "cuda", "late = 3") == '["gemm_kernels.py", "cuda", "late = 3"]'
    with pytest.raises(RuntimeError, match="cyd was not graded: cannot read it"):
        graded("cyd", b"broken", "sim", None)


HANGS = """
import tirx_mini
import utils
from kernels_ref.sm100.step03_tiling import hgemm_v3
from tirx_mini.runtime import KernelTimeout

class Gpu:
    def __getattr__(self, name):
        return getattr(tirx_mini, name)

    def simulate(self, *arguments, **options):
        raise KernelTimeout("the kernel did not finish within 10 s and was ended")

utils.tvm = Gpu()
"""
"""A kernel, and in place of the simulator what the watchdog raises for a kernel that hangs on a GPU."""


def test_after_a_hang_the_other_sizes_of_a_step_are_not_run(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(HANGS, encoding="utf-8")
    command = ["-m", "pytest", "-rs", str(ROOT / "tests/test_step03.py"), "--kernels", str(tmp_path / "kernels.py")]
    command += ["--target", "sim", "--sizes", "256,512,1024", "-p", "no:cacheprovider"]
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    assert "1 failed, 2 skipped" in done.stdout, done.stdout
    assert "test_step03[256x256x256] hung on the GPU" in done.stdout
