"""What the pictures of the concept pages are computed from."""

from __future__ import annotations

import numpy as np
import pytest

from tirx_mini.isa import TABLE
from tirx_mini.passes import lower
from tirx_mini.script import tirx as Tx
from tools.figures._lowered import executed
from tools.figures.memory import move_of
from tools.figures.shared_memory import ROW_MAJOR, SWIZZLED, chunk_addresses, conflict_degree, pool_of
from tools.figures.tensor_memory import accumulators
from tools.figures.warps import roles


@Tx.prim_func(tirx=True)
def guards(D: Tx.Buffer((64,), "int32")):
    with Tx.kernel():
        _bx = Tx.cta_id([1], parent="kernel")
        warp_id = Tx.warp_id([2], parent="cta")
        lane_id = Tx.thread_id([32], parent="warp")
        if warp_id == 1:
            if lane_id < 3:
                Tx.ptx.fence.proxy_async("shared::cta")
            else:
                Tx.ptx.fence.acq_rel("cta")
        else:
            for i in Tx.unroll(2):
                if Tx.ptx.elect_sync():
                    Tx.ptx.setmaxnreg.dec(count=24)
                if D[i] == 0:
                    Tx.cuda.warp_sync()


def test_the_lanes_that_execute_an_instruction_follow_from_guards_and_unrolled_loops() -> None:
    counts = [(item.warp, item.entry.name, item.lanes) for item in executed(lower(guards))]
    once = [(0, "elect.sync", 32), (0, "setmaxnreg.dec", 1), (0, "bar.warp.sync", 32)]
    assert counts == [*once, *once, (1, "fence.proxy.async", 3), (1, "fence", 29)]


def test_the_roles_of_step_7() -> None:
    found = {role.warp: role for role in roles(7)}
    names = [found[warp].name for warp in range(8)]
    assert names == ["write-back"] * 4 + ["MMA", "idle", "idle", "TMA"]
    assert found[4].lanes["tcgen05.mma"] == 1
    assert found[0].lanes["tcgen05.alloc"] == 32
    assert set(found[4].waits) == {"tma2mma", "ld2mma"}
    assert set(found[4].signals) == {"mma2tma", "mma2ld"}


@pytest.mark.parametrize(
    ("addresses", "width", "cycles"),
    [
        ([0] * 32, 4, 1),  # one word for all: a broadcast
        (range(0, 128, 4), 4, 1),
        (range(0, 256, 8), 4, 2),
        (range(0, 32 * 128, 128), 4, 32),
        (chunk_addresses(ROW_MAJOR, range(8), 3), 16, 8),
        (chunk_addresses(SWIZZLED, range(8), 3), 16, 1),
    ],
)
def test_conflicts_are_the_different_words_of_a_bank(addresses: list[int], width: int, cycles: int) -> None:
    assert conflict_degree(addresses, width) == cycles


def test_the_accumulators_of_step_10_take_all_columns_and_each_is_read_by_its_warpgroup() -> None:
    table = [(a.column, a.columns, a.warp, a.readers) for a in accumulators(10)]
    assert table == [(0, 256, 8, 0), (256, 256, 9, 1)]


def test_the_buffers_of_a_pool_do_not_overlap_and_fit_in_the_launch() -> None:
    buffers, size = pool_of(8)
    ends = np.array([buffer.byte_offset + buffer.nbytes for buffer in buffers])
    starts = np.array([buffer.byte_offset for buffer in buffers])
    assert (ends[:-1] <= starts[1:]).all()
    assert ends[-1] == size


def test_a_move_is_what_the_table_of_instructions_says() -> None:
    load = move_of(TABLE["cp.async.bulk.tensor.load"])
    assert (load.source, load.target, load.issuer) == ("global", "shared", "one thread")
    read = move_of(TABLE["tcgen05.ld"])
    assert (read.source, read.target, read.end) == (
        "tensor memory",
        "registers",
        "`tcgen05.wait::ld`, in the same warp",
    )
