"""TMA and other accesses to the same memory: fences of a state space, reductions, arguments that overlap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.tirx_mini.sim.bare import (
    address,
    all_lanes,
    at,
    block,
    buffer,
    do,
    initialised,
    mapped,
    one_lane,
    run,
    tensor_map,
)
from tirx_mini.sim import RunningWarp

TILE = {"bar": ("uint64", 1), "tile": ("float16", 64 * 64)}


def half(rows: int, columns: int) -> np.ndarray:
    return np.arange(rows * columns, dtype=np.float32).reshape(rows, columns).astype(np.float16)


def load(w: RunningWarp, coords: tuple[int, ...], nbytes: int, name: str = "A") -> Any:
    """One thread loads a box into `tile` and waits."""
    yield from initialised(w, 1)
    one_lane(w)
    tma = mapped(w, name)
    at(w, 10)
    do(w, "cp.async.bulk.tensor.load", address(w, "tile"), tma, address(w, "bar"), *coords, dim=len(coords))
    do(w, "mbarrier.arrive.expect_tx", address(w, "bar"), nbytes)
    yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)
    all_lanes(w)


@pytest.mark.parametrize(
    ("space", "kinds"),
    [("", []), ("global", []), ("shared::cta", ["missing-proxy-fence"]), ("shared::cluster", ["missing-proxy-fence"])],
)
def test_a_proxy_fence_covers_the_state_space_that_it_names(space: str, kinds: list[str]) -> None:
    """Global memory is written by ordinary stores and read by TMA."""
    source = half(16, 64)

    def program(w: RunningWarp) -> Any:
        at(w, 2)
        w.store(buffer(w, "A"), np.arange(32) * 8, np.ones((32, 8), np.float16), 8)
        do(w, "fence.proxy.async", space=space)
        yield from load(w, (0, 0), 2048)

    result = run(program, shared=TILE, arrays={"A": source}, maps=[tensor_map("A", source, (64, 16), 128)])
    assert result.kinds == kinds
    if kinds:
        assert result.lines == {2, 10} and 'proxy_async("global")' in result.finding.details["hint"]


@pytest.mark.parametrize(
    ("space", "kinds"),
    [("", []), ("shared::cta", []), ("shared::cluster", []), ("global", ["missing-proxy-fence"])],
)
def test_a_fence_for_global_memory_does_not_cover_shared_memory(space: str, kinds: list[str]) -> None:
    target = half(16, 64)

    def program(w: RunningWarp) -> Any:
        w.store(
            buffer(w, "tile"), np.arange(32)[None] * 8 + 256 * np.arange(4)[:, None], np.ones((4, 32, 8), np.float16), 8
        )
        do(w, "fence.proxy.async", space=space)
        yield from block(w, "bar.sync.all", 0)
        one_lane(w)
        do(w, "cp.async.bulk.tensor.store", mapped(w, "A"), address(w, "tile"), 0, 0, dim=2)
        do(w, "cp.async.bulk.commit_group")
        yield from block(w, "cp.async.bulk.wait_group", n=0)

    result = run(program, shared=TILE, arrays={"A": target}, maps=[tensor_map("A", target, (64, 16), 128)])
    assert result.kinds == kinds


def reduction(other: str, *, wait: bool = False) -> Any:
    """Warp 0 adds a box to D, at line 3; warp 1 does something else to D, at line 6, a long time after."""
    target = np.ones((16, 64), np.float16)

    def program(w: RunningWarp) -> Any:
        if w.warp_id == 0:
            places = np.arange(32)[None] * 8 + 256 * np.arange(4)[:, None]
            w.store(buffer(w, "tile"), places, np.ones((4, 32, 8), np.float16), 8)
        do(w, "fence.proxy.async", space="")
        yield from block(w, "bar.sync.all", 0)
        at(w, 3)
        if w.warp_id == 0:
            one_lane(w)
            do(w, "cp.reduce.async.bulk.tensor", mapped(w, "D"), address(w, "tile"), 0, 0, dim=2)
            do(w, "cp.async.bulk.commit_group")
            yield from block(w, "cp.async.bulk.wait_group", n=0)
            all_lanes(w)
        if wait:
            yield from block(w, "bar.sync.all", 0)
        w.time += 5000
        at(w, 6)
        if w.warp_id == 1 and other == "read":
            w.load(buffer(w, "D"), np.arange(32) * 8, 8)
        elif w.warp_id == 1 and other == "write":
            w.store(buffer(w, "D"), np.arange(32) * 8, np.zeros((32, 8), np.float16), 8)
        elif w.warp_id == 1:
            one_lane(w)
            op = f"cp.{other}async.bulk.tensor{'' if other else '.store'}"
            do(w, op, mapped(w, "D"), address(w, "tile"), 0, 0, dim=2)
            do(w, "cp.async.bulk.commit_group")
            yield from block(w, "cp.async.bulk.wait_group", n=0)

    result = run(program, shared=TILE, arrays={"D": target}, maps=[tensor_map("D", target, (64, 16), 128)], threads=64)
    return result, target


@pytest.mark.parametrize("other", ["read", "write", ""])
def test_a_reduction_races_with_what_is_no_reduction(other: str) -> None:
    result, _ = reduction(other)
    assert result.kinds == ["race"] and result.lines == {3, 6} and "reduction" in result.finding.message
    assert reduction(other, wait=True)[0].kinds == []


def test_reductions_of_one_place_need_no_order() -> None:
    result, target = reduction("reduce.")
    assert result.kinds == [] and (target == 3).all()


@pytest.mark.parametrize("rows", [0, 8])
def test_boxes_of_overlapping_arguments_meet(rows: int) -> None:
    """A store writes 16 rows of D, whose rows begin `rows` rows after those of A."""
    memory = np.zeros((24, 64), np.float16)
    first, second = memory[:16], memory[rows : rows + 16]

    def program(w: RunningWarp) -> Any:
        if w.warp_id == 0:
            w.store(buffer(w, "tile"), np.arange(128).reshape(4, 32) * 8, np.ones((4, 32, 8), np.float16), 8)
        do(w, "fence.proxy.async", space="")
        yield from block(w, "bar.sync.all", 0)
        at(w, 3)
        if w.warp_id == 0:
            one_lane(w)
            do(w, "cp.async.bulk.tensor.store", mapped(w, "D"), address(w, "tile"), 0, 0, dim=2)
            do(w, "cp.async.bulk.commit_group")
            yield from block(w, "cp.async.bulk.wait_group", n=0)
        else:
            w.time += 5000
            at(w, 6)
            w.load(buffer(w, "A"), 64 * rows + np.arange(32) * 2, 2)

    maps = [tensor_map("D", second, (64, 16), 128)]
    result = run(program, shared=TILE, arrays={"A": first, "D": second}, maps=maps, threads=64, access_bytes=4)
    assert result.kinds == ["race"] and result.lines == {3, 6}
    assert result.finding.details["where"] == "D[0, 0] to D[0, 63]" and (first[rows:] == 1).all()


@pytest.mark.parametrize(
    ("pedantic", "fence", "severities"), [(False, False, ["warning"]), (True, False, ["warning"]), (False, True, [])]
)
def test_an_ordinary_read_before_a_load_needs_the_fence(
    pedantic: bool, fence: bool, severities: list[str]
) -> None:
    """The tile is loaded, read, and loaded again once its readers have arrived, as every pipeline does."""
    source = half(16, 64)

    def program(w: RunningWarp) -> Any:
        yield from load(w, (0, 0), 2048)
        yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)
        at(w, 4)
        w.load(buffer(w, "tile"), np.arange(32) * 8, 8)
        if fence:
            do(w, "fence.proxy.async")
        yield from block(w, "bar.sync.all", 0)
        one_lane(w)
        at(w, 6)
        do(w, "cp.async.bulk.tensor.load", address(w, "tile"), mapped(w, "A"), address(w, "bar"), 0, 0, dim=2)
        do(w, "mbarrier.arrive.expect_tx", address(w, "bar"), 2048)
        yield from block(w, "mbarrier.try_wait", address(w, "bar"), 1)

    maps = [tensor_map("A", source, (64, 16), 128)]
    result = run(program, shared=TILE, arrays={"A": source}, maps=maps, pedantic=pedantic)
    assert [finding.severity for finding in result.findings] == severities
    if severities:
        assert result.lines == {4, 6} and result.finding.verdict == "ok"
