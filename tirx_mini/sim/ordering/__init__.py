"""The happens-before relation of a cluster: vector clocks, and shadow memories that check accesses against them."""

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
    Clocks,
    Snapshot,
    SyncClock,
    common,
)  # fmt: skip
from .conflicts import ConflictKind
from .crowds import apart
from .griddepcontrol import EarlyAccess, GridBefore, GridDependence
from .lanes import Lanes
from .linear import Shadow
from .log import AccessLog
from .operations import CtaPlace, KnownValue, Operation, Proxy, Strong, in_scope
from .paged import PagedCausality, causality
from .pages import Epochs
from .shadow import (
    Complain,
    Conflict,
    Released,
    Segment,
    Unwatched,
    distinct,
)  # fmt: skip
from .unchecked import UncheckedCausality
from .unequal import Unequal

__all__ = [
    "Access", "AccessLog", "Actor", "Agent", "BEFORE", "COLLECTIVE", "Causality", "Clocks", "Complain", "Conflict",
    "ConflictKind", "CtaPlace", "ELECTED_LANE", "EarlyAccess", "Epochs", "FENCED", "GridBefore", "GridDependence",
    "KnownValue", "LANES_TOGETHER", "Lanes", "ORDER", "Operation", "PAST", "PROXIES", "PROXY", "PROXY_GLOBAL",
    "PagedCausality", "Proxy", "ROWS", "Release", "Released", "Segment", "Shadow", "Snapshot", "Strong",
    "SyncClock", "UncheckedCausality", "Unequal", "Unwatched", "apart", "causality", "common", "distinct",
    "in_scope",
]  # fmt: skip
