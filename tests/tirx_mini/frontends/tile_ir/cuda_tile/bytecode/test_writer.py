"""Bytecode: a small module byte by byte, and every operation before NVIDIA's assembler where that is installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import ml_dtypes
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tirx_mini.frontends.tile_ir import programs
from tests.tirx_mini.frontends.tile_ir.programs import Program
from tirx_mini.frontends.tile_ir.cuda_tile import CUDA_TILE, ops
from tirx_mini.frontends.tile_ir.cuda_tile.bytecode import CODES, assemble, find_tileiras, write_bytecode
from tirx_mini.frontends.tile_ir.cuda_tile.bytecode.primitives import signed_varint, varint
from tirx_mini.frontends.tile_ir.ssa import Module, parse_module, verify
from tirx_mini.ir import TirxError

TILEIRAS = find_tileiras()
EVERY_OP = Path(__file__).parents[1] / "ops" / "every_op.mlir"

PROGRAM = Program(
    "%n: tile<i32>",
    """
  %c = constant <i32: 5> : tile<4xi32>
  %m = reshape %n : tile<i32> -> tile<1xi32>
  %b = broadcast %m : tile<1xi32> -> tile<4xi32>
  %s = addi %b, %c overflow<no_wrap> : tile<4xi32>
  %t = print_tko "%d", %s : tile<4xi32> -> token""",
)
GOLDEN = """
7f 54 69 6c 65 49 52 00  0d 04 00 00               | magic, version 13.4.0
82 1e 08 cb                                        | functions: 30 bytes, aligned to 8
  01                                               | one function
  00 02 02 00 18                                   | name 0, type 2, entry, no debug information, 24 bytes
  10 03 00                                         | %1 = constant: type 3, constant 0
  5b 04 00                                         | %2 = reshape: type 4, of %0
  0b 03 02                                         | %3 = broadcast: type 3, of %2
  03 03 03 03 01                                   | %4 = addi: type 3, no wrap, of %3 and %1
  55 01 05 00 01 01 04                             | %5 = print: 1 result of type 5, no token, string 1, 1 value: %4
  5c 00 00                                         | return: no results, no operands
84 15 08 cb cb cb cb cb cb cb                      | constants: 21 bytes, aligned to 8
  01 cb cb cb cb cb cb cb  00 00 00 00 00 00 00 00 | one, at 0
  04 05 00 00 00                                   | 4 bytes: 5
85 3b 04                                           | types: 59 bytes, aligned to 4
  06 cb cb cb                                      | six, at
  00 00 00 00 01 00 00 00 04 00 00 00              |
  08 00 00 00 13 00 00 00 1e 00 00 00              |
  03                                               | 0: i32
  0d 00 00                                         | 1: tile<i32>
  10 01 01 00                                      | 2: (tile<i32>) -> ()
  0d 00 01 04 00 00 00 00 00 00 00                 | 3: tile<4xi32>
  0d 00 01 01 00 00 00 00 00 00 00                 | 4: tile<1xi32>
  11                                               | 5: token
81 0f 04 cb cb                                     | strings: 15 bytes, aligned to 4
  02 cb cb cb  00 00 00 00 01 00 00 00             | two, at
  6b                                               | k
  25 64                                            | %d
