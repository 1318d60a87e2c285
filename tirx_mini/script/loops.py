"""Loops of the kernel: ``Tx.serial``, ``Tx.unroll``, ``Tx.grid``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tirx_mini.ir import SERIAL, UNROLLED, ExprLike, int_value

from .builder import in_dialect_of_tvm, in_native_dialect
from .handles import Loop, loop


def serial(
    *bounds: ExprLike,
    step: int | None = None,
    annotations: Mapping[str, Any] | None = None,
    parallel: bool = False,
    unroll: bool | None = None,
) -> Loop:
    """A loop of the kernel, executed iteration by iteration.

    unroll: True asks CUDA's compiler to unroll the loop, False to keep it (``#pragma unroll``); the kernel means the
        same. The annotations `pragma_unroll` and `disable_unroll` of TVM are other names of the two.
    """
    noted = annotations or {}
    if unroll is None and noted.get("pragma_unroll"):
        unroll = True
    elif unroll is None and noted.get("disable_unroll"):
        unroll = False
    return replace(loop(SERIAL, _stepped(bounds, step), parallel), unroll=unroll)


def unroll(
    *bounds: ExprLike, step: int | None = None, annotations: Mapping[str, Any] | None = None, parallel: bool = False
) -> Loop:
    """A loop that is fully unrolled; its bounds are constants.

    In TVM's dialects they may be known at run time: then CUDA's compiler is asked to unroll the loop.
    """
    ends = _stepped(bounds, step)
    if any(int_value(end) is None for end in ends) and (in_native_dialect() or in_dialect_of_tvm()):
        return replace(loop(SERIAL, ends, parallel), unroll=True)
    return loop(UNROLLED, ends, parallel)


def vectorized(*bounds: ExprLike) -> Loop:
    """The same as `unroll`. Tile primitives choose their vector widths themselves."""
    return loop(UNROLLED, bounds)


def _stepped(bounds: tuple[Any, ...], step: int | None) -> tuple[Any, ...]:
    if step is None or len(bounds) == 3:
        return bounds
    return (0, *bounds, step)[-3:]


def grid(*extents: ExprLike) -> Loop:
    """Nested loops: ``for i, j in Tx.grid(m, n)``."""
    return Loop(tuple(part for extent in extents for part in loop(SERIAL, (extent,)).ranges), SERIAL)
