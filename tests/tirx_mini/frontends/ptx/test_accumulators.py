"""Moves between the accumulators of wgmma, which ptxas leaves out, and text that keeps them in memory."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tirx_mini.frontends.ptx.cuda.catalog import PROGRAMS
from tests.tirx_mini.frontends.ptx.programs import HEADER, entry, run
from tirx_mini.diagnose import Report
from tirx_mini.frontends.ptx.accumulators import in_place
from tirx_mini.frontends.ptx.blocks import Block, End, Jump
from tirx_mini.frontends.ptx.registers import name_of, registers_in
from tirx_mini.frontends.ptx.syntax import Immediate, Instruction, Register, Vector

START = """\
ld.param.u64 %d0, [out];
mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 16; add.s64 %d0, %d0, %d1;
setp.ne.u32 %p2, 0, 0; setp.eq.u32 %p3, 0, 0; mov.u64 %d3, a; cvt.u32.u64 %r1, %d3;
shl.b32 %r2, %r0, 2; add.u32 %r2, %r2, %r1;
mov.b32 %r3, 1006648320;
st.shared.b32 [%r2], %r3; st.shared.b32 [%r2+512], %r3; st.shared.b32 [%r2+1024], %r3; st.shared.b32 [%r2+1536], %r3;
shr.u32 %r4, %r1, 4; cvt.u64.u32 %d4, %r4; or.b64 %d4, %d4, 68720001024;
fence.proxy.async.shared::cta; bar.sync 0;
"""
PRODUCT = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{{0}}}, %d4, %d4, {1}, 1, 1, 0, 0;\n"
FENCE = "wgmma.fence.sync.aligned;\n"
WAIT = "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"


def named(first: int) -> str:
    return ", ".join(f"%f{first + number}" for number in range(4))


def moved(to: int, origin: int) -> str:
    return "".join(f"mov.f32 %f{to + number}, %f{origin + number};\n" for number in range(4))


def stored(first: int) -> str:
    return f"st.global.v4.f32 [%d0], {{{named(first)}}};\n"


def simulated(body: str, header: str = HEADER) -> tuple[Report, np.ndarray]:
    out = np.zeros(512, np.float32)
    text = entry("out", START + body, ".shared .align 128 .b8 a[2048];\n", header)
    return run(text, out, block=(128,)), out


TWICE = (
    FENCE + PRODUCT.format(named(0), "%p2") + moved(4, 0) + PRODUCT.format(named(4), "%p3") + moved(8, 4)
    + WAIT + stored(8)
)  # fmt: skip


def test_moves_behind_a_wgmma_are_none() -> None:
    report, out = simulated(TWICE)
    assert report.ok and not report.findings, report
    assert out[0] and (out == out[0]).all()


def test_accumulators_of_a_loop_stay_in_place() -> None:
    zero = "".join(f"mov.f32 %f{number}, 0f00000000;\n" for number in range(4))
    body = (
        zero + FENCE + "mov.u32 %r5, 0;\nLOOP:\n" + moved(4, 0) + PRODUCT.format(named(4), "%p3") + moved(0, 4)
        + "add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 3;\n@%p1 bra LOOP;\n" + WAIT + stored(4)
    )
    report, out = simulated(body)
    twice = simulated(TWICE)[1]
    assert report.ok and not report.findings, report
    assert np.allclose(out, 1.5 * twice) and out.any()


@pytest.mark.parametrize(
    "use",
    [
        moved(12, 0) + "add.f32 %f0, %f12, %f12;\n",
        "add.f32 %f12, %f0, %f0;\nst.global.f32 [%d0], %f12;\n",
        stored(0),
    ],
    ids=["a copy that is needed beside the sum", "a sum", "a store"],
)
def test_what_is_done_with_a_sum_before_the_wait_is_found(use: str) -> None:
    report, _ = simulated(FENCE + PRODUCT.format(named(0), "%p2") + use + WAIT + stored(0))
    assert "TX212" in {finding.code for finding in report.findings}, report


def test_text_without_optimisation_waits_for_each_wgmma() -> None:
    """It keeps the sums in memory between two of them, for which ptxas waits."""
    kept = "st.local.v4.f32 [depot], {%s};\nld.local.v4.f32 {%s}, [depot];\n"
    body = ".local .align 16 .b8 depot[16];\n" + TWICE.replace(moved(4, 0), kept % (named(0), named(4)))
    assert "TX212" in {finding.code for finding in simulated(body)[0].findings}
    report, out = simulated(body, HEADER.replace("sm_90a", "sm_90a, debug"))
    assert report.ok and not report.findings, report
    assert (out == simulated(TWICE)[1]).all() and out.any()


TILE = next(each for each in PROGRAMS if each.name == "wgmma_tile")
TILE_WAIT = '    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  //-\n'


def codes(text: str) -> set[str]:
    assert text != TILE.text
    return {each.code for report in TILE.run(text)[1] for each in report.findings}


def test_the_same_registers_pass_a_fence_of_the_compiler() -> None:
    fence = 'asm volatile("" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) :: "memory");\n'
    work, reports = TILE.run(TILE.text.replace(TILE_WAIT, f"{fence}{TILE_WAIT}{fence}"))
    assert not reports[0].findings and work.right()


def test_a_copy_that_is_kept_beside_the_accumulator_is_read_in_flight() -> None:
    text = TILE.text.replace(TILE_WAIT, "    const float early = d[0];\n    d[0] += 1.0f;\n" + TILE_WAIT)
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
    found = in_place(blocks, dict.fromkeys(("%a", "%b", "%c"), ("f32", 1)))
    written = {name_of(each) for block in found.values() for one in block.code for each in registers_in(one.operands)}
    assert len(written) == 2
    assert [each.opcode[0] for each in found[1].code] == ["wgmma", "mov"]


def test_other_kernels_stay_as_they_are() -> None:
    blocks = {0: Block((_mov("%a", "%b"),), End())}
    assert in_place(blocks, {"%a": ("f32", 1), "%b": ("f32", 1)}) is blocks
