"""cp.async: bytes land before their group or their mbarrier is waited for, and are ordered by it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.tirx_mini.sim.bare import address, at, block, buffer, do, initialised, run
from tirx_mini.sim import RunningWarp

LANE = np.arange(32)


def cp_async(*, wait: bool = True, sync: bool = True, mbarrier: bool = False) -> Any:
    source = np.arange(512, dtype=np.float16)

    def program(w: RunningWarp) -> Any:
        if mbarrier:
            yield from initialised(w, 32)
        tile = buffer(w, "tile")
        at(w, 3)
        if w.warp_id == 0:
            dst = w.shared_address(tile, LANE * 8)
            do(w, "cp.async", dst, w.global_address(buffer(w, "A"), 504 - LANE * 8), bytes=16)
            do(w, "cp.async.commit_group")
            if mbarrier:
                do(w, "cp.async.mbarrier.arrive.noinc", address(w, "bar"))
            elif wait:
                do(w, "cp.async.wait_group", n=0)
        if mbarrier:
            yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)
        elif sync:
            yield from block(w, "bar.sync.all", 0)
        else:
            w.time += 9000
        at(w, 7)
        if w.warp_id == 1:
            w.gpu.seen["tile"] = w.load(tile, LANE * 8, 8)

    shared = {"bar": ("uint64", 1), "tile": ("float16", 256)}
    return run(program, shared=shared, arrays={"A": source}, threads=64), source


@pytest.mark.parametrize("mbarrier", [False, True])
def test_the_copied_bytes_are_there_after_the_wait(mbarrier: bool) -> None:
    result, source = cp_async(mbarrier=mbarrier)
    assert result.kinds == []
    np.testing.assert_array_equal(result.seen["tile"], source.reshape(-1, 8)[::-1][:32])


@pytest.mark.parametrize("missing", ["wait", "sync"])
def test_cp_async_needs_a_wait_and_a_barrier(missing: str) -> None:
    result, _ = cp_async(**{missing: False})
    assert "race" in result.kinds
    if missing == "wait":
        assert np.isnan(result.seen["tile"]).all()


@pytest.mark.parametrize(("wait", "kinds"), [(True, []), (False, ["race"])])
def test_the_source_is_read_until_the_wait(wait: bool, kinds: list[str]) -> None:
    """The warp that copies overwrites the source itself."""
    source = np.ones(256, np.float16)

    def program(w: RunningWarp) -> Any:
        tile = buffer(w, "tile")
        at(w, 3)
        do(w, "cp.async", w.shared_address(tile, LANE * 8), w.global_address(buffer(w, "A"), LANE * 8), bytes=16)
        do(w, "cp.async.commit_group")
        if wait:
            do(w, "cp.async.wait_group", n=0)
        at(w, 5)
        w.store(buffer(w, "A"), LANE * 8, np.zeros((32, 8), np.float16), 8)
        do(w, "cp.async.wait_group", n=0)
        w.gpu.seen["tile"] = w.load(tile, LANE * 8, 8)
        yield from ()

    result = run(program, shared={"tile": ("float16", 256)}, arrays={"A": source}, access_bytes=2)
    assert result.kinds == kinds and (result.seen["tile"] == (1 if wait else 0)).all()
    if kinds:
        assert result.lines == {3, 5}


# Groups of lanes that commit or wait apart: each lane has its own (PTX ISA: "cp.async.commit_group").
_LOW, _HIGH = LANE < 16, LANE >= 16


def apart(*steps: tuple[str, np.ndarray], n: int, read: np.ndarray | None = None, source: bool = False) -> Any:
    """Two copies of a warp and their groups. steps: "copy", "commit" or "wait", each of some lanes.

    Then each lane of `read` reads its place of the first copy, or with `source` overwrites what that has read.
    """

    def program(w: RunningWarp) -> Any:
        tile, a, copies = buffer(w, "tile"), buffer(w, "A"), 0
        for number, (step, lanes) in enumerate(steps):
            at(w, 3 + number)
            mask, w.mask = w.mask, w.mask.where(lanes)
            if step == "copy":
                places = LANE * 8 + 256 * copies
                do(w, "cp.async", w.shared_address(tile, places), w.global_address(a, places), bytes=16)
                copies += 1
            elif step == "commit":
                do(w, "cp.async.commit_group")
            else:
                do(w, "cp.async.wait_group", n=n)
            w.mask = mask
        at(w, 30)
        w.mask = w.mask.where(LANE >= 0 if read is None else read)
        if source:
            w.store(a, LANE * 8, np.zeros((32, 8), np.float16), 8)
        else:
            w.gpu.seen["tile"] = w.load(tile, LANE * 8, 8)
        yield from ()

    values = np.arange(512, dtype=np.float16)
    return run(program, shared={"tile": ("float16", 512)}, arrays={"A": values}, access_bytes=2)


ALL = LANE >= 0


@pytest.mark.parametrize(
    ("steps", "n", "read", "kinds"),
    [
        # The upper lanes commit once more, so that only their first copy is complete.
        ([("copy", ALL), ("commit", ALL), ("commit", _HIGH), ("wait", ALL)], 1, _HIGH, []),
        ([("copy", ALL), ("commit", ALL), ("commit", _HIGH), ("wait", ALL)], 1, _LOW, ["race"]),
        # The lower lanes have not committed their copy.
        ([("copy", ALL), ("commit", _HIGH), ("wait", ALL)], 0, _HIGH, []),
        ([("copy", ALL), ("commit", _HIGH), ("wait", ALL)], 0, _LOW, ["race"]),
        # Only the upper lanes wait, in either arm of a branch.
        ([("copy", ALL), ("commit", ALL), ("wait", _HIGH)], 0, _HIGH, []),
        ([("copy", ALL), ("commit", ALL), ("wait", _HIGH)], 0, _LOW, ["race"]),
        ([("copy", ALL), ("commit", ALL), ("wait", _HIGH), ("wait", _LOW)], 0, ALL, []),
        # Groups are counted apart in the two arms: each has one of its own.
        ([("copy", _LOW), ("commit", _LOW), ("copy", _HIGH), ("commit", _HIGH), ("wait", ALL)], 0, _LOW, []),
        ([("copy", _LOW), ("commit", _LOW), ("copy", _HIGH), ("commit", _HIGH), ("wait", ALL)], 1, _LOW, ["race"]),
        # Lanes that have no copy may leave the wait to others.
        ([("copy", _LOW), ("commit", ALL), ("wait", _LOW)], 0, _LOW, []),
    ],
)
def test_each_lane_has_its_own_groups(steps: Any, n: int, read: np.ndarray, kinds: list[str]) -> None:
    result = apart(*steps, n=n, read=read)
    assert result.kinds == kinds
    seen, landed = result.seen["tile"][read], not kinds
    assert (not np.isnan(seen).any()) == landed
    if landed:
        np.testing.assert_array_equal(seen, np.arange(256, dtype=np.float16).reshape(32, 8)[read])


@pytest.mark.parametrize(("lanes", "kinds"), [(_HIGH, []), (_LOW, ["race"])])
def test_the_source_of_a_lane_is_read_until_that_lane_waits(lanes: np.ndarray, kinds: list[str]) -> None:
    steps = [("copy", ALL), ("commit", ALL), ("commit", _HIGH), ("wait", ALL)]
    assert apart(*steps, n=1, read=lanes, source=True).kinds == kinds


def test_an_arrival_follows_the_copies_of_its_lane() -> None:
    """The lower lanes arrive after their copies; the upper ones still wait for their own."""

    def program(w: RunningWarp) -> Any:
        yield from initialised(w, 16)
        tile = buffer(w, "tile")
        at(w, 3)
        if w.warp_id == 0:
            do(w, "cp.async", w.shared_address(tile, LANE * 8), w.global_address(buffer(w, "A"), LANE * 8), bytes=16)
            mask, w.mask = w.mask, w.mask.where(_LOW)
            do(w, "cp.async.mbarrier.arrive.noinc", address(w, "bar"))
            w.mask = mask
        yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)
        at(w, 7)
        if w.warp_id == 1:
            w.gpu.seen["tile"] = w.load(tile, LANE * 8, 8)

    shared = {"bar": ("uint64", 1), "tile": ("float16", 256)}
    result = run(program, shared=shared, arrays={"A": np.arange(256, dtype=np.float16)}, threads=64)
    assert "race" in result.kinds
    assert not np.isnan(result.seen["tile"][_LOW]).any() and np.isnan(result.seen["tile"][_HIGH]).all()
