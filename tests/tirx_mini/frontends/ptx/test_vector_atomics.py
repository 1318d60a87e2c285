"""Vectors of atomic operations, and registers of 128 bits."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest

from tests.tirx_mini.frontends.ptx.programs import entry, run

THREAD = "mov.u32 %r0, %tid.x; ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b]; ld.param.u64 %d2, [c];\n"
_DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
_FORMS = [
    *itertools.product(("add",), ("f32",), (2, 4)), *itertools.product(("add", "min", "max"), ("f16", "bf16"), (2, 8)),
    *itertools.product(("add", "min", "max"), ("f16x2", "bf16x2"), (2, 4)),
]  # fmt: skip


@pytest.mark.parametrize(("op", "kind", "count"), _FORMS)
def test_each_element_of_a_vector_is_updated(op: str, kind: str, count: int) -> None:
    dtype, letter = _DTYPES[kind.removesuffix("x2")], {"f32": "f", "f16": "h", "bf16": "h"}.get(kind, "r")
    size = count * (2 if letter == "h" else 4)
    given, old = ([f"%{letter}{first + n}" for n in range(count)] for first in (10, 30))
    rounded = "" if kind == "f32" else ".noftz"
    load = "".join(
        f"ld.global.b{8 * size // count} {name}, [%d4+{n * size // count}];" for n, name in enumerate(given)
    )
    store = "".join(f"st.global.b{8 * size // count} [%d5+{n * size // count}], {r};" for n, r in enumerate(old))
    body = f"""mul.wide.u32 %d3, %r0, {size}; add.s64 %d6, %d0, %d3; add.s64 %d4, %d1, %d3; add.s64 %d5, %d2, %d3;
        {load}
        atom.global.{op}{rounded}.v{count}.{kind} {{{", ".join(old)}}}, [%d6], {{{", ".join(given)}}};
        red.relaxed.gpu.global.v{count}.{kind}.{op}{rounded} [%d6], {{{", ".join(given)}}};
        {store}"""
    rng = np.random.default_rng(2)
    elements = 32 * size // np.dtype(dtype).itemsize
    data, values = (rng.integers(-8, 8, elements).astype(dtype) for _ in range(2))
    before, returned = data.copy(), np.zeros_like(data)
    report = run(entry("a b c", THREAD + body), data, values, returned)
    assert report.verdict == "ok", report
    np.testing.assert_array_equal(returned, before)
    functions = {"add": lambda a, b: a + b + b, "min": np.minimum, "max": np.maximum}
    np.testing.assert_array_equal(data, functions[op](before, values))


def test_all_lanes_add_to_one_vector_and_a_minimum_ignores_nan() -> None:
    body = """mov.f32 %f1, 0f3F800000; red.global.add.v2.f32 [%d0], {%f1, %f1};
        mov.b32 %r1, 0x7fff4200; red.global.min.noftz.v2.f16x2 [%d1], {%r1, %r1};"""
    sums, least = np.zeros(2, np.float32), np.array([5, 5, np.nan, 1], np.float16)
    assert run(entry("a b c", THREAD + body), sums, least, np.zeros(1, np.int32)).verdict == "ok"
    assert sums.tolist() == [32, 32] and least.tolist() == [3, 5, 3, 1]


def test_sums_of_float32_vectors_in_global_memory_flush_subnormal_numbers() -> None:
    body = "setp.eq.u32 %p1, %r0, 0; mov.b32 %f1, 0x00400000; @%p1 red.global.add.v2.f32 [%d0], {%f1, %f1};"
    sums = np.array([0x00400000, 0x3F800000], np.uint32)
    assert run(entry("a b c", THREAD + body), sums, np.zeros(1, np.int32), np.zeros(1, np.int32)).verdict == "ok"
    assert sums.tolist() == [0, 0x3F800000]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("red.global.add.v2.f64 [%d0], {%g0, %g1};", "is 'f64'"),
        ("red.global.min.v2.f32 [%d0], {%f0, %f1};", "min is for vectors of 16-bit elements"),
        ("red.global.add.noftz.v8.f16x2 [%d0], {%r0, %r0, %r0, %r0, %r0, %r0, %r0, %r0};", "v2 or v4"),
    ],
)
def test_a_vector_that_ptx_does_not_have_is_named(line: str, why: str) -> None:
    report = run(entry("a b c", THREAD + line), *(np.zeros(64, np.float32) for _ in range(3)))
    assert report.verdict == "fault" and why in str(report)


def test_two_blocks_that_store_where_others_add_race() -> None:
    body = "mov.f32 %f1, 0f3F800000; red.global.add.v4.f32 [%d0], {%f1, %f1, %f1, %f1}; st.global.f32 [%d0+12], %f1;"
    report = run(entry("a b c", THREAD + body), *(np.zeros(4, np.float32) for _ in range(3)), grid=(2,))
    assert {each.code for each in report.findings} == {"TX201"}


WIDE = ".reg .b128 %q<9>; mul.wide.u32 %d3, %r0, 16; "
WIDE += "add.s64 %d4, %d0, %d3; add.s64 %d5, %d1, %d3; add.s64 %d6, %d2, %d3;"


def test_registers_of_128_bits_are_packed_loaded_and_stored() -> None:
    body = f"""{WIDE}
        ld.global.b128 %q1, [%d4]; mov.b128 {{%d10, %d11}}, %q1; add.s64 %d10, %d10, 1;
        mov.b128 %q2, {{%d11, %d10}}; mov.b128 %q3, %q2;
        st.relaxed.gpu.global.b128 [%d5], %q3; ld.acquire.gpu.global.b128 %q4, [%d5]; st.global.b128 [%d6], %q4;"""
    data = np.arange(64, dtype=np.uint64) << np.uint64(33)
    first, second = np.zeros_like(data), np.zeros_like(data)
    assert run(entry("a b c", THREAD + body), data, first, second).verdict == "ok"
    wanted = data.reshape(32, 2)[:, ::-1] + np.array([0, 1], np.uint64)
    np.testing.assert_array_equal(first.reshape(32, 2), wanted)
    np.testing.assert_array_equal(second, first)


@pytest.mark.parametrize("space", ["global", "shared"])
def test_128_bits_are_exchanged_and_compared_together(space: str) -> None:
    place = "%d4" if space == "global" else "%d20"
    body = f"""{WIDE} .shared .align 16 .b8 cells[512]; mov.u64 %d20, cells; add.s64 %d20, %d20, %d3;
        ld.global.b128 %q5, [%d4]; st.{space}.b128 [{place}], %q5;
        and.b32 %r1, %r0, 1; cvt.u64.u32 %d10, %r1; cvt.u64.u32 %d11, %r0;
        mov.b128 %q1, {{%d10, %d11}}; mov.b64 %d12, 77; mov.b128 %q2, {{%d12, %d12}};
        atom.{space}.cas.b128 %q3, [{place}], %q1, %q2; st.global.b128 [%d5], %q3;
        atom.acq_rel.cta.{space}.exch.b128 %q4, [{place}], %q1; st.global.b128 [%d6], %q4;"""
    data = np.stack([np.zeros(32, np.uint64), np.arange(32, dtype=np.uint64)], axis=1)
    before, old, last = data.copy(), np.zeros_like(data), np.zeros_like(data)
    report = run(entry("a b c", THREAD + body), data, old, last)
    assert report.verdict == "ok", report
    np.testing.assert_array_equal(old, before)
    np.testing.assert_array_equal(last, np.where(np.arange(32)[:, None] % 2, before, np.uint64(77)))


def test_a_loop_of_compare_and_swap_counts_in_128_bits() -> None:
    body = """.reg .b128 %q<9>; ld.relaxed.gpu.global.b128 %q1, [%d0];
        AGAIN: mov.b128 {%d3, %d4}, %q1; add.s64 %d5, %d3, 1; add.s64 %d6, %d4, 2; mov.b128 %q2, {%d5, %d6};
        atom.global.cas.b128 %q3, [%d0], %q1, %q2; mov.b128 {%d7, %d8}, %q3;
        setp.eq.s64 %p1, %d7, %d3; setp.eq.s64 %p2, %d8, %d4; and.pred %p1, %p1, %p2; mov.b128 %q1, %q3;
        @!%p1 bra AGAIN;"""
    data = np.array([1, 1], np.uint64)
    assert run(entry("a b c", THREAD + body), data, *(np.zeros(1, np.int32),) * 2, grid=(2,)).verdict == "ok"
    assert data.tolist() == [65, 129]
