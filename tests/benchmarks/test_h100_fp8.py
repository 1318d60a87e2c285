"""The benchmark of 8-bit floats draws what it describes, tries what the kernel takes, and writes what it measured."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import h100_fp8 as fp8
from kernels_ref.sm90.extra_fp8 import tiling

DOCS = Path(__file__).parents[2] / "docs"
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
    found = fp8.measured(path)
    assert list(found) == [(FOUND.shape, "fast"), (FOUND.shape, "promoted")]
    (row,) = found[FOUND.shape, "fast"].values()
    assert list(found[FOUND.shape, "fast"]) == [FOUND.chosen]
    assert (row["us"], row["peer_us"], row["cold_low"], row["row_high"]) == ("10.00", "11.00", "1.0000", "1.3000")
    assert "fast, cold: geometric mean 1.100, least 1.100, of 1" in capsys.readouterr().out


def test_chosen_tilings_are_one_percent_slower_than_the_fastest_of_a_sweep() -> None:
    slower: list[float] = []
    for (shape, form), rows in fp8.measured(DOCS / "h200_fp8_tilings.csv").items():
        us = {each: float(row["us"]) for each, row in rows.items()}
        slower.append(us[tiling(*shape, fp8.FORMS[form])] / min(us.values()))
    assert len(slower) == 26 and statistics.fmean(slower) <= 1.01 and max(slower) <= 1.05


def test_the_table_of_the_page_is_of_the_chosen_tilings() -> None:
    for (shape, form), rows in fp8.measured(DOCS / "h200_fp8.csv").items():
        assert list(rows) == [tiling(*shape, fp8.FORMS[form])]
