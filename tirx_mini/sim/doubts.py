"""Doubts: facts of a run that may differ in another order of events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Set
from enum import Enum, auto

from tirx_mini.ir import Span
from tirx_mini.records import dataclass

from .facts import Origin, place_key


class Doubt(Enum):
    """A reason why another order may have different events."""

    SIGNALS = auto()
    """Signals of an mbarrier may count in each other's phases."""
    BYTES = auto()
    """A phase of an mbarrier may complete before all expect-tx operations of its bytes."""
    TEST = auto()
    """An mbarrier.test_wait found its phase incomplete, but may find it complete."""
    COLUMNS = auto()
    """Allocations of tensor memory may have to wait for one another."""
    REGISTERS = auto()
    """A setmaxnreg.dec follows a setmaxnreg.inc that may have to wait for it."""
    VALUES = auto()
    """A loop that polls ends at a value that other writes may have made in another order."""


@dataclass(frozen=True)
class OpenOrder:
    """A point at which another order may continue differently. subject: the object concerned, as in "full[0]"."""

    doubt: Doubt
    origin: Origin
    subject: str


Ends = Mapping[tuple[str, int], Set[int]]
"""Ends of mbarrier phases: the phase numbers by CTA name and shared-memory offset."""


PUT_OFF, PUT_OFF_IN_ALL = 2000, 8000
"""The maximum number of failed tests at one location, and in total, in a run with late completions."""


class Late(Enum):
    """The warps whose mbarrier tests precede completions in a run, wherever another order allows it."""

    ALL = auto()
    FIRST = auto()
    """The warp that tests first."""
    OTHERS = auto()
    """All warps except the one that tests first."""


class Tests:
    """Tests of mbarriers that found a phase complete, but precede its completion in another order; and reads that find
    older values in another order.

    late: the warps whose tests do so in this run, up to `PUT_OFF` at each location. found: whether there was one.
    """

    def __init__(self, late: Late | None) -> None:
        self.late = late
        self.found = False
        self._first: object = None
        self._failed: Counter[Hashable] = Counter()

    def put_off(self, warp: object, span: Span | None) -> bool:
        """Return whether to fail a test at `span`, because its thread cannot yet observe the completed phase."""
        self.found = True
        if self._first is None:
            self._first = warp
        place = place_key(span)
        if self.late is (Late.OTHERS if warp is self._first else Late.FIRST):
            return False
        if self.late is None or self._failed[place] == PUT_OFF or self._failed.total() == PUT_OFF_IN_ALL:
            return False
        self._failed[place] += 1
        return True


class Doubts:
    """The doubts about a run, the first one of each kind at each location.

    mixed: the phases that another order may complete with other signals than this run.
    """

    def __init__(self) -> None:
        self.mixed: dict[tuple[str, int], set[int]] = {}
        self._found: dict[Hashable, OpenOrder] = {}

    def record(self, doubt: Doubt, origin: Origin, subject: str) -> None:
        """Record that another order may continue differently."""
        key = (doubt, place_key(origin.span))
        if key not in self._found:
            self._found[key] = OpenOrder(doubt, origin, subject)

    @property
    def all(self) -> tuple[OpenOrder, ...]:
        """All doubts, in order of recording."""
        return tuple(self._found.values())
