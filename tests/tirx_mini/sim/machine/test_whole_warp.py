"""Barriers of a cluster that parts of a warp execute: an H200 ended or hung on each kernel as the simulator says."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.script import from_source

HEAD = """
@T.prim_func
def kernel(D: T.Buffer((64,), "int32")):
    T.device_entry()
    b = T.cta_id([2]); T.cta_id_in_cluster([2])
    t = T.thread_id([32])
"""
ARRIVE, WAIT = (
    f"T.ptx.barrier.cluster.{each}, aligned=False)" for each in ('arrive(sem="release"', "wait(acquire=True")
)
WARP_ARRIVES, WARP_WAITS = (line.replace("False", "True") for line in (ARRIVE, WAIT))
MEET = "T.cuda.warp_sync()"


def branch(condition: str, *lines: str) -> list[str]:
    return [condition, *(f"    {line}" for line in (*lines, "D[b * 32 + t] = 1"))]


ENDS = {
    "both sides arrive": [*branch("if t == 0:", ARRIVE), *branch("else:", ARRIVE), WARP_WAITS],
    "both sides wait": [WARP_ARRIVES, *branch("if t < 8:", WAIT), *branch("else:", WAIT)],
    "one lane waits and the others end": [WARP_ARRIVES, "D[b * 32 + t] = 1", *branch("if t == 0:", WAIT)],
    "one lane waits and the others go on": [WARP_ARRIVES, *branch("if t == 0:", WAIT), *branch("else:")],
    "both sides arrive and wait": [*branch("if t == 0:", ARRIVE, WAIT), *branch("else:", ARRIVE, WAIT)],
    "all arrive and one lane waits": [*branch("if t == 0:", ARRIVE, WAIT), *branch("else:", ARRIVE)],
    "two waits collect the warp": [
        WARP_ARRIVES, *branch("if t == 0:", WAIT), *branch("if t > 0:", WAIT), WARP_ARRIVES, WARP_WAITS,
    ],
}  # fmt: skip
HANGS = {
    "the others wait for the lane": [WARP_ARRIVES, *branch("if t == 0:", WAIT), MEET],
    "arrivals one after another": [*branch("if t == 0:", ARRIVE), MEET, *branch("if t > 0:", ARRIVE), MEET, WARP_WAITS],
    "waits one after another": [WARP_ARRIVES, *branch("if t < 8:", WAIT), MEET, *branch("if t >= 8:", WAIT), MEET],
    "the others wait at the barrier of the CTA": [WARP_ARRIVES, *branch("if t == 0:", WAIT), "T.cuda.cta_sync()"],
}


def report(lines: list[str]) -> tuple[tvm.SimReport, np.ndarray]:
    D = np.zeros(64, np.int32)
    return tvm.simulate(from_source(HEAD + "".join(f"    {line}\n" for line in lines)), D), D


@pytest.mark.parametrize("name", ENDS)
def test_lanes_collect_the_rest_of_the_warp_at_another_instruction_or_its_end(name: str) -> None:
    found, D = report(ENDS[name])
    assert found.ok and (D == 1).all(), str(found)


@pytest.mark.parametrize("name", HANGS)
def test_the_rest_of_the_warp_waits_elsewhere(name: str) -> None:
    found, _ = report(HANGS[name])
    assert found.findings[0].code == "TX306"
    assert "a GPU executes it once for the whole warp, so each waits for the other" in str(found)
