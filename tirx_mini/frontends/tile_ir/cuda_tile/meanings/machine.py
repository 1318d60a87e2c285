"""The abstract machine shared by the dialects' interpreters, which executes operations on NumPy arrays.

A tile is an array of its shape, a scalar or a pointer an array of rank 0, and a token None.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from typing import Any

import numpy as np

from tirx_mini.records import dataclass

from ...ssa import Op, OpKind, Region, Value
from .elements import Array, dtype_of
from .memory import Memory

Dims = tuple[int, int, int]


class AssertionFailed(Exception):
    """A failed `assert` of the program, with the program's message."""


@dataclass(frozen=True)
class Exit:
    """A terminator that was reached, with its operands' values."""

    op: Op
    values: tuple[Any, ...]


@dataclass(frozen=True)
class ArrayView:
    """An array view in memory. base: its address. strides: in elements."""

    base: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element: str


@dataclass(frozen=True)
class Blocks:
    """The decomposition of an array into tiles; the fields are those of `nv_tileaa.BlockTile`."""

    tile: tuple[int, ...]
    order: tuple[int, ...]
    steps: tuple[int, ...]
    gather: int | None = None
    padding: str | None = None

    def places(self, array: ArrayView, index: Sequence[Array]) -> tuple[Array, Array]:
        """Return the address of each element of the tile at `index`, and whether it is in bounds."""
        address, inside = np.asarray(array.base, np.int64), np.asarray(True)
        for dim, (extent, axis) in enumerate(zip(self.tile, self.order, strict=True)):
            at = np.asarray(index[dim]).astype(np.int64)
            if dim != self.gather:
                at = at * self.steps[dim] + np.arange(extent)
            along = at.reshape([-1 if d == dim else 1 for d in range(len(self.tile))])
            inside = inside & (along >= 0) & (along < array.shape[axis])
            address = address + along * array.strides[axis] * dtype_of(array.element).itemsize
        return np.broadcast_to(address, self.tile), np.broadcast_to(inside, self.tile)


_PADDING = {"zero": 0.0, "neg_zero": -0.0, "nan": np.nan, "pos_inf": np.inf, "neg_inf": -np.inf, None: 0.0}

Meaning = Callable[["Machine", Op], Any]
"""The value of an operation's result, a list of several, None, or the `Exit` that it leads to."""


