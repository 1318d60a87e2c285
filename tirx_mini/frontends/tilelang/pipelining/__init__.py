"""Lowering of T.Pipelined, whose copies run ahead of the statements that use them."""

from .plan import plan_pipelines

__all__ = ["plan_pipelines"]
