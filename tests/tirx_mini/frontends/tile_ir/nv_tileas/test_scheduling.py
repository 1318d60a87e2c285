"""The order of operations, and what loops compute again."""

from __future__ import annotations

import numpy as np

from tests.tirx_mini.frontends.tile_ir.emit.texts import Program, random
from tirx_mini.frontends.tile_ir.context import COST_BASED, Options
from tirx_mini.frontends.tile_ir.nv_tileaa import NV_TILEAA, STANDARD
from tirx_mini.frontends.tile_ir.nv_tileas import NV_TILEAS
from tirx_mini.frontends.tile_ir.ssa import parse_module, print_module

from .test_async_passes import around, lines


def weighted(options: Options | None = None) -> tuple[Program, np.ndarray, np.ndarray]:
    """(program, what it writes, what that should be): each row divided by its sum, times weights."""
    x, w = np.abs(random(1, 1024)) + 1, random(1, 1024)
    y = np.zeros_like(x)
    program = Program((1,), options)
    x_tiles, w_tiles, y_tiles = (program.array(n, a, 1, 1024) for n, a in (("a", x), ("w", w), ("b", y)))
    program.load("row", "a", x_tiles, "%c0", "%c0")
    program.add("%sum = reduce %row {dim = 1, identities = [0.0 : f32], combine = add} : tensor<1x1024xf32> ->")
    program.add("tensor<1xf32> { ^(%e: f32, %before: f32): %s = arith.addf %before, %e : f32 yield %s : f32 }")
    program.add("%column = expand_dims %sum {axis = 1} : tensor<1xf32> -> tensor<1x1xf32>")
    program.add("%total = broadcast %column : tensor<1x1xf32> -> tensor<1x1024xf32>")
    program.add("%part = arith.divf %row, %total : tensor<1x1024xf32>")
    program.load("weights", "w", w_tiles, "%c0", "%c0")
    program.add("%product = arith.mulf %part, %weights : tensor<1x1024xf32>")
    program.store("product", "b", y_tiles, "%c0", "%c0")
    return program, y, x / x.sum() * w


def test_prepare_for_scheduling() -> None:
    before, after = around("tileas-prepare-for-scheduling", text=weighted()[0].text(), schedule=COST_BASED)
    assert "sched.latency" not in before and lines(after, "nv_tileas.tiled_load", "{sched.latency = 6") == 2
    assert lines(after, "arith.divf", "{sched.latency = 16}") == 1
    assert print_module(parse_module(after, [NV_TILEAA, NV_TILEAS, *STANDARD])) == after
    serial = around("tileas-prepare-for-scheduling", text=weighted()[0].text())
    assert serial[0] == serial[1]


def test_generate_schedule() -> None:
    """The weights are loaded before the sum, for which threads wait for one another."""
    before, after = around("tileas-generate-schedule", text=weighted()[0].text(), schedule=COST_BASED)
    assert before.index("nv_tileas.reduce") < before.index("tiled_load %w_tiles")
    assert after.index("tiled_load %a_tiles") < after.index("tiled_load %w_tiles") < after.index("nv_tileas.reduce")
    assert "sched.latency" not in after
    program, y, expected = weighted(Options(schedule=COST_BASED))
    program.run(schedules=5)
    assert np.allclose(y, expected, rtol=1e-5)


def test_loads_do_not_pass_stores() -> None:
    a, b, c = random(1, 1024), np.zeros((1, 1024), "float32"), np.zeros((1, 1024), "float32")
    program = Program((1,), Options(schedule=COST_BASED))
    tiles = [program.array(name, array, 1, 1024) for name, array in (("a", a), ("b", b), ("c", c))]
    program.load("first", "a", tiles[0], "%c0", "%c0")
    program.store("first", "b", tiles[1], "%c0", "%c0")
    program.load("second", "b", tiles[1], "%c0", "%c0")
    program.store("second", "c", tiles[2], "%c0", "%c0")
    program.run(schedules=3)
    assert np.array_equal(a, c)


def masked() -> tuple[Program, np.ndarray, np.ndarray]:
    """C = the sum of A, tile by tile, where the row is at most the column; and 0 elsewhere."""
    a, c = random(128, 512), np.zeros((128, 128), "float32")
    program = Program()
    a_tiles, c_tiles = program.array("a", a, 128, 128), program.array("c", c, 128, 128)
    kind = "tensor<128x128xi32>"
    program.add("%range = make_range {start = 0, end = 128} : tensor<128xi32>")
    for axis, (name, shape) in enumerate((("cols", "1x128"), ("rows", "128x1"))):
        program.add(f"%{name}_1 = expand_dims %range {{axis = {axis}}} : tensor<128xi32> -> tensor<{shape}xi32>")
        program.add(f"%{name} = broadcast %{name}_1 : tensor<{shape}xi32> -> {kind}")
    program.add(f"%keep = arith.cmpi sle, %rows, %cols : {kind}")
    program.add("%zeros = arith.constant dense<0.0> : tensor<128x128xf32>")
    program.add("%sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %zeros) -> (tensor<128x128xf32>) : i32 {")
    program.load("part", "a", a_tiles, "%c0", "%i")
    program.add("%kept = arith.select %keep, %part, %zeros : tensor<128x128xi1>, tensor<128x128xf32>")
    program.add("%next = arith.addf %s, %kept : tensor<128x128xf32> scf.yield %next : tensor<128x128xf32> }")
    program.store("sum", "c", c_tiles, "%c0", "%c0")
    return program, c, np.triu(a.reshape(128, 4, 128).sum(1))


def test_recompute_for_scheduling() -> None:
    """With 4 warps, a thread has 128 sums; the mask, of 128 booleans, follows from a few rows and columns."""
    before, after = around("tileas-recompute-for-scheduling", text=masked()[0].text(), num_warps=4)
    outside, _, loop = before.partition("scf.for")
    assert lines(outside, "arith.cmpi sle") == 1 and "arith.cmpi" not in loop
    outside, _, loop = after.partition("scf.for")
    assert "arith.cmpi" not in outside and lines(loop, "arith.cmpi sle") == 1 and lines(loop, "broadcast") == 2
    enough = around("tileas-recompute-for-scheduling", text=masked()[0].text(), num_warps=16)
    assert enough[0] == enough[1]


def test_what_is_computed_again_is_the_same() -> None:
    program, c, expected = masked()
    program.options = Options(num_warps=4)
    program.run(schedules=3)
    assert np.allclose(c, expected, atol=1e-4)
