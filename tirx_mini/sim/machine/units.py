"""The units of an SM that its warps share: the issue slots and special function units of a quarter, and the shuffles.

A quarter of an SM, its sub-partition, issues the instructions of the warps whose number is the same modulo four.
"""

from __future__ import annotations

from tirx_mini.hardware import QUARTERS

from .interfaces import Warp


def issue(w: Warp, cycles: float, slots: float, special: float, shuffles: float) -> None:
    """Advance the warp's time by instructions that share units with those of other warps.

    cycles: their issue costs. slots: the same, if the warps of the SM compete for issue slots. special: those of the
    special function units. shuffles: how many of them move data among lanes.
    """
    begin, units, now = w.time, w.cta.sm.traffic, w.gpu.clock.now
    quarter, end = w.warp_id % QUARTERS, begin + cycles
    if slots:
        end = max(end, units.slots[quarter].take(begin, slots, now))
    if special:
        end = max(end, units.special[quarter].take(begin, special, now))
    if shuffles:
        end = max(end, units.shuffles.take(begin, shuffles, now))
    w.time = end
