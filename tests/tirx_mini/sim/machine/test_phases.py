"""What a wait for a parity acquires, and which orders of an mbarrier's events a run speaks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.tirx_mini.sim.bare import address, at, block, buffer, do, initialised, one_lane, run
from tirx_mini.sim import Doubt, RunningWarp, Signal

SHARED = {"bar": ("uint64", 1), "back": ("uint64", 1), "data": ("float32", 64, 4)}

Roles = dict[int, Callable[[RunningWarp], Any]]


def arrive(w: RunningWarp, name: str = "bar") -> None:
    do(w, "mbarrier.arrive", address(w, name))


def wait(w: RunningWarp, parity: int, name: str = "bar") -> Any:
    return block(w, "mbarrier.try_wait", address(w, name), parity)


def store(w: RunningWarp, line: int) -> None:
    at(w, line)
    w.store(buffer(w, "data"), 0, 1.0)


def load(w: RunningWarp, line: int) -> None:
    at(w, line)
    w.load(buffer(w, "data"), 0)


def roles(parts: Roles, count: int = 1) -> Any:
    """One lane of each warp plays a part, after both barriers were initialised for `count` arrivals."""

    def program(w: RunningWarp) -> Any:
        yield from initialised(w, count)
        yield from initialised(w, count, "back")
        one_lane(w)
        if w.warp_id in parts:
            yield from parts[w.warp_id](w)

    return run(program, threads=32 * (max(parts) + 1), shared=SHARED)


def late_waiter(parity: int) -> Any:
    """Warp 0 completes three phases, and writes between the second and the third; warp 1 waits when all are over."""

    def producer(w: RunningWarp) -> Any:
        arrive(w)
        arrive(w)
        store(w, 3)
        arrive(w)
        yield from ()

    def consumer(w: RunningWarp) -> Any:
        w.time += 5000
        yield from wait(w, parity)
        load(w, 7)

    return roles({0: producer, 1: consumer})


def test_a_wait_acquires_no_more_than_the_first_phase_of_its_parity() -> None:
    result = late_waiter(0)
    assert result.kinds == ["race"] and result.lines == {3, 7}
    assert not result.outcome.blocked


def test_a_wait_on_a_fresh_barrier_acquires_nothing_though_the_run_came_late() -> None:
    """Parity 1 passes before any phase is complete, and again after the second one, in which this run comes."""

    def producer(w: RunningWarp) -> Any:
        store(w, 3)
        arrive(w)
        arrive(w)
        yield from ()

    def consumer(w: RunningWarp) -> Any:
        w.time += 5000
        yield from wait(w, 1)
        load(w, 7)

    result = roles({0: producer, 1: consumer})
    assert result.kinds == ["race"] and result.lines == {3, 7}


def test_a_test_that_comes_late_acquires_no_more_than_the_first_phase_of_its_parity() -> None:
    def producer(w: RunningWarp) -> Any:
        arrive(w)
        arrive(w)
        store(w, 3)
        arrive(w)
        yield from ()

    def consumer(w: RunningWarp) -> Any:
        w.time += 5000
        at(w, 7)
        if do(w, "mbarrier.test_wait", address(w, "bar"), 0):
            load(w, 7)
        yield from ()

    result = roles({0: producer, 1: consumer})
    assert result.kinds == ["race"] and result.lines == {3, 7}


def test_a_thread_that_knows_the_earlier_phases_to_be_over_acquires_the_last_one() -> None:
    """Warp 1 has seen both earlier phases end through warp 2, and never waited for this barrier itself."""

    def producer(w: RunningWarp) -> Any:
        arrive(w)
        arrive(w)
        arrive(w, "back")
        store(w, 3)
        arrive(w)
        yield from ()

    def consumer(w: RunningWarp) -> Any:
        yield from wait(w, 0, "back")
        yield from wait(w, 0)
        load(w, 7)

    assert roles({0: producer, 1: consumer}).kinds == []


@pytest.mark.parametrize("laps", [1, 2, 3, 12])
def test_a_ring_of_two_roles_has_one_order(laps: int) -> None:
    def producer(w: RunningWarp) -> Any:
        for lap in range(laps):
            yield from wait(w, lap + 1 & 1, "back")
            store(w, 3)
            arrive(w)

    def consumer(w: RunningWarp) -> Any:
        for lap in range(laps):
            w.time += 700
            yield from wait(w, lap & 1)
            load(w, 7)
            arrive(w, "back")

    result = roles({0: producer, 1: consumer})
    assert result.kinds == [] and result.outcome.open_orders == ()


@pytest.mark.parametrize(("phases", "hangs"), [(1, False), (2, True), (3, False)])
def test_a_waiter_that_phases_overtake_passes_if_the_last_of_them_has_its_parity(phases: int, hangs: bool) -> None:
    def producer(w: RunningWarp) -> Any:
        for _ in range(phases):
            arrive(w)
        yield from ()

    def consumer(w: RunningWarp) -> Any:
        w.time += 5000
        yield from wait(w, 0)

    result = roles({0: producer, 1: consumer})
    assert bool(result.outcome.blocked) == hangs and result.kinds == [] and not result.outcome.open_orders


def test_signals_that_may_count_in_each_others_phases_are_in_doubt() -> None:
    """Two producers of one barrier that expects one arrival: which of them completes the first phase is open."""

    def producer(w: RunningWarp) -> Any:
        w.time += 100 * w.warp_id
        at(w, 3)
        arrive(w)
        yield from ()

    result = roles({0: producer, 1: producer})
    assert result.kinds == []
    assert [(o.doubt, o.subject, o.origin.span.line) for o in result.outcome.open_orders if o.origin.span] == [
        (Doubt.SIGNALS, "bar", 3)
    ]


def test_an_arrival_that_may_overtake_the_bytes_of_the_phase_before_is_reported() -> None:
    """The bytes of phase 0 landed before warp 1 arrived for the next one, and nothing made them."""

    def producer(w: RunningWarp) -> Any:
        at(w, 3)
        do(w, "mbarrier.arrive.expect_tx", address(w, "bar"), 64)
        copy = w.cta.cluster.causality.fork(w.agent, "copy")
        w.gpu.mbarrier(w, address(w, "bar")).complete_tx(w.cta, copy, 64, w.time, Signal.TMA_LOAD, "copy", None)
        yield from ()

    def other(w: RunningWarp) -> Any:
        w.time += 100
        at(w, 8)
        do(w, "mbarrier.arrive.expect_tx", address(w, "bar"), 64)
        yield from ()

    result = roles({0: producer, 1: other})
    assert "barrier-overflow" in result.kinds and result.kinds[0] != "race"
    early = next(f for f in result.findings if f.kind == "barrier-overflow")
    assert early.span is not None and early.span.line == 8 and not early.happened


def test_an_expect_tx_that_no_arrival_of_its_phase_follows_is_in_doubt() -> None:
    def one(w: RunningWarp) -> Any:
        do(w, "mbarrier.expect_tx", address(w, "bar"), 64)
        copy = w.cta.cluster.causality.fork(w.agent, "copy")
        w.gpu.mbarrier(w, address(w, "bar")).complete_tx(w.cta, copy, 64, w.time, Signal.TMA_LOAD, "copy", None)
        yield from ()

    def other(w: RunningWarp) -> Any:
        w.time += 100
        arrive(w)
        yield from ()

    result = roles({0: one, 1: other})
    assert [o.doubt for o in result.outcome.open_orders] == [Doubt.BYTES]


@pytest.mark.parametrize("until", [True, False])
def test_a_test_that_fails_and_is_not_repeated_until_it_passes_is_in_doubt(until: bool) -> None:
    def program(w: RunningWarp) -> Any:
        assert not do(w, "mbarrier.test_wait", address(w, "bar"), 0)
        arrive(w)
        if until:
            assert do(w, "mbarrier.test_wait", address(w, "bar"), 0)
        yield from ()

    assert [o.doubt for o in roles({0: program}).outcome.open_orders] == ([] if until else [Doubt.TEST])


def test_a_run_without_checks_keeps_no_phases() -> None:
    def program(w: RunningWarp) -> Any:
        yield from initialised(w, 32)
        for lap in range(3):
            arrive(w)
            yield from wait(w, lap & 1)
        w.gpu.seen["phases"] = w.cta.mbarriers[0].phases
        w.gpu.seen["value"] = np.float32(w.load(buffer(w, "data"), 0)) * 0

    assert run(program, shared=SHARED, checks=False).seen["phases"] is None
