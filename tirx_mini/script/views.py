"""Buffer views as attributes: ``buf.sub[stage, :]``, ``buf.local()``, ``buf.permute(1, 0)``, ``buf.vload(…)``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

from tirx_mini.ir import (
    HANDLE,
    UINT32,
    VIEWS,
    AddressOf,
    Analyzer,
    Buffer,
    BufferLoad,
    BufferStore,
    DataType,
    Expr,
    Ramp,
    Region,
    TirxError,
    as_expr,
    as_index,
    cast,
    const,
    int_value,
    simplify,
)
from tirx_mini.layout import Layout, TCol, TileLayout, TLane, m, slice_region
from tirx_mini.records import dataclass, replace
from tirx_mini.tile import coordinate, layout_of
from tirx_mini.wording import described

from .builder import current
from .handles import data_type, shape_of


def moved(view: Buffer, elements: object) -> Buffer:
    """Return `view` advanced by `elements` elements."""
    known = int_value(elements)
    if known is not None and view.elem_offset is None:
        return replace(view, byte_offset=view.byte_offset + known * view.dtype.bits // 8)
    first = as_expr(elements)
    return replace(view, elem_offset=first if view.elem_offset is None else simplify(view.elem_offset + first))


def pointed(pointer: object, dtype: DataType) -> tuple[Buffer, Any]:
    """Return the buffer into which a pointer points, and its offset in elements of `dtype`."""
    if isinstance(pointer, Buffer):
        return pointer, 0
    if not isinstance(pointer, AddressOf):
        raise TirxError(
            f"data= must be a pointer to an element of a buffer, not {described(pointer)}",
            hint="write data=buf.data, or data=buf.ptr_to([i, j])",
        )
    place = flat_place(pointer)
    bits = pointer.buffer.dtype.bits
    if bits == dtype.bits or int_value(place) == 0:
        return pointer.buffer, place
    return pointer.buffer, simplify(as_expr(place * bits // dtype.bits))


def pool_of(buffer: Buffer) -> tuple[Buffer, Any]:
    """Return the pool of a shared buffer (itself without one), and the buffer's element offset in it.

    In TVM, `data` of all buffers of a pool is the pointer of the pool, and `elem_offset` counts from there.
    """
    bits, size, nbytes = as_expr(buffer.elem_offset or 0) * buffer.dtype.bits, buffer.dtype.bits, buffer.byte_offset
    while buffer.scope == "shared" and buffer.source is not None:
        buffer = buffer.source
        bits, nbytes = bits + as_expr(buffer.elem_offset or 0) * buffer.dtype.bits, nbytes + buffer.byte_offset
    return buffer, simplify(as_expr((bits + nbytes * 8) // size))


def flat_place(element: AddressOf | BufferLoad) -> Any:
    """Return the offset of an element in its buffer, in elements."""
    buffer, indices = element.buffer, element.indices
    if len(indices) == 1 and buffer.ndim != 1:
        return coordinate(indices[0])
    return layout_of(buffer).apply(*map(coordinate, indices)).get(m, 0)


def _divisor(value: object) -> int:
    return Analyzer().divisor(as_expr(value))


def _part(
    buffer: Buffer, layout: Layout, starts: Sequence[object], extents: Sequence[int], kept: Sequence[int]
) -> Buffer:
    """Return the box of `extents` at `starts` of a buffer viewed through `layout`, keeping the dimensions `kept`."""
    part = slice_region(layout, starts, extents, _divisor)
    made = part.layout
    shape = tuple(extents[axis] for axis in kept) or (1,)
    made = made.reshape(shape)
    plain = buffer.layout is None and isinstance(made, TileLayout) and made.is_trivial()
    view = Buffer(
        f"{buffer.name}_view", shape, buffer.dtype, buffer.scope, None if plain else made, buffer,
        allocated_addr=buffer.allocated_addr,
    )  # fmt: skip
    for axis, place in part.base.items():
        if axis.is_thread() and int_value(place) != 0:
            raise TirxError(f"{buffer.name} is spread over threads along {axis}, so a view of it begins at {axis} 0")
    if buffer.allocated_addr is None:
        return moved(view, part.base.get(m, 0))
    columns, lanes = (as_expr(part.base.get(axis, 0)) for axis in (TCol, TLane))
    column = simplify(columns * buffer.dtype.bits // 32)
    address = cast(UINT32, buffer.allocated_addr) + cast(UINT32, column) + (cast(UINT32, lanes) << 16)
    return replace(view, source=None, allocated_addr=address)


@dataclass(frozen=True)
class Sub:
    """A sub-view with NumPy-style slices, in which an index drops its dimension: ``buf.sub[2, 4:8, 1::4]``."""

    buffer: Buffer

    __iter__: ClassVar[None] = None

    def __getitem__(self, key: object) -> Buffer:
        keys = key if isinstance(key, tuple) else (key,)
        buffer = self.buffer
        if len(keys) > buffer.ndim:
            raise TirxError(f"{buffer.name} has {buffer.ndim} dimensions, but {len(keys)} are indexed")
        keys = (*keys, *[slice(None)] * (buffer.ndim - len(keys)))
        parts = [part for one, extent in zip(keys, buffer.shape, strict=True) for part in _parts(buffer, one, extent)]
        layout = layout_of(buffer).reshape(tuple(part.whole for part in parts))
        kept = [axis for axis, part in enumerate(parts) if part.kept]
        return _part(buffer, layout, [part.start for part in parts], [part.extent for part in parts], kept)


class _Slice(NamedTuple):
    """A slice of `extent` elements at `start` in a dimension of `whole` elements, dropped unless `kept`."""

    whole: int
    start: Any
    extent: int
    kept: bool = True


def _parts(buffer: Buffer, key: object, extent: int) -> list[_Slice]:
    """Interpret a key for its dimension; a step splits the dimension into rows of `step` elements."""
    if not isinstance(key, slice):
        return [_Slice(extent, coordinate(as_index(key)), 1, kept=False)]
    step = int_value(1 if key.step is None else key.step)
    start, stop = _ends(buffer, key, extent)
    if step == 1:
        count = simplify(as_expr(stop) - start)
        known = int_value(count)
        if known is None or known < 1:
            raise TirxError(f"the extent of this slice of {buffer.name}, {count!r}, is not a positive constant")
        return [_Slice(extent, start, known)]
    if step is None or step < 1 or extent % step or not isinstance(start, int) or start >= step or stop != extent:
        raise TirxError(
            f"the step of a slice of {buffer.name} divides its extent {extent}, and the slice begins below the step "
            "and has no end, as in buf.sub[1::4]"
        )
    return [_Slice(extent // step, 0, extent // step), _Slice(step, start, 1, kept=False)]


def _ends(buffer: Buffer, key: slice, extent: int) -> tuple[Any, Any]:
    start = 0 if key.start is None else coordinate(as_index(key.start))
    stop = extent if key.stop is None else coordinate(as_index(key.stop))
    for end in (start, stop):
        if isinstance(end, int) and not 0 <= end <= extent:
            raise TirxError(f"the slice {key.start}:{key.stop} leaves {buffer.name}, whose extent is {extent}")
    return start, stop


def local(buffer: Buffer) -> Callable[..., Buffer]:
    def local(*shape: int, layout: Layout | None = None) -> Buffer:
        """Return the elements of a register tile that each thread holds, as an array: all of them, or with a shape,
        row-major.

        layout: the place of each element in it, instead of row-major.
        """
        whole = layout_of(buffer).storage()
        dims = shape_of(shape, buffer.name) or (layout.shape if layout is not None else (whole.cosize(m),))
        return Buffer(f"{buffer.name}_local", dims, buffer.dtype, buffer.scope, layout, buffer)

    return local


def permute(buffer: Buffer) -> Callable[..., Buffer]:
    def permute(*dims: int) -> Buffer:
        """Return a view with permuted dimensions."""
        made = layout_of(buffer).permute_dims(dims)
        return replace_view(buffer, made.shape, made)

    return permute


def replace_view(buffer: Buffer, shape: tuple[int, ...], layout: Layout) -> Buffer:
    """Return a view of the same storage with another shape and layout."""
    name, addr = f"{buffer.name}_view", buffer.allocated_addr
    return Buffer(name, shape, buffer.dtype, buffer.scope, layout, buffer, allocated_addr=addr)


_AXES = re.compile(r"\(([^()]*)\)|(\w+)")


def rearrange(buffer: Buffer) -> Callable[..., Buffer]:
    def rearrange(pattern: str, /, **sizes: int) -> Buffer:
        """Split, permute and merge dimensions: ``buf.rearrange("a (b c) d -> b (a c) d", c=2)``."""
        sides = [[(one[0] or one[1]).split() for one in _AXES.findall(side)] for side in pattern.split("->")]
        if len(sides) != 2 or len(sides[0]) != buffer.ndim:
            raise TirxError(
                f"the pattern {pattern!r} does not name the {buffer.ndim} dimensions of {buffer.name}",
                hint='write for example "a (b c) -> b (a c)", with c=2',
            )
        known = dict(sizes)
        for names, extent in zip(sides[0], buffer.shape, strict=True):
            free = [name for name in names if name not in known]
            rest, left = divmod(extent, math.prod(known[name] for name in names if name in known))
            if len(free) > 1 or left or (not free and rest != 1):
                raise TirxError(f"the extent {extent} of {buffer.name} is not the product of {' '.join(names)}")
            known |= dict.fromkeys(free, rest)
        before, after = ([name for names in side for name in names] for side in sides)
        if sorted(before) != sorted(after) or len(set(before)) != len(before):
            raise TirxError(f"the two sides of {pattern!r} do not have the same names, each once")
        atoms = layout_of(buffer).reshape(tuple(known[name] for name in before))
        order = atoms.permute_dims([before.index(name) for name in after])
        shape = tuple(math.prod(known[name] for name in names) for names in sides[1])
        return replace_view(buffer, shape, order.reshape(shape))

    return rearrange


@dataclass(frozen=True)
class Chunks:
    """Equal chunks of dimensions: ``buf.chunk((None, 4))[:, c]`` is chunk c of 4 along the second one."""

    buffer: Buffer
    counts: tuple[int | None, ...]

    __iter__: ClassVar[None] = None

    def __getitem__(self, key: Any) -> Region | Expr:
        keys = key if isinstance(key, tuple) else (key,)
        if len(keys) != self.buffer.ndim:
            raise TirxError(f"chunk picks {len(keys)} dimensions of {self.buffer.name}, which has {self.buffer.ndim}")
        picked = list(keys)
        for axis, count in enumerate(self.counts):
            if count is None:
                continue
            if isinstance(keys[axis], slice):
                raise TirxError(f"dimension {axis} of {self.buffer.name} is cut into chunks, so it takes an index")
            size = self.buffer.shape[axis] // count
            picked[axis] = slice(keys[axis] * size, keys[axis] * size + size)
        return self.buffer[tuple(picked)]


def chunk(buffer: Buffer) -> Callable[..., Chunks]:
    def chunk(spec: Sequence[int | None]) -> Chunks:
        """Split dimensions into equal chunks, given by a number of chunks, or None, for each dimension."""
        counts = tuple(spec)
        if len(counts) != buffer.ndim:
            raise TirxError(f"chunk needs a number or None for each of the {buffer.ndim} dimensions of {buffer.name}")
        for extent, count in zip(buffer.shape, counts, strict=True):
            if count is not None and (count < 1 or extent % count):
                raise TirxError(f"an extent of {extent} of {buffer.name} is not cut into {count} equal chunks")
        return Chunks(buffer, counts)

    return chunk


@dataclass(frozen=True)
class Tiles:
    """A tiled dimension, of whose factors some are picked and others kept: ``buf.tile(0, (4, -1))[c, :]``."""

    buffer: Buffer
    specs: tuple[tuple[int, tuple[int, ...]], ...]

    __iter__: ClassVar[None] = None

    def __getitem__(self, key: object) -> Buffer:
        keys = list(key if isinstance(key, tuple) else (key,))
        view = self.buffer
        for dim, factors in self.specs:
            picks, keys = keys[: len(factors)], keys[len(factors) :]
            view = _pick(view, dim, factors, picks)
        return view


def _pick(buffer: Buffer, dim: int, factors: tuple[int, ...], picks: Sequence[object]) -> Buffer:
    known = -math.prod(factors) if -1 in factors else math.prod(factors)
    extent = buffer.shape[dim]
    if known <= 0 or extent % known or (-1 not in factors and known != extent) or len(picks) != len(factors):
        raise TirxError(f"dimension {dim} of {buffer.name}, of {extent} elements, is not split into {factors}")
    split = tuple(extent // known if factor == -1 else factor for factor in factors)
    shape = (*buffer.shape[:dim], *split, *buffer.shape[dim + 1 :])
    whole = [slice(None)] * buffer.ndim
    part = Sub(replace_view(buffer, shape, layout_of(buffer).reshape(shape)))[(*whole[:dim], *picks, *whole[dim + 1 :])]
    merged = math.prod(n for n, pick in zip(split, picks, strict=True) if isinstance(pick, slice))
    return part.view(*buffer.shape[:dim], merged, *buffer.shape[dim + 1 :])


def tile(buffer: Buffer) -> Callable[..., Tiles]:
    def tile(*specs: Any) -> Tiles:
        """Split a dimension into factors and pick tiles: ``buf.tile(0, (4, -1))[c, :]``; several pairs chain."""
        pairs = (specs,) if len(specs) == 2 and isinstance(specs[0], int) else specs
        for pair in pairs:
            if not isinstance(pair, tuple) or [type(part) for part in pair] not in ([int, tuple], [int, list]):
                message = f"a dimension and its factors are needed, but {described(pair)} is given"
                raise TirxError(message, hint=f"write {buffer.name}.tile(0, (4, -1))", about=pair)
        return Tiles(buffer, tuple((dim % buffer.ndim, tuple(factors)) for dim, factors in pairs))

    return tile


def _vector(buffer: Buffer, begin: object, lanes: int) -> tuple[Expr, ...]:
    """Return the indices of the `lanes` elements that begin at `begin`."""
    indices = tuple(as_index(i) for i in (begin if isinstance(begin, (list, tuple)) else (begin,)))
    if len(indices) != buffer.ndim:
        raise TirxError(f"{buffer.name} has {buffer.ndim} dimensions, but {len(indices)} indices are given")
    last = indices[-1]
    if lanes == 1 or isinstance(last, Ramp):
        return indices
    return (*indices[:-1], Ramp(last.dtype, last, lanes))


def is_vector(value: object) -> bool:
    """Return whether ``buf[0:4] = value`` stores a vector: a multi-lane value or a region of neighbours."""
    return (isinstance(value, Expr) and value.dtype.lanes > 1) or isinstance(value, Region)


def vector_of(region: Region) -> BufferLoad:
    """Return a slice along the last dimension as one vector. Raises TirxError for any other slice."""
    *outer, last = region.extents
    if any(extent != 1 for extent in outer) or last not in (2, 4, 8, 16, 32):
        raise TirxError(
            "a vector is 2, 4, 8, 16 or 32 neighbouring elements along the last dimension, not a slice of "
            f"{region.buffer.name} of {' × '.join(map(str, region.extents))}",
            region.span,
            "use Tx.copy for tiles",
        )
    indices = _vector(region.buffer, [part.start for part in region.ranges], last)
    return BufferLoad(region.buffer.dtype.with_lanes(last), region.buffer, indices)


def vload(buffer: Buffer) -> Callable[..., Expr]:
    def vload(begin: object, dtype: object = None, predicate: object = None) -> Expr:
        """Load a value of `dtype`, such as "float32x4", that begins at the indices `begin`."""
        _no_predicate(predicate)
        kind = buffer.dtype if dtype is None else data_type(dtype)
        if kind.scalar != buffer.dtype:
            raise TirxError(f"vload reads elements of {buffer.name}, which is {buffer.dtype}, not {kind}")
        return buffer[_vector(buffer, begin, kind.lanes)]

    return vload


def vstore(buffer: Buffer) -> Callable[..., None]:
    def vstore(begin: object, value: object, predicate: object = None) -> None:
        """Store the elements of `value`, a vector or number, starting at the indices `begin`."""
        _no_predicate(predicate)
        stored = as_expr(value)
        indices = _vector(buffer, begin, stored.dtype.lanes)
        lanes = getattr(indices[-1], "lanes", 1)
        if stored.dtype.lanes != lanes:
            raise TirxError(f"vstore stores {lanes} elements to {buffer.name}, but the value has {stored.dtype.lanes}")
        current("vstore").emit(BufferStore(buffer, indices, cast(buffer.dtype.with_lanes(lanes), stored)))

    return vstore


def _no_predicate(predicate: object) -> None:
    if predicate is not None:
        raise TirxError("vload and vstore have no predicate here", hint="write an `if` around them")


def access_ptr(buffer: Buffer) -> Callable[..., Expr]:
    def access_ptr(
        access_mask: object, ptr_type: object = "handle", content_lanes: int = 1, offset: object = 0,
        extent: object = None
    ) -> Expr:
        """Return a pointer `offset` elements after the first one. The other arguments are accepted for compatibility.
        """
        return AddressOf(HANDLE, buffer, (as_index(offset),))

    return access_ptr


def elem_offset_of(buffer: Buffer) -> Callable[..., Expr]:
    def elem_offset_of(indices: object, inner: bool = True) -> Expr:
        """Return the offset of an element in its buffer, in elements, as determined by the layout."""
        place = flat_place(AddressOf(HANDLE, buffer, _vector(buffer, indices, 1)))
        return as_expr(place if inner or buffer.elem_offset is None else place + buffer.elem_offset)

    return elem_offset_of


def byte_offset_of(buffer: Buffer) -> Callable[..., Expr]:
    def byte_offset_of(indices: object, inner: bool = True) -> Expr:
        """Return `elem_offset_of` in bytes."""
        return elem_offset_of(buffer)(indices, inner) * buffer.dtype.bits // 8

    return byte_offset_of


def offset_of(buffer: Buffer) -> Callable[..., list[Expr]]:
    def offset_of(indices: object) -> list[Expr]:
        """Return the row-major number of an element, as a list."""
        number: Any = const(0)
        for index, extent in zip(_vector(buffer, indices, 1), buffer.shape, strict=True):
            number = number * extent + index
        return [simplify(as_expr(number))]

    return offset_of


def is_scalar(buffer: Buffer) -> Callable[..., bool]:
    def is_scalar(alloc_or_decl: bool = True) -> bool:
        """Return whether the buffer is a mutable variable."""
        return buffer.scalar

    return is_scalar


def install() -> None:
    """Install the view attributes on buffers."""
    VIEWS.update(
        sub=Sub, local=local, permute=permute, rearrange=rearrange, chunk=chunk, tile=tile, vload=vload, vstore=vstore,
        access_ptr=access_ptr, elem_offset_of=elem_offset_of, byte_offset_of=byte_offset_of, offset_of=offset_of,
        is_scalar=is_scalar,
    )  # fmt: skip


install()
