"""Builder of cuda_tile code: constants and views in the prologue, everything else at the current position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tirx_mini.ir import Span

from ..cuda_tile import CUDA_TILE, TOKEN, Dense, Ptr, Tile
from ..ssa import Builder, Region, Scalar, Type, Value
from .dtypes import DType, bool_, int32, int64
from .errors import TileShapeError
from .values import TileValue


def tile_type(dtype: DType, shape: Sequence[int]) -> Tile:
    """Return the tile type ``tile<64x32xf16>``. Raises `TileShapeError` for extents that are not powers of two."""
    for extent in shape:
        if extent < 1 or extent & (extent - 1):
            up = 1 << max(extent - 1, 0).bit_length()
            raise TileShapeError(
                f"a tile cannot have the shape {tuple(shape)}: {extent} is not a power of two",
                hint=f"take a tile of {up} there and mask what is beyond the array: loads pad it, stores leave it out"
                if extent > 0
                else "every extent must be at least 1",
            )
    return Tile(tuple(shape), Scalar(dtype.element))


def pointer_type(dtype: DType, shape: Sequence[int]) -> Tile:
    """Return the type of a tile of pointers to elements of `dtype`."""
    return Tile(tuple(shape), Ptr(Scalar(dtype.element)))


class Emitter:
    """The builder of the entry function.

    prologue: operations at its beginning, which are in scope everywhere: scalar constants, views of parameters.
    span: the source location of emitted operations.
    """

    def __init__(self) -> None:
        self.prologue = Builder()
        self.blocks = [Builder()]
        self.span: Span | None = None
        self._scalars: dict[tuple[DType, str], TileValue] = {}

    @property
    def block(self) -> Builder:
        """The innermost region under construction."""
        return self.blocks[-1]

    def emit(
        self,
        name: str,
        *args: Any,
        types: Sequence[Type] | None = None,
        regions: Sequence[Region] = (),
        first: bool = False,
        **attrs: Any,
    ) -> Any:
        """Append the operation ``cuda_tile.name``. Returns its result, or a tuple unless there is exactly one.

        first: whether it belongs to the prologue.
        """
        block = self.prologue if first else self.block
        attrs = {key: value for key, value in attrs.items() if value is not None and value is not False}
        return block.emit(CUDA_TILE.ops[name], *args, types=types, regions=regions, span=self.span, **attrs)

    def tile(self, name: str, dtype: DType, shape: Sequence[int], *args: object, **attrs: Any) -> TileValue:
        """Append an operation that returns a tile of `dtype` and `shape`."""
        values = [a.value if isinstance(a, TileValue) else a for a in args]
        made = self.emit(name, *values, types=[tile_type(dtype, shape)], **attrs)
        return TileValue(made, dtype, tuple(shape))

    @contextmanager
    def into(self, block: Builder) -> Iterator[None]:
        """Append operations inside the context to a previously created region."""
        self.blocks.append(block)
        try:
            yield
        finally:
            self.blocks.pop()

    @contextmanager
    def region(self) -> Iterator[Builder]:
        """Append operations inside the context to a new region."""
        inner = Builder(self.span)
        self.blocks.append(inner)
        try:
            yield inner
        finally:
            self.blocks.pop()

    def constant(self, value: object, dtype: DType, shape: Sequence[int] = ()) -> TileValue:
        """Return a tile filled with one number; scalar constants are emitted once, in the prologue."""
        if len(shape) == 0:
            key = (dtype, repr(value))
            if key not in self._scalars:
                self._scalars[key] = self._constant(value, dtype, (), first=True)
            return self._scalars[key]
        return self._constant(value, dtype, shape, first=False)

    def table(self, values: Sequence[object], dtype: DType, shape: Sequence[int]) -> TileValue:
        """Return a constant tile of given numbers in row-major order."""
        dense = Dense.of(dtype.element, np.asarray(values, dtype=object).reshape(tuple(shape)))
        made = self.emit("constant", types=[tile_type(dtype, shape)], value=dense)
        return TileValue(made, dtype, tuple(shape))

    def _constant(self, value: object, dtype: DType, shape: Sequence[int], first: bool) -> TileValue:
        dense = Dense.of(dtype.element, value)
        made = self.emit("constant", types=[tile_type(dtype, shape)], value=dense, first=first)
        if first:
            made.hint = f"c{value}" if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else "cst"
        return TileValue(made, dtype, tuple(shape))

    # -- Moving data without computing ---------------------------------------------------------------------------------

    def reshape(self, x: TileValue, shape: Sequence[int]) -> TileValue:
        """Reshape `x` in row-major order."""
        if tuple(shape) == x.shape:
            return x
        return self.tile("reshape", x.dtype, shape, x)

    def broadcast(self, x: TileValue, shape: Sequence[int]) -> TileValue:
        """Broadcast `x` to `shape`, adding leading dimensions as needed."""
        shape = tuple(shape)
        x = self.reshape(x, (1,) * (len(shape) - x.ndim) + x.shape)
        return x if x.shape == shape else self.tile("broadcast", x.dtype, shape, x)

    # -- Conversions ---------------------------------------------------------------------------------------------------

    def cast(self, x: TileValue, dtype: DType, rounding: str | None = None) -> TileValue:
        """Convert `x` to `dtype`. A boolean is true for nonzero values."""
        source = x.dtype
        if source == dtype:
            return x
        if dtype.is_bool:
            return self.not_zero(x)
        if source.is_float and dtype.is_float:
            return self.tile("ftof", dtype, x.shape, x, rounding_mode=rounding)
        if source.is_float:
            return self.tile("ftoi", dtype, x.shape, x, signedness=dtype.signedness)
        if dtype.is_float:
            return self.tile("itof", dtype, x.shape, x, signedness=source.signedness)
        if source.bitwidth == dtype.bitwidth:
            return TileValue(x.value, dtype, x.shape)
        if source.bitwidth < dtype.bitwidth:
            return self.tile("exti", dtype, x.shape, x, signedness=source.signedness)
        return self.tile("trunci", dtype, x.shape, x)

    def not_zero(self, x: TileValue) -> TileValue:
        """Return the mask of nonzero elements of `x`; NaN is nonzero."""
        zero = self.constant(0, x.dtype, x.shape)
        if x.dtype.is_float:
            return self.tile(
                "cmpf", bool_, x.shape, x, zero, comparison_predicate="not_equal", comparison_ordering="unordered"
            )
        return self.tile(
            "cmpi", bool_, x.shape, x, zero, comparison_predicate="not_equal", signedness=x.dtype.signedness
        )

    # -- Integer arithmetic on indices ---------------------------------------------------------------------------------

    def index(self, name: str, x: TileValue, y: TileValue | int, **attrs: object) -> TileValue:
        """Emit an integer operation on a tile and a tile or constant of its type."""
        other = self.constant(y, x.dtype, x.shape) if isinstance(y, int) else y
        return self.tile(name, x.dtype, x.shape, x, other, **attrs)

    def compare(self, predicate: str, x: TileValue, y: TileValue | int) -> TileValue:
        """Compare integer tiles, or a tile with a constant."""
        other = self.constant(y, x.dtype, x.shape) if isinstance(y, int) else y
        return self.tile(
            "cmpi", bool_, x.shape, x, other, comparison_predicate=predicate, signedness=x.dtype.signedness
        )

    def both(self, x: TileValue | None, y: TileValue | None) -> TileValue | None:
        """Return the conjunction of two masks; None is an all-true mask."""
        if x is None or y is None:
            return x if y is None else y
        shape = np.broadcast_shapes(x.shape, y.shape)
        return self.tile("andi", bool_, shape, self.broadcast(x, shape), self.broadcast(y, shape))

    def wide(self, x: TileValue, bits: int) -> TileValue:
        """Convert an index to a signed integer of at least `bits` bits."""
        if x.dtype.bitwidth >= bits and x.dtype.kind == "i":
            return x
        return self.cast(x, int64 if bits > 32 or x.dtype.bitwidth > 32 else int32)

    # -- Order of memory operations ------------------------------------------------------------------------------------

    def make_token(self) -> Value:
        """Emit a token without predecessors."""
        return self.emit("make_token", types=[TOKEN])

    def join(self, *tokens: Value | None) -> Value | None:
        """Join `tokens` into one that follows all of them."""
        given = tuple(dict.fromkeys(t for t in tokens if t is not None))
        if len(given) < 2:
            return given[0] if given else None
        return self.emit("join_tokens", given, types=[TOKEN])
