"""Deadlocks: the waiting warps, the instructions that could release them, and the most likely cause.

`signals`, `states`, `threads`, `bytes`, `counts`, `rounds` and `general` hold the rules; each names its finding's code.
"""

from .byte_counts import BYTE_COUNT, Suspect, suspects
from .explain import RULES, Deadlock, explain_deadlock
from .first_waits import PASSES_AT_ONCE, NamedWaits, role_alone
from .guards import Definitions, Guard, source_text
from .handovers import EARLY_COMMIT, OTHER_COUNT, OTHER_ROUNDS, OTHER_STAGE, SWAPPED, handover_suspect
from .sites import Site, find_sites, reached
from .situation import barrier_of, line
from .states import STANDS_STILL, WRONG_PARITY, state_suspects
from .stuck_role import StuckRole
from .twice import state_notes

__all__ = [
    "BYTE_COUNT", "EARLY_COMMIT", "OTHER_COUNT", "OTHER_ROUNDS", "OTHER_STAGE", "PASSES_AT_ONCE", "RULES",
    "STANDS_STILL", "SWAPPED", "WRONG_PARITY", "Deadlock", "Definitions", "Guard", "NamedWaits", "Site", "StuckRole",
    "Suspect", "barrier_of", "explain_deadlock", "find_sites", "handover_suspect", "line", "reached", "role_alone",
    "source_text", "state_notes", "state_suspects", "suspects",
]  # fmt: skip
