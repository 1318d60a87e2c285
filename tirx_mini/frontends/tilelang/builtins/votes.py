"""Votes and sums of the lanes of a warp, and barriers of the CTA that count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tirx_mini.ir import INT32, UINT64, Expr, as_bool, as_expr, binary, cast
from tirx_mini.script import tirx as T

from .shuffles import FULL, shfl_xor
from .table import builtin


@builtin("vote.any")
def any_sync(predicate: Any, mask: Any = FULL) -> Expr:
    """1 if the predicate holds in a lane of `mask`, else 0. PTX ISA: "vote.sync"."""
    return cast(INT32, T.call("vote.any", mask, as_bool(predicate)))


@builtin("vote.all")
def all_sync(predicate: Any, mask: Any = FULL) -> Expr:
    """1 if the predicate holds in all lanes of `mask`, else 0. PTX ISA: "vote.sync"."""
    return cast(INT32, T.call("vote.all", mask, as_bool(predicate)))


@builtin("vote.ballot")
def ballot_sync(predicate: Any, mask: Any = FULL) -> Expr:
    """The lanes of `mask` in which the predicate holds, lane 0 in bit 0, in 64 bits. PTX ISA: "vote.sync"."""
    return cast(UINT64, T.call("vote.ballot", mask, as_bool(predicate)))


@builtin("vote.ballot")
def ballot(predicate: Any) -> Expr:
    """As `ballot_sync` of the whole warp."""
    return ballot_sync(predicate)


@builtin("bar.red.popc")
def syncthreads_count(predicate: Any) -> Expr:
    """Wait until every thread of the CTA has arrived; in how many of them the predicate holds."""
    return cast(INT32, T.call("bar.red.popc", 0, as_bool(predicate)))


@builtin("bar.red.and")
def syncthreads_and(predicate: Any) -> Expr:
    """Wait until every thread of the CTA has arrived; 1 if the predicate holds in all of them, else 0."""
    return cast(INT32, T.call("bar.red.and", 0, as_bool(predicate)))


@builtin("bar.red.or")
def syncthreads_or(predicate: Any) -> Expr:
    """Wait until every thread of the CTA has arrived; 1 if the predicate holds in some of them, else 0."""
    return cast(INT32, T.call("bar.red.or", 0, as_bool(predicate)))


def _over_the_warp(value: Any, combine: Callable[[Expr, Expr], Expr]) -> Expr:
    total = as_expr(value)
    for distance in (16, 8, 4, 2, 1):
        total = T.Bind(total)
        total = combine(total, shfl_xor(total, distance))
    return total


@builtin("shfl.xor")
def warp_reduce_sum(value: Any) -> Expr:
    """The sum over the lanes of the warp, which all of them get."""
    return _over_the_warp(value, lambda a, b: a + b)


@builtin("shfl.xor")
def warp_reduce_max(value: Any) -> Expr:
    """The greatest value of the lanes of the warp, which all of them get."""
    return _over_the_warp(value, lambda a, b: binary("max", a, b))


@builtin("shfl.xor")
def warp_reduce_min(value: Any) -> Expr:
    """The least value of the lanes of the warp, which all of them get."""
    return _over_the_warp(value, lambda a, b: binary("min", a, b))


@builtin("shfl.xor")
def warp_reduce_bitand(value: Any) -> Expr:
    """The bitwise and over the lanes of the warp, which all of them get."""
    return _over_the_warp(value, lambda a, b: a & b)


@builtin("shfl.xor")
def warp_reduce_bitor(value: Any) -> Expr:
    """The bitwise or over the lanes of the warp, which all of them get."""
    return _over_the_warp(value, lambda a, b: a | b)

FUNCTIONS = (
    any_sync, all_sync, ballot_sync, ballot, syncthreads_count, syncthreads_and, syncthreads_or, warp_reduce_sum,
    warp_reduce_max, warp_reduce_min, warp_reduce_bitand, warp_reduce_bitor,
)  # fmt: skip
