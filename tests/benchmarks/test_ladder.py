"""The measures on a GPU, as far as a machine without one can tell: what is left out, written and refused."""

from __future__ import annotations

import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

from tirx_mini.hardware import GPUS
from tirx_mini.runtime import device_arch

ROOT = Path(__file__).parents[2]
needs_no_gpu = pytest.mark.skipif(device_arch() is not None, reason="this machine has a GPU")


@pytest.fixture
def ladder(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import ladder

    return ladder


@pytest.mark.parametrize(
    ("gpu", "title"), [("h100", "Hopper ladder on an H100"), ("b200", "Blackwell ladder on a B200")]
)
def test_the_table_and_the_chart_are_named_after_the_gpu(
    gpu: str, title: str, ladder: ModuleType, tmp_path: Path
) -> None:
    case = ladder.Case((4096, 4096, 4096), "float16")
    ladder.note(case, {"event": "result", "times": {"cuBLAS": [0.2, 0.2], "step 7": [0.4, 0.4]}})
    ladder.write_results([case], tmp_path, GPUS[gpu])
    lines = (tmp_path / f"{gpu}.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "M,N,K,dtype,kernel,ms,tflops,ratio_to_cublas"
    assert lines[2] == "4096,4096,4096,float16,step 7,0.400000,343.6,0.5000"
    chart = ElementTree.fromstring((tmp_path / f"{gpu}.svg").read_text(encoding="utf-8"))
    assert title in (chart[0].text or "")


def test_a_step_that_hangs_is_named_and_left_out(
    ladder: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The contest is a process of its own; this one hangs in step 5."""
    contest = tmp_path / "contest.py"
    contest.write_text(
        "import json, sys, time\n"
        "steps = sys.argv[sys.argv.index('--steps') + 1].split(',')\n"
        "for step in steps:\n"
        "    print(json.dumps({'event': 'checking', 'name': f'step {step}'}), flush=True)\n"
        "    time.sleep(600 if step == '5' else 0)\n"
        "times = {name: [1.0] for name in ['cuBLAS', *(f'step {step}' for step in steps)]}\n"
        "print(json.dumps({'event': 'result', 'times': times}))\n"
    )
    monkeypatch.setattr(ladder, "__file__", str(tmp_path / "ladder.py"))
    options = Namespace(check=False, no_triton=True, rounds=1, kernels=ROOT / "kernels_ref", limit=60, silence=1.5)
    case = ladder.run_case((512, 512, 512), "float16", [4, 5, 6], options)
    assert case.stuck == [5] and case.failed == ["step 5: no answer within 2 s"]
    assert set(case.ms) == {"cuBLAS", "step 4", "step 6"}


@needs_no_gpu
@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (["ladder.py"], 1, "error: this machine has no GPU that PyTorch can use"),
        (["run_once.py", "kernels_ref/sm100/step01_single_tile.py"], 2, "this machine has no GPU that PyTorch can use"),
        (["run_once.py", "none.py:kernel"], 2, "error: the kernel file none.py does not exist"),
        (["run_once.py", "gemm_kernels.py:hgemm_v1"], 2, "error[TX402]: TODO at line"),
    ],
)
def test_what_cannot_be_measured_is_one_sentence(arguments: list[str], status: int, text: str) -> None:
    command = [sys.executable, f"benchmarks/{arguments[0]}", *arguments[1:]]
    environment = {**os.environ, "PYTHONUTF8": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == status and text in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
