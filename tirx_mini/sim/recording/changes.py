"""The phase changes of mbarriers, in order of time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..machine import Signal
from ..timeline import BarrierChange, Place
from .notes import SignalNote


def barrier_changes(notes: Iterable[SignalNote]) -> list[BarrierChange]:
    """Return all changes in order of time.

    Warps run ahead of one another during the run, so signals are noted out of order. The pending counts are recomputed
    in order of time. A signal before the start of its phase takes effect at the start.
    """
    by_barrier: dict[Place, list[SignalNote]] = {}
    for note in notes:
        by_barrier.setdefault(note.barrier, []).append(note)
    changes = [change for signals in by_barrier.values() for change in _changes_of(signals)]
    changes.sort(key=lambda change: change.time)
    return changes


def _changes_of(notes: list[SignalNote]) -> Iterator[BarrierChange]:
    """Yield the changes of one barrier. Its phases were noted in order; a second initialisation restarts them."""
    began = 0.0
    for phase in _phases(notes):
        pending, tx, time = phase[0].expected, 0, began
        for note in sorted(phase, key=lambda note: (note.kind is Signal.COMPLETE, note.time)):
            pending, tx = max(0, pending - note.arrivals), tx - note.nbytes
            time = max(began, note.time)
            if note.kind is Signal.COMPLETE:
                pending, began = note.expected, time
            yield BarrierChange(time, note.barrier, note.source, note.kind, note.phase, pending, tx, note.span)


def _phases(notes: list[SignalNote]) -> Iterator[list[SignalNote]]:
    """Yield the notes of each phase. The completion of a phase is noted before or after the signal that caused it."""
    group: list[SignalNote] = []
    for note in notes:
        if group and note.phase != group[0].phase:
            yield group
            group = []
        group.append(note)
    if group:
        yield group
