"""convert-cudatile-to-tileaa: programs mean the same before and after; and what becomes of single operations."""

from __future__ import annotations

import copy
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.tirx_mini.frontends.tile_ir import programs, random_programs
from tests.tirx_mini.frontends.tile_ir.programs import Program
from tirx_mini.frontends.tile_ir.context import context_for
from tirx_mini.frontends.tile_ir.nv_tileaa import NV_TILEAA, STANDARD, convert_cudatile_to_tileaa
from tirx_mini.frontends.tile_ir.ssa import Module, parse_module, print_module, verify
from tirx_mini.ir import TirxError
from tirx_mini.tile_ir import cuda_tile

from . import interpreter

ALL: dict[str, Callable[[], Program]] = {
    "transpose": lambda: programs.transpose((100, 37)),
    "product_f16": lambda: programs.product("f16", np.float16),
    "product_bf16": lambda: programs.product("bf16", ml_dtypes.bfloat16),
    "masked": programs.masked,
    "atomics": programs.atomics,
    "reductions": programs.reductions,
    "search": lambda: programs.search(7),
    "rows": programs.rows,
    **{f"early_exits_{n}": lambda n=n: programs.early_exits(n) for n in (-1, 0, 2, 7, 90)},
}


def converted(program: Program) -> Module:
    return verify(convert_cudatile_to_tileaa(program.module, context_for("H100")))


@pytest.mark.parametrize("name", ALL)
def test_programs_mean_the_same(name):
    program = ALL[name]()
    args = copy.deepcopy(program.args)
    before: list[str] = []
    after: list[str] = []
    cuda_tile.interpret(program.module, "k", args, program.grid, before.append)
    interpreter.interpret(converted(program), "k", program.args, program.grid, after.append)
    assert before == after
    assert all((a == b).all() for a, b in zip(args, program.args, strict=True) if isinstance(a, np.ndarray))


@pytest.mark.parametrize("name", ALL)
def test_the_text_of_what_is_made_goes_through_a_module_unchanged(name):
    text = print_module(converted(ALL[name]()))
    assert print_module(verify(parse_module(text, [NV_TILEAA, *STANDARD]))) == text


def body(params: str, text: str) -> list[str]:
    """The lines of the kernel that a program becomes."""
    lines = print_module(converted(Program(params, text))).splitlines()
    return [line.strip() for line in lines[2:-3]]


def test_constants_are_computed():
    made = body("%p: tile<ptr<i32>>", """
      %a = constant <i32: 6> : tile<i32>
      %b = constant <i32: 7> : tile<i32>
      %c = muli %a, %b : tile<i32>
      %d = reshape %c : tile<i32> -> tile<1xi32>
      %e = broadcast %d : tile<1xi32> -> tile<8xi32>
      %q = print_tko "%d", %e : tile<8xi32> -> token""")  # fmt: skip
    assert made == [
        "%e = arith.constant dense<42> : tensor<8xi32>",
        '%q = print "%d", %e : tensor<8xi32> -> mem_token',
    ]


def test_a_scalar_that_fills_a_tile_is_splat_once():
    made = body("%n: tile<i32>", """
      %a = reshape %n : tile<i32> -> tile<1x1xi32>
      %b = broadcast %a : tile<1x1xi32> -> tile<4x8xi32>
      %c = reshape %b : tile<4x8xi32> -> tile<32xi32>
      %d = broadcast %a : tile<1x1xi32> -> tile<4x8xi32>
      %e = reshape %d : tile<4x8xi32> -> tile<32xi32>
      %f = addi %c, %e : tile<32xi32>
      %q = print_tko "%d", %f : tile<32xi32> -> token""")  # fmt: skip
    assert made == [
        "%c = splat %n : i32 -> tensor<32xi32>",
        "%f = arith.addi %c, %c : tensor<32xi32>",
        '%q = print "%d", %f : tensor<32xi32> -> mem_token',
    ]


