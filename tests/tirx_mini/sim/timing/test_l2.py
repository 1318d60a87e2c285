"""The L2: a tile that is on its way makes everybody wait, and each partition keeps what its own SMs read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tirx_mini.hardware import B200, GpuSpec
from tirx_mini.sim.timing import Clock, SmTraffic, Traffic

PARTED = replace(B200, l2_partitions=2, l2_far_latency=300.0, l2_bytes=200_000)
WHOLE = replace(PARTED, l2_partitions=1, l2_far_latency=0.0)
TILE = 16_384


def times(spec: GpuSpec, *requests: tuple[float, int, str]) -> list[float]:
    """How long each request takes: (when, by an SM of which partition, which tile)."""
    clock = Clock()
    traffic = Traffic(spec, clock, None)
    taken = [0.0] * len(requests)

    def request(number: int, start: float, partition: int, key: str) -> None:
        def arrived(first: float, last: float) -> None:
            taken[number] = last - start

        traffic.load_tile(SmTraffic(spec, partition), key, TILE, arrived)

    for number, (start, partition, key) in enumerate(requests):
        clock.at(start, None, request, number, start, partition, key)
    clock.run()
    return taken


def test_who_asks_for_a_tile_that_is_on_its_way_waits_for_the_rest_of_it() -> None:
    first, second, late = times(WHOLE, (0, 0, "a"), (100, 0, "a"), (5000, 0, "a"))
    assert second == pytest.approx(first - 100, abs=1)
    assert late < second - 100


def test_an_old_tile_comes_at_the_latency_of_the_l2() -> None:
    hbm, hit = times(WHOLE, (0, 0, "a"), (5000, 0, "a"))
    assert hbm - hit == pytest.approx(B200.hbm_latency - B200.l2_latency)


def test_the_other_partition_gets_a_tile_later_and_then_has_it_too() -> None:
    miss, near, far, again = times(PARTED, (0, 0, "a"), (5000, 0, "a"), (10_000, 1, "a"), (15_000, 1, "a"))
    assert miss == pytest.approx(near + B200.hbm_latency - B200.l2_latency + PARTED.l2_far_latency)
    assert far == pytest.approx(near + PARTED.l2_far_latency)
    assert again == pytest.approx(near)


def test_what_all_read_has_the_room_of_one_partition() -> None:
    """Eight tiles of 16 KiB fit in 200 kB, and not in a half of it that keeps them all."""
    keys = "abcdefgh"
    whole = times(WHOLE, *((1000.0 * i, 0, key) for i, key in enumerate(keys + keys)))
    assert max(whole[8:]) < min(whole[:8])
    halves = times(PARTED, *((1000.0 * i, 0, key) for i, key in enumerate(keys + keys)))
    assert halves[8:] == pytest.approx(halves[:8])


def test_arguments_that_fit_for_both_partitions_are_there_from_the_launch_before() -> None:
    assert PARTED.l2_shared_bytes == 100_000
    for nbytes, missed in ((100_000, 0), (100_001, TILE)):
        traffic = Traffic(PARTED, clock := Clock(), None, PARTED.lost_share(nbytes, waves=True))
        traffic.load_tile(SmTraffic(PARTED), "a", TILE, lambda first, last: None)
        clock.run()
        assert traffic.hbm_bytes == missed
