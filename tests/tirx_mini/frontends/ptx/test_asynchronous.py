"""Asynchronous copies, mbarriers, matrices of warps, output and traps."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tirx_mini.frontends.ptx.programs import entry, run

READ = """mov.u32 %r0, %tid.x; mul.wide.u32 %d9, %r0, 16; cvt.u32.u64 %r9, %d9;
ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b]; add.s64 %d2, %d0, %d9; add.s64 %d3, %d1, %d9;
mov.u32 %r1, tile; add.s32 %r2, %r1, %r9;
"""
TILE = ".shared .align 128 .b8 tile[1024];\n.shared .align 8 .b64 bar[2];\n"
COPY = "ld.shared.v4.u32 {%r20, %r21, %r22, %r23}, [%r2]; st.global.v4.u32 [%d3], {%r20, %r21, %r22, %r23};"


def copied(body: str, nbytes: int = 512, **options: object) -> tuple[np.ndarray, np.ndarray, object]:
    data = np.random.default_rng(1).integers(0, 256, nbytes).astype(np.uint8)
    out = np.zeros_like(data)
    return data, out, run(entry("a b", READ + body, TILE), data, out, **options)


def test_cp_async_copies_and_waits_for_its_groups() -> None:
    data, out, report = copied("""cp.async.cg.shared.global [%r2], [%d2], 16; cp.async.commit_group;
        cp.async.wait_group 0;""" + COPY)
    assert report.verdict == "ok", report
    np.testing.assert_array_equal(out, data)
    data, out, report = copied("""cp.async.ca.shared.global [%r2], [%d2], 8; add.s32 %r3, %r2, 8; add.s64 %d4, %d2, 8;
        cp.async.ca.shared.global [%r3], [%d4], 8, 4; cp.async.wait_all;""" + COPY)
    assert report.verdict == "ok", report
    expected = data.reshape(32, 16).copy()
    expected[:, 12:] = 0
    np.testing.assert_array_equal(out.reshape(32, 16), expected)


def test_a_read_before_the_wait_is_a_hazard_at_its_line() -> None:
    body = "cp.async.cg.shared.global [%r2], [%d2], 16;\ncp.async.commit_group;\n" + COPY
    _, _, report = copied(body)
    assert report.verdict == "hazard", report
    span = report.findings[0].span
    assert span is not None and "ld.shared" in entry("a b", READ + body, TILE).splitlines()[span.line - 1]


@pytest.mark.parametrize(("count", "verdict"), [(0, "ok"), (1, "hazard")])
def test_lanes_that_commit_apart_have_groups_of_their_own(count: int, verdict: str) -> None:
    """The upper lanes commit a second, empty group, so that wait_group 1 completes the copies of these lanes only."""
    data, out, report = copied(f"""cp.async.cg.shared.global [%r2], [%d2], 16; cp.async.commit_group;
        setp.ge.u32 %p1, %r0, 16; @%p1 cp.async.commit_group; cp.async.wait_group {count};""" + COPY)
    assert report.verdict == verdict, report
    assert {finding.code for finding in report.findings} == ({"TX201"} if count else set())
    np.testing.assert_array_equal(out.reshape(2, 256)[1], data.reshape(2, 256)[1])
    assert (out[:256] == data[:256]).all() == (not count)


_LOOPS = {
    "branches": """WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], 0; @%p2 bra DONE; bra WAIT; DONE:""",
    "negated": """WAIT: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [%r4], 0, 10000; @!%p2 bra WAIT;""",
    "number": """WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], 0; selp.b32 %r5, 1, 0, %p2;
        setp.ne.s32 %p3, %r5, 0; @%p3 bra DONE; bra WAIT; DONE:""",
    "test": """WAIT: mbarrier.test_wait.parity.shared::cta.b64 %p2, [%r4], 0; @!%p2 bra WAIT;""",
    "generic": """mov.u64 %d6, bar; cvta.shared.u64 %d6, %d6;
        WAIT: mbarrier.try_wait.parity.b64 %p2, [%d6], 0; @!%p2 bra WAIT;""",
}


@pytest.mark.parametrize("loop", _LOOPS)
def test_bulk_copies_complete_on_an_mbarrier(loop: str) -> None:
    data, out, report = copied("""mov.u32 %r4, bar; setp.ne.u32 %p1, %r0, 0;
        @%p1 bra ready;
        mbarrier.init.shared::cta.b64 [%r4], 1; fence.mbarrier_init.release.cluster;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 512;
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d0], 512, [%r4];
        ready: bar.sync 0;""" + _LOOPS[loop] + COPY)
    assert report.verdict == "ok", report
    np.testing.assert_array_equal(out, data)


def test_a_phase_that_never_completes_is_a_deadlock_at_its_wait() -> None:
    body = """mov.u32 %r4, bar; setp.ne.u32 %p1, %r0, 0;
        @!%p1 mbarrier.init.shared::cta.b64 [%r4], 2;
        bar.sync 0;
        @!%p1 mbarrier.arrive.shared::cta.b64 %d20, [%r4];
        """ + _LOOPS["branches"]
    _, _, report = copied(body)
    span = report.findings[0].span
    assert report.verdict == "deadlock" and span is not None
    assert "try_wait" in entry("a b", READ + body, TILE).splitlines()[span.line - 1]


def test_the_state_of_an_arrival_names_the_phase_to_wait_for() -> None:
    data, out, report = copied("""mov.u32 %r4, bar; setp.ne.u32 %p1, %r0, 0;
        @!%p1 mbarrier.init.shared::cta.b64 [%r4], 32;
        bar.sync 0;
        ld.global.v4.u32 {%r20, %r21, %r22, %r23}, [%d2]; st.shared.v4.u32 [%r2], {%r20, %r21, %r22, %r23};
        mbarrier.arrive.shared::cta.b64 %d20, [%r4];
        WAIT: mbarrier.try_wait.shared::cta.b64 %p2, [%r4], %d20; @!%p2 bra WAIT;
        xor.b32 %r3, %r9, 256; add.s32 %r2, %r1, %r3;""" + COPY)
    assert report.verdict == "ok", report
    np.testing.assert_array_equal(out, np.roll(data, 256))


def test_bulk_stores_leave_shared_memory() -> None:
    data, out, report = copied("""ld.global.v4.u32 {%r20, %r21, %r22, %r23}, [%d2];
        st.shared.v4.u32 [%r2], {%r20, %r21, %r22, %r23}; fence.proxy.async.shared::cta; bar.sync 0;
        setp.ne.u32 %p1, %r0, 0; @%p1 bra done;
        cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r1], 512; cp.async.bulk.commit_group;
        cp.async.bulk.wait_group 0;
        done:""")
    assert report.verdict == "ok", report
    np.testing.assert_array_equal(out, data)


@pytest.mark.parametrize("kind", ["f32", "f16"])
def test_fragments_of_matrices_are_multiplied(kind: str) -> None:
    """D [16, 8] = A [16, 16] B [16, 8] with ldmatrix, mma and stores of the fragment."""
    rng = np.random.default_rng(2)
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((16, 16), (16, 8)))
    single = kind == "f32"
    d = np.zeros((16, 8), np.float32 if single else np.float16)
    zeros = "mov.b32 %r{}, 0;"
    count = 4 if single else 2
    result = ", ".join(f"%r{50 + i}" for i in range(count))
    store = """shr.u32 %r60, %r0, 2; and.b32 %r61, %r0, 3; mad.lo.u32 %r62, %r60, 4, %r61;
        """ + ("""mul.wide.u32 %d20, %r62, 8; add.s64 %d21, %d3, %d20; st.global.v2.b32 [%d21], {%r50, %r51};
        st.global.v2.b32 [%d21+256], {%r52, %r53};""" if single else """mul.wide.u32 %d20, %r62, 4;
        add.s64 %d21, %d3, %d20; st.global.b32 [%d21], %r50; st.global.b32 [%d21+128], %r51;""")
    text = entry("a b d", """mov.u32 %r0, %tid.x; ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; ld.param.u64 %d3, [d];
        mov.u32 %r1, tile; mul.wide.u32 %d4, %r0, 16; cvt.u32.u64 %r2, %d4; add.s32 %r3, %r1, %r2;
        add.s64 %d5, %d1, %d4;
        ld.global.v4.u32 {%r20, %r21, %r22, %r23}, [%d5]; st.shared.v4.u32 [%r3], {%r20, %r21, %r22, %r23};
        and.b32 %r4, %r0, 15; mul.wide.u32 %d6, %r4, 16; add.s64 %d7, %d2, %d6; cvt.u32.u64 %r5, %d6;
        ld.global.v4.u32 {%r24, %r25, %r26, %r27}, [%d7]; add.s32 %r6, %r1, %r5; setp.lt.u32 %p1, %r0, 16;
        @%p1 st.shared.v4.u32 [%r6+512], {%r24, %r25, %r26, %r27};
        bar.warp.sync -1;
        and.b32 %r7, %r0, 15; shl.b32 %r7, %r7, 5; and.b32 %r8, %r0, 16; add.s32 %r7, %r7, %r8;
        add.s32 %r7, %r7, %r1;
        ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r30, %r31, %r32, %r33}, [%r7];
        ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r40, %r41}, [%r6+512];
        """ + " ".join(zeros.format(50 + i) for i in range(count)) + f"""
        mma.sync.aligned.m16n8k16.row.col.{kind}.f16.f16.{kind} {{{result}}}, {{%r30, %r31, %r32, %r33}},
            {{%r40, %r41}}, {{{result}}};
        """ + store, TILE)
    report = run(text, a, b, d)
    assert report.verdict == "ok", report
    np.testing.assert_array_equal(d.astype(np.float32), a.astype(np.float32) @ b.astype(np.float32))


def test_printf_writes_its_values(capsys: pytest.CaptureFixture[str]) -> None:
    before = """.extern .func (.param .b32 r) vprintf (.param .b64 p, .param .b64 q);
