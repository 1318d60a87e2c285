"""Mbarriers by the arrays that their addresses name, and branches on the lane that elect.sync chose."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tirx_mini.frontends.ptx.programs import entry, run
from tirx_mini.frontends.ptx.programs import read_ptx
from tirx_mini.ir import BufferStore, If
from tirx_mini.isa import instruction_of

STAGED = """ld.param.u64 %d0, [a]; mov.u32 %r0, %tid.x; mov.u64 %d1, dynamic; cvt.u32.u64 %r1, %d1;
setp.ne.u32 %p1, %r0, 0; @%p1 bra ready;
mbarrier.init.shared::cta.b64 [%r1+8], 1; mbarrier.init.shared::cta.b64 [%r1+16], 1;
mbarrier.init.shared::cta.b64 [%r1+24], 32; mbarrier.init.shared::cta.b64 [%r1+32], 32;
mbarrier.init.shared::cta.b64 [%r1+40], 7;
ready: bar.sync 0; mov.u32 %r2, 0;
again: shl.b32 %r3, %r2, 3; add.s32 %r4, %r1, %r3; and.b32 %r10, %r2, 1;
@!%p1 mbarrier.arrive.shared::cta.b64 %d5, [%r4+8];
full: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4+8], 0; @!%p2 bra full;
mbarrier.arrive.shared::cta.b64 %d6, [%r4+24];
add.s32 %r2, %r2, 1; setp.lt.u32 %p3, %r2, 2; @%p3 bra again;
"""
DYNAMIC = ".extern .shared .align 16 .b8 dynamic[];\n"


def test_stages_are_numbered_within_their_array() -> None:
    last = "wait: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r1+40], 0; @!%p4 bra wait;"
    report = run(entry("a", STAGED + last, DYNAMIC), np.zeros(1), smem=128)
    assert report.verdict == "deadlock"
    assert "dynamic+40" in report.findings[0].message and "dynamic+24" not in report.findings[0].message
    report = run(entry("a", STAGED, DYNAMIC), np.zeros(1), smem=128)
    assert report.verdict == "ok", report


@pytest.mark.parametrize("test", [
    "@!%p2 bra done;", "selp.b32 %r5, 1, 0, %p2; setp.eq.s32 %p3, %r5, 0; @%p3 bra done;",
    "selp.b32 %r5, 1, 0, %p2; setp.ne.s32 %p3, %r5, 0; @!%p3 bra done;",
])  # fmt: skip
def test_branches_on_an_election_have_it_as_their_condition(test: str) -> None:
    body = f"""ld.param.u64 %d0, [a]; elect.sync _|%p2, -1; {test}
        atom.global.add.u32 %r1, [%d0], 1; done:"""
    kernel = read_ptx(entry("a", body)).entry("k")
    out = np.zeros(1, np.uint32)
    func = kernel.lowered([out], grid=1, block=32).func
    (branch,) = func.of(If)
    chosen = instruction_of(branch.cond)
    assert chosen is not None and chosen.elects
    assert kernel.simulate([out], grid=1, block=32, gpu="h100").verdict == "ok" and out[0] == 1


@pytest.mark.parametrize(("body", "values"), [
    ("@%p1 mapa.shared::cluster.u32 %r9, %r1, 0; @%p1 mbarrier.arrive.shared::cluster.b64 _, [%r9];", True),
    ("@%p1 mapa.shared::cluster.u32 %r9, %r1, 0; mbarrier.arrive.shared::cluster.b64 _, [%r9];", False),
    ("@%p1 add.u32 %r9, %r1, 0; @%p1 setp.ne.u32 %p1, %r0, 1; @%p1 mbarrier.arrive.shared::cta.b64 _, [%r9];", False),
])  # fmt: skip
def test_registers_of_a_run_with_one_guard_are_values(body: str, values: bool) -> None:
    before = "ld.param.u64 %d0, [a]; mov.u32 %r0, %tid.x; mov.u32 %r1, bar; setp.ne.u32 %p1, %r0, 0;"
    text = entry("a", f".shared .align 8 .b8 bar[8];\n{before} {body}")
    func = read_ptx(text).entry("k").lowered([np.zeros(1)], grid=1, block=32, cluster=1).func
    assert any(store.buffer.name == "r9" for store in func.of(BufferStore)) is not values


DROP = """.shared .align 8 .b8 bar[8];
ld.param.u64 %d0, [a]; mov.u32 %r0, %tid.x; mov.u32 %r1, bar; setp.ne.u32 %p1, %r0, 0; @%p1 bra ready;
mbarrier.init.shared::cta.b64 [%r1], 64;
ready: bar.sync 0; setp.lt.u32 %p2, %r0, 32; @%p2 bra stays;
LEAVE
ret;
stays:
mbarrier.arrive.shared::cta.b64 _, [%r1];
first: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r1], 0; @!%p3 bra first;
mbarrier.arrive.shared::cta.b64 _, [%r1];
second: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r1], 1; @!%p3 bra second;
mbarrier.arrive.shared::cta.b64 _, [%r1];
third: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r1], 0; @!%p3 bra third;
"""


@pytest.mark.parametrize("leave", [
    "mbarrier.arrive_drop.shared::cta.b64 _, [%r1];", "mbarrier.arrive_drop.release.cta.shared.b64 %d5, [%r1];",
    "setp.ne.u32 %p4, %r0, 32; @%p4 ret; mbarrier.arrive_drop.shared::cta.b64 _, [%r1], 32;",
])  # fmt: skip
def test_threads_that_drop_out_are_expected_once(leave: str) -> None:
    report = run(entry("a", DROP.replace("LEAVE", leave)), np.zeros(1), block=(64,))
    assert report.verdict == "ok", str(report)


def test_threads_that_only_leave_are_missed() -> None:
    text = DROP.replace("LEAVE", "mbarrier.arrive.shared::cta.b64 _, [%r1];")
    report = run(entry("a", text), np.zeros(1), block=(64,))
    assert report.verdict == "deadlock"


def test_a_relaxed_wait_is_not_taken_for_one_that_acquires() -> None:
    text = STAGED.replace("try_wait.parity.shared::cta", "try_wait.parity.relaxed.cta.shared::cta")
    report = run(entry("a", text, DYNAMIC), np.zeros(1), smem=128)
    assert report.verdict == "incomplete" and "relaxed" in report.findings[0].message


def test_rounds_of_one_barrier_for_different_numbers_of_threads() -> None:
    text = entry("a", """mov.u32 %r0, %tid.x; setp.ge.u32 %p1, %r0, 64; @%p1 bra LATE; bar.sync 1, 64; bra DONE;
        LATE: nanosleep.u32 1000; bar.sync 1, 128; DONE:""")
    report = run(text, np.zeros(1, np.uint32), block=(192,))
    messages = [each.message for each in report.findings]
    assert any(
        message.startswith("barrier 1 is used for 128 threads by warp") and " and for 64 by warp" in message
        for message in messages
    ), messages
