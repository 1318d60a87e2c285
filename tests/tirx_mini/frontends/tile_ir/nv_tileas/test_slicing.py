"""Products of more sums than registers hold, in parts."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tirx_mini.frontends.tile_ir.emit.texts import Program, random
from tirx_mini.frontends.tile_ir.context import Context, context_for
from tirx_mini.frontends.tile_ir.nv_tileaa import NV_TILEAA, STANDARD
from tirx_mini.frontends.tile_ir.nv_tileas import IN_ORDER, ops
from tirx_mini.frontends.tile_ir.nv_tileas.slicing import parts_of
from tirx_mini.frontends.tile_ir.ssa import Module, parse_module, print_module


def product(rows: int, columns: int, *, twice: bool = False) -> tuple[Program, np.ndarray, np.ndarray]:
    """(a program for C = A B + bias, C, what C must be) for one tile of C. twice: whether A B is stored, too."""
    program = Program()
    left, right = random(rows, 128, dtype="float16"), random(128, columns, dtype="float16")
    bias, out = random(1, columns), np.zeros((rows, columns), np.float32)
    a = program.array("a", left, rows, 64)
    b = program.array("b", right, 64, columns)
    d = program.array("d", bias, 1, columns)
    c = program.array("c", out, rows, columns, aligned=True)
    sums = f"tensor<{rows}x{columns}xf32>"
    program.add(f"%zeros = arith.constant dense<0.0> : {sums}")
    program.add(f"%sum = scf.for %i = %c0 to %c2 step %c1 iter_args(%s = %zeros) -> ({sums}) : i32 {{")
    program.load("left", "a", a, "%c0", "%i")
    program.load("right", "b", b, "%i", "%c0")
    program.add(f"%next = dot %left, %right, %s : tensor<{rows}x64xf16>, tensor<64x{columns}xf16>, {sums}")
    program.add(f"scf.yield %next : {sums} }}")
    program.load("bias", "d", d, "%c0", "%c0")
    program.add(f"%wide = broadcast %bias : tensor<1x{columns}xf32> -> {sums}")
    program.add(f"%stored = arith.addf %sum, %wide : {sums}")
    program.store("stored", "c", c, "%c0", "%c0")
    if twice:
        program.store("sum", "e", program.array("e", out.copy(), rows, columns), "%c0", "%c0")
    return program, out, left.astype(np.float32) @ right.astype(np.float32) + bias


def test_parts() -> None:
    assert parts_of(128, 256) == parts_of(256, 128) == (1, 1)
    assert parts_of(256, 256) == (2, 1) and parts_of(512, 128) == (2, 1)
    assert parts_of(128, 512) == (1, 2) and parts_of(512, 512) == (4, 2)


@pytest.mark.parametrize(("gpu", "shape"), [("h100", (256, 256)), ("h100", (128, 512)), ("b200", (128, 512))])
def test_parts_are_computed_in_a_loop(gpu: str, shape: tuple[int, int]) -> None:
    program, out, expected = product(*shape)
    module = program.module(gpu)
    assert {op.acc.type.size for op in module.walk() if "acc" in op.kind.members} == {128 * 256}
    assert "is computed in parts of 128×256" in program.context.notes[0].message
    program.run(gpu, schedules=5)
    assert np.allclose(out, expected, atol=2e-3)


def test_tensor_memory_has_room_for_256_rows_of_256_sums() -> None:
    program, out, expected = product(256, 256)
    program.run("b200", schedules=5)
    (note,) = program.context.notes
    assert note.message.startswith("2 stages of 65,536 bytes, all that fits")
    assert np.allclose(out, expected, atol=2e-3)


def around(program: Program) -> tuple[Module, Module, Context]:
    """The module before and after tileas-slicing, and what it noted."""
    module, context = parse_module(program.text(), [NV_TILEAA, *STANDARD]), context_for("h100")
    for step in IN_ORDER:
        before, module = module, step.run(module, context)
        if step.name == "tileas-slicing":
            return before, module, context
    raise AssertionError("there is no pass tileas-slicing")


def test_before_and_after() -> None:
    before, after, _ = around(product(256, 256)[0])
    assert len(list(before.find(ops.tiled_store))) == len(list(after.find(ops.tiled_store))) == 1
    text = print_module(after)
    assert "scf.for %part = " in text and "tensor<256x256xf32>" not in text
    assert "tensor<128x64xf16>, tensor<64x256xf16>, tensor<128x256xf32>" in text


def test_sums_that_are_stored_twice_are_not_cut() -> None:
    program, *_ = product(256, 256, twice=True)
    before, after, context = around(program)
    assert print_module(after) == print_module(before)
    assert "kept in local memory" in context.notes[0].message
