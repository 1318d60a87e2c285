"""Triton and Gluon programs: Triton's own compiler makes the PTX, and a driver of ours launches it in the simulator."""

from .checking import check_program
from .hosting import launched_here

__all__ = ["check_program", "launched_here"]
