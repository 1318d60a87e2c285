"""The unit that works for the largest share of a launch, from the figures of a run without a timeline."""

from __future__ import annotations

import pytest

from tirx_mini.diagnose import LaunchTime, busiest_unit
from tirx_mini.hardware import H100

TIME = LaunchTime(0.0, 1000.0, 1.98)


@pytest.mark.parametrize(
    ("stats", "unit", "share"),
    [
        ({"tensor_cycles": 500.0 * H100.sms, "l2_bytes": 10.0}, "tensor core", 0.5),
        ({"l2_bytes": 1000 * H100.sms * H100.l2_bytes_per_cycle * 0.75, "tensor_cycles": 500.0 * H100.sms}, "L2", 0.75),
        ({"hbm_bytes": 1000 * H100.hbm_bytes_per_cycle * 2}, "HBM", 1.0),
        ({}, "tensor core", 0.0),
    ],
)
def test_the_busiest_unit(stats: dict[str, float], unit: str, share: float) -> None:
    found = busiest_unit(H100, stats, TIME)
    assert (found.name, found.share) == (unit, pytest.approx(share))
