"""The threads that conditions in front of a site select, as compilers write conditions."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tirx_mini.frontends.ptx.programs import entry
from tirx_mini.diagnose.deadlock import Site, find_sites
from tirx_mini.frontends.ptx.programs import read_ptx
from tirx_mini.isa import BarrierEffect

BEFORE = """.shared .align 8 .b8 bar[16];
ld.param.u64 %d0, [a]; mov.u32 %r0, %tid.x; mov.u32 %r1, bar; shr.u32 %r2, %r0, 5; mov.u32 %r3, %cluster_ctaid.x;
"""
ELECTED = """setp.ne.s32 %p1, %r2, 1; elect.sync _|%p2, -1;
selp.b32 %r5, 1, 0, %p2; setp.eq.s32 %p3, %r5, 0;"""
ARRIVE = "mbarrier.arrive.shared::cta.b64 _, [%r1];"


def arrival(body: str) -> Site:
    """The arrival in a kernel of four warps."""
    func = read_ptx(entry("a", BEFORE + body)).entry("k").lowered([np.zeros(1)], grid=2, block=128, cluster=2).func
    (site,) = (each for each in find_sites(func).all if each.effect is BarrierEffect.ARRIVE)
    return site


@pytest.mark.parametrize(
    ("body", "threads", "by_cta"),
    [
        (f"setp.ne.s32 %p1, %r2, 1; @%p1 bra end; {ARRIVE} end:", 32, False),
        (f"and.b32 %r4, %r2, 2; or.b32 %r5, %r4, %r3; setp.ne.s32 %p1, %r5, 0; @%p1 bra end; {ARRIVE} end:", 64, True),
        (f"{ELECTED} or.pred %p4, %p1, %p3; @%p4 bra end; {ARRIVE} end:", 1, False),
    ],
)  # fmt: skip
def test_a_condition_selects_threads_through_its_names(body: str, threads: int, by_cta: bool) -> None:
    site = arrival(body)
    assert (int(site.threads.sum()), site.by_cta) == (threads, by_cta)


def test_a_joined_condition_is_a_guard_for_each_part() -> None:
    body = "ld.global.u32 %r4, [%d0]; setp.eq.s32 %p1, %r4, 0; setp.ne.s32 %p2, %r2, 1; or.pred %p3, %p1, %p2;"
    site = arrival(f"{body} @%p3 bra end; {ARRIVE} end:")
    assert [guard.of_threads(4) for guard in site.guards] == [False, True]
    assert int(site.threads.sum()) == 32


@pytest.mark.parametrize(("tested", "guards"), [("%r4", 0), ("%r5", 1)])
def test_the_first_test_of_a_loop_is_no_guard(tested: str, guards: int) -> None:
    """A loop that tests at its start becomes a branch around one that tests at its end."""
    site = arrival(
        f"ld.global.u32 %r4, [%d0]; ld.global.u32 %r5, [%d0]; setp.gt.s32 %p1, {tested}, 8; @%p1 bra end;"
        f"again: {ARRIVE} add.s32 %r4, %r4, 4; setp.lt.s32 %p2, %r4, 9; @%p2 bra again; end:"
    )
    assert len(site.guards) == guards