00                                                 | end
"""
"""Bytes, and what they are."""


def golden() -> bytes:
    return bytes.fromhex("".join(line.split("|")[0] for line in GOLDEN.splitlines()))


def test_a_small_module_byte_by_byte():
    assert write_bytecode(PROGRAM.module).hex(" ") == golden().hex(" ")


def test_numbers_of_variable_width():
    assert [varint(n).hex() for n in (0, 127, 128, 300, 1 << 40)] == ["00", "7f", "8001", "ac02", "808080808020"]
    assert [signed_varint(n).hex() for n in (0, -1, 1, -64, 64)] == ["00", "01", "02", "7f", "8001"]


@given(st.integers(0, (1 << 64) - 1))
def test_numbers_of_variable_width_are_read_back(number):
    data = varint(number)
    assert sum((b & 0x7F) << 7 * i for i, b in enumerate(data)) == number
    assert all(b & 0x80 for b in data[:-1])
    assert not data[-1] & 0x80


def test_every_operation_has_a_code_of_its_own():
    own = set(CUDA_TILE.ops) - {"entry", "global"}
    assert set(CODES) == own
    assert len({code.opcode for code in CODES.values()}) == len(own)
    for name, code in CODES.items():
        kind = CUDA_TILE.ops[name]
        assert set(code.attrs) | {n for n in code.flags if n in kind.attrs} == set(kind.attrs) - _UNWRITTEN.get(
            name, set()
        )


_UNWRITTEN = {"atomic_red_view_tko": {"inbounds"}}
"""Attributes that version 13.4 has no place for."""


def test_what_the_bytecode_cannot_hold_is_refused():
    text = "cuda_tile.module @m { entry @k() { entry @inner() { return } return } }"
    with pytest.raises(TirxError, match=r"the bytecode has no operation cuda_tile\.entry"):
        write_bytecode(parse_module(text, [CUDA_TILE]))


def _kernels() -> Iterator[tuple[str, Module]]:
    """Each kernel of every_op.mlir in a module with the globals."""
    module = verify(parse_module(EVERY_OP.read_text(), [CUDA_TILE]))
    variables = tuple(op for op in module.ops if op.kind is ops.global_)
    for op in module.ops:
        if op.kind is ops.entry:
            yield op.sym_name, Module("m", (*variables, op))


CASES = {
    **dict(_kernels()),
    "transpose": programs.transpose((100, 37)).module,
    "product": programs.product("bf16", ml_dtypes.bfloat16).module,
    "atomics": programs.atomics().module,
    "reductions": programs.reductions().module,
    "rows": programs.rows().module,
    "early_exits": programs.early_exits(1).module,
    **{
        f"constants_{element}": Program(
            "",
            f"""
          %a = constant <{element}: {one}> : tile<16x{element}>
          %b = constant <{element}: [{one}, {zero}]> : tile<2x{element}>
          %c = reduce %a dim=0 identities=[{zero} : {element}] : tile<16x{element}> -> tile<{element}>
            (%x: tile<{element}>, %y: tile<{element}>) {{
            yield %x : tile<{element}>
          }}
          %q = print_tko "%d", %b : tile<2x{element}> -> token""",
        ).module
        for element, one, zero in (
            ("i1", "true", "false"),
            ("i8", "-1", "0"),
            ("i16", "-1", "0"),
            ("i64", "-1", "0"),
            ("f16", "1.5", "0x7C00"),
            ("bf16", "1.5", "0x7F80"),
            ("f32", "1.5", "0x7F800000"),
            ("f64", "1.5", "-0.5"),
            ("tf32", "1.5", "0.0"),
            ("f8E4M3FN", "1.5", "0.0"),
            ("f8E5M2", "1.5", "0.0"),
        )
    },
}


@pytest.mark.skipif(TILEIRAS is None, reason="tileiras is not installed (pip install nvidia-cuda-tileiras)")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("gpu", ["sm_90", "sm_100"])
def test_the_assembler_accepts_every_operation(name, gpu):
    assert TILEIRAS is not None
    assert assemble(write_bytecode(CASES[name]), gpu, TILEIRAS).startswith(b"\x7fELF")


@pytest.mark.skipif(TILEIRAS is None, reason="tileiras is not installed (pip install nvidia-cuda-tileiras)")
def test_the_assembler_says_what_is_wrong():
    assert TILEIRAS is not None
    data = write_bytecode(CASES["transpose"])
    with pytest.raises(TirxError, match="tileiras: error"):
        assemble(data[:40], "sm_90", TILEIRAS)