.global .align 1 .b8 form[14] = {37, 100, 32, 37, 46, 50, 102, 32, 37, 108, 108, 117, 10, 0};
"""
    text = entry("a", """.local .align 8 .b8 frame[24];
        mov.u32 %r0, %tid.x; setp.gt.u32 %p1, %r0, 1; @%p1 bra done;
        mov.u64 %d1, frame; cvta.local.u64 %d2, %d1; st.local.u32 [%d1], %r0; mov.f64 %g1, 0d3FF8000000000000;
        st.local.f64 [%d1+8], %g1; st.local.u64 [%d1+16], 12345678901; mov.u64 %d3, form; cvta.global.u64 %d4, %d3;
        { .param .b64 param0; st.param.b64 [param0+0], %d4; .param .b64 param1; st.param.b64 [param1+0], %d2;
          .param .b32 retval0; call.uni (retval0), vprintf, (param0, param1); ld.param.b32 %r3, [retval0+0]; }
        done:""", before)
    assert run(text, np.zeros(1)).verdict == "ok"
    assert capsys.readouterr().out == "0 1.50 12345678901\n1 1.50 12345678901\n"


def test_traps_and_failed_assertions_end_the_launch() -> None:
    report = run(entry("a", "mov.u32 %r0, %tid.x; setp.eq.u32 %p1, %r0, 3;\n@%p1 trap;"), np.zeros(1))
    assert report.verdict == "fault" and "trap" in report.findings[0].message
    before = """.extern .func __assertfail
