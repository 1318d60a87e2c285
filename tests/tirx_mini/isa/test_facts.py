"""What entries declare is checked against their signatures and bodies, when the table is built or by a walk over it."""

from __future__ import annotations

from typing import Any

import pytest

from tirx_mini.isa import TABLE, BarrierEffect, Scope
from tirx_mini.isa.core import instruction
from tirx_mini.isa.machine import Blocking, Machine, Thread
from tirx_mini.isa.operands import MbarrierAddress, SharedAddress

STATED: dict[str, Any] = {
    "name": "test", "api": ("ptx.test",), "issued_by": Scope.THREAD, "min_sm": 90, "isa": "test", "cost": "alu",
}  # fmt: skip
"""Facts of an entry that is made up."""


def waits(gpu: Machine, thread: Thread, bar: MbarrierAddress) -> Blocking:
    yield from gpu.mbarrier(thread, bar).wait(thread, 0)


def hides_its_barrier(gpu: Machine, thread: Thread, place: SharedAddress) -> None:
    gpu.cp_async_arrive(thread, place)


def leaves_its_barrier_alone(gpu: Machine, thread: Thread, bar: MbarrierAddress) -> None:
    thread.fence_mbarrier_init()


def fences(gpu: Machine, thread: Thread) -> None:
    thread.fence_mbarrier_init()


@pytest.mark.parametrize("body", [waits, hides_its_barrier, leaves_its_barrier_alone])
def test_an_entry_that_touches_an_mbarrier_and_declares_no_effect_is_refused(body: Any) -> None:
    with pytest.raises(ValueError, match=r"test touches an mbarrier \(.*\): declare barrier=BarrierEffect"):
        instruction("test [{bar}];", **STATED)(body)


@pytest.mark.parametrize("body", [hides_its_barrier, fences])
def test_an_effect_on_a_barrier_that_is_not_among_the_operands_is_refused(body: Any) -> None:
    with pytest.raises(ValueError, match=r"declares BarrierEffect.ARRIVE: the operand that it affects"):
        instruction("test;", barrier=BarrierEffect.ARRIVE, **STATED)(body)


def test_a_declared_effect_is_accepted() -> None:
    assert instruction("test [{bar}];", barrier=BarrierEffect.WAIT, **STATED)(waits).blocking
    assert instruction("test;", **STATED)(fences).barrier is None


def test_every_effect_is_some_entrys() -> None:
    assert {entry.barrier for entry in TABLE.values()} == {None, *BarrierEffect}


def test_only_a_wait_for_a_phase_blocks() -> None:
    for entry in TABLE.values():
        if entry.barrier is not None:
            assert entry.blocking == (entry.barrier is BarrierEffect.WAIT), entry.name
