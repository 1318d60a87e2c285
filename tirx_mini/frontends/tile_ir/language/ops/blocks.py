"""Grid queries, and dependences on other kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...cuda_tile import TOKEN, DivBy
from ..arguments import constant_int, scalar_index
from ..dtypes import int32
from ..errors import TileTypeError, TileValueError
from ..surface import operation
from ..values import TileValue, describe, is_constant

if TYPE_CHECKING:
    from ..tracer import Tracer


def _of_grid(tr: Tracer, name: str, axis: object) -> TileValue:
    place = constant_int(axis, "the axis of the grid")
    if place not in (0, 1, 2):
        raise TileValueError(f"the axis of the grid is 0, 1 or 2, not {place}")
    if name not in tr.grid:
        values = tr.emit.emit(name, first=True)
        for value, letter in zip(values, "xyz", strict=True):
            value.hint = f"{'block' if name == 'get_tile_block_id' else 'blocks'}_{letter}"
        tr.grid[name] = values
    return TileValue(tr.grid[name][place], int32, ())


@operation("bid")
def bid(tr: Tracer, axis: object) -> object:
    """Return the index of this block along a grid axis."""
    return _of_grid(tr, "get_tile_block_id", axis)


@operation("num_blocks")
def num_blocks(tr: Tracer, axis: object) -> object:
    """Return the number of blocks along a grid axis."""
    return _of_grid(tr, "get_num_tile_blocks", axis)


@operation("assume_divisible_by")
def assume_divisible_by(tr: Tracer, x: object, divisor: object) -> object:
    """Return `x`, with the promise that it is divisible by `divisor`."""
    number = constant_int(divisor, "the divisor")
    if number < 1:
        raise TileValueError(f"the divisor of ct.assume_divisible_by must be positive, not {number}")
    if is_constant(x):
        return x
    if not isinstance(x, TileValue) or x.shape != ():
        raise TileTypeError(f"ct.assume_divisible_by takes an integer scalar, not {describe(x)}")
    scalar = scalar_index(tr, x, "the argument of ct.assume_divisible_by")
    power = number & -number
    if power == 1:
        return scalar
    return tr.emit.tile("assume", scalar.dtype, (), scalar, predicate=DivBy(power))


@operation("grid_dependency_control_wait")
def grid_dependency_control_wait(tr: Tracer) -> None:
    """Wait until the preceding kernel has ended and its writes are visible (PTX ISA: griddepcontrol.wait)."""
    tr.order.found.fenced = True
    token = tr.emit.emit("gdc_wait_tko", tr.order.before_fence(), types=[TOKEN])
    tr.order.after_fence(token)


@operation("grid_dependency_control_launch_dependents")
def grid_dependency_control_launch_dependents(tr: Tracer) -> None:
    """Allow the next kernel to start (PTX ISA: griddepcontrol.launch_dependents)."""
    tr.emit.emit("gdc_launch_dependents_tko", None, types=[TOKEN])
