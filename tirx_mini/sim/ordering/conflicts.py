"""The kinds of hazards between two accesses to one location."""

from __future__ import annotations

from enum import Enum, auto


class ConflictKind(Enum):
    """The rule that an access violates with respect to an earlier access."""

    RACE = auto()
    """No synchronisation orders the two accesses."""
    PROXY = auto()
    """No fence.proxy.async lies between the two accesses."""
    PROXY_READ = auto()
    """No fence.proxy.async lies between the two accesses, and the earlier one is a read."""
    UNPAIRED = auto()
    """Two tensor-core operations of one thread for which the PTX ISA guarantees no execution order."""
    TCGEN05_AFTER = auto()
    """No tcgen05.fence::after_thread_sync lies between the two accesses."""
    TCGEN05_BEFORE = auto()
    """No tcgen05.fence::before_thread_sync lies between the earlier access and its release."""
    LANES = auto()
    """The accesses belong to different lanes of one warp, and no bar.warp.sync lies between them."""
    ELECTED_LANE = auto()
    """The accesses are ordered only if elect.sync chooses the lowest lane."""
    RELEASE_SCOPE = auto()
    """Only an arrival at another CTA's mbarrier orders the two, whose release has the scope of a CTA."""
    ACQUIRE_SCOPE = auto()
    """The arrival has a wider scope, and the wait that it completes that of a CTA."""
    SLOT_SCOPE = auto()
    """As RELEASE_SCOPE, where the later one writes."""
    UNINITIALISED = auto()
    """The location was never written."""
    LOST_REDUCTION = auto()
    """Both accesses are strong, but a store may overwrite the other access's reduction."""
