"""Loops that wait for CTAs which cannot start while these loops wait: an answer at once, and none for other loops."""

from __future__ import annotations

import dataclasses
import textwrap

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.hardware import B200
from tirx_mini.script import from_source

GPU = dataclasses.replace(B200, sms=1)
FITS = 32
"""CTAs of one warp that an SM holds at a time."""

KERNEL = """
@T.prim_func
def kernel(F: T.Buffer(({grid} + 1,), "uint32"), D: T.Buffer(({grid},), "float32")):
    T.device_entry()
    bx = T.cta_id([{grid}])
    lane = T.thread_id([32])
"""
SET = 'T.ptx.st(F.ptr_to([{at}]), T.uint32(1), sem="release", scope="gpu", space="global")'
WAIT = """
while T.ptx.ld(F.ptr_to([{at}]), sem="acquire", scope="gpu") != T.uint32(1):
    T.ptx["nanosleep.u32"](20)
"""


def simulated(body: str, grid: int) -> tvm.Report:
    kernel = from_source(KERNEL.format(grid=grid) + textwrap.indent(textwrap.dedent(body), "    "))
    return tvm.simulate(kernel, np.zeros(grid + 1, np.uint32), np.zeros(grid, np.float32), gpu=GPU)


def by_one_lane(*statements: str) -> str:
    return "if lane == 0:\n" + "".join(textwrap.indent(each.strip("\n") + "\n", "    ") for each in statements)


def barrier(grid: int) -> str:
    return by_one_lane(
        'T.ptx.red(F.ptr_to([0]), T.uint32(1), op="add", sem="release", scope="gpu")',
        f'while T.ptx.ld(F.ptr_to([0]), sem="acquire", scope="gpu") < T.uint32({grid}):\n'
        '    T.ptx["nanosleep.u32"](20)',
        "D[bx] = 1.0",
    )


def waiting_for(producer: int) -> str:
    other = textwrap.indent(WAIT.format(at=0).strip("\n"), "    ")
    return by_one_lane(f"if bx == {producer}:\n    {SET.format(at=0)}\nelse:\n{other}", "D[bx] = 1.0")


NEXT = by_one_lane(f"if bx < 39:\n{textwrap.indent(WAIT.format(at='bx + 1').strip(chr(10)), '    ')}", "D[bx] = 1.0",
                   SET.format(at="bx"))  # fmt: skip
BEFORE = by_one_lane(f"if bx > 0:\n{textwrap.indent(WAIT.format(at='bx').strip(chr(10)), '    ')}", "D[bx] = 1.0",
                     SET.format(at="bx + 1"))  # fmt: skip
ALL_LANES = """
v: T.uint32 = T.uint32(0)
while v == T.uint32(0):
    v = T.ptx.ld(F.ptr_to([{at}]), sem="acquire", scope="gpu")
D[bx] = 1.0
"""
LOCK = by_one_lane(
    'while T.ptx.atom(F.ptr_to([0]), T.uint32(1), op="exch", sem="acquire", scope="gpu") != T.uint32(0):\n'
    '    T.ptx["nanosleep.u32"](20)',
    "D[bx] = 1.0",
    'if bx == {keeps}:\n    D[bx] = 2.0\nelse:\n'
    '    T.ptx.st(F.ptr_to([0]), T.uint32(0), sem="release", scope="gpu", space="global")',
)

STUCK = {
    "for the last CTA": (waiting_for(39), 40),
    "for all CTAs": (barrier(33), 33),
    "for the next CTA": (NEXT, 40),
    "of all lanes": (ALL_LANES.format(at=39), 40),
    "for a lock that is kept": (LOCK.format(keeps=3), 40),
}


@pytest.mark.parametrize("name", STUCK)
def test_a_loop_that_keeps_ctas_from_starting_is_found(name: str) -> None:
    body, grid = STUCK[name]
    report = simulated(body, grid)
    assert (report.verdict, report.findings[0].code) == ("deadlock", "TX114"), report
    message = report.findings[0].message
    if name == "for a lock that is kept":
        assert "of 40 CTAs never start" in message
        return
    assert f"CTA {FITS} and {grid - FITS - 1} more of {grid} CTAs never start" in message or grid == FITS + 1
    assert f"the {FITS} that a B200 holds" in message
    assert "while" in str(report)


