"""`S[shape : strides]` and `R[shape : strides]`, the notation of strided layouts, as values."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, ClassVar

from tirx_mini.narrowing import is_list, is_slice, is_tuple
from tirx_mini.records import dataclass, replace
from tirx_mini.wording import described

from .arith import Coord, add, div, is_zero, mod, mul
from .axis import AXES, Axis, LayoutError, Offset, Stride, m, whole


@dataclass(frozen=True)
class Iter:
    """A digit of a coordinate, which runs over 0 … extent - 1 and moves `stride` along `axis` per step."""

    extent: int
    stride: int
    axis: Axis = m

    def __post_init__(self) -> None:
        if isinstance(self.axis, str):
            object.__setattr__(self, "axis", Axis.get(self.axis))

    @property
    def reach(self) -> int:
        """The distance between the first and last places."""
        return (self.extent - 1) * self.stride


_ORDER = list(AXES.values())

Dim = tuple[Iter, ...]
"""The digits of one logical coordinate, most significant first."""


@dataclass(frozen=True)
class Replica:
    """The value of `R[shape : strides]`: one copy of each element per combination of the iters' values."""

    iters: Dim

    def __repr__(self) -> str:
        return _spelt("R", tuple((it,) for it in self.iters))

    def __add__(self, other: object) -> Spec:
        return other + self if isinstance(other, Spec) else NotImplemented


@dataclass(frozen=True)
class Spec:
    """The value of `S[shape : strides]`: a tuple of iters for each logical dimension.

    replica: the iters of `+ R[shape : strides]`, over which the copies of an element lie.
    offset: the place of the first element, from `+ 64` or `+ 16@TLane`; each axis once.
    """

    dims: tuple[Dim, ...]
    replica: Dim = ()
    offset: tuple[Stride, ...] = ()

    def __repr__(self) -> str:
        copies = [repr(Replica(self.replica))] if self.replica else []
        return " + ".join([_spelt("S", self.dims), *copies, *map(repr, self.offset)])

    def __add__(self, other: object) -> Spec:
        if isinstance(other, Replica):
            return replace(self, replica=self.replica + other.iters)
        known = {old.axis: old.value for old in self.offset}
        for stride in other.strides if isinstance(other, Offset) else (Stride(*_stride(other)),):
            known[stride.axis] = known.get(stride.axis, 0) + stride.value
        order = sorted(known, key=_ORDER.index) if known.keys() <= set(_ORDER) else sorted(known, key=str)
        return replace(self, offset=tuple(Stride(known[axis], axis) for axis in order if not is_zero(known[axis])))

    __radd__ = __add__


def _spelt(letter: str, dims: tuple[Dim, ...]) -> str:
    shape = tuple(_unwrap(tuple(it.extent for it in dim)) for dim in dims)
    strides = tuple(_unwrap(tuple(Stride(it.stride, it.axis) for it in dim)) for dim in dims)
    if len(dims) == 1 and not isinstance(shape[0], tuple):
        return f"{letter}[{shape[0]} : {strides[0]}]"
    return f"{letter}[{shape} : {strides}]"


class _SpecBuilder:
    """The type of `S`, whose subscripts denote layouts.

    S[(128, 64) : (64, 1)]                   plain strides along memory, `m`
    S[(128, 512) : (1@TLane, 1@TCol)]        strides along named axes
    S[(128, 64)]                             row-major strides
    S[((16, 8), 64) : ((512, 64), 1)]        a dimension of 128 = 16 × 8, with one stride per digit
    S[(8, 4) : ((4, "laneid"), 1)]           a stride as a pair; the name of an axis alone is a stride of 1

    Raises LayoutError if shape and strides do not match.
    """

    __iter__: ClassVar[None] = None

    def __getitem__(self, item: object) -> Spec:
        given = item if is_slice(item) else slice(item, None)
        shape, strides = _fixed(given.start), _fixed(given.stop)
        dims = tuple(map(_extents, _parts(shape)))
        if strides is None:
            return _row_major(dims)
        stride_dims = _parts(strides)
        if isinstance(shape, tuple) != isinstance(strides, tuple) or len(dims) != len(stride_dims):
            raise LayoutError(f"S[{shape} : {strides}] needs one stride for each of its {len(dims)} extents")
        return Spec(tuple(_dim(extents, stride) for extents, stride in zip(dims, stride_dims, strict=True)))


S = _SpecBuilder()


class _ReplicaBuilder:
    """The type of `R`, whose subscripts are the copies of each element: `S[(8, 4) : (4@laneid, 1)] + R[4 : 1@laneid]`.

    Raises LayoutError if shape and strides do not match.
    """

    __iter__: ClassVar[None] = None

    def __getitem__(self, item: object) -> Replica:
        return Replica(tuple(it for dim in S[item].dims for it in dim))


R = _ReplicaBuilder()


def unravel(number: Coord, shape: tuple[int, ...]) -> tuple[Coord, ...]:
    """Return the logical coordinates of the element with the row-major `number`."""
    coords: list[Coord] = []
    inner = math.prod(shape)
    for position, extent in enumerate(shape):
        inner //= extent
        coord = div(number, inner)
        coords.append(coord if position == 0 else mod(coord, extent))
    return tuple(coords)


def ravel(coords: Sequence[Coord], shape: Sequence[int]) -> Coord:
    """Return the row-major number of the element at `coords`."""
    number: Coord = 0
    for coord, extent in zip(coords, shape, strict=True):
        number = add(mul(number, extent), coord)
    return number


def still(axis: Axis) -> Dim:
    """Return a dimension of extent 1, which never moves."""
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


def _fixed(given: object) -> object:
    """A list as a tuple; anything else as it is."""
    return tuple(given) if is_list(given) else given


def _parts(given: object) -> tuple[Any, ...]:
    """The items of a tuple; anything else is one item."""
    return given if is_tuple(given) else (given,)


def _extents(dim: object) -> tuple[int, ...]:
    try:
        extents = tuple(map(operator.index, _parts(dim)))
    except TypeError:
        raise LayoutError(
            f"an extent in S[shape : strides] must be an int or a tuple of ints, not {described(dim)}"
        ) from None
    if not extents or min(extents) < 1:
        raise LayoutError(f"extents in S[shape : strides] must be at least 1, not {described(dim)}")
    return extents


def _dim(extents: tuple[int, ...], strides: object) -> Dim:
    listed = _parts(strides)
    if len(extents) == 1 and len(listed) == 2 and isinstance(listed[1], (Axis, str)):
        listed = (Stride(whole("a stride", listed[0]), Axis.get(str(listed[1]))),)
    if len(listed) != len(extents):
        raise LayoutError(f"the extents {_unwrap(extents)} and the strides {strides} do not pair up")
    return tuple(Iter(extent, *_stride(stride)) for extent, stride in zip(extents, listed, strict=True))


def _stride(stride: Any) -> tuple[int, Axis]:
    if isinstance(stride, str):
        stride = Stride(1, Axis.get(stride))
    if isinstance(stride, Axis):
        raise LayoutError(f"{stride} alone is not a stride: write 1@{stride}")
    if not isinstance(stride, Stride):
        try:
            stride = Stride(operator.index(stride), m)
        except TypeError:
            raise LayoutError(
                f"a stride in S[shape : strides] must be an int or int@axis, not {described(stride)}"
            ) from None
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


def _unwrap(items: tuple[object, ...]) -> object:
    return items[0] if len(items) == 1 else items
