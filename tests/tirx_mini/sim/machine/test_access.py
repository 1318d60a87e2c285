"""Plain loads and stores: values, masks, bounds, alignment, hazards, and the time they take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings

from tests.tirx_mini.sim.bare import at, block, buffer, do, one_lane, run
from tirx_mini.hardware import B200
from tirx_mini.sim import RunningWarp

LANE = np.arange(32)
DTYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32, "int8": np.int8,
          "uint64": np.uint64}  # fmt: skip


def only(body: Callable[[RunningWarp], None], **options: Any) -> Any:
    """Run `body` on one warp."""

    def program(w: RunningWarp) -> Any:
        body(w)
        yield from ()

    return run(program, **options)


@given(
    st.sampled_from(list(DTYPES)), st.sampled_from([1, 2, 4]), st.booleans(), st.integers(1, (1 << 32) - 1),
    st.integers(0, 3),
)  # fmt: skip
@settings(max_examples=60)
def test_a_load_returns_what_was_stored(dtype: str, lanes: int, is_global: bool, word: int, steps: int) -> None:
    """In any order of places, of any width, for any active lanes, in one step or in several at once."""
    rng = np.random.default_rng(word)
    kind = DTYPES[dtype]
    shape = (steps, 32) if steps else (32,)
    count = max(1, steps) * 32
    places = rng.permutation(count).reshape(shape) * lanes
    values = rng.integers(0, 100, (*shape, lanes) if lanes > 1 else shape).astype(kind)
    array = np.zeros(count * lanes, kind)

    def body(w: RunningWarp) -> None:
        target = buffer(w, "data")
        w.select(w.mask.where(np.array([word >> lane & 1 for lane in range(32)], bool)))
        w.store(target, places, values, lanes)
        w.gpu.seen["found"] = w.load(target, places, lanes)
        w.gpu.seen["bits"] = w.mask.bits

    memory = {"arrays": {"data": array}} if is_global else {"shared": {"data": (dtype, count * lanes, 1)}}
    result = only(body, access_bytes=1, **memory)
    assert result.kinds == []
    bits = result.seen["bits"]
    lane_axis = len(shape) - 1
    found = np.moveaxis(np.asarray(result.seen["found"]), lane_axis, 0)[bits]
    np.testing.assert_array_equal(found, np.moveaxis(values, lane_axis, 0)[bits])
    if is_global:
        rows = array.reshape(-1, lanes) if lanes > 1 else array
        untouched = np.ones(len(rows), bool)
        untouched[np.unique(places[..., bits] // lanes)] = False
        assert not np.asarray(rows, np.float64)[untouched].any()


def test_uniform_places_take_and_give_plain_numbers() -> None:
    def body(w: RunningWarp) -> None:
        data = buffer(w, "data")
        w.store(data, 3, 2.5)
        w.store(data, 4, np.array([1, 2, 3, 4], np.float32), 4)
        w.gpu.seen["one"] = w.load(data, 3)
        w.gpu.seen["four"] = w.load(data, 4, 4)
        w.store(data, 0, np.full(32, 7, np.float32))
        w.gpu.seen["all lanes"] = w.load(data, 0)

    result = only(body, shared={"data": ("float32", 64, 4)})
    assert result.kinds == []
    assert result.seen["one"] == 2.5 and isinstance(result.seen["one"], float) and result.seen["all lanes"] == 7
    np.testing.assert_array_equal(result.seen["four"], [1, 2, 3, 4])


@pytest.mark.parametrize("place", [0, LANE // 2])
def test_lanes_that_store_different_values_to_one_place_race(place: Any) -> None:
    def body(w: RunningWarp) -> None:
        at(w, 3)
        w.store(buffer(w, "data"), place, LANE.astype(np.float32))

    result = only(body, shared={"data": ("float32", 64, 4)})
    assert result.finding.kind == "race" and result.lines == {3}


@pytest.mark.parametrize("lanes", [1, 8])
def test_copies_move_bytes(lanes: int) -> None:
    source = np.arange(512, dtype=np.float16)
    source[7] = np.nan
    places = np.arange(2)[:, None] * 32 * lanes + LANE * lanes

    def body(w: RunningWarp) -> None:
        w.copy(buffer(w, "tile"), places[::-1], buffer(w, "A"), places, lanes)
        w.gpu.seen["tile"] = w.cta.smem.bytes.view(np.float16)[: 64 * lanes].copy()

    result = only(body, shared={"tile": ("float16", 512, 2)}, arrays={"A": source})
    expected = np.concatenate([source[32 * lanes : 64 * lanes], source[: 32 * lanes]])
    assert result.kinds == [] and result.seen["tile"].tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("index", "lanes", "kind"),
    [
        (64, 1, "out-of-bounds"), (-1, 1, "out-of-bounds"), (LANE + 40, 1, "out-of-bounds"),
        (LANE - 1, 1, "out-of-bounds"), (LANE * 4, 4, "out-of-bounds"), (61, 4, "out-of-bounds"),
        (2, 4, "misaligned-access"),
        (LANE + 1, 2, "misaligned-access"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_global", [False, True])
def test_misaligned_and_outlying_places_are_faults(index: Any, lanes: int, kind: str, is_global: bool) -> None:
    def body(w: RunningWarp) -> None:
        at(w, 5)
        w.load(buffer(w, "data"), index, lanes)

    array = np.zeros(64, np.float32)
    memory = {"arrays": {"data": array}} if is_global else {"shared": {"data": ("float32", 64, 4)}}
    result = only(body, **memory)
    assert result.finding.kind == kind and result.lines == {5} and result.finding.details["buffer"] == "data"
    assert result.fault is result.finding


@pytest.mark.parametrize(("index", "lanes"), [(64, 1), (LANE + 40, 1), (LANE * 2 + 8, 2)])
def test_an_access_outside_its_shared_buffer_goes_on_in_the_next_one(index: Any, lanes: int) -> None:
    """No chip knows where a buffer ends: the CTA's shared memory is one array of bytes."""

    def body(w: RunningWarp) -> None:
        at(w, 5)
        w.store(buffer(w, "data"), index, np.float32(7) if lanes == 1 else np.full((32, lanes), 7, np.float32), lanes)
        w.gpu.seen["read"] = w.load(buffer(w, "data"), index, lanes)
        w.gpu.seen["next"] = w.cta.smem.bytes.view(np.float32)[64:].copy()

    result = only(body, shared={"data": ("float32", 64, 4), "next": ("float32", 64, 4)})
    assert result.finding.kind == "out-of-bounds" and result.lines == {5} and result.fault is None
    assert result.finding.details["count"] == 2 and (np.asarray(result.seen["read"]) == 7).all()
    assert result.seen["next"][0] == 7


