"""What was measured of plans is read as it was, and the estimate prefers plans that are nearly the fastest."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks import h100_plans
from kernels_ref.sm90.extra_plans import Plan, plans
from tirx_mini.course import Shape

MEASURED = list(h100_plans.measured(Path(__file__).parents[2] / "docs/h100_plans.csv"))


def slower(of: Sequence[tuple[Shape, float, h100_plans.Times]]) -> list[float]:
    """The time of each shape's preferred plan in that of its fastest one."""
    return [times[h100_plans.preferred(shape, times)] / min(times.values()) for shape, _, times in of]


def test_the_preferred_plans_are_nearly_the_fastest() -> None:
    assert len(MEASURED) == 434 and statistics.fmean(slower(MEASURED)) <= 1.013


def test_the_preferred_plans_of_large_squares_lose_three_percent_at_most() -> None:
    squares = [each for each in MEASURED if each[0] in {(n, n, n) for n in range(5120, 8193, 64)}]
    lost = slower(squares)
    assert len(squares) > 40 and statistics.median(lost) <= 1.001 and max(lost) <= 1.03


def test_what_was_measured_are_plans_of_their_shapes() -> None:
    for shape, _, times in MEASURED:
        assert set(times) <= set(plans(*shape)), shape


def test_the_plan_with_the_least_estimate_takes_part_first() -> None:
    found = h100_plans.contestants((1536, 3072, 8192))
    assert found[0] == Plan(True, 192, 192, 1) and 1 < len(found) <= h100_plans.MOST


def test_a_table_is_printed_from_a_file(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["h100_plans.py", "--read", "docs/h100_plans.csv"])
    assert h100_plans.main() == 0
    assert "434 shapes: 1.071 × cuBLAS" in capsys.readouterr().out


def test_plans_with_shares_of_all_tiles_are_read_as_they_were_measured() -> None:
    found = list(h100_plans.measured(Path(__file__).parents[2] / "docs/h200_plans.csv"))
    assert len(found) == 68 and any(plan.swapped for _, _, times in found for plan in times)
    assert statistics.fmean(slower(found)) <= 1.05


def test_pairs_are_preferred_where_rows_begin_within_a_sector() -> None:
    found = list(h100_plans.measured(Path(__file__).parents[2] / "docs/h200_pairs.csv"))
    chosen = {shape: h100_plans.preferred(shape, times) for shape, _, times in found}
    assert len(found) == 13 and statistics.fmean(slower(found)) <= 1.035
    alone = [min(us for plan, us in times.items() if plan.multicast == 1) for _, _, times in found]
    gains = [us / times[chosen[shape]] for us, (shape, _, times) in zip(alone, found, strict=True)]
    assert statistics.geometric_mean(gains) > 1.07
