"""The machine as a whole: placement, residency, limits, schedules, the order of events, bandwidth."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from tests.tirx_mini.sim.bare import at, block, buffer, do, one_lane, run
from tirx_mini.hardware import B200, GpuSpec
from tirx_mini.sim import RunningWarp
from tirx_mini.sim.machine import EMPTY, FULL, Mask
from tirx_mini.sim.timing import WINDOW, Bandwidth, Clock, SmTraffic, Traffic

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


def test_events_happen_in_the_order_of_time() -> None:
    clock, seen = Clock(), []
    clock.at(3, None, seen.append, "third")
    clock.at(1, None, seen.append, "first")
    clock.at(1, None, seen.append, "second")
    clock.at(2, None, lambda: clock.at(1, None, seen.append, "late"))
    clock.run()
    assert seen == ["first", "second", "late", "third"] and clock.now == 3
    shuffled = set()
    for seed in range(10):
        clock, seen = Clock(random.Random(seed)), []
        for name in "abc":
            clock.at(0, None, seen.append, name)
        clock.run()
        shuffled.add("".join(seen))
    assert len(shuffled) > 1


def test_an_sm_shares_its_port_and_all_share_l2_and_hbm() -> None:
    clock = Clock()
    traffic, sms = Traffic(B200, clock, None), [SmTraffic(B200) for i in range(100)]
    one = traffic.store_tile(sms[0], 0, "a", 64_000)
    two = traffic.store_tile(sms[0], 0, "b", 64_000)
    assert two - one == pytest.approx(64_000 / B200.port_bytes_per_cycle)
    other = traffic.store_tile(sms[1], 0, "b", 64_000)
    assert other == pytest.approx(64_000 / B200.port_bytes_per_cycle + B200.l2_latency)
    many = [traffic.store_tile(sm, 0, ("c", number), 1_000_000) for number, sm in enumerate(sms)]
    assert max(many) >= 100e6 / B200.hbm_bytes_per_cycle
    assert traffic.hbm_bytes == 128_000 + 100_000_000
    again = [traffic.store_tile(sm, 1e6, ("c", number), 1_000_000) - 1e6 for number, sm in enumerate(sms[:50])]
    assert max(again) >= 50e6 / (B200.l2_bytes_per_cycle * B200.sms)


def loaded(spec: GpuSpec, sms: int, nbytes: int, times: int = 1) -> list[float]:
    """When each of so many SMs has its tile, which are all in the L2, the given number of times over."""
    clock = Clock()
    traffic = Traffic(spec, clock, None)
    arrivals: list[float] = []
    for i in range(sms):
        traffic.load_tile(SmTraffic(spec), ("tile", i), nbytes, lambda first, last: None)
    clock.run()
    start, traffic.hbm_bytes = clock.now, 0
    for i in range(sms):
        sm = SmTraffic(spec)
        for _ in range(times):
            traffic.load_tile(sm, ("tile", i), nbytes, lambda first, last: arrivals.append(last - start))
    clock.run()
    assert traffic.hbm_bytes == 0 and len(arrivals) == sms * times
    return arrivals


def test_the_l2_answers_all_sms_in_turns() -> None:
    (alone,) = loaded(B200, 1, 64_000)
    assert alone == pytest.approx(64_000 / B200.port_bytes_per_cycle + B200.l2_latency)
    all_of_them = loaded(B200, B200.sms, 64_000)
    assert all_of_them == pytest.approx([64_000 / B200.l2_bytes_per_cycle + B200.l2_latency] * B200.sms)
    first, second = loaded(B200, 1, 64_000, times=2)
    assert second - first == pytest.approx(64_000 / B200.port_bytes_per_cycle)


def test_a_tile_that_is_not_in_the_l2_comes_from_hbm() -> None:
    clock, arrivals = Clock(), []
    traffic = Traffic(B200, clock, None)
    traffic.load_tile(SmTraffic(B200), "a", 64_000, lambda first, last: arrivals.append(last))
    clock.run()
    assert arrivals[0] >= 64_000 / B200.port_bytes_per_cycle + B200.hbm_latency
    assert traffic.hbm_bytes == traffic.l2_bytes == 64_000


def test_all_that_use_the_shared_memory_of_an_sm_share_it() -> None:
    traffic, sm, rate = Traffic(B200, Clock(), None), SmTraffic(B200), B200.smem_bytes_per_cycle
    assert traffic.shared(sm, 0, 1220) == pytest.approx(1220 / rate)
    assert traffic.shared(sm, 0, 1220) == pytest.approx(2440 / rate)
    assert traffic.access(sm, 0, 1220) == pytest.approx(1220 / rate), "warps go before engines"
    assert traffic.access(sm, 0, 1220) == pytest.approx(2440 / rate), "and one after the other"
    assert traffic.shared(sm, 0, 1220) == pytest.approx(6100 / rate), "which wait for them"


def test_ordinary_loads_wait_for_those_in_flight() -> None:
    traffic = Traffic(B200, Clock(), None)
    most = B200.loads_in_flight
    few, more = (traffic.load(SmTraffic(B200), 0, 0, issues) for issues in (most, most + 1))
    assert (few, more) == (0, B200.l2_latency)
    slow = traffic.load(SmTraffic(B200), 0, 6400, 1)
    assert slow == pytest.approx(6400 / B200.l1_fill_bytes_per_cycle)


@given(st.lists(st.tuples(st.floats(0, 5000), st.integers(1, 4000)), min_size=1, max_size=40))
def test_bandwidth_is_never_exceeded_nor_wasted(requests: list[tuple[float, int]]) -> None:
    """In whatever order requests are made, each takes its time, and all together no less than their bytes need."""
    server = Bandwidth(4.0)
    ends = [server.take(time, nbytes) for time, nbytes in requests]
    for (time, nbytes), end in zip(requests, ends, strict=True):
        assert end >= time + nbytes / 4 - 1e-6
    first, total = min(time for time, _ in requests), sum(nbytes for _, nbytes in requests)
    assert max(ends) >= first - WINDOW + total / 4 - 1e-6
    last = max(time for time, _ in requests)
    assert max(ends) <= last + WINDOW + total / 4 + 1e-6


def test_an_early_request_is_not_held_up_by_a_late_one_made_before() -> None:
    server = Bandwidth(10.0)
    server.take(10_000, 5000)
    assert server.take(0, 100) == pytest.approx(10)


def test_lanes_far_apart_move_whole_sectors() -> None:
    for apart, sectors in ((1, 16), (2, 32), (100, 32)):
        traffic = Traffic(B200, Clock(), None)
        traffic.generic(SmTraffic(B200), 0, 0, np.arange(32) * apart, 16, 32, write=True)
        assert traffic.l2_bytes == sectors * 32


def test_windows_that_have_passed_are_forgotten() -> None:
    server = Bandwidth(1.0)
    for turn in range(3000):
        server.take(turn * WINDOW, WINDOW / 2, now=turn * WINDOW)
    assert len(server._used) < 3000


def test_the_l2_forgets_what_was_not_used_for_long() -> None:
    spec = replace(B200, l2_bytes=1000)
    traffic, sm = Traffic(spec, Clock(), None), SmTraffic(spec)
    for key in ("a", "b", "a", "c"):
        traffic.store_tile(sm, 0, key, 400)
    assert traffic.hbm_bytes == 1200
    traffic.store_tile(sm, 0, "a", 400)
    assert traffic.hbm_bytes == 1200
    traffic.store_tile(sm, 0, "b", 400)
    assert traffic.hbm_bytes == 1600
