"""The ablation of step 10: every variant is right, and the table of the documentation is what the clock predicts."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.ablation import IDEAS, SHAPES, Idea, Row, kernel, predicted, table, updated
from tirx_mini.course import Shape, check_kernel, shape_text
from tirx_mini.hardware import gpu_spec
from tools.figures import records

SMALL: dict[str, Shape] = {"h100": (256, 640, 320), "b200": (512, 512, 320)}
SMS = 2
CASES = [(gpu, idea) for gpu, ideas in IDEAS.items() for idea in ideas]


@pytest.mark.parametrize(("gpu", "idea"), CASES, ids=[f"{gpu}-{idea.name.replace(' ', '-')}" for gpu, idea in CASES])
def test_step_10_is_right_without_an_idea(gpu: str, idea: Idea) -> None:
    checked = check_kernel(kernel(idea, gpu, SMALL[gpu], SMS), gpu=gpu_spec(gpu).with_sms(SMS), trace=False)
    assert checked.ok and checked.product is not None and not checked.report.errors, checked.report


def test_the_table_has_all_rows() -> None:
    found = [(row["gpu"], row["shape"], row["left_out"], row["instead"]) for row in records("ablation.csv")]
    assert found == [(gpu, shape_text(SHAPES[gpu]), idea.name, idea.without) for gpu, idea in CASES]


@pytest.mark.parametrize("gpu", IDEAS)
def test_the_table_is_current(gpu: str) -> None:
    """The first row is predicted again; the others follow from the same kernel and the same clock."""
    row, idea = next(row for row in records("ablation.csv") if row["gpu"] == gpu), IDEAS[gpu][0]
    found = predicted(idea, gpu, SHAPES[gpu])
    command = f"PYTHONPATH=. python benchmarks/ablation.py --gpu {gpu} --csv docs/ablation.csv"
    figures = (idea.name, f"{found.us:.1f}", f"{found.ghz:.2f}")
    assert (row["left_out"], row["predicted_us"], row["ghz"]) == figures, command


def test_measured_rows_join_the_predicted_ones(tmp_path: Path) -> None:
    path = tmp_path / "ablation.csv"
    path.write_text("gpu,shape,left_out,instead,predicted_us,ghz,measured_us,device\n", encoding="utf-8")
    first, second = IDEAS["b200"][:2]
    for rows, device in (([Row(first, 30.04, 1.5), Row(second, 33.0, 1.6)], ""), ([Row(first, 31.0)], "B200")):
        path.write_text(updated(path, "b200", (1, 2, 3), rows, device), encoding="utf-8")
    assert path.read_text(encoding="utf-8").splitlines()[1:] == [
        f"b200,1x2x3,{first.name},{first.without},30.0,1.50,31.0,B200",
        f"b200,1x2x3,{second.name},{second.without},33.0,1.60,,",
    ]
    assert table([Row(first, 30.0, 1.5), Row(second, 33.0, 1.6)]).splitlines()[-1].endswith("| 33.0 | 1.60 | +10.0 % |")
    assert "GHz" not in table([Row(first, 31.0)])
