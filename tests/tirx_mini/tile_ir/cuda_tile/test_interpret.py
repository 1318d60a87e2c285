"""Programs in the text of Tile IR, executed in NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tirx_mini.tile_ir.cuda_tile import CUDA_TILE, AssertionFailed, OutOfBounds, interpret
from tirx_mini.tile_ir.ssa import Module, parse_module, verify


def program(params: str, body: str) -> Module:
    return verify(parse_module(f"cuda_tile.module @m {{ entry @k({params}) {{ {body} return }} }}", [CUDA_TILE]))


def run(params: str, body: str, args: list[object], grid: tuple[int, ...] = (1,)) -> str:
    """What the program prints."""
    printed: list[str] = []
    interpret(program(params, body), "k", args, grid, printed.append)
    return "".join(printed)


VIEW = """
  %{0}v = make_tensor_view %{0}, shape = [{1}], strides = [{2}] : tensor_view<{3}x{4}, strides=[{2}]>
  %{0}p = make_partition_view %{0}v : partition_view<tile=({5}){6}, tensor_view<{3}x{4}, strides=[{2}]>>
"""


def view(name: str, array: np.ndarray, element: str, tile: tuple[int, ...], padding: str = "") -> tuple[str, str]:
    """The operations that make the views %NAMEv and %NAMEp of an array, and the type of the second."""
    dims, steps = "x".join(map(str, array.shape)), [s // array.itemsize for s in array.strides]
    strides, shape = ",".join(map(str, steps)), ", ".join(map(str, array.shape))
    pad = f", padding_value = {padding}" if padding else ""
    text = VIEW.format(name, shape, strides, dims, element, "x".join(map(str, tile)), pad)
    size = "x".join(map(str, tile))
    return text, f"partition_view<tile=({size}){pad}, tensor_view<{dims}x{element}, strides=[{strides}]>>"


@pytest.mark.parametrize("shape", [(64, 64), (100, 37)])
def test_a_transposed_copy_of_any_shape(shape):
    a = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    b = np.zeros(shape[::-1], np.float32)
    (make_a, type_a), (make_b, type_b) = view("a", a, "f32", (32, 16)), view("b", b, "f32", (16, 32))
    body = f"""{make_a} {make_b}
      %x, %y, %z = get_tile_block_id : tile<i32>
      %t, %token = load_view_tko weak %ap[%x, %y] : {type_a}, tile<i32> -> tile<32x16xf32>, token
      %u = permute %t [1, 0] : tile<32x16xf32> -> tile<16x32xf32>
      %done = store_view_tko weak %u, %bp[%y, %x] : tile<16x32xf32>, {type_b}, tile<i32> -> token"""
    run("%a: tile<ptr<f32>>, %b: tile<ptr<f32>>", body, [a, b], (-(-shape[0] // 32), -(-shape[1] // 16)))
    assert (b == a.T).all()


@pytest.mark.parametrize(("element", "dtype"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16), ("f32", np.float32)])
def test_a_product_with_a_loop_over_k(element, dtype):
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-4, 5, s).astype(dtype) for s in ((48, 40), (40, 24)))
    c = np.zeros((48, 24), np.float32)
    views = [
        view("a", a, element, (32, 16), "zero"),
        view("b", b, element, (16, 8), "zero"),
        view("c", c, "f32", (32, 8)),
    ]
    body = f"""{"".join(text for text, _ in views)}
      %x, %y, %z = get_tile_block_id : tile<i32>
      %zero = constant <i32: 0> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %m, %n = get_index_space_shape %ap : {views[0][1]} -> tile<i32>
      %none = constant <f32: 0.0> : tile<32x8xf32>
      %sum = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %none) -> (tile<32x8xf32>) {{
        %s, %t0 = load_view_tko weak %ap[%x, %i] : {views[0][1]}, tile<i32> -> tile<32x16x{element}>, token
        %t, %t1 = load_view_tko weak %bp[%i, %y] : {views[1][1]}, tile<i32> -> tile<16x8x{element}>, token
        %more = mmaf %s, %t, %acc : tile<32x16x{element}>, tile<16x8x{element}>, tile<32x8xf32>
        continue %more : tile<32x8xf32>
      }}
      %done = store_view_tko weak %sum, %cp[%x, %y] : tile<32x8xf32>, {views[2][1]}, tile<i32> -> token"""
    params = f"%a: tile<ptr<{element}>>, %b: tile<ptr<{element}>>, %c: tile<ptr<f32>>"
    run(params, body, [a, b, c], (2, 3))
    assert (c == a.astype(np.float32) @ b.astype(np.float32)).all()


POINTERS = """
  %one = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
  %all = broadcast %one : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %i = iota : tile<8xi32>
  %ptrs = offset %all, %i : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %n = constant <i32: 5> : tile<8xi32>
  %mask = cmpi less_than %i, %n, signed : tile<8xi32> -> tile<8xi1>
