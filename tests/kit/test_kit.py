"""The workflow of the assignment: rejected shapes, judged results, and the first failure of the skeleton."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tirx_mini as tvm
import utils
from tests.conftest import page_errors, page_text
from tirx_mini.course import STEPS, Factory, StepTimes, load_kernels
from tirx_mini.diagnose import Finding
from tirx_mini.ir import Span, TirxError
from tirx_mini.runtime import KernelTimeout
from utils import (
    Run,
    TooSlow,
    WrongResult,
    benchmark,
    check_shape,
    check_timing,
    compile_and_run,
    prepare_data,
    verify,
)

ROOT = Path(__file__).parents[2]
SKELETON = ROOT / "gemm_kernels.py"
REFERENCES = load_kernels(ROOT / "kernels_ref")


@pytest.fixture(scope="module")
def output_on_the_skeleton() -> str:
    """The output of pytest for the skeleton, with every step at one size."""
    tests = [f"tests/test_step{step:02}.py" for step in STEPS]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--target", "sim", "--sizes", "1024", *tests]
    environment = {**os.environ, "COLUMNS": "200"}
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert result.returncode == 1, result.stdout + result.stderr
    return result.stdout


@pytest.mark.parametrize("step", STEPS)
def test_the_skeleton_fails_with_the_first_todo_and_its_line(step: int, output_on_the_skeleton: str) -> None:
    lines = SKELETON.read_text(encoding="utf-8").splitlines()
    start = next(n for n, text in enumerate(lines) if text.startswith(f"def hgemm_v{step}("))
    todo = next(n for n, text in enumerate(lines, 1) if n > start and "# TODO: " in text)
    place = f"FAILED tests/test_step{step:02}.py::test_step{step:02}["
    summary = [line for line in output_on_the_skeleton.splitlines() if line.startswith(place)]
    assert len(summary) == 1
    assert f"- TODO at line {todo} is not filled in: " in summary[0]


def test_the_skeleton_shows_no_python_frames(output_on_the_skeleton: str) -> None:
    assert "Traceback" not in output_on_the_skeleton
    assert "tirx_mini/" not in output_on_the_skeleton
    assert "conftest.py" not in output_on_the_skeleton


@pytest.mark.parametrize(
    ("kernels", "arch"),
    [
        ("gemm_kernels.py", "sm100"),
        ("kernels_ref", "sm100"),
        ("gemm_kernels_sm90.py", "sm90"),
        ("kernels_ref", "sm90"),
    ],
)
@pytest.mark.parametrize("step", STEPS)
def test_shapes_that_are_not_whole_tiles_are_rejected(step: int, kernels: str, arch: str) -> None:
    factory: Factory = load_kernels(ROOT / kernels, arch)[step]
    tile = STEPS[step].tile(arch)
    for axis, name in enumerate("MNK"):
        bad = list(tile)
        bad[axis] += 32
        words = f"{name} to be a multiple of {tile[axis]}, but {name} is {bad[axis]}"
        if name not in STEPS[step].free:
            words = f"{name} must be {tile[axis]}, but is {bad[axis]}"
        with pytest.raises(ValueError, match=words):
            factory(*bad)


def test_no_dimension_may_be_zero() -> None:
    with pytest.raises(ValueError, match="multiple of 64, but K is 0"):
        check_shape("hgemm", multiple={"K": (0, 64)})


STEP_1 = "from tirx_mini.__main__ import main; main(['check', 'kernels_ref/sm100/step01_single_tile.py:hgemm_v1'])"
STEP_TEST = (
    "import pytest; pytest.main(['-q', '-p', 'no:cacheprovider', '--target', 'sim', '--kernels', 'kernels_ref', "
    "'tests/test_step01.py'])"
)


@pytest.mark.parametrize("program", [STEP_1, STEP_TEST], ids=["check", "step test"])
def test_start_up_imports_no_more_than_it_needs(program: str) -> None:
    """The imports of PyTorch and Hypothesis take longer than a small kernel in the simulator."""
    program += "; import sys; print('imported:', *({'torch', 'hypothesis'} & sys.modules.keys()))"
    result = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0 and ("ok" in result.stdout or "1 passed" in result.stdout), result.stdout
    assert result.stdout.splitlines()[-1] == "imported:"


def test_outputs_start_as_nan_and_inputs_depend_on_the_seed() -> None:
    a, b, d = prepare_data(128, 256, 64, dtype="bfloat16", target="sim", arrays=True)
    assert (a.shape, b.shape, d.shape) == ((128, 64), (256, 64), (128, 256))
    assert str(d.dtype) == "bfloat16" and bool(np.isnan(d.astype(np.float32)).all())
    options = {"dtype": "bfloat16", "target": "sim", "arrays": True}
    again, other = (prepare_data(128, 256, 64, seed=seed, **options)[0] for seed in (0, 1))
    assert np.array_equal(a, again)
    assert not np.array_equal(a, other)


def test_the_data_of_a_simulator_target_are_tensors_unless_arrays_are_asked_for() -> None:
    tensors = prepare_data(128, 256, 64, target="sim")
    arrays = prepare_data(128, 256, 64, target="sim", arrays=True)
    assert all(isinstance(tensor, torch.Tensor) and tensor.dtype is torch.float16 for tensor in tensors)
    assert all(isinstance(array, np.ndarray) for array in arrays)
    for tensor, array in zip(tensors[:2], arrays[:2], strict=True):
        np.testing.assert_array_equal(tensor.numpy(), array)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_gpu_gets_the_same_data_as_tensors(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.Tensor, "cuda", lambda tensor: tensor)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    tensors = prepare_data(128, 256, 64, dtype=dtype, target="cuda:sm_100a")
    for tensor, array in zip(tensors, prepare_data(128, 256, 64, dtype=dtype, target="sim", arrays=True), strict=True):
        assert isinstance(tensor, torch.Tensor) and tensor.dtype is getattr(torch, dtype)
        assert np.array_equal(tensor.float().numpy(), array.astype(np.float32), equal_nan=True)


def test_a_single_wrong_element_fails() -> None:
    a, b, d = prepare_data(128, 128, 64, target="sim", arrays=True)
    d[:] = a.astype(np.float32) @ b.astype(np.float32).T
    verify(a, b, d)
    verify(*map(torch.from_numpy, (a, b, d)))
    d[5, 7] += 1
    with pytest.raises(WrongResult, match=r"1 of 16,384 elements\): D\[5, 7\]"):
        verify(a, b, d)


def test_a_kernel_that_writes_nothing_fails() -> None:
    a, b, d = prepare_data(128, 128, 64, target="sim", arrays=True)
    with pytest.raises(WrongResult, match=r"100\.0% of D is wrong"):
        verify(a, b, d)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_reference_is_correct_and_timed(dtype: str) -> None:
    kernel = REFERENCES[2](128, 128, 128, dtype=dtype)
    a, b, d = prepare_data(128, 128, 128, dtype=dtype, target="sim", arrays=True)
    run = compile_and_run(kernel, a, b, d, "sim")
    verify(a, b, d, run)
    ms, tflops = benchmark(kernel, 128, 128, 128, dtype=dtype, target="sim")
    assert run.ms == pytest.approx(ms)
    assert tflops == pytest.approx(2 * 128**3 / ms / 1e9)


def test_a_slow_kernel_fails_the_time_bound() -> None:
    kernel = REFERENCES[2](128, 128, 128)
    a, b, d = prepare_data(128, 128, 128, target="sim", arrays=True)
    run = compile_and_run(kernel, a, b, d, "sim")
    assert run.ms is not None
    check_timing(run, kernel)
    slow = Run(run.kernel, run.target, run.ms * 1.31, run.report)
    with pytest.raises(TooSlow, match=r"predicted.*at most 30% more.* µs\nIt is bound by .*a grid of one CTA") as error:
        check_timing(slow, kernel)
    known = tvm.simulate(kernel, data=False, trace=True).bound
    assert str(error.value).endswith(f"\nIt is {known}"), "the same sentence as in every other view"


def test_a_failure_on_the_gpu_precedes_its_explanation() -> None:
    span = Span(__file__, 1)
    report = tvm.simulate(REFERENCES[1](128, 128, 64), *prepare_data(128, 128, 64, target="sim", arrays=True))
    stuck = replace(report, verdict="deadlock", findings=(Finding("deadlock", "error", "nobody arrives", span),))
    error = tvm.GpuRunError(KernelTimeout("kernel did not finish within 10 s"), stuck)
    assert isinstance(error, page_errors()) and isinstance(error.cause, page_errors())
    page = page_text(error)
    assert page.startswith("kernel did not finish within 10 s\n\n") and "nobody arrives" in page
    assert page_text(error.cause) == "kernel did not finish within 10 s\n"


SHAPE = (1024, 1024, 1024)
KERNEL, REFERENCE = REFERENCES[7](*SHAPE), REFERENCES[6](*SHAPE)
TABLE_MS = 0.02
"""The time of step 7 at `SHAPE` in the table of `on_gpu`."""


@pytest.fixture
def on_gpu(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`check_timing(…)` as on a GPU, where `kernel` and `reference` are the measured times in milliseconds.

    Only the GPU "NVIDIA B200" has a table.
    """
    table = StepTimes("docs/b200.csv", {(7, SHAPE, "float16"): TABLE_MS})
    monkeypatch.setattr(utils, "measured_times", lambda gpu: table if gpu == "NVIDIA B200" else None)

    def check(kernel: float, reference: float | None = None, gpu: str = "NVIDIA B200", step: int | None = 7) -> None:
        times = {id(KERNEL): kernel, id(REFERENCE): reference}
        monkeypatch.setattr(utils, "benchmark", lambda func, *shape, **options: (times[id(func)], 0.0))
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda: gpu)
        check_timing(Run(KERNEL, "cuda"), None if reference is None else REFERENCE, step=step)

    return check


