"""``pytest tests/tirx_mini/tilelang --schedules 20`` runs every kernel in 20 orders of its events."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tirx_mini import tilelang


@pytest.fixture(autouse=True)
def orders_of_events(pytestconfig: pytest.Config) -> Iterator[None]:
    """As many orders as the option says, in blocks of `simulated` that do not say it themselves."""
    with tilelang.simulated(schedules=pytestconfig.getoption("--schedules")):
        yield
