"""Pipelines of two stages in the ways that people write them by hand, each right, and wrong in one detail."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.ir import PrimFunc
from tirx_mini.script import tirx as T

LAPS = 8
IDIOMS = ("reset", "modulo", "toggle", "computed", "arrays")
MISTAKES = {
    "the producer starts with phase 0": ("start", "TX108"),
    "one lane gives the stage back for 32": ("lane", "TX107"),
    "always stage 0 is given back": ("stage", "TX120"),
    "nobody gives a stage back": ("silent", "TX103"),
}


def ring(idiom: str, wrong: str = "") -> PrimFunc:
    """Warp 0 copies the rows of A to a ring of two stages, and warp 1 sums them up. idiom: how the state goes on.

    wrong: the mistake, or "polls": the consumer polls, which is none.
    """

    @T.prim_func
    def kernel(A: T.Buffer((LAPS, 32), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        warp = T.warp_id([2])
        lane = T.lane_id([32])
        words = T.alloc_shared((2, 32), "float32")
        full = T.alloc_shared((2,), "uint64")
        empty = T.alloc_shared((2,), "uint64")
        if warp == 0 and lane < 2:
            T.ptx.mbarrier.init(full.ptr_to([lane]), 32)
            T.ptx.mbarrier.init(empty.ptr_to([lane]), 32)
        T.cuda.cta_sync()
        stage = 0
        phase = 0
        phases = T.alloc_local((2,), "int32")
        phases[0] = 0
        phases[1] = 0

        @T.inline
        def at(k):
            """The stage of row k."""
            return k % 2 if idiom in ("computed", "arrays") else stage

        @T.inline
        def parity(k):
            """The phase of row k."""
            if idiom == "arrays":
                return phases[k % 2]
            return k // 2 % 2 if idiom == "computed" else phase

        @T.inline
        def advance(k):
            if idiom == "reset":
                if wrong != "still":
                    stage = stage + 1
                if stage == 2:
                    stage = 0
                    phase = phase ^ 1
            if idiom == "modulo":
                stage = (stage + 1) % 2
                if stage == 0:
                    phase ^= 1
            if idiom == "toggle":
                phase = phase ^ stage
                stage = 1 - stage
            if idiom == "arrays":
                phases[k % 2] ^= 1

        if warp == 0:
            for k in T.serial(LAPS):
                T.ptx.mbarrier.try_wait(empty.ptr_to([at(k)]), parity(k) if wrong == "start" else parity(k) ^ 1)
                words[at(k), lane] = A[k, lane]
                T.ptx.mbarrier.arrive(full.ptr_to([at(k)]))
                advance(k)
        else:
            total = 0.0
            for k in T.serial(LAPS):
                if wrong == "polls":
                    while not T.ptx.mbarrier.test_wait(full.ptr_to([at(k)]), parity(k)):
                        pass
                else:
                    T.ptx.mbarrier.try_wait(full.ptr_to([at(k)]), parity(k))
                total = total + words[at(k), lane]
                if wrong == "stage":
                    T.ptx.mbarrier.arrive(empty.ptr_to([0]))
                elif wrong != "silent" and (wrong != "lane" or lane == 0):
                    T.ptx.mbarrier.arrive(empty.ptr_to([at(k)]))
                advance(k)
            D[lane] = total

    return kernel


@pytest.mark.parametrize("idiom", IDIOMS)
@pytest.mark.parametrize("polls", ["", "polls"])
def test_a_ring_that_goes_on_by_hand_is_right(idiom: str, polls: str) -> None:
    A, D = np.arange(LAPS * 32, dtype=np.float32).reshape(LAPS, 32), np.zeros(32, np.float32)
    report = tvm.simulate(ring(idiom, polls), A, D)
    assert report.ok and not report.findings and (A.sum(0) == D).all(), report


@pytest.mark.parametrize("idiom", IDIOMS)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_mistake_is_the_first_cause_however_the_state_goes_on(mistake: str, idiom: str) -> None:
    wrong, code = MISTAKES[mistake]
    report = tvm.simulate(ring(idiom, wrong), np.zeros((LAPS, 32), np.float32), np.zeros(32, np.float32))
    assert report.verdict == "deadlock" and report.findings[0].code == code, report
    span = report.findings[0].span
    assert span is not None and Path(span.user.file) == Path(__file__), report


def test_a_stage_that_only_begins_laps_stands_still() -> None:
    report = tvm.simulate(ring("reset", "still"), np.zeros((LAPS, 32), np.float32), np.zeros(32, np.float32))
    assert not report.ok and report.findings[0].code == "TX109", report
    assert "nothing in it leads to the next stage" in report.findings[0].message
