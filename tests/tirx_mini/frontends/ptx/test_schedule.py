"""Loads overlap: a warp waits for several of them together, and for each by itself where one needs another's value."""

from __future__ import annotations

import numpy as np

from tests.tirx_mini.frontends.ptx.programs import entry, run

FIRST = "ld.param.u64 %d0, [a]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; add.s64 %d0, %d0, %d1;"


def cycles(body: str, size: int = 4096) -> float:
    report = run(entry("a", FIRST + body), np.zeros(size, np.uint32))
    assert report.verdict == "ok" and report.cycles is not None
    return report.cycles


def test_loads_that_need_nothing_of_one_another_overlap() -> None:
    copy = "ld.global.u32 %r{0}, [%d0+{1}]; st.shared.u32 [%r9+{1}], %r{0};"
    before = ".shared .align 4 .b8 tile[1024]; mov.u32 %r9, tile; shl.b32 %r8, %r0, 2; add.s32 %r9, %r9, %r8;"
    one = cycles(before + copy.format(10, 0))
    eight = cycles(before + "".join(copy.format(10 + i, 128 * i) for i in range(8)))
    assert eight < 1.5 * one


def test_a_load_at_an_address_that_was_loaded_waits() -> None:
    chain = "ld.global.u32 %r1, [%d0]; mul.wide.u32 %d2, %r1, 4; add.s64 %d3, %d0, %d2; ld.global.u32 %r2, [%d3];"
    assert cycles(chain) > 1.6 * cycles("ld.global.u32 %r1, [%d0];")


def test_a_load_behind_a_store_of_the_same_memory_stays_behind_it() -> None:
    data = np.arange(64, dtype=np.uint32)
    body = """ld.global.u32 %r1, [%d0]; add.s32 %r1, %r1, 100; st.global.u32 [%d0], %r1; ld.global.u32 %r2, [%d0];
        ld.global.u32 %r3, [%d0+128]; add.s32 %r2, %r2, %r3; st.global.u32 [%d0], %r2;"""
    assert run(entry("a", FIRST + body), data).verdict == "ok"
    np.testing.assert_array_equal(data[:32], np.arange(32) + 100 + np.arange(32) + 32)
