"""ldmatrix and stmatrix: which element of a block goes to which lane, and what is checked of the addresses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.tirx_mini.sim.bare import FakeRegisters, address, buffer, do, run
from tirx_mini.sim import RunningWarp

LANE = np.arange(32)
BLOCKS = np.arange(4 * 64, dtype=np.uint16).reshape(4, 8, 8)
"""Four blocks, block i in rows 8i … 8i + 7."""


def rows(w: RunningWarp, stride: int = 16) -> np.ndarray:
    return address(w, "tile") + LANE * stride


def fill(w: RunningWarp) -> None:
    w.store(buffer(w, "tile"), LANE * 8, BLOCKS.reshape(32, 8), 8)
    do(w, "bar.warp.sync")


@pytest.mark.parametrize("num", [1, 2, 4])
@pytest.mark.parametrize("transpose", [False, True])
def test_ldmatrix_gives_each_lane_two_neighbours_of_a_row(num: int, transpose: bool) -> None:
    def program(w: RunningWarp) -> Any:
        yield from ()
        fill(w)
        registers = FakeRegisters()
        do(w, "ldmatrix", registers, rows(w), num=num, transpose=transpose)
        assert registers.values is not None and registers.values.shape == (num, 32)
        pairs = registers.values[..., None].view(np.uint16)
        for block in range(num):
            for lane in range(32):
                r, c = lane // 4, lane % 4 * 2
                want = BLOCKS[block].T if transpose else BLOCKS[block]
                assert (pairs[block, lane] == want[r, c : c + 2]).all()

    result = run(program, shared={"tile": ("uint16", 256)})
    assert not result.findings


@pytest.mark.parametrize("num", [1, 2, 4])
@pytest.mark.parametrize("transpose", [False, True])
def test_stmatrix_undoes_ldmatrix(num: int, transpose: bool) -> None:
    def program(w: RunningWarp) -> Any:
        yield from ()
        fill(w)
        registers = FakeRegisters()
        do(w, "bar.warp.sync")
        do(w, "ldmatrix", registers, rows(w), num=num, transpose=transpose)
        do(w, "bar.warp.sync")
        w.store(buffer(w, "tile"), LANE * 8, np.zeros((32, 8), np.uint16), 8)
        do(w, "bar.warp.sync")
        do(w, "stmatrix", rows(w), registers, num=num, transpose=transpose)
        do(w, "bar.warp.sync")
        assert (w.load(buffer(w, "tile"), LANE * 8, 8).reshape(4, 8, 8)[:num] == BLOCKS[:num]).all()

    assert not run(program, shared={"tile": ("uint16", 256)}).findings


@pytest.mark.parametrize(("stride", "kind"), [(8, "misaligned-access"), (1 << 12, "out-of-bounds")])
def test_misaligned_rows_and_rows_outside_of_shared_memory_are_faults(stride: int, kind: str) -> None:
    def program(w: RunningWarp) -> Any:
        yield from ()
        do(w, "ldmatrix", FakeRegisters(), rows(w, stride), num=4)

    fault = run(program, shared={"tile": ("uint16", 256)}).fault
    assert fault is not None and fault.kind == kind


BYTES = np.random.default_rng(0).integers(0, 256, (32, 16), dtype=np.uint8)
"""Two blocks of 16 rows of 16 bytes, or four of 8."""


@pytest.mark.parametrize("num", [1, 2])
def test_ldmatrix_of_bytes_gives_each_lane_four_rows_of_two_columns(num: int) -> None:
    def program(w: RunningWarp) -> Any:
        yield from ()
        w.store(buffer(w, "tile"), LANE * 8, BYTES.view(np.uint16), 8)
        do(w, "bar.warp.sync")
        registers = FakeRegisters()
        do(w, "ldmatrix.m16n16", registers, rows(w), num=num)
        assert registers.values is not None and registers.values.shape == (2 * num, 32)
        held = registers.values[..., None].view(np.uint8)
        for block in range(num):
            for lane in range(32):
                for half in range(2):
                    first, column = 16 * block + lane % 4 * 4, lane // 4 + 8 * half
                    assert (held[2 * block + half, lane] == BYTES[first : first + 4, column]).all()

    assert not run(program, shared={"tile": ("uint16", 256)}).findings


@pytest.mark.parametrize("num", [1, 2, 4])
def test_stmatrix_of_bytes_stores_each_column_as_sixteen_bytes(num: int) -> None:
    """As a fragment of an mma's D lies: rows g and g + 8, columns 2t and 2t + 1."""

    def program(w: RunningWarp) -> Any:
        yield from ()
        w.store(buffer(w, "tile"), LANE * 8, np.zeros((32, 8), np.uint16), 8)
        do(w, "bar.warp.sync")
        registers = FakeRegisters()
        held = np.random.default_rng(num).integers(0, 256, (num, 32, 4), dtype=np.uint8)
        registers.values = held.view(np.uint32)[..., 0].copy()
        do(w, "stmatrix.m16n8", rows(w), registers, num=num)
        do(w, "bar.warp.sync")
        stored = w.load(buffer(w, "tile"), LANE * 8, 8).astype(np.uint16).view(np.uint8).reshape(-1, 8, 16)
        for block in range(num):
            for lane in range(32):
                g, t = lane // 4, lane % 4
                want = [stored[block, 2 * t + c, g + 8 * r] for r in range(2) for c in range(2)]
                assert held[block, lane].tolist() == want

    assert not run(program, shared={"tile": ("uint16", 256)}).findings