def test_inactive_lanes_may_point_anywhere() -> None:
    def body(w: RunningWarp) -> None:
        one_lane(w, 3)
        w.store(buffer(w, "data"), LANE * 1000 - 3000, np.ones(32, np.float32))
        w.gpu.seen["value"] = w.load(buffer(w, "data"), LANE * 1000 - 3000)[3]

    result = only(body, shared={"data": ("float32", 64, 4)})
    assert result.kinds == [] and result.seen["value"] == 1


def test_reading_unwritten_memory_is_reported() -> None:
    def body(w: RunningWarp) -> None:
        at(w, 2)
        w.store(buffer(w, "data"), LANE, np.zeros(32, np.float32))
        do(w, "bar.warp.sync")
        at(w, 4)
        w.gpu.seen["value"] = w.load(buffer(w, "data"), LANE + 8)

    result = only(body, shared={"data": ("float32", 64, 4)})
    assert result.finding.kind == "uninitialised-read" and result.lines == {4}
    assert result.finding.details["where"] == "data[32] to data[39]"
    assert np.isnan(result.seen["value"][-1])


@pytest.mark.parametrize(
    ("values", "in_cta", "kinds"),
    [((5, 5), False, ["(identical-writes)"]), ((5, 5), True, ["(identical-writes)"]), ((5, 6), False, ["race"]),
     ((5, 5), None, ["race"]), ((LANE, LANE), None, ["(identical-writes)"])],
)  # fmt: skip
def test_unordered_writes_of_two_warps_race_unless_they_are_identical(
    values: tuple[Any, Any], in_cta: bool | None, kinds: list[str]
) -> None:
    """That one value happens to be equal in this run is not enough."""

    def program(w: RunningWarp) -> Any:
        at(w, w.warp_id + 1)
        w.store(buffer(w, "data"), LANE, values[w.warp_id], 1, in_cta)
        yield from ()

    result = run(program, shared={"data": ("float32", 64, 4)}, threads=64)
    assert result.kinds == kinds and result.lines == {1, 2}


def test_writes_of_two_clusters_to_one_place_race() -> None:
    array = np.zeros(64, np.float32)

    def program(w: RunningWarp) -> Any:
        at(w, 4)
        w.store(buffer(w, "D"), LANE, np.full(32, w.block_idx[0], np.float32))
        yield from ()

    result = run(program, arrays={"D": array}, grid=(2, 1, 1))
    assert result.finding.kind == "race" and "lacks the number of the CTA" in result.finding.details["hint"]


