"""Loops of MMAs, memoised by the values that determine their operands."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias

from tirx_mini.isa import TmemOperand

from ..machine import Warp
from .issued import Burst, Issued, Known, Mma, Pipe, Series

Step: TypeAlias = Callable[[Mma], tuple[float, float]]
"""A function from an MMA to (cycles of arithmetic, bytes of operands)."""


class MemoisedSeries:
    """Memoised series whose MMAs keep individual issue times."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._known: dict[Hashable, Series | None] = {}
        self._watched: Hashable = None

    def find(self, key: Hashable) -> Series | None:
        """Return the series of a key; if it is unknown, record the next operations for `learn`."""
        self._watched = None if key in self._known else key
        return self._known.get(key)

    def learn(self, issued: Sequence[Issued]) -> None:
        """Memoise the issued operations as the series of the current key. Only plain MMAs of one sum, with both
        operands in shared memory, form a series."""
        key, self._watched = self._watched, None
        if key is None:
            return
        mmas = tuple(mma for mma in issued if isinstance(mma, Mma) and mma.plain)
        first = mmas[0] if mmas else None
        alike = first is not None and all(mma.pipeline == first.pipeline for mma in mmas)
        if first is None or not alike or len(mmas) < len(issued) or isinstance(first.a, TmemOperand):
            self._known[key] = None
            return
        columns = first.shape.n // first.shape.parts(first.cta_group)
        self._known[key] = Series(mmas, _grouped(mmas), columns, tuple(map(self._step, mmas)))


def _grouped(mmas: Sequence[Mma]) -> tuple[list[Mma], ...]:
    """Group each MMA with the MMAs that continue it."""
    groups: list[list[Mma]] = []
    for mma in mmas:
        if groups and mma.continues(groups[-1][0]):
            groups[-1].append(mma)
        else:
            groups.append([mma])
    return tuple(groups)


class MemoisedBursts:
    """Memoised series that reuse the durations of their first execution, for runs of parts of launches."""

    def __init__(self, step: Step, fill: Callable[[Mma], float]) -> None:
        self._step = step
        self._fill = fill
        self._known: dict[Hashable, Known] = {}
        self._learning: tuple[Hashable, float, int] | None = None

    def again(self, w: Warp, pipe: Pipe, key: Hashable) -> bool:
        """Issue the memoised MMAs of this key at once; without an entry, let `learn` record the next ones."""
        self._learning = None
        if w.mask.count != 1:
            return False
        known = self._known.get(key)
        if known is None:
            self._learning = key, w.time, len(pipe.pending)
            return False
        pipe.elected = w.mask.elected
        pipe.pending.append(Burst(pipe, known, w.time, known.span))
        w.time += known.cycles
        w.span = known.span
        return True

    def learn(self, w: Warp, pipe: Pipe) -> None:
        """Memoise the operations that the thread has issued since `again`, if they are MMAs."""
        if self._learning is None:
            return
        key, begin, before = self._learning
        issued = pipe.pending[before:]
        mmas = [mma for mma in issued if isinstance(mma, Mma)]
        if mmas and len(mmas) == len(issued):
            steps = tuple((mma.time - begin, *self._step(mma)) for mma in mmas)
            flops = sum(mma.shape.flops for mma in mmas)
            self._known[key] = Known(steps, w.time - begin, flops, mmas[0].cta_group, w.span, self._fill(mmas[-1]))
