"""The rows of the ladder: a kernel that is right, one that is wrong, one that cannot be built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tirx_mini.course import STEPS, Task, ladder_tasks, run_task, run_tasks

ROOT = Path(__file__).parents[3]
REFERENCES = ROOT / "kernels_ref"


def test_a_table_has_every_step_at_every_shape() -> None:
    tasks = ladder_tasks(REFERENCES, full=True)
    assert [(task.step, task.shape) for task in tasks if task.data] == [
        (step.number, shape) for step in STEPS.values() for shape in step.shapes + step.large
    ]
    (task,) = ladder_tasks(REFERENCES, steps=[3], size=512, gpu="h100", seed=4)
    assert task == Task(REFERENCES, 3, (512, 512, 512), "h100", seed=4)


def test_a_table_has_the_sizes_of_the_step_tests() -> None:
    shapes = [(step.number, shape) for step in STEPS.values() for shape in step.shapes]
    assert [(task.step, task.shape) for task in ladder_tasks(REFERENCES)] == shapes
    assert [(task.step, task.shape) for task in ladder_tasks(REFERENCES, large=True) if task.data] == shapes


def test_large_shapes_are_predicted_unless_they_are_asked_for_in_full() -> None:
    def predicted(**options: Any) -> list[tuple[int, int]]:
        return [(task.step, task.shape[0]) for task in ladder_tasks(REFERENCES, **options) if not task.data]

    assert not predicted()
    assert predicted(large=True) == [(step, size) for step in range(3, 11) for size in (4096, 8192)]
    assert predicted(full=True) == [(3, 4096), (3, 8192), (4, 4096), (4, 8192), (5, 8192)]
    assert predicted(steps=[7], size=4096) == [(7, 4096)] and not predicted(steps=[7], size=4096, full=True)
    assert not predicted(steps=[2], size=4096)


def test_a_predicted_row_has_a_time_and_no_error() -> None:
    row = run_task(Task(REFERENCES, 7, (512, 512, 512), data=False))
    assert (row.verdict, row.ok, row.max_abs_error, row.findings) == ("clock", True, None, 0)
    assert row.time_us == run_task(Task(REFERENCES, 7, (512, 512, 512))).time_us and row.tflops and row.peak_share


def test_a_row_is_judged_by_its_own_data() -> None:
    """The exact product is kept for the next step at the same shape."""
    shape = (128, 128, 64)
    for options in ({"step": 3}, {"step": 4}, {"step": 4, "seed": 1}, {"step": 3, "dtype": "bfloat16"}):
        assert run_task(Task(REFERENCES, shape=shape, **options)).verdict == "ok"


def test_rows_come_with_the_index_of_their_task() -> None:
    tasks = ladder_tasks(REFERENCES, steps=[2, 1], size=128)
    rows = dict(run_tasks(tasks))
    assert [(rows[index].step, rows[index].shape) for index in (0, 1)] == [(2, (128, 128, 128)), (1, (128, 128, 64))]


def test_the_row_of_a_right_kernel_has_its_error_and_its_time() -> None:
    row = run_task(Task(REFERENCES, 1, (128, 128, 64)))
    assert (row.verdict, row.findings, row.detail) == ("ok", 0, "")
    assert row.max_abs_error is not None and 0 < row.max_abs_error < 0.02
    assert row.time_us is not None and row.time_us > 0
    assert row.tflops == pytest.approx(2 * 128 * 128 * 64 / row.time_us / 1e6)


def test_a_shape_that_the_tiles_do_not_cover_is_refused() -> None:
    row = run_task(Task(REFERENCES, 3, (256, 200, 128)))
    assert row.verdict == "refused"
    assert row.detail == "hgemm_v3 needs N to be a multiple of 128, but N is 200"


def test_an_unfilled_skeleton_is_a_fault_that_names_the_todo() -> None:
    skeleton = ROOT / "gemm_kernels.py"
    row = run_task(Task(skeleton, 1, (128, 128, 64)))
    assert row.verdict == "fault"
    line = next(n for n, text in enumerate(skeleton.read_text().splitlines(), 1) if "# TODO" in text)
    assert f"TODO at line {line} is not filled in" in row.detail


def test_a_wrong_result_is_not_ok(tmp_path: Path) -> None:
    source = (REFERENCES / "sm100" / "step03_tiling.py").read_text()
    (tmp_path / "mine.py").write_text(source.replace("B[n_st : n_st", "B[m_st : m_st"))
    row = run_task(Task(tmp_path / "mine.py", 3, (256, 256, 64)))
    assert row.verdict == "wrong"
    assert "differs from A @ B.T" in row.detail
