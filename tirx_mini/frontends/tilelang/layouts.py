"""Fragment layouts: the mapping from tile elements to threads and registers.

A fragment of a CTA has a shape; each of its dimensions is written in a mixed radix, and each digit counts threads or
registers. Digits that belong to no dimension count replicas: threads that hold the same elements. Layouts of loops are
the same: which thread executes an iteration, and in which step.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tirx_mini.ir import Buffer, Expr, TirxError, binary, const
from tirx_mini.layout import Axis, Layout, TileLayout, m, tx
from tirx_mini.records import dataclass, replace

THREAD, REGISTER = "thread", "register"


@dataclass(frozen=True)
class Digit:
    """A digit of a mixed-radix coordinate.

    dim: the dimension, or None for replicas.
    extent: how many values it has.
    weight: what one step adds to the coordinate.
    place: `THREAD` or `REGISTER`.
    stride: what one step adds to the number of the thread, or of the register.
    """

    dim: int | None
    extent: int
    weight: int
    place: str
    stride: int


@dataclass(frozen=True)
class Fragment:
    """A distribution of a tile over the threads of a team.

    shape: the extents of the tile. The digits of a dimension may cover more than its extent.
    threads: how many threads the team has. Replicas among them have digits, so that the digits of threads, all
        together, count to `threads`.
    first: the number of the first of these threads in the CTA.
    partial: whether each thread holds a result of its own, which `T.finalize_reducer` combines.
    pinned: whether the program says which thread holds an element, so that outside parallel loops an index stands for
        the register of each thread.
    """

    shape: tuple[int, ...]
    digits: tuple[Digit, ...]
    threads: int
    first: int = 0
    partial: bool = False
    pinned: bool = False

    @property
    def registers(self) -> int:
        """The number of registers per thread."""
        return 1 + sum((digit.extent - 1) * digit.stride for digit in self.of(REGISTER))

    def of(self, place: str) -> tuple[Digit, ...]:
        """Return the digits that map to threads or registers, slowest first."""
        return tuple(sorted((d for d in self.digits if d.place == place), key=lambda d: -d.stride))

    def along(self, dim: int) -> tuple[Digit, ...]:
        """Return the digits of a dimension, slowest first."""
        return tuple(sorted((d for d in self.digits if d.dim == dim), key=lambda d: -d.weight))

    @property
    def replicas(self) -> tuple[Digit, ...]:
        """The digits that enumerate threads with the same elements."""
        return tuple(digit for digit in self.digits if digit.dim is None)

    def covered(self, dim: int) -> int:
        """Return the extent that a dimension's digits cover."""
        return math.prod(digit.extent for digit in self.digits if digit.dim == dim)

    def padded(self, dim: int) -> bool:
        """Return whether the digits of a dimension exceed its extent."""
        return self.covered(dim) > self.shape[dim]

    def coordinates(self, thread: object, register: object) -> tuple[Any, ...]:
        """Return the coordinates of the element in a thread's register, for expressions or NumPy arrays."""
        found: list[Any] = [0] * len(self.shape)
        for digit in self.digits:
            if digit.dim is not None:
                source, whole = (thread, self.threads) if digit.place == THREAD else (register, self.registers)
                found[digit.dim] = found[digit.dim] + _digit(source, digit, whole) * digit.weight
        return tuple(const(part) if isinstance(part, int) and isinstance(thread, Expr) else part for part in found)

    def register(self, coordinates: Sequence[object]) -> Any:
        """Return the register that holds an element in each thread that owns it."""
        total: Any = 0
        for digit in self.of(REGISTER):
            assert digit.dim is not None
            total = total + self._value(coordinates, digit) * digit.stride
        return total

    def holds(self, coordinates: Sequence[object], thread: object) -> Any:
        """Return whether a thread holds an element, elementwise for NumPy arrays."""
        held: Any = True
        for digit in self.of(THREAD):
            if digit.dim is not None:
                held = held & (self._value(coordinates, digit) == _digit(thread, digit, self.threads))
        return held

    def _value(self, coordinates: Sequence[Any], digit: Digit) -> Any:
        assert digit.dim is not None
        value = coordinates[digit.dim]
        value = value // digit.weight if digit.weight > 1 else value
        slowest = self.along(digit.dim)[0] is digit
        return value if slowest else value % digit.extent

    def first_replica(self, thread: Expr) -> Expr | None:
        """Return the condition that a thread is the first replica of its elements, or None without replicas."""
        condition: Expr | None = None
        for digit in self.replicas:
            one = _digit(thread, digit, self.threads).__eq__(0)
            condition = one if condition is None else binary("and", condition, one)
        return condition

    def table(self) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, ...]]:
        """Return arrays (threads, registers) of the threads, the registers and the coordinates that each pair holds."""
        threads, registers = np.meshgrid(np.arange(self.threads), np.arange(self.registers), indexing="ij")
        places = self.coordinates(threads, registers)
        return threads, registers, tuple(np.broadcast_to(place, threads.shape) for place in places)

    def without(self, dim: int) -> Fragment:
        """Remove a reduced dimension, turning its thread digits into replicas."""
        kept = [d for d in self.digits if d.dim != dim]
        dropped = [replace(d, dim=None, weight=0) for d in self.digits if d.dim == dim and d.place == THREAD]
        moved = [replace(d, dim=d.dim - (d.dim > dim)) if d.dim is not None else d for d in kept]
        shape = self.shape[:dim] + self.shape[dim + 1 :]
        return Fragment(shape, compact((*moved, *dropped)), self.threads, self.first)

    def __str__(self) -> str:
        parts = []
        for digit in self.digits:
            what = "replica" if digit.dim is None else f"{digit.weight}@d{digit.dim}"
            parts.append(f"{digit.extent}:{what}→{digit.stride}@{digit.place}")
        return f"Fragment({list(self.shape)}, {', '.join(parts)})"


