"""Rules: how tile operations become the code of a thread."""

from collections.abc import Mapping

from ..place import Rule
from .barriers import InitBarriers
from .reduction import Finalize, Reduce
from .scan import Scan

SCAN = "tl.scan"
RULES: Mapping[str, Rule] = {
    "tl.reduce": Reduce(),
    "tl.finalize": Finalize(),
    SCAN: Scan(),
    "tl.init_barriers": InitBarriers(),
}
"""The rules of this room, by the names of tile operations."""

__all__ = ["RULES", "SCAN"]
