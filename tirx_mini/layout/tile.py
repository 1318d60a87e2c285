"""The layout classes: `Layout`, a map from coordinates to places, and `TileLayout`, with strides along named axes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tirx_mini.records import dataclass, replace
from tirx_mini.wording import described

from .arith import Coord, add, div, mod, mul
from .axis import AXES, Axis, LayoutError, m, whole
from .flat import Flat
from .spec import Dim, Iter, S, Spec, coalesce, ravel, still, unravel

if TYPE_CHECKING:
    from typing_extensions import Self


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
    def place(self, *coords: Coord) -> dict[Axis, Coord]:
        """Return the place of an element, with one coordinate per dimension of the layout."""

    def apply(self, *coords: Coord, shape: Sequence[int] | None = None) -> dict[Axis, Coord]:
        """Return the place of the element at `coords` on each axis, in elements for memory.

        coords: one coordinate per dimension: an int, a NumPy array (arrays broadcast) or a symbolic expression. It
            must be within the shape; this is not checked. A single coordinate is the row-major number of an element.
        shape: another shape of as many elements, to which the coordinates belong.

        Of an element with copies, this is the first place. Raises LayoutError for the wrong number of coordinates.
        """
        if shape is not None:
            if math.prod(shape) != self.size() or len(shape) != len(coords):
                raise LayoutError(f"{coords} in {tuple(shape)} is no element of {self}, which has {self.size()}")
            try:
                return self.reshape(shape).place(*coords)
            except LayoutError:  # an extent cuts through a digit
                coords = (ravel(coords, shape),)
        if len(coords) == 1 and self.ndim > 1:
            coords = unravel(coords[0], self.shape)
        return self.place(*coords)

    @abstractmethod
    def cosize(self, axis: Axis = m) -> int:
        """Return the number of places needed along `axis`, one more than the last place used."""

    @abstractmethod
    def reshape(self, shape: Sequence[int]) -> Layout:
        """Return the layout with another logical `shape`, preserving the row-major order.

        Raises LayoutError if a new extent cuts through a digit that it does not divide.
        """

    @abstractmethod
    def permute_dims(self, perm: Sequence[int]) -> Self:
        """Permute the dimensions."""

    @abstractmethod
    def canonicalize(self) -> Self:
        """Return the same map with the fewest iters, each its own dimension."""

    @abstractmethod
    def storage(self) -> Self:
        """Return the layout of one thread's elements, or the layout itself if they belong to no thread."""

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def size(self, axis: Axis | str | None = None) -> int:
        """Return the number of logical elements, or with an axis the number of steps along it."""
        if axis is None:
            return math.prod(self.shape)
        return math.prod(it.extent for it in self.linear.iters if it.axis == axis)

    def span(self, axis: Axis | str = m) -> int:
        """Return `cosize`, under TVM's name."""
        return self.cosize(AXES.get(axis, m) if isinstance(axis, str) else axis)

    def apply_m(self, *coords: Coord) -> Coord:
        """Return the place in memory, in elements. Raises LayoutError for a layout with any other axis."""
        if self.axes not in ((m,), ()):
            axes = ", ".join(map(str, self.axes))
            raise LayoutError(f"apply_m needs a layout over memory only, but {self} places elements on {axes}")
        return self.apply(*coords).get(m, 0)

    def to_table(self) -> dict[Axis, np.ndarray]:
        """Return the whole map as a table: an int64 array of the logical shape for each axis."""
        coords = np.indices(self.shape, dtype=np.int64, sparse=True)
        return {
            axis: np.array(np.broadcast_to(np.asarray(place, dtype=np.int64), self.shape))
            for axis, place in self.apply(*coords).items()
        }


