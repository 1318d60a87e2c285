"""XOR swizzles of shared memory, and the layout that TMA and the tensor core share.

Shared memory has 32 banks of 4 bytes: 128 bytes per cycle. All rows of a 128-byte-wide tile start in the same bank, so
reading one 16-byte chunk from each of eight rows would take eight cycles. The swizzle moves chunk `c` of row `r` to
chunk `c ^ (r % 8)` of the same row, which puts the eight chunks of a column into different banks. The hardware computes
this on address bits: TMA applies it when it writes the tile, the tensor core when it reads the tile.

PTX ISA, "Tensor swizzling modes" and "Shared memory matrix layout" (tcgen05, wgmma).
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from typing import Any, cast

from tirx_mini.narrowing import is_iterable
from tirx_mini.records import dataclass
from tirx_mini.wording import described

from .arith import Coord, add, div, mod, mul, xor
from .axis import Axis, LayoutError, m, whole
from .flat import FlatSwizzle
from .spec import Iter, S, Spec
from .tile import Layout, TileLayout

CHUNK_BYTES = 16
"""The unit that a swizzle moves, in bytes: bits [0, 4) of an address do not change."""

ATOM_ROWS = 8
"""Rows in the smallest block that TMA and the tensor core handle."""


class SwizzleMode(enum.Enum):
    """The width of the rows of the 8-row atom. The value is the number of address bits that are XORed.

    128B: bits [4, 7) ^= bits [7, 10);  64B: [4, 6) ^= [7, 9);  32B: [4, 5) ^= [7, 8);  none: the atom is the plain
    8-row × 16-byte core matrix.
    """

    SWIZZLE_NONE = 0
    SWIZZLE_32B_ATOM = 1
    SWIZZLE_64B_ATOM = 2
    SWIZZLE_128B_ATOM = 3

    @property
    def span_bytes(self) -> int:
        """The bytes per row of the atom (16, 32, 64 or 128), which bound the inner extent of a TMA box."""
        return CHUNK_BYTES << self.value

    @property
    def atom_bytes(self) -> int:
        """The bytes per atom (128, 256, 512 or 1024), after which the pattern repeats and to which it is aligned."""
        return ATOM_ROWS * self.span_bytes

    def __repr__(self) -> str:
        return f"SwizzleMode.{self.name}"


@dataclass(frozen=True)
class SwizzleLayout:
    """The swizzle `mode` as a self-inverse permutation of places, in elements of `bits` bits."""

    mode: SwizzleMode
    bits: int

    def __post_init__(self) -> None:
        given = cast(Any, self.mode)
        if type(given) is int and given in [mode.value for mode in SwizzleMode]:  # as TVM takes it
            object.__setattr__(self, "mode", SwizzleMode(given))
        # kernels may have no types
        if not isinstance(self.mode, SwizzleMode):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise LayoutError(
                f"mode must be a SwizzleMode, such as SwizzleMode.SWIZZLE_128B_ATOM, not {described(self.mode)}"
            )
        if self.bits not in (4, 8, 16, 32, 64, 128):
            raise LayoutError(f"a swizzle moves elements of 4, 8, 16, 32, 64 or 128 bits, not {self.bits}")

    def __repr__(self) -> str:
        return f"SwizzleLayout({self.mode!r}, {self.bits})"

    @property
    def chunk(self) -> int:
        """The elements per 16-byte chunk, which the swizzle moves as a unit."""
        return CHUNK_BYTES * 8 // self.bits

    @property
    def span(self) -> int:
        """The elements per row of the atom."""
        return self.chunk << self.mode.value

    @property
    def atom(self) -> int:
        """The elements per atom; the swizzle is periodic in whole atoms."""
        return self.span * ATOM_ROWS

    def __call__(self, place: Coord) -> Coord:
        """Return the swizzled place: each chunk bit is XORed with the address bit three positions above it."""
        if self.mode is SwizzleMode.SWIZZLE_NONE:
            return place
        return place ^ ((place >> 3) & (self.span - self.chunk))


@dataclass(frozen=True, init=False)
class ComposeLayout(FlatSwizzle, Layout):
    """A swizzled layout: `tile_layout` places an element in memory, and `swizzle` permutes it within its atom.

    The buffer must be aligned to `swizzle.mode.atom_bytes`. Raises LayoutError for a tile in another memory.
    """

    swizzle: SwizzleLayout
    tile_layout: TileLayout

    def __init__(
        self,
        per_element: SwizzleLayout | int,
        swizzle_len: TileLayout | int,
        atom_len: int | None = None,
        tile_layout: TileLayout | None = None,
        swizzle_inner: bool = True,
    ) -> None:
        """Create ``ComposeLayout(swizzle, tile)``, or ``ComposeLayout(per_element, swizzle_len, atom_len, tile)``.

        In TVM's form the swizzle XORs, in the number of a chunk of 2 ** per_element elements, its last `swizzle_len`
        bits with those from bit `atom_len` on. The hardware has chunks of 16 bytes, `swizzle_len` up to 3 and
        `atom_len` 3.
        """
        swizzle, tile = per_element, swizzle_len
        if isinstance(swizzle, int):
            swizzle, tile = _bits_of(swizzle, tile, atom_len, swizzle_inner), tile_layout
        # kernels may have no types
        if not (isinstance(swizzle, SwizzleLayout) and isinstance(tile, TileLayout)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise LayoutError(
                f"ComposeLayout takes a SwizzleLayout and a TileLayout, not {described(swizzle)} and {described(tile)}"
            )
        object.__setattr__(self, "swizzle", swizzle)
        object.__setattr__(self, "tile_layout", tile)
        if any(axis.is_memory() and axis != m for axis in tile.axes):
            raise LayoutError(f"a swizzle acts on shared memory, not on {tile}")

    def __repr__(self) -> str:
        return f"ComposeLayout({self.swizzle!r}, {self.tile_layout!r})"

    @property
    def shape(self) -> tuple[int, ...]:
        return self.tile_layout.shape

    @property
    def axes(self) -> tuple[Axis, ...]:
        return self.tile_layout.axes

    @property
    def linear(self) -> TileLayout:
        return self.tile_layout

    def cosize(self, axis: Axis = m) -> int:
        if axis != m:
            return 1
        return -(-self.tile_layout.cosize() // self.swizzle.atom) * self.swizzle.atom

    def reshape(self, shape: Sequence[int]) -> ComposeLayout:
        return self.with_tile(self.tile_layout.reshape(shape))

    def with_tile(self, tile: TileLayout) -> ComposeLayout:
        """Return the same swizzle over another tile."""
        return ComposeLayout(self.swizzle, tile)

    def pack(self, num: int) -> ComposeLayout:
        """Pack `num` neighbouring elements into one, as `TileLayout.pack`, with the same byte chunks."""
        return ComposeLayout(SwizzleLayout(self.swizzle.mode, self.swizzle.bits * num), self.tile_layout.pack(num))

    def unpack(self, num: int) -> ComposeLayout:
        """Unpack each element into `num` contiguous ones, as `TileLayout.unpack`, with the same byte chunks."""
        return ComposeLayout(SwizzleLayout(self.swizzle.mode, self.swizzle.bits // num), self.tile_layout.unpack(num))

    def is_trivial(self) -> bool:
        """Return whether the swizzle is the identity and the elements are in row-major order."""
        return self.swizzle.mode is SwizzleMode.SWIZZLE_NONE and self.tile_layout.is_trivial()

    def place(self, *coords: Coord) -> dict[Axis, Coord]:
        """As `TileLayout.place`. If each iter of the tile either steps over whole rows of the atom or stays within one,
        the result has the form `rows + (column ^ row % 8 * chunk)`, which limits the XOR to the column.
        """
        if self.axes != (m,):
            places = self.tile_layout.place(*coords)
            return {**places, m: self.swizzle(places.get(m, 0))}
        swizzle, digits = self.swizzle, list(self.tile_layout.digits(*coords))
        first = self.tile_layout.offset.get(m, 0)
        if first % swizzle.atom:
            return {m: swizzle(add(_total(digits), first))}
        across = [(it, digit) for it, digit in digits if it.stride % swizzle.span == 0]
        within = [(it, digit) for it, digit in digits if it.stride % swizzle.span != 0]
        if sum(it.reach for it, _ in within) >= swizzle.span:
            return {m: add(swizzle(_total(digits)), first)}
        # Iters that step over whole atoms do not change the row of the pattern, so the XOR does not involve them.
        row = _total([(it, digit) for it, digit in across if it.stride % swizzle.atom], unit=swizzle.span)
        moved = mod(div(row, ATOM_ROWS >> swizzle.mode.value), 1 << swizzle.mode.value)
        return {m: add(add(_total(across), xor(_total(within), mul(moved, swizzle.chunk))), first)}


def _bits_of(per_element: int, swizzle_len: object, atom_len: object, swizzle_inner: bool) -> SwizzleLayout:
    """Return the swizzle that TVM describes by its bits. Raises LayoutError if the hardware lacks it."""
    bits = CHUNK_BYTES * 8 >> per_element if 0 <= per_element <= 7 else 0
    known = isinstance(swizzle_len, int) and 0 <= swizzle_len <= 3
    if bits < 4 or not known or (swizzle_len and (atom_len != 3 or not swizzle_inner)):
        raise LayoutError(
            f"the hardware has no swizzle ComposeLayout({per_element}, {swizzle_len}, {atom_len}, …, "
            f"swizzle_inner={swizzle_inner}): its chunks have 16 bytes, and it has swizzle_len 0 to 3, atom_len 3 and "
            "swizzle_inner=True"
        )
    return SwizzleLayout(SwizzleMode(swizzle_len), bits)


def mma_atom_shape(dtype: object, mode: SwizzleMode | int, shape: Sequence[int] | None = None) -> list[int]:
    """Return the extents of a swizzle atom, with leading ones if `shape` has more dimensions.

    Raises LayoutError without a swizzle.
    """
    mode = SwizzleMode(mode)
    if mode is SwizzleMode.SWIZZLE_NONE:
        raise LayoutError("without a swizzle there is no atom: mode must be SWIZZLE_32B_ATOM, 64B or 128B")
    atom = [ATOM_ROWS, mode.span_bytes * 8 // dtype_bits(dtype)]
    return [1] * (len(shape) - 2) + atom if shape is not None else atom


def mma_atom_layout(dtype: object, mode: SwizzleMode | int) -> Layout:
    """Return the layout of one swizzle atom's elements.

    Raises LayoutError without a swizzle.
    """
    rows, columns = mma_atom_shape(dtype, mode)
    return ComposeLayout(SwizzleLayout(SwizzleMode(mode), dtype_bits(dtype)), TileLayout(S[(rows * columns,)]))


def tma_shared_layout(dtype: object, mode: SwizzleMode, shape: Sequence[int]) -> Layout:
    """Return the shared-memory layout of a tile that TMA accesses and that the tensor core reads K-major.

    The atom of 8 rows × `mode.span_bytes` is tiled over the last two dimensions, rows first: a tile that is wider than
    the span is a sequence of span-wide slabs, each with all rows. Earlier dimensions (stages, consumers) are outermost.
    Without a swizzle the slabs are 16 bytes wide, in the core-matrix order of MMA descriptors; a plain row-major tile
    is `TileLayout(S[shape])`.

    Raises LayoutError if `shape` has fewer than two dimensions or is not a whole number of atoms.
    """
    extents = _tile_shape(shape)
    swizzle = SwizzleLayout(mode, dtype_bits(dtype))
    n_rows, n_cols = extents[-2:]
    if n_rows % ATOM_ROWS:
        raise LayoutError(
            f"shape {extents} has {n_rows} rows in its second-to-last dimension, "
            f"but {mode!r} needs a multiple of {ATOM_ROWS}"
        )
    if n_cols % swizzle.span:
        raise LayoutError(
            f"the last dimension of shape {extents} is {n_cols}, but {mode!r} needs a multiple of {swizzle.span} "
            f"elements of {swizzle.bits} bits ({mode.span_bytes} bytes): widen the tile or use a narrower swizzle"
        )
    row_major = TileLayout(S[extents])
    slabs = Iter(n_cols // swizzle.span, n_rows * swizzle.span)
    within = Iter(swizzle.span, 1)
    tiled = (Iter(n_rows, swizzle.span),), (slabs, within) if slabs.extent > 1 else (within,)
    tile = TileLayout(Spec((*row_major.dims[:-2], *tiled)))
    return tile if mode is SwizzleMode.SWIZZLE_NONE else ComposeLayout(swizzle, tile)


def _tile_shape(shape: object) -> tuple[int, ...]:
    """Check the argument `shape` of a tile and return it as a tuple of ints."""
    if isinstance(shape, (str, bytes)) or not is_iterable(shape):
        raise LayoutError(f"shape must be a tuple of ints such as (128, 64), not {described(shape)}")
    extents = tuple(whole("each extent of shape", extent) for extent in shape)
    if len(extents) < 2:
        raise LayoutError(f"shape must be (…, rows, columns), but {extents} has fewer than two dimensions")
    if min(extents) < 1:
        raise LayoutError(f"each extent of shape must be at least 1, but {extents} has {min(extents)}")
    return extents


def dtype_bits(dtype: object) -> int:
    """Return the width in bits of an element of `dtype`.

    dtype: a name such as "float16", a class of that name, or an object that has `.bits` or prints as such a name.

    Raises LayoutError for anything else.
    """
    bits = getattr(dtype, "bits", None)
    if isinstance(bits, int):
        return bits
    name = dtype.__name__ if isinstance(dtype, type) else str(dtype).removeprefix("torch.")
    if name == "bool":
        return 8
    match = re.fullmatch(r"(?:b?float|u?int)(\d+)(?:_\w+)?", name)
    if match is None:
        raise LayoutError(f'dtype {described(dtype)} is not an element type: use a name such as "float16"')
    return int(match[1])


def _total(digits: Sequence[tuple[Iter, Coord]], unit: int = 1) -> Coord:
    """Return the sum of digits times strides, in units of `unit` elements."""
    place: Coord = 0
    for it, digit in digits:
        place = add(place, mul(digit, it.stride // unit))
    return place
