"""The benchmark of 8-bit floats draws what it describes, tries what the kernel takes, and writes what it measured."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import h100_fp8 as fp8
from kernels_ref.sm90.extra_fp8 import tiling

FOUND = fp8.Measured(
    (1024, 512, 256), "fast", fp8.Tiling(128, 256, ctas=2), 10.0, 11.0, (1.1, 1.0, 1.2), (1.2, 1.1, 1.3), 1.0, 2.0
)


def test_shapes_are_drawn_anew() -> None:
    first, again, other = (list(fp8.drawn(seed, 8)) for seed in (1, 1, 2))
    assert first == again != other
    for shape in first + other:
        assert 2 * math.prod(shape) >= 2e10 and all(512 <= size <= 8192 and size % 16 == 0 for size in shape)


@pytest.mark.parametrize("promoted", [True, False])
def test_a_sweep_tries_what_the_kernel_takes(promoted: bool) -> None:
    for shape in (*fp8.SQUARES, *fp8.OTHERS, (1024, 2048, 1040)):
        tried = fp8.contestants(shape, promoted)
        assert tiling(*shape, promoted) in tried and len(set(tried)) == len(tried)
        assert all(each.blk_n % (8 * each.ctas) == 0 for each in tried)


def test_a_table_has_what_was_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "fp8.csv"
    fp8.report([FOUND, replace(FOUND, form="promoted")], path)
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["form"] for row in rows] == ["fast", "promoted"]
    assert (rows[0]["n"], rows[0]["ctas"], rows[0]["us"], rows[0]["row_high"]) == ("512", "2", "10.00", "1.3000")
    assert "fast, cold: geometric mean 1.100, least 1.100, of 1" in capsys.readouterr().out
