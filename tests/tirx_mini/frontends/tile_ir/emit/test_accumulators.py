"""Sums of dots in registers: a product overwrites registers that nothing fills; sums are scaled in place."""

from __future__ import annotations

import numpy as np

from tirx_mini.ir import AllocBuffer, Region, TileCall, walk

from .texts import Program, random


def scaled_sum(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> Program:
    """C = sum of A B over the tiles of K, each time halving what was added up before."""
    program = Program()
    a_tiles, b_tiles = program.array("a", a, 64, 64), program.array("b", b, 64, 64)
    c_tiles = program.array("c", c, 64, 64)
    sums = "tensor<64x64xf32>"
    program.add(f"%zeros = arith.constant dense<0.0> : {sums}")
    program.add(f"%half = arith.constant dense<0.5> : {sums}")
    program.add(f"%total = scf.for %i = %c0 to %c3 step %c1 iter_args(%s = %zeros) -> ({sums}) : i32 {{")
    program.load("left", "a", a_tiles, "%c0", "%i")
    program.load("right", "b", b_tiles, "%i", "%c0")
    program.add(f"""
      %less = arith.mulf %s, %half : {sums}
      %square = dot %left, %right, %zeros : tensor<64x64xf16>, tensor<64x64xf16>, {sums}
      %weights = fp_to_fp %square : {sums} -> tensor<64x64xf16>
      %next = dot %weights, %right, %less : tensor<64x64xf16>, tensor<64x64xf16>, {sums}
      scf.yield %next : {sums}
    }}""")
    program.store("total", "c", c_tiles, "%c0", "%c0")
    return program


def test_sums_stay_where_they_are() -> None:
    a, b, c = random(64, 192, dtype="float16"), random(192, 64, dtype="float16"), np.zeros((64, 64), "float32")
    program = scaled_sum(a, b, c)
    program.run("h100", schedules=5)
    total = np.zeros((64, 64), "float32")
    for start in range(0, 192, 64):
        right = b[start : start + 64].astype("float32")
        square = (a[:, start : start + 64].astype("float32") @ right).astype("float16")
        total = total * 0.5 + square.astype("float32") @ right
    assert np.allclose(c, total, rtol=2e-2, atol=0.3)
    registers = [
        node.buffer.name for node in walk(program.kernel("h100").body)
        if isinstance(node, AllocBuffer) and node.buffer.scope == "local" and node.buffer.dtype == "float32"
    ]  # fmt: skip
    assert len(registers) == 2, registers


def test_gathered_operands_go_to_shared_memory() -> None:
    a, b, c = random(64, 64, dtype="float16"), random(64, 64, dtype="float16"), np.zeros((64, 64), "float32")
    program = Program()
    program.array("a", a)
    b_tiles, c_tiles = program.array("b", b, 64, 64), program.array("c", c, 64, 64)
    program.add("""
    %numbers = make_range {start = 0, end = 4096} : tensor<4096xi32>
    %flat = splat %a : ptr<f16> -> tensor<4096xptr<f16>>
    %places = addptr %flat, %numbers : tensor<4096xptr<f16>>, tensor<4096xi32>
    %square = view %places : tensor<4096xptr<f16>> -> tensor<64x64xptr<f16>>
    %left, %loaded = load %square : tensor<64x64xptr<f16>> -> tensor<64x64xf16>, mem_token
    %zeros = arith.constant dense<0.0> : tensor<64x64xf32>""")
    program.load("right", "b", b_tiles, "%c0", "%c0")
    program.add("%sum = dot %left, %right, %zeros : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>")
    program.store("sum", "c", c_tiles, "%c0", "%c0")
    program.run("h100", schedules=5)
    assert np.allclose(c, a.astype("float32") @ b.astype("float32"), atol=2e-3)
    calls = [node for node in walk(program.kernel("h100").body) if isinstance(node, TileCall)]
    (call,) = (node for node in calls if node.op == "gemm_async")
    scopes = [operand.buffer.scope for operand in call.operands if isinstance(operand, Region)]
    assert scopes == ["local", "shared", "shared"]
