"""A test suite that was written for a GPU and for `tvm` runs on a machine without either."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tirx_mini
from tirx_mini.compat.tvm import main
from tirx_mini.runtime import device_arch

ROOT = Path(tirx_mini.__file__).parents[1]

KERNELS = '''
"""Kernels of a suite."""
from tvm.script import tirx as Tx


def scale(n, factor=2.0):
    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((n,), "float16"), D: Tx.Buffer((n,), "float16")):
        with Tx.kernel():
            bx = Tx.cta_id([n // 128], parent="kernel")
            tid = Tx.thread_id([128], parent="cta")
            D[bx * 128 + tid] = A[bx * 128 + tid] * Tx.float16(factor)
    return kernel
'''

CONFTEST = '''
import os
import subprocess

import pytest


@pytest.fixture(scope="session", autouse=True)
def idle_gpu():
    query = ["nvidia-smi", "--query-gpu=index,memory.used", "--format=csv,noheader,nounits"]
    text = subprocess.run(query, capture_output=True, text=True, check=True).stdout
    index, used = text.splitlines()[0].split(",")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", index)
    assert int(used) >= 0
'''

UTILS = '''
import torch
import tvm

DEVICE = torch.device("cuda")


def compile_and_run(kernel, *tensors):
    target = tvm.target.Target("cuda")
    with target:
        executable = tvm.compile(tvm.IRModule({"main": kernel}), target=target, tir_pipeline="tirx")
    executable(*tensors)
    torch.cuda.synchronize()
    return executable


def benchmark(executable, *tensors, repeat=20):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(repeat):
        executable(*tensors)
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / repeat
'''

TESTS = '''
import subprocess
import sys

import numpy as np
import pytest
import torch
import tvm
import tvm.testing
from kernels import scale
from utils import DEVICE, benchmark, compile_and_run

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@needs_gpu
@pytest.mark.parametrize("n", [128, 512])
def test_scale(n):
    torch.manual_seed(0)
    a = torch.randn(n, dtype=torch.float16, device=DEVICE)
    d = torch.zeros(n, dtype=torch.float16).cuda()
    before = d.cpu()
    executable = compile_and_run(scale(n), a, d)
    torch.testing.assert_close(d, a * 2, rtol=1e-3, atol=1e-2)
    assert not before.any(), "a copy in host memory does not change"
    assert "__global__" in executable.mod.imports[0].inspect_source()
    assert 0 < benchmark(executable, a, d) < 1


@needs_gpu
def test_a_result_is_of_the_present_arguments():
    a, d = torch.ones(128, dtype=torch.float16, device="cuda"), torch.zeros(128, dtype=torch.float16, device="cuda:0")
    executable = compile_and_run(scale(128), a, d)
    a += 1
    executable.mod(a, d)
    assert (d == 4).all()


@tvm.testing.requires_cuda_compute_version(9)
def test_tensors_of_the_runtime():
    dev = tvm.cuda(0)
    a = np.arange(128).astype("float16")
    A, D = tvm.runtime.tensor(a, device=dev), tvm.runtime.empty((128,), "float16", dev)
    executable = tvm.compile(scale(128), target=tvm.target.Target({"kind": "cuda", "arch": "sm_100a"}))
    executable(A, D)
    tvm.testing.assert_allclose(D.numpy(), a * 2)
    assert executable.time_evaluator("main", dev)(A, D).mean > 0


def test_a_wrong_result_fails():
    a, d = (torch.zeros(128, dtype=torch.float16, device="cuda") + 1 for _ in range(2))
    compile_and_run(scale(128, factor=3.0), a, d)
    with pytest.raises(AssertionError):
        torch.testing.assert_close(d, a * 2)


def test_a_child_process():
    program = "import tvm, torch; from kernels import scale; print(torch.ones(1, device='cuda').device, scale)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.startswith("cpu <function scale") and done.returncode == 0, done.stderr
'''


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A folder with the suite, as the course's assignment lays it out."""
    (tmp_path / "tests").mkdir()
    files = {"kernels.py": KERNELS, "utils.py": UTILS, "tests/conftest.py": CONFTEST, "tests/test_scale.py": TESTS}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.skipif(device_arch() is not None, reason="this machine has a GPU")
