"""Deadlocks: who waits for what, which instructions could have provided it, and the most likely reason why none did.

`signals`, `threads`, `bytes`, `counts`, `rounds` and `general` hold the rules; each names its finding's code.
"""

from .byte_counts import BYTE_COUNT, Suspect, suspects
from .explain import RULES, Deadlock, explain_deadlock
from .situation import barrier_of, line
from .stuck_role import StuckRole

__all__ = [
    "BYTE_COUNT", "RULES", "Deadlock", "StuckRole", "Suspect", "barrier_of", "explain_deadlock", "line", "suspects",
]  # fmt: skip
