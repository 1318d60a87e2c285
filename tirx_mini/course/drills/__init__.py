"""Drills: references with one mistake each, to be found and repaired.

`DRILLS` lists them by architecture and step. `deal` makes the file of one, under the names and constants of a seed;
`attempt` judges a repair.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from .drill import Dealt, Drill, Symptom, deal, edited
from .first_steps import FIRST_STEPS
from .hopper import HOPPER_STEPS
from .judge import SLACK, Attempt, attempt, first_finding, judged, observe, placed
from .last_steps import LAST_STEPS
from .session import OPEN, REPAIRED, SHOWN, Session, answered, session, standings, write_new

DRILLS: Mapping[str, tuple[Drill, ...]] = MappingProxyType({
    arch: tuple(drill for drill in (*FIRST_STEPS, *LAST_STEPS, *HOPPER_STEPS) if drill.arch == arch)
    for arch in (FIRST_STEPS[0].arch, HOPPER_STEPS[0].arch)
})  # fmt: skip
"""All drills by the folder of the references, in dealing order."""

__all__ = [
    "DRILLS", "OPEN", "REPAIRED", "SHOWN", "SLACK", "Attempt", "Dealt", "Drill", "Session", "Symptom", "answered",
    "attempt", "deal", "edited", "first_finding", "judged", "observe", "placed", "session", "standings",
    "write_new",
]  # fmt: skip
