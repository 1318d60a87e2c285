"""Happens-before: the vector clocks of a cluster, and the shadow memories that hold accesses against them."""

from .clocks import (
    BEFORE,
    ORDER,
    PAST,
    PROXIES,
    PROXY,
    PROXY_GLOBAL,
    ROWS,
    Agent,
    Causality,
    Snapshot,
    SyncClock,
    UncheckedCausality,
)  # fmt: skip
from .griddepcontrol import EarlyAccess, GridBefore, GridDependence
from .linear import Shadow
from .operations import KnownValue, Operation, Proxy
from .shadow import (
    Access,
    AccessLog,
    Actor,
    Complain,
    Conflict,
    ConflictKind,
    Segment,
    Unwatched,
    distinct,
)  # fmt: skip

__all__ = [
    "Access", "AccessLog", "Actor", "Agent", "BEFORE", "Causality", "Complain", "Conflict", "ConflictKind",
    "EarlyAccess", "GridBefore", "GridDependence", "KnownValue", "ORDER", "Operation", "PAST", "PROXIES", "PROXY",
    "PROXY_GLOBAL", "Proxy", "ROWS", "Segment",
    "Shadow", "Snapshot", "SyncClock", "UncheckedCausality", "Unwatched", "distinct",
]  # fmt: skip