def test_a_branch_that_is_always_taken_has_no_if():
    made = body("", """
      %c = constant <i1: true> : tile<i1>
      %a = constant <i32: 1> : tile<i32>
      %x = if %c -> (tile<i32>) {
        yield %a : tile<i32>
      } else {
        %b = constant <i32: 2> : tile<i32>
        yield %b : tile<i32>
      }
      %q = print_tko "%d", %x : tile<i32> -> token""")  # fmt: skip
    assert made == ["%a = arith.constant 1 : i32", '%q = print "%d", %a : i32 -> mem_token']


def test_what_the_bounds_of_numbers_decide_is_not_computed():
    """A Python remainder of a block's number, a division, and whether it is in the grid."""
    made = body("", """
      %x, %y, %z = get_tile_block_id : tile<i32>
      %c32 = constant <i32: 32> : tile<i32>
      %c0 = constant <i32: 0> : tile<i32>
      %rest = remi %x, %c32 signed : tile<i32>
      %below = cmpi less_than %rest, %c0, signed : tile<i32> -> tile<i1>
      %up = addi %rest, %c32 : tile<i32>
      %mod = select %below, %up, %rest : tile<i1>, tile<i32>
      %div = divi %x, %c32 signed rounding<negative_inf> : tile<i32>
      %q = print_tko "%d %d", %mod, %div : tile<i32>, tile<i32> -> token""")  # fmt: skip
    assert made == [
        "%x, %y, %z = get_program_id : i32",
        "%0 = arith.constant 31 : i32",
        "%rest = arith.andi %x, %0 : i32",
        "%1 = arith.constant 5 : i32",
        "%div = arith.shrui %x, %1 : i32",
        '%q = print "%d %d", %rest, %div : i32, i32 -> mem_token',
    ]


def test_a_mask_that_always_holds_disappears_and_two_bounds_are_one_comparison():
    made = body("%n: tile<i32>", """
      %c0 = constant <i32: 0> : tile<i32>
      %c1 = constant <i32: 1> : tile<i32>
      %c4 = constant <i32: 4> : tile<i32>
      %zero = constant <i32: 0> : tile<8xi32>
      %most = constant <i32: 32> : tile<8xi32>
      %range = iota : tile<8xi32>
      %m = reshape %n : tile<i32> -> tile<1xi32>
      %some = broadcast %m : tile<1xi32> -> tile<8xi32>
      for %k in (%c0 to %c4, step %c1) : tile<i32> {
        %c8 = constant <i32: 8> : tile<i32>
        %first = muli %k, %c8 : tile<i32>
        %a = reshape %first : tile<i32> -> tile<1xi32>
        %b = broadcast %a : tile<1xi32> -> tile<8xi32>
        %i = addi %b, %range : tile<8xi32>
        %p = cmpi greater_than_or_equal %i, %zero, signed : tile<8xi32> -> tile<8xi1>
        %q = cmpi less_than %i, %most, signed : tile<8xi32> -> tile<8xi1>
        %r = andi %p, %q : tile<8xi1>
        %s = cmpi greater_than_or_equal %some, %zero, signed : tile<8xi32> -> tile<8xi1>
        %t = cmpi less_than %some, %most, signed : tile<8xi32> -> tile<8xi1>
        %u = andi %s, %t : tile<8xi1>
        %v = andi %r, %u : tile<8xi1>
        %w = print_tko "%d", %v : tile<8xi1> -> token
        continue
      }""")  # fmt: skip
    inside = made[made.index("scf.for %k = %c0 to %c4 step %c1 : i32 {") + 1 :]
    assert inside == [
        "%u = arith.cmpi ult, %some, %most : tensor<8xi32>",
        '%w = print "%d", %u : tensor<8xi1> -> mem_token',
        "scf.yield",
        "}",
    ]


