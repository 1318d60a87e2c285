"""Tensor memory: allocated, stored to and loaded from, freed; and what is wrong with an allocation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.tirx_mini.sim.bare import FakeRegisters, address, at, block, do, one_lane, run
from tests.tirx_mini.sim.engines.tensor_core import SHARED, allocated
from tirx_mini.sim import ColumnsWait, RunningWarp
from tirx_mini.sim.machine import Wait


@pytest.mark.parametrize("shape", ["32x32b", "16x64b", "16x128b", "16x256b"])
def test_stores_and_loads_of_tensor_memory_are_inverse(shape: str) -> None:
    registers = {"32x32b": 4, "16x64b": 4, "16x128b": 8, "16x256b": 16}[shape]
    values = np.random.default_rng(7).integers(0, 1 << 32, (4, registers, 32), dtype=np.uint32)
    back: dict[int, Any] = {}

    def program(w: RunningWarp) -> Any:
        taddr = yield from allocated(w, 32)
        mine = taddr + (32 * w.warp_id << 16)
        do(w, "tcgen05.st", mine, FakeRegisters(values[w.warp_id]), shape=shape, num=4)
        do(w, "tcgen05.wait.st")
        target = FakeRegisters()
        do(w, "tcgen05.ld", target, mine, shape=shape, num=4)
        do(w, "tcgen05.wait.ld")
        back[w.warp_id] = target.values
        w.gpu.seen["words"] = w.cta.tmem.words.copy()
        yield from block(w, "bar.sync.all", 0)
        if w.warp_id == 0:
            do(w, "tcgen05.dealloc", taddr, 32)

    result = run(program, shared=SHARED, threads=128)
    assert result.kinds == []
    for warp in range(4):
        np.testing.assert_array_equal(back[warp], values[warp])
    if shape == "32x32b":
        words = result.seen["words"]
        np.testing.assert_array_equal(words[:, :4], values.transpose(0, 2, 1).reshape(128, 4))


def test_an_allocation_by_part_of_a_warp_is_illegal() -> None:
    def program(w: RunningWarp) -> Any:
        at(w, 3)
        one_lane(w)
        yield from block(w, "tcgen05.alloc", address(w, "slot"), 512)

    result = run(program, shared=SHARED)
    assert result.finding.kind == "illegal-convergence" and result.lines == {3}


def test_an_allocation_blocks_while_another_cta_holds_the_columns() -> None:
    """Two CTAs on one SM: the second begins when the first has freed its columns."""

    def program(w: RunningWarp) -> Any:
        taddr = yield from allocated(w, 512)
        w.time += 10_000
        w.gpu.seen[w.block_idx[0]] = w.time
        do(w, "tcgen05.dealloc", taddr, 512)

    result = run(program, shared=SHARED, grid=(149, 1, 1))
    assert result.kinds == [] and not result.outcome.blocked
    late = [cta for cta, time in result.seen.items() if time > 15_000]
    assert late == [148]


def test_an_allocation_blocks_where_the_cta_itself_holds_the_columns() -> None:
    def program(w: RunningWarp) -> Any:
        yield from allocated(w, 512)
        at(w, 9)
        yield from block(w, "tcgen05.alloc", address(w, "slot"), 32)

    result = run(program, shared=SHARED)
    (wait,) = (w.waiting for w in result.outcome.blocked)
    assert isinstance(wait, ColumnsWait) and (wait.columns, wait.held, wait.free) == (32, 512, 0)


@pytest.mark.parametrize(
    ("steps", "kind"),
    [
        (["alloc 32"], "tmem-not-freed"),
        (["free 32"], "tmem-allocation"),
        (["alloc 32", "free 32", "free 32"], "tmem-freed-twice"),
        (["alloc 32", "free 64"], "tmem-allocation"),
        (["alloc 32", "free 32", "free 64"], "tmem-allocation"),
        (["alloc 64", "free 32"], "tmem-allocation"),
        (["relinquish", "alloc 32"], "tmem-allocation"),
        (["alloc 32", "alloc 64", "free 32"], "tmem-allocation"),
        (["load"], "tmem-access"),
        (["alloc 32", "free 32", "load"], "tmem-access"),
        (["alloc 32", "mixed"], "illegal-instruction"),
    ],
)  # fmt: skip
def test_a_mistake_with_an_allocation_is_reported(steps: list[str], kind: str) -> None:
    def program(w: RunningWarp) -> Any:
        for number, step in enumerate(steps):
            at(w, number)
            what, _, columns = step.partition(" ")
            if what == "alloc":
                yield from block(w, "tcgen05.alloc", address(w, "slot"), int(columns))
            elif what == "free":
                do(w, "tcgen05.dealloc", 0, int(columns))
            elif what == "relinquish":
                do(w, "tcgen05.relinquish_alloc_permit")
            elif what == "load":
                do(w, "tcgen05.ld", FakeRegisters(), 0, num=1)
            else:
                do(w, "tcgen05.relinquish_alloc_permit", cta_group=2)

    assert kind in run(program, shared=SHARED).kinds


class Pause(Wait):
    instruction = "poll"


def pause(w: RunningWarp) -> Wait:
    """Let the others run until the warp's time."""
    w.gpu.wake(w, w.time)
    return Pause(w, w.time, w.span)


