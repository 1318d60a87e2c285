"""mma: which element of which matrix each register of each lane holds, against the formulas of the PTX ISA."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.tirx_mini.sim.bare import FakeRegisters, at, block, do, one_lane, run
from tirx_mini.hardware import H100
from tirx_mini.layout import laneid, m, mma_fragment_layout
from tirx_mini.sim import RunningWarp
from tirx_mini.sim.machine import warp_mma

TYPES: dict[str, Any] = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "s8": np.int8, "u8": np.uint8,
    "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "f32": np.float32, "s32": np.int32,
}  # fmt: skip


def place_of_a(bits: int, k: int, lane: int, i: int) -> tuple[int, int]:
    """(row, column) of element ai, as "Matrix Fragments for mma.m16n8k…" says for the shapes of each width."""
    group, thread = lane >> 2, lane % 4
    if bits == 32:
        return group + 8 * (i % 2), thread + 4 * (i // 2)
    if bits == 16:
        return group + (0 if i < 2 or 4 <= i < 6 else 8), thread * 2 + (i & 1) + (8 if i >= 4 else 0)
    return group + (0 if i < 4 or 8 <= i < 12 else 8), thread * 4 + (i & 3) + (16 if i >= 8 else 0)


def place_of_b(bits: int, k: int, lane: int, i: int) -> tuple[int, int]:
    group, thread = lane >> 2, lane % 4
    if bits == 32:
        return thread + 4 * i, group
    if bits == 16:
        return thread * 2 + (i & 1) + (8 if i >= 2 else 0), group
    return thread * 4 + (i & 3) + (16 if i >= 4 else 0), group


def place_of_c(lane: int, i: int) -> tuple[int, int]:
    return (lane >> 2) + (8 if i >= 2 else 0), lane % 4 * 2 + (i & 1)


def fragment(matrix: np.ndarray, place: Any) -> np.ndarray:
    """The registers of 32 lanes, uint32[words, 32]. place: (lane, i) to the row and column of element i."""
    each = matrix.size // 32
    held = np.array([[matrix[place(lane, i)] for i in range(each)] for lane in range(32)], matrix.dtype)
    return np.ascontiguousarray(held.view(np.uint32).T)


FORMS = [
    *((k, d, "f16", "f16") for k in (8, 16) for d in ("f32", "f16")), (16, "f32", "bf16", "bf16"),
    (8, "f32", "bf16", "bf16"), (4, "f32", "tf32", "tf32"), (8, "f32", "tf32", "tf32"), (16, "s32", "s8", "u8"),
    (32, "s32", "u8", "s8"), (32, "f32", "e4m3", "e5m2"), (16, "f32", "e5m2", "e5m2"), (32, "f16", "e4m3", "e4m3"),
]  # fmt: skip


@pytest.mark.parametrize(("k", "d_type", "a_type", "b_type"), FORMS)
@pytest.mark.parametrize("zero", [False, True])
def test_a_product_of_fragments(k: int, d_type: str, a_type: str, b_type: str, zero: bool) -> None:
    random = np.random.default_rng(k)
    A, B, C = (
        random.integers(0 if kind == "u8" else -4, 5, shape).astype(TYPES[kind])
        for shape, kind in (((16, k), a_type), ((k, 8), b_type), ((16, 8), d_type))
    )
    bits = A.dtype.itemsize * 8
    a = FakeRegisters(fragment(A, lambda lane, i: place_of_a(bits, k, lane, i)))
    b = FakeRegisters(fragment(B, lambda lane, i: place_of_b(bits, k, lane, i)))
    c = FakeRegisters(fragment(C, place_of_c))
    d = FakeRegisters()

    def program(w: RunningWarp) -> Any:
        yield from ()
        types = {"shape": f"m16n8k{k}", "a_type": a_type, "b_type": b_type, "c_type": d_type, "d_type": d_type}
        do(w, "mma.sync.zero" if zero else "mma.sync", d, a, b, *(() if zero else (c,)), **types)

    assert not run(program).findings
    total = A.astype(np.float64) @ B.astype(np.float64) + (0 if zero else C.astype(np.float64))
    np.testing.assert_array_equal(d.values, fragment(total.astype(TYPES[d_type]), place_of_c))


def ones(words: int, word: int = 0x3C003C00) -> FakeRegisters:
    return FakeRegisters(np.full((words, 32), word, np.uint32))


def test_operands_of_tf32_keep_nineteen_bits() -> None:
    almost = int(np.float32(1 + 2**-10 + 2**-12).view(np.uint32))
    d = FakeRegisters()

    def program(w: RunningWarp) -> Any:
        yield from ()
        types = {"shape": "m16n8k4", "a_type": "tf32", "b_type": "tf32"}
        do(w, "mma.sync.zero", d, ones(2, almost), ones(1, int(np.float32(1).view(np.uint32))), **types)

    assert not run(program).findings and d.values is not None
    assert (d.values.view(np.float32) == np.float32(4 + 4 * 2**-10)).all()


@pytest.mark.parametrize(("satfinite", "want"), [(False, -(2**31)), (True, 2**31 - 1)])
def test_integers_wrap_unless_they_are_kept_in_their_range(satfinite: bool, want: int) -> None:
    d = FakeRegisters()

    def program(w: RunningWarp) -> Any:
        yield from ()
        types = {"shape": "m16n8k16", "a_type": "u8", "b_type": "u8", "c_type": "s32", "d_type": "s32"}
        c = ones(4, 2**31 - 16)
        do(w, "mma.sync", d, ones(2, 0x01010101), ones(1, 0x01010101), c, satfinite=satfinite, **types)

    assert not run(program).findings and d.values is not None
    assert (d.values.view(np.int32) == want).all()


def test_some_lanes_alone_are_a_fault() -> None:
    def program(w: RunningWarp) -> Any:
        yield from ()
        at(w, 7)
        one_lane(w)
        do(w, "mma.sync.zero", FakeRegisters(), ones(4), ones(2))

    assert run(program).lines == {7}


def took(warps: int) -> float:
    """Cycles of warps that execute one product each, wait for one another, and execute eight more."""

    def program(w: RunningWarp) -> Any:
        do(w, "mma.sync.zero", FakeRegisters(), ones(4), ones(2))
        yield from block(w, "bar.sync.all", 0)
        for _ in range(8):
            do(w, "mma.sync.zero", FakeRegisters(), ones(4), ones(2))

    return run(program, threads=32 * warps, spec=H100).outcome.cycles


def test_four_warps_have_a_tensor_core_each_and_more_share_them() -> None:
    assert took(1) == took(4)
    assert took(8) - took(4) == 9 * 4096 / (4096 / 4)


@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("halves", [1, 2])
def test_the_compiler_and_the_machine_agree_on_fragments(bits: int, halves: int) -> None:
    """Each states by itself which lane and register hold each element. All elements are compared."""
    pack = 32 // bits
    depth = 4 * pack * halves

    def numbers(rows: int, cols: int, own_bits: int) -> np.ndarray:
        """The place of each element: its word, then the lane, then the part of the word."""
        row, col = np.indices((rows, cols))
        places = mma_fragment_layout(rows, cols, own_bits).apply(row, col)
        lane, register = np.broadcast_arrays(places[laneid], places[m])
        own = 32 // own_bits
        return (register // own * 32 + lane) * own + register % own

    assert np.array_equal(numbers(16, depth, bits), warp_mma._rows_of_a(2 * halves, pack))
    assert np.array_equal(numbers(8, depth, bits), warp_mma._columns_of_b(halves, pack).T)
    assert np.array_equal(numbers(16, 8, 16), warp_mma._places_of_d(2))
