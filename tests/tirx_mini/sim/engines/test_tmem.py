"""Tensor memory: allocated, stored to and loaded from, freed; and what is wrong with an allocation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.tirx_mini.sim.bare import FakeRegisters, address, all_lanes, at, block, do, one_lane, run
from tests.tirx_mini.sim.engines.tensor_core import SHARED, allocated, descriptor, fill, instruction, place, read
from tirx_mini.sim import ColumnsWait, Doubt, RunningWarp
from tirx_mini.sim.machine import RegisterArray, Registers, Wait


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
        w.gpu.seen["words"] = w.cta.tmem.words(0, 512).copy()
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


# -- what loads and stores are ordered with ----------------------------------------------------------------------------


def accesses(steps: list[str], *, threads: int = 32) -> Any:
    """One warp executes steps on tensor memory, one at a line: "st C" and "ld C" of columns C to C + 3, "wait.ld"."""

    def program(w: RunningWarp) -> Any:
        at(w, 100)
        taddr = yield from allocated(w, 32)
        mine = taddr + (32 * w.warp_id << 16)
        do(w, "tcgen05.st", mine, FakeRegisters(np.zeros((32, 32), np.uint32)), num=32)
        do(w, "tcgen05.wait.st")
        for number, step in enumerate(steps):
            at(w, number)
            what, _, column = step.partition(" ")
            if what == "st":
                do(w, "tcgen05.st", mine + int(column), FakeRegisters(np.full((4, 32), number, np.uint32)), num=4)
            elif what == "ld":
                do(w, "tcgen05.ld", FakeRegisters(), mine + int(column), num=4)
            else:
                do(w, f"tcgen05.{what}")
        at(w, 101)
        do(w, "tcgen05.wait.ld")
        do(w, "tcgen05.wait.st")
        do(w, "tcgen05.dealloc", taddr, 32)

    return run(program, shared=SHARED, threads=threads)


@pytest.mark.parametrize(
    "steps",
    [["st 0", "wait.st", "st 0"], ["st 0", "st 4"], ["ld 0", "ld 2"], ["st 0", "wait.st", "ld 2"], ["st 0", "ld 4"],
     ["ld 0", "wait.ld", "st 2"]],
)  # fmt: skip
def test_accesses_of_one_warp_that_wait_or_do_not_overlap_are_right(steps: list[str]) -> None:
    assert accesses(steps).kinds == []


@pytest.mark.parametrize(
    ("steps", "wait"),
    [(["st 0", "st 2"], "wait.st()"), (["st 0", "ld 3"], "wait.st()"), (["ld 0", "st 3"], "wait.ld()"),
     (["st 0", "wait.ld", "st 2"], "wait.st()")],
)  # fmt: skip
def test_overlapping_accesses_of_one_warp_need_the_wait(steps: list[str], wait: str) -> None:
    """PTX ISA, "Non-pipelined instructions, same thread"."""
    result = accesses(steps)
    assert result.finding.kind == "missing-tcgen05-wait" and wait in result.finding.message
    assert result.lines == {0, len(steps) - 1}


def test_a_store_and_an_mma_need_the_wait_and_the_fences_and_no_proxy_fence() -> None:
    """tcgen05.st, wait::st, the fences around a barrier, then an MMA that accumulates there."""
    a_bytes, a_layout = place(np.ones((128, 16), np.float16), 32, False)
    b_bytes, b_layout = place(np.ones((32, 16), np.float16), 32, False)

    def program(w: RunningWarp) -> Any:
        taddr = yield from allocated(w, 32)
        if w.warp_id == 0:
            fill(w, "A", a_bytes)
            fill(w, "B", b_bytes)
            do(w, "fence.proxy.async")
        values = np.full((32, 32), 3, np.float32).view(np.uint32)
        do(w, "tcgen05.st", taddr + (32 * w.warp_id << 16), FakeRegisters(values), num=32)
        do(w, "tcgen05.wait.st")
        do(w, "tcgen05.fence.before_thread_sync")
        yield from block(w, "bar.sync.all", 0)
        do(w, "tcgen05.fence.after_thread_sync")
        if w.warp_id == 0:
            one_lane(w)
            a, b = descriptor(w, "A", a_layout), descriptor(w, "B", b_layout)
            do(w, "tcgen05.mma", taddr, a, b, instruction(128, 32)[0], True)
            do(w, "tcgen05.commit", address(w, "bar"))
            all_lanes(w)
        yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)
        do(w, "tcgen05.fence.after_thread_sync")
        w.gpu.seen[w.warp_id] = read(w, taddr, 32)
        yield from block(w, "bar.sync.all", 0)
        if w.warp_id == 0:
            do(w, "tcgen05.dealloc", taddr, 32)

    result = run(program, shared=SHARED, threads=128)
    assert result.kinds == []
    np.testing.assert_array_equal(result.seen[3], np.full((32, 32), 19, np.float32))


def test_an_address_in_the_lanes_of_warp_0_is_a_warning_and_means_the_warps_own_lanes() -> None:
    def program(w: RunningWarp) -> Any:
        taddr = yield from allocated(w, 32)
        at(w, 5)
        do(w, "tcgen05.st", taddr, FakeRegisters(np.full((2, 32), w.warp_id, np.uint32)), num=2)
        do(w, "tcgen05.wait.st")
        at(w, 5)
        target = FakeRegisters()
        do(w, "tcgen05.ld", target, taddr, num=2)
        do(w, "tcgen05.wait.ld")
        w.gpu.seen[w.warp_id] = target.values
        w.gpu.seen["words"] = w.cta.tmem.words(0, 512)
        yield from block(w, "bar.sync.all", 0)
        if w.warp_id == 0:
            do(w, "tcgen05.dealloc", taddr, 32)

    result = run(program, shared=SHARED, threads=128)
    assert result.kinds == ["(tmem-access)"] and result.lines == {5}
    for warp in range(4):
        assert (result.seen[warp] == warp).all()
        assert (result.seen["words"][32 * warp : 32 * warp + 32, :2] == warp).all()


def registers_of(w: RunningWarp, size: int) -> tuple[RegisterArray, Registers]:
    array = RegisterArray("reg", size, np.float32)
    return array, Registers(w, array, 0)


def loaded(steps: Any) -> Any:
    """A warp loads four columns of 7.0 into `reg`, at line 2, and executes steps(w, reg, again) before it waits."""

    def program(w: RunningWarp) -> Any:
        taddr = yield from allocated(w, 32)
        do(w, "tcgen05.st", taddr, FakeRegisters(np.full((4, 32), 7, np.float32).view(np.uint32)), num=4)
        do(w, "tcgen05.wait.st")
        array, registers = registers_of(w, 4)
        at(w, 2)
        do(w, "tcgen05.ld", registers, taddr, num=4)
        at(w, 4)
        w.gpu.seen["early"] = steps(w, array, lambda: do(w, "tcgen05.ld", registers, taddr, num=4))
        do(w, "tcgen05.wait.ld")
        w.gpu.seen["late"] = array.block(w, 0, 4, 1).copy()
        do(w, "tcgen05.dealloc", taddr, 32)

    return run(program, shared=SHARED)


def test_what_depends_on_the_registers_of_a_load_waits_for_it() -> None:
    """PTX ISA, "Register dependencies, same thread": a true dependence is respected without tcgen05.wait::ld."""
    result = loaded(lambda w, reg, again: reg.block(w, 1, 2, 1).copy())
    assert result.kinds == [] and (result.seen["early"] == 7).all() and (result.seen["late"] == 7).all()


def test_a_dependence_on_registers_frees_no_tensor_memory() -> None:
    """The same section: "does not imply any other form of ordering"."""

    def program(w: RunningWarp) -> Any:
        taddr = yield from allocated(w, 32)
        do(w, "tcgen05.st", taddr, FakeRegisters(np.zeros((4, 32), np.uint32)), num=4)
        do(w, "tcgen05.wait.st")
        array, registers = registers_of(w, 4)
        at(w, 2)
        do(w, "tcgen05.ld", registers, taddr, num=4)
        array.block(w, 0, 4, 1)
        at(w, 4)
        do(w, "tcgen05.dealloc", taddr, 32)

    result = run(program, shared=SHARED)
    assert result.finding.kind == "missing-tcgen05-wait" and result.lines == {2, 4}


def test_registers_of_a_load_in_flight_are_not_written() -> None:
    result = loaded(lambda w, reg, again: reg.store_block(w, 0, 1, 1, np.zeros((1, 32), np.float32)))
    assert result.finding.kind == "missing-tcgen05-wait" and result.lines == {2, 4}
    assert (result.seen["late"] == 7).all(), "the load came last"
    assert loaded(lambda w, reg, again: again()).kinds == ["missing-tcgen05-wait"]


def test_registers_that_were_used_are_loaded_and_written_again() -> None:
    def steps(w: RunningWarp, reg: RegisterArray, again: Any) -> None:
        reg.block(w, 0, 4, 1)
        again()
        reg.block(w, 0, 4, 1)
        reg.store_block(w, 0, 1, 1, np.zeros((1, 32), np.float32))

    result = loaded(steps)
    assert result.kinds == [] and (result.seen["late"][0] == 0).all()


@pytest.mark.parametrize(("columns", "open_order"), [((256, 256), False), ((512,), False), ((512, 32), True)])
def test_a_cta_that_may_wait_for_columns_while_it_holds_some_is_in_doubt(
    columns: tuple[int, ...], open_order: bool
) -> None:
    def program(w: RunningWarp) -> Any:
        for number, count in enumerate(columns):
            yield from block(w, "tcgen05.alloc", address(w, "slot", number), count)
            taddr = int(w.cta.smem.view(4)[number])
            if sum(columns) > 512:
                do(w, "tcgen05.dealloc", taddr, count)
        if sum(columns) <= 512:
            for number, count in enumerate(columns):
                do(w, "tcgen05.dealloc", number * columns[0], count)

    result = run(program, shared={"slot": ("uint32", 4, 4), "rest": ("uint8", 160_000)})
    assert result.kinds == []
    assert [one.doubt for one in result.outcome.open_orders or ()] == [Doubt.COLUMNS] * open_order
