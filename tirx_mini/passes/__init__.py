"""The lowering pipeline: translates tiles and scopes to the code of one thread."""

from .pipeline import PIPELINE, Pass, lower
from .verify import LoweringError, verify_lowered

__all__ = ["LoweringError", "PIPELINE", "Pass", "lower", "verify_lowered"]
