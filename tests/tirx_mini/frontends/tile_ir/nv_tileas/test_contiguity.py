"""Which neighbours a tensor of addresses has, by the algebra of what they are computed from."""

from __future__ import annotations

import pytest

from tirx_mini.frontends.tile_ir.context import context_for
from tirx_mini.frontends.tile_ir.nv_tileaa import NV_TILEAA, STANDARD
from tirx_mini.frontends.tile_ir.nv_tileas import passes
from tirx_mini.frontends.tile_ir.nv_tileas.contiguity import Contiguity
from tirx_mini.frontends.tile_ir.ssa import Value, parse_module

T = "tensor<16x64xi32>"
PREAMBLE = f"""
%p16 = assume div_by<16>, %p : ptr<f16>
%n8 = assume div_by<8>, %n : i32
%own = make_range {{start = 0, end = 64}} : tensor<64xi32>
%line = expand_dims %own {{axis = 0}} : tensor<64xi32> -> tensor<1x64xi32>
%col = broadcast %line : tensor<1x64xi32> -> {T}
%down = make_range {{start = 0, end = 16}} : tensor<16xi32>
%side = expand_dims %down {{axis = 1}} : tensor<16xi32> -> tensor<16x1xi32>
%row = broadcast %side : tensor<16x1xi32> -> {T}
%w64 = arith.constant dense<64> : {T}
%w60 = arith.constant dense<60> : {T}
%at64 = arith.muli %row, %w64 : {T}
%at60 = arith.muli %row, %w60 : {T}
%place64 = arith.addi %at64, %col : {T}
%place60 = arith.addi %col, %at60 : {T}
%far = splat %n8 : i32 -> {T}
%off = splat %n : i32 -> {T}
%place_far = arith.addi %place64, %far : {T}
%place_off = arith.addi %place64, %off : {T}
%base = splat %p16 : ptr<f16> -> tensor<16x64xptr<f16>>
%loose = splat %p : ptr<f16> -> tensor<16x64xptr<f16>>
%at = addptr %base, %place64 : tensor<16x64xptr<f16>>, {T}
%at_loose = addptr %loose, %place64 : tensor<16x64xptr<f16>>, {T}
%in64 = arith.cmpi slt, %col, %w64 : {T}
%in60 = arith.cmpi slt, %col, %w60 : {T}
%above = arith.cmpi ult, %row, %w64 : {T}
%both = arith.andi %in64, %above : tensor<16x64xi1>
%turned = permute %place64 [1, 0] : {T} -> tensor<64x16xi32>
"""


@pytest.fixture(scope="module")
def values() -> tuple[Contiguity, dict[str, Value]]:
    text = f"nv_tileaa.module @m {{ func @f(%p: ptr<f16>, %n: i32) {{ {PREAMBLE} return }} }}"
    module = passes.convert_tileaa_to_tileas(parse_module(text, [NV_TILEAA, *STANDARD]), context_for("h100"))
    (func,) = module.ops
    return Contiguity(func.body), {value.hint: value for op in func.body.walk() for value in op.results}


@pytest.mark.parametrize(
    ("name", "axis", "most"),
    [("col", 1, 64), ("place64", 1, 64), ("place60", 1, 4), ("place_far", 1, 8), ("place_off", 1, 1), ("at", 1, 8),
     ("at_loose", 1, 1), ("place64", 0, 1), ("turned", 0, 64), ("row", 0, 16), ("w64", 1, 1)],
)  # fmt: skip
def test_consecutive(values: tuple[Contiguity, dict[str, Value]], name: str, axis: int, most: int) -> None:
    known, named = values
    found = [count for count in (2, 4, 8, 16, 32, 64) if known.consecutive(named[name], axis, count)]
    assert max(found, default=1) == most


@pytest.mark.parametrize(
    ("name", "axis", "most"),
    [("row", 1, 64), ("w60", 1, 64), ("in64", 1, 64), ("in60", 1, 4), ("above", 1, 64), ("both", 1, 64),
     ("col", 1, 1), ("above", 0, 16), ("row", 0, 1)],
)  # fmt: skip
def test_equal(values: tuple[Contiguity, dict[str, Value]], name: str, axis: int, most: int) -> None:
    known, named = values
    found = [count for count in (2, 4, 8, 16, 32, 64) if known.equal(named[name], axis, count)]
    assert max(c for c in [1, *found] if c <= named[name].type.shape[axis]) == most


@pytest.mark.parametrize(("name", "divisor"), [("at64", 64), ("at60", 60), ("n8", 8), ("n", 1), ("far", 8), ("p16", 8)])
def test_divisor(values: tuple[Contiguity, dict[str, Value]], name: str, divisor: int) -> None:
    known, named = values
    value = named[name] if name in named else known.defs[named["off"]].source
    assert known.divisor(value) == divisor
