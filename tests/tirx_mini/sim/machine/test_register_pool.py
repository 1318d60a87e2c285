"""The registers of a CTA: the counts that `setmaxnreg` takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirx_mini as tvm
from tests.tirx_mini.sim.bare import at, block, run
from tirx_mini.script import tirx as T
from tirx_mini.sim import Doubt, RunningWarp


@pytest.mark.parametrize(("count", "fine"), [(24, True), (168, True), (16, False), (100, False), (264, False)])
def test_setmaxnreg_takes_multiples_of_8_from_24_to_256(count: int, fine: bool) -> None:
    def program(w: RunningWarp) -> Any:
        yield from block(w, "setmaxnreg.dec", count=count)

    assert run(program, threads=384).kinds == ([] if fine else ["illegal-instruction"])


@pytest.mark.parametrize("op", ["setmaxnreg.inc", "setmaxnreg.dec"])
def test_a_change_in_the_wrong_direction_is_reported_and_changes_nothing(op: str) -> None:
    """Undefined by the ISA: the run goes on."""

    def program(w: RunningWarp) -> Any:
        at(w, 2)
        yield from block(w, op, count=24 if op == "setmaxnreg.inc" else 256)
        w.gpu.seen[w.warp_id] = w.cta.registers.held[w.warp_id]

    result = run(program, threads=384)
    assert result.finding.kind == "illegal-instruction" and result.lines == {2} and result.fault is None
    assert set(result.seen.values()) == {168}


@pytest.mark.parametrize(
    ("sync", "kinds"), [("all", []), ("three", ["illegal-convergence"]), ("", ["illegal-convergence"])]
)
def test_a_warpgroup_synchronises_between_two_setmaxnreg(sync: str, kinds: list[str]) -> None:
    """PTX ISA, setmaxnreg: "must synchronize explicitly before executing subsequent setmaxnreg instructions"."""

    def program(w: RunningWarp) -> Any:
        at(w, 2)
        yield from block(w, "setmaxnreg.dec", count=64)
        at(w, 3)
        if sync == "all" or (sync == "three" and w.warp_id != 1):
            yield from block(w, "bar.sync", 1, 128 if sync == "all" else 96)
        at(w, 4)
        yield from block(w, "setmaxnreg.dec", count=40)

    result = run(program, threads=128)
    assert result.kinds == kinds and result.outcome.fault is None
    if kinds:
        assert result.finding.span is not None and result.finding.span.line == 4


def test_an_increase_beyond_what_the_cta_has_waits_for_ever() -> None:
    """168 registers a thread of 384 at launch: 24 + 240 + 240 is what there is, and 256 each is more."""

    def program(w: RunningWarp, most: int) -> Any:
        if w.warp_id < 4:
            yield from block(w, "setmaxnreg.dec", count=24)
        else:
            yield from block(w, "setmaxnreg.inc", count=most)

    assert not run(lambda w: program(w, 240), threads=384).outcome.blocked
    assert len(run(lambda w: program(w, 256), threads=384).outcome.blocked) > 0


@pytest.mark.parametrize("waits", [True, False])
def test_a_decrease_that_waits_for_an_increase_is_in_doubt(waits: bool) -> None:
    """Warpgroup 1 gives up its registers only after warpgroup 2 took some, which may have had to wait for them."""

    def program(w: RunningWarp) -> Any:
        group = w.warp_id // 4
        if group == 0:
            yield from block(w, "setmaxnreg.dec", count=24)
        elif group == 1:
            if waits:
                yield from block(w, "bar.sync", 1, 256)
            yield from block(w, "setmaxnreg.dec", count=24)
        else:
            yield from block(w, "setmaxnreg.inc", count=208)
            if waits:
                yield from block(w, "bar.sync", 1, 256)

    result = run(program, threads=384)
    assert result.kinds == []
    assert [one.doubt for one in result.outcome.open_orders or ()] == [Doubt.REGISTERS] * waits


def test_warps_that_wait_in_an_arm_of_a_branch_on_threads_go_on_when_registers_are_free() -> None:
    @T.prim_func
    def kernel(A: T.Buffer((384,), "int32")):
        T.device_entry()
        tx = T.thread_id([384])
        if tx < 256:
            T.ptx.setmaxnreg(True, 240)
            A[tx] = tx
        else:
            T.ptx.setmaxnreg(False, 24)
            A[tx] = tx

    numbers = np.zeros(384, np.int32)
    report = tvm.simulate(kernel, numbers, gpu="h100")
    assert report.verdict == "ok" and not report.findings
    assert (numbers == np.arange(384)).all()
