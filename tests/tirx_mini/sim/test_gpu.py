"""A run of the whole GPU: its schedule, its faults, the findings it counts and its end."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.tirx_mini.sim.bare import at, block, buffer, run
from tirx_mini.sim import RunningWarp


def test_the_same_seed_is_the_same_schedule() -> None:
    def program(w: RunningWarp) -> Any:
        order = w.gpu.seen.setdefault("order", [])
        for _ in range(3):
            order.append((w.block_idx[0], w.warp_id))
            yield from block(w, "bar.sync.all", 0)

    def order(seed: int | None) -> list[Any]:
        return run(program, grid=(3, 1, 1), threads=128, seed=seed).seen["order"]

    assert order(None) == order(None) and order(5) == order(5)
    assert len({str(order(seed)) for seed in (None, 1, 2, 3)}) == 4


def test_a_fault_stops_the_run() -> None:
    def program(w: RunningWarp) -> Any:
        at(w, 4)
        if w.warp_id == 1:
            w.load(buffer(w, "A"), 99)
        w.gpu.seen[w.warp_id] = True
        yield from ()

    result = run(program, threads=96, arrays={"A": np.zeros(8, np.float32)})
    assert result.fault is result.finding and result.lines == {4}
    assert result.seen == {0: True} and not result.outcome.blocked
    assert result.finding.details["role"] == "warp 1"


def test_findings_at_one_place_are_counted() -> None:
    def program(w: RunningWarp) -> Any:
        at(w, 2)
        for _ in range(5):
            w.load(buffer(w, "data"), 0)
        yield from ()

    finding = run(program, shared={"data": ("float32", 4, 4)}).finding
    assert finding.details["count"] == 5


def test_the_run_ends_with_its_last_warp() -> None:
    def program(w: RunningWarp) -> Any:
        w.time += 100 * (w.warp_id + 1)
        yield from ()

    assert run(program, threads=96).outcome.cycles == 300
