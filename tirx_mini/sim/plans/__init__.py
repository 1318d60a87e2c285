"""Ways to answer a question about a kernel by executions that cost less than one of its whole launch."""

from .equality import decisions
from .sampling import Sampling

__all__ = ["Sampling", "decisions"]
