"""Accumulators of wgmma that the compiler copies: what it does is no finding, and what the source does is one."""

from __future__ import annotations

import pytest

from tests.tirx_mini.frontends.ptx.cuda.catalog import PROGRAMS
from tirx_mini.frontends.ptx.blocks import Block, End, Jump
from tirx_mini.frontends.ptx.coalescing import coalesced
from tirx_mini.frontends.ptx.registers import name_of, registers_in
from tirx_mini.frontends.ptx.syntax import Immediate, Instruction, Register, Vector

TILE = next(each for each in PROGRAMS if each.name == "wgmma_tile")
WAIT = '    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  //-\n'


def codes(text: str) -> set[str]:
    assert text != TILE.text
    return {each.code for report in TILE.run(text)[1] for each in report.findings}


def test_the_same_registers_pass_a_fence_of_the_compiler() -> None:
    fence = 'asm volatile("" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) :: "memory");\n'
    work, reports = TILE.run(TILE.text.replace(WAIT, f"{fence}{WAIT}{fence}"))
    assert not reports[0].findings and work.right()


def test_a_copy_that_is_kept_beside_the_accumulator_is_read_in_flight() -> None:
    text = TILE.text.replace(WAIT, "    const float early = d[0];\n    d[0] += 1.0f;\n" + WAIT)
    assert "TX212" in codes(text.replace("= d[1];", "= d[1] + early;"))


@pytest.mark.parametrize(("value", "expected"), [("0.0f", False), ("__half2float(A[tid])", True)])
def test_only_a_value_that_is_computed_behind_the_fence_needs_another(value: str, expected: bool) -> None:
    text = TILE.text.replace("    for (int k = 0; k < 2", f"    d[0] = {value};\n    for (int k = 0; k < 2")
    assert ("TX211" in codes(text)) is expected


def _mov(target: str, source: str | int) -> Instruction:
    given = Immediate(source) if isinstance(source, int) else Register(source)
    return Instruction(("mov", "f32"), (Register(target), given))


def _mma(*names: str) -> Instruction:
    return Instruction(("wgmma", "mma_async"), (Vector(tuple(map(Register, names))),))


def test_copies_around_a_loop_become_one_register() -> None:
    """a is an accumulator, b its copy at the end of the loop, c a copy that is needed with it."""
    loop = Block((_mov("%a", "%b"), _mma("%a"), _mov("%c", "%a"), _mov("%b", "%a")), Jump(2))
    use = Instruction(("st", "f32"), (Register("%c"), Register("%b")))
    blocks = {0: Block((_mov("%b", 0),), Jump(1)), 1: loop, 2: Block((use,), End())}
    found = coalesced(blocks, dict.fromkeys(("%a", "%b", "%c"), ("f32", 1)))
    written = {name_of(each) for block in found.values() for one in block.code for each in registers_in(one.operands)}
    assert len(written) == 2
    assert [each.opcode[0] for each in found[1].code] == ["wgmma", "mov"]


def test_other_kernels_stay_as_they_are() -> None:
    blocks = {0: Block((_mov("%a", "%b"),), End())}
    assert coalesced(blocks, {"%a": ("f32", 1), "%b": ("f32", 1)}) is blocks