"""


def test_masked_loads_and_stores_through_pointers():
    a = np.arange(5, dtype=np.int32) * 10
    body = f"""{POINTERS}
      %pad = constant <i32: 7> : tile<8xi32>
      %v, %t = load_ptr_tko weak %ptrs, %mask, %pad : tile<8xptr<i32>>, tile<8xi1>, tile<8xi32> -> tile<8xi32>, token
      %q = print_tko "%d", %v token = %t : tile<8xi32> -> token
      %w = addi %v, %i : tile<8xi32>
      %d = store_ptr_tko weak %ptrs, %w, %mask token = %q : tile<8xptr<i32>>, tile<8xi32>, tile<8xi1> -> token"""
    assert run("%p: tile<ptr<i32>>", body, [a]) == "[0, 10, 20, 30, 40, 7, 7, 7]"
    assert a.tolist() == [0, 11, 22, 33, 44]


def test_a_wild_pointer_is_out_of_bounds():
    body = f"{POINTERS} %v, %t = load_ptr_tko weak %ptrs : tile<8xptr<i32>> -> tile<8xi32>, token"
    with pytest.raises(OutOfBounds, match="argument 0"):
        run("%p: tile<ptr<i32>>", body, [np.zeros(5, np.int32)])


def test_atomics_return_what_was_there_and_see_each_other():
    a = np.zeros(8, np.int32)
    body = f"""{POINTERS}
      %zero = constant <i32: 0> : tile<8xi32>
      %same = offset %all, %zero : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
      %old, %t = atomic_rmw_tko relaxed device %same, add, %i : tile<8xptr<i32>>, tile<8xi32> -> tile<8xi32>, token
      %q = print_tko "%d", %old : tile<8xi32> -> token
      %won, %u = atomic_cas_tko relaxed device %ptrs, %zero, %n : tile<8xptr<i32>>, tile<8xi32> -> tile<8xi32>, token"""
    assert run("%p: tile<ptr<i32>>", body, [a]) == "[0, 0, 1, 3, 6, 10, 15, 21]"
    assert a.tolist() == [28, 5, 5, 5, 5, 5, 5, 5]


def test_reductions_of_several_tiles_and_scans():
    body = """
      %x = constant <f32: [3.0, 9.0, 2.0, 9.0]> : tile<4xf32>
      %i = iota : tile<4xi32>
      %best, %at = reduce %x, %i dim=0 identities=[-1.0e30 : f32, 0 : i32]
        : tile<4xf32>, tile<4xi32> -> tile<f32>, tile<i32>
        (%a: tile<f32>, %b: tile<f32>, %j: tile<i32>, %k: tile<i32>) {
        %more = cmpf greater_than ordered %a, %b : tile<f32> -> tile<i1>
        %v = select %more, %a, %b : tile<i1>, tile<f32>
        %w = select %more, %j, %k : tile<i1>, tile<i32>
        yield %v, %w : tile<f32>, tile<i32>
      }
      %sums = scan %x dim=0 reverse=true identities=[0.0 : f32] : tile<4xf32> -> tile<4xf32>
        (%e: tile<f32>, %f: tile<f32>) {
        %ef = addf %e, %f : tile<f32>
        yield %ef : tile<f32>
      }
      %q = print_tko "%.0f at %d; %.0f", %best, %at, %sums : tile<f32>, tile<i32>, tile<4xf32> -> token"""
    assert run("", body, []) == "9 at 1; [23, 20, 11, 9]"


def test_loops_end_by_break_from_within_a_branch():
    body = """
      %zero = constant <i32: 0> : tile<i32>
      %three = constant <i32: 3> : tile<i32>
      %found = loop iter_values(%k = %n) : tile<i32> -> tile<i32> {
        %rest = remi %k, %three signed : tile<i32>
        %done = cmpi equal %rest, %zero, signed : tile<i32> -> tile<i1>
        if %done {
          break %k : tile<i32>
        }
        %one = constant <i32: 1> : tile<i32>
        %next = addi %k, %one : tile<i32>
        continue %next : tile<i32>
      }
      %q = print_tko "%i", %found : tile<i32> -> token"""
    assert [run("%n: tile<i32>", body, [n]) for n in (6, 7, 8)] == ["6", "9", "9"]


def test_a_slice_of_rows_that_are_named_one_by_one():
    a = np.arange(40, dtype=np.float32).reshape(8, 5)
    rows = "gather_scatter_view<tile=(4x2), padding_value = neg_inf, tensor_view<8x5xf32, strides=[5,1]>, sparse_dim=0>"
    body = f"""
      %v = make_tensor_view %p, shape = [8, 5], strides = [5, 1] : tensor_view<8x5xf32, strides=[5,1]>
      %g = make_gather_scatter_view %v : {rows}
      %i = constant <i32: [6, 0, 9, 0]> : tile<4xi32>
      %c = constant <i32: 4> : tile<i32>
      %t, %u = load_view_tko weak %g[%i, %c] : {rows}, tile<4xi32>, tile<i32> -> tile<4x2xf32>, token
      %q = print_tko "%.0f", %t : tile<4x2xf32> -> token"""
    assert run("%p: tile<ptr<f32>>", body, [a]) == "[[34, -inf], [4, -inf], [-inf, -inf], [4, -inf]]"


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
        run("%p: tile<ptr<f16>>", "", [np.zeros(4, np.float32)])
    with pytest.raises(ValueError, match="no entry @other"):
        interpret(program("", ""), "other", [], (1,))
