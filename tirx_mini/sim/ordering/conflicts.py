"""The kinds of hazards between two accesses to one place."""

from __future__ import annotations

from enum import Enum, auto


class ConflictKind(Enum):
    """The reason for which an access may not follow the one before it."""

    RACE = auto()
    """Nothing orders the two."""
    PROXY = auto()
    """No fence.proxy.async lies between them."""
    PROXY_READ = auto()
    """The same, where the earlier one is a read."""
    UNPAIRED = auto()
    """Operations of the tensor core by one thread, of which the PTX ISA does not say that they execute in order."""
    TCGEN05_AFTER = auto()
    """No tcgen05.fence::after_thread_sync lies between them."""
    TCGEN05_BEFORE = auto()
    """No tcgen05.fence::before_thread_sync lies between the earlier one and its release."""
    LANES = auto()
    """The two are of different lanes of one warp, and no bar.warp.sync lies between them."""
    ELECTED_LANE = auto()
    """The two are in order if elect.sync chooses the lowest lane."""
    UNINITIALISED = auto()
    """Nothing was written there."""
    LOST_REDUCTION = auto()
    """Both have a memory order, and one is a store that erases what the other one added, or does not."""
