"""arith, math and scf: text both ways, and what is refused."""

from __future__ import annotations

import pytest

from tirx_mini.ir import TirxError
from tirx_mini.tile_ir.nv_tileaa import LAYOUTS, STANDARD, parse_tensor
from tirx_mini.tile_ir.ssa import Dialect, Module, parse_module, print_module, verify

LEVEL = Dialect("nv_tileas", attributes=dict(LAYOUTS), types={"tensor": parse_tensor})

TEXT = """nv_tileas.module @m {
  %zero = arith.constant <i32: 0> : i32
  %n = arith.constant <i32: 16> : i32
  %x = arith.constant <f32: -1.5> : tensor<4x8xf32>
  %inf = arith.constant <f32: 0x7F800000> : f32
  %sum, %v0 = scf.for %i = %zero to %n step %n iter_args(%acc = %x, %at = %zero) -> (tensor<4x8xf32>, i32) : i32 {
    %v1 = arith.addf %acc, %acc {rounding_mode = zero} : tensor<4x8xf32>
    %v2 = math.exp2 %v1 : tensor<4x8xf32>
    %v3 = arith.cmpf olt, %v2, %x : tensor<4x8xf32>
    %v4 = arith.select %v3, %v2, %x : tensor<4x8xi1>, tensor<4x8xf32>
    %next = arith.addi %at, %i : i32
    scf.yield %v4, %next : tensor<4x8xf32>, i32
  }
  %v5 = arith.cmpi slt, %v0, %n : i32
  %v6 = scf.if %v5 -> (tensor<4x8xf16>) {
    %v7 = arith.truncf %sum : tensor<4x8xf32> to tensor<4x8xf16>
    scf.yield %v7 : tensor<4x8xf16>
  } else {
    %v8 = arith.constant <f16: 0.0> : tensor<4x8xf16>
    scf.yield %v8 : tensor<4x8xf16>
  }
  scf.if %v5 {
    scf.yield
  }
  %v9 = scf.while iter_args(%k = %zero) -> (i32) {
    %v10 = arith.cmpi slt, %k, %n : i32
    scf.condition (%v10) %k : i32
  } do {
  ^(%l: i32):
    %v11 = arith.addi %l, %n : i32
    scf.yield %v11 : i32
  }
}
"""


def _parsed(text: str) -> Module:
    return verify(parse_module(text, [LEVEL, *STANDARD]))


def test_text_is_read_back() -> None:
    assert print_module(_parsed(TEXT), "nv_tileas") == TEXT


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%y = arith.addi %x, %x : f32", "f32 is a floating-point type"),
        ("%y = arith.addf %i, %i : i32", "i32 is not a floating-point type"),
        ("%y = arith.addf %x, %t : f32", "operands have different types: f32, tensor<4xf32>"),
        ("%y = scf.for %k = %i to %i step %i iter_args(%a = %x) -> (i32) : i32 { scf.yield %x : f32 }",
         "a value of f32 goes in and one of i32"),
    ],
)  # fmt: skip
def test_wrong_types_are_refused(line: str, message: str) -> None:
    text = f"""nv_tileas.module @m {{
      %i = arith.constant <i32: 1> : i32
      %x = arith.constant <f32: 1.0> : f32
      %t = arith.constant <f32: 1.0> : tensor<4xf32>
      {line}
    }}"""
    with pytest.raises(TirxError, match=message):
        _parsed(text)
