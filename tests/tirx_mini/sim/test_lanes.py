"""Lanes of one warp are threads: what one writes, fences, acquires or releases is its own until the lanes meet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirx_mini as tvm
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
from tirx_mini.script import tirx as T
from tirx_mini.sim import RunningWarp

LANE = np.arange(32)
DATA = {"data": ("float32", 64, 4)}
WITH_BARRIER = {"bar": ("uint64", 1), "data": ("float32", 64, 4)}


def elect(w: RunningWarp) -> None:
    """Go on with the lane that elect.sync chooses."""
    w.select(w.elected(do(w, "elect.sync")))


def write(w: RunningWarp, line: int, value: Any = 1.0, index: Any = LANE) -> None:
    at(w, line)
    w.store(buffer(w, "data"), index, value)


def read(w: RunningWarp, line: int, index: Any) -> Any:
    at(w, line)
    return w.load(buffer(w, "data"), index)


def kinds(program: Any, shared: Any = None, **options: Any) -> list[str]:
    return run(program, shared=shared or DATA, **options).kinds


# -- accesses ----------------------------------------------------------------------------------------------------------


def test_a_lane_reads_its_own_writes_without_synchronisation() -> None:
    def program(w: RunningWarp) -> Any:
        write(w, 1, LANE.astype(np.float32))
        assert (read(w, 2, LANE) == LANE).all()
        write(w, 3, 2.0)
        yield from ()

    assert kinds(program) == []


def test_a_value_of_another_lane_needs_bar_warp_sync_also_while_the_lanes_are_together() -> None:
    def program(w: RunningWarp, sync: bool) -> Any:
        write(w, 1)
        if sync:
            do(w, "bar.warp.sync")
        read(w, 2, LANE ^ 1)
        yield from ()

    result = run(lambda w: program(w, sync=False), shared=DATA)
    assert result.kinds == ["missing-warp-sync"] and result.lines == {1, 2}
    assert "compiler" in (result.finding.order or "")
    assert kinds(lambda w: program(w, sync=True)) == []


def test_a_value_of_another_lane_is_an_error_across_divergent_code() -> None:
    def program(w: RunningWarp) -> Any:
        one_lane(w, 3)
        write(w, 1, 1.0, 5)
        all_lanes(w)
        read(w, 2, 5)
        yield from ()

    result = run(program, shared=DATA)
    assert result.kinds == ["missing-warp-sync"] and result.lines == {1, 2}


@pytest.mark.parametrize("collective", ["elect.sync", "shfl.idx"])
def test_collectives_that_order_no_memory_do_not_stand_in_for_bar_warp_sync(collective: str) -> None:
    def program(w: RunningWarp) -> Any:
        one_lane(w)
        write(w, 1, 1.0, 5)
        all_lanes(w)
        do(w, collective, *((LANE, 0) if collective == "shfl.idx" else ()))
        read(w, 2, 5)
        yield from ()

    assert kinds(program) == ["missing-warp-sync"]


@pytest.mark.parametrize("instruction", ["bar.warp.sync", "bar.sync.all", "barrier.cluster.sync"])
def test_barriers_order_the_lanes_of_a_warp(instruction: str) -> None:
    def program(w: RunningWarp) -> Any:
        one_lane(w, 7)
        write(w, 1, 1.0, 5)
        all_lanes(w)
        if instruction == "bar.warp.sync":
            do(w, instruction)
        else:
            yield from block(w, instruction, *((0,) if instruction == "bar.sync.all" else ()))
        read(w, 2, 5)
        yield from ()

    assert kinds(program) == []


def test_a_write_after_another_lanes_read_needs_bar_warp_sync() -> None:
    def program(w: RunningWarp) -> Any:
        write(w, 1)
        do(w, "bar.warp.sync")
        read(w, 2, LANE)
        one_lane(w)
        write(w, 3, 2.0, 9)
        yield from ()

    result = run(program, shared=DATA)
    assert result.kinds == ["missing-warp-sync"] and result.lines == {2, 3}


@pytest.mark.parametrize(("arriving", "found"), [(32, []), (31, ["missing-warp-sync"])])
def test_an_arrival_of_each_lane_and_a_wait_of_each_order_the_lanes(arriving: int, found: list[str]) -> None:
    def program(w: RunningWarp) -> Any:
        yield from initialised(w, arriving)
        write(w, 1)
        for lane in range(arriving):
            one_lane(w, lane)
            do(w, "mbarrier.arrive", address(w, "bar"))
        all_lanes(w)
        yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)
        read(w, 2, LANE ^ 1)

    assert kinds(program, WITH_BARRIER) == found


# -- synchronisation with other warps ----------------------------------------------------------------------------------


def handed_over(sync: bool, index: Any = LANE) -> Any:
    """Warp 0 writes with all lanes and one of them arrives; warp 1 waits and reads."""

    def program(w: RunningWarp) -> Any:
        yield from initialised(w, 1)
        if w.warp_id == 0:
            write(w, 1)
            if sync:
                do(w, "bar.warp.sync")
            one_lane(w)
            do(w, "mbarrier.arrive", address(w, "bar"))
        else:
            yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)
            read(w, 2, index)

    return program


def test_an_arrival_releases_what_its_own_lane_wrote() -> None:
    assert kinds(handed_over(sync=True), WITH_BARRIER, threads=64) == []
    assert kinds(handed_over(sync=False), WITH_BARRIER, threads=64) == ["race"]


def test_what_one_lane_acquires_the_others_know_after_a_synchronisation() -> None:
    def program(w: RunningWarp, sync: bool) -> Any:
        yield from initialised(w, 1)
        one_lane(w)
        if w.warp_id == 0:
            write(w, 1, 1.0, 5)
            do(w, "mbarrier.arrive", address(w, "bar"))
        else:
            yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)
            read(w, 2, 5)
            all_lanes(w)
            if sync:
                do(w, "bar.warp.sync")
            read(w, 3, LANE)

    written = run(lambda w: program(w, sync=False), shared=WITH_BARRIER, threads=64)
    assert [f.kind for f in written.findings if f.kind != "uninitialised-read"] == ["race"]
    synced = run(lambda w: program(w, sync=True), shared=WITH_BARRIER, threads=64)
    assert "race" not in synced.kinds


# -- proxies -----------------------------------------------------------------------------------------------------------

TILE = {"bar": ("uint64", 1), "tile": ("float16", 4096)}


def stored(before: Any) -> list[str]:
    """All lanes write a tile, `before` runs, and one lane stores it by TMA."""
    array = np.zeros((64, 64), np.float16)

    def program(w: RunningWarp) -> Any:
        w.store(buffer(w, "tile"), np.arange(16)[:, None] * 256 + LANE * 8, np.ones((16, 32, 8), np.float16), 8)
        before(w)
        one_lane(w)
        do(w, "cp.async.bulk.tensor.store", mapped(w, "D"), address(w, "tile"), 0, 0, dim=2)
        do(w, "cp.async.bulk.commit_group")
        yield from block(w, "cp.async.bulk.wait_group", n=0)

    return run(program, shared=TILE, arrays={"D": array}, maps=[tensor_map("D", array, (64, 64), 0)]).kinds


def fence_of_one(w: RunningWarp) -> None:
    one_lane(w)
    do(w, "fence.proxy.async")
    all_lanes(w)


def test_a_proxy_fence_and_a_synchronisation_hand_the_writes_of_all_lanes_to_a_store() -> None:
    assert stored(lambda w: [do(w, "fence.proxy.async"), do(w, "bar.warp.sync")]) == []
    assert stored(lambda w: [do(w, "bar.warp.sync"), do(w, "fence.proxy.async")]) == []


def test_a_proxy_fence_without_a_synchronisation_covers_the_own_writes_of_a_lane() -> None:
    assert stored(lambda w: do(w, "fence.proxy.async")) == ["race"]


@pytest.mark.parametrize(("lanes", "found"), [(all_lanes, []), (one_lane, []), (None, ["missing-proxy-fence"])])
def test_a_fence_by_all_lanes_covers_what_one_of_them_wrote_apart(lanes: Any, found: list[str]) -> None:
    """``if lane_id == 0: tile[...] = 1.0``, then a fence, cta_sync, and a TMA store by the other warp."""
    array = np.zeros((64, 64), np.float16)

    def program(w: RunningWarp) -> Any:
        if w.warp_id == 0:
            one_lane(w)
            for place in range(4096):
                w.store(buffer(w, "tile"), place, np.float16(1.0))
            if lanes is not None:
                lanes(w)
                do(w, "fence.proxy.async")
            all_lanes(w)
        yield from block(w, "bar.sync.all", 0)
        if w.warp_id == 1:
            one_lane(w)
            do(w, "cp.async.bulk.tensor.store", mapped(w, "D"), address(w, "tile"), 0, 0, dim=2)
            do(w, "cp.async.bulk.commit_group")
            yield from block(w, "cp.async.bulk.wait_group", n=0)

    maps = [tensor_map("D", array, (64, 64), 0)]
    assert run(program, shared=TILE, arrays={"D": array}, maps=maps, threads=64).kinds == found


def test_elect_sync_does_not_make_one_lanes_fence_cover_the_others_writes() -> None:
    assert stored(lambda w: [do(w, "elect.sync"), fence_of_one(w), do(w, "bar.warp.sync")]) == ["missing-proxy-fence"]


# -- initialisation of barriers ----------------------------------------------------------------------------------------


def loaded(fence: Any, synchronises: bool = True) -> Any:
    """Lane 0 initialises a barrier, `fence` runs, and after cta_sync, if any, a TMA load of lane 0 signals it."""
    array = np.ones((64, 64), np.float16)

    def program(w: RunningWarp) -> Any:
        at(w, 1)
        one_lane(w)
        do(w, "mbarrier.init", address(w, "bar"), 1)
        fence(w)
        if synchronises:
            all_lanes(w)
            yield from block(w, "bar.sync.all", 0)
        one_lane(w)
        at(w, 5)
        do(w, "mbarrier.arrive.expect_tx", address(w, "bar"), 8192)
        do(w, "cp.async.bulk.tensor.load", address(w, "tile"), mapped(w, "A"), address(w, "bar"), 0, 0, dim=2)
        yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)

    return run(program, shared=TILE, arrays={"A": array}, maps=[tensor_map("A", array, (64, 64), 0)])


@pytest.mark.parametrize("lanes", [one_lane, all_lanes])
@pytest.mark.parametrize("fence", ["fence.mbarrier_init", "fence.proxy.async"])
def test_a_fence_of_its_thread_shows_a_new_barrier_to_the_async_proxy(fence: str, lanes: Any) -> None:
    assert loaded(lambda w: [lanes(w), do(w, fence)]).kinds == []


def test_a_tma_load_may_not_signal_a_barrier_whose_initialisation_nothing_fences() -> None:
    result = loaded(lambda w: None)
    assert result.kinds == ["missing-mbarrier-fence"] and result.lines == {1, 5}


def test_the_thread_that_initialised_a_barrier_may_load_after_the_fence_of_its_warp() -> None:
    """The fence orders its own mbarrier.init before what it does next (PTX ISA: fence.mbarrier_init)."""

    def fence(w: RunningWarp) -> None:
        all_lanes(w)
        do(w, "fence.mbarrier_init")
        one_lane(w)

    assert loaded(fence, synchronises=False).kinds == []


def test_another_lanes_fence_does_not_show_a_new_barrier() -> None:
    def fence(w: RunningWarp) -> None:
        one_lane(w, 1)
        do(w, "fence.mbarrier_init")

    result = loaded(fence)
    assert result.kinds == ["missing-mbarrier-fence"] and "another lane" in result.finding.message


# -- elect.sync and the threads of engines -----------------------------------------------------------------------------


def test_the_elected_lane_and_lane_0_are_not_one_thread() -> None:
    def program(w: RunningWarp) -> Any:
        elect(w)
        write(w, 1, 1.0, 5)
        all_lanes(w)
        one_lane(w)
        read(w, 2, 5)
        yield from ()

    result = run(program, shared=DATA)
    assert result.kinds == ["(elected-lane)"] and result.lines == {1, 2}


def test_the_elected_lane_is_the_same_each_time() -> None:
    def program(w: RunningWarp) -> Any:
        elect(w)
        write(w, 1, 1.0, 5)
        all_lanes(w)
        elect(w)
        read(w, 2, 5)
        yield from ()

    assert kinds(program) == []


def test_whatever_lane_is_elected_it_writes_its_own_element_again() -> None:
    def program(w: RunningWarp) -> Any:
        write(w, 1)
        elect(w)
        write(w, 2, 2.0)
        all_lanes(w)
        read(w, 3, LANE)
        yield from ()

    assert kinds(program) == []


def copied_back(issue: Any, wait: Any) -> list[str]:
    """A TMA store under `issue`; its groups are committed and waited for under `wait`."""
    array = np.zeros((64, 64), np.float16)

    def program(w: RunningWarp) -> Any:
        w.store(buffer(w, "tile"), np.arange(16)[:, None] * 256 + LANE * 8, np.ones((16, 32, 8), np.float16), 8)
        do(w, "fence.proxy.async")
        do(w, "bar.warp.sync")
        issue(w)
        do(w, "cp.async.bulk.tensor.store", mapped(w, "D"), address(w, "tile"), 0, 0, dim=2)
        do(w, "cp.async.bulk.commit_group")
        all_lanes(w)
        wait(w)
        yield from block(w, "cp.async.bulk.wait_group", n=0)
        all_lanes(w)

    return run(program, shared=TILE, arrays={"D": array}, maps=[tensor_map("D", array, (64, 64), 0)]).kinds


def test_bulk_groups_are_those_of_the_thread_that_issued_the_copies() -> None:
    assert copied_back(one_lane, one_lane) == []
    assert copied_back(elect, elect) == []
    assert copied_back(elect, one_lane) == ["(elected-lane)"]
    assert copied_back(one_lane, lambda w: one_lane(w, 1)) == ["(in-flight-at-exit)"]


def test_unchecked_runs_keep_no_lanes_apart() -> None:
    assert kinds(handed_over(sync=False), WITH_BARRIER, threads=64, checks=False) == []


def test_what_another_lane_copied_by_cp_async_is_there_after_the_wait_and_a_synchronisation() -> None:
    array = np.arange(256, dtype=np.float32)

    def program(w: RunningWarp, sync: bool, other: int) -> Any:
        data = buffer(w, "data")
        do(w, "cp.async", address(w, "data") + LANE * 16, w.global_address(buffer(w, "A"), LANE * 4))
        do(w, "cp.async.commit_group")
        do(w, "cp.async.wait_group", n=0)
        if sync:
            do(w, "bar.warp.sync")
        w.load(data, (LANE ^ other) * 4, 4)
        yield from ()

    shared = {"data": ("float32", 128, 4)}
    for sync, other, found in ((True, 1, []), (False, 0, []), (False, 1, ["(missing-warp-sync)"])):
        assert kinds(lambda w, s=sync, o=other: program(w, s, o), shared, arrays={"A": array}) == found


def test_a_wait_of_all_lanes_on_a_fresh_barrier_comes_before_what_the_elected_lane_then_does() -> None:
    """A producer whose lanes all wait for a free stage, and one of which loads: two stages, four rounds."""

    @T.prim_func
    def kernel(A: T.Buffer((8, 32, 8), "float32"), out: T.Buffer((8, 32, 8), "float32")):
        T.device_entry()
        T.cta_id([1])
        warp = T.warp_id([2])
        lane = T.lane_id([32])
        box = T.alloc_shared((2, 32, 8), "float32", align=128)
        full = T.alloc_shared((2,), "uint64")
        empty = T.alloc_shared((2,), "uint64")
        if (warp == 0) & (lane == 0):
            for i in T.unroll(2):
                T.ptx.mbarrier.init(full.ptr_to([i]), 1)
                T.ptx.mbarrier.init(empty.ptr_to([i]), 32)
            T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        if warp == 0:
            for i in T.serial(8):
                T.ptx.mbarrier.try_wait(empty.ptr_to([i % 2]), (i // 2 + 1) % 2)
                if T.ptx.elect_sync():
                    T.ptx.mbarrier.arrive.expect_tx(full.ptr_to([i % 2]), 1024)
                    T.copy_async(box[i % 2, :, :], A[i, :, :], dispatch="tma", mbar=full.ptr_to([i % 2]))
        else:
            for i in T.serial(8):
                T.ptx.mbarrier.try_wait(full.ptr_to([i % 2]), i // 2 % 2)
                for j in T.unroll(8):
                    out[i, lane, j] = box[i % 2, lane, j]
                T.ptx.fence.proxy_async("shared::cta")
                T.ptx.mbarrier.arrive(empty.ptr_to([i % 2]))

    numbers = np.arange(2048, dtype=np.float32).reshape(8, 32, 8)
    copied = np.zeros_like(numbers)
    report = tvm.simulate(kernel, numbers, copied)
    assert report.ok and not report.findings, str(report)
    assert (copied == numbers).all()
