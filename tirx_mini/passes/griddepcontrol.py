"""The FindGridDependence pass: detect kernels that wait for their predecessor, so that they may start early."""

from __future__ import annotations

from tirx_mini.ir import PrimFunc
from tirx_mini.isa import instructions
from tirx_mini.records import replace

from .ranges import launch_of


def find_grid_dependence(func: PrimFunc) -> PrimFunc:
    """Mark the launch as programmatic if any thread may execute griddepcontrol.wait."""
    launch, waits = launch_of(func), waits_for_grids(func)
    return func if launch.programmatic == waits else replace(func, launch=replace(launch, programmatic=waits))


def waits_for_grids(func: PrimFunc) -> bool:
    """Return whether the body contains griddepcontrol.wait."""
    return any(entry.waits_for_grids for entry in instructions(func))
