"""Warps: groups of lanes that agree, elections, shuffles, and the lanes that go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.tirx_mini.sim.bare import all_lanes, at, do, one_lane, run
from tirx_mini.sim import RunningWarp


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


def test_elect_sync_picks_the_first_lane_of_a_converged_warp() -> None:
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
def test_a_shuffle_gives_each_lane_the_value_of_its_source(op: str, by: int, source: Any) -> None:
    def program(w: RunningWarp) -> Any:
        w.gpu.seen["found"] = do(w, op, np.arange(32) * 10, by)
        assert do(w, op, 3.5, by) == 3.5
        yield from ()

    assert run(program).seen["found"].tolist() == [source(t) * 10 for t in range(32)]


def only(body: Callable[[RunningWarp], None], **options: Any) -> Any:
    """Run `body` on one warp."""

    def program(w: RunningWarp) -> Any:
        body(w)
        yield from ()

    return run(program, **options)


def test_a_warp_goes_on_with_one_lane_and_then_with_all(w_lanes: int = 5) -> None:
    def body(w: RunningWarp) -> None:
        one_lane(w, w_lanes)
        assert w.lane == w_lanes and w.mask.count == 1
        all_lanes(w)
        assert w.mask.full and list(w.mask.lanes) == list(range(32))

    assert only(body).kinds == []
