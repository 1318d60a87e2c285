"""The collaborators with which a machine is built: values, order and time, each with a class that does nothing.

Engines, memories and warps hand them their effects, the records of their accesses, and their work. So none of these
asks what a run is for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from ..timing import Clock

T = TypeVar("T")
Effect: TypeAlias = Callable[..., Any]


class Values:
    """Computes values and moves them."""

    __slots__ = ()

    def apply(self, effect: Effect, *operands: Any) -> bool:
        """Make an effect; return whether it was made."""
        effect(*operands)
        return True

    def of(self, compute: Callable[..., T], *operands: Any) -> T | None:
        """Return a value; None where there are none."""
        return compute(*operands)


class NoValues(Values):
    """Leaves values out, so that only time passes."""

    __slots__ = ()

    def apply(self, effect: Effect, *operands: Any) -> bool:
        """As `Values.apply`."""
        return False

    def of(self, compute: Callable[..., T], *operands: Any) -> T | None:
        """As `Values.of`."""
        return None


class Order:
    """The recorder of accesses, which finds pairs without an order. Without values there are none to record."""

    __slots__ = ()

    def record(self, note: Effect, *operands: Any) -> None:
        """Record an access."""
        note(*operands)

    def of(self, make: Callable[..., T], *operands: Any) -> T | None:
        """Return an object that records; None where nothing does."""
        return make(*operands)

    def shortcut(self, access: Callable[..., T], *operands: Any) -> T | None:
        """Make an access that leaves no record, and return its result; None where it is not made."""
        return None


class NoOrder(Order):
    """Records nothing."""

    __slots__ = ()

    def record(self, note: Effect, *operands: Any) -> None:
        """As `Order.record`."""

    def of(self, make: Callable[..., T], *operands: Any) -> T | None:
        """As `Order.of`."""
        return None

    def shortcut(self, access: Callable[..., T], *operands: Any) -> T | None:
        """As `Order.shortcut`."""
        return access(*operands)


class Time:
    """Lets engines take their time."""

    __slots__ = ()

    def begin(
        self, clock: Clock, time: float, work: Any, start: Effect, finish: Effect, *operands: Any
    ) -> None:
        """Begin the work of an engine at a time: `start` it, and it is finished when its time is over."""
        clock.at(time, work, start, *operands)


class NoTime(Time):
    """Has engines finish at once: neither time nor accesses matter, only results."""

    __slots__ = ()

    def begin(
        self, clock: Clock, time: float, work: Any, start: Effect, finish: Effect, *operands: Any
    ) -> None:
        """As `Time.begin`."""
        finish(*operands)


VALUES, NO_VALUES = Values(), NoValues()
ORDER, NO_ORDER = Order(), NoOrder()
TIME, NO_TIME = Time(), NoTime()
