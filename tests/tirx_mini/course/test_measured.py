"""The measured tables: which GPU has which, what they know, and that their figures fit together."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tirx_mini.course import STEPS, StepTimes, measured_times
from tirx_mini.hardware import gpu_spec

DOCS = Path(__file__).parents[3] / "docs"
HEADER = "M,N,K,dtype,kernel,ms,tflops,ratio_to_cublas"


def table(folder: Path, *rows: str) -> Path:
    path = folder / "h100.csv"
    path.write_bytes("".join(f"{line}\r\n" for line in (HEADER, *rows)).encode())
    return path


def test_a_time_is_of_one_step_shape_and_dtype(tmp_path: Path) -> None:
    rows = ("512,256,128,float16,cuBLAS,0.25,1,1", "512,256,128,float16,step 7,0.5,2,0.5")
    times = StepTimes.read(table(tmp_path, *rows, "512,256,128,bfloat16,step 7,0.75,1,"))
    assert times.source == "docs/h100.csv"
    assert times.ms(7, (512, 256, 128), "float16") == 0.5
    assert times.ms(7, (512, 256, 128), "bfloat16") == 0.75
    assert times.ms(7, (256, 512, 128), "float16") is None
    assert times.ms(8, (512, 256, 128), "float16") is None


@pytest.mark.parametrize(
    ("gpu", "source"),
    [
        ("NVIDIA H100 80GB HBM3", "docs/h100.csv"),
        ("NVIDIA B200", "docs/b200.csv"),
        ("NVIDIA H100 PCIe", None),
        ("NVIDIA H200", None),
        ("NVIDIA GB200", None),
        ("", None),
    ],
)
def test_a_table_is_of_one_part(gpu: str, source: str | None) -> None:
    times = measured_times(gpu)
    assert (times and times.source) == source


def test_a_table_that_is_not_there_is_none(tmp_path: Path) -> None:
    assert measured_times("NVIDIA B200", tmp_path) is None
    table(tmp_path, "512,256,128,float16,step 7,0.5,2,0.5")
    found = measured_times("NVIDIA H100 80GB HBM3", tmp_path)
    assert found is not None and found.ms(7, (512, 256, 128), "float16") == 0.5


@pytest.mark.parametrize(("gpu", "first"), [("NVIDIA H100 80GB HBM3", 3), ("NVIDIA B200", 4)])
def test_every_large_size_of_a_measured_step_is_in_the_table(gpu: str, first: int) -> None:
    times = measured_times(gpu)
    assert times is not None
    steps = {step for step, _, _ in times.entries}
    assert steps == set(range(first, max(steps) + 1))
    large = {step: [shape for shape in STEPS[step].all_shapes(full=True) if shape[0] >= 1024] for step in steps}
    missing = [
        (step, shape) for step, shapes in large.items() for shape in shapes if times.ms(step, shape, "float16") is None
    ]
    assert not missing


@pytest.mark.parametrize("gpu", ["h100", "b200"])
def test_the_figures_of_a_row_fit_together(gpu: str) -> None:
    with (DOCS / f"{gpu}.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows and set(rows[0]) == set(HEADER.split(","))
    for row in rows:
        m, n, k, ms = int(row["M"]), int(row["N"]), int(row["K"]), float(row["ms"])
        assert float(row["tflops"]) == pytest.approx(2 * m * n * k / ms / 1e9, rel=0.002), row
        assert float(row["tflops"]) < gpu_spec(gpu).peak_tflops, row


def test_the_b200s_are_the_published_ones() -> None:
    times = measured_times("NVIDIA B200")
    assert times is not None
    assert times.ms(4, (1024,) * 3, "float16") == 0.017
    assert times.ms(6, (8192,) * 3, "float16") == 2.143
    assert times.ms(10, (4096,) * 3, "float16") == 0.107
