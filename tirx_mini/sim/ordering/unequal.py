"""Clusters that do the same as a checked one: their accesses need not be checked, as long as none is of its own kind.

`Unequal` ends a run that took clusters to be equal: they have something to report, or meet in global memory. The launch
is then run again, with every access checked.
"""

from __future__ import annotations


class Unequal(Exception):
    """A cluster that was taken to do the same as a checked one may not."""