@pytest.mark.parametrize("reference", [None, 0.001, TABLE_MS])
def test_the_table_bounds_students_and_references(on_gpu: Callable[..., None], reference: float | None) -> None:
    on_gpu(TABLE_MS * 1.3, reference)
    with pytest.raises(TooSlow, match=r"docs/b200\.csv has 20\.0 µs \(measured\); at most 30% more.* 26\.0 µs$"):
        on_gpu(TABLE_MS * 1.31, reference)


def test_a_slower_machine_is_judged_by_its_own_reference(on_gpu: Callable[..., None]) -> None:
    on_gpu(0.05 * 1.3, reference=0.05)
    with pytest.raises(TooSlow, match=r"reference takes 50\.0 µs and docs/b200\.csv has 20\.0 µs .* 65\.0 µs$"):
        on_gpu(0.05 * 1.31, reference=0.05)


@pytest.mark.parametrize("unknown", [{"gpu": "NVIDIA H100 PCIe"}, {"step": 6}, {"step": None}])
def test_a_case_without_a_table_is_judged_by_the_reference(
    on_gpu: Callable[..., None], unknown: dict[str, Any]
) -> None:
    on_gpu(0.013, reference=0.01, **unknown)
    with pytest.raises(TooSlow, match=r"where the reference takes 10\.0 µs \(measured\)"):
        on_gpu(0.0131, reference=0.01, **unknown)
    on_gpu(1e9, None, **unknown)  # the reference itself has no bound


