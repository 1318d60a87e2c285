"""mbarriers: when a phase completes, what a wait orders, and the faults of their use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.tirx_mini.sim.bare import address, all_lanes, at, block, buffer, do, initialised, one_lane, run
from tirx_mini.sim import RunningWarp, Signal

BAR = {"bar": ("uint64", 1)}
DATA = {**BAR, "data": ("float32", 64, 4)}


@pytest.mark.parametrize(("parity", "passes"), [(1, True), (0, False)])
def test_a_wait_for_parity_1_of_a_fresh_barrier_returns(parity: int, passes: bool) -> None:
    def program(w: RunningWarp) -> Any:
        yield from initialised(w, 1)
        at(w, 2)
        yield from block(w, "mbarrier.try_wait", address(w, "bar"), parity)
        w.gpu.seen["passed"] = True

    result = run(program, shared=BAR)
    assert result.seen.get("passed", False) == passes
    assert result.kinds == []
    assert [w.waiting.parity for w in result.outcome.blocked] == ([] if passes else [0])


def test_phases_alternate_and_pending_arrivals_reload() -> None:
    def program(w: RunningWarp) -> Any:
        yield from initialised(w, 64)
        for round in range(5):
            do(w, "mbarrier.arrive", address(w, "bar"))
            yield from block(w, "mbarrier.try_wait", address(w, "bar"), round & 1)
            yield from block(w, "bar.sync.all", 0)
        w.gpu.seen["phase"] = w.cta.mbarriers[0].phase

    result = run(program, shared=BAR, threads=64)
    assert result.seen == {"phase": 5} and result.kinds == [] and not result.outcome.blocked


@pytest.mark.parametrize("bytes_first", [True, False])
def test_a_phase_needs_all_arrivals_and_all_bytes(bytes_first: bool) -> None:
    """The tx-count may go below zero; the phase does not complete while an arrival is pending."""
    states: list[tuple[int, int, int]] = []

    def program(w: RunningWarp) -> Any:
        yield from initialised(w, 1)
        one_lane(w)
        barrier = w.gpu.mbarrier(w, address(w, "bar"))

        def land() -> None:
            barrier.complete_tx(w.cta, w.agent, 96, w.time, Signal.TMA_LOAD, "copy", None)
            states.append((barrier.pending, barrier.tx, barrier.phase))

        def announce() -> None:
            do(w, "mbarrier.arrive.expect_tx", address(w, "bar"), 96)
            states.append((barrier.pending, barrier.tx, barrier.phase))

        for step in (land, announce) if bytes_first else (announce, land):
            step()

    assert run(program, shared=BAR).kinds == []
    assert states == ([(1, -96, 0), (1, 0, 1)] if bytes_first else [(0, 96, 0), (1, 0, 1)])


def test_waiters_resume_at_the_last_arrival() -> None:
    def program(w: RunningWarp) -> Any:
        yield from initialised(w, 32)
        if w.warp_id == 0:
            w.time += 5000
            do(w, "mbarrier.arrive", address(w, "bar"))
        else:
            yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)
            w.gpu.seen["time"] = w.time

    assert run(program, shared=BAR, threads=64).seen["time"] >= 5000


@pytest.mark.parametrize("waits", [True, False])
def test_an_mbarrier_orders_what_was_done_before_the_arrival(waits: bool) -> None:
    def program(w: RunningWarp) -> Any:
        yield from initialised(w, 32)
        if w.warp_id == 0:
            at(w, 3)
            w.store(buffer(w, "data"), np.arange(32), 1.0)
            do(w, "mbarrier.arrive", address(w, "bar"))
        else:
            at(w, 5)
            if waits:
                yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)
            w.time += 1000
            at(w, 7)
            w.load(buffer(w, "data"), np.arange(32))

    result = run(program, shared=DATA, threads=64)
    if waits:
        assert result.kinds == []
    else:
        race = result.findings[-1]
        assert race.kind == "race" and race.details["buffer"] == "data"
        assert {race.span.line, race.details["notes"][0][1].line} == {3, 7}


def test_a_wait_does_not_acquire_the_next_phase() -> None:
    """Waiting for phase 0 orders what came before it, not what was done for the phase after."""

    def program(w: RunningWarp) -> Any:
        yield from initialised(w, 32)
        if w.warp_id == 0:
            do(w, "mbarrier.arrive", address(w, "bar"))
            at(w, 3)
            w.store(buffer(w, "data"), np.arange(32), 1.0)
            one_lane(w)
            do(w, "mbarrier.arrive", address(w, "bar"))
        else:
            w.time += 100
            yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)
            at(w, 7)
            w.load(buffer(w, "data"), np.arange(32))

    result = run(program, shared=DATA, threads=64)
    assert "race" in result.kinds


def test_a_second_init_is_reported() -> None:
    def program(w: RunningWarp) -> Any:
        at(w, 3)
        one_lane(w)
        do(w, "mbarrier.init", address(w, "bar"), 1)
        at(w, 4)
        do(w, "mbarrier.init", address(w, "bar"), 2)
        yield from ()

    result = run(program, shared=BAR)
    assert result.finding.kind == "barrier-reinitialised" and result.lines == {3, 4}


def test_an_init_may_follow_inval() -> None:
    def program(w: RunningWarp) -> Any:
        one_lane(w)
        do(w, "mbarrier.init", address(w, "bar"), 1)
        do(w, "mbarrier.inval", address(w, "bar"))
        do(w, "mbarrier.init", address(w, "bar"), 2)
        yield from ()

    assert run(program, shared=BAR).kinds == []


def test_more_arrivals_than_the_count_are_reported() -> None:
    def program(w: RunningWarp) -> Any:
        yield from initialised(w, 1)
        one_lane(w)
        do(w, "mbarrier.expect_tx", address(w, "bar"), 32)
        do(w, "mbarrier.arrive", address(w, "bar"))
        at(w, 8)
        do(w, "mbarrier.arrive", address(w, "bar"))

    result = run(program, shared=BAR)
    assert result.finding.kind == "barrier-overflow" and 8 in result.lines


def test_a_wait_for_a_barrier_that_was_never_initialised_is_reported_and_blocks() -> None:
    def program(w: RunningWarp) -> Any:
        at(w, 3)
        yield from block(w, "mbarrier.try_wait", address(w, "bar"), 1)

    result = run(program, shared=BAR)
    assert result.finding.kind == "barrier-uninitialised" and result.lines == {3}
    assert len(result.outcome.blocked) == 1


def test_a_plain_store_over_a_barrier_is_reported() -> None:
    def program(w: RunningWarp) -> Any:
        yield from initialised(w, 1)
        at(w, 6)
        w.store(buffer(w, "bar"), 0, 7)

    result = run(program, shared=BAR)
    assert result.finding.kind == "barrier-misuse" and 6 in result.lines


@pytest.mark.parametrize("count", [0, 1 << 20])
def test_an_init_count_out_of_range_is_a_fault(count: int) -> None:
    def program(w: RunningWarp) -> Any:
        do(w, "mbarrier.init", address(w, "bar"), count)
        yield from ()

    result = run(program, shared=BAR)
    assert result.outcome.fault is not None and result.finding.kind == "barrier-misuse"


def test_a_misaligned_barrier_is_reported() -> None:
    def program(w: RunningWarp) -> Any:
        do(w, "mbarrier.init", 4, 1)
        yield from ()

    assert run(program, shared=BAR).finding.kind == "misaligned-access"


def test_a_wait_unordered_with_the_init_is_reported() -> None:
    def program(w: RunningWarp) -> Any:
        if w.warp_id == 0:
            at(w, 3)
            one_lane(w)
            do(w, "mbarrier.init", address(w, "bar"), 1)
            do(w, "mbarrier.arrive", address(w, "bar"))
        else:
            w.time += 500
            at(w, 5)
            yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)

    result = run(program, shared=BAR, threads=64)
    assert result.finding.kind in ("race", "barrier-uninitialised")
    assert 5 in result.lines


def remote_arrival(order_end: bool, fence: bool) -> Any:
    def program(w: RunningWarp) -> Any:
        at(w, 2)
        one_lane(w)
        do(w, "mbarrier.init", address(w, "bar"), 1)
        all_lanes(w)
        if fence:
            do(w, "fence.mbarrier_init")
        yield from block(w, "barrier.cluster.sync")
        at(w, 4)
        if w.cluster_ctarank == 1:
            one_lane(w)
            do(w, "mbarrier.arrive.remote", address(w, "bar"), 0, True)
            do(w, "mbarrier.arrive.remote", address(w, "bar"), 0, False)
            all_lanes(w)
        if order_end:
            yield from block(w, "barrier.cluster.sync")
        elif w.cluster_ctarank == 0:
            w.time += 9000
            do(w, "fence")
        w.gpu.seen[w.cluster_ctarank] = w.cta.mbarriers[0].phase

    return program


def test_a_remote_arrival_counts_at_the_other_cta() -> None:
    result = run(remote_arrival(True, True), shared=BAR, grid=(2, 1, 1), cluster=(2, 1, 1))
    assert result.kinds == [] and result.seen == {0: 1, 1: 0}


def test_an_arrival_must_not_outlive_its_cta() -> None:
    result = run(remote_arrival(False, True), shared=BAR, grid=(2, 1, 1), cluster=(2, 1, 1))
    assert result.finding.kind == "in-flight-at-exit" and result.lines == {4}


def test_other_ctas_see_a_barrier_through_the_mbarrier_fence() -> None:
    result = run(remote_arrival(True, False), shared=BAR, grid=(2, 1, 1), cluster=(2, 1, 1))
    assert result.kinds == ["(missing-mbarrier-fence)"] and result.lines == {2, 4}


def test_the_events_of_a_barrier_are_logged() -> None:
    def program(w: RunningWarp) -> Any:
        yield from initialised(w, 32)
        do(w, "mbarrier.arrive", address(w, "bar"))

    log = run(program, shared=BAR, log_barriers=True).outcome.barrier_log
    assert log is not None
    assert [(event.barrier, event.signal, event.arrivals) for event in log] == [
        ("bar", Signal.ARRIVE, 32), ("bar", Signal.COMPLETE, 0)]  # fmt: skip


@pytest.mark.parametrize(
    ("op", "operands", "verb"),
    [
        ("mbarrier.init", (1,), "initialises"),
        ("mbarrier.inval", (), "invalidates"),
        ("mbarrier.arrive", (), "arrives at"),
        ("mbarrier.expect_tx", (16,), "expects bytes at"),
        ("mbarrier.try_wait", (1,), "waits for"),
        ("mbarrier.test_wait", (1,), "tests"),
        ("cp.async.mbarrier.arrive.noinc", (), "arrives at"),
        ("mbarrier.arrive.expect_tx", (0,), None),
    ],
)
def test_an_instruction_for_the_own_cta_does_not_reach_a_mapped_barrier(
    op: str, operands: tuple[int, ...], verb: str | None
) -> None:
    """PTX ISA, mbarrier: only arrive, its variants, expect_tx and complete_tx have forms for shared::cluster."""

    def program(w: RunningWarp) -> Any:
        one_lane(w)
        if op != "mbarrier.init":
            do(w, "mbarrier.init", address(w, "bar"), 2)
        all_lanes(w)
        do(w, "fence.mbarrier_init")
        yield from block(w, "barrier.cluster.sync")
        at(w, 5)
        one_lane(w)
        if w.cluster_ctarank == 1:
            remote = w.gpu.map_shared_rank(w, address(w, "bar"), 0)
            if op == "mbarrier.try_wait":
                yield from block(w, op, remote, *operands)
            else:
                do(w, op, remote, *operands)
        all_lanes(w)
        yield from block(w, "barrier.cluster.sync")

    result = run(program, shared=BAR, grid=(2, 1, 1), cluster=(2, 1, 1))
    wrong = [f for f in result.findings if f.severity == "error"]
    if verb is None:
        assert wrong == []
    else:
        assert (wrong[0].kind, wrong[0].span and wrong[0].span.line) == ("barrier-misuse", 5)
        assert f"{verb} bar of CTA 0" in wrong[0].message
