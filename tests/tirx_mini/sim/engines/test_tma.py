"""TMA: boxes land where the tensor map says, late, and in the order that groups and barriers give."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

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
from tirx_mini.hardware import B200
from tirx_mini.isa import swizzle_bytes
from tirx_mini.sim import RunningWarp
from tirx_mini.sim.engines import BoxCopier, TensorMapRule, broken_rule

TILE = {"bar": ("uint64", 1), "tile": ("float16", 64 * 64)}
LARGEST = {"bar": ("uint64", 1), "tile": ("float16", 64 * 5**3)}


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


@st.composite
def boxes(draw: st.DrawFn, stored: bool = False) -> tuple[tuple[int, ...], tuple[int, ...], int, tuple[int, ...]]:
    """(dims, box, swizzle, coords) of a float16 tensor, innermost first; it may stick out, a store at the end."""
    rank = draw(st.integers(1, 4))
    swizzle = draw(st.sampled_from([0, 32, 64, 128]))
    inner = swizzle // 2 if swizzle else 8 * draw(st.integers(1, 6))
    box = (inner, *(draw(st.integers(1, 5)) for _ in range(rank - 1)))
    dims = (8 * draw(st.integers(1, 12)), *(draw(st.integers(1, 6)) for _ in range(rank - 1)))
    coords = [draw(st.integers(0 if stored else -extent, dim + 1)) for extent, dim in zip(box, dims, strict=True)]
    return dims, box, swizzle, (coords[0] // 8 * 8, *coords[1:])


def in_box(dims: tuple[int, ...], box: tuple[int, ...], coords: tuple[int, ...]) -> Any:
    """(index in the tensor or None, number in the box) of each element, outermost first."""
    for number, index in enumerate(np.ndindex(*box[::-1])):
        place = tuple(c + i for c, i in zip(coords[::-1], index, strict=True))
        inside = all(0 <= p < d for p, d in zip(place, dims[::-1], strict=True))
        yield (place if inside else None), number


@given(boxes())
@settings(max_examples=60, deadline=None)
def test_the_chunks_of_a_box_lie_where_it_says(
    layout: tuple[tuple[int, ...], tuple[int, ...], int, tuple[int, ...]],
) -> None:
    dims, box, swizzle, coords = layout
    data = (1 + np.arange(np.prod(dims))).astype(np.uint16).view(np.float16)
    memory = SimpleNamespace(bytes={0: data.view(np.uint8)}, segments={}, constant=frozenset({0}))
    described = tensor_map("A", data.reshape(dims[::-1]), box, swizzle)
    copier = BoxCopier(described, memory, 0)  # pyright: ignore[reportArgumentType]
    chunks, places = copier.read(coords).view(np.uint16).reshape(-1, 8), copier.addresses(coords)
    for chunk, place in zip(chunks, places, strict=True):
        if place >= 0:
            assert np.array_equal(chunk, data.view(np.uint16)[place // 2 : place // 2 + 8])
        else:
            assert 0 in chunk  # a part of it, or all, is outside


@pytest.mark.parametrize("coords", [(-8, 0), (0, -1), (-64, 16)])
def test_a_store_does_not_begin_before_its_tensor(coords: tuple[int, int]) -> None:
    """Loads may. A Hopper chip ends the kernel with an illegal instruction."""
    source = half(16, 64)

    def program(w: RunningWarp) -> Any:
        one_lane(w)
        do(w, "cp.async.bulk.tensor.store", mapped(w, "A"), address(w, "tile"), *coords, dim=2)
        yield from ()

    result = run(program, shared=TILE, arrays={"A": source}, maps=[tensor_map("A", source, (64, 16), 128)])
    assert result.kinds == ["illegal-instruction"]
    assert f"begins before the tensor, at {coords[::-1]}" in result.findings[0].message


@pytest.mark.parametrize("column", [4, -9, 1])
@pytest.mark.parametrize("op", ["load", "store"])
def test_a_box_begins_at_a_multiple_of_16_bytes(op: str, column: int) -> None:
    """A Hopper chip ends the kernel with an illegal instruction."""
    source = half(16, 64)

    def program(w: RunningWarp) -> Any:
        yield from initialised(w, 1)
        one_lane(w)
        tile, tma, bar = address(w, "tile"), mapped(w, "A"), address(w, "bar")
        if op == "load":
            do(w, "cp.async.bulk.tensor.load", tile, tma, bar, column, 0, dim=2)
        else:
            do(w, "cp.async.bulk.tensor.store", tma, tile, column, 0, dim=2)

    result = run(program, shared=TILE, arrays={"A": source}, maps=[tensor_map("A", source, (64, 16), 128)])
    assert result.kinds == ["misaligned-access"]
    message = result.findings[0].message
    assert f"begins at element {column} of its rows, byte {2 * column}" in message and "multiple of 16" in message


@given(boxes())
@settings(max_examples=60)
def test_a_load_gathers_its_box(case: tuple[Any, ...]) -> None:
    """Elements outside are zero and count; rows follow each other densely; the swizzle acts on byte addresses."""
    dims, box, swizzle, coords = case
    array = (np.arange(np.prod(dims)) + 1).astype(np.float16).reshape(dims[::-1])
    nbytes = int(np.prod(box)) * 2

    def program(w: RunningWarp) -> Any:
        yield from load(w, coords, nbytes)
        w.gpu.seen["bytes"] = w.cta.smem.bytes.copy()
        w.gpu.seen["tile"] = buffer(w, "tile").byte_offset

    result = run(program, shared=LARGEST, arrays={"A": array}, maps=[tensor_map("A", array, box, swizzle)])
    assert result.kinds == [] and not result.outcome.blocked
    found = result.seen["bytes"].view(np.float16)
    base = result.seen["tile"]
    for place, number in in_box(dims, box, coords):
        value = found[swizzle_bytes(base + number * 2, swizzle) // 2]
        assert value == (array[place] if place is not None else 0)


@given(boxes(stored=True))
@settings(max_examples=60)
def test_a_store_skips_what_is_outside(case: tuple[Any, ...]) -> None:
    dims, box, swizzle, coords = case
    array = np.full(dims[::-1], -1, np.float16)
    count = int(np.prod(box))

    def program(w: RunningWarp) -> Any:
        tile = buffer(w, "tile")
        one_lane(w)
        for number in range(0, count, 8):
            at(w, 2)
            place = (swizzle_bytes(tile.byte_offset + number * 2, swizzle) - tile.byte_offset) // 2
            w.store(tile, place, np.arange(number, number + 8).astype(np.float16), 8)
        do(w, "fence.proxy.async")
        do(w, "cp.async.bulk.tensor.store", mapped(w, "A"), address(w, "tile"), *coords, dim=len(coords))
        do(w, "cp.async.bulk.commit_group")
        yield from block(w, "cp.async.bulk.wait_group", n=0)

    result = run(program, shared=LARGEST, arrays={"A": array}, maps=[tensor_map("A", array, box, swizzle)])
    assert result.kinds == []
    expected = np.full_like(array, -1)
    for place, number in in_box(dims, box, coords):
        if place is not None:
            expected[place] = number
    np.testing.assert_array_equal(array, expected)


def test_a_load_lands_only_at_the_end() -> None:
    """A wait that is missing reads what was there before, and is a race."""
    array = half(64, 64)

    def program(w: RunningWarp) -> Any:
        yield from initialised(w, 1)
        tile = buffer(w, "tile")
        at(w, 2)
        w.store(tile, np.arange(32) * 8, np.zeros((32, 8), np.float16), 8)
        do(w, "fence.proxy.async")
        do(w, "bar.warp.sync")
        one_lane(w)
        at(w, 5)
        do(w, "cp.async.bulk.tensor.load", address(w, "tile"), mapped(w, "A"), address(w, "bar"), 0, 0, dim=2)
        do(w, "mbarrier.arrive.expect_tx", address(w, "bar"), 64 * 64 * 2)
        at(w, 7)
        w.gpu.seen["early"] = w.load(tile, 9)
        yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)
        at(w, 9)
        w.gpu.seen["late"] = w.load(tile, 9)

    result = run(program, shared=TILE, arrays={"A": array}, maps=[tensor_map("A", array, (64, 64), 0)])
    assert result.seen == {"early": 0, "late": 9}
    assert result.finding.kind == "race" and result.lines == {5, 7}


def store_then(
    *, fence: bool = True, commit: bool = True, wait: bool = True, read: bool = False, again: bool = True
) -> Any:
    """Two TMA stores through one buffer."""
    array = np.zeros((2, 64, 64), np.float16)

    def program(w: RunningWarp) -> Any:
        tile = buffer(w, "tile")
        places = np.arange(16)[:, None] * 256 + np.arange(32) * 8
        for turn in range(1 + again):
            at(w, 2)
            w.store(tile, places, np.full((16, 32, 8), turn + 1, np.float16), 8)
            if fence:
                do(w, "fence.proxy.async")
            yield from block(w, "bar.sync.all", 0)
            one_lane(w)
            at(w, 6)
            do(w, "cp.async.bulk.tensor.store", mapped(w, "D"), address(w, "tile"), 0, 0, turn, dim=3)
            if commit:
                do(w, "cp.async.bulk.commit_group")
            if wait:
                yield from block(w, "cp.async.bulk.wait_group", n=0, read=read)
            all_lanes(w)
            yield from block(w, "bar.sync.all", 0)

    maps = [tensor_map("D", array, (64, 64, 1), 0)]
    return run(program, shared={"tile": ("float16", 64 * 64)}, arrays={"D": array}, maps=maps), array


@pytest.mark.parametrize("read", [False, True])
def test_stores_through_one_buffer_follow_one_another(read: bool) -> None:
    result, array = store_then(read=read)
    assert result.kinds == []
    assert (array[0] == 1).all() and (array[1] == 2).all()


def test_a_store_needs_the_proxy_fence() -> None:
    result, _ = store_then(fence=False)
    assert result.finding.kind == "missing-proxy-fence" and result.lines == {2, 6}


@pytest.mark.parametrize("missing", ["wait", "commit"])
def test_a_store_that_is_not_waited_for_reads_what_comes_next(missing: str) -> None:
    result, array = store_then(**{missing: False})
    assert sorted(result.kinds) == ["(in-flight-at-exit)", "race"]
    assert (array[0] == 2).all()
    assert all("wait_group" in f.details["hint"] for f in result.findings)


def test_the_source_must_live_until_it_is_read() -> None:
    result, _ = store_then(wait=False, again=False)
    assert result.kinds == ["(in-flight-at-exit)"]
    assert result.finding.kind == "in-flight-at-exit" and result.lines == {6}
    result, _ = store_then(read=True, again=False)
    assert result.kinds == []


def test_groups_belong_to_the_thread_that_committed_them() -> None:
    array = np.zeros((64, 64), np.float16)

    def program(w: RunningWarp) -> Any:
        tile = buffer(w, "tile")
        w.store(tile, np.arange(16)[:, None] * 256 + np.arange(32) * 8, np.ones((16, 32, 8), np.float16), 8)
        do(w, "fence.proxy.async")
        yield from block(w, "bar.sync.all", 0)
        one_lane(w)
        do(w, "cp.async.bulk.tensor.store", mapped(w, "D"), address(w, "tile"), 0, 0, dim=2)
        do(w, "cp.async.bulk.commit_group")
        one_lane(w, 1)
        before = w.time
        yield from block(w, "cp.async.bulk.wait_group", n=0)
        w.gpu.seen["other thread"] = w.time - before
        one_lane(w, 0)
        yield from block(w, "cp.async.bulk.wait_group", n=1)
        w.gpu.seen["one may be open"] = w.time - before
        yield from block(w, "cp.async.bulk.wait_group", n=0)
        w.gpu.seen["done"] = w.time - before

    result = run(program, shared={"tile": ("float16", 64 * 64)}, arrays={"D": array},
                 maps=[tensor_map("D", array, (64, 64), 0)])  # fmt: skip
    assert result.kinds == []
    assert result.seen["other thread"] == result.seen["one may be open"] == 0 < result.seen["done"]


def test_a_reduction_adds_to_the_tensor() -> None:
    array = np.full((8, 8), 10, np.float32)

    def program(w: RunningWarp) -> Any:
        w.store(buffer(w, "tile"), np.arange(0, 64, 2) // 1, np.ones((32, 2), np.float32), 2)
        do(w, "fence.proxy.async")
        do(w, "bar.warp.sync")
        one_lane(w)
        do(w, "cp.reduce.async.bulk.tensor", mapped(w, "D"), address(w, "tile"), 0, 4, dim=2)
        do(w, "cp.async.bulk.commit_group")
        yield from block(w, "cp.async.bulk.wait_group", n=0)

    maps, shared = [tensor_map("D", array, (8, 8), 0)], {"tile": ("float32", 64, 8)}
    result = run(program, shared=shared, arrays={"D": array}, maps=maps)
    assert result.kinds == [] and (array[:4] == 10).all() and (array[4:] == 11).all()


def test_multicast_lands_and_counts_in_each_cta_of_the_mask() -> None:
    array = half(64, 64)

    def program(w: RunningWarp) -> Any:
        one_lane(w)
        do(w, "mbarrier.init", address(w, "bar"), 1)
        all_lanes(w)
        do(w, "fence.mbarrier_init")
        yield from block(w, "barrier.cluster.sync")
        one_lane(w)
        tile = buffer(w, "tile")
        if w.cluster_ctarank in (1, 3):
            do(w, "mbarrier.arrive.expect_tx", address(w, "bar"), 8192)
        if w.cluster_ctarank == 1:
            do(w, "cp.async.bulk.tensor.load", address(w, "tile"), mapped(w, "A"), address(w, "bar"), 0, 0, dim=2,
               cta_mask=0b1010)  # fmt: skip
        if w.cluster_ctarank in (1, 3):
            yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)
            w.gpu.seen[w.cluster_ctarank] = w.load(tile, 100)
        all_lanes(w)
        yield from block(w, "barrier.cluster.sync")

    result = run(program, shared=TILE, arrays={"A": array}, maps=[tensor_map("A", array, (64, 64), 0)],
                 grid=(4, 1, 1), cluster=(4, 1, 1))  # fmt: skip
    assert result.kinds == [] and result.seen == {1: 100, 3: 100}


@pytest.mark.parametrize("cta_group", [1, 2])
def test_only_cta_group_2_may_signal_the_barrier_of_the_other_cta(cta_group: int) -> None:
    array = half(64, 64)

    def program(w: RunningWarp) -> Any:
        one_lane(w)
        do(w, "mbarrier.init", address(w, "bar"), 1)
        all_lanes(w)
        do(w, "fence.mbarrier_init")
        yield from block(w, "barrier.cluster.sync")
        one_lane(w)
        if w.cluster_ctarank == 1:
            bar = do(w, "mapa", address(w, "bar"), 0)
            at(w, 8)
            tile = address(w, "tile")
            do(w, "cp.async.bulk.tensor.load", tile, mapped(w, "A"), bar, 0, 0, dim=2, cta_group=cta_group)
        else:
            do(w, "mbarrier.arrive.expect_tx", address(w, "bar"), 8192)
            yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)
        all_lanes(w)
        yield from block(w, "barrier.cluster.sync")

    result = run(program, shared=TILE, arrays={"A": array}, maps=[tensor_map("A", array, (64, 64), 0)],
                 grid=(2, 1, 1), cluster=(2, 1, 1))  # fmt: skip
    assert result.kinds == ([] if cta_group == 2 else ["illegal-instruction"])


def test_a_load_must_be_over_before_its_cta_ends() -> None:
    array = half(64, 64)

    def program(w: RunningWarp) -> Any:
        yield from initialised(w, 1)
        one_lane(w)
        at(w, 4)
        do(w, "cp.async.bulk.tensor.load", address(w, "tile"), mapped(w, "A"), address(w, "bar"), 0, 0, dim=2)

    result = run(program, shared=TILE, arrays={"A": array}, maps=[tensor_map("A", array, (64, 64), 0)])
    assert result.finding.kind == "in-flight-at-exit" and result.lines == {4}


@pytest.mark.parametrize(
    ("box", "swizzle", "broken"),
    [
        ((64, 300), 128, TensorMapRule.BOX_EXTENT),
        ((72, 8), 128, TensorMapRule.ROW_IN_SWIZZLE),
        ((4, 8), 0, TensorMapRule.ROW_MULTIPLE),
        ((64, 8), 48, TensorMapRule.SWIZZLE),
        ((64, 8, 1), 128, TensorMapRule.RANK),
    ],
)  # fmt: skip
def test_tensor_maps_that_the_driver_refuses(box: tuple[int, ...], swizzle: int, broken: TensorMapRule) -> None:
    array = np.zeros((512, 512), np.float16)
    tma = tensor_map("A", array, box, swizzle)
    assert broken_rule(tma) is broken

    def program(w: RunningWarp) -> Any:
        yield from load(w, (0, 0), 128)

    result = run(program, shared=TILE, arrays={"A": array}, maps=[tma])
    assert result.finding.kind == "bad-tensor-map" and result.lines == {10}


def test_strides_are_multiples_of_16_bytes() -> None:
    array = np.zeros((8, 20), np.float16)
    assert broken_rule(tensor_map("A", array, (8, 8), 0)) is TensorMapRule.STRIDES


@pytest.mark.parametrize("element", [8, 64 * 64 - 64])
def test_a_misaligned_box_and_one_outside_of_shared_memory_are_faults(element: int) -> None:
    """Shared addresses of tensor copies are multiples of 128 bytes, and the box stays inside shared memory."""
    array = half(64, 64)

    def program(w: RunningWarp) -> Any:
        yield from initialised(w, 1)
        one_lane(w)
        at(w, 4)
        do(w, "cp.async.bulk.tensor.load", address(w, "tile", element), mapped(w, "A"), address(w, "bar"), 0, 0, dim=2)

    result = run(program, shared=TILE, arrays={"A": array}, maps=[tensor_map("A", array, (64, 64), 0)])
    assert result.finding.kind == ("misaligned-access" if element == 8 else "out-of-bounds") and result.lines == {4}


def test_the_second_load_of_a_tile_comes_from_the_l2() -> None:
    array = half(128, 64)  # more than the L2 holds

    def program(w: RunningWarp) -> Any:
        yield from initialised(w, 1)
        one_lane(w)
        for turn in range(2):
            before = w.time
            do(w, "cp.async.bulk.tensor.load", address(w, "tile"), mapped(w, "A"), address(w, "bar"), 0, 0, dim=2)
            do(w, "mbarrier.arrive.expect_tx", address(w, "bar"), 8192)
            yield from block(w, "mbarrier.try_wait", address(w, "bar"), turn & 1)
            w.gpu.seen[turn] = w.time - before

    spec = replace(B200, l2_bytes=2 * 12_288)
    result = run(program, shared=TILE, arrays={"A": array}, maps=[tensor_map("A", array, (64, 64), 0)], spec=spec)
    assert result.kinds == []
    assert result.seen[0] - result.seen[1] >= 300
    assert result.outcome.stats["hbm_bytes"] == 8192 and result.outcome.stats["l2_bytes"] == 16384