def _digit(source: Any, digit: Digit, whole: int) -> Any:
    value = source // digit.stride if digit.stride > 1 else source
    return value if digit.stride * digit.extent >= whole else value % digit.extent


def compact(digits: Sequence[Digit]) -> tuple[Digit, ...]:
    """Renumber the registers of digits without gaps, preserving their order."""
    stride, renamed = 1, {}
    for digit in sorted((d for d in digits if d.place == REGISTER), key=lambda d: d.stride):
        renamed[digit] = replace(digit, stride=stride)
        stride *= digit.extent
    return tuple(renamed.get(digit, digit) for digit in digits)


def from_axe(layout: TileLayout, threads: int, axes: Mapping[Axis, int] | None = None) -> Fragment:
    """Convert a layout over `tx` and `m` to a fragment for a team of `threads` threads.

    axes: what one step along other axes adds to the number of the thread. Threads that the layout does not name hold
        replicas.
    """
    factors = {tx: 1, **(axes or {})}
    digits: list[Digit] = []
    for number, dim in enumerate(layout.dims):
        weight = 1
        for part in reversed(dim):
            if part.extent > 1:
                place = REGISTER if part.axis == m else THREAD
                stride = part.stride if part.axis == m else part.stride * factors[part.axis]
                digits.append(Digit(number, part.extent, weight, place, stride))
            weight *= part.extent
    return Fragment(layout.shape, with_replicas(digits, threads), threads)