@dataclass(frozen=True)
class TileLayout(Flat, Layout):
    """A strided layout, such as `TileLayout(S[(128, 512) : (1@TLane, 1@TCol)])`.

    Each coordinate is written in the mixed radix of its iters, and each digit moves its stride along its axis.
    """

    spec: Spec

    def __post_init__(self) -> None:
        # kernels may have no types
        if not isinstance(self.spec, Spec):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise LayoutError(f"TileLayout takes S[shape : strides], not {described(self.spec)}")

    def with_dims(self, dims: Sequence[Dim]) -> Self:
        """Return a layout with other dimensions, keeping the copies and the offset."""
        return type(self)(replace(self.spec, dims=tuple(dims)))

    @property
    def offset(self) -> dict[Axis, int]:
        """The place of the first element on each axis where it is nonzero."""
        return {stride.axis: stride.value for stride in self.spec.offset}

    @property
    def is_plain(self) -> bool:
        """Return whether each element has one place, and the first is at 0 on each axis."""
        return not self.spec.replica and not self.spec.offset

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
        return tuple(dict.fromkeys(it.axis for it in (*self.iters, *self.spec.replica, *self.spec.offset)))

    @property
    def linear(self) -> TileLayout:
        return self

    def cosize(self, axis: Axis = m) -> int:
        reach = sum(it.reach for it in (*self.iters, *self.spec.replica) if it.axis == axis)
        return 1 + reach + self.offset.get(axis, 0)

    def place(self, *coords: Coord) -> dict[Axis, Coord]:
        places: dict[Axis, Coord] = {**dict.fromkeys((it.axis for it in self.iters), 0), **self.offset}
        for it, digit in self.digits(*coords):
            places[it.axis] = add(places[it.axis], mul(digit, it.stride))
        return places

    def digits(self, *coords: Coord) -> Iterator[tuple[Iter, Coord]]:
        """Return each iter of extent above 1 with its digit, merging iters that continue one another."""
        if len(coords) != self.ndim:
            raise LayoutError(f"{self} takes {self.ndim} coordinates, not {len(coords)}")
        for dim, coord in zip(self.dims, coords, strict=True):
            merged = coalesce(dim)
            inner = math.prod(it.extent for it in merged)
            for position, it in enumerate(merged):
                inner //= it.extent
                digit = div(coord, inner)
                yield it, digit if position == 0 else mod(digit, it.extent)

    def reshape(self, shape: Sequence[int]) -> TileLayout:
        rest = [it for it in self.iters if it.extent > 1]
        dims = tuple(_take(rest, extent, self) for extent in reversed(shape))
        if rest:
            raise LayoutError(f"{self} has {self.size()} elements, not the {math.prod(shape)} of shape {tuple(shape)}")
        return self.with_dims(dims[::-1])

    def simplify(self) -> TileLayout:
        """Return the same map with the fewest iters, so that equivalent layouts of a shape usually compare equal."""
        return self.with_dims([coalesce(dim) or still(dim[0].axis) for dim in self.dims])

    def pack(self, num: int) -> TileLayout:
        """Pack `num` neighbours of the last dimension into one element. Raises LayoutError if they are not contiguous.
        """
        num = whole("num", num)
        *outer, last = (coalesce(dim) for dim in self.dims)
        inner = last[-1] if last else still(m)[0]
        others = [it for dim in (*outer, last[:-1], self.spec.replica) for it in dim if it.axis == m]
        if inner.axis != m or inner.stride != 1 or inner.extent % num:
            raise LayoutError(f"{num} neighbouring elements of {self} are not contiguous, so they cannot be packed")
        if any(it.stride % num for it in others) or self.offset.get(m, 0) % num:
            raise LayoutError(f"{self} has strides that are not multiples of {num} elements, so it cannot be packed")
        ends = (*last[:-1], Iter(inner.extent // num, num))
        return _scaled(self, [*outer, ends], lambda elements: elements // num)

    def unpack(self, num: int) -> TileLayout:
        """Unpack each element into `num` contiguous ones, along the last dimension."""
        num = whole("num", num)
        dims = [*self.dims[:-1], (*self.dims[-1], Iter(num, 0))]
        made = _scaled(self, dims, lambda elements: elements * num)
        return made.with_dims([*made.dims[:-1], (*made.dims[-1][:-1], Iter(num, 1))])

    def tile_to(self, to_shape: Sequence[int], current_shape: Sequence[int]) -> TileLayout:
        """Repeat this layout, of `current_shape`, in row-major order until it fills `to_shape`."""
        pairs = list(zip(to_shape, current_shape, strict=len(to_shape) == len(current_shape)))
        if len(to_shape) != len(current_shape) or any(extent % tile for extent, tile in pairs):
            raise LayoutError(f"the shape {tuple(to_shape)} is not a whole number of tiles {tuple(current_shape)}")
        counts = tuple(extent // tile for extent, tile in pairs)
        return self.tile(TileLayout(S[counts]), counts, current_shape)

    def permute_dims(self, perm: Sequence[int]) -> Self:
        """Permute the dimensions."""
        if sorted(perm) != list(range(self.ndim)):
            order = ", ".join(map(described, perm))
            raise LayoutError(f"({order}) is not an order of the {self.ndim} dimensions of {self}")
        return self.with_dims([self.dims[position] for position in perm])


def _take(rest: list[Iter], extent: int, layout: TileLayout) -> Dim:
    """Take the fastest iters that make up `extent` from the end of `rest`, splitting the last one if it is longer."""
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


def _scaled(tile: TileLayout, dims: Sequence[Dim], scale: Callable[[int], int]) -> TileLayout:
    """Apply `scale` to the memory distances of `dims`, and of the copies and offset of `tile`."""

    def scaled(it: Iter) -> Iter:
        return replace(it, stride=scale(it.stride)) if it.axis == m and it.extent > 1 else it

    made = Spec(tuple(tuple(map(scaled, dim)) or still(m) for dim in dims), tuple(map(scaled, tile.spec.replica)))
    for axis, place in tile.offset.items():
        made = made + (scale(place) if axis == m else place @ axis)
    return TileLayout(made)