@dataclass
class Machine:
    """The interpreter state of one block of the grid.

    meanings: by kind of operation. env: the values so far. write: receives the program's output.
    """

    meanings: Mapping[OpKind, Meaning]
    memory: Memory
    block: Dims = (0, 0, 0)
    grid: Dims = (1, 1, 1)
    write: Callable[[str], object] = print
    symbols: dict[str, int] = field(default_factory=dict)
    env: dict[Value, Any] = field(default_factory=dict)

    def __getitem__(self, value: Any) -> Any:
        """Return the value of an operand or operand group, or None for an omitted operand."""
        if isinstance(value, tuple):
            return [self.env[v] for v in value]
        return None if value is None else self.env[value]

    def run(self, region: Region, args: Sequence[object] = ()) -> Exit:
        """Execute a region. Raises `ValueError` if it lacks a terminator."""
        self.env.update(zip(region.params, args, strict=True))
        for op in region.ops:
            if op.kind.terminator:
                return Exit(op, tuple(self[op.operands]))
            found = self.meanings[op.kind](self, op)
            if isinstance(found, Exit):
                return found
            several = found if isinstance(found, list) else [found]
            self.env.update(zip(op.results, several, strict=False))
        raise ValueError("a region ends without a terminator")

    def load(self, array: ArrayView, blocks: Blocks, index: Sequence[Array]) -> Array:
        address, inside = blocks.places(array, index)
        found = np.full(blocks.tile, _PADDING[blocks.padding], np.float64).astype(dtype_of(array.element))
        found[inside] = self.memory.load(address[inside], array.element)
        return found

    def store(self, array: ArrayView, blocks: Blocks, index: Sequence[Array], tile: Array) -> None:
        address, inside = blocks.places(array, index)
        self.memory.store(address[inside], tile[inside])

    def gather(self, address: Array, element: str, mask: Array | None, other: Array | None) -> Array:
        """Load through pointers; masked-off elements are `other`, or zero."""
        if mask is None:
            return self.memory.load(address, element)
        found = np.zeros(address.shape, dtype_of(element)) if other is None else other.copy()
        found[mask] = self.memory.load(address[mask], element)
        return found

    def scatter(self, address: Array, tile: Array, mask: Array | None) -> None:
        everywhere = np.ones(address.shape, np.bool_) if mask is None else mask
        self.memory.store(address[everywhere], tile[everywhere])

    def update(
        self, address: Array, element: str, mask: Array | None, change: Callable[..., Array], *tiles: Array
    ) -> Array:
        """Perform an atomic update ``change(old, *values)`` at each address in turn. Returns the old values."""
        old = np.zeros(address.shape, dtype_of(element))
        places = [i for i in np.ndindex(address.shape) if mask is None or mask[i]]
        for i in places:
            here = address[i].reshape(1)
            before = self.memory.load(here, element)
            old[i] = before[0]
            self.memory.store(here, np.asarray(change(before, *(t[i].reshape(1) for t in tiles))))
        return old

    def reduce(self, tiles: Sequence[Array], dim: int, body: Region) -> list[Array]:
        """Reduce along `dim` by combining neighbours pairwise."""
        parts = [np.moveaxis(t, dim, -1) for t in tiles]
        while parts[0].shape[-1] > 1:
            parts = self.combine(body, [(p[..., 1::2], p[..., 0::2]) for p in parts])
        return [p[..., 0] for p in parts]

    def scan(self, tiles: Sequence[Array], dim: int, reverse: bool, body: Region) -> list[Array]:
        parts = [np.moveaxis(t, dim, 0).copy() for t in tiles]
        order = range(len(parts[0]))[:: -1 if reverse else 1]
        for before, here in pairwise(order):
            for part, found in zip(parts, self.combine(body, [(p[here], p[before]) for p in parts]), strict=True):
                part[here] = found
        return [np.moveaxis(p, 0, dim) for p in parts]

    def combine(self, body: Region, pairs: Sequence[tuple[Array, Array]]) -> list[Array]:
        """Apply the body to many pairs at once, each an element and the combination of its predecessors."""
        values = self.run(body, [x for pair in pairs for x in pair]).values
        return [np.broadcast_to(v, p[0].shape).copy() for v, p in zip(values, pairs, strict=True)]

    def format(self, text: str, values: Sequence[Array]) -> str:
        """Format values as C's printf does; a tile becomes a nested list."""
        rest = iter(values)

        def one(match: re.Match[str]) -> str:
            spec = re.sub(r"(hh|h|ll|l|z)(?=[a-zA-Z])", "", match.group())
            return "%" if spec == "%%" else _formatted(spec, next(rest))

        return re.sub(r"%%|%[-+ #0]*\d*(?:\.\d+)?(?:hh|h|ll|l|z)?[a-zA-Z]", one, text)


def _formatted(spec: str, x: Array) -> str:
    if np.ndim(x):
        return "[" + ", ".join(_formatted(spec, row) for row in x) + "]"
    return spec % (float(x) if spec[-1] in "feEgG" else int(x))


def slice_at(part: Sequence[int], indices: Sequence[Any]) -> tuple[slice, ...]:
    """Return the slice of shape `part` at `indices`, counted in slices."""
    return tuple(slice(int(i) * n, int(i) * n + n) for i, n in zip(indices, part, strict=True))


def argument(memory: Memory, element: object, value: object) -> Array:
    """Return the value of a parameter: an array's address, or a number. Raises `ValueError` for a wrong dtype."""
    name = str(element)
    if not name.startswith("ptr<"):
        return np.asarray(value).astype(dtype_of(name))
    wanted, found = dtype_of(name[4:-1]), getattr(value, "dtype", value)
    if not isinstance(value, np.ndarray) or found != wanted:
        raise ValueError(f"a {name} needs an array of {wanted}, not {found}")
    return np.asarray(memory.add(value), np.int64)


def run_grid(
    meanings: Mapping[OpKind, Meaning], memory: Memory, symbols: dict[str, int], body: Any, values: Sequence[Any],
    grid: Sequence[int], write: Callable[[str], object] | None,
) -> None:  # fmt: skip
    """Execute a kernel's region for each block, x fastest."""
    x, y, z = (*grid, 1, 1, 1)[:3]
    show = write or (lambda text: print(text, end=""))
    with np.errstate(all="ignore"):
        for block in np.ndindex(z, y, x):
            Machine(meanings, memory, (block[2], block[1], block[0]), (x, y, z), show, symbols).run(body, values)
