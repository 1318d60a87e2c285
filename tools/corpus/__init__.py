"""The corpus: what every program of the project becomes, and what the simulator reports of it.

    python -m tools.corpus                     # which programs changed
    python -m tools.corpus --only "tilelang"   # of those whose names contain the word
    python -m tools.corpus --diff              # and how their texts changed since HEAD; --diff REV: since a commit
    python -m tools.corpus --write             # store the digests and the reports, after a change that is meant

A commit that moves code changes no digest. A commit that changes digests moves no code, and its message lists them.
"""

from .program import Program
from .programs import PROGRAMS
from .runs import Run, runs
from .store import Entry, entries, stored

__all__ = ["PROGRAMS", "Entry", "Program", "Run", "entries", "runs", "stored"]
