"""Tile primitives in branches that are never taken need no instructions."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.ir import PrimFunc
from tirx_mini.script import tirx as T

MANY = 32


def copied(*, lanes: int, rounds: int, flag: int, other: bool = False) -> PrimFunc:
    """A copy that no rule supports: by lanes from `lanes` on, in rounds from `rounds` on, or if `flag` is 1."""

    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        words = T.alloc_shared((32,), "float32", align=128)
        bar = T.alloc_shared((1,), "uint64")
        for k in T.serial(2):
            if lane >= lanes or k >= rounds or T.int32(1) == flag:
                with T.cta():
                    T.copy_async(words[0:32], A[0:32], dispatch="tma", mbar=bar.ptr_to([0]))
            else:
                if other:
                    with T.cta():
                        T.copy_async(words[0:32], A[0:32], dispatch="tma", mbar=bar.ptr_to([0]))
        D[lane] = A[lane]

    return kernel


def codes(kernel: PrimFunc) -> list[str]:
    return [f.code for f in tvm.simulate(kernel, np.zeros(32, np.float32), np.zeros(32, np.float32)).findings]


def test_a_branch_that_no_lane_takes() -> None:
    assert codes(copied(lanes=MANY, rounds=2, flag=0)) == []


@pytest.mark.parametrize("taken", [{"lanes": 31}, {"rounds": 1}, {"flag": 1}, {"other": True}])
def test_a_branch_that_may_be_taken(taken: dict[str, int]) -> None:
    assert codes(copied(**{"lanes": MANY, "rounds": 2, "flag": 0, **taken})) == ["TX405"]
