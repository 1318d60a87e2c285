"""The layout algebra of Apache TVM 0.26, where a layout is a flat list of iters and shapes are arguments.

`shard` lists the iters of all dimensions in order, `replica` those over which copies lie. An operation that takes a
shape cuts the list there first. Layouts that TVM regards as equal have equal canonical forms.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from tirx_mini.records import replace
from tirx_mini.wording import described

from .arith import Coord, div, is_zero, mod
from .axis import AXES, Axis, ExecScope, LayoutError, Stride, m, whole
from .cutting import slice_dim
from .spec import Dim, Iter, Spec, coalesce, ravel, still

if TYPE_CHECKING:
    from typing_extensions import Self

_Flat = TypeVar("_Flat", bound="Flat")
Either: TypeAlias = "Flat | FlatSwizzle"


class Flat:
    """TVM's methods of `TileLayout`: operations on strided layouts other than placement."""

    if TYPE_CHECKING:
        spec: Spec

        @property
        def dims(self) -> tuple[Dim, ...]: ...
        @property
        def iters(self) -> Dim: ...
        @property
        def offset(self) -> dict[Axis, int]: ...
        @property
        def shape(self) -> tuple[int, ...]: ...
        @property
        def axes(self) -> tuple[Axis, ...]: ...
        def __init__(self, spec: Spec) -> None: ...
        def reshape(self, shape: Sequence[int]) -> Self: ...
        def with_dims(self, dims: Sequence[Dim]) -> Self: ...
        def simplify(self) -> Self: ...
        def cosize(self, axis: Axis = m) -> int: ...
        @property
        def linear(self) -> Flat: ...
        def size(self, axis: Axis | str | None = None) -> int: ...

    @classmethod
    def from_iters(
        cls, shard: Sequence[Iter] = (), replica: Sequence[Iter] = (),
        offset: Mapping[Axis, int] | Mapping[str, int] | None = None,
    ) -> Self:  # fmt: skip
        """Create a layout with one dimension per iter."""
        places = {Axis.get(axis) if isinstance(axis, str) else axis: at for axis, at in (offset or {}).items()}
        strides = tuple(Stride(at, axis) for axis, at in places.items() if not is_zero(at))
        made = Spec(tuple((it,) for it in shard), tuple(replica))
        for stride in strides:
            made = made + stride
        return cls(made)

    @property
    def shard(self) -> Dim:
        """The iters of all dimensions, in order."""
        return self.iters

    @property
    def replica(self) -> Dim:
        """The iters that enumerate the copies of an element."""
        return self.spec.replica

    def canonicalize(self) -> Self:
        """Return the same map with the fewest iters, each its own dimension, and copies by decreasing stride."""
        axis = self.iters[0].axis if len(self.iters) == 1 else m
        shard = coalesce(self.iters) or (Iter(1, 1, axis),)
        return self.from_iters(shard, sorted(self.replica, key=lambda it: -it.stride), self.offset)

    def verify_well_formed(self) -> bool:
        """Return True. Raises LayoutError unless the thread axes nest; `laneid` beside `tx` does not."""
        self.get_scope()
        return True

    def get_scope(self) -> tuple[ExecScope, ExecScope] | None:
        """Return the smallest and largest thread scopes of the axes, such as ("thread", "cta") for `laneid` with
        `warpid`, or None without thread axes.

        Raises LayoutError if the axes do not nest.
        """
        used = [axis for axis in self.axes if axis.is_thread()]
        steps = {(low, high) for axis in used if (low := axis.get_subscope()) and (high := axis.get_scope())}
        if not steps:
            return None
        above = dict(steps)
        lowest = [low for low in above if low not in above.values()]
        if len(above) != len(steps) or len(lowest) != 1:
            raise LayoutError(f"the axes {', '.join(map(str, used))} of {self} do not nest")
        last = lowest[0]
        for _ in steps:
            if last not in above:
                raise LayoutError(f"the axes {', '.join(map(str, used))} of {self} do not nest")
            last = above[last]
        return lowest[0], last

    def is_swizzle(self) -> bool:
        """Return False, since only a `ComposeLayout` is a swizzle."""
        return False

    def is_trivial(self) -> bool:
        """Return whether the elements are in row-major order, starting at place 0 of memory."""
        made = self.canonicalize()
        return not self.offset and not self.replica and made.shard == (Iter(self.size(), 1),)

    def is_trainium(self) -> bool:
        """Return whether it places elements in a partitioned Trainium memory."""
        return any(it.axis.name in ("P", "F", "Bank") for it in self.iters)

    def group(self, shape: Sequence[int]) -> tuple[Self, list[int]]:
        """Split the iters at the extents of `shape`, and return them with each extent's start: TVM's form of `reshape`.
        """
        dims = self.reshape(shape).dims
        seps = [sum(map(len, dims[:end])) for end in range(len(dims) + 1)]
        return self.with_dims([(it,) for dim in dims for it in dim]), seps

    def group_many(self, shapes: Sequence[Sequence[int]]) -> tuple[Self, list[list[int]]]:
        """Split the iters at the extents of several shapes, and return each shape's group starts."""
        shapes = [list(shape) for shape in shapes]
        cuts: Counter[int] = Counter()
        for shape in [[it.extent for it in self.iters], *shapes]:
            if math.prod(shape) != self.size():
                raise LayoutError(f"{self} has {self.size()} elements, not the {math.prod(shape)} of shape {shape}")
            cuts |= Counter(_suffixes(shape))
        edges = sorted(cuts.elements(), reverse=True)
        refined = [high // low for high, low in itertools.pairwise(edges)]
        if any(high % low for high, low in itertools.pairwise(edges)):
            raise LayoutError(f"the extents of the shapes {shapes} cut through one another")
        dims = self.reshape(refined).dims
        return self.with_dims(dims), [_edges(shape, edges) for shape in shapes]

    def apply_to_shape(self, coord: Sequence[Coord], input_shape: Sequence[int]) -> list[Coord]:
        """Return the digit of each iter for the element at `coord` of `input_shape`."""
        try:
            cut = self.reshape(input_shape)
        except LayoutError:  # an extent cuts through an iter
            return _split(ravel(coord, input_shape), [it.extent for it in self.iters])
        parts = (_split(at, [it.extent for it in dim]) for at, dim in zip(coord, cut.dims, strict=True))
        return [digit for part in parts for digit in part]

    def tile(self, outer: Flat, outer_shape: Sequence[int], inner_shape: Sequence[int]) -> Self:
        """Tile copies of this layout by `outer`: each dimension enumerates first the copy, then the element in it.

        The strides of `outer` count copies: they are multiplied by the span of this layout on their axis.
        """
        large = _scaled(outer, {axis: _reach(self, axis) for axis in outer.axes})
        return self.direct_sum(large, outer_shape, inner_shape)

    def direct_sum(self, left: Flat, left_shape: Sequence[int], right_shape: Sequence[int]) -> Self:
        """Return the direct sum: `left` coordinates precede this layout's in each dimension, and places add."""
        if len(left_shape) != len(right_shape):
            raise LayoutError(f"the tiles {tuple(right_shape)} and their numbers {tuple(left_shape)} differ in rank")
        large, small = left.reshape(left_shape), self.reshape(right_shape)
        dims = [coalesce((*a, *b)) or still(b[0].axis) for a, b in zip(large.dims, small.dims, strict=True)]
        made = Spec(tuple(dims), (*large.replica, *small.replica))
        for axis, place in [*large.offset.items(), *small.offset.items()]:
            made = made + Stride(place, axis)
        return type(self)(made)

    def is_tile_inner(self, tile_layout: Either, tiled_shape: Sequence[int], inner_shape: Sequence[int]) -> Self | None:
        """Return the layout `outer` for which ``self.tile(outer, …)`` is `tile_layout`, or None."""
        rest = self.is_direct_sum_right(tile_layout, _interleaved(tiled_shape, inner_shape, False), inner_shape)
        return None if rest is None else _unscaled(rest, {axis: _reach(self, axis) for axis in rest.axes})

    def is_tile_outer(
        self, tile_layout: Either, tiled_shape: Sequence[int], outer_shape: Sequence[int]
    ) -> Either | None:
        """Return the layout `inner` for which ``inner.tile(self, …)`` is `tile_layout`, or None."""
        shape = _interleaved(tiled_shape, outer_shape, True)
        if (inner := _parts(tile_layout.linear, shape, 1)) is None:
            return None
        large = _scaled(self, {axis: _reach(inner, axis) for axis in self.axes})
        return large.is_direct_sum_left(tile_layout, shape, outer_shape)

    def is_direct_sum_right(
        self, sum_layout: Either, interleaved_shape: Sequence[int], right_shape: Sequence[int]
    ) -> Self | None:
        """Return the layout `left` for which ``self.direct_sum(left, …)`` is `sum_layout`, or None."""
        swizzled = isinstance(sum_layout, FlatSwizzle)  # then the right addend is, too
        return None if swizzled else _other_part(self, sum_layout, interleaved_shape, right_shape, own=1)

    def is_direct_sum_left(
        self, sum_layout: Either, interleaved_shape: Sequence[int], left_shape: Sequence[int]
    ) -> Either | None:
        """Return the layout `right` for which ``right.direct_sum(self, …)`` is `sum_layout`, or None."""
        rest = _other_part(self, sum_layout.linear, interleaved_shape, left_shape, own=0)
        return sum_layout.with_tile(rest) if rest is not None and isinstance(sum_layout, FlatSwizzle) else rest

    def slice(self, shape: Sequence[int], region: Sequence[object]) -> Self | None:
        """Slice the layout, viewed in `shape`, by `region`: one (begin, end) or `Range` per dimension.

        Its offset is the place of its first element. None if the part has no strides of its own.
        """
        if len(shape) != len(region):
            raise LayoutError(f"a slice of {len(shape)} dimensions needs as many ranges, not {len(region)}")
        offset: dict[Axis, Coord] = dict(self.offset)
        dims: list[Dim] = []
        try:
            for dim, (begin, extent) in zip(self.reshape(shape).dims, map(_bounds, region), strict=True):
                known = begin if isinstance(begin, int) else 1
                terms, kept = slice_dim(coalesce(dim), begin, extent, known)
                dims.append(kept or still(dim[0].axis))
                for term in terms:
                    offset[term.axis] = offset.get(term.axis, 0) + term.value
        except LayoutError:
            return None
        return self.from_iters([it for dim in dims for it in dim], self.replica, offset)

    def permute_by_groups(self, seps: Sequence[int], perm: Sequence[int]) -> Self:
        """Permute the groups of iters that begin at `seps`, as returned by `group`."""
        if sorted(perm) != list(range(len(seps) - 1)):
            order = ", ".join(map(described, perm))
            raise LayoutError(f"({order}) is not an order of the {len(seps) - 1} groups of {self}")
        return self.with_dims([(it,) for at in perm for it in self.iters[seps[at] : seps[at + 1]]])

    def broadcast(self, num: int, position: int = -1, axis: Axis | str = m) -> Self:
        """Insert a dimension of extent `num` and stride 0, so that each element repeats `num` times.

        position: as for `list.insert`, except that -1 stands for the end, -2 for the place before the last, ….
        """
        dims = list(self.dims)
        new = Iter(whole("num", num), 0, AXES[axis] if isinstance(axis, str) else axis)
        dims.insert(position if position >= 0 else len(dims) + 1 + position, (new,))
        return self.with_dims(dims)

    def storage(self) -> Self:
        """Return the layout of one thread's elements: the digits in memory, each its own dimension."""
        kept = [it for it in self.iters if it.axis.is_memory() and it.extent > 1] or list(still(m))
        copies = [it for it in self.replica if it.axis.is_memory()]
        return self.from_iters(kept, copies, {axis: at for axis, at in self.offset.items() if axis.is_memory()})


class FlatSwizzle:
    """TVM's methods of `ComposeLayout`: operations on swizzled layouts other than placement.

    An operation applies to the tile under the swizzle. Two layouts with different swizzles have no common tile.
    """

    if TYPE_CHECKING:
        swizzle: Any
        tile_layout: Any

        @property
        def linear(self) -> Flat: ...
        def with_tile(self, tile: Any) -> Self: ...

    @property
    def per_element(self) -> int:
        """The base-2 logarithm of a chunk's element count; the swizzle moves whole chunks."""
        return self.swizzle.chunk.bit_length() - 1

    @property
    def swizzle_len(self) -> int:
        """The number of bits that the swizzle changes."""
        return self.swizzle.mode.value

    atom_len = 3
    """How far above a bit of the chunk's number the bit lies with which it is XORed."""

    swizzle_inner = True
    """The lower bits change, not the upper ones."""

    def canonicalize(self) -> Self:
        """Return the same map with the fewest iters."""
        return self.with_tile(self.tile_layout.canonicalize())

    def verify_well_formed(self) -> bool:
        """Return True, since a swizzled layout has no thread axes."""
        return True

    def span(self, axis: Axis | str = m) -> int:
        """Return the span of the tile; `cosize` counts whole swizzle atoms."""
        return self.tile_layout.span(axis)

    def is_swizzle(self) -> bool:
        """Return whether it is a pure swizzle of elements in row-major order."""
        return self.tile_layout.is_trivial()

    def is_trainium(self) -> bool:
        """Return False, since Trainium has no swizzles."""
        return False

    def apply_to_shape(self, coord: Sequence[Coord], input_shape: Sequence[int]) -> list[Coord]:
        """Apply `TileLayout.apply_to_shape` to the tile."""
        return self.tile_layout.apply_to_shape(coord, input_shape)

    def tile(self, outer: Flat, outer_shape: Sequence[int], inner_shape: Sequence[int]) -> Self:
        """Tile copies of the layout, as `TileLayout.tile`."""
        return self.with_tile(self.tile_layout.tile(outer, outer_shape, inner_shape))

    def tile_to(self, to_shape: Sequence[int], current_shape: Sequence[int]) -> Self:
        """Repeat this layout, of `current_shape`, in row-major order until it fills `to_shape`."""
        return self.with_tile(self.tile_layout.tile_to(to_shape, current_shape))

    def direct_sum(self, left: Flat, left_shape: Sequence[int], right_shape: Sequence[int]) -> Self:
        """Return the direct sum, as `TileLayout.direct_sum`."""
        return self.with_tile(self.tile_layout.direct_sum(left, left_shape, right_shape))

    def is_tile_inner(self, tile_layout: Either, tiled_shape: Sequence[int], inner_shape: Sequence[int]) -> Flat | None:
        """Invert tiling, as `TileLayout.is_tile_inner`."""
        if not isinstance(tile_layout, FlatSwizzle) or self.swizzle != tile_layout.swizzle:
            return None
        return self.tile_layout.is_tile_inner(tile_layout.tile_layout, tiled_shape, inner_shape)

    def is_direct_sum_right(
        self, sum_layout: Either, interleaved_shape: Sequence[int], right_shape: Sequence[int]
    ) -> Flat | None:
        """Invert a direct sum, as `TileLayout.is_direct_sum_right`."""
        if not isinstance(sum_layout, FlatSwizzle) or self.swizzle != sum_layout.swizzle:
            return None
        return self.tile_layout.is_direct_sum_right(sum_layout.tile_layout, interleaved_shape, right_shape)

    def is_tile_outer(self, tile_layout: object, tiled_shape: Sequence[int], outer_shape: Sequence[int]) -> None:
        """Return None: the repeated tile is swizzled, but its copies are not."""

    def is_direct_sum_left(
        self, sum_layout: object, interleaved_shape: Sequence[int], left_shape: Sequence[int]
    ) -> None:
        """Return None: the right addend of a sum is swizzled, but the left one is not."""

    def slice(self, shape: Sequence[int], region: Sequence[object]) -> Self | None:
        """Slice the layout, as `TileLayout.slice`."""
        part = self.tile_layout.slice(shape, region)
        return None if part is None else self.with_tile(part)

    def permute_dims(self, perm: Sequence[int]) -> Self:
        """Permute the dimensions."""
        return self.with_tile(self.tile_layout.permute_dims(perm))

    def broadcast(self, num: int, position: int = -1, axis: Axis | str = m) -> Self:
        """Insert a repeated dimension, as `TileLayout.broadcast`."""
        return self.with_tile(self.tile_layout.broadcast(num, position, axis))

    def storage(self) -> Self:
        """Return the layout itself, since shared memory belongs to no thread."""
        return self


def _suffixes(shape: Sequence[int]) -> list[int]:
    """Return the number of elements from each dimension on, followed by 1."""
    return [math.prod(shape[at:]) for at in range(len(shape) + 1)]


def _edges(shape: Sequence[int], edges: Sequence[int]) -> list[int]:
    """Return the first split dimension for each dimension of a shape that is split at `edges`."""
    seps = [0]
    for size in _suffixes(shape)[1:-1]:
        seps.append(edges.index(size, seps[-1] + (edges[seps[-1]] == size)))
    return [*seps, len(edges) - 1]


def _split(at: Coord, extents: Sequence[int]) -> list[Coord]:
    """Split a coordinate into digits of the given extents; the first digit is not reduced."""
    digits: list[Coord] = []
    inner = math.prod(extents)
    for position, extent in enumerate(extents):
        inner //= extent
        digit = div(at, inner)
        digits.append(digit if position == 0 else mod(digit, extent))
    return digits


def _bounds(given: Any) -> tuple[Coord, int]:
    """Return (begin, extent) of a range, given as a pair (begin, end) or with `min` and `extent`."""
    begin, extent = (given.min, given.extent) if hasattr(given, "extent") else (given[0], given[1] - given[0])
    return _as_int(begin), whole("the extent of a slice", _as_int(extent))


def _as_int(value: Any) -> Any:
    """Return a constant of the IR as an int, and other values unchanged."""
    return value.value if isinstance(getattr(value, "value", None), int) else value


def _interleaved(whole_shape: Sequence[int], part: Sequence[int], part_first: bool) -> list[int]:
    """Split each extent of a shape into the part's extent and the number of parts."""
    if len(whole_shape) != len(part) or any(extent % one for extent, one in zip(whole_shape, part, strict=True)):
        raise LayoutError(f"the shape {tuple(whole_shape)} is not a whole number of tiles {tuple(part)}")
    pairs = [(one, extent // one) for extent, one in zip(whole_shape, part, strict=True)]
    return [extent for one, rest in pairs for extent in ((one, rest) if part_first else (rest, one))]


def _parts(layout: _Flat, interleaved: Sequence[int], which: int) -> _Flat | None:
    """Return every second dimension of a reshaped layout without copies, or None if an extent splits an iter."""
    try:
        dims = layout.reshape(interleaved).dims[which::2]
    except LayoutError:
        return None
    return layout.from_iters([it for dim in dims for it in dim], (), layout.offset)


def _other_part(
    part: _Flat, whole_layout: Flat, interleaved: Sequence[int], shape: Sequence[int], own: int
) -> _Flat | None:
    """Return the rest of a sum without `part`, which has every second dimension from `own` on, or None."""
    try:
        dims = whole_layout.reshape(interleaved).dims
        wanted = part.reshape(shape).dims
    except LayoutError:
        return None
    if [coalesce(dim) for dim in dims[own::2]] != [coalesce(dim) for dim in wanted]:
        return None
    copies = list(whole_layout.replica)
    for it in part.replica:
        if it not in copies:
            return None
        copies.remove(it)
    offset = {axis: at - part.offset.get(axis, 0) for axis, at in whole_layout.offset.items()}
    return part.from_iters([it for dim in dims[1 - own :: 2] for it in dim], copies, offset)


def _reach(layout: Flat, axis: Axis) -> int:
    """Return the distance between a layout's copies along an axis: its span, or 1 if only copies lie along it."""
    moves = any(it.axis == axis and it.extent > 1 for it in layout.iters)
    return layout.cosize(axis) if moves else 1


def _scaled(layout: _Flat, factors: Mapping[Axis, int]) -> _Flat:
    """Multiply each stride by the factor of its axis, keeping the offset."""

    def scaled(it: Iter) -> Iter:
        return replace(it, stride=it.stride * factors.get(it.axis, 1))

    dims = tuple(tuple(map(scaled, dim)) for dim in layout.dims)
    return type(layout)(Spec(dims, tuple(map(scaled, layout.replica)), layout.spec.offset))


def _unscaled(layout: _Flat, factors: Mapping[Axis, int]) -> _Flat | None:
    """Divide each stride by the factor of its axis, or return None if that leaves a remainder."""
    moving = [it for it in (*layout.iters, *layout.replica) if it.extent > 1]
    if any(it.stride % factors.get(it.axis, 1) for it in moving):
        return None

    def divided(it: Iter) -> Iter:
        return replace(it, stride=it.stride // factors.get(it.axis, 1))

    shard, replica = (tuple(map(divided, iters)) for iters in (layout.iters, layout.replica))
    return layout.from_iters(shard, replica, layout.offset)