(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
"""
    call = "{ .param .b64 p0; .param .b64 p1; .param .b32 p2; .param .b64 p3; .param .b64 p4;"
    call += " call.uni __assertfail, (p0, p1, p2, p3, p4); }"
    report = run(entry("a", "mov.u32 %r0, %tid.x; setp.ne.u32 %p1, %r0, 3; @%p1 bra ok;\n" + call + "ok:", before),
                 np.zeros(1))  # fmt: skip
    assert report.verdict == "fault" and "assertion" in report.findings[0].message


_REFUSED = (
    "multimem.red.global.add.f32 [%d0], %f1;", "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%d0, {%r1}];",
    "mov.u32 %r1, %smid;",
)  # fmt: skip


@pytest.mark.parametrize("line", _REFUSED)
def test_what_is_not_executed_is_refused_in_a_sentence_with_its_line(line: str) -> None:
    text = entry("a", "ld.param.u64 %d0, [a];\n" + line)
    report = run(text, np.zeros(1))
    finding = report.findings[0]
    assert report.verdict == "incomplete" and finding.span is not None
    assert text.splitlines()[finding.span.line - 1].strip() == line


def test_bulk_stores_of_zeros() -> None:
    body = """mov.u32 %r20, 7; st.shared.v4.u32 [%r2], {%r20, %r20, %r20, %r20}; bar.sync 0;
        setp.eq.u32 %p1, %r0, 0; @%p1 st.bulk.weak.shared::cta [%r1], 256, 0; bar.sync 0;""" + COPY
    text = entry("a b", READ + body, TILE, ".version 9.0\n.target sm_100a\n.address_size 64\n")
    out = np.zeros(512, np.uint8)
    report = run(text, np.zeros(512, np.uint8), out, gpu="b200")
    assert report.verdict == "ok", report
    assert not out[:256].any() and (out[256:].view(np.uint32) == 7).all()


def test_a_loop_may_begin_with_a_wait() -> None:
    data, out, report = copied("""mov.u32 %r4, bar; setp.ne.u32 %p1, %r0, 0; mov.u32 %r6, 0; mov.u32 %r7, 0;
        @!%p1 mbarrier.init.shared::cta.b64 [%r4], 1; bar.sync 0;
        setp.gt.u32 %p5, %r0, 31; @%p5 bra writer;
        WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], %r6; @!%p2 bra WAIT;
        add.s32 %r7, %r7, 1; xor.b32 %r6, %r6, 1; bar.sync 1, 64; setp.lt.u32 %p3, %r7, 4; @%p3 bra WAIT;
        ld.global.v4.u32 {%r20, %r21, %r22, %r23}, [%d2]; st.global.v4.u32 [%d3], {%r20, %r21, %r22, %r23}; bra done;
        writer: nanosleep.u32 20000; setp.eq.u32 %p6, %r0, 32;
        @%p6 mbarrier.arrive.shared::cta.b64 %d20, [%r4];
        bar.sync 1, 64; add.s32 %r7, %r7, 1; setp.lt.u32 %p3, %r7, 4; @%p3 bra writer;
        done:""", block=(64,), budget=20000)
    assert report.verdict == "ok", report
    np.testing.assert_array_equal(out, data)
