"""Opcodes as CUTLASS, Triton and compilers on LLVM write them: the calls of those that the table has."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tirx_mini.frontends.ptx.programs import entry, run
from tirx_mini.arguments import TensorMap
from tirx_mini.frontends.ptx.programs import read_ptx

HEADER = ".version 9.0\n.target sm_{}a\n.address_size 64\n"
_MMA = "tcgen05.mma.cta_group::1.kind::f16{} [%r1], {}, %d2, %r2, {}%p1;"
_LOAD = "cp.async.bulk.tensor.2d{}.shared::cluster.global{}.mbarrier::complete_tx::bytes{} [%r1], [%d5, {{%r2, %r3}}], "
_COMMIT = "tcgen05.commit.cta_group::1.mbarrier::arrive::one{}{}.b64 [%r1]{};"


def call(line: str, arch: int = 100) -> str:
    """The kernel of one instruction, as TIRx."""
    body = f"mov.b64 %d5, m;\n{line}"
    text = entry("a", body, header=HEADER.format(arch)).replace(
        ".param .u64 a\n", ".param .u64 a,\n.param .align 64 .b8 m[128]\n"
    )
    arguments = (np.zeros(4, np.int32), TensorMap(np.zeros((64, 64), np.float16), box=(64, 64)))
    return read_ptx(text).entry("k").lowered(arguments, grid=(1,), block=(128,), cluster=(2,)).func.script()


@pytest.mark.parametrize(
    ("given", "usual"),
    [
        (_MMA.format(".collector::a::discard", "%d1", ""), _MMA.format("", "%d1", "")),
        (_MMA.format(".collector::a::fill", "%d1", "{%r3, %r4, %r5, %r6}, "),
         _MMA.format("", "%d1", "{%r3, %r4, %r5, %r6}, ")),
        (_MMA.format(".collector::a::lastuse", "[%r7]", ""), _MMA.format("", "[%r7]", "")),
        ("tcgen05.mma.ws.cta_group::1.kind::f16.collector::b0::discard [%r1], %d1, %d2, %r2, %p1;",
         "tcgen05.mma.ws.cta_group::1.kind::f16 [%r1], %d1, %d2, %r2, %p1, 0;"),
        (_COMMIT.format("", "", ""), _COMMIT.format(".shared::cluster", "", "")),
        (_COMMIT.format("", ".multicast::cluster", ", %h1"),
         _COMMIT.format(".shared::cluster", ".multicast::cluster", ", %h1")),
        ("tcgen05.alloc.cta_group::1.sync.aligned.b32 [%r1], 64;",
         "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 64;"),
        (_LOAD.format(".cta_group::2", "", "") + "[%r4];", _LOAD.format("", ".tile", ".cta_group::2") + "[%r4];"),
        (_LOAD.format(".cta_group::2", "", ".multicast::cluster.L2::cache_hint") + "[%r4], %h1, %d6;",
         _LOAD.format("", ".tile", ".multicast::cluster.cta_group::2.L2::cache_hint") + "[%r4], %h1, %d6;"),
        (_LOAD.format("", ".tile", ".cta_group::1") + "[%r4];", _LOAD.format("", ".tile", "") + "[%r4];"),
        ("mbarrier.complete_tx.shared::cluster.relaxed.cluster.b64 [%r1], %r2;",
         "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r1], %r2;"),
        ("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r1], %r2;",
         "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r1], %r2;"),
    ],
)  # fmt: skip
def test_another_spelling_is_the_same_call(given: str, usual: str) -> None:
    assert call(given).replace(f"Tx.int64(r1) - {1 << 56}", "r1") == call(usual)  # of a generic address


@pytest.mark.parametrize(("mask", "codes"), [("-1", set[str]()), ("255", {"TX306"})])
def test_the_members_of_an_election_may_stand_in_a_register(mask: str, codes: set[str]) -> None:
    """As in CUTLASS, whose inline assembly takes the mask in a register."""
    body = f"""ld.param.u64 %d0, [a]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; add.s64 %d0, %d0, %d1;
        mov.b32 %r2, {mask}; elect.sync %r3|%p1, %r2; selp.b32 %r4, 1, 0, %p1; st.global.b32 [%d0], %r4;"""
    out = np.zeros(32, np.int32)
    report = run(entry("a", body), out)
    assert {finding.code for finding in report.findings} == codes, report
    assert codes or (out == (np.arange(32) == 0)).all()
