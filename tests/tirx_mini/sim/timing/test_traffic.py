"""Traffic: how the SMs share the L2 and HBM, and how warps and engines share the shared memory of their SM."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tirx_mini.hardware import B200, H100, GpuSpec
from tirx_mini.sim.timing import Clock, SmTraffic, Traffic


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
    clock.at(clock.now + 10_000, None, lambda: None)  # until all of them are there
    clock.run()
    start, traffic.hbm_bytes = clock.now, 0
    for i in range(sms):
        sm = SmTraffic(spec)
        for _ in range(times):
            traffic.load_tile(sm, ("tile", i), nbytes, lambda first, last: arrivals.append(last - start))
    clock.run()
    assert traffic.hbm_bytes == 0 and len(arrivals) == sms * times
    return arrivals


def test_the_l2_serves_all_sms_in_turn() -> None:
    spec = replace(B200, l2_unevenness=0.0)
    (alone,) = loaded(spec, 1, 64_000)
    assert alone == pytest.approx(64_000 / B200.port_bytes_per_cycle + B200.l2_latency)
    all_of_them = loaded(spec, spec.sms, 64_000)
    assert all_of_them == pytest.approx([64_000 / B200.l2_bytes_per_cycle + B200.l2_latency] * B200.sms)
    first, second = loaded(spec, 1, 64_000, times=2)
    assert second - first == pytest.approx(64_000 / B200.port_bytes_per_cycle)


def test_a_tile_that_is_not_in_the_l2_comes_from_hbm() -> None:
    clock, arrivals = Clock(), []
    traffic = Traffic(B200, clock, None)
    traffic.load_tile(SmTraffic(B200), "a", 64_000, lambda first, last: arrivals.append(last))
    clock.run()
    assert arrivals[0] >= 64_000 / B200.port_bytes_per_cycle + B200.hbm_latency
    assert traffic.hbm_bytes == traffic.l2_bytes == 64_000


def test_warps_and_engines_share_the_bandwidth_of_shared_memory() -> None:
    traffic, sm, rate = Traffic(B200, Clock(), None), SmTraffic(B200), B200.smem_bytes_per_cycle
    assert traffic.read_shared(sm, 0, 1220) == pytest.approx(1220 / rate)
    assert traffic.read_shared(sm, 0, 1220) == pytest.approx(2440 / rate)
    assert traffic.access(sm, 0, 1220) == pytest.approx(1220 / rate), "warps go before engines"
    assert traffic.access(sm, 0, 1220) == pytest.approx(2440 / rate), "and one after the other"
    assert traffic.read_shared(sm, 0, 1220) == pytest.approx(6100 / rate), "which wait for them"


def test_what_engines_write_goes_beside_what_they_read() -> None:
    traffic, sm, rate = Traffic(B200, Clock(), None), SmTraffic(B200), B200.smem_bytes_per_cycle
    assert traffic.write_shared(sm, 0, 1280) == pytest.approx(1280 / rate)
    assert traffic.write_shared(sm, 0, 1280) == pytest.approx(2560 / rate), "one after the other"
    held = 2560 * B200.smem_write_share
    assert traffic.read_shared(sm, 0, 1280) == pytest.approx((1280 + held) / rate), "reads wait for a part of them"
    hopper = SmTraffic(H100)
    one = Traffic(H100, Clock(), None)
    assert one.write_shared(hopper, 0, 1220) == pytest.approx(10)
    assert one.read_shared(hopper, 0, 1220) == pytest.approx(10 + 10 * H100.smem_write_share)


def test_ordinary_loads_wait_for_those_in_flight() -> None:
    traffic = Traffic(B200, Clock(), None)
    most = B200.loads_in_flight
    few, more = (traffic.load(SmTraffic(B200), 0, 0, issues) for issues in (most, most + 1))
    assert (few, more) == (0, B200.l2_latency)
    slow = traffic.load(SmTraffic(B200), 0, 6400, 1)
    assert slow == pytest.approx(6400 / B200.l1_fill_bytes_per_cycle)


def test_lanes_far_apart_move_whole_sectors() -> None:
    for apart, sectors in ((1, 16), (2, 32), (100, 32)):
        traffic = Traffic(B200, Clock(), None)
        traffic.generic(SmTraffic(B200), 0, 0, np.arange(32) * apart, 16, 32, write=True)
        assert traffic.l2_bytes == sectors * 32


def test_the_l2_evicts_the_least_recently_used_tile() -> None:
    spec = replace(B200, l2_bytes=1000)
    traffic, sm = Traffic(spec, Clock(), None), SmTraffic(spec)
    for key in ("a", "b", "a", "c"):
        traffic.store_tile(sm, 0, key, 400)
    assert traffic.hbm_bytes == 1200
    traffic.store_tile(sm, 0, "a", 400)
    assert traffic.hbm_bytes == 1200
    traffic.store_tile(sm, 0, "b", 400)
    assert traffic.hbm_bytes == 1600
