"""Lanes of one warp in different roles make progress independently, in whichever order their branches stand."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.script import tirx as Tx

ROUNDS = 5


def handshake(first: int, second: int, *, as_else: bool = False, polls: bool = False, forgets: bool = False):
    """Lanes `first` and `second` of one warp hand each other values; the branch of `first` stands first.

    Lane 3 waits for what lane 7 has written, and answers.
    """

    @Tx.prim_func(tirx=True)
    def kernel(D: Tx.Buffer((32,), "int32")):
        with Tx.kernel():
            bx = Tx.cta_id([1], parent="kernel")
            lane = Tx.thread_id([32], parent="cta")
            pool = Tx.PoolAllocator()
            bar = pool.alloc((2,), "uint64", align=8)
            box = pool.alloc((2,), "int32")
            pool.commit()
            with Tx.thread():
                total: Tx.int32
                total = 0
                if lane == 0:
                    Tx.ptx.mbarrier.init(bar.ptr_to([0]), 1)
                    Tx.ptx.mbarrier.init(bar.ptr_to([1]), 1)
                Tx.cuda.cta_sync()

                @Tx.inline
                def wait(number, parity):
                    if polls:
                        while not Tx.ptx.mbarrier.test_wait(bar.ptr_to([number]), parity):
                            pass
                    else:
                        Tx.ptx.mbarrier.try_wait(bar.ptr_to([number]), parity)

                @Tx.inline
                def role(lane_of_role):
                    for i in range(ROUNDS):
                        if lane_of_role == 3:
                            wait(0, i & 1)
                            total += box[0]
                            box[1] = total
                            if not forgets:
                                Tx.ptx.mbarrier.arrive(bar.ptr_to([1]))
                        else:
                            box[0] = i + 1
                            Tx.ptx.mbarrier.arrive(bar.ptr_to([0]))
                            wait(1, i & 1)
                            total = box[1]

                if lane == first:
                    role(first)
                else:
                    if as_else:
                        if lane == second:
                            role(second)
                if not as_else:
                    if lane == second:
                        role(second)
                D[lane] = total

    return kernel


@pytest.mark.parametrize("polls", [False, True])
@pytest.mark.parametrize("as_else", [False, True])
@pytest.mark.parametrize("lanes", [(3, 7), (7, 3)])
def test_a_lane_that_waits_does_not_hold_up_another(lanes: tuple[int, int], as_else: bool, polls: bool) -> None:
    result = np.zeros(32, np.int32)
    report = tvm.simulate(handshake(*lanes, as_else=as_else, polls=polls), result)
    assert report.verdict == "ok", str(report)
    expected = ROUNDS * (ROUNDS + 1) // 2
    assert result[3] == result[7] == expected and not result[[0, 1, 31]].any()


@pytest.mark.parametrize("lanes", [(3, 7), (7, 3)])
def test_lanes_that_wait_for_one_another_for_ever_are_a_deadlock(lanes: tuple[int, int]) -> None:
    report = tvm.simulate(handshake(*lanes, forgets=True), np.zeros(32, np.int32))
    assert report.verdict == "deadlock", str(report)


def test_lanes_come_together_before_the_next_collective() -> None:
    @Tx.prim_func(tirx=True)
    def kernel(D: Tx.Buffer((32,), "int32")):
        with Tx.kernel():
            bx = Tx.cta_id([1], parent="kernel")
            lane = Tx.thread_id([32], parent="cta")
            pool = Tx.PoolAllocator()
            bar = pool.alloc((1,), "uint64", align=8)
            pool.commit()
            with Tx.thread():
                value: Tx.int32
                value = lane
                if lane == 0:
                    Tx.ptx.mbarrier.init(bar.ptr_to([0]), 1)
                Tx.cuda.cta_sync()
                if lane < 16:
                    Tx.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
                    value = 100 + lane
                else:
                    if lane == 16:
                        Tx.ptx.mbarrier.arrive(bar.ptr_to([0]))
                D[lane] = Tx.cuda.shfl_xor(value, 16)

    result = np.zeros(32, np.int32)
    report = tvm.simulate(kernel, result)
    assert report.verdict == "ok", str(report)
    np.testing.assert_array_equal(result, [*range(16, 32), *range(100, 116)])
