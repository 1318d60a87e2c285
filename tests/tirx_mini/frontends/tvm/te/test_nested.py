"""`blockize`, and instructions that two functions describe (`tir.TensorIntrin`)."""

from __future__ import annotations

import numpy as np
import pytest

from tirx_mini import te
from tirx_mini.ir import TirxError
from tirx_mini.script import tir as T

from .examples import matmul, random


@T.prim_func
def product_desc(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (8, 8), "float32", offset_factor=8)
    B = T.match_buffer(b, (8, 8), "float32", offset_factor=8)
    C = T.match_buffer(c, (8, 8), "float32", offset_factor=8)
    with T.block("root"):
        T.reads(C[0:8, 0:8], A[0:8, 0:8], B[0:8, 0:8])
        T.writes(C[0:8, 0:8])
        for i, j, k in T.grid(8, 8, 8):
            with T.block(""):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def product_impl(a: T.handle, b: T.handle, c: T.handle) -> None:
    s0 = T.int32()
    A = T.match_buffer(a, (8, 8), "float32", strides=[s0, 1])
    B = T.match_buffer(b, (8, 8), "float32", strides=[s0, 1])
    C = T.match_buffer(c, (8, 8), "float32", strides=[s0, 1])
    with T.block("root"):
        T.reads(C[0:8, 0:8], A[0:8, 0:8], B[0:8, 0:8])
        T.writes(C[0:8, 0:8])
        for i, k in T.grid(8, 8):
            for j in T.vectorized(8):
                C[i, j] = C[i, j] + A[i, k] * B[k, j]


te.RegisteredIntrin.register("product_8x8x8", product_desc, product_impl)


def tiled() -> tuple[te.TirSchedule, list[te.LoopRV]]:
    """A product of 32 × 16 by 16 × 24 in tiles of 8 × 8 × 8."""
    mm = matmul(32, 24, 16)
    sch = te.TirSchedule(te.create_prim_func(mm.args))
    pairs = [sch.split(loop, [None, 8]) for loop in sch.get_loops("C")]
    outer, inner = ([pair[n] for pair in pairs] for n in (0, 1))
    sch.reorder(*outer, *inner)
    return sch, [*outer, *inner]


def computed(sch: te.TirSchedule) -> None:
    a, b, c = random(32, 16), random(16, 24, seed=1), np.full((32, 24), np.nan, np.float32)
    te.build(sch.mod, target="llvm")(a, b, c)
    np.testing.assert_array_equal(c, a @ b)


def test_loops_become_a_block_whose_variables_count_tiles():
    sch, loops = tiled()
    block = sch.blockize(loops[3])
    text = sch.func.script()
    for line in (
        'with T.block("C_o"):', "v_i_o = T.axis.spatial(4, i_0)", "v_k_o = T.axis.reduce(2, k_0)", "with T.init():",
        'with T.block("C_init"):', "v_k_i = T.axis.reduce(8, k_1)", "C[v_i_o * 8 + v_i_i, v_j_o * 8 + v_j_i]",
    ):  # fmt: skip
        assert line in text, line
    assert [str(loop) for loop in sch.get_loops(block)] == ["i_0", "j_0", "k_0"]
    assert [str(loop) for loop in sch.get_loops("C")] == ["i_1", "j_1", "k_1"]
    assert [each.name for each in sch.get_child_blocks(sch.get_block("root"))] == ["C_o"]
    computed(sch)
    sch.vectorize(sch.get_loops("C_init")[-1])
    sch.parallel(loops[0])
    computed(sch)


def test_a_block_of_blocks_is_staged_and_computed_by_an_instruction_with_a_name():
    sch, loops = tiled()
    block = sch.blockize(loops[3])
    copies = [sch.cache_read(block, index, "global") for index in (0, 1)]
    back = sch.cache_write(block, 0, "global")
    sch.reverse_compute_at(back, loops[1])
    for copy in copies:
        sch.compute_at(copy, loops[2])
    computed(sch)
    init = sch.decompose_reduction(block, loops[2])
    assert init.name == "C_o_init"
    sch.tensorize(block, "product_8x8x8")
    text = sch.func.script()
    assert '"tensor_intrin": "product_8x8x8"' in text and "T.vectorized(8)" in text
    assert "C_global[i_0 * 8 + i, j_0 * 8 + j]" in text
    computed(sch)
    again, _ = tiled()
    fresh = te.TirSchedule(te.create_prim_func(matmul(32, 24, 16).args))
    sch.trace.apply_to_schedule(fresh)
    assert fresh.func.script() == text != again.func.script()


def test_what_cannot_be_a_block_or_an_instruction_is_refused():
    sch, loops = tiled()
    with pytest.raises(TirxError, match="there is no instruction 'wmma_sync_16x16x16_f16f16f32'") as caught:
        sch.tensorize(loops[3], "wmma_sync_16x16x16_f16f16f32")
    assert "te.mma()" in str(caught.value)
    with pytest.raises(TirxError, match="adds to what is there, and the stage begins its reduction itself"):
        sch.tensorize(loops[3], "product_8x8x8")
    with pytest.raises(TirxError, match="there is an instruction 'product_8x8x8' already"):
        te.RegisteredIntrin.register("product_8x8x8", product_desc, product_impl)
    assert te.RegisteredIntrin.get("none", allow_missing=True) is None
    with pytest.raises(TirxError, match="there is no instruction 'none'"):
        te.RegisteredIntrin.get("none")
    odd = te.TirSchedule(te.create_prim_func(matmul(8, 8, 8).args))
    _, inner = odd.split(odd.get_loops("C")[2], [None, 3])
    with pytest.raises(TirxError, match="cannot become a block: iterations of C are left out"):
        odd.blockize(inner)
    computed(sch)
