"""Loads and stores of tiles in global memory, vectorised where contiguous and masked where out of bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tirx_mini.ir import (
    BOOL,
    INT64,
    Binary,
    Buffer,
    BufferLoad,
    Const,
    DataType,
    Expr,
    as_expr,
    binary,
    cast,
    const,
    int_value,
    reinterpret,
    walk,
)
from tirx_mini.records import dataclass

from ..layouts import LinearLayout, Span, bits_of, linear_index
from .emitter import Emitter
from .movement import vector, vector_of
from .neighbours import distances, neighbours
from .values import Blocks, Pointers, Tile, View, in_buffer

VECTOR_BYTES = 16
MOST_INT32 = 2**31 - 1


@dataclass(frozen=True)
class _Access:
    """The memory locations of a layout's registers.

    vector: how many registers are one access. at: the element for a register. mask: whether it is inside; None where
        all are.
    """

    buffer: Buffer
    vector: int
    at: Callable[[Expr], Expr]
    mask: Callable[[Expr], Expr] | None


def load_block(
    emitter: Emitter,
    blocks: Blocks,
    index: Sequence[Expr],
    layout: LinearLayout,
    name: str,
    in_bounds: Sequence[bool] = (),
) -> Tile:
    """Load the tile at `index`, counted in tiles, in `layout`.

    in_bounds: for each dimension, whether no element is outside.
    """
    access = _block_access(emitter, blocks, index, layout, in_bounds)
    return _load(emitter, access, layout, blocks.padding, name)


def store_block(
    emitter: Emitter, blocks: Blocks, index: Sequence[Expr], tile: Tile, in_bounds: Sequence[bool] = ()
) -> None:
    """Store a tile at `index`, counted in tiles."""
    _store(emitter, _block_access(emitter, blocks, index, tile.layout, in_bounds), tile)


def block_places(
    emitter: Emitter, blocks: Blocks, index: Sequence[Expr], layout: LinearLayout, in_bounds: Sequence[bool] = ()
) -> tuple[Pointers, Tile | None]:
    """Return pointers to the elements of the tile at `index`, and its in-bounds mask or None."""
    access = _block_access(emitter, blocks, index, layout, in_bounds)
    dtype = access.at(const(0)).dtype
    mask = None if access.mask is None else Tile(layout, BOOL, access.mask)
    return Pointers(access.buffer, Tile(layout, dtype, access.at)), mask


def load_rows(emitter: Emitter, blocks: Blocks, index: Sequence[Expr | Tile], layout: LinearLayout, name: str) -> Tile:
    """Load slices of an array that a tile of indices selects along one dimension."""
    return _load(emitter, _row_access(emitter, blocks, index, layout), layout, blocks.padding, name, True)


def store_rows(emitter: Emitter, blocks: Blocks, index: Sequence[Expr | Tile], tile: Tile) -> None:
    """Store the slices of a tile to the locations that a tile of indices selects along one dimension."""
    _store(emitter, _row_access(emitter, blocks, index, tile.layout), tile, scattered=True)


def load_gathered(
    emitter: Emitter, pointers: Pointers, mask: Tile | None, other: Tile | None, layout: LinearLayout, name: str
) -> Tile:
    """Load the elements at `pointers`; masked-off elements come from `other`, or are 0."""
    access = _pointer_access(emitter, pointers, mask, layout)
    if mask is None or other is None:
        return _load(emitter, access, layout, 0, name, True)
    return _load(emitter, access, layout, other, name, True)


def store_scattered(emitter: Emitter, pointers: Pointers, tile: Tile, mask: Tile | None) -> None:
    _store(emitter, _pointer_access(emitter, pointers, mask, tile.layout), tile, scattered=True)


def _load(
    emitter: Emitter,
    access: _Access,
    layout: LinearLayout,
    padding: Tile | float | int | None,
    name: str,
    gathered: bool = False,
) -> Tile:
    """Load the elements of an access to registers. gathered: addresses or masks vary irregularly across threads."""
    dtype = access.buffer.dtype
    out = emitter.local(name, layout.registers, dtype)
    if access.mask is not None:

        def other(r: Expr) -> Expr:
            return padding.at(r) if isinstance(padding, Tile) else const(padding or 0, dtype)

        emitter.loop(layout.registers, lambda r: emitter.store(out, r, other(r)))

    def load(step: Expr) -> None:
        first = step * access.vector
        with emitter.when(access.mask(first) if access.mask else None):
            emitter.store(out, first, vector(access.buffer, access.at(first), access.vector), access.vector)

    emitter.loop(layout.registers // access.vector, load)
    return replace(in_buffer(out, layout), uniform=layout.size == 1 and not gathered)


def _store(emitter: Emitter, access: _Access, tile: Tile, scattered: bool = False) -> None:
    """Store the registers of a tile. scattered: rows may lie anywhere, so that their addresses are costly."""
    if access.vector > 1:
        tile = emitter.held(tile)
    count = tile.registers // access.vector

    def store(step: Expr, place: Expr | None = None) -> None:
        first = step * access.vector
        with emitter.when(access.mask(first) if access.mask else None):
            where = access.at(first) if place is None else place
            emitter.store(access.buffer, where, vector_of(tile, first, access.vector), access.vector)

    with emitter.when(emitter.owner(tile.layout)):
        hoisted = scattered and access.mask is not None
        apart = distances(emitter.analyzer, access.at, tile.registers, access.vector) if hoisted else {}
        if apart and not _divides_elements(access.at(const(0))):
            _store_from_bases(emitter, access, count, apart, store)
        else:
            emitter.loop(count, store)


def _store_from_bases(
    emitter: Emitter, access: _Access, count: int, apart: Mapping[int, int], store: Callable[[Expr, Expr], None]
) -> None:
    """Store what lies at constant distances from a few places, which are computed before the masks."""
    moving, fixed = [1 << bit for bit in apart], [1 << b for b in range(bits_of(count)) if b not in apart]

    def base(group: Expr) -> None:
        first = linear_index((group, fixed))
        place = emitter.bind("place", _wrapping(emitter, access.at(first * access.vector)))

        def one(member: Expr) -> None:
            store(linear_index((group, fixed), (member, moving)), place + linear_index((member, [*apart.values()])))

        emitter.loop(1 << len(moving), one, name="member")

    emitter.loop(1 << len(fixed), base)


def _wrapping(emitter: Emitter, expr: Expr) -> Expr:
    """Return an index that may be beyond its type where a mask is false: there, signed sums would be undefined."""
    place = emitter.analyzer.simplify(expr)
    if emitter.analyzer.bounds(place) is not None:
        return place
    unsigned = DataType(f"uint{place.dtype.bits}")

    def rewritten(node: Expr) -> Expr:
        if isinstance(node, Binary) and node.op in ("+", "-", "*"):
            return binary(node.op, rewritten(node.a), rewritten(node.b))
        if isinstance(node, Const):
            return const(int(node.value) % (1 << unsigned.bits), unsigned)
        return reinterpret(unsigned, node)

    return reinterpret(place.dtype, rewritten(place))


def _divides_elements(expr: Expr) -> bool:
    """Return whether an expression divides by an element of a tile, which may be 0 where a mask is false."""
    divisions = [node for node in walk(expr) if isinstance(node, Binary) and node.op in ("//", "%", "/")]
    return any(isinstance(inner, BufferLoad) for node in divisions for inner in walk(node.b))


def _block_access(
    emitter: Emitter, blocks: Blocks, index: Sequence[Expr], layout: LinearLayout, in_bounds: Sequence[bool] = ()
) -> _Access:
    """Return the access of a tile whose dimension i lies along dimension order[i] of the view."""
    view, dtype = blocks.view, blocks.view.buffer.dtype
    wide = _is_wide(view)
    origins = [
        emitter.bind("origin", emitter.analyzer.simplify(as_expr(index[axis]) * (blocks.steps or blocks.tile)[axis]))
        for axis in range(len(blocks.tile))
    ]
    strides = [view.strides[axis] for axis in blocks.order]
    extents = [view.shape[axis] for axis in blocks.order]
    base = as_expr(view.base)
    for origin, stride in zip(origins, strides, strict=True):
        base = base + _scaled(origin, stride, wide)
    base = emitter.bind("base", emitter.analyzer.simplify(base))

    def at(r: Expr) -> Expr:
        total = base
        for axis, stride in enumerate(strides):
            total = total + _scaled(emitter.coordinate(layout, axis, r), stride, wide)
        return total

    checked = [
        axis
        for axis in range(len(origins))
        if not (in_bounds and in_bounds[axis]) and not _inside(emitter, origins[axis], blocks.tile[axis], extents[axis])
    ]

    def mask(r: Expr) -> Expr:
        tests = [origins[axis] + emitter.coordinate(layout, axis, r) < extents[axis] for axis in checked]
        cond = tests[0]
        for test in tests[1:]:
            cond = binary("and", cond, test)
        return cond

    count = _block_vector(blocks, layout, strides, [extents[a] if a in checked else 0 for a in range(len(extents))])
    return _Access(view.buffer, min(count, VECTOR_BYTES // dtype.itemsize), at, mask if checked else None)


def _block_vector(
    blocks: Blocks, layout: LinearLayout, strides: Sequence[Expr | int], limits: Sequence[Expr | int]
) -> int:
    """Return the vector width of an access: contiguous, aligned, and uniformly inside or outside the view."""
    numbers = [int_value(stride) for stride in strides]
    if 1 not in numbers:
        return 1
    contiguous = [axis for axis, stride in enumerate(numbers) if stride == 1]
    axis = max(contiguous, key=lambda axis: (blocks.tile[axis], axis))
    count = layout.vector(VECTOR_BYTES // blocks.view.buffer.dtype.itemsize, axis)
    extents = [int_value(blocks.view.shape[dimension]) for dimension in blocks.order]
    others = [stride for other, stride in enumerate(numbers) if other != axis and extents[other] != 1]
    others += [int_value(blocks.view.base), (blocks.steps or blocks.tile)[axis], int_value(limits[axis])]
    while count > 1 and any(number is None or number % count for number in others):
        count //= 2
    return count


def _row_access(emitter: Emitter, blocks: Blocks, index: Sequence[Expr | Tile], layout: LinearLayout) -> _Access:
    """Return a gather access; indices along the gathered dimension are elements, and a scalar index counts steps."""
    view = blocks.view
    wide = _is_wide(view)
    strides = [view.strides[axis] for axis in blocks.order]
    extents = [view.shape[axis] for axis in blocks.order]
    steps = blocks.steps or blocks.tile

    def number(axis: int, r: Expr) -> Expr:
        """Return the array index of an element along a dimension."""
        given = index[axis]
        if isinstance(given, Tile):
            return given.at(_register_of(layout, given.layout, axis, r))
        return given * steps[axis] + emitter.coordinate(layout, axis, r)

    def at(r: Expr) -> Expr:
        total = as_expr(view.base)
        for axis, stride in enumerate(strides):
            total = total + _scaled(number(axis, r), stride, wide)
        return total

    def mask(r: Expr) -> Expr:
        cond: Expr | None = None
        for axis, extent in enumerate(extents):
            place = number(axis, r)
            for test in (place < extent, *([place >= 0] if isinstance(index[axis], Tile) else [])):
                cond = test if cond is None else binary("and", cond, test)
        assert cond is not None
        return cond

    gathered = next(axis for axis, given in enumerate(index) if isinstance(given, Tile))
    vector = 1 if int_value(strides[gathered]) == 1 else _block_vector(blocks, layout, strides, extents)
    return _Access(view.buffer, vector, at, mask)


def _register_of(layout: LinearLayout, narrow: LinearLayout, axis: int, register: Expr) -> Expr:
    """Map a register of a tile to the corresponding register of a tile of only one of its dimensions."""
    shift, mask = layout.shift(axis), layout.mask(axis)
    span = Span(narrow.register)
    return linear_index((register, [span.solve((basis & mask) >> shift) or 0 for basis in layout.register]))


def _inside(emitter: Emitter, origin: Expr, tile: int, extent: Expr | int) -> bool:
    """Return whether the tile at `origin` is provably in bounds along a dimension."""
    bounds, last = emitter.analyzer.bounds(origin), int_value(extent)
    return bounds is not None and last is not None and bounds[0] >= 0 and bounds[1] + tile <= last


def _is_wide(view: View) -> bool:
    """Return whether element indices need 64 bits."""
    return view.buffer.size > MOST_INT32


def _scaled(index: Expr, stride: Expr | int, wide: bool) -> Expr:
    if int_value(stride) == 0 or (isinstance(index, Const) and index.value == 0):
        return const(0)
    return (cast(INT64, index) if wide else index) * stride


def _pointer_access(emitter: Emitter, pointers: Pointers, mask: Tile | None, layout: LinearLayout) -> _Access:
    offsets = pointers.offsets
    if not isinstance(offsets, Tile):
        return _Access(pointers.buffer, 1, lambda _: offsets, mask.at if mask is not None else None)
    inside = mask.at if mask is not None else None
    most = VECTOR_BYTES // pointers.buffer.dtype.itemsize
    count = neighbours(emitter.analyzer, offsets.at, inside, layout.registers, most, emitter.divisors)
    return _Access(pointers.buffer, count, offsets.at, inside)
