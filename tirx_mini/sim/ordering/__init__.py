"""Happens-before: the vector clocks of a cluster, and the shadow memories that hold accesses against them."""

from .actors import COLLECTIVE, ELECTED_LANE, LANES_TOGETHER, Access, Actor, Release
from .clocks import (
    BEFORE,
    FENCED,
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
from .conflicts import ConflictKind
from .griddepcontrol import EarlyAccess, GridBefore, GridDependence
from .lanes import Lanes
from .linear import Shadow
from .log import AccessLog
from .operations import CtaPlace, KnownValue, Operation, Proxy, Strong, in_scope
from .shadow import (
    Complain,
    Conflict,
    Segment,
    Unwatched,
    distinct,
)  # fmt: skip
from .unequal import Unequal

__all__ = [
    "Access", "AccessLog", "Actor", "Agent", "BEFORE", "COLLECTIVE", "Causality", "Complain", "Conflict",
    "ConflictKind", "CtaPlace", "ELECTED_LANE", "EarlyAccess", "FENCED", "GridBefore", "GridDependence", "KnownValue",
    "LANES_TOGETHER", "Lanes", "ORDER", "Operation", "PAST", "PROXIES", "PROXY", "PROXY_GLOBAL", "Proxy", "ROWS",
    "Release", "Segment", "Shadow", "Snapshot", "Strong", "SyncClock", "UncheckedCausality", "Unequal", "Unwatched",
    "distinct", "in_scope",
]  # fmt: skip
