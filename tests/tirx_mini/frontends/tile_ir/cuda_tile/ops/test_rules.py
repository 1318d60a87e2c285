"""What operations refuse, one case a rule."""

from __future__ import annotations

import pytest

from tirx_mini.frontends.tile_ir.cuda_tile import CUDA_TILE
from tirx_mini.frontends.tile_ir.ssa import ParseError, parse_module, verify
from tirx_mini.ir import TirxError

VALUES = """
  %f = constant <f32: 1.0> : tile<4x8xf32>
  %g = constant <f32: 1.0> : tile<8x4xf32>
  %h = constant <f16: 1.0> : tile<4x8xf16>
  %i = constant <i32: 1> : tile<4x8xi32>
  %s = constant <i32: 1> : tile<i32>
  %t = constant <i64: 1> : tile<i64>
  %c = constant <i1: true> : tile<4x8xi1>
  %k = constant <i1: true> : tile<i1>
  %r = reshape %p : tile<ptr<f32>> -> tile<1x1xptr<f32>>
  %q = broadcast %r : tile<1x1xptr<f32>> -> tile<4x8xptr<f32>>
  %v = make_tensor_view %p, shape = [16, 16], strides = [16, 1] : tensor_view<16x16xf32, strides=[16,1]>
  %w = make_partition_view %v : partition_view<tile=(4x8), tensor_view<16x16xf32, strides=[16,1]>>
"""
REDUCED = ": tile<4x8xf32> -> tile<4xf32> (%a: tile<f32>, %b: tile<f32>) { yield %a : tile<f32> }"
VIEW = "partition_view<tile=(4x8), tensor_view<16x16xf32, strides=[16,1]>>"


def check(body: str) -> None:
    text = f"cuda_tile.module @m {{ entry @k(%p: tile<ptr<f32>>) {{ {VALUES} {body} return }} }}"
    verify(parse_module(text, [CUDA_TILE]))


