"""`TileLayout`: strides along named axes, and `S[...]`, the notation for it."""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arith import Coord, add, div, mod, mul
from .axis import Axis, LayoutError, Stride, m


@dataclass(frozen=True)
class Iter:
    """One digit of a coordinate. It runs over 0 … extent - 1, and each step moves `stride` along `axis`."""

    extent: int
    stride: int
    axis: Axis = m

    @property
    def reach(self) -> int:
        """The distance from the first place to the last."""
        return (self.extent - 1) * self.stride


Dim = tuple[Iter, ...]
"""The digits of one logical coordinate, most significant first."""


@dataclass(frozen=True)
class Spec:
    """The value of `S[shape : strides]`: one tuple of iters per logical dimension."""

    dims: tuple[Dim, ...]

    def __repr__(self) -> str:
        shape = tuple(_unwrap(tuple(it.extent for it in dim)) for dim in self.dims)
        strides = tuple(_unwrap(tuple(Stride(it.stride, it.axis) for it in dim)) for dim in self.dims)
        if len(self.dims) == 1 and not isinstance(shape[0], tuple):
            return f"S[{shape[0]} : {strides[0]}]"
        return f"S[{shape} : {strides}]"


class _SpecBuilder:
    """The type of `S`, whose subscripts denote layouts.

    S[(128, 64) : (64, 1)]                   plain strides along memory, `m`
    S[(128, 512) : (1@TLane, 1@TCol)]        strides along named axes
    S[(128, 64)]                             row-major strides
    S[((16, 8), 64) : ((512, 64), 1)]        a dimension of 128 = 16 × 8, with one stride per digit

    Raises LayoutError if shape and strides do not match.
    """

    def __getitem__(self, item: Any) -> Spec:
        shape, strides = (item.start, item.stop) if isinstance(item, slice) else (item, None)
        dims = tuple(_extents(dim) for dim in (shape if isinstance(shape, tuple) else (shape,)))
        if strides is None:
            return _row_major(dims)
        stride_dims = strides if isinstance(strides, tuple) else (strides,)
        if isinstance(shape, tuple) != isinstance(strides, tuple) or len(dims) != len(stride_dims):
            raise LayoutError(f"S[{shape} : {strides}] needs one stride for each of its {len(dims)} extents")
        return Spec(tuple(_dim(extents, stride) for extents, stride in zip(dims, stride_dims, strict=True)))


S = _SpecBuilder()


class Layout(ABC):
    """A map from logical coordinates to places on named axes."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The extent of each logical dimension."""

    @property
    @abstractmethod
    def axes(self) -> tuple[Axis, ...]:
        """The axes on which the layout places elements, in order of appearance."""

    @property
    @abstractmethod
    def linear(self) -> TileLayout:
        """The strided part of the layout: the layout itself, or the tile under a swizzle."""

    @abstractmethod
    def apply(self, *coords: Coord) -> dict[Axis, Coord]:
        """The place of the element at `coords` on each axis; for memory, in elements.

        There is one coordinate per dimension: an int, a NumPy array (arrays broadcast) or a symbolic expression. It
        must be within the shape; this is not checked. Raises LayoutError for the wrong number of coordinates.
        """

    @abstractmethod
    def cosize(self, axis: Axis = m) -> int:
        """The number of places that the layout needs along `axis`: one more than the last place it uses."""

    @abstractmethod
    def group(self, shape: Sequence[int]) -> Layout:
        """The same layout with another logical `shape`; like `reshape`, it keeps the row-major order.

        Raises LayoutError if a new extent cuts through a digit that it does not divide.
        """

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def size(self) -> int:
        """The number of logical elements."""
        return math.prod(self.shape)

    def apply_m(self, *coords: Coord) -> Coord:
        """The place in memory, in elements. Raises LayoutError for a layout with any other axis."""
        if self.axes not in ((m,), ()):
            axes = ", ".join(map(str, self.axes))
            raise LayoutError(f"apply_m needs a layout over memory only, but {self} places elements on {axes}")
        return self.apply(*coords).get(m, 0)

    def to_table(self) -> dict[Axis, np.ndarray]:
        """The whole map as a table: for each axis, an int64 array of the logical shape."""
        coords = np.indices(self.shape, dtype=np.int64, sparse=True)
        return {
            axis: np.array(np.broadcast_to(np.asarray(place, dtype=np.int64), self.shape))
            for axis, place in self.apply(*coords).items()
        }


