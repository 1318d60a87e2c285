"""Named barriers and cluster barriers: whom they wait for, what they order, and the faults of their use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.tirx_mini.sim.bare import at, block, buffer, do, one_lane, run
from tirx_mini.sim import RunningWarp

BAR = {"bar": ("uint64", 1)}
DATA = {**BAR, "data": ("float32", 64, 4)}


def test_bar_sync_waits_for_the_number_of_threads_it_names() -> None:
    def program(w: RunningWarp) -> Any:
        w.time += 100 * w.warp_id
        if w.warp_id < 2:
            yield from block(w, "bar.sync", 3, 64)
        w.gpu.seen[w.warp_id] = w.time

    result = run(program, threads=96)
    assert result.kinds == []
    assert result.seen[0] == pytest.approx(result.seen[1], abs=1) and result.seen[0] >= 100
    assert result.seen[2] == 200


def test_bar_arrive_releases_without_waiting() -> None:
    def program(w: RunningWarp) -> Any:
        if w.warp_id == 0:
            w.store(buffer(w, "data"), np.arange(32), 1.0)
            do(w, "bar.arrive", 1, 64)
            w.gpu.seen["went on"] = w.time
        else:
            w.time += 3000
            yield from block(w, "bar.sync", 1, 64)
            w.load(buffer(w, "data"), np.arange(32))

    result = run(program, shared=DATA, threads=64)
    assert result.kinds == [] and result.seen["went on"] < 3000 and not result.outcome.blocked


def test_bar_sync_by_part_of_a_warp_is_illegal() -> None:
    def program(w: RunningWarp) -> Any:
        at(w, 4)
        if w.warp_id == 0:
            one_lane(w)
        yield from block(w, "bar.sync.all", 0)

    result = run(program, threads=64)
    assert result.finding.kind == "illegal-convergence" and result.lines == {4}
    assert [w.warp_id for w in result.outcome.blocked] == [0, 1]


def test_barriers_do_not_wait_for_warps_that_have_ended() -> None:
    def program(w: RunningWarp) -> Any:
        if w.warp_id < 2:
            yield from block(w, "bar.sync.all", 0)

    result = run(program, threads=96)
    assert result.kinds == [] and not result.outcome.blocked


def test_warps_that_name_different_numbers_of_threads_are_misuse() -> None:
    def program(w: RunningWarp) -> Any:
        at(w, w.warp_id + 1)
        yield from block(w, "bar.sync", 1, 64 if w.warp_id else 96)

    assert run(program, threads=96).kinds[0] == "barrier-misuse"


@pytest.mark.parametrize(("number", "threads"), [(16, 32), (0, 40), (0, 0), (0, 128)])
def test_a_barrier_or_a_number_of_threads_that_the_cta_does_not_have_is_misuse(number: int, threads: int) -> None:
    def program(w: RunningWarp) -> Any:
        yield from block(w, "bar.sync", number, threads)

    assert run(program).finding.kind == "barrier-misuse"


def test_a_cluster_barrier_waits_for_all_its_ctas() -> None:
    def program(w: RunningWarp) -> Any:
        if w.cluster_ctarank == 0:
            w.time += 4000
        yield from block(w, "barrier.cluster.sync")
        w.gpu.seen[w.cluster_ctarank, w.warp_id] = w.time
        do(w, "barrier.cluster.arrive")
        yield from block(w, "barrier.cluster.wait")

    result = run(program, grid=(4, 1, 1), cluster=(4, 1, 1), threads=64)
    assert result.kinds == [] and not result.outcome.blocked
    assert len(result.seen) == 8 and min(result.seen.values()) >= 4000


def test_a_cluster_wait_without_an_arrival_is_misuse() -> None:
    def program(w: RunningWarp) -> Any:
        yield from block(w, "barrier.cluster.wait")

    assert run(program).finding.kind == "barrier-misuse"


def test_a_second_cluster_arrival_without_a_wait_is_misuse() -> None:
    def program(w: RunningWarp) -> Any:
        if w.cluster_ctarank == 0:
            do(w, "barrier.cluster.arrive")
            do(w, "barrier.cluster.arrive")
        yield from ()

    assert run(program, grid=(2, 1, 1), cluster=(2, 1, 1)).finding.kind == "barrier-misuse"


def test_a_barrier_of_some_warps_before_one_of_all_with_its_number_is_reported() -> None:
    """Warp 1 may come to cta_sync while warp 0 and its peer still meet at barrier 0."""

    def program(w: RunningWarp) -> Any:
        if w.warp_id < 2:
            at(w, 3)
            yield from block(w, "bar.sync", 0, 64)
        w.time += 1000
        at(w, 5)
        yield from block(w, "bar.sync.all", 0)
        at(w, 6)
        yield from block(w, "bar.sync.all", 0)

    result = run(program, threads=128)
    late = [f for f in result.findings if f.kind == "race"]
    assert len(late) == 1 and late[0].span is not None and late[0].span.line == 5


def test_lanes_that_name_different_barriers_go_on_with_the_first_ones() -> None:
    """A chip takes the number from a uniform register, which one lane fills."""

    def program(w: RunningWarp) -> Any:
        at(w, 6)
        yield from block(w, "bar.sync", np.arange(32) // 16 + 1, 64)
        w.gpu.seen[w.warp_id] = "went on"

    result = run(program, threads=64)
    assert result.finding.kind == "illegal-convergence" and result.lines == {6}
    assert result.seen == {0: "went on", 1: "went on"} and result.outcome.fault is None
