"""The four rungs of the native dialect: correct in the simulator under any schedule, clean machine code on each GPU."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.ir import structural_equal
from tirx_mini.script import from_source

FOLDER = Path(__file__).parents[2] / "examples" / "native"
RUNGS = sorted(path.name for path in FOLDER.glob("0*.py"))


@pytest.fixture
def rung(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names that the file of a rung defines."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return runpy.run_path(str(FOLDER / request.param))


every_rung = pytest.mark.parametrize("rung", RUNGS, indirect=True)


def test_the_ladder_has_four_rungs() -> None:
    assert RUNGS == ["01_saxpy.py", "02_row_shares.py", "03_reduce.py", "04_pipeline.py"]


@every_rung
@pytest.mark.parametrize("gpu", ["b200", "h100"])
def test_a_rung_is_correct_under_every_schedule(rung: dict[str, Any], gpu: str) -> None:
    outputs = [output.copy() for output in rung["outputs"]]
    report = tvm.simulate(rung["kernel"], *rung["inputs"], *outputs, gpu=gpu, schedules=4)
    assert report.verdict == "ok" and not report.findings, str(report)
    for got, want in zip(outputs, rung["expected"], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.compiler
@every_rung
@pytest.mark.parametrize("arch", ["sm_90a", "sm_100a"])
def test_a_rung_compiles_without_warnings_and_spills(rung: dict[str, Any], arch: str) -> None:
    exe = tvm.compile(tvm.IRModule({"main": rung["kernel"]}), target=f"cuda:{arch}")
    printing = "printf(" in exe.source("cuda")  # its arguments are passed through local memory
    assert printing or exe.compiled.warnings == ()
    assert exe.compiled.resources.spill_store_bytes == 0
    assert f"__global__ void __launch_bounds__({exe.func.launch.threads})" in exe.mod.imports[0].inspect_source()


@every_rung
def test_the_script_of_a_rung_parses_back_equal(rung: dict[str, Any]) -> None:
    kernel = rung["kernel"]
    assert structural_equal(kernel, from_source(kernel.script()))


@pytest.mark.compiler
def test_each_rung_adds_its_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    kernels = [runpy.run_path(str(FOLDER / name))["kernel"] for name in RUNGS]
    texts = [tvm.compile(tvm.IRModule({"main": kernel}), target="cuda:sm_90a").source("ptx") for kernel in kernels]
    found = [tuple(word in text for word in ("bar.sync", "shfl.sync.bfly", "cp.async.")) for text in texts]
    assert found == [(False, False, False), (True, False, False), (True, True, False), (True, False, True)]


def command(name: str, *options: str) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": str(FOLDER.parents[1]), "PATH": ""}
    return subprocess.run(
        [sys.executable, str(FOLDER / name), *options], env=environment, capture_output=True, text=True, check=False
    )


def test_a_rung_runs_as_a_script_and_prints() -> None:
    done = command("03_reduce.py", "--target", "sim:h100")
    total = runpy_total()
    assert done.returncode == 0, done.stderr
    assert f"thread 0: mine[0:1] = {total:g}\n" in done.stdout
    assert "reduce_rows on sim:h100: right" in done.stdout


def runpy_total() -> float:
    return np.random.default_rng(0).standard_normal((4, 256), np.float32)[0].sum().item()


@pytest.mark.compiler
def test_a_rung_shows_its_cuda_code() -> None:
    done = command("02_row_shares.py", "--show", "cuda")
    assert done.returncode == 0 and "extern __shared__" in done.stdout
    assert "tvm_builtin_cuda_cta_sync();" in done.stdout


def test_an_unknown_target_is_reported_in_one_sentence() -> None:
    done = command("01_saxpy.py", "--target", "gpu")
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "unknown target 'gpu'" in done.stderr
