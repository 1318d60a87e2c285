"""The exception that ends an unchecked run of clusters that were assumed equivalent to a checked one.

Such a cluster has a finding, or conflicts with another one in global memory. The launch is then run again, with every
access checked.
"""

from __future__ import annotations


class Unequal(Exception):
    """An assumption that a cluster is equivalent to a checked one has failed."""
