"""``pytest tests/tirx_mini/frontends/tilelang --schedules 20`` runs every kernel in 20 orders of its events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tirx_mini as tvm
from tirx_mini import tilelang


@pytest.fixture(autouse=True)
def orders_of_events(pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """At least as many orders as the option says, in calls of kernels and in simulations."""
    orders: int = pytestconfig.getoption("--schedules")
    simulate = tvm.simulate

    def simulated(*args: Any, schedules: int = 1, **options: Any) -> Any:
        return simulate(*args, schedules=max(schedules, orders), **options)

    if orders > 1:
        monkeypatch.setattr(tvm, "simulate", simulated)
    with tilelang.simulated(schedules=orders):
        yield
