"""The collaborators of a machine: values, order and time, each with a null implementation.

Engines, memories and warps pass them their effects, their access records and their work, so that none of these depends
on the purpose of a run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from ..timing import Clock, EventOwner

T = TypeVar("T")
Effect: TypeAlias = Callable[..., Any]


class Values:
    """Computes and moves values."""

    __slots__ = ()

    def apply(self, effect: Effect, *operands: object) -> bool:
        """Apply an effect; return whether it was applied."""
        effect(*operands)
        return True

    def of(self, compute: Callable[..., T], *operands: object) -> T | None:
        """Return a computed value; None in a run without values."""
        return compute(*operands)


class NoValues(Values):
    """Skips all values, so that only time passes."""

    __slots__ = ()

    def apply(self, effect: Effect, *operands: object) -> bool:
        """See `Values.apply`."""
        return False

    def of(self, compute: Callable[..., T], *operands: object) -> T | None:
        """See `Values.of`."""
        return None


class Order:
    """Records accesses and detects unordered pairs.

    Without values there are no accesses to record.
    """

    __slots__ = ()

    def record(self, note: Effect, *operands: object) -> None:
        """Record an access."""
        note(*operands)

    def of(self, make: Callable[..., T], *operands: object) -> T | None:
        """Return an object that records accesses; None in a run without checks."""
        return make(*operands)

    def shortcut(self, access: Callable[..., T], *operands: object) -> T | None:
        """Perform an unrecorded access and return its result; None if accesses must be recorded."""
        return None


class NoOrder(Order):
    """Records nothing."""

    __slots__ = ()

    def record(self, note: Effect, *operands: object) -> None:
        """See `Order.record`."""

    def of(self, make: Callable[..., T], *operands: object) -> T | None:
        """See `Order.of`."""
        return None

    def shortcut(self, access: Callable[..., T], *operands: object) -> T | None:
        """See `Order.shortcut`."""
        return access(*operands)


class Time:
    """Gives engine work its simulated duration."""

    __slots__ = ()

    def begin(
        self, clock: Clock, time: float, work: EventOwner | None, start: Effect, finish: Effect, *operands: object
    ) -> None:
        """Begin an engine's work at a given time with `start`; it finishes when its time has elapsed."""
        clock.at(time, work, start, *operands)


class NoTime(Time):
    """Finishes engine work immediately, for runs in which only results matter."""

    __slots__ = ()

    def begin(
        self, clock: Clock, time: float, work: EventOwner | None, start: Effect, finish: Effect, *operands: object
    ) -> None:
        """See `Time.begin`."""
        finish(*operands)


VALUES, NO_VALUES = Values(), NoValues()
ORDER, NO_ORDER = Order(), NoOrder()
TIME, NO_TIME = Time(), NoTime()
