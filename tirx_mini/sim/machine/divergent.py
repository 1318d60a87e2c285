"""Divergent lanes of one warp, which execute the arms of branches independently.

The threads of a warp make progress independently (CUDA programming guide: "Independent Thread Scheduling"): while the
lanes in one arm of a branch wait, those in another arm continue. `Divergence` holds the arms of some adjacent branches,
each as a generator. A blocked arm is set aside; when no arm is left to start, the warp waits for the first one that can
continue.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol

from tirx_mini.ir import Span

from .interfaces import Blocking, Gpu, Wait
from .masks import Mask
from .meetings import only_lanes

POLL_CYCLES = 200
"""The interval between two iterations of a loop that polls memory."""


class DivergentWarp(Protocol):
    """The interface of a warp for divergent arms.

    divergent: the nesting depth of `Divergence`s around it. woken: whether it is about to continue.
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
        """Run until the warp blocks or ends."""
        ...

    def select(self, mask: Mask) -> None:
        """Continue with the lanes of `mask`."""
        ...


class Arm:
    """A blocked arm. lanes: all of its lanes. mask, span: where it continues. wait: its current wait."""

    __slots__ = ("lanes", "mask", "program", "span", "wait")

    def __init__(self, lanes: Mask, program: Generator[Wait, None, None]) -> None:
        self.lanes = self.mask = lanes
        self.program = program
        self.span: Span | None = None
        self.wait: Wait | None = None


class Divergence:
    """A sequence of adjacent branches of one warp, up to the reconvergence of all lanes."""

    def __init__(self, w: DivergentWarp) -> None:
        self._warp = w
        self._arms: list[Arm] = []
        self._outermost = not w.divergent
        w.divergent += 1

    def start(self, lanes: Mask, program: Generator[Wait, None, None]) -> None:
        """Run the lanes through an arm, until it ends or blocks."""
        arm = Arm(lanes, program)
        self._arms.append(arm)
        self._run(arm)

    def meets(self, lanes: Mask) -> bool:
        """Return whether any of the lanes is still in an arm."""
        return any(arm.lanes.word & lanes.word for arm in self._arms)

    def join(self) -> Blocking:
        """Run all arms to their ends.

        Lanes that wait for lanes outside the arms continue without them.
        """
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
        """Leave the divergence: all lanes have reconverged."""
        self._warp.divergent -= 1

    def _wait(self, first: Arm, poll: bool) -> Wait:
        """Return the wait of the first arm that can continue. poll: whether time has to pass first.

        Only the outermost divergence lets it pass: the warp continues once, whatever the depth of the arm that polls.
        """
        w, wait = self._warp, first.wait
        assert wait is not None
        wait.beside = tuple(arm.wait for arm in self._arms if arm is not first and arm.wait is not None)
        if poll and self._outermost:
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