@dataclass(frozen=True)
class TileLayout(Layout):
    """A strided layout, such as `TileLayout(S[(128, 512) : (1@TLane, 1@TCol)])`.

    Each coordinate is written in the mixed radix of its iters, and each digit moves its stride along its axis.
    """

    spec: Spec

    def __post_init__(self) -> None:
        if not isinstance(self.spec, Spec):
            raise LayoutError(f"TileLayout takes S[shape : strides], not {self.spec!r}")

    def __repr__(self) -> str:
        return f"TileLayout({self.spec!r})"

    @property
    def dims(self) -> tuple[Dim, ...]:
        """The iters of each logical dimension, most significant digit first."""
        return self.spec.dims

    @property
    def iters(self) -> Dim:
        """All iters in order."""
        return tuple(it for dim in self.dims for it in dim)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(math.prod(it.extent for it in dim) for dim in self.dims)

    @property
    def axes(self) -> tuple[Axis, ...]:
        return tuple(dict.fromkeys(it.axis for it in self.iters))

    @property
    def linear(self) -> TileLayout:
        return self

    def cosize(self, axis: Axis = m) -> int:
        return 1 + sum(it.reach for it in self.iters if it.axis == axis)

    def apply(self, *coords: Coord) -> dict[Axis, Coord]:
        places: dict[Axis, Coord] = dict.fromkeys(self.axes, 0)
        for it, digit in self.digits(*coords):
            places[it.axis] = add(places[it.axis], mul(digit, it.stride))
        return places

    def digits(self, *coords: Coord) -> Iterator[tuple[Iter, Coord]]:
        """Each iter of extent above 1, with the digit of its coordinate. Iters that continue one another are merged."""
        if len(coords) != self.ndim:
            raise LayoutError(f"{self} takes {self.ndim} coordinates, not {len(coords)}")
        for dim, coord in zip(self.dims, coords, strict=True):
            merged = coalesce(dim)
            inner = math.prod(it.extent for it in merged)
            for position, it in enumerate(merged):
                inner //= it.extent
                digit = div(coord, inner)
                yield it, digit if position == 0 else mod(digit, it.extent)

    def group(self, shape: Sequence[int]) -> TileLayout:
        rest = [it for it in self.iters if it.extent > 1]
        dims = tuple(_take(rest, extent, self) for extent in reversed(shape))
        if rest:
            raise LayoutError(f"{self} has {self.size()} elements, not the {math.prod(shape)} of shape {tuple(shape)}")
        return TileLayout(Spec(dims[::-1]))

    def simplify(self) -> TileLayout:
        """The same map with the fewest iters. It makes many equivalent layouts of one shape compare equal."""
        return TileLayout(Spec(tuple(coalesce(dim) or still(dim[0].axis) for dim in self.dims)))


def still(axis: Axis) -> Dim:
    """A dimension of extent 1, which never moves."""
    return (Iter(1, 0, axis),)


def coalesce(dim: Dim) -> Dim:
    """Drop iters of extent 1, and merge neighbours whose outer stride continues the inner iter."""
    merged: list[Iter] = []
    for it in dim:
        if it.extent == 1:
            continue
        if merged and merged[-1].axis == it.axis and merged[-1].stride == it.extent * it.stride:
            merged[-1] = Iter(merged[-1].extent * it.extent, it.stride, it.axis)
        else:
            merged.append(it)
    return tuple(merged)


def _take(rest: list[Iter], extent: int, layout: TileLayout) -> Dim:
    """Take the fastest iters that make up `extent` from the end of `rest`; split the last one if it is longer."""
    taken: list[Iter] = []
    need = extent
    while need > 1 and rest:
        it = rest.pop()
        part = math.gcd(it.extent, need)
        if part not in (it.extent, need):
            raise LayoutError(f"{layout} cannot be cut to an extent of {extent}, which does not divide {it.extent}")
        if part < it.extent:
            rest.append(Iter(it.extent // part, it.stride * part, it.axis))
        taken.append(Iter(part, it.stride, it.axis))
        need //= part
    if need != 1:
        raise LayoutError(f"{layout} has too few elements for an extent of {extent}")
    return tuple(reversed(taken)) or still(layout.iters[0].axis)


def _extents(dim: Any) -> tuple[int, ...]:
    try:
        extents = tuple(operator.index(extent) for extent in (dim if isinstance(dim, tuple) else (dim,)))
    except TypeError:
        raise LayoutError(f"an extent in S[shape : strides] must be an int or a tuple of ints, not {dim!r}") from None
    if not extents or min(extents) < 1:
        raise LayoutError(f"extents in S[shape : strides] must be at least 1, not {dim!r}")
    return extents


def _dim(extents: tuple[int, ...], strides: Any) -> Dim:
    listed = strides if isinstance(strides, tuple) else (strides,)
    if len(listed) != len(extents):
        raise LayoutError(f"the extents {_unwrap(extents)} and the strides {strides} do not pair up")
    return tuple(Iter(extent, *_stride(stride)) for extent, stride in zip(extents, listed, strict=True))


def _stride(stride: Any) -> tuple[int, Axis]:
    if isinstance(stride, Axis):
        raise LayoutError(f"{stride} alone is not a stride: write 1@{stride}")
    if not isinstance(stride, Stride):
        try:
            stride = Stride(operator.index(stride), m)
        except TypeError:
            raise LayoutError(f"a stride in S[shape : strides] must be an int or int@axis, not {stride!r}") from None
    if stride.value < 0:
        raise LayoutError(f"strides in S[shape : strides] must not be negative, unlike {stride}")
    return stride.value, stride.axis


def _row_major(dims: Sequence[tuple[int, ...]]) -> Spec:
    stride = math.prod(extent for dim in dims for extent in dim)
    spec: list[Dim] = []
    for dim in dims:
        iters: list[Iter] = []
        for extent in dim:
            stride //= extent
            iters.append(Iter(extent, stride))
        spec.append(tuple(iters))
    return Spec(tuple(spec))


def _unwrap(items: tuple[Any, ...]) -> Any:
    return items[0] if len(items) == 1 else items