def warps_that_free(w: RunningWarp, columns: int, synchronised: bool) -> Any:
    """Warps 0 and 1 both free what warp 0 allocated, one after the other or in no order."""
    taddr = yield from allocated(w, columns)
    if w.warp_id == 0:
        at(w, 10)
        do(w, "tcgen05.dealloc", taddr, columns)
    if synchronised:
        yield from block(w, "bar.sync.all", 0)
    if w.warp_id == 1:
        at(w, 11)
        do(w, "tcgen05.dealloc", taddr, columns)
    w.gpu.seen[w.warp_id] = "ended"


def test_two_warps_that_free_the_same_columns_in_no_order_are_a_warning() -> None:
    result = run(lambda w: warps_that_free(w, 64, False), shared=SHARED, threads=64)
    assert result.kinds == ["(tmem-freed-twice)"] and result.lines == {10, 11}
    assert result.finding.code == "TX314" and not result.finding.happened
    assert result.seen == {0: "ended", 1: "ended"} and result.outcome.fault is None


def test_freeing_what_was_freed_before_is_an_error_and_does_not_end_the_run() -> None:
    """The masks of ptxas are clear by then: its guard traps."""
    result = run(lambda w: warps_that_free(w, 64, True), shared=SHARED, threads=64)
    assert result.kinds == ["tmem-freed-twice"] and result.lines == {10, 11} and result.finding.happened
    assert result.seen == {0: "ended", 1: "ended"} and result.outcome.fault is None


def test_freeing_a_part_leaves_the_rest_allocated() -> None:
    def program(w: RunningWarp) -> Any:
        taddr = yield from allocated(w, 64)
        do(w, "tcgen05.dealloc", taddr, 32)
        do(w, "tcgen05.ld", FakeRegisters(), taddr + 32, num=1)
        do(w, "tcgen05.wait.ld")

    kinds = run(program, shared=SHARED).kinds
    assert kinds == ["tmem-allocation", "uninitialised-read", "tmem-not-freed"]


@pytest.mark.parametrize("synchronised", [True, False])
def test_freed_columns_keep_their_values(synchronised: bool) -> None:
    """Reading them is an error, but a dealloc erases nothing: the run goes on as on a chip."""
    values = np.arange(32, dtype=np.uint32).reshape(1, 32)
    target = FakeRegisters()

    def program(w: RunningWarp) -> Any:
        taddr = yield from allocated(w, 32)
        mine = taddr + (32 * w.warp_id << 16)
        do(w, "tcgen05.st", mine, FakeRegisters(values), num=1)
        do(w, "tcgen05.wait.st")
        yield from block(w, "bar.sync.all", 0)
        if w.warp_id == 0:
            at(w, 20)
            do(w, "tcgen05.dealloc", taddr, 32)
        if synchronised:
            yield from block(w, "bar.sync.all", 0)
            do(w, "tcgen05.fence.after_thread_sync")
        elif w.warp_id == 1:
            w.time += 1000
            yield pause(w)
        if w.warp_id == 1:
            at(w, 21)
            do(w, "tcgen05.ld", target, mine, num=1)
            do(w, "tcgen05.wait.ld")

    result = run(program, shared=SHARED, threads=64)
    assert result.kinds == (["tmem-access"] if synchronised else ["race"])
    assert result.lines == {20, 21} and result.outcome.fault is None
    assert result.finding.happened is synchronised
    assert target.values is not None
    np.testing.assert_array_equal(target.values, values)


def test_columns_that_another_cta_took_hold_nothing_of_this_one() -> None:
    """CTAs 0 and 148 share an SM: the second allocates all columns as soon as the first has freed them."""
    targets: dict[int, FakeRegisters] = {}

    def program(w: RunningWarp) -> Any:
        taddr = yield from allocated(w, 512)
        target = targets[w.block_idx[0]] = FakeRegisters()
        if w.block_idx[0] == 0:
            do(w, "tcgen05.st", taddr, FakeRegisters(np.ones((1, 32), np.uint32)), num=1)
            do(w, "tcgen05.wait.st")
            at(w, 30)
            do(w, "tcgen05.dealloc", taddr, 512)
            w.time += 10_000
            yield pause(w)
            do(w, "tcgen05.ld", target, taddr, num=1)
            do(w, "tcgen05.wait.ld")
        else:
            w.time += 20_000
            yield pause(w)
            do(w, "tcgen05.dealloc", taddr, 512)

    result = run(program, shared={name: SHARED[name] for name in ("bar", "slot")}, grid=(149, 1, 1))
    assert "another CTA has allocated it" in result.findings[0].message
    assert targets[0].values is not None and (targets[0].values != 1).all()


def test_a_pair_needs_a_cluster() -> None:
    def program(w: RunningWarp) -> Any:
        yield from block(w, "tcgen05.alloc", address(w, "slot"), 32, cta_group=2)

    assert run(program, shared=SHARED).finding.kind == "illegal-instruction"
