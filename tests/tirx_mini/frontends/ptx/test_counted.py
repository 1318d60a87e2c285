"""Loops with a known number of iterations, and loops that only look so."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tirx_mini.frontends.ptx.programs import Entry, read_ptx
from tirx_mini.ir import For, While, int_value

TESTS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def program(body: str, before: str = "") -> Entry:
    """A kernel that repeats the body while %p0 holds, and stores its counter %r0 and its sums %r1 and %r3."""
    return read_ptx(f"""
        .version 8.0
        .target sm_90
        .address_size 64
        .entry k(.param .u64 to, .param .u32 n) {{
          .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %d<9>;
          ld.param.u64 %d0, [to]; ld.param.u32 %r8, [n];
          mov.u32 %r1, 0; mov.u32 %r3, 5; {before}
          L: {body}
          @%p0 bra L;
          st.global.u32 [%d0], %r0; st.global.u32 [%d0+4], %r1; st.global.u32 [%d0+8], %r3;
        }}""").entry()


def ran(entry: Entry, n: int = 0) -> tuple[list[int], list[int | None]]:
    """The stored values, and the trip counts of the counted loops."""
    out = np.zeros(3, np.int32)
    func = entry.lowered((out, n), grid=1, block=1).func
    report = entry.simulate((out, n), grid=1, block=1)
    assert report.ok, report
    return out.tolist(), [int_value(loop.stop) for loop in func.of(For)]


@given(st.integers(-40, 40), st.sampled_from([-7, -2, -1, 1, 2, 3, 64]), st.sampled_from([*TESTS]), st.integers(0, 30))
@settings(max_examples=30, deadline=None)
def test_a_counter_ends_the_loop_after_as_many_iterations(first: int, step: int, test: str, away: int) -> None:
    bound = first + step * away
    value, times = first, 0
    while times < 99:
        value, times = value + step, times + 1
        if not eval(f"{value} {TESTS[test]} {bound}"):
            break
    if times == 99:  # it wraps around, much later
        return
    entry = program(
        f"add.s32 %r1, %r1, %r0; add.s32 %r0, %r0, {step}; add.s32 %r3, %r3, 2; setp.{test}.s32 %p0, %r0, {bound};",
        f"mov.u32 %r0, {first};",
    )
    sums = sum(range(first, first + times * step, step))
    assert ran(entry) == ([value, sums, 5 + 2 * times], [times])


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("setp.lt.s32 %p0, %r0, 9; add.s32 %r0, %r0, 1;", [10, 45, 10]),  # the counter before it is advanced
        ("add.s32 %r2, %r0, 4; mov.u32 %r0, %r2; setp.ne.s32 %p0, %r2, %r8;", [24, 60, 6]),  # through other registers
        ("add.s32 %r0, %r0, 4; setp.gt.s32 %p0, %r8, %r0;", [24, 60, 6]),
        ("add.s32 %r0, %r0, 1; sub.s32 %r2, %r8, 4; add.s32 %r4, %r0, 2; setp.le.s32 %p0, %r4, %r2;", [19, 171, 19]),
    ],
)
def test_the_test_may_stand_anywhere(body: str, found: list[int]) -> None:
    values, trips = ran(program(f"add.s32 %r1, %r1, %r0; {body}", "mov.u32 %r0, 0;"), 24)
    assert (values[:2], trips) == (found[:2], found[2:])


@pytest.mark.parametrize(
    "body",
    [
        "add.s32 %r0, %r0, %r0; setp.lt.s32 %p0, %r0, 99;",  # no sum
        "add.s32 %r0, %r0, 1; setp.lt.s32 %p1, %r1, 4; @%p1 add.s32 %r0, %r0, 1; setp.lt.s32 %p0, %r0, 9;",
        "add.s32 %r0, %r0, 1; add.s32 %r4, %r4, 2; add.s32 %r5, %r4, 4; setp.lt.s32 %p0, %r0, %r5;",
        "add.s32 %r0, %r0, 3; setp.gt.s32 %p0, %r0, 0;",  # until it wraps around
    ],
)
def test_other_loops_stay(body: str) -> None:
    entry = program(f"add.s32 %r1, %r1, 1; {body}", "mov.u32 %r0, 1; mov.u32 %r4, -9;")
    func = entry.lowered((np.zeros(3, np.int32), 0), grid=1, block=1).func
    assert not list(func.of(For)) and len(list(func.of(While))) == 1


def test_a_loop_that_is_left_elsewhere_stays() -> None:
    entry = program(
        "add.s32 %r0, %r0, 1; setp.gt.s32 %p1, %r1, 50; @%p1 bra OUT; add.s32 %r1, %r1, %r0; setp.lt.s32 %p0, %r0, 99;",
        "mov.u32 %r0, 0; OUT: mov.u32 %r0, 0; setp.gt.s32 %p2, %r1, 50; @%p2 exit;",
    )
    func = entry.lowered((np.zeros(3, np.int32), 0), grid=1, block=1).func
    assert not list(func.of(For))


def test_loops_within_loops() -> None:
    entry = program(
        "mov.u32 %r2, 0; I: add.s32 %r1, %r1, 1; add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, 3; @%p1 bra I;"
        "add.s32 %r0, %r0, 1; setp.lt.s32 %p0, %r0, %r8;",
        "mov.u32 %r0, 0;",
    )
    values, trips = ran(entry, 7)
    assert values[:2] == [7, 21] and sorted(trips, key=str) == [3, 7]


@pytest.mark.parametrize("load", ["ld.global.u32 %r0, [%d0];", "ld.global.v2.u32 {%r0, %r5}, [%d0];"])
def test_a_counter_that_is_loaded_is_not_known(load: str) -> None:
    before = f"mov.u32 %r0, 0; setp.eq.u32 %p3, %r8, 0; @%p3 {load}"
    entry = program("add.s32 %r1, %r1, %r0; add.s32 %r0, %r0, 1; setp.lt.s32 %p0, %r0, 9;", before)
    out = np.array([7, 0, 0], np.int32)
    assert entry.simulate((out, 0), grid=1, block=1).ok
    assert out.tolist() == [9, 7 + 8, 5]