def test_the_simulator_uses_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(utils, "measured_times", lambda gpu: pytest.fail("a table of a GPU was read"))
    check_timing(Run(KERNEL, "sim", ms=1e9), None, step=7)


@pytest.mark.parametrize("step", STEPS)
def test_the_step_tests_name_their_row_of_the_table(step: int) -> None:
    text = (ROOT / f"tests/test_step{step:02}.py").read_text(encoding="utf-8")
    assert f"\nSTEP = {step}\n" in text and "check_timing(run, reference(*shape), step=STEP)\n" in text


@pytest.mark.parametrize("step", STEPS)
def test_the_hopper_skeleton_stops_at_a_todo_of_the_step(step: int) -> None:
    path = ROOT / "gemm_kernels_sm90.py"
    lines = path.read_text(encoding="utf-8").splitlines()
    starts = {n: next(i for i, text in enumerate(lines) if text.startswith(f"def hgemm_v{n}(")) for n in STEPS}
    end = starts.get(step + 1, len(lines))
    todos = [n for n, text in enumerate(lines[:end], 1) if n > starts[step] and "# TODO: " in text]
    with pytest.raises(TirxError, match=r"TODO at line \d+ is not filled in") as caught:
        load_kernels(path)[step](*STEPS[step].shape(1024))
    assert caught.value.span is not None and caught.value.span.user.line in todos