NOBODY = {
    "for a flag that nobody sets": (waiting_for(99), 8, "and so do 7 more warps"),
    "of one warp for itself": (by_one_lane(WAIT.format(at=0), SET.format(at=0)), 1, "another thread writes; no thread"),
    "for a lock that is kept": (LOCK.format(keeps=0), 8, "more warp"),
    "of all lanes": (ALL_LANES.format(at=0), 3, "and so do 2 more warps"),
    "for warps that are at a barrier": (
        f"if bx == 0:\n    T.cuda.cluster_sync()\nelse:\n{textwrap.indent(waiting_for(99).strip(), '    ')}", 3,
        "or wait for something else",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NOBODY)
def test_a_loop_that_waits_for_what_nobody_writes_is_found(name: str) -> None:
    body, grid, words = NOBODY[name]
    report = simulated(body, grid)
    assert (report.verdict, report.findings[0].code) == ("deadlock", "TX114"), report
    assert words in report.findings[0].message, report


def test_each_cta_counts_when_it_starts() -> None:
    """A grid whose CTAs take the whole budget has an answer, too, where the first ones keep others from starting."""
    kernel = from_source(KERNEL.format(grid=1000) + textwrap.indent(barrier(1000), "    "))
    report = tvm.simulate(kernel, np.zeros(1001, np.uint32), np.zeros(1000, np.float32), gpu=GPU, budget=200 * 1000)
    assert report.findings[0].code == "TX114" and "of 1000 CTAs never start" in report.findings[0].message, report


GAVE_UP = """
if lane == 0:
    seen: T.uint32 = T.uint32(0)
    tries: T.int32 = 0
    while seen == T.uint32(0) and tries < 50:
        seen = T.ptx.ld(F.ptr_to([39]), sem="relaxed", scope="gpu")
        tries = tries + 1
    D[bx] = 1.0
"""
COUNTED = """
if lane == 0:
    while T.ptx.atom(F.ptr_to([0]), T.uint32(1), op="add", sem="relaxed", scope="gpu") < T.uint32(2000):
        T.ptx["nanosleep.u32"](20)
    D[bx] = 1.0
"""
CARRIED = """
if lane == 0:
    seen: T.uint32 = T.uint32(0)
    tries: T.int32 = 0
    following: T.int32 = 0
    while tries < 50:
        seen = T.ptx.ld(F.ptr_to([39]), sem="relaxed", scope="gpu")
        following = tries + 1
        tries = following
    D[bx] = 1.0
"""
COPIED = """
words = T.alloc_shared((4,), "uint32", align=16)
done = T.alloc_shared((1,), "uint64")
if lane == 0:
    T.ptx.mbarrier.init(done.ptr_to([0]), 1)
    T.ptx.fence.mbarrier_init()
    if bx == 0:
        T.ptx.mbarrier.arrive.expect_tx(done.ptr_to([0]), 16)
        T.ptx.cp_async.bulk.load(words.ptr_to([0]), F.ptr_to([4]), 16, done.ptr_to([0]))
        T.ptx.mbarrier.try_wait(done.ptr_to([0]), 0)
        T.ptx.st(F.ptr_to([0]), T.uint32(1), sem="release", scope="gpu", space="global")
    else:
        while T.ptx.ld(F.ptr_to([0]), sem="acquire", scope="gpu") != T.uint32(1):
            T.ptx["nanosleep.u32"](20)
    D[bx] = 1.0
"""
SLOW = by_one_lane(
    "x = 0.0",
    f"if bx == 31:\n    for i in range(20000):\n        x = x + 1.0\n    {SET.format(at=0)}\nelse:\n"
    + textwrap.indent(WAIT.format(at=0).strip("\n"), "    "),
    "D[bx] = x",
)

RIGHT = {
    "for bytes of a copy": (COPIED, 8),
    "for the first CTA": (waiting_for(0), 40),
    "for the last CTA that is resident": (waiting_for(FITS - 1), 40),
    "for all CTAs, which fit": (barrier(FITS), FITS),
    "for the CTA before": (BEFORE, 40),
    "of all lanes, for the last CTA that is resident": (
        ALL_LANES.format(at=0).replace("while", "if bx == 31:\n    " + SET.format(at=0) + "\nwhile"), 40,
    ),
    "for a lock that all give back": (LOCK.format(keeps=-1), 40),
    "and gives up": (GAVE_UP, 40),
    "and counts through another variable": (CARRIED, 40),
    "for its own count": (COUNTED, 40),
    "for slow work": (SLOW, 40),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_a_loop_that_ends_is_not(name: str) -> None:
    body, grid = RIGHT[name]
    report = simulated(body, grid)
    assert report.verdict == "ok", report


def test_many_warps_are_looked_at_without_checks() -> None:
    kernel = from_source(KERNEL.format(grid=900) + textwrap.indent(barrier(900), "    "))
    gpu = dataclasses.replace(B200, sms=16)
    report = tvm.simulate(kernel, np.zeros(901, np.uint32), np.zeros(900, np.float32), gpu=gpu)
    assert report.findings[0].code == "TX114" and "without checks" in str(report.plan), report


COUNTED = """
i: T.int32 = 0
total: T.uint32 = T.uint32(0)
while True:
    now = i
    before = total
    added = before + T.ptx.ld(F.ptr_to([now % 2]), sem="", space="global", returned="", type="u32")
    total = added
    following = now + 1
    i = following
    if following == 64:
        break
D[bx] = T.cast(total, "float32")
"""
"""As compilers write it: the counter's new value comes from the old one through other variables."""


def test_a_loop_that_counts_through_other_variables_does_not_stand_still() -> None:
    report = simulated(COUNTED, 2)
    assert report.verdict == "ok", report
