"""PTX on a chip and in the simulator: a table of opcodes, and random programs."""

from .judging import Difference, Error
from .running import Job, Outcome, known, run
from .summary import FINE, text, write

__all__ = ["FINE", "Difference", "Error", "Job", "Outcome", "known", "run", "text", "write"]
