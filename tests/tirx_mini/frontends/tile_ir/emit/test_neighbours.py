"""Gathered elements that are neighbours in memory are one access."""

from __future__ import annotations

import numpy as np
import pytest

from tirx_mini.frontends.tile_ir.emit.neighbours import At, distances, neighbours
from tirx_mini.ir import BOOL, INT32, Analyzer, Buffer, Expr, Var, binary

from .texts import Program, random

_ROW = Var(INT32, "row")


def _at(stride: int, start: int = 0, step: int = 1):
    return lambda r: _ROW * stride + (r * step + start)


@pytest.mark.parametrize(
    ("at", "limit", "count"),
    [
        (_at(64), None, 8),
        (_at(60), None, 4),
        (_at(64, start=2), None, 2),
        (_at(64, step=2), None, 1),
        (_at(64), 40, 8),
        (_at(64), 42, 2),
        (_at(64), 41, 1),
    ],
)
def test_neighbours_are_aligned_and_masked_together(at, limit: int | None, count: int) -> None:
    def mask(r: Expr) -> Expr:
        return binary("and", _ROW < 7, r < limit)

    assert neighbours(Analyzer(), at, None if limit is None else mask, 16, 8) == count


@pytest.mark.parametrize(
    ("width", "divisor", "same", "count"),
    [(8, 48, True, 8), (4, 12, True, 4), (8, 1, True, 1), (8, 48, False, 1)],
)
def test_rows_and_masks_in_registers(width: int, divisor: int, same: bool, count: int) -> None:
    rows, there = Buffer("rows", (4,), INT32, "local"), Buffer("there", (16,), BOOL, "local")

    def mask(r: Expr) -> Expr:
        return binary("and", there[r // width if same else r], r < 8)

    found = neighbours(Analyzer(), lambda r: rows[r // width] + r % width, mask, 16, 8, {rows: divisor})
    assert found == count


@pytest.mark.parametrize(("width", "vector"), [(64, 8), (60, 4)])
def test_rows_are_gathered_in_vectors(width: int, vector: int) -> None:
    a = random(32, width, dtype="float16")
    rows = np.random.default_rng(0).integers(0, 40, 16).astype("int32")
    c = np.zeros((16, width), "float16")
    program = Program()
    numbers = program.array("rows", rows, 16)
    program.array("a", a)
    program.array("c", c)
    program.load("row", "rows", numbers, "%c0")
    tile, line = "tensor<16x64xi32>", "tensor<1x64xi32>"
    program.add(f"""
    %width = arith.constant dense<{width}> : {tile}
    %height = arith.constant dense<32> : {tile}
    %own = make_range {{start = 0, end = 16}} : tensor<16xi32>
    %col = make_range {{start = 0, end = 64}} : tensor<64xi32>
    %row_1 = expand_dims %row {{axis = 1}} : tensor<16xi32> -> tensor<16x1xi32>
    %own_1 = expand_dims %own {{axis = 1}} : tensor<16xi32> -> tensor<16x1xi32>
    %col_1 = expand_dims %col {{axis = 0}} : tensor<64xi32> -> {line}
    %row_2 = broadcast %row_1 : tensor<16x1xi32> -> {tile}
    %own_2 = broadcast %own_1 : tensor<16x1xi32> -> {tile}
    %col_2 = broadcast %col_1 : {line} -> {tile}
    %inside = arith.cmpi ult, %col_2, %width : {tile}
    %exists = arith.cmpi slt, %row_2, %height : {tile}
    %both = arith.andi %inside, %exists : tensor<16x64xi1>""")
    for name, row in (("a", "row_2"), ("c", "own_2")):
        program.add(f"""
    %{name}_start = arith.muli %{row}, %width : {tile}
    %{name}_place = arith.addi %{name}_start, %col_2 : {tile}
    %{name}_base = splat %{name} : ptr<f16> -> tensor<16x64xptr<f16>>
    %{name}_at = addptr %{name}_base, %{name}_place : tensor<16x64xptr<f16>>, {tile}""")
    program.add("""
    %values, %t = load %a_at, %both : tensor<16x64xptr<f16>>, tensor<16x64xi1> -> tensor<16x64xf16>, mem_token
    %d = store %c_at, %values, %inside : tensor<16x64xptr<f16>>, tensor<16x64xf16>, tensor<16x64xi1> -> mem_token""")
    program.run()
    expected = np.where((rows < 32)[:, None], a[np.minimum(rows, 31)], 0)
    assert (c == expected).all()
    assert "a.flat[Tx.ramp(" in program.kernel().script() and f", {vector})]" in program.kernel().script()


ROWS = Buffer("rows", (2,), INT32, "local")


@pytest.mark.parametrize(
    ("place", "vector", "known"),
    [
        (lambda r: r * 4, 1, {0: 4, 1: 8, 2: 16, 3: 32}),
        (lambda r: r * 4, 2, {0: 8, 1: 16, 2: 32}),
        (lambda r: ROWS[r % 2] * 64 + r // 2 * 8, 1, {1: 8, 2: 16, 3: 32}),
        (lambda r: ROWS[r // 8] + r % 8, 4, {0: 4}),
        (lambda r: r * 3, 1, {0: 3, 2: 12}),
        (lambda r: 100 - r * 4, 1, {}),
        (lambda r: ROWS[r % 2], 16, {}),
    ],
)
def test_distances_of_accesses(place: At, vector: int, known: dict[int, int]) -> None:
    found = distances(Analyzer(), place, 16, vector)
    assert found == known
