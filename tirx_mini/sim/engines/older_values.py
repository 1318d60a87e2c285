"""Values that strong writes left at a place, for a read that comes earlier in another order than in the run.

A read may find any value that is not older than what its thread has read there, or knows to be written (PTX ISA:
"Coherence", "Observation Order"). In a run where tests come before completions, a loop that polls finds each value in
turn, goes on behind the first one that ends it, and knows no more than that. A loop behind it may find that value
again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from tirx_mini.isa import MemoryAccess
from tirx_mini.records import dataclass

from ..doubts import Doubt
from ..machine import Gpu, RunningWarp, numpy_dtype
from ..ordering import ORDER, PAST, Agent, Epochs, Released, Segment

KEPT = 16
"""The latest values of a place that are kept."""
AGAIN = 32
"""How often a thread that has done something else finds a value again: a loop with a fence in it comes to an end."""


@dataclass(frozen=True)
class Written:
    """A strong write, by an agent in one of its epochs.

    released: what a read that finds its value acquires. trails: what it has seen (`trails`).
    after: how many values of the place come before it in every order. agent: None for the first value of a place.
    """

    agent: int | None
    epoch: int
    value: Any
    released: Released = ()
    after: int = 0
    trails: Sequence[Epochs] = ()

    def known_to(self, agent: Agent) -> bool:
        """Return whether an agent may read nothing older."""
        if self.agent is None or self.agent == agent.index:
            return True
        return max(agent.clocks.item(ORDER, self.agent), agent.clocks.item(PAST, self.agent)) >= self.epoch


Reader: TypeAlias = "tuple[RunningWarp, int]"


class Place:
    """A place that is written strongly. writes: the latest values. dropped: how many came before these.

    seen: by reader, its warp and lanes, the number of the value that it has found last. found: with the epoch of the
    reader then, and how often it had found the value before.
    """

    def __init__(self, first: Written) -> None:
        self.writes = [first]
        self.dropped = 0
        self.seen: dict[Reader, int] = {}
        self.found: dict[Reader, tuple[int, int]] = {}

    @property
    def latest(self) -> int:
        """The number of the last value."""
        return self.dropped + len(self.writes) - 1

    def oldest(self, reader: Reader, agent: Agent) -> int:
        """The number of the oldest value that a reader may find, or of the next one in a loop that goes on."""
        epoch, times = self.found.get(reader, (agent.epoch, 0))
        again = epoch != agent.epoch and times < AGAIN
        number = self.seen.get(reader, -1) + (0 if again else 1)
        self.found[reader] = agent.epoch, times + 1 if again else 0
        return max(self.known(agent), number)

    def known(self, agent: Agent) -> int:
        """The number of the last value that an agent knows to be written, as far as they are kept."""
        later = (n for n in range(self.latest, self.dropped, -1) if self.writes[n - self.dropped].known_to(agent))
        return next(later, self.dropped)


@dataclass(frozen=True)
class Run:
    """The addresses of an access that lie in one memory.

    lanes: int[n], the position of each among the active lanes. offsets: int64[n], in bytes of the memory. view: the
    memory as items of a given width. segment: its shadow, None in an unchecked run. slot, name: of the global buffer.
    """

    lanes: np.ndarray
    offsets: np.ndarray
    view: Callable[[int], np.ndarray]
    segment: Segment | None
    slot: int | None = None
    name: str = ""


class OlderValues:
    """The values of all places that one lane at a time writes strongly."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self._places: dict[tuple[Segment, int, int], Place] = {}

    def begin(self, w: RunningWarp, access: MemoryAccess, run: Run) -> tuple[Place | None, int]:
        """A write is about to be made. Returns its place, if it is a strong one, and the epoch of its thread."""
        key = _key(access, run)
        if key is None:
            return None, 0
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = Place(Written(None, 0, _value(access, run)))
        return place, w.agent.epoch

    def wrote(
        self, w: RunningWarp, access: MemoryAccess, run: Run, begun: tuple[Place | None, int], released: Released,
        trails: Sequence[Epochs],
    ) -> None:
        """A write has been made. released, trails: as for `Written`."""
        place, epoch = begun
        if place is None:
            return
        after = place.known(w.agent) + 1 if self.gpu.tests.late is not None else 0
        place.writes.append(Written(w.agent.index, epoch, _value(access, run), released, after, trails))
        if len(place.writes) > KEPT:
            del place.writes[0]
            place.dropped += 1

    def read(self, w: RunningWarp, access: MemoryAccess, run: Run) -> Written | None:
        """The value that a strong read finds, if it is not the last one; None for what memory holds."""
        key = _key(access, run)
        place = None if key is None else self._places.get(key)
        if place is None:
            return None
        reader = (w, w.mask.word)
        number = place.oldest(reader, w.agent)
        place.seen[reader] = place.latest
        if number >= place.latest or place.writes[-1].value != _value(access, run):
            return None
        if not self.gpu.tests.put_off(w, w.span):
            return None
        self.gpu.stillness.moved()
        place.seen[reader] = number
        return place.writes[number - place.dropped]

    def check(self) -> None:
        """At the end: record reads that went on behind an older value, where others may have been written before it."""
        for place in self._places.values() if self.gpu.tests.late is not None else ():
            for (w, _), number in place.seen.items():
                later = place.writes[max(0, number + 1 - place.dropped) :]
                if any(write.after <= number for write in later):
                    self.gpu.doubts.record(Doubt.VALUES, w.origin, "memory")


def _key(access: MemoryAccess, run: Run) -> tuple[Segment, int, int] | None:
    if run.segment is None or access.sem == "weak" or access.words != 1 or len(run.lanes) != 1:
        return None
    return run.segment, int(run.offsets[0]), numpy_dtype(access.dtype).itemsize


def _value(access: MemoryAccess, run: Run) -> np.generic:
    dtype = numpy_dtype(access.dtype)
    return run.view(dtype.itemsize).view(dtype)[int(run.offsets[0]) // dtype.itemsize]
