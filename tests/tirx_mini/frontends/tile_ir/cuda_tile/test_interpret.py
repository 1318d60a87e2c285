"""Programs in the text of Tile IR, executed in NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.tirx_mini.frontends.tile_ir import programs
from tests.tirx_mini.frontends.tile_ir.programs import Program
from tirx_mini.frontends.tile_ir.cuda_tile import CUDA_TILE, AssertionFailed, OutOfBounds, interpret
from tirx_mini.frontends.tile_ir.ssa import parse_module, verify


def run(program: Program) -> str:
    """What the program prints."""
    printed: list[str] = []
    interpret(program.module, "k", program.args, program.grid, printed.append)
    return "".join(printed)


@pytest.mark.parametrize("shape", [(64, 64), (100, 37)])
def test_a_transposed_copy_of_any_shape(shape):
    program = programs.transpose(shape)
    run(program)
    a, b = program.args
    assert (b == a.T).all()


@pytest.mark.parametrize(("element", "dtype"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16), ("f32", np.float32)])
def test_a_product_with_a_loop_over_k(element, dtype):
    program = programs.product(element, dtype)
    run(program)
    a, b, c = program.args
    assert (c == a.astype(np.float32) @ b.astype(np.float32)).all()


def test_masked_loads_and_stores_through_pointers():
    program = programs.masked()
    assert run(program) == "[0, 10, 20, 30, 40, 7, 7, 7]"
    assert program.args[0].tolist() == [0, 11, 22, 33, 44]


def test_a_wild_pointer_is_out_of_bounds():
    with pytest.raises(OutOfBounds, match="argument 0"):
        run(programs.wild())


def test_atomics_return_what_was_there_and_see_each_other():
    program = programs.atomics()
    assert run(program) == "[0, 0, 1, 3, 6, 10, 15, 21]"
    assert program.args[0].tolist() == [28, 5, 5, 5, 5, 5, 5, 5]


def test_reductions_of_several_tiles_and_scans():
    assert run(programs.reductions()) == "9 at 1; [23, 20, 11, 9]"


def test_loops_end_by_break_from_within_a_branch():
    assert [run(programs.search(n)) for n in (6, 7, 8)] == ["6", "9", "9"]


def test_a_slice_of_rows_that_are_named_one_by_one():
    assert run(programs.rows()) == "[[34, -inf], [4, -inf], [-inf, -inf], [4, -inf]]"


def _early_exits(n: int) -> str:
    """What `programs.early_exits` prints."""
    if n < 0:
        return "negative"
    x, k = 1 + (n + 1) // 2, 0
    while True:
        size = 4 * 2 * x
        if k > 10:
            return f"{size} {k}"
        if k % 2 == 0 and size > 1000:
            return "1000 1"
        x, k = x if k % 2 == 0 else 2 * x, k + 1


@pytest.mark.parametrize("n", [-1, 0, 2, 7, 90])
def test_branches_leave_loops_and_kernels(n):
    assert run(programs.early_exits(n)) == _early_exits(n)


def test_globals_and_assertions():
    text = """cuda_tile.module @m {
      global @table <f32: [1.0, 2.0]> : tile<2xf32>
      entry @k(%c: tile<i1>) {
        %p = get_global @table : tile<ptr<f32>>
        %i = constant <i32: 1> : tile<i32>
        %q = offset %p, %i : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
        %v, %t = load_ptr_tko weak %q : tile<ptr<f32>> -> tile<f32>, token
        %w = print_tko "%g %%", %v : tile<f32> -> token
        assert %c, "must hold" : tile<i1>
        return
      }
    }"""
    printed: list[str] = []
    module = verify(parse_module(text, [CUDA_TILE]))
    interpret(module, "k", [True], (2,), printed.append)
    assert "".join(printed) == "2 %2 %"
    with pytest.raises(AssertionFailed, match="must hold"):
        interpret(module, "k", [False], (1,), printed.append)


def test_arguments_must_have_the_types_of_the_parameters():
    with pytest.raises(ValueError, match=r"ptr<f16> needs an array of float16, not float32"):
        run(Program("%p: tile<ptr<f16>>", "", [np.zeros(4, np.float32)]))
    with pytest.raises(ValueError, match="no entry @other"):
        interpret(Program("", "").module, "other", [], (1,))
