"""The machine as a whole: placement, residency, limits, schedules, the order of events, bandwidth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.tirx_mini.sim.bare import at, block, buffer, do, one_lane, run
from tirx_mini.hardware import B200
from tirx_mini.sim import RunningWarp
from tirx_mini.sim.machine import EMPTY, FULL, Mask


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


def test_the_timeline_has_waits() -> None:
    def program(w: RunningWarp) -> Any:
        w.time += 500 * w.warp_id
        at(w, 3)
        yield from block(w, "bar.sync.all", 0)

    trace = run(program, threads=64, trace=True).outcome.trace
    assert trace is not None
    wait = trace[0]
    assert "warp 0" in wait.track and "barrier 0" in wait.name and wait.start == 0 and wait.end >= 500
    assert wait.span is not None and wait.span.line == 3


# -- instructions of lanes -------------------------------------------------------------------------------------------


def test_an_instruction_of_threads_takes_each_group_that_agrees() -> None:
    def program(w: RunningWarp) -> Any:
        lanes = np.arange(32)
        w.gpu.seen["remote"] = do(w, "mapa", lanes % 2 * 8, 0)
        w.gpu.seen["groups"] = [(m.count, v) for m, v in w.agreeing((lanes // 8, 5))]
        assert w.mask.full
        yield from ()

    result = run(program, shared={"data": ("uint64", 2)})
    np.testing.assert_array_equal(result.seen["remote"], np.arange(32) % 2 * 8)
    assert result.seen["groups"] == [(8, (i, 5)) for i in range(4)]


def test_election() -> None:
    def program(w: RunningWarp) -> Any:
        w.gpu.seen["lane"] = np.flatnonzero(do(w, "elect.sync")).tolist()
        at(w, 3)
        one_lane(w, 4)
        do(w, "elect.sync")
        yield from ()

    result = run(program)
    assert result.seen["lane"] == [0] and result.finding.kind == "illegal-convergence" and result.lines == {3}


@pytest.mark.parametrize(
    ("op", "by", "source"),
    [
        ("shfl.xor", 5, lambda t: t ^ 5),
        ("shfl.idx", 7, lambda t: 7),
        ("shfl.down", 3, lambda t: t + 3 if t < 29 else t),
        ("shfl.up", 3, lambda t: t - 3 if t > 2 else t),
    ],
)  # fmt: skip
def test_shuffles(op: str, by: int, source: Any) -> None:
    def program(w: RunningWarp) -> Any:
        w.gpu.seen["found"] = do(w, op, np.arange(32) * 10, by)
        assert do(w, op, 3.5, by) == 3.5
        yield from ()

    assert run(program).seen["found"].tolist() == [source(t) * 10 for t in range(32)]


@pytest.mark.parametrize(("count", "fine"), [(24, True), (168, True), (16, False), (100, False), (264, False)])
def test_register_limits(count: int, fine: bool) -> None:
    def program(w: RunningWarp) -> Any:
        yield from block(w, "setmaxnreg.dec", count=count)

    assert run(program, threads=384).kinds == ([] if fine else ["illegal-instruction"])


# -- parts -----------------------------------------------------------------------------------------------------------


def test_masks_are_sets_of_lanes() -> None:
    even = FULL.where(np.arange(32) % 2 == 0)
    assert even is Mask.of(0x55555555) and even.count == 16 and even.first == 0 and not even.full
    odd = FULL.minus(even)
    assert odd.first == 1 and odd.where(even.bits) is EMPTY and not EMPTY
    assert even.where(True) is even and even.where(False) is EMPTY
