"""Plans: ways to answer a question about a kernel with less work than executing its whole launch.

`choice` lists the plans in order, `plan` defines their interface, and `equality` the proof that clusters are equal.
"""

from .choice import FAILED, PLANS, WHOLE, answered
from .equality import Equality
from .kernel import BoundKernel
from .plan import Plan, WholeLaunch
from .portions import Piece, Timing, portion
from .process import running
from .sampling import Sampling

__all__ = [
    "FAILED", "PLANS", "WHOLE", "BoundKernel", "Equality", "Piece", "Plan", "Sampling", "Timing", "WholeLaunch",
    "answered", "portion", "running",
]  # fmt: skip
