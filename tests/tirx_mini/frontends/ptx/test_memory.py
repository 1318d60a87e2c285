"""Loads, stores and atomic operations in every state space, against NumPy."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from tests.tirx_mini.frontends.ptx.programs import entry, run

THREAD = """mov.u32 %r0, %tid.x;
ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b];
"""


def test_vectors_of_all_widths_are_loaded_and_stored() -> None:
    for kind, count, name in (
        ("u8", 4, "h"), ("b16", 2, "h"), ("u16", 4, "h"), ("b32", 2, "r"), ("f32", 4, "f"), ("b64", 2, "d"),
        ("f64", 2, "g"),
    ):  # fmt: skip
        width = int(kind[1:]) // 8 * count
        registers = ", ".join(f"%{name}{i}" for i in range(10, 10 + count))
        turned = ", ".join(f"%{name}{i}" for i in reversed(range(10, 10 + count)))
        text = entry("a b", THREAD + f"""
            mul.wide.u32 %d2, %r0, {width}; add.s64 %d3, %d0, %d2; add.s64 %d4, %d1, %d2;
            ld.global.v{count}.{kind} {{{registers}}}, [%d3];
            st.global.v{count}.{kind} [%d4], {{{turned}}};""")
        data = np.random.default_rng(1).integers(0, 256, (32, width)).astype(np.uint8)
        out = np.zeros_like(data)
        assert run(text, data, out).verdict == "ok"
        each = width // count
        expected = data.reshape(32, count, each)[:, ::-1].reshape(32, width)
        np.testing.assert_array_equal(out, expected)


def test_eight_words_are_one_access_on_blackwell() -> None:
    registers = ", ".join(f"%r{i}" for i in range(10, 18))
    text = entry("a b", THREAD + f"""
        mul.wide.u32 %d2, %r0, 32; add.s64 %d3, %d0, %d2; add.s64 %d4, %d1, %d2;
        ld.global.v8.b32 {{{registers}}}, [%d3];
        st.global.v8.b32 [%d4], {{{registers}}};""", header=".version 9.0\n.target sm_100a\n.address_size 64\n")
    data = np.arange(256, dtype=np.uint32)
    out = np.zeros_like(data)
    assert run(text, data, out, gpu="b200").verdict == "ok"
    np.testing.assert_array_equal(out, data)


def test_narrow_loads_extend_by_zeros_or_by_their_sign() -> None:
    text = entry("a b", THREAD + """
        cvt.u64.u32 %d2, %r0; add.s64 %d3, %d0, %d2; mul.wide.u32 %d4, %r0, 8; add.s64 %d5, %d1, %d4;
        ld.global.s8 %r1, [%d3]; ld.global.u8 %r2, [%d3];
        st.global.v2.u32 [%d5], {%r1, %r2};""")
    data = np.arange(100, 132, dtype=np.uint8)
    out = np.zeros((32, 2), np.int32)
    assert run(text, data, out).verdict == "ok"
    np.testing.assert_array_equal(out[:, 0], data.view(np.int8))
    np.testing.assert_array_equal(out[:, 1], data)


def test_hints_about_caches_and_memory_orders_change_no_value() -> None:
    loads = ["ld.global.nc.L1::no_allocate.L2::128B.b32", "ld.global.ca.b32", "ld.global.cg.u32",
             "ld.volatile.global.b32", "ld.relaxed.gpu.global.u32", "ld.acquire.sys.global.b32", "ldu.global.u32",
             "ld.weak.global.b32"]  # fmt: skip
    stores = ["st.global.wb.b32", "st.global.cg.b32", "st.volatile.global.u32", "st.relaxed.gpu.global.u32",
              "st.release.gpu.global.b32", "st.weak.global.b32", "st.b32", "st.global.L1::no_allocate.b32"]  # fmt: skip
    body = ["mul.wide.u32 %d2, %r0, 4; add.s64 %d3, %d0, %d2; add.s64 %d4, %d1, %d2;"]
    for place, (load, store) in enumerate(zip(loads, stores, strict=True)):
        body.append(f"{load} %r{10 + place}, [%d3+{128 * place}]; {store} [%d4+{128 * place}], %r{10 + place};")
    data = np.arange(256, dtype=np.int32)
    out = np.zeros_like(data)
    assert run(entry("a b", THREAD + "\n".join(body)), data, out).verdict == "ok"
    np.testing.assert_array_equal(out, data)


def test_shared_variables_have_addresses_in_their_space_and_generic_ones() -> None:
    text = entry("a b", THREAD + """
        mul.wide.u32 %d2, %r0, 4; add.s64 %d3, %d0, %d2; add.s64 %d4, %d1, %d2;
        ld.global.b32 %r1, [%d3];
        mov.u64 %d5, tile; cvta.shared.u64 %d6, %d5; add.s64 %d7, %d6, %d2;
        st.b32 [%d7], %r1;
        bar.sync 0;
        isspacep.shared %p1, %d7; isspacep.global %p2, %d3; isspacep.shared %p3, %d3;
        mov.u32 %r2, tile; xor.b32 %r3, %r0, 31; shl.b32 %r3, %r3, 2; add.s32 %r2, %r2, %r3;
        ld.shared.b32 %r4, [%r2];
        cvta.to.shared.u64 %d8, %d7; sub.s64 %d8, %d8, %d5; cvt.u32.u64 %r5, %d8;
        add.s32 %r4, %r4, %r5;
        selp.s32 %r6, 1000, 0, %p1; selp.s32 %r7, 2000, 0, %p2; selp.s32 %r8, 4000, 0, %p3;
        add.s32 %r4, %r4, %r6; add.s32 %r4, %r4, %r7; add.s32 %r4, %r4, %r8;
        st.global.b32 [%d4], %r4;""", ".shared .align 4 .b8 other[12];\n.shared .align 16 .b32 tile[32];\n")
    data = np.arange(32, dtype=np.int32) ** 2
    out = np.zeros_like(data)
    assert run(text, data, out).verdict == "ok"
    np.testing.assert_array_equal(out, data[::-1] + 4 * np.arange(32) + 3000)


def test_the_launch_sizes_dynamic_shared_memory() -> None:
    text = entry("a b", THREAD + """
        mul.wide.u32 %d2, %r0, 4; add.s64 %d3, %d1, %d2; mov.u32 %r1, dynamic; mad.lo.u32 %r2, %r0, 4, %r1;
        st.shared.u32 [%r2], %r0; ld.shared.u32 %r3, [%r2]; mov.u32 %r4, %dynamic_smem_size; add.s32 %r3, %r3, %r4;
        st.global.u32 [%d3], %r3;""", ".extern .shared .align 16 .b8 dynamic[];\n")
    out = np.zeros(32, np.int32)
    assert run(text, out.copy(), out, smem=128).verdict == "ok"
    np.testing.assert_array_equal(out, np.arange(32) + 128)
    report = run(text, out.copy(), out, smem=64)
    assert report.verdict == "fault" and report.findings[0].kind == "out-of-bounds"


def test_constants_and_globals_have_their_initial_values() -> None:
    before = """.const .align 4 .f32 table[4] = {0f3F800000, 0f40000000, 0f40400000, 0f40800000};
