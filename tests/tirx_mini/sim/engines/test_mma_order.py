"""MMAs are in the order of their issue where the ISA pipelines them, and in no order elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.tirx_mini.sim.bare import address, all_lanes, at, block, do, one_lane, run
from tests.tirx_mini.sim.engines.tensor_core import SHARED, allocated, descriptor, fill, instruction, place, read
from tirx_mini.sim import RunningWarp

A_BYTES, A_LAYOUT = place(np.ones((128, 16), np.float16), 32, False)
B_BYTES, B_LAYOUT = place(np.ones((64, 16), np.float16), 32, False)
IDESC, _ = instruction(128, 64)
TWO_BARRIERS = {**SHARED, "turn": ("uint64", 1), "end": ("uint64", 1)}


def in_order(
    *, m: tuple[int, int] = (128, 128), n: tuple[int, int] = (64, 64), column: tuple[int, int] = (0, 0),
    wait: bool = False, accumulate: bool = True,
) -> Any:  # fmt: skip
    """Two MMAs of one thread, whose commit is waited for between them or not. Lines: 4, 5 the MMAs, 7 the load."""

    def program(w: RunningWarp) -> Any:
        taddr = yield from allocated(w, 128)
        if w.warp_id == 0:
            one_lane(w)
            do(w, "mbarrier.init", address(w, "turn"), 1)
            all_lanes(w)
            fill(w, "A", A_BYTES)
            fill(w, "B", B_BYTES)
        do(w, "fence.proxy.async")
        yield from block(w, "bar.sync.all", 0)
        do(w, "tcgen05.fence.after_thread_sync")
        if w.warp_id == 0:
            one_lane(w)
            a, b = descriptor(w, "A", A_LAYOUT), descriptor(w, "B", B_LAYOUT)
            at(w, 4)
            do(w, "tcgen05.mma", taddr + column[0], a, b, instruction(m[0], n[0])[0], False)
            if wait:
                do(w, "tcgen05.commit", address(w, "turn"))
                yield from block(w, "mbarrier.try_wait", address(w, "turn"), 0)
                do(w, "tcgen05.fence.after_thread_sync")
            at(w, 5)
            do(w, "tcgen05.mma", taddr + column[1], a, b, instruction(m[1], n[1])[0], accumulate)
            do(w, "tcgen05.commit", address(w, "bar"))
            all_lanes(w)
        yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)
        do(w, "tcgen05.fence.after_thread_sync")
        at(w, 7)
        w.gpu.seen[w.warp_id] = read(w, taddr, 32)
        yield from block(w, "bar.sync.all", 0)
        if w.warp_id == 0:
            do(w, "tcgen05.dealloc", taddr, 128)

    return run(program, shared=TWO_BARRIERS, threads=128)


@pytest.mark.parametrize(
    "case",
    [{}, {"column": (0, 64), "accumulate": False}, {"n": (64, 32), "wait": True}, {"m": (128, 64), "wait": True},
     {"n": (32, 64), "column": (64, 0), "accumulate": False}],
)  # fmt: skip
def test_mmas_of_one_pipeline_or_of_different_columns_need_no_wait(case: dict[str, Any]) -> None:
    assert in_order(**case).kinds == []


@pytest.mark.parametrize("case", [{"n": (64, 32)}, {"m": (128, 64)}, {"column": (0, 16)}])
def test_mmas_of_another_shape_or_accumulator_race_without_a_wait(case: dict[str, Any]) -> None:
    result = in_order(**case)
    finding = result.findings[result.kinds.index("race")]
    assert finding.span is not None and finding.span.line == 5
    assert "shape, kind and accumulator" in finding.details["hint"]


def handed_over(
    *, before: bool = True, after: bool = True, sync: bool = True, n: int = 64, commit: bool = False
) -> Any:
    """Warp 0 issues an MMA, at line 4; warp 1 another one that adds to it, at line 5, and commits."""

    def program(w: RunningWarp) -> Any:
        taddr = yield from allocated(w, 64)
        if w.warp_id == 0:
            one_lane(w)
            do(w, "mbarrier.init", address(w, "turn"), 1)
            do(w, "mbarrier.init", address(w, "end"), 1)
            all_lanes(w)
            fill(w, "A", A_BYTES)
            fill(w, "B", B_BYTES)
        do(w, "fence.proxy.async")
        yield from block(w, "bar.sync.all", 0)
        do(w, "tcgen05.fence.after_thread_sync")
        if w.warp_id < 2:
            one_lane(w)
            a, b = descriptor(w, "A", A_LAYOUT), descriptor(w, "B", B_LAYOUT)
            if w.warp_id == 0:
                at(w, 4)
                do(w, "tcgen05.mma", taddr, a, b, IDESC, False)
                if before:
                    do(w, "tcgen05.fence.before_thread_sync")
                do(w, "mbarrier.arrive", address(w, "turn"))
                if commit:
                    do(w, "tcgen05.commit", address(w, "end"))
            else:
                if sync:
                    yield from block(w, "mbarrier.try_wait", address(w, "turn"), 0)
                else:
                    w.time += 1000
                if after:
                    do(w, "tcgen05.fence.after_thread_sync")
                at(w, 5)
                do(w, "tcgen05.mma", taddr, a, b, instruction(128, n)[0], True)
                do(w, "tcgen05.commit", address(w, "bar"))
            all_lanes(w)
        yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)
        do(w, "tcgen05.fence.after_thread_sync")
        at(w, 7)
        w.gpu.seen[w.warp_id] = read(w, taddr, 64)
        if commit:
            yield from block(w, "mbarrier.try_wait", address(w, "end"), 0)
        if w.warp_id == 2:  # the commit tracks both MMAs, which are done in order
            fill(w, "A", A_BYTES)
        yield from block(w, "bar.sync.all", 0)
        if w.warp_id == 0:
            do(w, "tcgen05.dealloc", taddr, 64)

    return run(program, shared=TWO_BARRIERS, threads=128)


def test_mmas_on_one_accumulator_are_pipelined_from_thread_to_thread() -> None:
    result = handed_over()
    assert result.kinds == []
    np.testing.assert_array_equal(result.seen[0], np.full((32, 64), 32, np.float32))


@pytest.mark.parametrize(
    ("missing", "kind", "message"),
    [
        ({"before": False}, "(missing-tcgen05-fence)", "before_thread_sync"),
        ({"after": False}, "(missing-tcgen05-fence)", "after_thread_sync"),
        ({"sync": False, "commit": True}, "race", "nothing orders the two"),
        ({"n": 32, "commit": True}, "race", "nothing orders the two"),
    ],
)
def test_mmas_handed_over_need_both_fences_and_one_shape(missing: dict[str, Any], kind: str, message: str) -> None:
    result = handed_over(**missing)
    assert kind in result.kinds
    finding = result.findings[result.kinds.index(kind)]
    assert finding.span is not None and finding.span.line == 5 and message in finding.message


def test_an_mma_that_nothing_waits_for_is_in_flight_when_the_cta_ends() -> None:
    result = handed_over(n=32)
    assert "in-flight-at-exit" in result.kinds
    assert result.findings[result.kinds.index("in-flight-at-exit")].span.line == 4
