"""Slicing of one dimension: the offset of its start, and the remaining digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from .arith import Coord, div, mod, mul
from .axis import Axis, LayoutError
from .spec import Dim, Iter

Divisor = Callable[[Coord], int]
"""The largest number known to divide a symbolic start; 0 for a start known to be 0, which every number divides."""


def unknown(_start: Coord) -> int:
    """Return 1, the divisor of an unknown start."""
    return 1


def known_divisor(start: Coord, divisor: Divisor) -> int:
    """Return the largest known divisor of a start; an int is its own divisor."""
    return start if isinstance(start, int) else divisor(start)


class Term(NamedTuple):
    """A term of a base, with a known divisor."""

    axis: Axis
    value: Coord
    divisor: int


def slice_dim(dim: Dim, start: Coord, extent: int, known: int) -> tuple[list[Term], Dim]:
    """Split a dimension of coalesced iters at a start with the known divisor `known` (0 divides only 0)."""
    if not dim:
        return [], ()
    outer, *inner = dim
    block = math.prod(it.extent for it in inner)
    stays = extent <= math.gcd(known, block) or (isinstance(start, int) and start % block + extent <= block)
    if inner and stays:
        whole = known % block == 0
        rest = 0 if whole else mod(start, block)
        terms, kept = slice_dim(tuple(inner), rest, extent, rest if isinstance(rest, int) else math.gcd(known, block))
        return [_term(outer, div(start, block), known // block if whole else 1), *terms], kept
    if known % block or extent % block:
        raise LayoutError(
            f"an extent of {extent} from a multiple of {known or block} neither fills whole blocks of {block} elements "
            f"nor stays within one"
        )
    kept = (Iter(extent // block, outer.stride, outer.axis), *inner)
    return [_term(outer, div(start, block), known // block)], kept


def _term(it: Iter, digit: Coord, known: int) -> Term:
    return Term(it.axis, mul(digit, it.stride), known * it.stride)
