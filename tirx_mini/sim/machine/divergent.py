"""Lanes of one warp that go different ways, each at its own pace.

The threads of a warp make progress independently (CUDA programming guide: "Independent Thread Scheduling"): where the
lanes in one arm of a branch wait, those in another arm go on. `Divergence` holds the arms of some neighbouring
branches, each a generator of its own. An arm that waits is put aside; when no arm is left to start, the warp waits for
whichever of them can go on first.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol

from tirx_mini.ir import Span

from .interfaces import Blocking, Gpu, Wait
from .masks import Mask
from .meetings import only_lanes

POLL_CYCLES = 200
"""Between two rounds of a loop that spins on memory."""


class DivergentWarp(Protocol):
    """The interface of a warp that divergent arms need.

    divergent: how many `Divergence` it is in, one inside the other. woken: whether it is about to go on.
    """

    time: float
    span: Span | None
    divergent: int
    woken: bool

    @property
    def gpu(self) -> Gpu: ...
    @property
    def mask(self) -> Mask: ...
    @property
    def cluster_index(self) -> int: ...
    @property
    def event(self) -> str: ...
    def delay(self, now: float) -> None: ...
    def resume(self) -> None:
        """Run until it waits for something or ends."""
        ...

    def select(self, mask: Mask) -> None:
        """Go on with the lanes of `mask`."""
        ...


class Arm:
    """An arm that waits. lanes: all of its lanes. mask, span: where it goes on. wait: what for."""

    __slots__ = ("lanes", "mask", "program", "span", "wait")

    def __init__(self, lanes: Mask, program: Generator[Wait, None, None]) -> None:
        self.lanes = self.mask = lanes
        self.program = program
        self.span: Span | None = None
        self.wait: Wait | None = None


class Divergence:
    """Some neighbouring branches of one warp, until all of their lanes are together again."""

    def __init__(self, w: DivergentWarp) -> None:
        self._warp = w
        self._arms: list[Arm] = []
        w.divergent += 1

    def start(self, lanes: Mask, program: Generator[Wait, None, None]) -> None:
        """Let the lanes run an arm, until it ends or has to wait."""
        arm = Arm(lanes, program)
        self._arms.append(arm)
        self._run(arm)

    def meets(self, lanes: Mask) -> bool:
        """Return whether some of the lanes are still in an arm."""
        return any(arm.lanes.word & lanes.word for arm in self._arms)

    def join(self) -> Blocking:
        """Run all arms to their ends. Lanes that wait for others which are not in an arm go on without them."""
        woken = False
        while self._arms:
            ready = [arm for arm in self._arms if arm.wait is not None and arm.wait.ready]
            if not ready and woken:
                ready = [arm for arm in self._arms if arm.wait is not None and arm.wait.looks]
            if not ready and self._warp.divergent == 1 and (missed := only_lanes([arm.wait for arm in self._arms])):
                for wait in missed:
                    wait.over = wait.missed = True
                continue
            woken = not ready
            if not ready:
                ready = [arm for arm in self._arms if arm.wait is not None and arm.wait.polls]
                yield self._wait(ready[0] if ready else self._arms[0], poll=bool(ready))
            for arm in ready:
                self._run(arm)

    def close(self) -> None:
        """All lanes are together again."""
        self._warp.divergent -= 1

    def _wait(self, first: Arm, poll: bool) -> Wait:
        """The wait of the warp: that of the first arm that can continue. poll: and for some time to pass."""
        w, wait = self._warp, first.wait
        assert wait is not None
        wait.beside = tuple(arm.wait for arm in self._arms if arm is not first and arm.wait is not None)
        if poll:
            w.time += POLL_CYCLES
            w.gpu.clock.at(w.time, w, w.resume)
            w.woken = True
        return wait

    def _run(self, arm: Arm) -> None:
        w = self._warp
        if arm.wait is None or not arm.wait.polls:
            w.gpu.stillness.moved()
        w.select(arm.mask)
        w.span = arm.span
        try:
            arm.wait = next(arm.program)
        except StopIteration:
            self._arms.remove(arm)
        arm.mask, arm.span = w.mask, w.span
