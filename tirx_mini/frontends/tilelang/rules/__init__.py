"""Lowering rules for tile operations."""

from collections.abc import Mapping

from ..place import Rule
from .barriers import InitBarriers
from .reduction import Finalize, Reduce, combine, result_layout
from .scan import Scan

REDUCE, SCAN = "tl.reduce", "tl.scan"
RULES: Mapping[str, Rule] = {
    REDUCE: Reduce(),
    "tl.finalize": Finalize(),
    SCAN: Scan(),
    "tl.init_barriers": InitBarriers(),
}
"""The rules of this room, by the names of tile operations."""

__all__ = ["REDUCE", "RULES", "SCAN", "combine", "result_layout"]
