"""Launches that begin early: what they may touch before they wait for the launches before them."""

from __future__ import annotations

from contextvars import copy_context
from typing import Any

import numpy as np
import pytest

from tirx_mini.diagnose import SimulationError
from tirx_mini.tile_ir import ct


@ct.kernel
def first(a: Any, h: Any) -> None:
    ct.grid_dependency_control_launch_dependents()
    ct.store(h, 0, ct.load(a, 0, (32,)) * 2)


@ct.kernel
def reads(w: Any, h: Any, o: Any) -> None:
    weights = ct.load(w, 0, (32,))
    ct.grid_dependency_control_wait()
    ct.store(o, 0, weights + ct.load(h, 0, (32,)))


@ct.kernel
def writes(w: Any, h: Any, o: Any) -> None:
    ct.store(o, 0, ct.zeros((32,), ct.float32))
    ct.grid_dependency_control_wait()
    ct.store(h, 0, ct.load(w, 0, (32,)))


def arrays() -> tuple[np.ndarray, ...]:
    """a, h, w, o."""
    return tuple(np.full(32, i, np.float32) for i in range(4))


def codes(*launches: tuple[Any, tuple[Any, ...], bool], streams: tuple[Any, ...] = ()) -> list[str]:
    """Return the codes of the last launch; each launch is a kernel, its arguments, and whether it may begin early."""

    def run() -> list[str]:
        for number, (kernel, args, early) in enumerate(launches):
            stream = streams[number] if streams else None
            try:
                ct.launch(stream, (1,), kernel, args, programmatic_dependent_launch=early)
            except SimulationError as error:
                assert number == len(launches) - 1
                return [finding.code for finding in error.report.findings]
        return []

    return copy_context().run(run)


def test_weights_are_read_before_the_wait() -> None:
    a, h, w, o = arrays()
    assert codes((first, (a, h), False), (reads, (w, h, o), True)) == []
    assert (o == 2).all()


def test_what_the_launch_before_writes_is_read_after_the_wait() -> None:
    a, h, w, o = arrays()
    assert codes((first, (a, h), False), (reads, (h, w, o), True)) == ["TX213"]
    both = np.zeros(64, np.float32)
    assert codes((first, (a, both[16:48]), False), (reads, (both[:32], w, o), True)) == ["TX213"]
    assert codes((first, (a, both[32:]), False), (reads, (both[:32], w, o), True)) == []


def test_what_the_launch_before_uses_is_written_after_the_wait() -> None:
    a, h, w, o = arrays()
    assert codes((first, (a, h), False), (writes, (w, h, o), True)) == []
    assert codes((first, (a, h), False), (writes, (w, h, a), True)) == ["TX213"]


def test_a_launch_that_does_not_begin_early_needs_no_wait() -> None:
    a, h, w, o = arrays()
    assert codes((first, (a, h), False), (reads, (h, w, o), False)) == []


def test_launches_that_began_early_may_all_be_running() -> None:
    a, h, w, o = arrays()
    chain = [(first, (a, w), False), (first, (a, h), True)]
    assert codes(*chain, (reads, (w, h, o), True)) == ["TX213"]
    assert codes(*chain, (first, (a, h), False), (reads, (w, h, o), True)) == []


@pytest.mark.parametrize("streams", [("s", "t"), ("s", None)])
def test_another_stream_is_not_known(streams: tuple[Any, ...]) -> None:
    a, h, w, o = arrays()
    assert codes((first, (a, h), False), (reads, (w, h, o), True), streams=streams) == ["TX213"]


def test_nothing_is_known_of_the_first_launch() -> None:
    _, h, w, o = arrays()
    assert codes((reads, (w, h, o), True), streams=("new",)) == ["TX213"]
