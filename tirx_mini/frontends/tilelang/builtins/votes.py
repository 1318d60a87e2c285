"""Warp votes and reductions, and counting barriers of the CTA."""

from __future__ import annotations

from collections.abc import Callable

from tirx_mini.ir import INT32, UINT64, Expr, as_bool, as_expr, binary, cast
from tirx_mini.script import tirx as T

from .shuffles import FULL, shfl_xor
from .table import builtin


@builtin("vote.any")
def any_sync(predicate: object, mask: object = FULL) -> Expr:
    """Return 1 if the predicate holds in any lane of `mask`, else 0. PTX ISA: "vote.sync"."""
    return cast(INT32, T.call("vote.any", mask, as_bool(predicate)))


@builtin("vote.all")
def all_sync(predicate: object, mask: object = FULL) -> Expr:
    """Return 1 if the predicate holds in all lanes of `mask`, else 0. PTX ISA: "vote.sync"."""
    return cast(INT32, T.call("vote.all", mask, as_bool(predicate)))


@builtin("vote.ballot")
def ballot_sync(predicate: object, mask: object = FULL) -> Expr:
    """Return a 64-bit mask of the lanes of `mask` whose predicate holds, with lane 0 in bit 0. PTX ISA: "vote.sync"."""
    return cast(UINT64, T.call("vote.ballot", mask, as_bool(predicate)))


@builtin("vote.ballot")
def ballot(predicate: object) -> Expr:
    """Return `ballot_sync` over the whole warp."""
    return ballot_sync(predicate)


@builtin("bar.red.popc")
def syncthreads_count(predicate: object) -> Expr:
    """Synchronise the CTA and return the number of threads whose predicate holds."""
    return cast(INT32, T.call("bar.red.popc", 0, as_bool(predicate)))


@builtin("bar.red.and")
def syncthreads_and(predicate: object) -> Expr:
    """Synchronise the CTA and return 1 if the predicate holds in all threads, else 0."""
    return cast(INT32, T.call("bar.red.and", 0, as_bool(predicate)))


@builtin("bar.red.or")
def syncthreads_or(predicate: object) -> Expr:
    """Synchronise the CTA and return 1 if the predicate holds in any thread, else 0."""
    return cast(INT32, T.call("bar.red.or", 0, as_bool(predicate)))


def _over_the_warp(value: object, combine: Callable[[Expr, Expr], Expr]) -> Expr:
    total = as_expr(value)
    for distance in (16, 8, 4, 2, 1):
        total = T.Bind(total)
        total = combine(total, shfl_xor(total, distance))
    return total


@builtin("shfl.xor")
def warp_reduce_sum(value: object) -> Expr:
    """Return the sum over the lanes of the warp to all lanes."""
    return _over_the_warp(value, lambda a, b: a + b)


@builtin("shfl.xor")
def warp_reduce_max(value: object) -> Expr:
    """Return the maximum over the lanes of the warp to all lanes."""
    return _over_the_warp(value, lambda a, b: binary("max", a, b))


@builtin("shfl.xor")
def warp_reduce_min(value: object) -> Expr:
    """Return the minimum over the lanes of the warp to all lanes."""
    return _over_the_warp(value, lambda a, b: binary("min", a, b))


@builtin("shfl.xor")
def warp_reduce_bitand(value: object) -> Expr:
    """Return the bitwise AND over the lanes of the warp to all lanes."""
    return _over_the_warp(value, lambda a, b: a & b)


@builtin("shfl.xor")
def warp_reduce_bitor(value: object) -> Expr:
    """Return the bitwise OR over the lanes of the warp to all lanes."""
    return _over_the_warp(value, lambda a, b: a | b)

FUNCTIONS = (
    any_sync, all_sync, ballot_sync, ballot, syncthreads_count, syncthreads_and, syncthreads_or, warp_reduce_sum,
    warp_reduce_max, warp_reduce_min, warp_reduce_bitand, warp_reduce_bitor,
)  # fmt: skip