def test_extents_that_a_view_knows_are_constants_and_others_its_operands():
    made = body("%p: tile<ptr<f16>>, %n: tile<i32>", """
      %v = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf16, strides=[64,1]>
      %t = make_partition_view %v : partition_view<tile=(16x32), tensor_view<?x64xf16, strides=[64,1]>>
      %a, %b = get_tensor_shape %v : tensor_view<?x64xf16, strides=[64,1]> -> tile<i64>
      %c, %d = get_index_space_shape %t
        : partition_view<tile=(16x32), tensor_view<?x64xf16, strides=[64,1]>> -> tile<i32>
      %q = print_tko "%d %d %d %d", %a, %b, %c, %d
        : tile<i64>, tile<i64>, tile<i32>, tile<i32> -> token""")  # fmt: skip
    assert made == [
        "%a = arith.extsi %n : i32 to i64",
        "%b = arith.constant 64 : i64",
        "%0 = arith.constant 16 : i32",
        "%c = arith.ceildivsi %n, %0 : i32",
        "%d = arith.constant 2 : i32",
        '%q = print "%d %d %d %d", %a, %b, %c, %d : i64, i64, i32, i32 -> mem_token',
    ]


def test_hints_are_those_of_the_architecture():
    program = Program("%p: tile<ptr<f16>>", """
      %v = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf16, strides=[1]>
      %t = make_partition_view %v : partition_view<tile=(16), tensor_view<64xf16, strides=[1]>>
      %i = constant <i32: 0> : tile<i32>
      %a, %u = load_view_tko weak %t[%i] optimization_hints = <sm_90 = {latency = 5}, sm_100 = {allow_tma = false}>
        : partition_view<tile=(16), tensor_view<64xf16, strides=[1]>>, tile<i32> -> tile<16xf16>, token
      %d = store_view_tko weak %a, %t[%i]
        : tile<16xf16>, partition_view<tile=(16), tensor_view<64xf16, strides=[1]>>, tile<i32> -> token""")  # fmt: skip
    for gpu, hint in (("H100", "{latency = 5}"), ("B200", "{allow_tma = false}")):
        text = print_module(convert_cudatile_to_tileaa(program.module, context_for(gpu)))
        assert f"tiled_load %t [%i] {hint}" in text


@pytest.mark.parametrize(("op", "combine"), [
    ("addf %a, %b", "add"), ("maxf %b, %a propagate_nan", "max"), ("minf %a, %b", "min"), ("subf %a, %b", ""),
    ("addf %a, %a", ""),
])  # fmt: skip
def test_reductions_by_one_operation_are_named(op, combine):
    made = body("", f"""
      %x = constant <f32: [1.0, 2.0]> : tile<2xf32>
      %y = reduce %x dim=0 identities=[0.0 : f32] : tile<2xf32> -> tile<f32> (%a: tile<f32>, %b: tile<f32>) {{
        %c = {op} : tile<f32>
        yield %c : tile<f32>
      }}
      %q = print_tko "%f", %y : tile<f32> -> token""")  # fmt: skip
    wanted = f", combine = {combine}" if combine else ""
    assert any(f"reduce %x {{dim = 0, identities = [0.0 : f32]{wanted}}}" in line for line in made)


def test_what_has_no_counterpart_is_refused():
    program = Program("", "%p = alloca {num_elem = 4, alignment = 16} : tile<ptr<f32>>")
    with pytest.raises(TirxError, match=r"cuda_tile.alloca is not supported"):
        converted(program)


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)
@given(random_programs.modules(), st.integers(-3, 3))
def test_random_programs_mean_the_same(module, n):
    made = verify(convert_cudatile_to_tileaa(verify(module), context_for("H100")))
    assert random_programs.run(interpreter.interpret, made, n) == random_programs.run(cuda_tile.interpret, module, n)
    text = print_module(made)
    assert print_module(parse_module(text, [NV_TILEAA, *STANDARD])) == text