.global .align 4 .s32 counter = -7;
"""
    text = entry("a b", THREAD + """
        and.b32 %r1, %r0, 3; mul.wide.u32 %d2, %r1, 4; mov.u64 %d3, table; add.s64 %d4, %d3, %d2;
        ld.const.f32 %f1, [%d4]; ld.const.f32 %f2, [table+4]; add.f32 %f1, %f1, %f2;
        ld.global.s32 %r2, [counter]; cvt.rn.f32.s32 %f3, %r2; add.f32 %f1, %f1, %f3;
        mul.wide.u32 %d5, %r0, 4; add.s64 %d6, %d1, %d5; st.global.f32 [%d6], %f1;""", before)
    out = np.zeros(32, np.float32)
    assert run(text, out.copy(), out).verdict == "ok"
    np.testing.assert_array_equal(out, np.arange(32) % 4 + 1 + 2 - 7)


def test_local_memory_belongs_to_the_thread_and_has_generic_addresses() -> None:
    text = entry("a b", THREAD + """
        .local .align 8 .b8 frame[32];
        mov.u64 %d2, frame; cvta.local.u64 %d3, %d2;
        st.local.v2.u32 [frame], {%r0, 7}; st.local.u8 [frame+9], 5; st.local.u64 [frame+16], 258;
        and.b32 %r1, %r0, 1; mul.wide.u32 %d4, %r1, 4; add.s64 %d5, %d3, %d4; ld.u32 %r2, [%d5];
        ld.local.u16 %r3, [frame+8]; ld.local.u8 %r4, [frame+17];
        mul.wide.u32 %d6, %r0, 4; add.s64 %d7, %d1, %d6;
        setp.ne.s32 %p1, %r1, 0; selp.b64 %d8, %d5, %d7, %p1; st.u32 [%d8], 100; ld.local.u32 %r5, [frame+4];
        add.s32 %r2, %r2, %r3; add.s32 %r2, %r2, %r4; add.s32 %r2, %r2, %r5; st.global.u32 [%d7], %r2;""")
    out = np.zeros(32, np.int32)
    assert run(text, out.copy(), out).verdict == "ok"
    lanes = np.arange(32)
    np.testing.assert_array_equal(out, np.where(lanes % 2, 7, lanes) + 5 * 256 + 1 + np.where(lanes % 2, 100, 7))


def test_structures_are_read_at_their_bytes() -> None:
    text = entry("a b", "").replace(".param .u64 a", ".param .align 8 .b8 a[24]").replace("\nret;", """
        mov.u32 %r0, %tid.x; ld.param.u64 %d0, [a]; ld.param.v2.u32 {%r1, %r2}, [a+8]; ld.param.f32 %f1, [a+16];
        cvta.to.global.u64 %d0, %d0; ld.param.u64 %d1, [b]; mul.wide.u32 %d2, %r0, 4; add.s64 %d3, %d0, %d2;
        ld.global.f32 %f2, [%d3]; mul.f32 %f2, %f2, %f1; add.s32 %r1, %r1, %r2; cvt.rn.f32.s32 %f3, %r1;
        add.f32 %f2, %f2, %f3; add.s64 %d4, %d1, %d2; st.global.f32 [%d4], %f2; ret;""")
    data = np.arange(32, dtype=np.float32)
    out = np.zeros_like(data)
    assert run(text, (data, 5, 6, np.float32(0.5)), out).verdict == "ok"
    np.testing.assert_array_equal(out, data / 2 + 11)


def test_a_tuple_in_a_structure_is_a_structure_with_its_alignment() -> None:
    text = entry("a b", "").replace(".param .u64 a", ".param .align 8 .b8 a[40]").replace("\nret;", """
        ld.param.u32 %r1, [a]; ld.param.u64 %d0, [a+8]; ld.param.u32 %r2, [a+16]; ld.param.u32 %r3, [a+24];
        ld.param.u32 %r4, [a+28]; ld.param.u32 %r5, [a+32]; ld.global.u32 %r6, [%d0]; ld.param.u64 %d1, [b];
        st.global.v4.u32 [%d1], {%r1, %r2, %r3, %r4}; st.global.v2.u32 [%d1+16], {%r5, %r6}; ret;""")
    out = np.zeros(6, np.uint32)
    assert run(text, (1, (np.array([7], np.uint32), 2), (3, 4), 5), out, block=1).verdict == "ok"
    assert out.tolist() == [1, 2, 3, 4, 5, 7]


_ATOMS: dict[str, tuple[str, Callable[[np.ndarray, np.ndarray], np.ndarray], type]] = {
    "add.u32": ("u32", lambda old, v: old + v, np.uint32),
    "add.f32": ("f32", lambda old, v: old + v, np.float32),
    "add.f64": ("f64", lambda old, v: old + v, np.float64),
    "add.noftz.f16": ("b16", lambda old, v: old + v, np.float16),
    "min.s32": ("s32", np.minimum, np.int32),
    "max.u64": ("u64", np.maximum, np.uint64),
    "and.b32": ("b32", np.bitwise_and, np.uint32),
    "or.b64": ("b64", np.bitwise_or, np.uint64),
    "xor.b32": ("b32", np.bitwise_xor, np.uint32),
    "exch.b32": ("b32", lambda old, v: v, np.uint32),
    "inc.u32": ("u32", lambda old, v: np.where(old >= v, 0, old + 1), np.uint32),
    "dec.u32": ("u32", lambda old, v: np.where((old == 0) | (old > v), v, old - 1), np.uint32),
}
_LETTER = {"u32": "r", "s32": "r", "b32": "r", "f32": "f", "f64": "g", "u64": "d", "b64": "d", "b16": "h"}


@pytest.mark.parametrize("op", _ATOMS)
def test_atomic_operations_return_the_old_value(op: str) -> None:
    kind, function, dtype = _ATOMS[op]
    register, size = f"%{_LETTER[kind]}", np.dtype(dtype).itemsize
    for name in ("atom.global", "atom.relaxed.gpu.global", "atom"):
        text = entry("a b c", THREAD + f"""
            ld.param.u64 %d20, [c]; mul.wide.u32 %d2, %r0, {size}; add.s64 %d3, %d0, %d2; add.s64 %d4, %d1, %d2;
            add.s64 %d5, %d20, %d2; ld.global.{kind} {register}30, [%d4];
            {name}.{op} {register}31, [%d3], {register}30; st.global.{kind} [%d5], {register}31;""")
        rng = np.random.default_rng(5)
        data, values = (rng.integers(0, 50, 32).astype(dtype) for _ in range(2))
        before, old = data.copy(), np.zeros(32, dtype)
        assert run(text, data, values, old).verdict == "ok"
        np.testing.assert_array_equal(old, before)
        np.testing.assert_array_equal(data, function(before, values).astype(dtype))


def test_reductions_and_compare_and_swap() -> None:
    text = entry("a b", THREAD + """
        red.global.add.u32 [%d0], %r0; red.shared.max.s32 [cell], %r0;
        add.s64 %d2, %d0, 4; atom.global.cas.b32 %r1, [%d2], 0, 9;
        setp.eq.s32 %p1, %r1, 0; @%p1 red.relaxed.gpu.global.add.u32 [%d1], 1;
        red.global.add.noftz.f16x2 [%d1+4], %r9;""",
        ".shared .align 4 .b32 cell;\n").replace("mov.u32 %r0, %tid.x;", "mov.u32 %r0, %tid.x; "
        "mov.b32 %r9, 0x40003c00; setp.ne.s32 %p9, %r0, 0; @!%p9 st.shared.u32 [cell], 0; bar.sync 0;")  # fmt: skip
    data, winners = np.zeros(2, np.int32), np.zeros(2, np.int32)
    assert run(text, data, winners).verdict == "ok"
    assert data.tolist() == [sum(range(32)), 9] and winners[0] == 1
    assert winners[1:].view(np.float16).tolist() == [32.0, 64.0]


def test_an_access_outside_of_an_argument_is_named_with_the_argument() -> None:
    text = entry("a b", THREAD + "mul.wide.u32 %d2, %r0, 4; add.s64 %d3, %d0, %d2;\nld.global.b32 %r1, [%d3-4];")
    report = run(text, np.zeros(32, np.int32), np.zeros(1, np.int32))
    finding = report.findings[0]
    assert report.verdict == "fault" and finding.kind == "out-of-bounds"
    assert re.search(r"element -1 of a .*a has 32 elements", finding.message)
    assert finding.span is not None and "ld.global.b32 %r1, [%d3-4]" in text.splitlines()[finding.span.line - 1]


def test_lanes_that_store_different_values_in_one_place_race() -> None:
    text = entry("a b", THREAD + "st.global.u32 [%d0], %r0;")
    report = run(text, np.zeros(1, np.int32), np.zeros(1, np.int32))
    assert report.verdict == "hazard" and report.findings[0].kind == "race"


def test_a_race_between_warps_has_the_line_of_the_source() -> None:
    body = """setp.lt.u32 %p1, %r0, 32;
        .loc 1 7 3
        @%p1 st.shared.u32 [cell], 1;
        .loc 1 8 3
        @!%p1 ld.shared.u32 %r1, [cell];"""
    text = entry("a b", THREAD + body, '.shared .align 4 .b32 cell;\n') + '\n.file 1 "/somewhere/kernel.cu"\n'
    report = run(text, np.zeros(1, np.int32), np.zeros(1, np.int32), block=(64,))
    assert report.verdict == "hazard" and {str(f.span) for f in report.findings} <= {
        "/somewhere/kernel.cu:7", "/somewhere/kernel.cu:8",
    }  # fmt: skip


def test_a_swap_of_16_bits_leaves_its_neighbour() -> None:
    text = entry("a b", THREAD + """
        mul.wide.u32 %d2, %r0, 4; add.s64 %d3, %d0, %d2; add.s64 %d4, %d1, %d2;
        mov.b16 %h1, 3; mov.b16 %h2, 9;
        atom.global.cas.b16 %h3, [%d3+2], %h1, %h2;
        st.global.u16 [%d4], %h3;""")
    data = np.array([[7, lane % 5] for lane in range(32)], np.uint16)
    out = np.zeros((32, 2), np.uint16)
    before = data.copy()
    assert run(text, data, out).verdict == "ok"
    np.testing.assert_array_equal(out[:, 0], before[:, 1])
    np.testing.assert_array_equal(data[:, 1], np.where(before[:, 1] == 3, 9, before[:, 1]))
    np.testing.assert_array_equal(data[:, 0], before[:, 0])


@pytest.mark.parametrize("first", ["st.volatile.shared.b32", "st.relaxed.cta.shared.b32"])
def test_a_lane_may_write_again_what_it_has_written_strongly(first: str) -> None:
    text = entry("b", f"""
        .shared .align 16 .b8 mine[4096];
        mov.u32 %r0, %tid.x; mov.u32 %r1, mine; mad.lo.u32 %r1, %r0, 64, %r1;
        ld.param.u64 %d1, [b]; mad.wide.u32 %d1, %r0, 4, %d1;
        {first} [%r1+32], %r0; st.shared.b32 [%r1+32], %r0; red.shared.add.u32 [%r1+32], %r0;
        ld.shared.b32 %r2, [%r1+32]; st.global.b32 [%d1], %r2;""")
    out = np.zeros(64, np.uint32)
    report = run(text, out, block=(64,))
    assert report.ok, report
    np.testing.assert_array_equal(out, 2 * np.arange(64))


def test_sums_in_global_memory_flush_subnormal_numbers() -> None:
    text = entry("a b", THREAD + """
        .shared .align 4 .b32 sum[32];
        mul.wide.u32 %d2, %r0, 4; add.s64 %d3, %d0, %d2; add.s64 %d4, %d1, %d2;
        mov.u32 %r1, sum; mad.lo.u32 %r1, %r0, 4, %r1;
        ld.global.f32 %f1, [%d3]; st.shared.f32 [%r1], %f1;
        red.shared.add.f32 [%r1], %f1; atom.global.add.f32 %f2, [%d3], %f1;
        ld.shared.f32 %f3, [%r1]; st.global.f32 [%d4], %f3;""")
    words = np.array([0x00000001, 0x80000001, 0x007FFFFF, 0x00800000, 0x3F800000, 0x00400000] * 6, np.uint32)[:32]
    data, out = words.copy().view(np.float32), np.zeros(32, np.float32)
    twice = data * np.float32(2)
    assert run(text, data, out).verdict == "ok"
    np.testing.assert_array_equal(out.view(np.uint32), twice.view(np.uint32))
    small = words & 0x7F800000 == 0
    np.testing.assert_array_equal(data.view(np.uint32), np.where(small, words & (1 << 31), twice.view(np.uint32)))


def test_constants_have_a_window_of_their_own() -> None:
    text = entry("b", """
        ld.param.u64 %d1, [b]; mov.u64 %d2, table; cvta.const.u64 %d2, %d2; cvta.global.u64 %d3, %d1;
        add.s64 %d4, %d2, 12; add.s64 %d5, %d2, 16;
        isspacep.const %p1, %d2; isspacep.const %p2, %d3; isspacep.const %p3, %d4; isspacep.const %p4, %d5;
        selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 1, 0, %p2; selp.u32 %r3, 1, 0, %p3; selp.u32 %r4, 1, 0, %p4;
        st.global.v4.u32 [%d1], {%r1, %r2, %r3, %r4};""", before=".const .align 4 .b32 table[4] = {1, 2, 3, 4};")
    out = np.full(4, 7, np.uint32)
    assert run(text, out, block=(1,)).verdict == "ok"
    assert out.tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize("kind", ["s8", "u8", "b16"])
def test_a_narrow_store_takes_the_bits_of_a_register_that_floats_share(kind: str) -> None:
    text = entry("a b", THREAD + f"""
        .local .align 16 .b8 own[16];
        mul.wide.u32 %d2, %r0, 4; add.s64 %d0, %d0, %d2; add.s64 %d1, %d1, %d2;
        ld.global.f32 %r3, [%d0]; add.rn.f32 %r4, %r3, %r3; sub.rn.f32 %r3, %r4, %r3;
        st.local.b32 [own+4], %r3; st.local.{kind} [own+6], %r3; ld.local.b32 %r5, [own+4];
        st.global.b32 [%d1], %r5;""")
    words = np.array([0x3F8089AB, 0xC2345678] * 16, np.uint32)
    data, out = words.view(np.float32), np.zeros(32, np.uint32)
    assert run(text, data, out).verdict == "ok"
    cut = 0xFFFF if kind == "b16" else 0xFF
    np.testing.assert_array_equal(out, (words & ~np.uint32(cut << 16)) | (words & np.uint32(cut)) << np.uint32(16))


def test_a_vector_load_under_a_condition_leaves_the_registers_of_other_lanes() -> None:
    text = entry("a b", THREAD + """
        mov.b32 %r1, 7; mov.b32 %r2, 9; mul.wide.u32 %d2, %r0, 8; add.s64 %d0, %d0, %d2; add.s64 %d1, %d1, %d2;
        setp.gt.u32 %p1, %r0, 10; @%p1 bra skip;
        ld.global.v2.b32 {%r1, %r2}, [%d0];
        skip: st.global.v2.b32 [%d1], {%r1, %r2};""")
    a, b = np.arange(100, 164).astype(np.uint32), np.zeros(64, np.uint32)
    assert run(text, a, b).verdict == "ok"
    np.testing.assert_array_equal(b, np.concatenate([a[:22], [7, 9] * 21]))


@pytest.mark.parametrize(("guess", "again", "races"), [("%r3", "%r3", False), ("7", "%r1", True)])
def test_a_load_whose_value_a_swap_checks_does_not_race(guess: str, again: str, races: bool) -> None:
    text = entry("a b", THREAD + f"""ld.u32 %r1, [%d0];
        AGAIN: mov.u32 %r3, %r1; add.u32 %r4, %r3, 1; atom.cas.b32 %r1, [%d0], {guess}, %r4;
        setp.ne.u32 %p1, %r1, {again}; @%p1 bra AGAIN;""")
    count = np.zeros(1, np.uint32)
    report = run(text, count, np.zeros(1, np.uint32), grid=3, block=1)
    assert report.verdict == ("hazard" if races else "ok")
    assert races or count[0] == 3


@pytest.mark.parametrize("kind", ["f32", "u32", "f64", "b16"])
def test_an_initialised_byte_array_has_the_elements_that_it_is_accessed_by(kind: str) -> None:
    width = int(kind[1:]) // 8
    values = np.array([1.5, -2.0, 3.0], f"f{width}") if kind[0] == "f" else np.array([1, 258, 7], f"u{width}")
    data = ", ".join(map(str, values.tobytes()))
    register = {"f32": "%f1", "u32": "%r1", "f64": "%g1", "b16": "%h1"}[kind]

    def text(offset: int) -> str:
        return entry("a", f"""ld.param.u64 %d1, [a]; mov.u64 %d2, table; add.s64 %d2, %d2, {offset};
            ld.global.{kind} {register}, [%d2]; st.global.{kind} [%d1], {register};""",
            before=f".global .align 8 .b8 table[{3 * width}] = {{{data}}};")

    out = np.zeros(1, values.dtype)
    assert run(text(width), out, block=(1,)).verdict == "ok" and out[0] == values[1]
    (finding,) = run(text(3 * width), out, block=(1,)).findings
    assert finding.message == "element 3 of table is accessed, but table has 3 elements"


def test_an_access_of_several_bytes_outside_of_a_byte_array_is_named_in_bytes() -> None:
    text = entry("a b", THREAD + "ld.u8 %r1, [%d0]; ld.u32 %r2, [%d0+8]; st.u32 [%d1], %r2;")
    (finding,) = run(text, np.zeros(8, np.uint8), np.zeros(1, np.uint32), block=(1,)).findings
    assert finding.message == "byte 8 of a is accessed, but a has 8 bytes"


def test_variables_are_initialised_with_addresses_of_others() -> None:
    text = entry("a", """ld.param.u64 %d1, [a]; mov.u32 %r0, %tid.x; mul.wide.u32 %d2, %r0, 8; mov.u64 %d3, tables;
        add.s64 %d3, %d3, %d2; ld.global.u64 %d4, [%d3]; ld.u32 %r1, [%d4];
        mul.wide.u32 %d2, %r0, 4; add.s64 %d1, %d1, %d2; st.global.u32 [%d1], %r1;""",
        before=".const .u32 one[2] = {1, 2};\n.global .u32 two[2] = {3, 4};\n"
        ".global .u64 tables[3] = {generic(one)+4, two, 0};")
    out = np.zeros(2, np.uint32)
    assert run(text, out, block=(2,)).verdict == "ok"
    assert out.tolist() == [2, 3]