def with_replicas(digits: Sequence[Digit], threads: int) -> tuple[Digit, ...]:
    """Add replica digits for the part of `threads` that the thread digits leave out."""
    found, at = list(digits), 1
    for digit in sorted((d for d in digits if d.place == THREAD), key=lambda d: d.stride):
        if digit.stride % at:
            raise TirxError(
                f"the threads of a layout overlap: a digit has stride {digit.stride}, and {at} are below it"
            )
        if digit.stride > at:
            found.append(Digit(None, digit.stride // at, 0, THREAD, at))
        at = digit.stride * digit.extent
    if at < threads:
        found.append(Digit(None, -(-threads // at), 0, THREAD, at))
    return tuple(found)


@dataclass(frozen=True)
class Partials:
    """The layout of a reducer: each thread holds partial results for all elements."""


@dataclass(frozen=True)
class ThreadMap:
    """A thread mapping given by a function: ``T.Fragment(shape, forward_thread_fn=lambda i, j: …)``.

    The order of the elements in registers is the compiler's.
    """

    shape: tuple[int, ...]
    thread: Callable[..., Any]

    def fragment(self, threads: int) -> Fragment | None:
        """Return the layout for a team of `threads` threads, or None if the function is not a sum of index digits."""
        table = np.empty(self.shape, np.int64)
        for place in np.ndindex(self.shape):
            table[place] = int(self.thread(*place))
        digits: list[Digit] = []
        for dim in reversed(range(len(self.shape))):
            line = table[tuple(slice(None) if at == dim else 0 for at in range(len(self.shape)))]
            digits += _digits_of(line - line[0], dim)
        grid = np.indices(self.shape)
        sums = sum(grid[d.dim] // d.weight % d.extent * d.stride for d in digits if d.place == THREAD)
        if table.flat[0] or not np.array_equal(np.broadcast_to(sums, self.shape), table) or table.max() >= threads:
            return None
        at = 1
        for number, digit in enumerate(digits):
            if digit.place == REGISTER:
                digits[number], at = replace(digit, stride=at), at * digit.extent
        strides = sorted((d.stride, d.extent) for d in digits if d.place == THREAD)
        if any(b % (a * n) for (a, n), (b, _) in itertools.pairwise(strides)):
            return None
        return Fragment(self.shape, with_replicas(digits, threads), threads, pinned=True)


def _digits_of(line: np.ndarray, dim: int) -> list[Digit]:
    """Recover the digits of a dimension from the threads that hold its coordinates."""
    found, weight, extent = [], 1, len(line)
    while weight < extent:
        step, count, left = int(line[weight]), 1, extent // weight
        for more in range(2, left + 1):
            if extent % weight or int(line[(more - 1) * weight]) != (more - 1) * step:
                break
            if left % more == 0:
                count = more
        if count == 1:
            return found
        found.append(Digit(dim, count, weight, THREAD if step else REGISTER, step))
        weight *= count
    return found


def thread_map(
    shape: Sequence[int], forward_fn: Any = None, forward_thread_fn: Any = None, replicate: int = 1,
    forward_index_fn: object = None,
) -> ThreadMap:  # fmt: skip
    """Return a fragment layout defined by functions of an element's coordinates.

    forward_fn: gives the thread and the register. forward_thread_fn: gives the thread. The two get the number of the
    replica, too, where `replicate` is more than 1.
    """
    more = (0,) if replicate > 1 else ()
    if forward_fn is not None:
        return ThreadMap(tuple(map(int, shape)), lambda *place: forward_fn(*place, *more)[0])
    if forward_thread_fn is None:
        raise TirxError("T.Fragment needs forward_fn= or forward_thread_fn=")
    return ThreadMap(tuple(map(int, shape)), lambda *place: forward_thread_fn(*place, *more))


def replicated(shape: Sequence[int], threads: int) -> Fragment:
    """Return the layout of a tile replicated in each thread."""
    digits, stride = [], 1
    for dim in reversed(range(len(shape))):
        if shape[dim] > 1:
            digits.append(Digit(dim, shape[dim], 1, REGISTER, stride))
            stride *= shape[dim]
    return Fragment(tuple(shape), with_replicas(digits, threads), threads)


def spread(shape: Sequence[int], threads: int, lanes: int = 1) -> Fragment:
    """Return a loop layout in which consecutive threads execute consecutive vectors of `lanes` iterations."""
    digits: list[Digit] = []
    if lanes > 1:
        digits.append(Digit(len(shape) - 1, lanes, 1, REGISTER, 1))
    left, stride, rest = threads, 1, []
    for dim in reversed(range(len(shape))):
        weight = lanes if dim == len(shape) - 1 else 1
        extent = -(-shape[dim] // weight)
        taken = _shared_by(extent, left)
        if taken > 1:
            digits.append(Digit(dim, taken, weight, THREAD, stride))
            stride, left = stride * taken, left // taken
        steps = -(-extent // taken)
        if steps > 1:
            rest.append(Digit(dim, steps, weight * taken, REGISTER, 0))
    at = lanes
    for digit in rest:
        digits.append(replace(digit, stride=at))
        at *= digit.extent
    return Fragment(tuple(shape), with_replicas(digits, threads), threads)


def _shared_by(extent: int, threads: int) -> int:
    """Return how many of `threads` threads share `extent` steps: a divisor of `threads` that leaves few idle."""
    common = math.gcd(extent, threads)
    if common in (extent, threads):
        return common
    for count in sorted(_divisors(threads), reverse=True):
        steps = -(-extent // count)
        if count > common and steps * count <= extent * 4 // 3:
            return count
    if extent < threads:
        return next(count for count in sorted(_divisors(threads)) if count >= extent)
    return common if common > 1 else threads


def _divisors(number: int) -> list[int]:
    return [count for count in range(1, number + 1) if number % count == 0]


def fit(table: np.ndarray, digits: Sequence[Digit]) -> Callable[[Expr], Expr] | None:
    """Return a function of the step that reproduces a table as a sum over the step's digits, or None.

    table: the value at each step. digits: those of the steps.
    """
    if all(table[step] == step for step in range(len(table))):
        return lambda step: step
    factors, steps = [], np.arange(len(table))
    expected = np.full(len(table), table[0])
    for digit in digits:
        factor = int(table[digit.stride] - table[0]) if digit.extent > 1 else 0
        factors.append((digit, factor))
        expected = expected + steps // digit.stride % digit.extent * factor
    if not np.array_equal(expected, table):
        return None

    def value(step: Expr) -> Expr:
        total: Expr = const(int(table[0]))
        for digit, factor in factors:
            if factor:
                total = total + _digit(step, digit, len(table)) * factor
        return total

    return value


def seen_through(source: Buffer, view: Buffer) -> Layout:
    """Return the layout of a view of a buffer with a layout."""
    try:
        same = source if view.dtype == source.dtype else source.view(str(view.dtype))
        layout = same.view(view.shape).layout
    except (ValueError, TirxError):
        layout = None
    if layout is None or layout.shape != view.shape:
        raise TirxError(
            f"{view.name} {list(view.shape)} {view.dtype} is a view of {source.name}, whose layout does not have such "
            "a view",
            view.span,
            "view it along the last dimension, or leave its layout out",
        )
    return layout
