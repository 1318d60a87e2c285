"""Loops: parallel, serial, unrolled, vectorised, pipelined and persistent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from tirx_mini.ir import PARALLEL, SERIAL, VECTORIZED, Expr, ExprLike, Var, as_expr, binary, const, int_value, simplify
from tirx_mini.script import Loop, OpenHint, loop

__all__ = [
    "Parallel", "Persistent", "Pipelined", "Serial", "Unroll", "Vectorized", "WarpSpecialize", "serial", "unroll",
    "vectorized", "ws",
]  # fmt: skip

PARALLEL_HINT, PIPELINED_HINT, WS_HINT = "tl.parallel", "tl.pipelined", "tl.ws"
"""The messages of the hints around loops with options, and around the statements of warpgroups."""


def _bounds(start: object, stop: object = None, step: object = None) -> tuple[object, ...]:
    if stop is None:
        start, stop = 0, start
    known = None if step is None else int_value(as_expr(step))
    return (start, stop) if step is None else (start, stop, step if known is None else known)


def Parallel(
    *extents: ExprLike,
    coalesced_width: int | None = None,
    loop_layout: object = None,
    prefer_async: bool | None = None,
    annotations: Mapping[str, object] | None = None,
) -> Loop:
    """Distribute the iterations of nested loops over the threads of the CTA: ``for i, j in T.Parallel(M, N)``.

    coalesced_width: how many neighbouring iterations a thread executes.
    loop_layout: which thread executes which iteration, a `Fragment`.
    """
    ranges = tuple(part for extent in extents for part in loop(PARALLEL, (extent,)).ranges)
    options = {"coalesced_width": coalesced_width, "loop_layout": loop_layout}
    given = tuple((name, value) for name, value in options.items() if value is not None)
    return Loop(ranges, PARALLEL, around=OpenHint(PARALLEL_HINT, given) if given else None)


def serial(
    start: object, stop: object = None, step: object = None, *, annotations: Mapping[str, object] | None = None
) -> Loop:
    """Loop serially in every thread."""
    return loop(SERIAL, _bounds(start, stop, step))


def unroll(
    start: object,
    stop: object = None,
    step: object = None,
    *,
    explicit: bool = False,
    unroll_factor: int | None = None,
    annotations: Mapping[str, object] | None = None,
) -> Loop:
    """Loop serially and ask CUDA's compiler to unroll."""
    return replace(loop(SERIAL, _bounds(start, stop, step)), unroll=True)


def vectorized(start: object, stop: object = None, *, annotations: Mapping[str, object] | None = None) -> Loop:
    """Loop in one thread with contiguous accesses combined into vectors."""
    return loop(VECTORIZED, _bounds(start, stop))


def Pipelined(
    start: object,
    stop: object = None,
    num_stages: int = 0,
    order: Sequence[int] | None = None,
    stage: Sequence[int] | None = None,
    annotations: Mapping[str, object] | None = None,
    **more: object,
) -> Loop:
    """Loop serially, with copies into shared memory issued `num_stages` iterations ahead.

    order, stage: of each statement of the body its place in an iteration and its stage, instead of those that the
        compiler chooses.
    """
    given = {"num_stages": num_stages, "order": order, "stage": stage, **more}
    attrs = tuple((name, tuple(v) if isinstance(v, list) else v) for name, v in given.items() if v is not None)
    around = OpenHint(PIPELINED_HINT, attrs) if num_stages or order or stage else None
    return replace(loop(SERIAL, _bounds(start, stop)), around=around)


def Persistent(
    domain: Sequence[object],
    wave_size: Any,
    index: Any,
    group_size: object = 8,
    num_stages: int = 0,
    *,
    annotations: Mapping[str, object] | None = None,
) -> Loop:
    """Loop over the tiles of `domain` of CTA `index` in `wave_size`: ``for bx, by in T.Persistent([m, n], 132, cta)``.

    Tile number t of a wave is in a group of `group_size` tiles along the last dimension; within a group the dimensions
    before it advance last, so that the CTAs of a wave share operands.
    """
    extents = [as_expr(extent) for extent in domain]
    total = simplify(reduce(lambda a, b: binary("*", a, b), extents))
    rounds = simplify((total + wave_size - 1) // wave_size)
    group = as_expr(group_size if group_size is not None else 1)
    last = extents[-1]
    size = int_value(group)
    if size is not None and int_value(last) is not None and int_value(last) % size:  # type: ignore[operator]
        group = const(1)

    def tile(number: Var) -> tuple[list[Expr], Expr]:
        place: Expr = number * wave_size + index
        rest, inner = place // group, place % group
        found: list[Expr] = []
        for extent in extents[:-1]:
            found.append(rest % extent)
            rest = rest // extent
        return [*found, rest * group + inner], place < total

    ((start, stop, step),) = loop(SERIAL, (rounds,)).ranges
    return Loop(((start, stop, step),), SERIAL, targets=tile, names=len(extents))


def ws(*warp_group_idx: int) -> OpenHint:
    """Restrict statements to the given warpgroups of 128 threads each: ``with T.ws(0):``."""
    groups: list[int] = []
    for given in warp_group_idx:
        groups.extend(given if isinstance(given, (list, tuple)) else (given,))
    return OpenHint(WS_HINT, (("groups", tuple(groups)),))


WarpSpecialize = ws
Serial, Unroll, Vectorized = serial, unroll, vectorized
