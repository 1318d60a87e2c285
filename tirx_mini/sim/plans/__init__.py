"""Plans: ways to answer a question about a kernel by executions that cost less than one of its whole launch.

`choice` has the plans in their order, `plan` their interface, and `equality` the argument that clusters are equal.
"""

from .choice import PLANS, WHOLE, answered
from .equality import Equality
from .kernel import BoundKernel
from .plan import Plan
from .process import running
from .sampling import Sampling

__all__ = ["PLANS", "WHOLE", "BoundKernel", "Equality", "Plan", "Sampling", "answered", "running"]