def test_the_values_of_these_cases_are_right():
    check("")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%x = addf %i, %i : tile<4x8xi32>", "`lhs` must be a tile of f16, bf16, f32 or f64, not tile<4x8xi32>"),
        ("%x = addf %f, %h : tile<4x8xf32>", "the types of lhs and rhs and result differ"),
        ("%x = addi %f, %f : tile<4x8xf32>", "`lhs` must be a tile of integers"),
        ("%x = addf %h, %h flush_to_zero : tile<4x8xf16>", "flush_to_zero needs elements of f32, not f16"),
        ("%x = divf %h, %h rounding<approx> : tile<4x8xf16>", "rounding_mode approx needs elements of f32"),
        ("%x = divi %i, %i unsigned rounding<negative_inf> : tile<4x8xi32>", "is for signed division"),
        (
            "%x = mmaf %f, %f, %f : tile<4x8xf32>, tile<4x8xf32>, tile<4x8xf32>",
            "are not those of a product M x K, K x N",
        ),
        (
            "%x = mmaf %f, %g, %h : tile<4x8xf32>, tile<8x4xf32>, tile<4x8xf16>",
            "products of f32 are not accumulated in f16",
        ),
        ("%x = exti %t signed : tile<i64> -> tile<i32>", "i64 is not extended to i32"),
        ("%x = trunci %s : tile<i32> -> tile<i32>", "i32 is not truncated to i32"),
        ("%x = ftof %f : tile<4x8xf32> -> tile<4x8xf32>", "it converts a type to itself"),
        ("%x = bitcast %f : tile<4x8xf32> -> tile<4x8xi64>", "f32 and i64 are not numbers of one width"),
        ("%x = itof %i signed : tile<4x8xi32> -> tile<8x4xf32>", "the shapes of source and result differ"),
        ("%x = reshape %f : tile<4x8xf32> -> tile<16xf32>", "have different numbers of elements"),
        ("%x = broadcast %f : tile<4x8xf32> -> tile<8x8xf32>", "only extents of 1 are broadcast"),
        ("%x = permute %f [0, 0] : tile<4x8xf32> -> tile<4x4xf32>", r"\[0, 0\] is not a permutation of 2 dimensions"),
        ("%y = iota : tile<4xi32> %x = permute %y [0] : tile<4xi32> -> tile<4xi32>", "at least two dimensions"),
        (
            "%x = cat %f, %g dim = 0 : tile<4x8xf32>, tile<8x4xf32> -> tile<8x8xf32>",
            "only the concatenated extents may differ",
        ),
        ("%x = extract %f[%s] : tile<4x8xf32> -> tile<2x8xf32>", "it has 1 indices for 2 dimensions"),
        ("%x = select %k, %f, %f : tile<i1>, tile<4x8xf32>", "the shapes of cond and result differ"),
        ("%x = select %i, %f, %f : tile<4x8xi32>, tile<4x8xf32>", "`cond` must be a tile of i1"),
        (
            "%x = offset %q, %s : tile<4x8xptr<f32>>, tile<i32> -> tile<4x8xptr<f32>>",
            "the shapes of ptr and offset differ",
        ),
        ("%x = iota : tile<2x2xi32>", "it makes a tile of rank 1"),
        ("%x = assume div_by<3>, %i : tile<4x8xi32>", "the divisor 3 is not a power of two"),
        ("%x = assume bounded<4, 3>, %i : tile<4x8xi32>", "has no numbers"),
        ("%x = constant <i32: [1, 2]> : tile<4xi32>", "are not a tile<4xi32>"),
        ('assert %i, "x" : tile<4x8xi32>', "`condition` must be a tile of i1"),
        (
            "%x, %y = load_ptr_tko weak %q : tile<4x8xptr<f32>> -> tile<4x8xf16>, token",
            "pointers to f32 do not load or store f16",
        ),
        (
            "%x, %y = load_ptr_tko weak %q, %k : tile<4x8xptr<f32>>, tile<i1> -> tile<4x8xf32>, token",
            "the shapes of source and mask",
        ),
        (
            "%x = store_ptr_tko weak %q, %i : tile<4x8xptr<f32>>, tile<4x8xi32> -> token",
            "pointers to f32 do not load or store i32",
        ),
        (
            (
                "%x, %y = atomic_rmw_tko relaxed device %q, add, %f : tile<4x8xptr<f32>>, tile<4x8xf32> "
                "-> tile<4x8xf32>, token"
            ),
            "atomic add is for i32, i64, not f32",
        ),
        (f"%x, %y = load_view_tko weak %w[%s] : {VIEW}, tile<i32> -> tile<4x8xf32>, token", "takes 2 indices, not 1"),
        (
            f"%x = store_view_tko weak %h, %w[%s, %s] : tile<4x8xf16>, {VIEW}, tile<i32> -> token",
            "are tile<4x8xf32>, not tile<4x8xf16>",
        ),
        (
            f"%x, %y = load_view_tko weak %w[%i, %s] : {VIEW}, tile<4x8xi32>, tile<i32> -> tile<4x8xf32>, token",
            "index 0 of .* is a scalar",
        ),
        (
            (
                "%x = make_partition_view %v "
                ": partition_view<tile=(4), tensor_view<16x16xf32, strides=[16,1]>, dim_map=[0]>"
            ),
            "is not a permutation of 2 dimensions",
        ),
        (
            "%x = make_partition_view %v : partition_view<tile=(4), tensor_view<16xf32, strides=[1]>>",
            "is not a view of",
        ),
        ("%x = get_tensor_shape %v : tensor_view<16x16xf32, strides=[16,1]> -> tile<i32>", "has 2 dimensions, not 1"),
        (
            "%x = make_tensor_view %p, shape = [4], strides = [1] : tensor_view<4xf16, strides=[1]>",
            "the base of .* is a tile<ptr<f16>>",
        ),
        ("if %c { yield }", "the condition is a tile<i1>"),
        (
            "%x = if %k -> (tile<i32>) { yield %t : tile<i64> } else { yield %s : tile<i32> }",
            "the types of the `yield` values",
        ),
        ("for %j in (%s to %s, step %s) : tile<i32> { break }", "`break` ends a `loop`, not a `for`"),
        (
            "for %j in (%s to %t, step %s) : tile<i32> { continue }",
            "the types of lowerBound and upperBound and step differ",
        ),
        ("loop iter_values(%j = %s) : tile<i32> { continue }", "the types of the `continue` values"),
        ("%x = loop : tile<i32> { break }", "the types of the `break` values"),
        (
            f"%x = reduce %f dim=2 identities=[0.0 : f32] {REDUCED}",
            "dim=2 is not a dimension of",
        ),
        (
            f"%x = reduce %f dim=1 identities=[0 : i32] {REDUCED}",
            "one identity of each operand's element type",
        ),
    ],
)
def test_each_rule_has_a_sentence(body, message):
    with pytest.raises(TirxError, match=message):
        check(body)


@pytest.mark.parametrize(("text", "message"), [
    ("%x = constant <f32: 1.0> : tile<3xf32>", "the extents of a tile are powers of two, not 3"),
    ("%x = cmpi smaller %i, %i, signed : tile<4x8xi32> -> tile<4x8xi1>", "expected one of equal, not_equal"),
    ("%x = made_up %f", "unknown operation `made_up`"),
    ("%x = assume likely<3>, %i : tile<4x8xi32>", "expected div_by, bounded or same_elements"),
])  # fmt: skip
def test_text_that_says_nothing_is_refused_with_its_line(text, message):
    with pytest.raises(ParseError, match=rf"line \d+, column \d+: {message}"):
        check(text)


def test_kernels_take_scalars_and_pointers():
    with pytest.raises(TirxError, match="the parameters of a kernel are scalars and pointers"):
        verify(parse_module("cuda_tile.module @m { entry @k(%x: tile<4xf32>) { return } }", [CUDA_TILE]))
