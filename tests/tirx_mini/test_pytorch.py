"""PyTorch is an extra: where it is needed and missing, one sentence names it, and the simulator does without."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tirx_mini as tvm
from tests.tirx_mini.codegen.samples import scale
from tirx_mini import tilelang
from tirx_mini.__main__ import main
from tirx_mini.course import load_kernels
from tirx_mini.foreign.scripts import run_script
from tirx_mini.frontends.tilelang import names as tilelang_names
from tirx_mini.grading import NoGpu
from tirx_mini.grading.launching import gpu_here
from tirx_mini.pytorch import GpuMissing, PyTorchMissing, is_missing, pytorch, pytorch_on_gpu, pytorch_or_none
from tirx_mini.runtime import device_arch, toolchain
from tirx_mini.tilelang import language as T
from utils import prepare_data

COMMAND = 'pip install -c constraints.txt -e ".[torch]"'


def test_the_suite_hides_it_from_tests_that_do_not_import_it() -> None:
    assert sys.modules["torch"] is None and pytorch_or_none() is None
    with pytest.raises(PyTorchMissing) as raised:
        pytorch("a picture")
    assert str(raised.value) == f"a picture needs PyTorch, which is not installed: run `{COMMAND}`"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ModuleNotFoundError("No module named 'torch'", name="torch"), True),
        (ImportError("blocked", name="torch.nn.functional"), True),
        (ModuleNotFoundError("No module named 'torchless'", name="torchless"), False),
        (ImportError("cannot import name 'x'"), False),
        (RuntimeError("torch"), False),
    ],
)
def test_only_an_import_of_it_is_missing(error: BaseException, expected: bool) -> None:
    assert is_missing(error) is expected


def test_an_installation_that_is_broken_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch loads its libraries when it is imported."""
    (tmp_path / "torch.py").write_text("raise OSError('libcudart.so.13: no such file')\n", encoding="utf-8")
    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PyTorchMissing, match=r"which cannot be imported \(libcudart.so.13: no such file\): run `pip"):
        pytorch("it")
    assert pytorch_or_none() is None and all(isinstance(array, np.ndarray) for array in prepare_data(128, 128, 64))


def test_a_machine_without_a_gpu_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False)))
    with pytest.raises(GpuMissing, match=r'^it needs a GPU, and PyTorch finds none on this machine: use target="sim"$'):
        pytorch_on_gpu("it")


def test_a_gpu_that_nothing_can_launch_on_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A laptop with a driver, on which the course runs in the simulator."""
    monkeypatch.setattr(toolchain, "driver_library", object)
    assert device_arch() is None


def on_the_gpu() -> list[Any]:
    kernel = scale()
    arrays = [np.zeros(param.shape, str(param.dtype)) for param in kernel.params]
    return [
        lambda: prepare_data(128, 128, 64, target="cuda"),
        lambda: tvm.run(kernel, *arrays, target="cuda:sm_90a"),
        lambda: tvm.compile(kernel, target="cuda:sm_90a")(*arrays),
        lambda: tvm.compile(kernel, target="cuda:sm_90a").time_guarded(*arrays),
    ]


@pytest.mark.compiler
@pytest.mark.parametrize("launch", range(4), ids=["prepare_data", "run", "call", "time_guarded"])
def test_a_launch_says_what_to_install(launch: int) -> None:
    with pytest.raises(PyTorchMissing) as raised:
        on_the_gpu()[launch]()
    assert str(raised.value) == f'target="cuda" needs PyTorch, which is not installed: run `{COMMAND}`'


def test_grading_on_a_gpu_says_what_to_install() -> None:
    with pytest.raises(NoGpu, match="grading on a GPU needs PyTorch, which is not installed: run `pip install"):
        list(gpu_here(None))


def test_the_program_of_the_course_with_tensors_says_what_to_install(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tileir", "moe"]) == 2
    assert capsys.readouterr().err == (
        f"error: the program moe needs PyTorch, which is not installed: run `{COMMAND}`\n"
    )


@pytest.mark.parametrize("command", ["check", "trace", "tileir"])
def test_a_command_says_what_a_file_with_tensors_needs(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.py"
    path.write_text("import torch\n", encoding="utf-8")
    assert main([command, f"{path}:kernel"]) == 1
    printed = capsys.readouterr()
    assert f"run `{COMMAND}`" in " ".join((printed.out + printed.err).split())


@pytest.mark.parametrize("text", ["import torch\n", "def hgemm_v1(M, N, K):\n    from torch import nn\n"])
def test_a_kernel_file_that_imports_it_has_a_page(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(tvm.TirxError) as raised:
        load_kernels(path)[1](128, 128, 64)
    diagnostic = raised.value.diagnostic
    assert diagnostic.message == "this import needs PyTorch, which is not installed"
    assert diagnostic.hint == f"run `{COMMAND}`" and diagnostic.span.line == len(text.splitlines())


def test_a_script_of_another_project_that_imports_it_has_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "program.py"
    path.write_text("import tvm\nimport torch\n", encoding="utf-8")
    assert run_script([str(path)], "program", ["tvm"]) == 1
    said = capsys.readouterr().err
    assert "program.py:2" in said and f"run `{COMMAND}`" in said and "Traceback" not in said


@tilelang.jit(out_idx=[-1])
def add(n: int, dtype: str):
    @T.prim_func
    def main(A: T.Tensor((n,), dtype), B: T.Tensor((n,), dtype), C: T.Tensor((n,), dtype)):
        with T.Kernel(T.ceildiv(n, 256), threads=128) as bx:
            for i in T.Parallel(256):
                C[bx * 256 + i] = A[bx * 256 + i] + B[bx * 256 + i]

    return main


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
def test_a_profiler_measures_and_compares_arrays(dtype: str) -> None:
    profiler = add(256, dtype).get_profiler()
    assert 0 < profiler.do_bench() < 1
    profiler.assert_allclose(lambda a, b: a + b)
    with pytest.raises(AssertionError, match=r"output 0: [1-9]\d.* of the elements differ by more than atol=0\.01"):
        profiler.assert_allclose(lambda a, b: a - b)


@pytest.mark.parametrize(("supply", "expected"), [("Zero", {0}), ("One", {1}), ("Integer", {-2, -1, 0, 1, 2})])
def test_the_arrays_of_a_profiler_hold_what_is_asked_for(supply: str, expected: set[int]) -> None:
    supplied = add(256, "float32").get_profiler(getattr(tilelang.TensorSupplyType, supply)).inputs()
    assert {int(value) for array in supplied for value in array} == expected


def test_the_names_of_tilelang_do_without() -> None:
    tilelang_names.set_random_seed(3)
    first = np.random.rand()
    tilelang_names.set_random_seed(3)
    assert np.random.rand() == first
    assert tilelang_names.do_bench(lambda: None) == 0.0
    assert tilelang_names.torch_assert_close(np.ones(3), np.ones(3))
    with pytest.raises(PyTorchMissing, match="a dtype of it needs PyTorch"):
        T.float16.as_torch()
