"""The machine as a whole: placement, residency, limits, schedules, the order of events, bandwidth."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.tirx_mini.sim.bare import at, block, buffer, do, one_lane, run
from tirx_mini.hardware import B200
from tirx_mini.sim import RunningWarp
from tirx_mini.sim.machine import EMPTY, FULL, Mask

SMALL = replace(B200, sms=4)


def busy(w: RunningWarp) -> Any:
    """Note where and when the warp runs, for 1000 cycles."""
    w.gpu.seen[w.block_idx, w.warp_id] = (w.cta.sm.index, w.time)
    w.time += 1000
    yield from ()


def test_every_thread_of_a_grid_runs_once() -> None:
    result = run(busy, grid=(3, 2, 2), threads=96, spec=SMALL)
    assert result.kinds == [] and len(result.seen) == 12 * 3
    assert {block for block, _ in result.seen} == {(x, y, z) for x in range(3) for y in range(2) for z in range(2)}


def test_ctas_are_spread_before_they_share_an_sm() -> None:
    result = run(busy, grid=(8, 1, 1), spec=SMALL)
    where = [result.seen[(x, 0, 0), 0] for x in range(8)]
    assert sorted(sm for sm, _ in where[:4]) == [0, 1, 2, 3] and all(time == 0 for _, time in where)


@pytest.mark.parametrize(
    ("options", "resident"),
    [
        ({"shared": {"data": ("uint8", 100 * 1024)}}, 2),
        ({"shared": {"data": ("uint8", 232_448)}}, 1),
        ({"threads": 1024}, 2),
        ({"threads": 256, "registers": 128}, 2),
        ({}, 32),
    ],
)  # fmt: skip
def test_residency(options: dict[str, Any], resident: int) -> None:
    """Shared memory (and 1 KiB more a CTA), threads, registers and CTAs limit what an SM holds."""
    result = run(busy, grid=(resident + 1, 1, 1), spec=replace(B200, sms=1), **options)
    late = [block for (block, warp), (_, time) in result.seen.items() if warp == 0 and time > 0]
    assert late == [(resident, 0, 0)]


def test_clusters_are_launched_together() -> None:
    def program(w: RunningWarp) -> Any:
        w.gpu.seen[w.block_idx] = (w.cluster_ctaid, w.cluster_ctarank, w.cta.sm.index, w.cta.cluster.index)
        yield from block(w, "barrier.cluster.sync")

    result = run(program, grid=(4, 4, 1), cluster=(2, 2, 1), spec=replace(B200, sms=8))
    assert result.kinds == [] and not result.outcome.blocked
    for (x, y, _), (inner, rank, _, _) in result.seen.items():
        assert inner == (x % 2, y % 2, 0) and rank == x % 2 + 2 * (y % 2)
    by_cluster: dict[int, set[tuple[int, int]]] = {}
    for (x, y, _), (_, _, _, cluster) in result.seen.items():
        by_cluster.setdefault(cluster, set()).add((x // 2, y // 2))
    assert all(len(places) == 1 for places in by_cluster.values()) and len(by_cluster) == 4


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"grid": (3, 1, 1), "cluster": (2, 1, 1)}, "launch-limit"),
        ({"grid": (16, 1, 1), "cluster": (16, 1, 1)}, "launch-limit"),
        ({"grid": (1 << 40, 1, 1)}, "launch-limit"),
        ({"grid": (1, 65_536, 1)}, "launch-limit"),
        ({"threads": 2048}, "launch-limit"),
        ({"threads": 1024, "registers": 128}, "register-limit"),
        ({"shared": {"A": ("uint8", 200_000), "B": ("uint8", 62_144)}}, "shared-memory-limit"),
    ],
)  # fmt: skip
def test_limits(options: dict[str, Any], kind: str) -> None:
    result = run(busy, **options)
    assert result.finding.kind == kind and not result.seen


def test_the_limit_names_the_buffer() -> None:
    finding = run(busy, shared={"A": ("uint8", 200_000), "B": ("uint8", 62_144)}).finding
    assert finding.details["buffer"] == "B" and finding.span is not None and finding.span.line == 1001
    assert "232448" in finding.message


def test_a_warp_of_fewer_than_32_threads() -> None:
    def program(w: RunningWarp) -> Any:
        w.gpu.seen[w.warp_id] = (w.mask.count, w.thread_idx[0])
        yield from block(w, "bar.sync.all", 0)

    result = run(program, threads=40)
    assert result.kinds == [] and not result.outcome.blocked and result.seen == {0: (32, 0), 1: (8, 32)}


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
