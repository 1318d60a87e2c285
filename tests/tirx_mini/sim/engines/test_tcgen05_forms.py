"""tcgen05.mma with A in tensor memory, with lanes that stay as they are and with a scaled D, and tcgen05.mma.ws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.tirx_mini.sim.bare import FakeRegisters, address, all_lanes, at, block, do, one_lane, run
from tests.tirx_mini.sim.engines.tensor_core import (
    SHARED,
    allocated,
    descriptor,
    fill,
    instruction,
    place,
    random_matrix,
    read,
)
from tirx_mini.sim import RunningWarp

OLD = np.arange(128 * 256, dtype=np.float32).reshape(128, 256) % 64
"""What the accumulator holds before."""


def executed(
    op: str, m: int, a: np.ndarray, b: np.ndarray, *more: Any, lane: int = 0, accumulate: bool = True, **attrs: Any
) -> tuple[np.ndarray, Any]:
    """(tensor memory [128, N], result) after one MMA on `OLD`. a: [M, 16] in shared memory, or as [128, 8] words."""
    n = len(b)
    idesc, kind = instruction(m, n)
    in_tmem = "a_in_tmem" in op
    a_bytes, a_layout = place(np.zeros((64, 16), np.float16) if in_tmem else a, 32, False)
    b_bytes, b_layout = place(b, 32, False)
    tmem = np.zeros((128, n), np.float32)

    def program(w: RunningWarp) -> Any:
        taddr = yield from allocated(w, 512)
        rows = slice(32 * w.warp_id, 32 * w.warp_id + 32)
        lanes = 32 * w.warp_id << 16
        do(w, "tcgen05.st", taddr + lanes, FakeRegisters(OLD[rows, :n].T.copy().view(np.uint32)), num=n)
        if in_tmem:
            do(w, "tcgen05.st", taddr + 256 + lanes, FakeRegisters(a[rows].T.copy()), num=8)
        do(w, "tcgen05.wait.st")
        do(w, "tcgen05.fence.before_thread_sync")
        yield from block(w, "bar.sync.all", 0)
        if w.warp_id == 0:
            fill(w, "A", a_bytes)
            fill(w, "B", b_bytes)
            do(w, "fence.proxy.async")
            do(w, "tcgen05.fence.after_thread_sync")
            one_lane(w)
            at(w, 20)
            left = taddr + 256 + (lane << 16) if in_tmem else descriptor(w, "A", a_layout)
            right = descriptor(w, "B", b_layout)
            do(w, op, taddr + (lane << 16), left, right, idesc, accumulate, *more, kind=kind, **attrs)
            do(w, "tcgen05.commit", address(w, "bar"))
            all_lanes(w)
        yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)
        do(w, "tcgen05.fence.after_thread_sync")
        at(w, 30)
        tmem[rows] = read(w, taddr, n)
        yield from block(w, "bar.sync.all", 0)
        if w.warp_id == 0:
            do(w, "tcgen05.dealloc", taddr, 512)

    return tmem, run(program, shared=SHARED, threads=128)


def words(a: np.ndarray) -> np.ndarray:
    """Rows of halves as columns of 32 bits."""
    return np.ascontiguousarray(a).view(np.uint32)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.float32) @ b.astype(np.float32).T


@pytest.mark.parametrize("n", [64, 128, 256])
@pytest.mark.parametrize("m", [32, 64, 128])
def test_ws_has_the_columns_of_d_in_parts(m: int, n: int) -> None:
    a, b = random_matrix(m, 16, "float16"), random_matrix(n, 16, "float16")
    tmem, result = executed("tcgen05.mma.ws", m, a, b)
    parts = 128 // m
    stacked = np.concatenate(np.split(product(a, b), parts, axis=1))
    np.testing.assert_array_equal(tmem[:, : n // parts], stacked + OLD[:, : n // parts])
    np.testing.assert_array_equal(tmem[:, n // parts :], OLD[:, n // parts : n])
    assert not result.findings


@pytest.mark.parametrize("m", [32, 64, 128])
def test_ws_multiplies_each_part_by_rows_of_its_own(m: int) -> None:
    a, b = random_matrix(128, 16, "float16"), random_matrix(64, 16, "float16")
    tmem, result = executed("tcgen05.mma.ws.a_in_tmem", m, words(a), b, accumulate=False)
    parts = 128 // m
    for part, columns in enumerate(np.split(b, parts)):
        rows = slice(part * m, part * m + m)
        np.testing.assert_array_equal(tmem[rows, : 64 // parts], product(a[rows], columns))
    assert not result.findings


@pytest.mark.parametrize("lane", [0, 16])
def test_64_rows_are_in_half_of_the_lanes(lane: int) -> None:
    a, b = random_matrix(128, 16, "float16"), random_matrix(32, 16, "float16")
    tmem, result = executed("tcgen05.mma.a_in_tmem", 64, words(a), b, lane=lane)
    used = np.arange(128) // 16 % 2 == lane // 16
    np.testing.assert_array_equal(tmem[used], product(a[used], b) + OLD[used, :32])
    np.testing.assert_array_equal(tmem[~used], OLD[~used, :32])
    assert not result.findings


def test_an_accumulator_of_128_rows_begins_at_lane_0() -> None:
    a, b = random_matrix(128, 16, "float16"), random_matrix(32, 16, "float16")
    _, result = executed("tcgen05.mma", 128, a, b, lane=16)
    (finding,) = result.findings
    assert "lane 16; it must begin at lane 0" in finding.message


@pytest.mark.parametrize("op", ["tcgen05.mma.masked", "tcgen05.mma.a_in_tmem.masked"])
def test_disabled_lanes_stay_as_they_are(op: str) -> None:
    a, b = random_matrix(128, 16, "float16"), random_matrix(32, 16, "float16")
    disabled = np.arange(128) % 3 == 0
    masks = np.packbits(disabled, bitorder="little").view(np.uint32).tolist()
    tmem, result = executed(op, 128, words(a) if "a_in_tmem" in op else a, b, *masks)
    expected = np.where(disabled[:, None], 0, product(a, b)) + OLD[:, :32]
    np.testing.assert_array_equal(tmem, expected)
    assert not result.findings


@pytest.mark.parametrize("scale", [1, 3, 15])
def test_d_is_divided_by_a_power_of_two(scale: int) -> None:
    a, b = random_matrix(128, 16, "float16"), random_matrix(32, 16, "float16")
    tmem, _ = executed("tcgen05.mma.masked", 128, a, b, 0, 0, 0, 0, scale_input_d=scale)
    np.testing.assert_array_equal(tmem, product(a, b) + OLD[:, :32] * np.float32(2.0**-scale))
    tmem, _ = executed("tcgen05.mma.masked", 128, a, b, 0, 0, 0, 0, scale_input_d=scale, accumulate=False)
    np.testing.assert_array_equal(tmem, product(a, b))


def test_shapes_that_ws_does_not_have() -> None:
    _, result = executed("tcgen05.mma.ws", 64, random_matrix(64, 16, "float16"), random_matrix(32, 16, "float16"))
    (finding,) = result.findings
    assert "tcgen05.mma.ws has M = 32, 64 or 128 and N = 64, 128 or 256" in finding.message
