"""Facts of a run that another order of the same events may change, so that one run does not prove all orders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Set
from dataclasses import dataclass
from enum import Enum, auto

from tirx_mini.ir import Span

from .facts import Origin, place_key


class Doubt(Enum):
    """A reason for which another order may show other events than the run did."""

    SIGNALS = auto()
    """Signals of an mbarrier may count in each other's phases."""
    BYTES = auto()
    """A phase of an mbarrier may be complete before all bytes are expected that belong to it."""
    TEST = auto()
    """An mbarrier.test_wait found its phase incomplete, and may find it complete."""
    COLUMNS = auto()
    """Allocations of tensor memory may have to wait for one another."""
    REGISTERS = auto()
    """A setmaxnreg.dec comes after a setmaxnreg.inc, which may have to wait for it."""


@dataclass(frozen=True)
class OpenOrder:
    """A place at which another order may go otherwise. subject: what it concerns, as in "full[0]"."""

    doubt: Doubt
    origin: Origin
    subject: str


Ends = Mapping[tuple[str, int], Set[int]]
"""Ends of phases of mbarriers: by the name of the CTA and the byte of shared memory, the numbers of the phases."""


PUT_OFF, PUT_OFF_IN_ALL = 2000, 8000
"""Tests of one place, and of all, that a run with late completions lets fail at most; a loop that tries no more often
gives up.
"""


class Late(Enum):
    """Whose tests of mbarriers come before completions in a run, wherever another order has them there."""

    ALL = auto()
    FIRST = auto()
    """Those of the warp that tests first."""
    OTHERS = auto()
    """Those of all other warps."""


class Tests:
    """Tests of mbarriers that found a phase complete, and would come before its completion in another order.

    late: whose do in this run, up to `PUT_OFF` of each place. found: whether there was one.
    """

    def __init__(self, late: Late | None) -> None:
        self.late = late
        self.found = False
        self._first: object = None
        self._failed: Counter[Hashable] = Counter()

    def put_off(self, warp: object, span: Span | None) -> bool:
        """Return whether a test at `span` is to fail although its phase is complete, because its thread cannot see that
        yet.
        """
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
    """The doubts about a run, the first one of each kind at each place.

    mixed: the phases that another order may complete with other signals than the run did.
    """

    def __init__(self) -> None:
        self.mixed: dict[tuple[str, int], set[int]] = {}
        self._found: dict[Hashable, OpenOrder] = {}

    def record(self, doubt: Doubt, origin: Origin, subject: str) -> None:
        """Record that another order may take another course."""
        key = (doubt, place_key(origin.span))
        if key not in self._found:
            self._found[key] = OpenOrder(doubt, origin, subject)

    @property
    def all(self) -> tuple[OpenOrder, ...]:
        """All doubts, in the order in which they were recorded."""
        return tuple(self._found.values())
