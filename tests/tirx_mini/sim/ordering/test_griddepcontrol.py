"""Programmatic dependent launch: accesses to global memory are ordered after the grid before, or found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import tirx_mini as tvm
from tests.kernels_ref.edits import SHAPES, Edit
from tests.tirx_mini.sim.bare import (
    address,
    all_lanes,
    at,
    block,
    buffer,
    do,
    initialised,
    mapped,
    one_lane,
    run,
    tensor_map,
)
from tirx_mini.sim import RunningWarp
from utils import prepare_data

WAIT, ACCESS, SYNC = "griddepcontrol.wait", 20, "bar.sync.all"
LANE = np.arange(32)


def arrays() -> dict[str, np.ndarray]:
    return {"A": np.arange(128, dtype=np.float32), "D": np.zeros(128, np.float32)}


def load(w: RunningWarp) -> None:
    """Each active lane reads an element of A."""
    at(w, ACCESS)
    w.load(buffer(w, "A"), w.thread_idx)


def store(w: RunningWarp) -> None:
    """Each active lane writes an element of D."""
    at(w, ACCESS)
    w.store(buffer(w, "D"), w.thread_idx, 1.0)


def kinds(program: Any, *, programmatic: bool = True, threads: int = 32, **options: Any) -> list[str]:
    shared = {"bar": ("uint64", 1), "tile": ("float32", 128)}
    return run(
        program, arrays=arrays(), shared=shared, access_bytes=4, threads=threads, programmatic=programmatic, **options
    ).kinds


MISSING = ["missing-grid-wait"]


# -- one warp ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("access", [load, store])
@pytest.mark.parametrize("programmatic", [False, True])
@pytest.mark.parametrize("waits", [False, True])
def test_a_thread_waits_before_it_touches_global_memory(access: Any, programmatic: bool, waits: bool) -> None:
    def program(w: RunningWarp) -> Any:
        if waits:
            do(w, WAIT)
        access(w)
        yield from ()

    assert kinds(program, programmatic=programmatic) == ([] if waits or not programmatic else MISSING)


def test_without_checks_no_missing_wait_is_reported() -> None:
    def program(w: RunningWarp) -> Any:
        load(w)
        yield from ()

    assert kinds(program, checks=False) == []


def test_a_wait_after_the_access_is_shown_with_it() -> None:
    def program(w: RunningWarp) -> Any:
        store(w)
        at(w, 30)
        do(w, WAIT)
        load(w)
        yield from ()

    result = run(program, arrays=arrays(), programmatic=True)
    assert result.kinds == MISSING and result.lines == {ACCESS, 30}
    message, hint = result.finding.message, result.finding.details["hint"]
    assert message == (
        "the store of warp 0 writes D with no griddepcontrol.wait before it: "
        "the kernel before this one may still use it"
    )
    assert hint.startswith("let this thread call Tx.ptx.griddepcontrol.wait() first")


def test_shared_memory_may_be_accessed_before_the_wait() -> None:
    def program(w: RunningWarp) -> Any:
        w.store(buffer(w, "tile"), w.thread_idx, 1.0)
        yield from block(w, SYNC, 0)
        w.load(buffer(w, "tile"), 127 - w.thread_idx)
        do(w, WAIT)
        store(w)

    assert kinds(program, threads=128) == []


@pytest.mark.parametrize("meets", [False, True])
def test_other_lanes_wait_too_or_synchronise_with_the_lane_that_waited(meets: bool) -> None:
    def program(w: RunningWarp) -> Any:
        one_lane(w)
        do(w, WAIT)
        load(w)
        all_lanes(w)
        if meets:
            do(w, "bar.warp.sync")
        at(w, ACCESS + 1)
        w.load(buffer(w, "A"), LANE)
        yield from ()

    result = run(program, arrays=arrays(), programmatic=True)
    assert result.kinds == ([] if meets else MISSING)
    if not meets:
        assert "reads A in 31 lanes that did not wait with the others" in result.finding.message
        assert result.finding.span is not None and result.finding.span.line == ACCESS + 1


def test_lanes_may_wait_one_group_after_another() -> None:
    def program(w: RunningWarp) -> Any:
        for lanes in (LANE < 8, LANE >= 8):
            w.select(w.all_lanes.where(lanes))
            do(w, WAIT)
        all_lanes(w)
        load(w)
        yield from ()

    assert kinds(program) == []


# -- several warps -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("synchronised", [False, True])
def test_one_thread_may_wait_for_a_cta_that_synchronises_with_it(synchronised: bool) -> None:
    def program(w: RunningWarp) -> Any:
        if w.warp_id == 2:
            one_lane(w)
            do(w, WAIT)
            all_lanes(w)
        if synchronised:
            yield from block(w, SYNC, 0)
        load(w)
        yield from ()

    assert kinds(program, threads=128) == ([] if synchronised else MISSING)


def test_a_wait_in_one_cluster_does_not_cover_another() -> None:
    def program(w: RunningWarp) -> Any:
        if w.block_idx[0] in (0, 3):
            do(w, WAIT)
        yield from block(w, "barrier.cluster.sync")
        load(w)

    assert kinds(program, grid=(4, 1, 1), cluster=(2, 1, 1)) == []
    assert kinds(program, grid=(8, 1, 1), cluster=(2, 1, 1)) == MISSING


def test_an_mbarrier_passes_the_wait_on_to_its_waiters() -> None:
    """One lane waits, and arrives; all lanes of all warps wait for that."""

    def program(w: RunningWarp) -> Any:
        yield from initialised(w, 1)
        if w.warp_id == 1:
            one_lane(w)
            do(w, WAIT)
            do(w, "mbarrier.arrive", address(w, "bar"))
            all_lanes(w)
        yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)
        store(w)

    assert kinds(program, threads=128) == []


Phases = list[tuple[list[str], list[str]]]
STEPS = st.lists(st.sampled_from(["wait", "access"]), max_size=3)


@given(phases=st.lists(st.tuples(STEPS, STEPS), min_size=1, max_size=4), seed=st.integers(0, 3))
@settings(max_examples=60)
def test_exactly_the_accesses_without_a_wait_before_them_are_reported(phases: Phases, seed: int) -> None:
    """Two warps; a barrier ends each phase, and what one of them waited for is then waited for by both."""

    def program(w: RunningWarp) -> Any:
        for number, phase in enumerate(phases):
            for place, step in enumerate(phase[w.warp_id]):
                if step == "wait":
                    do(w, WAIT)
                else:
                    at(w, 100 * number + 10 * place + w.warp_id)
                    w.load(buffer(w, "A"), w.thread_idx)
            yield from block(w, SYNC, 0)

    expected: set[int] = set()
    before = False
    for number, phase in enumerate(phases):
        for warp, steps in enumerate(phase):
            for place, step in enumerate(steps):
                if step == "access" and not before and "wait" not in steps[:place]:
                    expected.add(100 * number + 10 * place + warp)
        before = before or any("wait" in steps for steps in phase)
    result = run(program, arrays=arrays(), threads=64, programmatic=True, seed=seed or None)
    assert {f.span.line for f in result.findings if f.span is not None} == expected
    assert set(result.kinds) <= set(MISSING)


# -- asynchronous copies -----------------------------------------------------------------------------------------------

SOURCE = np.arange(4096, dtype=np.float16).reshape(64, 64)
TILES = {"bar": ("uint64", 1), "tile": ("float16", 4096)}


def through_tma(w: RunningWarp, waits: str) -> Any:
    """A box comes by TMA and goes by TMA. waits: ahead of which."""
    yield from initialised(w, 1)
    one_lane(w)
    if waits == "load":
        do(w, WAIT)
    at(w, 10)
    do(w, "cp.async.bulk.tensor.load", address(w, "tile"), mapped(w, "A"), address(w, "bar"), 0, 0, dim=2)
    do(w, "mbarrier.arrive.expect_tx", address(w, "bar"), 8192)
    yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)
    if waits == "store":
        do(w, WAIT)
    at(w, ACCESS)
    do(w, "cp.async.bulk.tensor.store", mapped(w, "D"), address(w, "tile"), 0, 0, dim=2)
    do(w, "cp.async.bulk.commit_group")
    yield from block(w, "cp.async.bulk.wait_group", n=0)
    all_lanes(w)


@pytest.mark.parametrize(("waits", "lines"), [("load", []), ("store", [10]), ("nowhere", [10, ACCESS])])
def test_tma_copies_need_the_wait(waits: str, lines: list[int]) -> None:
    target = np.zeros_like(SOURCE)
    maps = [tensor_map("A", SOURCE, (64, 64), 128), tensor_map("D", target, (64, 64), 128)]
    result = run(
        lambda w: through_tma(w, waits),
        shared=TILES, arrays={"A": SOURCE, "D": target}, maps=maps, programmatic=True,
    )  # fmt: skip
    assert [f.span.line for f in result.findings if f.span is not None] == lines
    assert set(result.kinds) <= set(MISSING)
    np.testing.assert_array_equal(target, SOURCE)


@pytest.mark.parametrize("waits", [False, True])
def test_cp_async_needs_the_wait(waits: bool) -> None:
    def program(w: RunningWarp) -> Any:
        if waits:
            do(w, WAIT)
        do(w, "cp.async", address(w, "tile") + LANE * 16, w.global_address(buffer(w, "A"), LANE * 8))
        do(w, "cp.async.commit_group")
        do(w, "cp.async.wait_group", n=0)
        yield from ()

    kinds = run(program, shared=TILES, arrays={"A": SOURCE}, programmatic=True).kinds
    assert kinds == ([] if waits else MISSING)


# -- whole kernels -----------------------------------------------------------------------------------------------------

PRODUCER = 'if warp_id == 3:\n                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:\n'
STORES = "n_epi = Tx.meta_var(n_st + i * EPI_N)\n"
BEFORE_LOADS = Edit(7, PRODUCER, f"{PRODUCER}                        Tx.ptx.griddepcontrol.wait()\n")
BEFORE_STORES = Edit(7, STORES, f"{STORES}                            Tx.ptx.griddepcontrol.wait()\n")


def judged(edit: Edit, folder: Path) -> tvm.Report:
    data = prepare_data(*SHAPES[edit.step], target="sim", arrays=True)[:3]
    return tvm.simulate(edit.kernel(folder), *data)


def test_the_producer_of_a_gemm_may_wait_for_all(tmp_path: Path) -> None:
    """Its loads, the products, and the stores of another warpgroup follow one another through three mbarriers."""
    report = judged(BEFORE_LOADS, tmp_path)
    assert report.verdict == "ok", str(report)


def test_a_wait_in_the_consumer_comes_too_late(tmp_path: Path) -> None:
    report = judged(BEFORE_STORES, tmp_path)
    assert report.verdict == "hazard"
    assert {(f.code, f.details["buffer"]) for f in report.errors} == {("TX213", "A"), ("TX213", "B")}
    assert all("the TMA load of warp 3 of warpgroup 1" in f.message for f in report.errors)
