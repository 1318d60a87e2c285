"""The recorder of a run: it collects the logs of warps and the reports of engines and mbarriers."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Sequence
from typing import Any

from tirx_mini.isa import TmemOperand

from ..engines import Batch, BulkCopy, Pipe
from ..machine import Cta, KernelImage, RunningWarp
from ..timeline import Place, Timeline, Track, TrackKind
from .build import build
from .notes import CopyNote, CtaLog, MmaNote, Notes, WarpLog
from .warps import recorded


class TimelineRecorder:
    """The recorder of one run. image: the kernel, with a program that records its steps."""

    def __init__(self, image: KernelImage) -> None:
        self.image = recorded(image)
        self.notes = Notes(image)
        self.signals = self.notes.signals
        self._running: dict[Any, deque[MmaNote]] = {}

    def warp_log(self, cta: Cta, warp: int, time: float) -> WarpLog:
        """Return the log of a warp that starts."""
        if warp == 0:
            self.notes.ctas[cta.number] = CtaLog(cta.number, cta.name, cta.sm.index, cta.cluster.index, cta.rank)
        log = WarpLog(Track(cta.number, TrackKind.WARP, warp), cta.rank, time, time)
        self.notes.warps.append(log)
        return log

    # -- engines -------------------------------------------------------------------------------------------------

    def loaded(self, copy: BulkCopy) -> None:
        """Record a TMA load that completes now, before it signals its barriers."""
        barrier: Any = copy.targets[0][1]
        targets = tuple(cta.number for cta, _ in copy.targets)
        done = copy.cta.gpu.clock.now
        self._copied(copy, True, copy.issued, done, barrier.place, barrier.phase, targets)

    def stored(self, copy: BulkCopy) -> None:
        """Record a TMA store that has completed its writes."""
        self._copied(copy, False, copy.moved[0], copy.write_time, None, None, ())

    def _copied(
        self, copy: BulkCopy, load: bool, start: float, end: float, barrier: Place | None, phase: int | None,
        targets: tuple[int, ...],
    ) -> None:  # fmt: skip
        cta, tensor_map = copy.cta.number, copy.copier.tensor_map
        self.notes.copies.append(
            CopyNote(
                cta, tensor_map, load, start, end, copy.span, copy.moved, copy.coords, copy.offset, barrier, phase,
                targets,
            )
        )  # fmt: skip

    def multiplying(self, pipe: Pipe, batch: Batch, first: float, end: float) -> None:
        """Record that a tensor core executes a batch of MMAs from `first` to `end`."""
        mmas: Sequence[Any] = batch.products
        if not mmas:
            return
        a = None if isinstance(mmas[0].a, TmemOperand) else mmas[0].a_start
        note = self._mmas(batch.cta, mmas, a, mmas[0].cta_group, first, end)
        note.fresh = tuple(each.column for each in mmas if not each.accumulate)
        self._running.setdefault(pipe, deque()).append(note)

    def multiplied(self, pipe: Pipe, batch: Batch) -> None:
        """Record the completion of a batch, before it signals its barriers."""
        if batch.products:
            running = self._running[pipe]
            note = running.popleft()
            if not running:
                del self._running[pipe]  # a pipe keeps its CTA alive
            arrivals: Any = batch.arrivals
            if arrivals:
                note.barriers = tuple(barrier.place for barrier in arrivals)
                note.phase = arrivals[0].phase

    def group_multiplied(self, cta: Cta, mmas: Sequence[object], first: float, end: float) -> None:
        """Record that a tensor core has executed a group of a warpgroup's MMAs from `first` to `end`."""
        given: Sequence[Any] = mmas
        product = given[0].product
        note = self._mmas(cta, mmas, None if product.a is None else product.a_start, 1, first, end)
        note.fresh = tuple(
            (each.role, each.registers.array.name, each.registers.index) for each in given if not each.accumulate
        )

    def _mmas(self, cta: Cta, mmas: Sequence[Any], a: int | None, cta_group: int, first: float, end: float) -> MmaNote:
        """Return a note of MMAs of one shape. a: the shared-memory offset of the first A; None if A is elsewhere."""
        mma = mmas[0]
        even = cta.rank & ~1
        ctas = tuple(each.number for each in cta.cluster.ctas[even : even + 2]) if cta_group == 2 else (cta.number,)
        shape = mma.shape.m, mma.shape.n, mma.shape.depth
        note = MmaNote(ctas, first, end, mma.span, a, mma.b_start, shape, len(mmas), ())
        self.notes.mmas.append(note)
        return note

    # -- the end -------------------------------------------------------------------------------------------------

    def timeline(self, live: Sequence[RunningWarp], now: float, stuck: bool) -> Timeline:
        """Return the timeline. live: the warps that have not ended at time `now`. stuck: whether they are
        deadlocked."""
        gc.freeze()  # the collector would scan all notes for nothing; `Simulation.run` unfreezes them
        return build(self.notes, live, now, stuck)
