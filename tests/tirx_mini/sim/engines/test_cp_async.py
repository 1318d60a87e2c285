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