def test_the_grain_of_a_race_is_the_narrowest_access() -> None:
    """Neighbouring 2-byte elements of different warps do not meet."""

    def program(w: RunningWarp) -> Any:
        w.store(buffer(w, "data"), LANE * 2 + w.warp_id, np.ones(32, np.float16))
        yield from ()

    assert run(program, shared={"data": ("float16", 64, 2)}, threads=64).kinds == []


def test_shared_memory_is_nearer_than_the_l2_and_the_l2_than_hbm() -> None:
    """Shared memory is near, global memory far, and the second time a line comes from the L2."""

    def body(w: RunningWarp) -> None:
        for name in ("A", "A", "tile"):
            target = buffer(w, name)
            if name == "tile":
                w.store(target, LANE, np.zeros(32, np.float32))
            before = w.time
            w.load(target, LANE)
            w.gpu.seen.setdefault(name, []).append(w.time - before)

    small = replace(B200, l2_bytes=0)  # else A is in the L2 from the launch before
    result = only(body, shared={"tile": ("float32", 32, 4)}, arrays={"A": np.zeros(64, np.float32)}, spec=small)
    first, second = result.seen["A"]
    assert first >= 700 > second >= 300 > result.seen["tile"][0] >= 29


def test_addresses_of_inactive_lanes_are_not_checked() -> None:
    def body(w: RunningWarp) -> None:
        one_lane(w, 3)
        for name in ("tile", "A"):
            place = w.shared_address if name == "tile" else w.global_address
            place(buffer(w, name), LANE)
        w.shared_address(buffer(w, "tile"), LANE + 1)

    result = only(body, shared={"tile": ("float32", 4)}, arrays={"A": np.zeros(4, np.float32)})
    assert result.kinds == ["out-of-bounds"]
    assert "element 4 of tile" in result.findings[0].message


@pytest.mark.parametrize("readers", [1, 2, 3])
def test_every_reader_of_global_memory_comes_before_a_write(readers: int) -> None:
    """The last reader is ordered before the write, and the others are not."""
    array = np.zeros(32, np.float32)

    def program(w: RunningWarp) -> Any:
        at(w, w.warp_id + 1)
        w.time += 100 * w.warp_id
        if w.warp_id < readers:
            w.load(buffer(w, "D"), LANE)
        if w.warp_id in (readers - 1, readers):
            yield from block(w, "bar.sync", 1, 64)
        if w.warp_id == readers:
            w.store(buffer(w, "D"), LANE, np.ones(32, np.float32))

    result = run(program, arrays={"D": array}, threads=32 * (readers + 1), access_bytes=4)
    assert result.kinds == ["race"] * (readers - 1)
    if readers > 1:
        assert result.findings[0].span is not None and result.findings[0].span.line == readers + 1


@pytest.mark.parametrize("overlap", [0, 1, 20])
def test_accesses_through_two_arguments_meet_where_their_arrays_overlap(overlap: int) -> None:
    """A and D are two views of one array: all of it, or parts."""
    memory = np.zeros(96, np.float32)
    first, second = memory[:64], memory[64 - overlap : 96] if overlap else memory[64:]

    def program(w: RunningWarp) -> Any:
        at(w, w.warp_id + 1)
        w.time += 1000 * w.warp_id
        if w.warp_id == 0:
            w.store(buffer(w, "A"), LANE + 32, np.ones(32, np.float32))
        else:
            w.gpu.seen["D"] = w.load(buffer(w, "D"), LANE)
        yield from ()

    result = run(program, arrays={"A": first, "D": second}, threads=64, access_bytes=4)
    assert result.kinds == (["race"] if overlap else [])
    assert result.seen["D"].sum() == overlap
    if overlap:
        assert result.finding.details["where"] == ("D[0]" if overlap == 1 else "D[0] to D[19]")
        assert ("D shares memory with A", None) in result.finding.details["notes"]


def test_one_array_given_twice_is_one_memory() -> None:
    array = np.arange(32, dtype=np.float32)

    def program(w: RunningWarp) -> Any:
        value = w.load(buffer(w, "A"), LANE)
        w.store(buffer(w, "D"), LANE, value * 2)
        w.gpu.seen["A"] = w.load(buffer(w, "A"), LANE)
        yield from ()

    result = run(program, arrays={"A": array, "D": array}, access_bytes=4)
    assert result.kinds == [] and (result.seen["A"] == 2 * np.arange(32)).all()
