"""Time: the event clock, and resources of limited bandwidth."""

from .bandwidth import WINDOW, Bandwidth
from .clock import Clock, Event, EventOwner, HoldingClock
from .fair_share import FairShare, Flow
from .traffic import LINE_BITS, SmTraffic, Traffic, Untimed, through_l2

__all__ = [
    "Bandwidth", "Clock", "Event", "EventOwner", "FairShare", "Flow", "HoldingClock", "LINE_BITS",
    "SmTraffic", "Traffic", "Untimed", "WINDOW", "through_l2",
]  # fmt: skip