def test_the_suite_passes_without_a_gpu(suite: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("CUDA_VISIBLE_DEVICES", None)
    command = [sys.executable, "-m", "tirx_mini.compat.tvm", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=suite, env=environment, check=False)
    assert done.returncode == 0 and "6 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.skipif(device_arch() is not None, reason="this machine has a GPU")
def test_a_script_beside_its_modules_runs_from_elsewhere(suite: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (suite / "script.py").write_text(
        "import torch\nfrom kernels import scale\nfrom utils import compile_and_run\n"
        "a, d = (torch.ones(128, dtype=torch.float16, device='cuda') for _ in range(2))\n"
        "compile_and_run(scale(128), a, d)\nprint(d.sum().item(), torch.cuda.get_device_name())\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "tirx_mini.compat.tvm", str(suite / "script.py")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path_factory.mktemp("elsewhere"), env=environment, check=False
    )
    assert (done.stdout, done.returncode) == ("256.0 NVIDIA B200\n", 0), done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-m"], "error: which module? Write for example: python -m tirx_mini.compat.tvm -m pytest tests"),
        (["-m", "nothing_of_this_name"], "error: the module nothing_of_this_name is not installed"),
        (["-x"], "error: -x is not an option."),
    ],
)
def test_a_module_that_is_missing_is_said_in_a_sentence(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith(words)


@pytest.mark.parametrize(
    ("statement", "use", "words", "hint"),
    [
        ("import tvm.relax", "tvm.relax.Function()", "does not provide the module `tvm.relax`", "from PyTorch"),
        ("import tvm.relax.op.nn as nn", "nn.relu(1)", "the module `tvm.relax`", "compiled kernel from PyTorch"),
        ("from tvm import relax", "relax.Function()", "`tvm.relax`", "call the compiled kernel from PyTorch"),
        ("from tvm.tirx.pipeline import PipelineStat", "PipelineStat(2)", "`PipelineStat` of `tvm.tirx.pipeline`",
         "`PipelineState`"),
        ("from tvm.tirx.transform import Simplify", "Simplify()", "`tvm.tirx.transform`", "the passes are fixed"),
        ("from tvm.tirx.bench import perfetto", "isinstance(1, perfetto)", "`perfetto` of `tvm.tirx.bench`", ""),
        ("from tvm.script.tirx import nki", "nki()", "`nki` of `tvm.script.tirx`", "write the kernel with `Tx.ptx`"),
        ("import tvm", "tvm.tirx.ForKind", "`ForKind` of `tvm.tirx`", ""),
    ],
)
def test_what_is_not_provided_is_refused_when_it_is_used(
    statement: str, use: str, words: str, hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(f"{statement}\nprint('imported')\n", encoding="utf-8")
    assert main([str(path)]) == 0
    path.write_text(f"{statement}\n{use}\n", encoding="utf-8")
    assert main([str(path)]) == 1
    page = " ".join(capsys.readouterr().err.split())
    assert words in page and hint in page and f"{path}:2" in page


def test_a_module_that_tvm_does_not_have_either_is_missed_at_its_import(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kernels.py"
    path.write_text("import tvm.tirxx\n", encoding="utf-8")
    assert main([str(path)]) == 1
    assert f"{path}:1" in capsys.readouterr().err


KERNEL = """
from tvm.script import tirx as T


@T.prim_func
def kernel(A: T.Buffer((32,), "float32")):
    T.device_entry()
    T.cta_id([1])
    i = T.thread_id([32])
    A[i] = {value}
"""


def test_a_refused_name_in_a_kernel_is_said_at_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(KERNEL.format(value="T.nvshmem.my_pe()"), encoding="utf-8")
    assert main([str(path)]) == 1
    page = " ".join(capsys.readouterr().err.split())
    assert "error[TX601]: `Tx.nvshmem` of TVM is not supported: NVSHMEM connects several GPUs" in page
    assert f"{path}:10:12" in page and "help: split the work into one kernel for each GPU" in page


def test_check_reads_a_file_that_imports_tvm(tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(KERNEL.format(value="A[i] * 2.0"), encoding="utf-8")
    command = ["-m", "tirx_mini.compat.tvm", "-m", "tirx_mini", "check", f"{path}:kernel"]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "kernel: ok" in done.stdout


POSSIBLE = """
import numpy as np
import tvm
from tvm.script import tirx as T

@T.prim_func
def kernel(out: T.Buffer((32,), "int32")):
    T.device_entry()
    b = T.cta_id([2])
    lane = T.lane_id([32])
    out[lane] = lane + b

exe = tvm.compile(tvm.IRModule({"main": kernel}), target="cuda", tir_pipeline="tirx")
for _ in range(2):
    exe(np.zeros(32, np.int32))
print("at the end", [finding.severity for finding in exe.report.findings])
"""


def test_what_did_not_happen_is_a_warning(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "program.py"
    path.write_text(POSSIBLE, encoding="utf-8")
    assert main([str(path)]) == 0
    out, err = capfd.readouterr()
    assert "at the end ['warning']" in out and err.count("warning[TX201]") == 1
    assert main(["--strict", str(path)]) == 1
    assert "error[TX201]" in capfd.readouterr().err
